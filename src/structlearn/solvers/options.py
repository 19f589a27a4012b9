"""The options of solvers by name, read from their classes, and the objects that words stand for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import Field, dataclass, fields
from inspect import Parameter, signature
from typing import Any

from structlearn import solvers
from structlearn.core.help_texts import parameter_sentences
from structlearn.core.registry import one_of
from structlearn.solvers.extragradient.geometry import Geometry
from structlearn.solvers.solver import Solver, SolverBase

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


@dataclass(frozen=True)
class MadeOfWords:
    """A function that makes a solver of words, and the class of solvers that it makes.

    Its options are those that its help text describes and, where it takes others, those of the class.
    """

    function: Callable[..., Solver]
    solver: type[SolverBase[Any]]

    def __call__(self, **options: Any) -> Solver:
        return self.function(**options)


def made_of_words(solver: type[SolverBase[Any]]) -> Callable[[Callable[..., Solver]], MadeOfWords]:
    """Say that the decorated function makes solvers of a class."""
    return lambda function: MadeOfWords(function, solver)


Maker = type[SolverBase[Any]] | MadeOfWords


def class_of(make: Maker) -> type[SolverBase[Any]]:
    """Return the class of the solvers that are made."""
    return make.solver if isinstance(make, MadeOfWords) else make


def options_of(make: Maker) -> dict[str, str]:
    """Return the options that a solver takes where it is named, with what they mean."""
    if isinstance(make, MadeOfWords):
        kinds = [one.kind for one in signature(make.function).parameters.values()]
        others = options_of(make.solver) if Parameter.VAR_KEYWORD in kinds else {}
        return parameter_sentences(make.function) | others
    said: dict[str, str] = {}
    for one in reversed(make.__mro__):
        said |= parameter_sentences(one)
    declared: Any = make
    offered = (field for field in fields(declared) if field.name not in make.not_options)
    return {
        name: what for field in offered for name, what in _describe_option(field, said.get(field.name, ""))
    }


def _describe_option(field: Field[Any], what: str) -> list[tuple[str, str]]:
    """Return name and meaning of the options that stand for a field."""
    if field.name == "step_rule":
        return [("step", what), ("eta", "The length of constant and diminishing steps.")]
    if type(field.default) in (bool, int, float):
        default = f"{field.default:g}" if type(field.default) is float else field.default
        what += f" Default: {default}."
    return [(field.name, what)]


def with_objects(options: Mapping[str, object]) -> dict[str, object]:
    """Return the options with objects for the orders, directions and step rules that they name."""
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


@made_of_words(solvers.ActiveBlocks)
def block_frank_wolfe(form: str = "active-set", **options: Any) -> Solver:
    """Choose by the form in which z is kept.

    Parameters
    ----------
    form : str
        "active-set", or "dense": one vector per example and one plain step per oracle call, for large gaps,
        without the options from `steps` on.
    """
    if one_of("form", form, ("active-set", "dense")) == "active-set":
        return solvers.ActiveBlocks(**options)
    dense = [name for name in options_of(solvers.BlockFrankWolfe) if name != "smoothing"]
    for name in options:
        one_of("option of solver 'bcfw' with form='dense'", name, dense)
    return solvers.BlockFrankWolfe(**options)


@made_of_words(solvers.Extragradient)
def extragradient(
    geometry: str = "auto", variant: str = "adaptive", memory: str = "auto", radius: object = None
) -> Solver:
    """Choose by the words for its parts; the radius is the problem's, not the solver's.

    Parameters
    ----------
    geometry : str
        "auto", "entropic" or "euclidean".
    variant : str
        "adaptive" or "plain".
    memory : str
        "auto", "full" (z is kept) or "efficient" (vectors of the size of w).
    radius : float
        Radius of the ball that w stays in, in place of the penalty.
    """
    make = VARIANTS[one_of("variant", variant, VARIANTS)]
    full = FORMS[one_of("memory", memory, FORMS)]
    return make(GEOMETRIES[one_of("geometry", geometry, GEOMETRIES)], full)
