"""Parameters of the library in the words of the shell: sentences that name one name its flag."""

from __future__ import annotations

import re
from shlex import quote

#: Parameters that the shell turns around: a flag for what is not the default.
OPPOSITES = {
    "projective": "non_projective",
    "single_root": "many_roots",
    "fit_intercept": "no_intercept",
    "scale": "no_scale",
    "lowercase": "keep_case",
}
_RENAMED = {"n_jobs": "jobs", "random_state": "seed"}
_SAME = (
    *("loss", "penalty", "groups", "solver", "regularization", "cost", "tol", "max_passes", "max_seconds"),
    *("checkpoint", "memory", "templates", "transitions", "min_count", "hash_bits", "edges", "boundaries"),
    *(
        "constraints",
        "fertility",
        "missed",
        "spurious",
        "pseudo_gold",
        "strip_accents",
        "l1_ratio",
        "keep_names",
    ),
    *("pairs", "latent_states", "connectivity", "window", "text", "ignore"),
)
_NAMES = {**{name: name for name in _SAME}, **_RENAMED, **OPPOSITES}

#: Advice that is another in the shell.
_PHRASES = {
    f", as with row_transformer=StandardScaler({what}).": (
        " in the file (those of a table are scaled, without --no-scale)."
    )
    for what in ("", "with_mean=False")
} | {"raise it, tol or regularization.": "raise it, --tol or --regularization."}

#: Options of solvers, which the shell does not have.
_IN_PYTHON = re.compile(r"\bsolver_options=\{[^}]*\}")

_QUOTED = r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\""""
#: Quotes and names of files are others' words; then come `name=value`, names with an underscore, and names of
#: which a bound is told.
_WORDS = re.compile(
    rf"(?<![\w=])(?:{_QUOTED})"
    rf"""|(?<![\w./\\-])(?P<name>{"|".join(_NAMES)})=(?P<value>{_QUOTED}|[\w.+-]*\w)"""
    rf"""|(?<![\w./\\-])(?P<bare>{"|".join(name for name in _NAMES if "_" in name)})(?![\w/=-]|\.\w)"""
    rf"""|(?<![\w./\\-])(?P<bound>{"|".join(_NAMES)})(?= must be | > 0)"""
)


def flag(name: str) -> str:
    """Return the flag of a parameter: --max-passes of max_passes."""
    return f"--{_NAMES.get(name, name).replace('_', '-')}"


def in_flags(sentence: str) -> str:
    """Return a sentence of the library in which parameters are named as the shell does.

    >>> in_flags("Stopped after max_passes=5: use loss='softmax', or projective=False.")
    'Stopped after --max-passes 5: use --loss softmax, or --non-projective.'
    >>> in_flags("Stopped after max_seconds=9 with gap 0.5: raise it, tol or regularization.")
    'Stopped after --max-seconds 9 with gap 0.5: raise it, --tol or --regularization.'
    """
    for words, own in _PHRASES.items():
        sentence = sentence.replace(words, own)
    return _WORDS.sub(_said, _IN_PYTHON.sub("solver_options in Python", sentence))


def _said(match: re.Match[str]) -> str:
    if match["bare"] or match["bound"]:
        return flag(match["bare"] or match["bound"])
    if not match["name"]:
        return match[0]
    name, value = match["name"], match["value"]
    if value not in ("True", "False", "None"):
        bare = value[1:-1] if value[0] in ("'", '"') else value
        return f"{flag(name)} {quote(bare)}"
    given = (value == "True") != (name in OPPOSITES)
    return flag(name) if given else f"no {flag(name)}"
