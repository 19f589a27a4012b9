"""From names and numbers to objects: the only place where strings choose behaviour."""

from __future__ import annotations

import numbers
from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from typing import Any

import numpy as np

from structlearn.solvers import (
    BlockFrankWolfe,
    ConstantStep,
    DiminishingStep,
    FrankWolfe,
    GapSampling,
    PegasosStep,
    Perceptron,
    Permutation,
    Solver,
    StochasticSubgradient,
    Subgradient,
    Uniform,
)

LOSSES = ("hinge", "perceptron")

#: What each solver name makes, and which options it takes.
SOLVERS: dict[str, tuple[Callable[..., Solver], tuple[str, ...]]] = {
    "bcfw": (BlockFrankWolfe, ("order", "averaging", "examples_at_once")),
    "fw": (FrankWolfe, ("line_search",)),
    "subgradient": (Subgradient, ("step", "eta", "averaging")),
    "stochastic-subgradient": (
        StochasticSubgradient,
        ("step", "eta", "order", "averaging", "uniform_average", "examples_at_once"),
    ),
    "perceptron": (Perceptron, ("order", "averaging", "patience", "examples_at_once")),
}
#: Solvers that work on the dual, whose weights are divided by lambda.
DUAL_SOLVERS = ("bcfw", "fw")
ORDERS: dict[str, Callable[[], Any]] = {"permutation": Permutation, "uniform": Uniform, "gap": GapSampling}
STEPS: dict[str, Callable[..., Any]] = {
    "constant": ConstantStep,
    "diminishing": DiminishingStep,
    "pegasos": PegasosStep,
}


def one_of(what: str, name: Any, valid: Iterable[str]) -> str:
    """`name` itself if it is valid; else a ValueError that lists the valid ones and suggests the nearest."""
    valid = list(valid)
    if isinstance(name, str) and name in valid:
        return name
    near = get_close_matches(str(name), valid, n=1)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    raise ValueError(f"Unknown {what} {name!r}; valid are {', '.join(map(repr, valid))}.{hint}")


def make_solver(solver: Any, loss: str, options: Mapping[str, Any] | None, regularization: float) -> Solver:
    """The solver that a name, with its options, stands for; a solver object stands for itself."""
    one_of("loss", loss, LOSSES)
    options = dict(options or {})
    if not isinstance(solver, str):
        if options:
            raise ValueError("solver_options go with a solver's name; a solver object has its own.")
        return solver
    if solver == "auto":
        solver = "perceptron" if loss == "perceptron" else "bcfw"
    one_of("solver", solver, ["auto", *SOLVERS])
    if loss == "perceptron" and solver != "perceptron":
        raise ValueError(
            f"Solver {solver!r} cannot train loss='perceptron': with a regulariser its optimum is w = 0; "
            "use solver='perceptron' (the averaged perceptron), or loss='hinge'."
        )
    if solver == "perceptron" and loss != "perceptron":
        raise ValueError(
            f"Solver 'perceptron' trains loss='perceptron' only; for loss={loss!r} use solver='auto'."
        )
    if solver in DUAL_SOLVERS and regularization == 0:
        raise ValueError(
            f"Solver {solver!r} works on the dual and needs regularization > 0; "
            "use solver='stochastic-subgradient' with solver_options={'step': 'diminishing'} for 0."
        )
    make, valid = SOLVERS[solver]
    for name in options:
        one_of(f"option of solver {solver!r}", name, valid)
    return make(**_objects(options))


def _objects(options: dict[str, Any]) -> dict[str, Any]:
    if isinstance(options.get("order"), str):
        options["order"] = ORDERS[one_of("order", options["order"], ORDERS)]()
    if "step" in options or "eta" in options:
        step = options.pop("step", "constant")
        eta = {"eta": options.pop("eta")} if "eta" in options else {}
        if isinstance(step, str):
            if eta and step == "pegasos":
                raise ValueError("Steps 'pegasos' are 1/(lambda t): they take no eta.")
            step = STEPS[one_of("step", step, STEPS)](**eta)
        options["step_rule"] = step
    return options


def check_number(name: str, value: Any, *, minimum: float = 0.0, strict: bool = False) -> float:
    """`value` as a finite float of at least (strictly: above) `minimum`."""
    if not isinstance(value, numbers.Real) or isinstance(value, bool) or not np.isfinite(float(value)):
        raise ValueError(f"{name} must be a finite number; got {value!r}.")
    if value < minimum or (strict and value == minimum):
        bound = "above" if strict else "at least"
        raise ValueError(f"{name} must be {bound} {minimum:g}; got {value!r}.")
    return float(value)


def class_weights(class_weight: Any, classes: Any, balanced: Callable[[], Any]) -> Any:
    """An array of weights by class from a mapping, an array, or "balanced", which calls `balanced`."""
    if isinstance(class_weight, str):
        one_of("class_weight", class_weight, ["balanced"])
        return balanced()
    return label_weights(class_weight, classes, "class_weight")


def cost_options(cost: Any, classes: Any = None) -> dict[str, Any]:
    """Options of a structure's `cost`: "hamming", "count", an array of weights, or a mapping of them.

    A mapping is from labels to weights (others weigh 1) where there are classes, and passed on where not.
    """
    if isinstance(cost, str):
        return {"normalized": one_of("cost", cost, ("hamming", "count")) == "hamming"}
    if isinstance(cost, Mapping) and classes is not None:
        return {"weights": label_weights(cost, classes, "cost")}
    if cost is None:
        raise ValueError("Unknown cost None; valid are 'hamming', 'count', an array or a mapping of weights.")
    return {"weights": cost if isinstance(cost, Mapping) else np.asarray(cost, dtype=np.float64)}


def label_weights(weights: Any, classes: Any, what: str) -> Any:
    """An array of weights by class from an array or a mapping; classes that are not named weigh 1."""
    if not isinstance(weights, Mapping):
        found = np.asarray(weights, dtype=np.float64)
        if found.shape != (len(classes),):
            raise ValueError(f"{what} has shape {found.shape}; there are {len(classes)} classes.")
        return found
    position = {label: k for k, label in enumerate(np.asarray(classes).tolist())}
    found = np.ones(len(position))
    for label, weight in weights.items():
        key = label.item() if isinstance(label, np.generic) else label
        if key not in position:
            raise ValueError(f"{what} names the label {label!r}, which is not among the classes of y.")
        found[position[key]] = check_number(f"{what}[{label!r}]", weight)
    return found
