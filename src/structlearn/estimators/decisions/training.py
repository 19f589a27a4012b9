"""How a predictor of decisions is trained: SPO+, imitation and perturbed losses are all structural hinges.

With true costs c, predicted costs c_hat, the best decision mu and s = -1 (costs are minimised) or 1, the SPO+
loss of Elmachtoub and Grigas (2022) is

    max_z <s alpha c_hat - s c, z - mu>,    alpha = 2,

the hinge with scores theta = s alpha c_hat and part costs -s c: its task loss <-s c, z - mu> is the regret. A
part of the costs that is known, k, adds s alpha k to what does not depend on the weights. Perturbed losses
(Berthet et al. 2020) have noise sigma Z in the place of the costs; with m draws of it per example their mean

    1/m sum_j max_z <theta + sigma Z_j, z> - <theta, mu>

is the hinge of m times as many examples, up to sum_j <sigma Z_j, mu>/m, whose expectation is zero.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from structlearn.estimators.choices import Auto, threads
from structlearn.estimators.decisions.early_stopping import chosen_certificate
from structlearn.estimators.decisions.noise import estimate_certificate
from structlearn.estimators.loss_choice import AUTO, trained_loss
from structlearn.estimators.training.regularization_choice import LEAST, MOST, SizedTraining
from structlearn.estimators.training.running import TrainingProblem
from structlearn.problem.objective import Objective
from structlearn.problem.registry import LOSSES
from structlearn.solvers.solution import Solution
from structlearn.solvers.solver import Solver
from structlearn.structures import Structure

if TYPE_CHECKING:
    from structlearn.estimators.decisions.predictor import DecisionPredictor
    from structlearn.solvers.stopping import Stopping

#: Lambda in units of P(0) ||x||^2 / ||c||^2, chosen on generated paths and knapsacks (docs/decisions.md).
UNIT, UNIT_OF_DECISIONS = 0.01, 0.001


class DecisionTraining(SizedTraining[Structure]):
    """Training of a `DecisionPredictor` by one of the losses that are hinges, or by sparsemax."""

    estimator: DecisionPredictor

    def solver_and_stopping(self, auto: Auto | None = None) -> tuple[Solver, Stopping]:
        """Return the solver and the stopping rule, by which `tol` is a share of P(0)."""
        solver, stopping = super().solver_and_stopping(auto)
        return solver, replace(stopping, relative=True)

    def objective(self, problem: TrainingProblem[Structure]) -> Objective:
        """Bind problem and loss. Costs always count: what is known of them shifts all scores."""
        estimator = self.estimator
        regularizer = LOSSES[trained_loss(estimator)].regularizer
        strength = self.strength(problem)
        estimator.regularization_ = strength
        return Objective(
            problem.structure,
            problem.scoring,
            problem.gold,
            problem.cost,
            regularization=strength,
            regularizer=regularizer,
            penalty=self.penalty(problem, strength),
            sample_weight=problem.sample_weight,
            n_jobs=threads(estimator.n_jobs),
            memory=problem.memory,
        )

    def strength(self, problem: TrainingProblem[Structure]) -> float:
        """Return lambda: for "auto" 0.01 P(0) ||x||^2 / ||c||^2, the units of a loss over squared weights."""
        given = self.estimator.regularization
        if given != AUTO:
            return cast(float, given)
        weight = problem.sample_weight
        loss = LOSSES[trained_loss(self.estimator)]
        trial = Objective(
            problem.structure, problem.scoring, problem.gold, problem.cost, regularization=1.0,
            regularizer=loss.regularizer, sample_weight=weight, n_jobs=threads(self.estimator.n_jobs),
        )  # fmt: skip
        start, scoring = problem.scoring.start, problem.scoring
        of_example = np.repeat(trial.weight, np.diff(start))
        size = float(of_example @ np.square(problem.cost)) or 1.0
        rows = float(of_example @ np.square(scoring.part_norms(0, scoring.n_examples)))
        rows *= 1.0 / max(np.diff(start).mean(), 1.0)
        unit = UNIT if trained_loss(self.estimator) in ("spo+", "perturbed") else UNIT_OF_DECISIONS
        found = unit * trial.primal(np.zeros(trial.n_weights)) * rows / size
        return float(np.clip(found, LEAST, MOST)) if np.isfinite(found) and found > 0 else unit

    def minimise(self, *args: Any, **options: Any) -> Solution:
        """Run the solver; with early stopping, take the weights of the least validation regret."""
        solution = super().minimise(*args, **options)
        estimator, objective = self.estimator, args[0]
        choice = estimator.validation_
        if choice is not None and choice.best is not None:
            estimator.weights_ = choice.best
            estimator.certificate_ = chosen_certificate(solution.certificate, objective, choice, choice.best)
        if trained_loss(estimator) == "perturbed":
            estimator.certificate_ = estimate_certificate(estimator.certificate_, estimator.n_samples)
        return solution
