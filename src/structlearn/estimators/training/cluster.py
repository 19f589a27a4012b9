"""Training an estimator on a cluster: its data is split, each worker lays out its own partition."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from structlearn.core.contract import Array
from structlearn.core.sentences import ParameterError
from structlearn.distributed import (
    Engine,
    JoinedBlocks,
    JoinedExtragradient,
    Partitions,
    WorkerSpec,
    aggregation_of,
    split,
    spread_out,
)
from structlearn.distributed.dask_engine import DaskEngine
from structlearn.estimators.base import S, StructuredEstimator
from structlearn.estimators.choices import ROWS_ON_CLUSTERS, make_checkpoint
from structlearn.estimators.inputs.checking import Tables, check_sample_weight, stack_examples
from structlearn.estimators.inputs.frames import is_table
from structlearn.estimators.loss_choice import trained_loss
from structlearn.estimators.mapped import MappedRows, fitted_to
from structlearn.estimators.scikit import (
    Rows,
    Table,
    checked_examples,
    drawn_seed,
    frozen,
    is_frozen,
)
from structlearn.estimators.training.running import TrainingProblem, training_of
from structlearn.metrics import Outputs
from structlearn.problem.objective import Objective
from structlearn.problem.registry import LOSSES
from structlearn.solvers import ActiveBlocks, BlockFrankWolfe, Checkpoint, StochasticExtragradient
from structlearn.solvers.solver import Solver

if TYPE_CHECKING:
    from distributed import Client

    Cluster: TypeAlias = Client | Engine

#: Parameters that are the driver's alone, and what workers have in their place.
_DRIVERS = {"verbose": 0, "callback": None, "checkpoint": None, "warm_start": False, "random_state": 0}
_WORKERS = "workers"


@dataclass
class Laid(Generic[S]):
    """A partition's data, laid out by an estimator."""

    estimator: StructuredEstimator[S]
    problem: TrainingProblem[S]

    @property
    def weight(self) -> float:
        """The sum of the example weights, of repeated rows once."""
        weight, active = self.problem.sample_weight, self.problem.active
        if weight is None:
            return float(self.problem.scoring.n_examples)
        return float(weight.sum() if active is None else weight[active].sum())

    def objective(self, fraction: float) -> Objective:
        self.estimator.regularization /= fraction
        return training_of(self.estimator).objective(self.problem)


@dataclass(frozen=True)
class LayOut:
    """Lays out a partition as an estimator of this class does, with these parameters."""

    kind: type[Any]
    parameters: Mapping[str, object]

    def __call__(self, data: Any, weight: Array | None) -> Laid[Any]:
        estimator = self.kind(**self.parameters)
        problem = estimator.lay_out(data.X, data.y, weight, classes=data.classes)
        return Laid(estimator, problem.merged())


def train_on(
    client: Cluster,
    estimator: StructuredEstimator[S],
    X: Table | Tables | Partitions,
    y: Outputs,
    sample_weight: ArrayLike | None,
    regularization: float | None = None,
) -> None:
    """Fit `estimator` on a cluster: a `distributed.Client`, or any `structlearn.distributed.Engine`.

    X and y are as for `fit`, or X is a `Partitions` that the workers see and y is None. Lambda is the
    parameter of the estimator, unless it is given.
    """
    strength = estimator.regularization if regularization is None else regularization
    on_rows = estimator.packed_as == "classes"
    chosen, stopping = training_of(estimator).solver_and_stopping(auto=ROWS_ON_CLUSTERS if on_rows else None)
    estimator.loss_ = estimator.chosen_loss().name
    solver = _block_solver(estimator, chosen)
    engine = client if hasattr(client, "revive") else DaskEngine(client)
    if y is not None:
        check_sample_weight(sample_weight, len(y))
    checkpoint = make_checkpoint(estimator.checkpoint)
    seed = drawn_seed(estimator.random_state)
    with _folder(checkpoint) as (folder, kept), _same_map(estimator, X):
        before = len(list(Path(kept.folder).glob("*")))  # a run goes on with the partitions it had
        if isinstance(X, Partitions):
            partitions = X
        else:
            parts = min(before or engine.size, len(y))
            partitions = split(folder, estimator.packed_as, X, y, parts=parts, seed=seed)
        first = partitions.first()
        structure = estimator.lay_out(first.X[:1], first.y[:1], None, classes=first.classes).structure
        weights = partitions.weights(None if sample_weight is None else np.asarray(sample_weight))
        own_values = {"loss": estimator.loss_, "regularization": strength}
        parameters = {**estimator.get_params(deep=False), **_DRIVERS, **own_values}
        lay_out = LayOut(type(estimator), parameters)
        aggregation = aggregation_of(len(partitions.paths))
        posts = [
            WorkerSpec(k, str(path), lay_out, weight, solver, seed, own, stopping.tol, aggregation)
            for k, (path, weight) in enumerate(zip(partitions.paths, weights))
            for own in [replace(kept, folder=Path(kept.folder) / f"{k:04d}")]
        ]
        objective = spread_out(engine, posts, structure, strength)
        try:
            training_of(estimator).minimise(objective, structure, _driver(chosen, estimator), stopping, seed)
        finally:
            objective.close()


def _block_solver(estimator: StructuredEstimator[S], solver: Solver) -> BlockFrankWolfe:
    """Return the solver itself; ValueError for what a cluster cannot do."""
    if not isinstance(solver, BlockFrankWolfe):
        raise ParameterError(
            "A cluster trains with {solver=seg}, 'bcfw' (hinge) or 'sdca' (smooth losses), or 'auto'."
        )
    if getattr(estimator, "penalty", "l2") != "l2":
        raise ParameterError(
            "A cluster trains with {penalty=l2}; other penalties need the data in one place."
        )
    if solver.averaging:
        raise ValueError("averaging is not kept on a cluster; leave it out.")
    if estimator.class_weight is not None:
        raise ValueError("class_weight is not known to every part of a cluster; use sample_weight or cost.")
    if isinstance(estimator.cost, Mapping) and "possible" in estimator.cost:
        raise ValueError("Masks of possible links are not split over a cluster; leave out cost['possible'].")
    if estimator.warm_start:
        raise ValueError("warm_start does not work on a cluster; use checkpoint to go on from a run.")
    if isinstance(solver, StochasticExtragradient):  # the driver leads; workers take its block steps
        return ActiveBlocks(**{one.name: getattr(solver, one.name) for one in fields(ActiveBlocks)})
    return solver


def _driver(solver: Solver, estimator: StructuredEstimator[S]) -> JoinedBlocks:
    if isinstance(solver, StochasticExtragradient):
        return JoinedExtragradient(smooth=LOSSES[trained_loss(estimator)].family == "smooth")
    return JoinedBlocks()


@contextmanager
def _same_map(estimator: StructuredEstimator[S], X: Table | Tables | Partitions) -> Iterator[None]:
    """Have the row transformer be one that was fitted to all rows, while partitions are laid out."""
    given = getattr(estimator, "row_transformer", None)
    if given is None or not isinstance(estimator, MappedRows):
        yield
        return
    estimator.check_row_transformer()
    if is_table(X):
        raise ValueError("A cluster trains on rows of numbers; tables are trained in one place.")
    if isinstance(X, Partitions):
        if not is_frozen(given):
            raise ValueError(
                "No worker has all rows to fit the row_transformer to; fit it before, and pass it as "
                "sklearn.frozen.FrozenEstimator(...)."
            )
        fitted = given
    else:
        fitted = fitted_to(_all_rows(estimator, X), given)
    estimator.row_transformer = frozen(fitted)
    try:
        yield
        estimator.row_transformer_ = fitted
    finally:
        estimator.row_transformer = given


def _all_rows(estimator: StructuredEstimator[S], X: Any) -> Rows:
    if estimator.packed_as == "classes" or getattr(X, "ndim", 3) == 2:
        return checked_examples(estimator, X, accept_sparse="csr")
    axes = {"chain": 2, "matching": 3}.get(estimator.packed_as) or np.ndim(X[0])
    return stack_examples(X, ndim=axes, noun="Example")[0]


@contextmanager
def _folder(checkpoint: Checkpoint | None) -> Iterator[tuple[Path, Checkpoint]]:
    """Yield the folder of the partitions and the workers' checkpoint: beside the driver's, if any."""
    scratch = Path(tempfile.mkdtemp(prefix="structlearn-"))
    try:
        if checkpoint is None:
            yield scratch / "parts", Checkpoint(scratch / _WORKERS, resume=True)
            return
        checkpoint.check()
        folder = Path(checkpoint.folder).absolute() / _WORKERS
        if not checkpoint.resume:
            shutil.rmtree(folder, ignore_errors=True)
        yield scratch / "parts", replace(checkpoint, folder=folder, resume=True)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
