"""What all estimators share: parameters in, `solve` out."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from structlearn.core.contract import Array
from structlearn.core.memory import Memory, parse_size
from structlearn.estimators.choices import ball_of, check_number, make_checkpoint, make_solver, one_of
from structlearn.estimators.forms import StoredForm, count
from structlearn.estimators.scikit import BaseEstimator, check_is_fitted, drawn_seed, warn_of_convergence
from structlearn.problem.objective import Objective
from structlearn.problem.oracle import Oracle
from structlearn.problem.penalties import Penalty
from structlearn.problem.registry import LOSSES, STRUCTURES, losses_of
from structlearn.scoring import RowScoring, Scoring
from structlearn.solvers.progress import Watchable, watched
from structlearn.structures import Structure
from structlearn.structures.base import SparseVertices

if TYPE_CHECKING:
    from structlearn.solvers.loop import Stopping
    from structlearn.solvers.solution import Solution


class Task(NamedTuple):
    """A training problem, checked and laid out."""

    structure: Structure
    scoring: Scoring
    gold: SparseVertices
    cost: Array
    sample_weight: Array | None = None
    active: Array | None = None
    penalty: Penalty | None = None
    memory: Memory | None = None


@dataclass(kw_only=True, eq=False, repr=False)
class StructuredEstimator(Watchable, BaseEstimator):
    """Shared parameters of all estimators.

    Parameters
    ----------
    loss : {"hinge", "perceptron", "softmax", "sparsemax"}
        "hinge" is the structural SVM, "softmax" the conditional random field, "sparsemax" SparseMAP;
        "perceptron" runs the averaged structured perceptron.
    solver : str or solver object
        "auto" picks "bcfw" for the hinge and "sdca" for smooth losses (one exact step an oracle call, and a
        gap that comes with it). docs/choosing.md has all names, and when to use which.
    regularization : float
        lambda in P(w) = lambda/2 ||w||^2 + mean loss. Not used by the perceptron.
    tol : float
        Training ends when the duality gap is at most this.
    max_passes, max_seconds : float
        Training ends, with a warning, after so many passes; or, without one, after so many seconds.
    fit_intercept : bool
        Adds a constant feature, regularised like any other.
    cost : "hamming", "count", array or mapping
        The task loss: mistakes over the length (labels, gold links), their number, or weighted.
    class_weight : mapping, "balanced" or None
    n_jobs : int or None
        Threads for training, evaluation and prediction. -1 means all cores. The way to the optimum depends
        on their number, but not on anything else.
    memory : int or str, optional
        Most memory that training shall take, such as "2GB"; what does not fit goes to mapped files in the
        folder for temporary files. For data larger than that see `structlearn.data.open_packed`.
    checkpoint : path or `structlearn.solvers.Checkpoint`, optional
        Folder to which training is written every minute, to go on from after an interruption.
    random_state : int, RandomState or None
    verbose : int
        1 writes a line to stderr at each evaluation.
    warm_start : bool
        Whether another `fit` on the same data goes on where the last one stopped.
    callback : callable, optional
        Called with each row of the history; training ends when it returns a true value.
    solver_options : dict, optional
        Options of the named solver: order, averaging, steps, cached_passes, step, eta, line_search ...
    """

    loss: str = "hinge"
    solver: Any = "auto"
    regularization: float = 0.01
    tol: float = 1e-3
    max_passes: float = 1000
    max_seconds: float | None = None
    fit_intercept: bool = True
    cost: Any = "hamming"
    class_weight: Any = None
    n_jobs: int | None = 1
    memory: int | str | None = None
    checkpoint: Any = None
    random_state: Any = None
    verbose: int = 0
    warm_start: bool = False
    callback: Any = None
    solver_options: dict[str, Any] | None = None

    #: How a model file holds it.
    _stored: ClassVar[StoredForm] = StoredForm({"n_features_in_": count})
    #: The kind of outputs, which decides what losses there are.
    _outputs: ClassVar[str] = STRUCTURES
    #: The kind of packed data that holds such examples, where a cluster can train on them.
    _packed: ClassVar[str] = ""
    #: What solver="auto" takes for smooth losses.
    _auto: ClassVar[str] = "sdca"

    def _lay_out(self, X: Any, y: Any, sample_weight: Any, classes: Any = None) -> Task:
        """Check the data and lay it out; `classes` are all labels, where y may lack some."""
        raise NotImplementedError

    def _fit(self, X: Any, y: Any, sample_weight: Any, client: Any) -> None:
        """Train here or, where there is a client, on its cluster."""
        if client is None:
            self._train(self._lay_out(X, y, sample_weight))
            return
        from structlearn.estimators.cluster import train_on

        train_on(client, self, X, y, sample_weight)

    def _train(self, task: Task) -> None:
        """Minimise the objective of `task`; set what every fitted estimator has."""
        solver, stopping = self._checked_parameters()
        objective = self._objective(task)
        warm = getattr(self, "_solution", None) if self.warm_start else None
        if warm is not None and warm.w.size != objective.n_weights:
            warm = None
        self._minimise(objective, solver, stopping, self._seed(), warm)

    def _objective(self, task: Task) -> Objective:
        loss = LOSSES[self.loss]
        ball = ball_of(self.solver_options)
        return Objective(
            task.structure,
            task.scoring,
            task.gold,
            task.cost if loss.cost_augmented else np.zeros_like(task.cost),
            regularization=0.0 if loss.family == "perceptron" or ball else self.regularization,
            regularizer=loss.regularizer,
            penalty=ball or task.penalty,
            sample_weight=task.sample_weight,
            active=task.active,
            n_jobs=self._threads(),
            memory=task.memory,
        )

    def _seed(self) -> int:
        return drawn_seed(self.random_state)

    def _minimise(
        self, objective: Any, solver: Any, stopping: Stopping, seed: int, warm: Solution | None = None
    ) -> None:
        """Run the solver under the eyes of the user, and keep what it finds."""
        from structlearn.solvers.loop import solve

        with watched(stopping, verbose=self.verbose, callback=self.callback) as callback:
            watch = self._shown(lambda w: self._adopt(objective, w))
            solution = solve(
                objective,
                solver,
                stopping,
                seed=seed,
                callback=callback,
                warm=warm,
                watch=watch,
                checkpoint=make_checkpoint(self.checkpoint),
            )
        self._store(objective, solution)

    def _adopt(self, objective: Objective, w: Array) -> None:
        self.structure_: Any = objective.structure
        self.weights_ = w

    def _store(self, objective: Objective, solution: Solution) -> None:
        self._adopt(objective, solution.w)
        self.certificate_ = solution.certificate
        self.history_ = solution.history
        if self.warm_start:
            self._solution = solution
        certificate = solution.certificate
        if not certificate.converged and certificate.passes >= self.max_passes:
            warn_of_convergence(certificate.status, stacklevel=5)

    def check_parameters(self) -> None:
        """Refuse parameters that `fit` would refuse, without data: ValueError or TypeError."""
        self._checked_parameters()
        self._threads()

    def _checked_parameters(self, auto: str = "") -> tuple[Any, Stopping]:
        """The solver and the stopping rule; `auto` is what solver="auto" takes for smooth losses here."""
        from structlearn.solvers.loop import Stopping

        check_number("regularization", self.regularization)
        check_number("tol", self.tol)
        check_number("max_passes", self.max_passes, strict=True)
        if self.max_seconds is not None:
            check_number("max_seconds", self.max_seconds, strict=True)
        if self.callback is not None and not callable(self.callback):
            raise TypeError(f"callback must be callable or None; got {type(self.callback).__name__}.")
        make_checkpoint(self.checkpoint)
        if self.memory is not None:
            parse_size(self.memory)
        one_of("loss", self.loss, losses_of(self._outputs))
        solver = make_solver(
            self.solver,
            self.loss,
            self.solver_options,
            regularization=self.regularization,
            penalty=getattr(self, "penalty", "l2"),
            auto=auto or self._auto,
        )
        return solver, Stopping(self.tol, self.max_passes, self.max_seconds)

    def _memory(self) -> Memory:
        """Room for what training needs, within the limit."""
        return Memory(self.memory)

    def _threads(self) -> int:
        if self.n_jobs is None:
            return 1
        if not isinstance(self.n_jobs, int | np.integer) or self.n_jobs == 0:
            raise ValueError(
                f"n_jobs must be a positive number of threads, or -1 for all; got {self.n_jobs!r}."
            )
        return int(self.n_jobs) if self.n_jobs > 0 else max(1, (os.cpu_count() or 1) + 1 + int(self.n_jobs))

    def _decide(self, scoring: Scoring, structure: Structure | None = None) -> Iterator[tuple[int, Array]]:
        """(i, local parts of the best output) for every example.

        After the sparsemax loss a score of 0.3 means 30%, so that a part is worth taking from 1/2 on.
        `structure` is that of the examples, where it is not the one of training.
        """
        structure = structure or self.structure_
        threshold = structure.threshold if self.loss == "sparsemax" else 0.0
        shift = np.full(scoring.start[-1], -threshold) if threshold else None
        return self._predictions(structure, structure.record, scoring, shift)

    def _soft(self, scoring: Scoring, structure: Structure | None = None) -> Iterator[tuple[int, Array]]:
        """(i, local parts of the prediction function of the loss) for every example."""
        check_is_fitted(self, "weights_")
        regularizer = LOSSES[self.loss].regularizer
        if not regularizer.smooth:
            raise AttributeError(
                f"loss={self.loss!r} has no marginals; train with loss='softmax' or 'sparsemax'."
            )
        structure = structure or self.structure_
        return self._predictions(structure, regularizer.record(structure), scoring, None)

    def _predictions(
        self, structure: Structure, record: Any, scoring: Scoring, shift: Array | None
    ) -> Iterator[tuple[int, Array]]:
        check_is_fitted(self, "weights_")
        oracle = Oracle(record, scoring, structure=structure, n_jobs=self._threads())
        return oracle.predict(self.weights_, shift)

    def _weight_counts(self) -> set[int]:
        """How many weights a model file may hold: with or without an intercept."""
        d: int = self.n_features_in_
        return {d, d + 1}

    def _check_shapes(self, shapes: Mapping[str, tuple[int, ...]]) -> None:
        """ValueError if the arrays of a model file do not fit together."""

    def save(self, path: str | Path) -> None:
        """Write the fitted model as one safetensors file (see `structlearn.load`)."""
        from structlearn.estimators.persistence import save

        save(self, path)


class RowWeights:
    """The weights of an estimator whose rows of features score every label, by name."""

    weights_: Array
    n_features_in_: int
    structure_: Any
    fit_intercept: bool

    @property
    def coef_(self) -> Array:
        """Weights of the features, of shape (n_labels, n_features)."""
        return self._label_weights[: self.n_features_in_].T

    @property
    def intercept_(self) -> Array:
        """Weights of the constant feature, of shape (n_labels,); zero where there is none."""
        W = self._label_weights
        return W[self.n_features_in_] if len(W) > self.n_features_in_ else np.zeros(W.shape[1])

    @property
    def _label_weights(self) -> Array:
        n_others = self.structure_.n_shared + self._n_pair_weights
        return self.weights_[: self.weights_.size - n_others].reshape(-1, self.structure_.n_labels)

    def _weight_counts(self) -> set[int]:
        structure, d = self.structure_, self.n_features_in_
        others = structure.n_shared + self._n_pair_weights
        return {(d + intercept) * structure.n_labels + others for intercept in (0, 1)}

    @property
    def _n_pair_weights(self) -> int:
        """How many weights, the last of all, are of features that score pairs of labels."""
        return 0

    @property
    def _shared_weights(self) -> Array:
        return self.weights_[self.weights_.size - self.structure_.n_shared :]

    def _row_scoring(self, X: Any, lengths: Array) -> RowScoring:
        intercept = len(self._label_weights) > self.n_features_in_
        structure = self.structure_
        return RowScoring(X, lengths, structure.n_labels, n_shared=structure.n_shared, intercept=intercept)
