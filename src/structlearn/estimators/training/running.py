"""How an estimator is trained: its parameters are checked, an objective is made, `solve` minimises it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

import numpy as np

from structlearn.core.contract import Array
from structlearn.core.memory import Memory, parse_size
from structlearn.core.sentences import join_sentences
from structlearn.estimators.advice.columns import add_scaling_advice
from structlearn.estimators.choices import (
    Auto,
    ball_of,
    check_number,
    check_run,
    make_checkpoint,
    make_solver,
    one_of,
    penalty_of,
    threads,
)
from structlearn.estimators.inputs.distinct import DistinctExamples
from structlearn.estimators.loss_choice import AUTO, trained_loss
from structlearn.estimators.scikit import drawn_seed, warn_of_convergence
from structlearn.estimators.training.fresh_fit import former_of, keep_layout
from structlearn.estimators.weights.frequencies import gold_frequencies
from structlearn.problem.objective import Objective
from structlearn.problem.penalties import NonNegative, Penalty
from structlearn.problem.registry import LOSSES, losses_of
from structlearn.scoring import LabelScoring, Scoring
from structlearn.solvers.progress import report_progress
from structlearn.solvers.solution import Certificate, Solution
from structlearn.solvers.solver import Solver
from structlearn.structures import Structure
from structlearn.structures.base import SparseVertices

if TYPE_CHECKING:
    from structlearn.estimators.base import StructuredEstimator
    from structlearn.solvers.stopping import Stopping

S = TypeVar("S", bound=Structure)


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
    #: examples among which equal ones can be merged, where that has not been done
    distinct: DistinctExamples | None = None

    def merged(self) -> TrainingProblem[S]:
        """Return the same problem with equal examples merged, in an order that does not depend on theirs."""
        if self.distinct is None:
            return self
        active, weight = self.distinct.found
        return self._replace(active=active, sample_weight=weight, distinct=None)


@dataclass(frozen=True)
class EstimatorTraining(Generic[S]):
    """The training of an estimator by its parameters; kinds of estimators name a subclass as `trained_by`."""

    estimator: StructuredEstimator[S]

    def run(self, problem: TrainingProblem[S]) -> tuple[Objective, Solution]:
        """Minimise the objective of `problem`; set what every fitted estimator has."""
        from structlearn.estimators.advice.learned import warn_of_nothing

        estimator = self.estimator
        solver, stopping = self.solver_and_stopping()
        estimator.loss_ = estimator.chosen_loss().name
        if estimator.solver == "auto":
            solver = self.solver_for(estimator.loss_, self.auto_for(problem))
        if not getattr(solver, "takes_all_at_once", False):
            problem = problem.merged()
        objective = self.objective(problem)
        warm = self.warm(objective) if estimator.warm_start else None
        seed = drawn_seed(estimator.random_state)
        self.count_labels(problem)
        solution = self.minimise(objective, problem.structure, solver, stopping, seed, warm)
        warn_of_nothing(estimator, problem, objective)
        return objective, solution

    def count_labels(self, problem: TrainingProblem[S]) -> None:
        """Note how often each label occurs, where outputs are labels of rows."""
        found = gold_frequencies(problem) if hasattr(self.estimator, "classes_") else None
        if found is not None:
            self.estimator._frequencies = found

    # ---- what kinds of estimators do otherwise ---------------------------------------------------------

    def auto_for(self, problem: TrainingProblem[S]) -> Auto:
        """Return what solver="auto" stands for on this data."""
        return self.estimator.usual_solvers

    def warm(self, objective: Objective) -> Solution | None:
        """Return what `warm_start` goes on from, if there is something."""
        return former_of(self.estimator).get("_solution")

    def fitted_structure(self, structure: S) -> S:
        """Return the structure that the fitted estimator has: that of the problem, unless overridden."""
        return structure

    def strength(self, problem: TrainingProblem[S]) -> float:
        """Return lambda for this problem."""
        return self.estimator.regularization

    def penalty(self, problem: TrainingProblem[S], strength: float) -> Penalty | None:
        """Return R for this problem and lambda; None for the squared norm."""
        return NonNegative(strength) if getattr(self.estimator, "positive", False) else problem.penalty

    def check_regularization(self) -> None:
        """Raise ValueError unless lambda is a number of at least 0."""
        check_number("regularization", self.estimator.regularization)

    # ---- from parameters to objects ----------------------------------------------------------------------

    def solver_and_stopping(self, auto: Auto | None = None) -> tuple[Solver, Stopping]:
        """Return the solver and the stopping rule; `auto` is what "auto" stands for, if not as usual."""
        from structlearn.solvers.stopping import Stopping

        estimator = self.estimator
        self.check_regularization()
        check_run(estimator.tol, estimator.max_passes, estimator.max_seconds, estimator.callback)
        make_checkpoint(estimator.checkpoint)
        if estimator.memory is not None:
            parse_size(estimator.memory)
        one_of("loss", estimator.loss, (AUTO, *losses_of(estimator.output_kind)))
        solver = self.solver_for(estimator.chosen_loss().name, auto)
        return solver, Stopping(estimator.tol, estimator.max_passes, estimator.max_seconds)

    def solver_for(self, loss: str, auto: Auto | None = None) -> Solver:
        """Return the solver of a loss; ValueError where it cannot train it."""
        estimator = self.estimator
        return make_solver(
            estimator.solver,
            loss,
            estimator.solver_options,
            regularization=estimator.regularization,
            penalty=penalty_of(estimator),
            auto=auto or estimator.usual_solvers,
        )

    def objective(self, problem: TrainingProblem[S]) -> Objective:
        """Bind problem, loss and penalty."""
        estimator = self.estimator
        loss = LOSSES[trained_loss(estimator)]
        ball = ball_of(estimator.solver_options)
        strength = 0.0 if loss.family == "perceptron" or ball else self.strength(problem)
        return Objective(
            problem.structure,
            problem.scoring,
            problem.gold,
            problem.cost if loss.cost_augmented else np.zeros_like(problem.cost),
            regularization=strength,
            regularizer=loss.regularizer,
            penalty=ball or self.penalty(problem, strength),
            sample_weight=problem.sample_weight,
            active=problem.active,
            n_jobs=threads(estimator.n_jobs),
            memory=problem.memory,
        )

    def minimise(
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

        estimator = self.estimator
        keep_layout(estimator)

        def adopt(w: Array) -> None:
            estimator.structure_, estimator.weights_ = self.fitted_structure(structure), w

        with report_progress(stopping, verbose=estimator.verbose, callback=estimator.callback) as callback:
            solution = solve(
                objective,
                solver,
                stopping,
                seed=seed,
                callback=callback,
                warm=warm,
                watch=estimator._weights_watcher(adopt),
                checkpoint=make_checkpoint(estimator.checkpoint),
                resumable=resumable or estimator.warm_start,
            )
        adopt(solution.w)
        certificate = estimator.certificate_ = self.describe(
            self._add_advice(solution.certificate, objective)
        )
        estimator.history_ = solution.history
        if estimator.warm_start:
            estimator._solution = solution
        if not certificate.converged and certificate.passes >= estimator.max_passes:
            warn_of_convergence(certificate.status, stacklevel=4)
        return solution

    def describe(self, certificate: Certificate) -> Certificate:
        """Add to the status what the problem is, where that is not as usual: the reason of the loss."""
        why = self.estimator.chosen_loss().why
        return replace(certificate, status=join_sentences(certificate.status, why)) if why else certificate

    def _add_advice(self, certificate: Certificate, objective: Any) -> Certificate:
        """Add the cause to the status, if training has not converged and columns are not scaled."""
        scoring = getattr(objective, "scoring", None)
        if certificate.converged or not isinstance(scoring, LabelScoring):
            return certificate
        return add_scaling_advice(certificate, scoring.X, self.estimator, constant=scoring.intercept)


def training_of(estimator: StructuredEstimator[S]) -> EstimatorTraining[S]:
    """Return the training of an estimator, as its class would have it."""
    return estimator.trained_by(estimator)
