"""The solvers by name: help texts, refusals, `compare` and the docs are made from their entries.

A new solver is its own file and an entry here. Its options with their help, what it needs and the penalties
that it takes are declared in its class, which is imported when they are asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from structlearn.core.registry import Registry, resolve_name

if TYPE_CHECKING:
    from structlearn.solvers.solver import Solver

#: Families of losses: how a loss is made decides who can train it (see `structlearn.problem.registry`).
HINGE, SMOOTH, PERCEPTRON, SQUARES = "hinge", "smooth", "perceptron", "squares"


@dataclass(frozen=True)
class SolverEntry:
    """A solver by name.

    Attributes
    ----------
    name : what users call it
    make : its class or a function of its options, or where that is ("package.module:Name"); "" for what is
        no solver of the loop, but a part of `LinearRegressor`
    trains : families of losses that it can train, the one it is made for first
    when : when to use it, in words
    step : what a step is, in words
    default : for what solver="auto" takes it, in words
    short : a short name that stands for it
    compared : its place among the solvers that `compare` tries where none is named; None if it does not
    """

    name: str
    make: str | Callable[..., Solver]
    trains: tuple[str, ...]
    when: str
    step: str
    default: str = ""
    compared: int | None = None
    short: str = ""

    @cached_property
    def options(self) -> Mapping[str, str]:
        """Its options and what they mean, as its class has them."""
        from structlearn.solvers.options import options_of

        return options_of(resolve_name(self.make)) if self.make else {}

    @cached_property
    def needs(self) -> frozenset[str]:
        """What the problem must have, of `structlearn.solvers.needs.NEEDS`, as its class says."""
        from structlearn.solvers.options import class_of

        return class_of(resolve_name(self.make)).needs if self.make else frozenset()

    @cached_property
    def penalties(self) -> tuple[str, ...]:
        """The penalties that it takes, as its class says."""
        from structlearn.solvers.options import class_of

        return class_of(resolve_name(self.make)).penalties if self.make else ("l2",)

    def make_solver(self, options: Mapping[str, object]) -> Solver:
        """Make the solver with these options, which must be its own."""
        from structlearn.solvers.options import with_objects

        made: Solver = resolve_name(self.make)(**with_objects(options))
        return made


#: Names of the penalties that are norms, and of all: estimators with positive=True have "nonnegative".
NORMS = ("l2", "l1", "elasticnet", "group")
NONNEGATIVE = "nonnegative"
PENALTIES = (*NORMS, NONNEGATIVE)

SOLVERS: Registry[SolverEntry] = Registry(
    "solver",
    [
        SolverEntry(
            *("bcfw", "structlearn.solvers.options:block_frank_wolfe", (HINGE,)),
            default="the hinge on rows that do not overlap, and on rows on clusters",
            when="one of several classes; options of its own",
            step="one oracle call per example, then steps among the vertices seen so far; exact step lengths",
            compared=1,
        ),
        SolverEntry(
            *("sdca", "structlearn.solvers:BlockFrankWolfe", (SMOOTH,)),
            default="flat smooth losses above a million weights, and of rows on clusters",
            when="softmax, sparsemax",
            step="the same pass as bcfw, towards the marginals or the projection",
            compared=2,
        ),
        SolverEntry(
            *("stochastic-extragradient", "structlearn.solvers:StochasticExtragradient", (HINGE, SMOOTH)),
            short="seg",
            default="structures, and the hinge on rows that overlap",
            when="nearly always: fewer passes than bcfw and sdca, far fewer at a small `regularization`; "
            "[more](extragradient.md)",
            step="as bcfw and sdca, at weights that follow those of z and are extrapolated",
            compared=13,
        ),
        SolverEntry(
            *("stretches", "structlearn.solvers:StretchedExtragradient", (SMOOTH,)),
            default="softmax on sequences of 100 and more positions",
            when="softmax on few long sequences, such as documents",
            step="as the stochastic extragradient, on stretches between positions that the model is sure of",
        ),
        SolverEntry(
            *("coordinate-ascent", "structlearn.solvers:ExactBlocks", (HINGE,)),
            when="the dual of the binary and multiclass hinge",
            step="exact block steps",
        ),
        SolverEntry(
            *("projected-gradient", "structlearn.solvers:ProjectedGradient", (HINGE,)),
            when="a baseline for the dual of the binary and multiclass hinge",
            step="projected steps on all blocks",
        ),
        SolverEntry(
            *("fw", "structlearn.solvers:FrankWolfe", (HINGE,)),
            when="few, very expensive oracle calls that you run as a batch",
            step="all blocks at once; exact line search or 2/(k+2)",
            compared=5,
        ),
        SolverEntry(
            *("extragradient", "structlearn.solvers.options:extragradient", (HINGE,)),
            when="a batch of marginals or projections is cheap, or w within a radius is wanted; "
            "[more](extragradient.md)",
            step="all blocks at once, adaptive",
            compared=3,
        ),
        SolverEntry(
            *("cutting-plane", "structlearn.solvers:CuttingPlane", (HINGE, SMOOTH)),
            when="few weights, a cheap oracle; smooth losses too",
            step="one plane per pass, mixed by a small quadratic program (1-slack)",
            compared=4,
        ),
        SolverEntry(
            *("n-slack", "structlearn.solvers:NSlack", (HINGE,)),
            when="oracle calls so expensive that few passes matter most; at most a few thousand examples",
            step="a working set for each example, mixed by a large quadratic program",
        ),
        SolverEntry(
            *("subgradient", "structlearn.solvers:Subgradient", (HINGE, SMOOTH)),
            when="a baseline",
            step="1/(lambda t), constant or diminishing steps on all examples",
        ),
        SolverEntry(
            *("stochastic-subgradient", "structlearn.solvers:StochasticSubgradient", (HINGE,)),
            when="`regularization=0`, or a quick approximate model",
            step="1/(lambda t), constant or diminishing steps on one example; averaged",
            compared=6,
        ),
        SolverEntry(
            *("newton", "structlearn.solvers:Newton", (SMOOTH,)),
            default="softmax on single rows",
            when="softmax on tables: classes, label sets without pairs",
            step="Newton's or quasi-Newton steps; line searches without scoring again",
            compared=14,
        ),
        SolverEntry(
            *("lbfgs", "structlearn.solvers:LBFGS", (SMOOTH,)),
            default="other flat smooth losses",
            when="softmax; sparsemax without pairs or transitions",
            step="quasi-Newton on all examples",
            compared=7,
        ),
        SolverEntry(
            *("gradient", "structlearn.solvers:GradientDescent", (SMOOTH,)),
            when="a baseline for smooth losses",
            step="backtracking, constant or diminishing steps",
            compared=8,
        ),
        SolverEntry(
            *("proximal-newton", "structlearn.solvers:ProximalNewton", (SMOOTH,)),
            default="sparse penalties on softmax of single rows",
            when='penalties "l1", "elasticnet" and "group" on tables: classes, label sets without pairs',
            step="coordinate descent on a working set, for the second-order model of the losses",
        ),
        SolverEntry(
            *("proximal", "structlearn.solvers:Proximal", (SMOOTH, SQUARES)),
            default="sparse penalties on other smooth losses",
            when='penalties "l1" and "group"; "elasticnet" and `positive=True`, too',
            step="accelerated proximal gradient",
            compared=12,
        ),
        SolverEntry(
            *("perceptron", "structlearn.solvers:Perceptron", (PERCEPTRON,)),
            default="the perceptron",
            when='`loss="perceptron"`',
            step="w moves by the difference of features at each mistake",
            compared=9,
        ),
        SolverEntry(
            *("direct", "", (SQUARES,)),
            default='`LinearRegressor` with penalty "l2"',
            when='`LinearRegressor` with penalty "l2"',
            step="a factorisation, or conjugate gradients",
            compared=10,
        ),
        SolverEntry(
            *(
                "coordinate-descent",
                "structlearn.solvers.first_order.coordinate_descent:CoordinateDescent",
                (SQUARES,),
            ),
            default="`LinearRegressor` with sparse penalties",
            when="`LinearRegressor` with many weights zero",
            step="one weight at a time, on working sets",
            compared=11,
        ),
    ],
)


def solvers_for(family: str) -> list[str]:
    """Return the names of the solvers that train a family of losses, those made for it first."""
    fit = [entry for entry in SOLVERS.values() if family in entry.trains]
    return [entry.name for entry in sorted(fit, key=lambda entry: entry.trains.index(family))]


def structured_solvers() -> list[str]:
    """Return the names of the solvers of losses over structures: all but those of least squares."""
    return [entry.name for entry in SOLVERS.values() if set(entry.trains) != {SQUARES}]


def whole_name(name: str) -> str:
    """Return the name that a short one stands for; any other stands for itself."""
    return next((entry.name for entry in SOLVERS.values() if entry.short and entry.short == name), name)


def compared_solvers() -> list[str]:
    """Return the names of the solvers that `compare` tries where none is named, in its order."""
    places = {entry.name: entry.compared for entry in SOLVERS.values() if entry.compared is not None}
    return sorted(places, key=places.__getitem__)
