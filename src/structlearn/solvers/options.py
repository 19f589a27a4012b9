"""From the words of solvers' options to the objects that the solvers take."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from structlearn import solvers
from structlearn.core.registry import one_of
from structlearn.solvers.extragradient.geometry import Geometry
from structlearn.solvers.registry import SOLVERS
from structlearn.solvers.solver import Solver

ORDERS: dict[str, Callable[[], solvers.Order]] = {
    "permutation": solvers.Permutation,
    "uniform": solvers.Uniform,
    "gap": solvers.GapSampling,
}
DIRECTIONS = {kind.name.lower(): kind for kind in solvers.Steps}
STEPS: dict[str, Callable[..., solvers.StepRule]] = {
    "constant": solvers.ConstantStep,
    "diminishing": solvers.DiminishingStep,
    "pegasos": solvers.PegasosStep,
}
GEOMETRIES: dict[str, Geometry | None] = {
    "auto": None,
    "entropic": solvers.EntropicGeometry(),
    "euclidean": solvers.EuclideanGeometry(),
}
FORMS = {"auto": None, "full": True, "efficient": False}
VARIANTS: dict[str, Callable[..., Solver]] = {
    "adaptive": solvers.Extragradient,
    "plain": solvers.PlainExtragradient,
}


def with_objects(options: Mapping[str, object]) -> dict[str, object]:
    """The options, with objects for the orders, directions and step rules that they name."""
    found = dict(options)
    if isinstance(found.get("order"), str):
        found["order"] = ORDERS[one_of("order", found["order"], ORDERS)]()
    if isinstance(found.get("steps"), str):
        found["steps"] = DIRECTIONS[one_of("steps", found["steps"], DIRECTIONS)]
    if found.get("step") == "backtracking":  # what gradient descent does without a rule
        del found["step"]
    if "step" in found or "eta" in found:
        found["step_rule"] = _step_rule(found)
    return found


def _step_rule(options: dict[str, object]) -> object:
    step = options.pop("step", "constant")
    eta = {"eta": options.pop("eta")} if "eta" in options else {}
    if not isinstance(step, str):
        return step
    if eta and step == "pegasos":
        raise ValueError("Steps 'pegasos' are 1/(lambda t): they take no eta.")
    return STEPS[one_of("step", step, STEPS)](**eta)


def block_frank_wolfe(form: str = "active-set", **options: Any) -> Solver:
    """By the form in which z is kept."""
    if one_of("form", form, ("active-set", "dense")) == "active-set":
        return solvers.ActiveBlocks(**options)
    dense = [name for name in SOLVERS["sdca"].options if name != "smoothing"]
    for name in options:
        one_of("option of solver 'bcfw' with form='dense'", name, dense)
    return solvers.BlockFrankWolfe(**options)


def extragradient(
    geometry: str = "auto", variant: str = "adaptive", memory: str = "auto", radius: object = None
) -> Solver:
    """The radius is the problem's, not the solver's (see `ball_of` of the estimators)."""
    make = VARIANTS[one_of("variant", variant, VARIANTS)]
    full = FORMS[one_of("memory", memory, FORMS)]
    return make(GEOMETRIES[one_of("geometry", geometry, GEOMETRIES)], full)
