"""From names and numbers to objects: the only place where strings choose behaviour."""

from __future__ import annotations

import numbers
from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from structlearn.problem.penalties import Ball
from structlearn.problem.regularizers import Regularizer, Shannon, SquaredNorm, Tsallis, Zero
from structlearn.solvers import (
    LBFGS,
    ActiveBlocks,
    BlockFrankWolfe,
    Checkpoint,
    ConstantStep,
    CuttingPlane,
    DiminishingStep,
    EntropicGeometry,
    EuclideanGeometry,
    ExactBlocks,
    Extragradient,
    FrankWolfe,
    GapSampling,
    GradientDescent,
    NSlack,
    PegasosStep,
    Perceptron,
    Permutation,
    PlainExtragradient,
    ProjectedGradient,
    Proximal,
    Solver,
    Steps,
    StochasticSubgradient,
    Subgradient,
    Uniform,
)

#: What each loss makes of a prediction function, and its family, which decides who can train it.
LOSSES: dict[str, tuple[Regularizer, str]] = {
    "hinge": (Zero(), "hinge"),
    "perceptron": (Zero(), "perceptron"),
    "softmax": (Shannon(), "smooth"),
    "logistic": (Shannon(), "smooth"),
    "sparsemax": (SquaredNorm(), "smooth"),
    "entmax15": (Tsallis(1.5), "smooth"),
}


class Choice(NamedTuple):
    """A solver by name: how it is made, which options it takes, what it can train."""

    make: Callable[..., Solver]
    options: tuple[str, ...]
    families: tuple[str, ...]
    #: whether it works on the dual of lambda/2 ||w||^2, so that lambda must be positive
    dual: bool = False
    #: whether it takes penalties other than the squared norm
    any_penalty: bool = False


GEOMETRIES: dict[str, Any] = {
    "auto": None,
    "entropic": EntropicGeometry(),
    "euclidean": EuclideanGeometry(),
}
FORMS = {"auto": None, "full": True, "efficient": False}
VARIANTS: dict[str, Callable[..., Solver]] = {"adaptive": Extragradient, "plain": PlainExtragradient}


def _extragradient(
    geometry: str = "auto", variant: str = "adaptive", memory: str = "auto", radius: Any = None
) -> Solver:
    """The radius is the problem's, not the solver's (`ball_of`)."""
    make = VARIANTS[one_of("variant", variant, VARIANTS)]
    full = FORMS[one_of("memory", memory, FORMS)]
    return make(GEOMETRIES[one_of("geometry", geometry, GEOMETRIES)], full)


def ball_of(options: Mapping[str, Any] | None) -> Ball | None:
    """The constraint ||w|| <= radius in place of the penalty, where the solver's options have a radius."""
    radius = (options or {}).get("radius")
    return None if radius is None else Ball(check_number("radius", radius, strict=True))


_BLOCK_OPTIONS = ("order", "averaging", "exact", "focus", "examples_at_once", "rounds")
_ACTIVE_OPTIONS = (
    "steps",
    "inner_steps",
    "inner_accuracy",
    "cached_passes",
    "cached_accuracy",
    "forget_after",
    "most_atoms",
)
_SADDLE_OPTIONS = ("geometry", "variant", "memory", "radius")
_SUBGRADIENT_OPTIONS = ("step", "eta", "averaging")


def _block_frank_wolfe(form: str = "active-set", **options: Any) -> Solver:
    """By the form in which z is kept."""
    if one_of("form", form, ("active-set", "dense")) == "active-set":
        return ActiveBlocks(**options)
    for name in options:
        one_of("option of solver 'bcfw' with form='dense'", name, _BLOCK_OPTIONS)
    return BlockFrankWolfe(**options)


SOLVERS: dict[str, Choice] = {
    "bcfw": Choice(_block_frank_wolfe, (*_BLOCK_OPTIONS, "form", *_ACTIVE_OPTIONS), ("hinge",), dual=True),
    "sdca": Choice(BlockFrankWolfe, (*_BLOCK_OPTIONS, "smoothing"), ("smooth",), dual=True),
    "coordinate-ascent": Choice(
        ExactBlocks, ("order", "averaging", "focus", "examples_at_once", "rounds"), ("hinge",), dual=True
    ),
    "projected-gradient": Choice(ProjectedGradient, (), ("hinge",), dual=True),
    "fw": Choice(FrankWolfe, ("line_search",), ("hinge",), dual=True),
    "extragradient": Choice(_extragradient, _SADDLE_OPTIONS, ("hinge",), dual=True),
    "cutting-plane": Choice(CuttingPlane, ("share", "forget_after"), ("hinge", "smooth"), dual=True),
    "n-slack": Choice(
        NSlack, ("examples_at_once", "violation", "forget_after", "max_bytes"), ("hinge",), dual=True
    ),
    "subgradient": Choice(Subgradient, _SUBGRADIENT_OPTIONS, ("hinge", "smooth")),
    "stochastic-subgradient": Choice(
        StochasticSubgradient,
        (*_SUBGRADIENT_OPTIONS, "order", "uniform_average", "examples_at_once"),
        ("hinge",),
    ),
    "lbfgs": Choice(LBFGS, ("memory",), ("smooth",)),
    "gradient": Choice(GradientDescent, ("step", "eta"), ("smooth",)),
    "proximal": Choice(Proximal, (), ("smooth",), any_penalty=True),
    "perceptron": Choice(Perceptron, ("order", "averaging", "patience", "examples_at_once"), ("perceptron",)),
}
ORDERS: dict[str, Callable[[], Any]] = {"permutation": Permutation, "uniform": Uniform, "gap": GapSampling}
DIRECTIONS = {kind.name.lower(): kind for kind in Steps}
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


def make_solver(
    solver: Any,
    loss: str,
    options: Mapping[str, Any] | None,
    *,
    regularization: float,
    penalty: str = "l2",
    auto: str = "",
) -> Solver:
    """The solver that a name, with its options, stands for; a solver object stands for itself.

    `auto` is what "auto" means where the family of the loss does not decide it.
    """
    options = dict(options or {})
    if not isinstance(solver, str):
        if options:
            raise ValueError("solver_options go with a solver's name; a solver object has its own.")
        return solver
    family = LOSSES[loss][1]
    if solver == "auto":
        smooth = "proximal" if penalty != "l2" else auto or "sdca"
        solver = {"hinge": "bcfw", "perceptron": "perceptron", "smooth": smooth}[family]
    choice = SOLVERS[one_of("solver", solver, ["auto", *SOLVERS])]
    for name in options:
        one_of(f"option of solver {solver!r}", name, choice.options)
    constrained = ball_of(options) is not None
    _refuse_what_it_cannot(solver, choice, loss, penalty, 1.0 if constrained else regularization)
    return choice.make(**_objects(options))


def make_checkpoint(checkpoint: Any) -> Checkpoint | None:
    """A folder stands for a checkpoint in it; None for none."""
    if checkpoint is None or isinstance(checkpoint, Checkpoint):
        return checkpoint
    if not isinstance(checkpoint, str | PathLike):
        kind = type(checkpoint).__name__
        raise TypeError(f"checkpoint must be a folder, a Checkpoint or None; got {kind}.")
    return Checkpoint(Path(checkpoint))


def _refuse_what_it_cannot(
    solver: str, choice: Choice, loss: str, penalty: str, regularization: float
) -> None:
    family = LOSSES[loss][1]
    if family == "perceptron" and solver != "perceptron":
        raise ValueError(
            f"Solver {solver!r} cannot train loss='perceptron': with a regulariser its optimum is w = 0; "
            "use solver='perceptron' (the averaged perceptron), or loss='hinge'."
        )
    if solver == "perceptron" and family != "perceptron":
        raise ValueError(
            f"Solver 'perceptron' trains loss='perceptron' only; for loss={loss!r} use solver='auto'."
        )
    fit = [
        name
        for name, one in SOLVERS.items()
        if family in one.families and (penalty == "l2" or one.any_penalty)
    ]
    if not fit:
        raise ValueError(
            f"penalty={penalty!r} needs a smooth loss such as 'softmax'; loss={loss!r} takes 'l2'."
        )
    if solver not in fit:
        what = f"loss={loss!r}" if penalty == "l2" else f"loss={loss!r} with penalty={penalty!r}"
        raise ValueError(f"Solver {solver!r} cannot train {what}; use one of {', '.join(map(repr, fit))}.")
    if choice.dual and regularization == 0:
        raise ValueError(
            f"Solver {solver!r} works on the dual and needs regularization > 0; for 0 use "
            + (
                "solver='lbfgs'."
                if family == "smooth"
                else "solver='stochastic-subgradient' with solver_options={'step': 'diminishing'}."
            )
        )


def _objects(options: dict[str, Any]) -> dict[str, Any]:
    if isinstance(options.get("order"), str):
        options["order"] = ORDERS[one_of("order", options["order"], ORDERS)]()
    if isinstance(options.get("steps"), str):
        options["steps"] = DIRECTIONS[one_of("steps", options["steps"], DIRECTIONS)]
    if options.get("step") == "backtracking":  # what gradient descent does without a rule
        del options["step"]
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
