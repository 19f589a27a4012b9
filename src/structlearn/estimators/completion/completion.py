"""Outputs that are known in part: a convex problem for each completion, until the whole stops falling.

With A_i the outputs that are allowed for example i, and costs c_i that are zero on them, the whole is

    F(w) = R(w) + sum_i p_i { Omega*(Phi_i w + c_i) - Omega*_{A_i}(Phi_i w) }

a difference of convex functions: for the hinge the latent structural SVM (Yu and Joachims 2009), for softmax
the marginal likelihood, log Z - log Z of what is allowed. The second term is replaced by its tangent at the
weights so far (the concave-convex procedure): outputs are completed, by the best allowed one or, for
softmax, by the marginals of the allowed ones, and what is left is a convex problem with a certificate. F
never rises; what it ends at is a local optimum at best. Where the maximum is bounded only, F is computed with
the bound in the first term and with a real output in the second, and so is an upper bound itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

import numpy as np

from structlearn.core.contract import Array
from structlearn.core.sentences import ParameterError
from structlearn.estimators.base import StructuredEstimator
from structlearn.estimators.choices import threads
from structlearn.estimators.loss_choice import trained_loss
from structlearn.estimators.scikit import drawn_seed
from structlearn.estimators.training.running import TrainingProblem, training_of
from structlearn.problem.objective import Objective
from structlearn.problem.oracle import Oracle
from structlearn.problem.regularizers import Shannon
from structlearn.solvers.solution import Certificate, Solution
from structlearn.structures import Structure
from structlearn.structures.base import SparseVertices

if TYPE_CHECKING:
    from structlearn.solvers.stopping import Stopping

S = TypeVar("S", bound=Structure)

#: Convex problems at most; F has stopped falling long before.
MOST_ROUNDS = 100
#: What of a fitted estimator belongs to one convex problem.
_FITTED = ("weights_", "certificate_", "history_")


class Choices(NamedTuple):
    """Labels of sequences (or states of the nodes of graphs), end to end, as far as they are known.

    table : (n_tokens, K), which labels each may have. lengths : (n_sequences,)
    """

    classes: Array
    table: Array
    lengths: Array

    @property
    def codes(self) -> Array:
        """The first label that each token may have: the label, where there is only one."""
        return np.argmax(self.table, axis=1)

    @property
    def labels(self) -> list[Array]:
        """Those labels, a sequence each."""
        return np.split(self.classes[self.codes], np.cumsum(self.lengths)[:-1])

    @property
    def is_open(self) -> Array:
        """Which sequences leave something open."""
        ends = np.cumsum(self.lengths)
        known = np.concatenate([[0], np.cumsum(self.table.sum(axis=1) > 1)])
        return known[ends] > known[ends - self.lengths]


class PartialProblem(NamedTuple, Generic[S]):
    """Outputs that are known in part, laid out: their gold vertices are to be completed."""

    laid: TrainingProblem[S]
    choices: Choices
    #: 0, or -inf for labels that are not allowed
    shift: Array
    #: what is missing
    missing: str = "labels"


def no_gold(n_examples: int) -> SparseVertices:
    """Return gold vertices without entries, to be filled in later."""
    none = np.zeros(n_examples + 1, dtype=np.int64)
    return SparseVertices(none, none[:0], np.empty(0))


class NoWarmStart(ValueError):
    """Training that always begins anew was asked to go on from somewhere."""


def check_partial(estimator: StructuredEstimator[Any], what: str) -> None:
    """Raise ValueError for parameters that do not go with `what`, such as partly labelled sequences."""
    loss = trained_loss(estimator)
    if loss not in ("hinge", "softmax"):
        raise ParameterError(
            "{loss=} needs all labels; train on {what} with {loss=hinge} or 'softmax'.", loss=loss, what=what
        )
    if estimator.checkpoint is not None or estimator.warm_start:
        raise NoWarmStart(f"checkpoint and warm_start do not go with {what}.")


def fit_completions(
    estimator: StructuredEstimator[S], problem: PartialProblem[S], first: TrainingProblem[S]
) -> None:
    """Train, from the first completion on: a convex problem for each, until F stops falling."""
    training = training_of(estimator)
    solver, stopping = training.solver_and_stopping()
    seed = drawn_seed(estimator.random_state)
    training.count_labels(first)
    laid, found = first, None
    values: list[float] = []
    kept: dict[str, object] = {}
    for _ in range(MOST_ROUNDS):
        objective = training.objective(laid)
        found = training.minimise(objective, laid.structure, solver, stopping, seed, found, resumable=True)
        value = _whole(objective, problem, found.w)
        fell = not values or value < values[-1]
        if fell:
            values.append(value)
            kept = {name: getattr(estimator, name) for name in _FITTED}
        stopping = _rest(stopping, found)
        if not fell or not _solved(found.certificate) or _flat(values, found.certificate.tolerance):
            break
        laid = complete(estimator, problem, found.w)
    estimator.__dict__.update(kept, outer_history_=np.array(values))
    estimator.certificate_ = _say_which_problem(estimator.certificate_, values, found, problem.missing)


def _solved(certificate: Certificate) -> bool:
    """Return whether the solver has done its part: what inference leaves open, no solver closes."""
    return certificate.solver_gap <= certificate.tolerance


def _flat(values: list[float], tol: float) -> bool:
    """Whether the last convex problem has lowered F by no more than it was solved to."""
    return len(values) > 1 and values[-2] - values[-1] <= tol


def _rest(stopping: Stopping, found: Solution) -> Stopping:
    """Return the same stopping rule for the time that is left."""
    if stopping.max_seconds is None:
        return stopping
    return replace(stopping, max_seconds=max(stopping.max_seconds - found.certificate.seconds, 0.0))


def _say_which_problem(
    certificate: Certificate, values: list[float], last: Solution | None, missing: str
) -> Certificate:
    """Return the certificate with a status that says which convex problem it belongs to."""
    done = "stopped falling" if last is not None and _solved(last.certificate) else "stands"
    status = (
        f"{certificate.status} That is of convex problem {len(values)}; with {missing} missing the whole is "
        f"not convex, and its objective {done} at {values[-1]:.6g}."
    )
    return replace(certificate, status=status)


# ---- completions, and the whole objective --------------------------------------------------------------


def complete(
    estimator: StructuredEstimator[S], problem: PartialProblem[S], w: Array | None
) -> TrainingProblem[S]:
    """Return the convex problem at w: gold is the best allowed output, or a mean; at None all are alike."""
    laid, choices = problem.laid, problem.choices
    structure, scoring = laid.structure, laid.scoring
    soft = w is None or trained_loss(estimator) == "softmax"
    record = Shannon().record(structure) if soft else structure.record
    oracle = Oracle(record, scoring, structure=structure, n_jobs=threads(estimator.n_jobs))
    weights = np.zeros(scoring.n_weights) if w is None else w
    entries = dict(_gold_vertices(problem))
    alone = [(int(i), int(i) + 1) for i in np.flatnonzero(choices.is_open)]
    for one in oracle.maximizers(weights, problem.shift, np.ones(scoring.n_examples), alone):
        if not one.vertices.any():
            raise ParameterError(
                "The constraints and the labels of y leave no labelling of sequence {first}; correct its "
                "labels, or train with {constraints=None}.",
                first=one.first,
            )
        parts = np.concatenate([one.vertices, one.shared])
        entries[one.first] = (np.flatnonzero(parts), parts[parts != 0.0])
    index, value = zip(*(entries[i] for i in range(scoring.n_examples)))
    start = np.concatenate([[0], np.cumsum([one.size for one in index])])
    return laid._replace(gold=SparseVertices(start, np.concatenate(index), np.concatenate(value)))


def _gold_vertices(problem: PartialProblem[S]) -> Iterator[tuple[int, tuple[Array, Array]]]:
    """Yield the gold vertices of examples whose labels are all known."""
    structure, scoring, choices = problem.laid.structure, problem.laid.scoring, problem.choices
    closed = np.flatnonzero(~choices.is_open)
    if not closed.size:
        return
    ends = np.cumsum(choices.lengths)
    ys = [choices.codes[ends[i] - choices.lengths[i] : ends[i]] for i in closed]
    gold = structure.encode_many(ys, scoring.shapes[closed])
    for at, i in enumerate(closed.tolist()):
        own = slice(gold.start[at], gold.start[at + 1])
        yield i, (gold.index[own], gold.value[own])


def _whole(objective: Objective, problem: PartialProblem[S], w: Array) -> float:
    """Return F(w)."""
    oracle = objective.oracle
    every = oracle.losses(w, objective.cost, objective.weight, oracle.no_gold).total
    answers = oracle.maximizers(w, problem.shift, objective.weight)
    allowed = sum(one.losses.total for one in answers)
    return float(objective.penalty.value(w) + every - allowed)
