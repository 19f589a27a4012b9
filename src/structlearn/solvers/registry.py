"""The solvers by name: one entry each, of which help texts, refusals, `compare` and the docs are made.

A new solver is its own file and an entry here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from structlearn.core.registry import Registry, located

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
    options : its options and what they mean
    needs : what the problem must have, of `structlearn.solvers.needs.NEEDS`
    penalties : the penalties that it takes
    short : a short name that stands for it
    compared : its place among the solvers that `compare` tries where none is named; None if it does not
    """

    name: str
    make: str | Callable[..., Solver]
    trains: tuple[str, ...]
    when: str
    step: str
    default: str = ""
    options: Mapping[str, str] = field(default_factory=dict)
    needs: frozenset[str] = frozenset()
    penalties: tuple[str, ...] = ("l2",)
    compared: int | None = None
    short: str = ""

    def made(self, options: Mapping[str, object]) -> Solver:
        """The solver with these options, which must be its own."""
        from structlearn.solvers.options import with_objects

        made: Solver = located(self.make)(**with_objects(options))
        return made


_DUAL = frozenset({"regularization"})
#: Names of all penalties.
PENALTIES = ("l2", "l1", "elasticnet", "group")
_ORDER = {"order": '"permutation", "uniform" or "gap"'}
_AVERAGING = {"averaging": "certify the weighted average of the iterates, too"}
_AT_ONCE = {"examples_at_once": "examples of a compiled call; Ctrl-C waits for it"}
_FOCUS = {"focus": "passes' worth of exact visits to active blocks after each full pass"}
_ROUNDS = {"rounds": "with threads, how often a pass joins what they have done"}
_EXACT = {"exact": "whether a block is maximised exactly where that is a projection (multiclass problems)"}
_BLOCKS = {**_ORDER, **_AVERAGING, **_EXACT, **_FOCUS, **_AT_ONCE, **_ROUNDS}
_FORGET = {"forget_after": "how long what has no weight is kept"}
_ACTIVE_STEPS = {
    "steps": 'among the vertices seen so far: "pairwise", "away" or "plain"',
    "inner_steps": "how many of them follow an oracle call at most (10)",
    "inner_accuracy": "they end at this share of the block's gap",
    "cached_passes": "passes without the oracle after each pass with it, at most (8)",
    "cached_accuracy": "they end at this share of the gap",
    **_FORGET,
    "most_atoms": "vertices that an example keeps at most (256)",
}
_ACTIVE_SETS = {
    "form": '"active-set", or "dense": one vector per example and one plain step per oracle call, for large '
    "gaps; it takes none of the options that follow",
    **_ACTIVE_STEPS,
}
_SMOOTHING = {"smoothing": "how far from the gold vertex z starts; as is best for the dual unless given"}
_PATIENCE = {"patience": "passes without fewer mistakes after which it ends (10)"}
_STEPS = {
    "step": '"pegasos", "constant" or "diminishing"',
    "eta": "the length of the latter two",
    **_AVERAGING,
}

SOLVERS: Registry[SolverEntry] = Registry(
    "solver",
    [
        SolverEntry(
            *("bcfw", "structlearn.solvers.options:block_frank_wolfe", (HINGE,)),
            default="the hinge on rows that do not overlap, and on rows on clusters",
            when="one of several classes; options of its own",
            step="one oracle call an example, then steps among the vertices seen so far; exact step lengths",
            options={**_BLOCKS, **_ACTIVE_SETS},
            needs=_DUAL,
            compared=1,
        ),
        SolverEntry(
            *("sdca", "structlearn.solvers:BlockFrankWolfe", (SMOOTH,)),
            default="flat smooth losses above a million weights, and of rows on clusters",
            when="softmax, sparsemax",
            step="the same pass as bcfw, towards the marginals or the projection",
            options={**_BLOCKS, **_SMOOTHING},
            needs=_DUAL,
            compared=2,
        ),
        SolverEntry(
            *("stochastic-extragradient", "structlearn.solvers:StochasticExtragradient", (HINGE, SMOOTH)),
            short="seg",
            default="structures, and the hinge on rows that overlap",
            when="nearly always: fewer passes than bcfw and sdca, far fewer at a small `regularization`; "
            "[more](extragradient.md)",
            step="as bcfw and sdca, at weights that follow those of z and are extrapolated",
            options={
                **{**_EXACT, **_FOCUS, **_AT_ONCE, **_ROUNDS, **_SMOOTHING, **_ACTIVE_STEPS},
                "cached_passes": "passes without the oracle after each pass with it, at most (2)",
                "follows": "how often in a pass the scoring weights follow w(z) (2)",
            },
            needs=_DUAL,
            penalties=("l2", "elasticnet"),
            compared=13,
        ),
        SolverEntry(
            *("coordinate-ascent", "structlearn.solvers:ExactBlocks", (HINGE,)),
            when="the dual of the binary and multiclass hinge",
            step="exact block steps",
            options={**_ORDER, **_AVERAGING, **_FOCUS, **_AT_ONCE, **_ROUNDS},
            needs=_DUAL | {"exact blocks"},
        ),
        SolverEntry(
            *("projected-gradient", "structlearn.solvers:ProjectedGradient", (HINGE,)),
            when="a baseline for the dual of the binary and multiclass hinge",
            step="projected steps on all blocks",
            needs=_DUAL | {"hinge", "local parts"},
        ),
        SolverEntry(
            *("fw", "structlearn.solvers:FrankWolfe", (HINGE,)),
            when="few, very expensive oracle calls that you run as a batch",
            step="all blocks at once; exact line search or 2/(k+2)",
            options={"line_search": "True, or False for 2/(k+2)"},
            needs=_DUAL,
            compared=5,
        ),
        SolverEntry(
            *("extragradient", "structlearn.solvers.options:extragradient", (HINGE,)),
            when="a batch of marginals or projections is cheap, or w within a radius is wanted; "
            "[more](extragradient.md)",
            step="all blocks at once, adaptive",
            options={
                "geometry": '"auto", "entropic" or "euclidean"',
                "variant": '"adaptive" or "plain"',
                "memory": '"auto", "full" or "efficient"',
                "radius": "of the ball that w stays in, in place of the penalty",
            },
            needs=_DUAL | {"hinge"},
            compared=3,
        ),
        SolverEntry(
            *("cutting-plane", "structlearn.solvers:CuttingPlane", (HINGE, SMOOTH)),
            when="few weights, a cheap oracle; smooth losses too",
            step="one plane a pass, mixed by a small quadratic program (1-slack)",
            options={
                "share": "how far from the best weights towards the master's to ask next; 1 is the classical "
                "method",
                **_FORGET,
            },
            needs=_DUAL,
            compared=4,
        ),
        SolverEntry(
            *("n-slack", "structlearn.solvers:NSlack", (HINGE,)),
            when="oracle calls so dear that few passes matter most; at most a few thousand examples",
            step="a working set for each example, mixed by a large quadratic program",
            options={
                "examples_at_once": "between two master problems",
                "violation": "share of the mean violation that a constraint must have to be added",
                **_FORGET,
                "max_bytes": "memory beyond which it refuses to begin",
            },
            needs=_DUAL,
        ),
        SolverEntry(
            *("subgradient", "structlearn.solvers:Subgradient", (HINGE, SMOOTH)),
            when="a baseline",
            step="1/(lambda t), constant or diminishing steps on all examples",
            options=_STEPS,
        ),
        SolverEntry(
            *("stochastic-subgradient", "structlearn.solvers:StochasticSubgradient", (HINGE,)),
            when="`regularization=0`, or a quick approximate model",
            step="1/(lambda t), constant or diminishing steps on one example; averaged",
            options={
                **_STEPS,
                **_ORDER,
                "uniform_average": "whether all iterates weigh the same",
                **_AT_ONCE,
            },
            compared=6,
        ),
        SolverEntry(
            *("lbfgs", "structlearn.solvers:LBFGS", (SMOOTH,)),
            default="flat smooth losses",
            when="softmax; sparsemax without pairs or transitions",
            step="quasi-Newton on all examples",
            options={"memory": "how many steps it remembers"},
            needs=frozenset({"gradient"}),
            compared=7,
        ),
        SolverEntry(
            *("gradient", "structlearn.solvers:GradientDescent", (SMOOTH,)),
            when="a baseline for smooth losses",
            step="backtracking, constant or diminishing steps",
            options={
                "step": '"backtracking", "constant", "diminishing" or "pegasos"',
                "eta": "the length of constant and diminishing ones",
            },
            needs=frozenset({"gradient"}),
            compared=8,
        ),
        SolverEntry(
            *("proximal", "structlearn.solvers:Proximal", (SMOOTH, SQUARES)),
            default="sparse penalties on smooth losses",
            when='penalties "l1" and "group"; "elasticnet", too',
            step="accelerated proximal gradient",
            needs=frozenset({"gradient"}),
            penalties=PENALTIES,
            compared=12,
        ),
        SolverEntry(
            *("perceptron", "structlearn.solvers:Perceptron", (PERCEPTRON,)),
            default="the perceptron",
            when='`loss="perceptron"`',
            step="w moves by the difference of features at each mistake",
            options={**_ORDER, "averaging": "answer with the average", **_PATIENCE, **_AT_ONCE},
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
            penalties=PENALTIES,
            compared=11,
        ),
    ],
)


def solvers_for(family: str) -> list[str]:
    """The names of the solvers that train a family of losses, those made for it first."""
    fit = [entry for entry in SOLVERS.values() if family in entry.trains]
    return [entry.name for entry in sorted(fit, key=lambda entry: entry.trains.index(family))]


def structured_solvers() -> list[str]:
    """The names of the solvers of losses over structures, which all but those of least squares are."""
    return [entry.name for entry in SOLVERS.values() if set(entry.trains) != {SQUARES}]


def whole_name(name: str) -> str:
    """The name that a short one stands for; any other stands for itself."""
    return next((entry.name for entry in SOLVERS.values() if entry.short and entry.short == name), name)


def compared_solvers() -> list[str]:
    """The names of the solvers that `compare` tries where none is named, in its order."""
    places = {entry.name: entry.compared for entry in SOLVERS.values() if entry.compared is not None}
    return sorted(places, key=places.__getitem__)
