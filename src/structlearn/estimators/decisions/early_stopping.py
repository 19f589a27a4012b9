"""Early stopping: of the weights that training evaluates, those of the least regret on other examples."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from structlearn.core.contract import Array
from structlearn.core.sentences import Statement, join_sentences
from structlearn.estimators.decisions.layout import DecisionExamples
from structlearn.problem.objective import Objective
from structlearn.solvers.solution import Certificate
from structlearn.structures.base import SparseVertices


@dataclass(frozen=True, eq=False)
class ValidationRegret:
    """What the regret of weights is computed from.

    gold : the best decisions
    costs, known : of all parts, end to end
    factor : what costs are multiplied by in scores
    """

    examples: DecisionExamples
    gold: SparseVertices
    costs: Array
    factor: float
    known: Array
    n_jobs: int

    def of_weights(self, w: Array, some: Array) -> float:
        """Return the normalised regret on some of the examples."""
        start, total, best = self.examples.scoring.start, 0.0, 0.0
        ones, alone = np.ones(start.size - 1), [(int(i), int(i) + 1) for i in some]
        asked = self.examples.oracle(self.n_jobs).maximizers(w, self.factor * self.known, ones, alone)
        for answer in asked:
            costs = self.costs[start[answer.first] : start[answer.last]]
            total += float(answer.vertices @ costs)
            best += float(self.gold.dense(answer.first, costs.size) @ costs)
        return -float(np.sign(self.factor)) * (total - best) / (abs(best) or 1.0)


@dataclass(eq=False)
class ValidationChoice:
    """The weights of the least regret on examples that training does not see."""

    regret: ValidationRegret
    left_out: Array
    best: Array | None = None
    least: float = np.inf
    regrets: list[float] = field(default_factory=list)

    def look(self, w: Array) -> None:
        """Compare weights with the best so far."""
        found = self.regret.of_weights(w, self.left_out)
        self.regrets.append(found)
        if found < self.least:
            self.best, self.least = w.copy(), found


def set_aside(
    regret: ValidationRegret, fraction: float, weight: Array | None, seed: int
) -> tuple[Array, ValidationChoice]:
    """Return weights of examples that are zero for those left out, and what chooses by these."""
    n = regret.examples.scoring.n_examples
    left_out = np.random.default_rng([seed, 1]).permutation(n)[: max(1, round(fraction * n))]
    kept = np.ones(n) if weight is None else weight.copy()
    kept[left_out] = 0.0
    if not kept.any():
        raise ValueError("Early stopping leaves no example to train on; lower validation_fraction.")
    return kept, ValidationChoice(regret, left_out)


def chosen_certificate(
    certificate: Certificate, objective: Objective, choice: ValidationChoice, w: Array
) -> Certificate:
    """Return the certificate of weights that were chosen by validation: their own primal value and gap."""
    primal = float(objective.primal(w))
    gap = primal - certificate.dual
    said = Statement(
        "Early stopping: the weights of evaluation {at} of {n} have the least validation regret, {regret}.",
        at=int(np.argmin(choice.regrets)) + 1,
        n=len(choice.regrets),
        regret=f"{choice.least:.4g}",
    )
    status = join_sentences(said, certificate.status)
    converged = gap <= certificate.tolerance
    return replace(certificate, primal=primal, gap=gap, status=status, converged=converged)
