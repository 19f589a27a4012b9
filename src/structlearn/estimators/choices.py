"""From names and numbers to objects, by the registries of losses and solvers; refusals at the door."""

from __future__ import annotations

import numbers
import os
from collections.abc import Callable, Mapping
from os import PathLike
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from structlearn.core.contract import Array
from structlearn.core.registry import one_of as one_of
from structlearn.core.sentences import ParameterError, Statement
from structlearn.problem.penalties import Ball
from structlearn.problem.registry import LOSSES
from structlearn.solvers.checkpoint import Checkpoint
from structlearn.solvers.registry import NONNEGATIVE, SOLVERS, SolverEntry, structured_solvers, whole_name
from structlearn.solvers.solver import Solver

#: What solver="auto" stands for, by the family of the loss: the first that has the options that are given.
Auto: TypeAlias = Mapping[str, tuple[str, ...]]
ON_STRUCTURES: Auto = {
    "hinge": ("stochastic-extragradient", "bcfw"),
    "smooth": ("stochastic-extragradient", "sdca"),
}
ON_LONG_SEQUENCES: Auto = {**ON_STRUCTURES, "smooth": ("stretches", *ON_STRUCTURES["smooth"])}
ON_MANY_LABELS: Auto = {**ON_STRUCTURES, "smooth": ("lbfgs", *ON_STRUCTURES["smooth"])}
ON_ROWS: Auto = {"hinge": ("bcfw", "stochastic-extragradient"), "smooth": ("lbfgs",)}
ON_SOFTMAX_ROWS: Auto = {**ON_ROWS, "smooth": ("newton", "proximal-newton", "lbfgs")}
ON_OVERLAPPING_ROWS: Auto = {**ON_ROWS, "hinge": ("stochastic-extragradient", "bcfw")}
ON_WIDE_ROWS: Auto = {**ON_ROWS, "smooth": ("sdca", "lbfgs")}
ON_WIDE_SOFTMAX_ROWS: Auto = {**ON_ROWS, "smooth": ("sdca", "proximal-newton", "lbfgs")}
ROWS_ON_CLUSTERS: Auto = {"hinge": ("bcfw",), "smooth": ("sdca",)}

#: Weights of labels, by class or by name, or the name of a rule for them.
Weights: TypeAlias = str | ArrayLike | Mapping[str, object] | Mapping[int, object]


def threads(n_jobs: int | None) -> int:
    """Return the number of threads that `n_jobs` stands for; ValueError if it is not valid."""
    if n_jobs is None:
        return 1
    if not isinstance(n_jobs, int | np.integer) or n_jobs == 0:
        raise ParameterError(
            "{n_jobs} must be a positive number of threads, or -1 for all; got {given}.", given=repr(n_jobs)
        )
    return int(n_jobs) if n_jobs > 0 else max(1, (os.cpu_count() or 1) + 1 + int(n_jobs))


def ball_of(options: Mapping[str, object] | None) -> Ball | None:
    """Return the constraint ||w|| <= radius that replaces the penalty if the options have a radius."""
    radius = (options or {}).get("radius")
    return None if radius is None else Ball(check_number("radius", radius, strict=True))


def penalty_of(estimator: object) -> str:
    """Return the name of an estimator's penalty, as solvers know it; ParameterError for a bad `positive`."""
    positive = getattr(estimator, "positive", False)
    if not isinstance(positive, bool | np.bool_):
        raise ParameterError("{positive} must be True or False; got {given}.", given=repr(positive))
    return NONNEGATIVE if positive else str(getattr(estimator, "penalty", "l2"))


def name_penalty(penalty: str) -> Statement:
    """Return the parameter that asks for a penalty."""
    if penalty == NONNEGATIVE:
        return Statement("{positive=True}")
    return Statement("{penalty=}", penalty=penalty)


def make_solver(
    solver: str | Solver,
    loss: str,
    options: Mapping[str, object] | None,
    *,
    regularization: float,
    penalty: str = "l2",
    auto: Auto = ON_STRUCTURES,
) -> Solver:
    """Make the solver that a name and its options stand for; a solver object stands for itself.

    `auto` is what "auto" means.
    """
    options = dict(options or {})
    if not isinstance(solver, str):
        if options:
            raise ValueError("solver_options go with a solver's name; a solver object has its own.")
        _refuse_penalty(solver, penalty)
        return solver
    family = LOSSES[loss].family
    if solver == "auto":
        solver = _automatic(family, penalty, auto, options)
    solver = whole_name(solver)
    entry = SOLVERS[one_of("solver", solver, ["auto", *structured_solvers()])]
    for name in options:
        one_of(f"option of solver {solver!r}", name, entry.options)
    constrained = ball_of(options) is not None
    _refuse_what_it_cannot(entry, loss, penalty, 1.0 if constrained else regularization)
    return entry.make_solver(options)


def _automatic(family: str, penalty: str, auto: Auto, options: Mapping[str, object]) -> str:
    """Return the name of the first solver of a loss family with all these options, else the last."""
    if family == "perceptron":
        return "perceptron"
    names = [name for name in auto[family] if penalty in SOLVERS[name].penalties] or ["proximal"]
    return next((name for name in names if not set(options) - set(SOLVERS[name].options)), names[-1])


def make_checkpoint(checkpoint: str | PathLike[str] | Checkpoint | None) -> Checkpoint | None:
    """Make a checkpoint of a folder; a checkpoint and None stay as they are."""
    if checkpoint is None or isinstance(checkpoint, Checkpoint):
        return checkpoint
    if not isinstance(checkpoint, str | PathLike):
        kind = type(checkpoint).__name__
        raise TypeError(
            Statement("{checkpoint} must be a folder, a Checkpoint or None; got {kind}.", kind=kind)
        )
    return Checkpoint(Path(checkpoint))


def _refuse_what_it_cannot(entry: SolverEntry, loss: str, penalty: str, regularization: float) -> None:
    """Raise ValueError if the parameters of the problem do not meet what the solver needs."""
    solver, family = entry.name, LOSSES[loss].family
    if family == "perceptron" and family not in entry.trains:
        raise ParameterError(
            "Solver {given} cannot train {loss=}: with a regulariser its optimum is w = 0; use "
            "{solver=perceptron} (the averaged perceptron), or {loss=hinge}.",
            given=repr(solver),
            loss=loss,
        )
    if entry.trains == ("perceptron",) and family != "perceptron":
        raise ParameterError(
            "Solver {given} trains {loss=perceptron} only; for {loss=} use {solver=auto}.",
            given=repr(solver),
            loss=loss,
        )
    fit = [one.name for one in SOLVERS.values() if family in one.trains and penalty in one.penalties]
    if not fit and penalty == NONNEGATIVE:
        raise ParameterError("{positive=True} does not go with {loss=}; use {loss=hinge}.", loss=loss)
    if not fit:
        raise ParameterError(
            "{penalty=} needs a smooth loss such as 'softmax'; {loss=} takes 'l2'.",
            penalty=penalty,
            loss=loss,
        )
    if solver not in fit:
        what = "{loss=}" if penalty == "l2" else "{loss=} with {penalised}"
        raise ParameterError(
            f"Solver {{name}} cannot train {what}; use one of {{fit}}.",
            name=repr(solver),
            loss=loss,
            penalised=name_penalty(penalty),
            fit=", ".join(map(repr, fit)),
        )
    if "regularization" in entry.needs and regularization == 0:
        _refuse_zero(solver, family, penalty)


def _refuse_zero(solver: str, family: str, penalty: str) -> None:
    """Raise ValueError: the solver needs lambda > 0."""
    if penalty == NONNEGATIVE:
        raise ParameterError(
            "Solver {name} with {positive=True} needs {regularization} > 0; raise it.", name=repr(solver)
        )
    smooth = Statement("{solver=lbfgs}")
    other = Statement(
        "{solver=stochastic-subgradient} with {solver_options=}", solver_options={"step": "diminishing"}
    )
    raise ParameterError(
        "Solver {name} works on the dual and needs {regularization} > 0; for 0 use {instead}.",
        name=repr(solver),
        instead=smooth if family == "smooth" else other,
    )


def _refuse_penalty(solver: Solver, penalty: str) -> None:
    """Raise ValueError if a solver object does not take the penalty."""
    if penalty not in getattr(solver, "penalties", (penalty,)):
        kind = type(solver).__name__
        raise ParameterError(
            "The solver {kind} does not take {penalised}; use {solver=auto}.",
            kind=kind,
            penalised=name_penalty(penalty),
        )


def check_number(name: str, value: object, *, minimum: float = 0.0, strict: bool = False) -> float:
    """Return `value` as a finite float of at least (strictly: above) `minimum`."""
    if not isinstance(value, numbers.Real) or isinstance(value, bool) or not np.isfinite(float(value)):
        raise _refused_number(name, "a finite number", value)
    if value < minimum or (strict and value == minimum):
        raise _refused_number(name, f"{'above' if strict else 'at least'} {minimum:g}", value)
    return float(value)


def _refused_number(name: str, must_be: str, value: object) -> ParameterError:
    named = Statement(f"{{{name}}}") if name.isidentifier() else name
    return ParameterError(f"{{named}} must be {must_be}; got {{value}}.", named=named, value=repr(value))


def check_run(tol: object, max_passes: object, max_seconds: object, callback: object) -> None:
    """Refuse what cannot end, or watch, a run."""
    check_number("tol", tol)
    check_number("max_passes", max_passes, strict=True)
    if max_seconds is not None:
        check_number("max_seconds", max_seconds, strict=True)
    if callback is not None and not callable(callback):
        raise TypeError(f"callback must be callable or None; got {type(callback).__name__}.")


# ---- costs and weights of labels -------------------------------------------------------------------


def cost_options(cost: Weights | None, classes: Array | None = None) -> dict[str, Any]:
    """Return the options of a structure's `cost`: "hamming", "count", an array or a mapping of weights.

    A mapping is from labels to weights (others weigh 1) where there are classes, and passed on where not.
    """
    if isinstance(cost, str):
        return {"normalized": one_of("cost", cost, ("hamming", "count")) == "hamming"}
    if isinstance(cost, Mapping):
        return {"weights": cost if classes is None else label_weights(cost, classes, "cost")}
    if cost is None:
        raise ValueError("Unknown cost None; valid are 'hamming', 'count', an array or a mapping of weights.")
    if callable(cost):
        raise TypeError(
            "cost is 'hamming', 'count', an array or a mapping of weights, not a function; a structure of "
            "your own may have a method cost(mu) -> array with the cost of each part."
        )
    return {"weights": np.asarray(cost, dtype=np.float64)}


def class_costs(
    cost: Weights, class_weight: Weights | None, classes: Array, balanced: Callable[[], Array]
) -> dict[str, Any]:
    """Return `cost_options`, the cost of missing each true label multiplied by its class weight.

    `balanced` gives the weights by class that class_weight="balanced" stands for.
    """
    options = cost_options(cost, classes)
    if class_weight is None:
        return options
    if isinstance(class_weight, str):
        one_of("class_weight", class_weight, ["balanced"])
        by_class = balanced()
    else:
        by_class = label_weights(class_weight, classes, "class_weight")
    weights = np.asarray(options.get("weights", 1.0))
    by_pair = weights.shape == (len(classes), len(classes))
    return {**options, "weights": weights * (by_class[:, None] if by_pair else by_class)}


def label_weights(weights: Weights, classes: Array, what: str) -> Array:
    """Return the weights by class as an array, from an array or a mapping; classes not named weigh 1."""
    if not isinstance(weights, Mapping):
        found = np.asarray(weights, dtype=np.float64)
        if found.shape != (len(classes),):
            raise ValueError(f"{what} has shape {found.shape}; there are {len(classes)} classes.")
        return found
    position = {label: k for k, label in enumerate(classes.tolist())}
    found = np.ones(len(position))
    for label, weight in weights.items():
        key = label.item() if isinstance(label, np.generic) else label
        if key not in position:
            raise ValueError(f"{what} names the label {label!r}, which is not among the classes of y.")
        found[position[key]] = check_number(f"{what}[{label!r}]", weight)
    return found
