"""What all estimators share: parameters in, `solve` out."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Generic, NamedTuple, TypeVar

import numpy as np

from structlearn.core.contract import Array
from structlearn.core.memory import Memory, parse_size
from structlearn.core.sentences import ParameterError, Sentence, sentences
from structlearn.estimators.advice.columns import advised
from structlearn.estimators.choices import (
    ON_STRUCTURES,
    Auto,
    Weights,
    ball_of,
    check_number,
    check_run,
    make_checkpoint,
    make_solver,
    one_of,
)
from structlearn.estimators.files.attributes import StoredForm, count
from structlearn.estimators.help_texts import with_inherited
from structlearn.estimators.loss_choice import AUTO, WITHOUT_MARGINALS, LossChoice, choose_loss
from structlearn.estimators.mapped import MappedRows
from structlearn.estimators.scikit import BaseEstimator, drawn_seed, warn_of_convergence
from structlearn.estimators.weights.frequencies import gold_frequencies, tie_scores
from structlearn.problem.objective import Objective
from structlearn.problem.oracle import Oracle
from structlearn.problem.penalties import Penalty
from structlearn.problem.registry import LOSSES, STRUCTURES, losses_of
from structlearn.scoring import RowScoring, Scoring
from structlearn.solvers.checkpoint import Checkpoint
from structlearn.solvers.progress import Watchable, watched
from structlearn.solvers.solution import Certificate, History, Row, Solution
from structlearn.solvers.solver import Solver
from structlearn.structures import Structure
from structlearn.structures.base import SparseVertices

if TYPE_CHECKING:
    from structlearn.solvers.stopping import Stopping

S = TypeVar("S", bound=Structure)
#: Weights that are looked at before all are.
_FIRST = 1000


class TrainingProblem(NamedTuple, Generic[S]):
    """A training problem, checked and laid out."""

    structure: S
    scoring: Scoring
    gold: SparseVertices
    cost: Array
    sample_weight: Array | None = None
    active: Array | None = None
    penalty: Penalty | None = None
    memory: Memory | None = None


class Fitted(Generic[S]):
    """What every fitted estimator has."""

    structure_: S
    weights_: Array
    certificate_: Certificate
    history_: History
    n_features_in_: int
    #: the loss that was trained, which loss="auto" stood for
    loss_: str
    #: where warm_start is set
    _solution: Solution
    #: the share of rows with each label, where outputs are labels of rows
    _frequencies: Array


@dataclass(kw_only=True, eq=False, repr=False)
class StructuredEstimator(Fitted[S], Watchable, BaseEstimator):
    """Shared parameters of all estimators.

    Those with rows of features have `row_transformer` as well, which maps these rows (`mapped.MappedRows`).

    Parameters
    ----------
    loss : {"auto", "hinge", "perceptron", "softmax", "sparsemax"}
        "hinge" is the structural SVM, "softmax" the conditional random field, "sparsemax" SparseMAP;
        "perceptron" runs the averaged structured perceptron. "auto" is "softmax" where marginals are exact
        and cheap (classes, chains, segments, label sets without cycles) and "hinge" elsewhere; with a solver
        or a penalty for another loss alone, or a `cost`, it is that one. `loss_` tells which it was.
    solver : str or solver object
        "auto" picks "stochastic-extragradient" (or, where solver_options are theirs alone, "bcfw" for the
        hinge and "sdca" for smooth losses). docs/solvers.md has all names, and when to use which.
    regularization : float
        lambda in P(w) = lambda/2 ||w||^2 + mean loss. Not used by the perceptron.
    tol : float
        Training ends when the duality gap is at most this, in proportion to P(0) where that is below 0.1 or
        above 10 (see docs/certificate.md).
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

    loss: str = AUTO
    solver: str | Solver[Any, Any] = "auto"
    regularization: float = 0.01
    tol: float = 1e-3
    max_passes: float = 1000
    max_seconds: float | None = None
    fit_intercept: bool = True
    cost: Weights = "hamming"
    class_weight: Weights | None = None
    n_jobs: int | None = 1
    memory: int | str | None = None
    checkpoint: str | PathLike[str] | Checkpoint | None = None
    random_state: int | np.random.RandomState | None = None
    verbose: int = 0
    warm_start: bool = False
    callback: Callable[[Row], object] | None = None
    solver_options: Mapping[str, object] | None = None

    #: How a model file holds it.
    _stored: ClassVar[StoredForm] = StoredForm({"n_features_in_": count})
    #: The kind of outputs, which decides what losses there are.
    _outputs: ClassVar[str] = STRUCTURES
    #: The kind of packed data that holds such examples, where a cluster can train on them.
    _packed: ClassVar[str] = ""
    #: What solver="auto" stands for.
    _auto: ClassVar[Auto] = ON_STRUCTURES
    #: Parameters that say what mistakes cost, which the hinge alone knows.
    _of_cost: ClassVar[tuple[str, ...]] = ("cost", "class_weight")

    def __init_subclass__(cls, **options: object) -> None:
        """Help texts of estimators name all parameters."""
        super().__init_subclass__(**options)
        cls.__doc__ = with_inherited(cls)

    def _train(self, problem: TrainingProblem[S]) -> tuple[Objective, Solution]:
        """Minimise the objective of `problem`; set what every fitted estimator has."""
        from structlearn.estimators.advice.learned import warn_of_nothing

        self._checked_parameters()
        self.loss_ = self.chosen_loss().name
        solver, stopping = self._checked_parameters(self._auto_for(problem))
        objective = self._objective(problem)
        warm = self._warm(objective) if self.warm_start else None
        seed = drawn_seed(self.random_state)
        self._count_labels(problem)
        solution = self._minimise(objective, problem.structure, solver, stopping, seed, warm)
        warn_of_nothing(self, problem, objective)
        return objective, solution

    def _count_labels(self, problem: TrainingProblem[S]) -> None:
        """Note how often each label occurs, where outputs are labels of rows."""
        self.__dict__.pop("_frequencies", None)
        found = gold_frequencies(problem) if hasattr(self, "classes_") else None
        if found is not None:
            self._frequencies = found

    def _shifted(self, scoring: Scoring, structure: Structure, shift: Array | None) -> Array | None:
        """What is added to scores: where all weights are zero, what prefers frequent labels, too."""
        known = getattr(self, "_frequencies", None)
        if known is None or self.weights_[:_FIRST].any() or self.weights_.any():
            return shift
        ties = tie_scores(scoring, structure, known)
        return shift if ties is None else ties if shift is None else ties + shift

    @property
    def _auto_losses(self) -> tuple[str, ...]:
        """The losses that "auto" may stand for, the usual one first."""
        return WITHOUT_MARGINALS

    def chosen_loss(self) -> LossChoice:
        """The loss that `fit` would train by the parameters as they are: its `name`, and `why` it is that."""
        return choose_loss(self)

    @property
    def _loss(self) -> str:
        """The loss of the fitted model; before `fit`, the one that it would train."""
        return getattr(self, "loss_", None) or self.chosen_loss().name

    def _auto_for(self, problem: TrainingProblem[S]) -> Auto:
        """What solver="auto" stands for on this data."""
        return self._auto

    def _warm(self, objective: Objective) -> Solution | None:
        """What `warm_start` goes on from, if there is something."""
        return getattr(self, "_solution", None)

    def _strength(self, problem: TrainingProblem[S]) -> float:
        """Lambda for this problem."""
        return self.regularization

    def _objective(self, problem: TrainingProblem[S]) -> Objective:
        loss = LOSSES[self._loss]
        ball = ball_of(self.solver_options)
        return Objective(
            problem.structure,
            problem.scoring,
            problem.gold,
            problem.cost if loss.cost_augmented else np.zeros_like(problem.cost),
            regularization=0.0 if loss.family == "perceptron" or ball else self._strength(problem),
            regularizer=loss.regularizer,
            penalty=ball or problem.penalty,
            sample_weight=problem.sample_weight,
            active=problem.active,
            n_jobs=self._threads(),
            memory=problem.memory,
        )

    def _minimise(
        self,
        objective: Any,
        structure: S,
        solver: Any,
        stopping: Stopping,
        seed: int,
        warm: Solution | None = None,
        *,
        resumable: bool = False,
    ) -> Solution:
        """Run the solver under the eyes of the user, and keep what it finds.

        A solution is `resumable` where another run will start from it; with `warm_start` it always is.
        """
        from structlearn.solvers.loop import solve

        def adopt(w: Array) -> None:
            self.structure_, self.weights_ = structure, w

        with watched(stopping, verbose=self.verbose, callback=self.callback) as callback:
            solution = solve(
                objective,
                solver,
                stopping,
                seed=seed,
                callback=callback,
                warm=warm,
                watch=self._shown(adopt),
                checkpoint=make_checkpoint(self.checkpoint),
                resumable=resumable or self.warm_start,
            )
        adopt(solution.w)
        certificate = self.certificate_ = self._told(self._advised(solution.certificate, objective))
        self.history_ = solution.history
        self.__dict__.pop("_solution", None)
        if self.warm_start:
            self._solution = solution
        if not certificate.converged and certificate.passes >= self.max_passes:
            warn_of_convergence(certificate.status, stacklevel=4)
        return solution

    def _told(self, certificate: Certificate) -> Certificate:
        """With the reason in its status, where the loss is not the usual one."""
        why = self.chosen_loss().why
        return replace(certificate, status=sentences(certificate.status, why)) if why else certificate

    def _advised(self, certificate: Certificate, objective: Any) -> Certificate:
        """With the cause in its status, where training has not converged and columns are unscaled."""
        scoring = getattr(objective, "scoring", None)
        if certificate.converged or not isinstance(scoring, RowScoring):
            return certificate
        return advised(certificate, scoring.X, self, constant=scoring.intercept)

    def check_parameters(self) -> None:
        """Refuse parameters that `fit` would refuse, without data: ValueError or TypeError."""
        self._checked_parameters()
        self._threads()
        if isinstance(self, MappedRows):
            self._check_row_transformer()

    def _check_regularization(self) -> None:
        """ValueError for a lambda that is none."""
        check_number("regularization", self.regularization)

    def _checked_parameters(self, auto: Auto | None = None) -> tuple[Solver, Stopping]:
        """The solver and the stopping rule; `auto` is what solver="auto" stands for, if not as usual."""
        from structlearn.solvers.stopping import Stopping

        self._check_regularization()
        check_run(self.tol, self.max_passes, self.max_seconds, self.callback)
        make_checkpoint(self.checkpoint)
        if self.memory is not None:
            parse_size(self.memory)
        one_of("loss", self.loss, (AUTO, *losses_of(self._outputs)))
        solver = self._solver_for(self.chosen_loss().name, auto)
        return solver, Stopping(self.tol, self.max_passes, self.max_seconds)

    def _solver_for(self, loss: str, auto: Auto | None = None) -> Solver:
        """The solver of a loss; ValueError where it cannot train it."""
        return make_solver(
            self.solver,
            loss,
            self.solver_options,
            regularization=self.regularization,
            penalty=getattr(self, "penalty", "l2"),
            auto=auto or self._auto,
        )

    def _threads(self) -> int:
        if self.n_jobs is None:
            return 1
        if not isinstance(self.n_jobs, int | np.integer) or self.n_jobs == 0:
            raise ParameterError(
                "{n_jobs} must be a positive number of threads, or -1 for all; got {given}.",
                given=repr(self.n_jobs),
            )
        return int(self.n_jobs) if self.n_jobs > 0 else max(1, (os.cpu_count() or 1) + 1 + int(self.n_jobs))

    def _decide(
        self, scoring: Scoring, structure: Structure, shift: Array | None = None
    ) -> Iterator[tuple[int, Array]]:
        """(i, local parts of the best output) for every example, whose scores may be shifted.

        After the sparsemax loss a score of 0.3 means 30%, so that a part is worth taking from 1/2 on.
        """
        threshold = structure.threshold if self._loss == "sparsemax" else 0.0
        if threshold:
            shift = np.full(scoring.start[-1], -threshold)
        shift = self._shifted(scoring, structure, shift)
        oracle = Oracle(structure.record, scoring, structure=structure, n_jobs=self._threads())
        return oracle.predict(self.weights_, shift)

    def _soft(
        self, scoring: Scoring, structure: Structure, shift: Array | None = None
    ) -> Iterator[tuple[int, Array]]:
        """(i, local parts of the prediction function of the loss) for every example."""
        regularizer = LOSSES[self._loss].regularizer
        if not regularizer.smooth:
            raise AttributeError(
                Sentence(
                    "{loss=} has no marginals; train with {loss=softmax} or 'sparsemax'.", loss=self._loss
                )
            )
        oracle = Oracle(regularizer.record(structure), scoring, structure=structure, n_jobs=self._threads())
        return oracle.predict(self._soft_weights, shift)

    @property
    def _soft_weights(self) -> Array:
        """The weights that probabilities are of."""
        return self.weights_

    def _weight_counts(self) -> set[int]:
        """How many weights a model file may hold: with or without an intercept."""
        return {self.n_features_in_, self.n_features_in_ + 1}

    def _check_shapes(self, shapes: Mapping[str, tuple[int, ...]]) -> None:
        """ValueError if the arrays of a model file do not fit together."""

    def save(self, path: str | Path) -> None:
        """Write the fitted model as one safetensors file (see `structlearn.load`)."""
        from structlearn.estimators.files.persistence import save

        save(self, path)
