"""The options of tasks: what all of them have, and groups that a task's own options are made of.

Light, so that the help of a task need not import what the task does. `{name}` in a help text is filled in
for the task at hand (see `support.texts`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Self

from structlearn.cli.support.options import (
    Jobs,
    Json,
    Resume,
    Seed,
    chosen_checkpoint,
    lambda_option,
    option,
    registry_names,
    switch,
)
from structlearn.cli.support.stdin import Format

if TYPE_CHECKING:
    from structlearn.solvers import Checkpoint


_SOLVERS = "structlearn.solvers.registry:SOLVERS"
_LOSSES = "structlearn.problem.registry:LOSSES"
_PAIRS = ("full", "symmetric", "antisymmetric", "potts", "truncated-linear", "truncated-quadratic")


def given_options(options: Any, *names: str) -> dict[str, Any]:
    """Return the options that were given, by name: all of them, or those that are named."""
    found = {one.name: getattr(options, one.name) for one in fields(options)}
    return {
        name: value
        for name, value in found.items()
        if (not names or name in names) and value is not None and value is not False and value != []
    }


# ---- of all tasks ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ProblemOptions:
    """What is minimised, and by what."""

    solver: Annotated[str, option("S", "{solvers}", values=registry_names(_SOLVERS, "auto"))] = "auto"
    regularization: Annotated[
        float | None, lambda_option("Lambda, the weight of the penalty.  [default: {regularization}]")
    ] = None
    tol: Annotated[
        float | None, option("X", "Stop when the duality gap is at most this, {tolerance}.  [default: {tol}]")
    ] = None
    max_passes: Annotated[float, option("N", "Stop after this many passes over the data.")] = 1000
    max_seconds: Annotated[
        float | None,
        option("N", "Stop after this many seconds, reading and features included.  [default: no limit]"),
    ] = None
    no_intercept: Annotated[bool, switch("--no-intercept", "Add no constant feature.")] = False
    seed: Seed = 0
    jobs: Jobs = 1

    def parameters(self) -> dict[str, object]:
        """Return the parameters of any estimator that the options stand for."""
        whole = float(self.max_passes).is_integer()  # as Python's default is, so that files are the same
        return {
            "solver": self.solver,
            "max_passes": int(self.max_passes) if whole else self.max_passes,
            "max_seconds": self.max_seconds,
            "fit_intercept": not self.no_intercept,
            "random_state": self.seed,
            "n_jobs": self.jobs,
            **given_options(self, "regularization", "tol"),
        }


@dataclass(frozen=True)
class DataOptions:
    """What data is, where its name and place do not tell."""

    target: Annotated[str | None, option("NAME[,NAME]", "{target}")] = None
    format: Format = None


@dataclass(frozen=True)
class TalkOptions:
    """What is said meanwhile and in the end, and kept of it."""

    history: Annotated[Path | None, option("FILE.csv", "Write the trace of primal, dual and gap.")] = None
    verbose: Annotated[bool, switch("--verbose", "Write a line to stderr at each evaluation.")] = False
    as_json: Json = False


#: Options of tasks that do not change how files are read.
_OF_TRAINING = (
    "loss",
    "cost",
    "penalty",
    "l1_ratio",
    "groups",
    "edges",
    "pairs",
    "latent_states",
    "inference",
    "polytope",
    "effort",
    "connectivity",
    "alpha",
    "sense",
    "positive",
    "n_samples",
    "noise",
    "early_stopping",
    "validation_fraction",
)

# ---- groups of a task's own -----------------------------------------------------------------------------


@dataclass(frozen=True)
class TaskOptions:
    """What only this task has.

    `says` has what help texts say of this task in the place of `{name}`.
    """

    says: ClassVar[Mapping[str, str]] = {}

    def parameters(self) -> dict[str, Any]:
        """Return the parameters of the estimator that the options stand for; ValueError for a wrong one."""
        return {}

    def reading(self) -> TaskOptions:
        """Return the options without those that leave open how files are read."""
        others = [one.name for one in fields(self) if one.name in _OF_TRAINING]
        return replace(self, **dict.fromkeys(others))

    def for_search(self) -> Self:
        """Return the options with several values (`Several`) of those that `tune` tries by default."""
        return self

    def checkpoint_(self) -> Checkpoint | None:
        """Return where training is written to meanwhile, if the task has such an option and it was given."""
        return None


@dataclass(frozen=True)
class StructuredOptions(TaskOptions):
    """Options of tasks whose estimators have a loss over structures, and train in rounds that can be kept."""

    loss: Annotated[
        str | None,
        option(
            "L", "{losses}  [default: {loss}]", values=registry_names("structlearn.problem.registry:LOSSES")
        ),
    ] = None
    cost: Annotated[
        str | None,
        option(
            "C",
            "With the hinge: hamming (mistakes over length) or count.  [default: {cost}]",
            values=lambda: ("hamming", "count"),
        ),
    ] = None
    checkpoint: Annotated[
        Path | None, option("DIR", "Folder to write the state of training to, to go on from if it ends.")
    ] = None
    checkpoint_seconds: Annotated[float, option("N", "Seconds between two checkpoints.")] = 60.0
    resume: Resume = False
    memory: Annotated[
        str | None,
        option(
            "SIZE",
            "Most memory to take, such as 2GB; the rest goes to files in $TMPDIR.  [default: no limit]",
        ),
    ] = None

    def parameters(self) -> dict[str, Any]:
        found = super().parameters() | given_options(self, "loss", "cost", "memory")
        checkpoint = self.checkpoint_()
        return found if checkpoint is None else found | {"checkpoint": checkpoint}

    def checkpoint_(self) -> Checkpoint | None:
        return chosen_checkpoint(self.checkpoint, self.checkpoint_seconds, resume=self.resume)


@dataclass(frozen=True)
class ClusterOptions(StructuredOptions):
    """Options of tasks that can train on a cluster."""

    cluster: Annotated[
        str | None,
        option(
            "ADDRESS",
            "Train on a Dask cluster: its scheduler (tcp://host:8786, tls://host:8786), or local:K for K "
            "processes here; with the solvers seg, bcfw or sdca.  [default: here]",
        ),
    ] = None


@dataclass(frozen=True)
class PenaltyOptions(TaskOptions):
    """The penalty on the weights."""

    #: what --penalty may be
    penalties: ClassVar[tuple[str, ...]] = ("l2",)

    penalty: Annotated[
        str | None,
        option("P", "{penalties}  [default: l2]", values=lambda: ("l2", "l1", "elasticnet", "group")),
    ] = None

    def parameters(self) -> dict[str, Any]:
        from structlearn.core.registry import one_of

        if self.penalty is not None:
            one_of("penalty", self.penalty, self.penalties)
        return super().parameters() | given_options(self, "penalty")


@dataclass(frozen=True)
class ElasticNetOptions(PenaltyOptions):
    """A penalty that may be an elastic net."""

    l1_ratio: Annotated[
        float | None,
        option(
            "X",
            "With --penalty elasticnet: lambda times this weighs ||w||_1, the rest ||w||^2/2.  "
            "[default: 0.5]",
        ),
    ] = None

    def parameters(self) -> dict[str, Any]:
        if self.l1_ratio is not None and self.penalty != "elasticnet":
            raise ValueError("--l1-ratio goes with --penalty elasticnet.")
        return super().parameters() | given_options(self, "l1_ratio")


# ---- tasks ------------------------------------------------------------------------------------------------


#: Of --model neural.
Epochs = Annotated[int | None, option("N", "neural: passes of training over the data.  [default: 10]", min=1)]
Networks = Annotated[
    int | None, option("N", "neural: networks, of which the mean counts.  [default: {networks}]", min=1)
]


@dataclass(frozen=True)
class ParseOptions(StructuredOptions):
    """Options of `parse`."""

    model: Annotated[
        str | None,
        option(
            "MODEL",
            "linear, or neural: networks, which take minutes and the extra torch.  [default: linear]",
            values=lambda: ("linear", "neural"),
        ),
    ] = None
    epochs: Epochs = None
    networks: Networks = None
    vectors: Annotated[
        Path | None,
        option("FILE", "neural: word vectors (fastText's text format), as further inputs of networks."),
    ] = None

    non_projective: Annotated[bool, switch("--non-projective", "Arcs may cross.")] = False
    many_roots: Annotated[bool, switch("--many-roots", "Several words may depend on the root.")] = False
    says: ClassVar[Mapping[str, str]] = {"cost": "count", "tol": "0.2", "networks": "1"}

    def parameters(self) -> dict[str, Any]:
        crossing = {"projective": False} if self.non_projective else {}
        given = given_options(self, "vectors")
        return super().parameters() | given | crossing | ({"single_root": False} if self.many_roots else {})


@dataclass(frozen=True)
class MatchOptions(ClusterOptions):
    """Options of `match`."""


@dataclass(frozen=True)
class GraphOptions(StructuredOptions):
    """Options of `graph`."""

    says: ClassVar[Mapping[str, str]] = {"regularization": "auto, by the sizes of graphs and features"}

    pairs: Annotated[
        str | None,
        option(
            "P",
            "Tables of weights for the labels of neighbours: full, symmetric, antisymmetric, potts, "
            "truncated-linear or truncated-quadratic.  [default: full]",
            values=lambda: _PAIRS,
        ),
    ] = None
    latent_states: Annotated[int | None, option("N", "Latent states of each label.  [default: 1]", min=1)] = (
        None
    )
    inference: Annotated[
        str | None,
        option(
            "I",
            "Wide graphs: auto, exact (slow, with tighter bounds) or relaxed.  [default: auto]",
            values=lambda: ("auto", "exact", "relaxed"),
        ),
    ] = None
    polytope: Annotated[
        str | None,
        option(
            "P",
            "What the loss maximises over: marginal (labellings) or local (a relaxation, whose gap closes).  "
            "[default: marginal]",
            values=lambda: ("marginal", "local"),
        ),
    ] = None
    effort: Annotated[
        int | None, option("N", "Draws of all nodes in search of a better labelling.  [default: 0]", min=0)
    ] = None

    def parameters(self) -> dict[str, Any]:
        named = ("pairs", "latent_states", "inference", "polytope", "effort")
        return super().parameters() | given_options(self, *named)


@dataclass(frozen=True)
class GridOptions(GraphOptions):
    """Options of `grid`."""

    window: Annotated[
        int | None, option("N", "A pixel has the values of N x N pixels around it.  [default: 1]")
    ] = None
    connectivity: Annotated[
        int | None, option("N", "Neighbours of a pixel, 4 or 8.  [default: 4]", values=lambda: ("4", "8"))
    ] = None

    def parameters(self) -> dict[str, Any]:
        if self.window is not None and not (self.window % 2 == 1 and 1 <= self.window <= 31):
            raise ValueError(f"--window must be odd, between 1 and 31; got {self.window}.")
        return super().parameters() | given_options(self, "connectivity")


@dataclass(frozen=True)
class DecideOptions(ClusterOptions):
    """Options of `decide`."""

    alpha: Annotated[
        float | None, option("X", "The factor of the predicted costs in the loss.  [default: 2]")
    ] = None
    sense: Annotated[
        str | None,
        option(
            "S",
            "Whether costs are to be small (min), or are values that are to be large (max).  [default: the "
            "file's sense, else min]",
            values=lambda: ("min", "max"),
        ),
    ] = None
    positive: Annotated[
        bool,
        switch("--positive", "Let no weight of the predicted costs be negative, the intercept's included."),
    ] = False
    n_samples: Annotated[
        int | None, option("N", "With --loss perturbed: draws of noise per example.  [default: 10]")
    ] = None
    noise: Annotated[
        float | None, option("X", "With --loss perturbed: the standard deviation of noise.  [default: 1]")
    ] = None
    early_stopping: Annotated[
        bool,
        switch("--early-stopping", "Leave examples out, and take the weights of the least regret on them."),
    ] = False
    validation_fraction: Annotated[
        float | None, option("X", "With --early-stopping: the share that is left out.  [default: 0.2]")
    ] = None
    says: ClassVar[Mapping[str, str]] = {
        "loss": "spo+",
        "regularization": "auto, by the sizes of costs and features",
        "tolerance": "as a share of the objective at zero",
    }

    def parameters(self) -> dict[str, Any]:
        for name, flag, given in (
            ("n_samples", "--loss perturbed", self.loss == "perturbed"),
            ("noise", "--loss perturbed", self.loss == "perturbed"),
            ("validation_fraction", "--early-stopping", self.early_stopping),
        ):
            if getattr(self, name) is not None and not given:
                raise ValueError(f"--{name.replace('_', '-')} goes with {flag}.")
        own = ("alpha", "sense", "positive", "n_samples", "noise", "early_stopping", "validation_fraction")
        return super().parameters() | given_options(self, *own)
