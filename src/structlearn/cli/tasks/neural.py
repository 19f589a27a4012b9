"""`--model neural`: which flags go with networks, and the models that they describe."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import fields
from typing import Any

from structlearn.cli.tasks.options import ProblemOptions, TaskOptions

#: The value of --model.
NEURAL = "neural"
#: Flags of networks alone, by the parameters that they stand for.
_OWN = {"epochs": "epochs", "networks": "n_networks"}
#: Parameters of training that networks have, too.
_SHARED = ("random_state", "n_jobs", "verbose", "max_seconds")
_FLAGS = {"fit_intercept": "no-intercept"}


def is_neural(options: TaskOptions) -> bool:
    """Whether networks are asked for; ValueError for flags of networks without."""
    if getattr(options, "model", None) == NEURAL:
        return True
    for name in _OWN:
        if getattr(options, name, None) is not None:
            raise ValueError(f"--{name} goes with --model neural.")
    return False


def refuse_networks(options: TaskOptions, command: str) -> None:
    """Raise ValueError where a command that is about lambda or about solvers gets networks."""
    if is_neural(options):
        raise ValueError(
            f"{command} is for linear models; train --model neural has neither lambda nor solver."
        )


def network_parameters(
    options: TaskOptions, parameters: Mapping[str, Any], others: Collection[str]
) -> dict[str, Any]:
    """Return the parameters of networks that flags stand for; ValueError for flags that they have no use for.

    others : options of the task that networks have, too
    """
    usual = ProblemOptions().parameters()
    known = {*_OWN, *others, "model"}
    wrong = [one.name for one in fields(options) if one.name not in known and _is_given(options, one)]
    wrong += [
        name
        for name, value in parameters.items()
        if name in {*usual, "regularization", "tol"} - {*_SHARED} and value != usual.get(name)
    ]
    if wrong:
        flag = _FLAGS.get(wrong[0], wrong[0]).strip("_").replace("_", "-")
        raise ValueError(
            f"--{flag} goes with linear models, not with --model neural, whose networks are trained "
            "otherwise; leave it out."
        )
    given = {own: getattr(options, name) for name, own in _OWN.items()}
    given |= {name: parameters.get(name) for name in _SHARED}
    return {name: value for name, value in given.items() if value is not None}


def _is_given(options: TaskOptions, one: Any) -> bool:
    return bool(getattr(options, one.name) != one.default)


def neural_tagger(task: str, options: TaskOptions, parameters: Mapping[str, Any]) -> Any:
    """Return the tagger with networks that flags describe, checked."""
    from structlearn.neural import NeuralTagger

    others = ("label", "columns", "templates", "constraints", "with_", "vectors")
    given = network_parameters(options, parameters, others)
    given |= {name: parameters[name] for name in ("templates", "vectors") if name in parameters}
    model = NeuralTagger(task=task, **given)
    model.check_parameters()
    return model


def neural_parser(options: TaskOptions, parameters: Mapping[str, Any]) -> Any:
    """Return the parser with networks that flags describe, checked."""
    from structlearn.neural import NeuralParser

    given = network_parameters(options, parameters, ("non_projective", "many_roots", "vectors"))
    own = ("projective", "single_root", "vectors")
    model = NeuralParser(**given, **{name: parameters[name] for name in own if name in parameters})
    model.check_parameters()
    return model
