"""Parameters of the library in the words of the shell: sentences that name one name its flag."""

from __future__ import annotations

from shlex import quote

from structlearn.core.sentences import Statement

#: Parameters that the shell turns around: a flag for what is not the default.
OPPOSITES = {
    "projective": "non_projective",
    "single_root": "many_roots",
    "fit_intercept": "no_intercept",
    "scale": "no_scale",
    "lowercase": "keep_case",
}
_RENAMED = {"n_jobs": "jobs", "random_state": "seed"}
#: What the shell has in the place of parameters that are Python's alone.
_IN_PYTHON = {
    "solver_options": "solver_options in Python",
    "row_transformer": "a table, whose numbers are scaled without --no-scale",
}


def flag(name: str) -> str:
    """Return the flag of a parameter: --max-passes of max_passes."""
    return f"--{ {**_RENAMED, **OPPOSITES}.get(name, name).replace('_', '-') }"


def as_flag(name: str, value: object) -> str:
    """Write a parameter as the shell does: --loss hinge; its flag alone where there is no value."""
    if name in _IN_PYTHON:
        return _IN_PYTHON[name]
    if value is None:
        return flag(name)
    text = f"{value:g}" if isinstance(value, float) else str(value)
    if text not in ("True", "False", "None"):
        return f"{flag(name)} {quote(text)}"
    given = (text == "True") != (name in OPPOSITES)
    return flag(name) if given else f"no {flag(name)}"


def in_flags(sentence: object) -> str:
    """Return a sentence of the library in which parameters are named as the shell does.

    >>> in_flags(Statement("After {max_passes=}: use {loss=softmax}, or {projective=False}.", max_passes=5))
    'After --max-passes 5: use --loss softmax, or --non-projective.'
    """
    return sentence.render(as_flag) if isinstance(sentence, Statement) else str(sentence)


def said_by(error: BaseException) -> str:
    """Return what an error or a warning says, with flags for parameters."""
    sentence = getattr(error, "sentence", None)
    if sentence is None and len(error.args) == 1:
        sentence = error.args[0]
    return in_flags(sentence) if isinstance(sentence, Statement) else str(error)
