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

from structlearn.core.contract import Array
from structlearn.core.sentences import Statement, join_sentences
from structlearn.estimators.choices import Auto
from structlearn.estimators.loss_choice import AUTO, trained_loss
from structlearn.estimators.training.regularization_choice import LEAST, MOST, SizedTraining
from structlearn.estimators.training.running import TrainingProblem
from structlearn.problem.objective import Objective
from structlearn.problem.registry import LOSSES
from structlearn.solvers.solution import Certificate, Solution
from structlearn.solvers.solver import Solver
from structlearn.structures import Structure
from structlearn.structures.base import SparseVertices

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
            sample_weight=problem.sample_weight,
            n_jobs=self.n_jobs(problem.structure),
            memory=problem.memory,
        )

    def n_jobs(self, structure: Structure) -> int:
        """Return how many threads answer."""
        from structlearn.estimators.choices import threads

        return threads(self.estimator.n_jobs)

    def strength(self, problem: TrainingProblem[Structure]) -> float:
        """Return lambda: for "auto" 0.01 P(0) ||x||^2 / ||c||^2, the units of a loss over squared weights."""
        given = self.estimator.regularization
        if given != AUTO:
            return cast(float, given)
        weight = problem.sample_weight
        loss = LOSSES[trained_loss(self.estimator)]
        trial = Objective(
            problem.structure, problem.scoring, problem.gold, problem.cost, regularization=1.0,
            regularizer=loss.regularizer, sample_weight=weight,
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
            estimator.certificate_ = chosen_certificate(solution.certificate, objective, choice.best, choice)
        if trained_loss(estimator) == "perturbed":
            estimator.certificate_ = of_draws(estimator.certificate_, estimator.n_samples)
        return solution


class ValidationChoice:
    """The weights of the least regret on examples that training does not see."""

    def __init__(self, regret: Any) -> None:
        self.regret = regret
        self.best: Array | None = None
        self.least = np.inf
        self.regrets: list[float] = []

    def look(self, w: Array) -> None:
        """Compare weights with the best so far."""
        found = float(self.regret(w))
        self.regrets.append(found)
        if found < self.least:
            self.best, self.least = w.copy(), found


def chosen_certificate(
    certificate: Certificate, objective: Objective, w: Array, choice: ValidationChoice
) -> Certificate:
    """Return the certificate of weights that were chosen by validation: their own primal value and gap."""
    primal = float(objective.primal(w))
    gap = primal - certificate.dual
    at = int(np.argmin(choice.regrets)) + 1
    said = Statement(
        "Early stopping: the weights of evaluation {at} of {n} have the least validation regret, {regret}.",
        at=at, n=len(choice.regrets), regret=f"{choice.least:.4g}",
    )  # fmt: skip
    status = join_sentences(said, certificate.status)
    converged = gap <= certificate.tolerance
    return replace(certificate, primal=primal, gap=gap, status=status, converged=converged)


def of_draws(certificate: Certificate, n_samples: int) -> Certificate:
    """Return the certificate of a perturbed loss, which is that of the noise that was drawn."""
    said = Statement(
        "This is an estimate: primal, dual and gap are those of the loss with {n} draws of noise per "
        "example, and nothing is certified about its expectation.",
        n=n_samples,
    )
    return replace(certificate, status=join_sentences(certificate.status, said), exact=False)


def best_decisions(objective_oracle: Any, scores: Array) -> SparseVertices:
    """Return the best decision of each example for given scores of all parts, end to end."""
    scoring = objective_oracle.scoring
    ones, zero = np.ones(scoring.n_examples), np.zeros(scoring.n_weights)
    start, index, value, counts = scoring.start, [], [], []
    for answer in objective_oracle.maximizers(zero, scores, ones):
        at = np.flatnonzero(answer.vertices)
        first = start[answer.first : answer.last + 1] - start[answer.first]
        owner = np.searchsorted(first, at, side="right") - 1
        index.append(at - first[owner])
        value.append(answer.vertices[at])
        counts.append(np.bincount(owner, minlength=answer.last - answer.first))
    begins = np.concatenate([[0], np.cumsum(np.concatenate(counts))])
    return SparseVertices(begins, np.concatenate(index), np.concatenate(value))
