"""Partly labelled sequences: a position may have a set of labels, or None for any.

With A_i the outputs that the labels of example i allow, and costs c_i that are zero on them, the whole is

    F(w) = R(w) + sum_i p_i { Omega*(Phi_i w + c_i) - Omega*_{A_i}(Phi_i w) }

a difference of convex functions: for the hinge the latent structural SVM (Yu and Joachims 2009), for softmax
the marginal likelihood, log Z - log Z of what is allowed. The second term is replaced by its tangent at the
weights so far (the concave-convex procedure): labels are completed, by the best allowed output or, for
softmax, by the marginals of the allowed ones, and what is left is a convex problem with a certificate. F
never rises; what it ends at is a local optimum at best.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from structlearn.core.contract import Array
from structlearn.estimators.allowed import allowed_table, choices_of, placed, shift_of
from structlearn.estimators.base import TrainingProblem
from structlearn.estimators.choices import class_costs
from structlearn.estimators.constraints import check_steps
from structlearn.estimators.inputs import Coded, Tables, as_list, check_two_classes, label_arrays
from structlearn.estimators.scikit import balanced_weights, drawn_seed
from structlearn.metrics import Outputs
from structlearn.problem.objective import Objective
from structlearn.problem.oracle import Oracle
from structlearn.problem.regularizers import Shannon
from structlearn.solvers.solution import Certificate, Solution
from structlearn.structures import Chain, ConditionedChain
from structlearn.structures.base import SparseVertices
from structlearn.structures.rows import cost_table

if TYPE_CHECKING:
    from structlearn.estimators.chain import ChainClassifier
    from structlearn.solvers.loop import Stopping

#: Convex problems at most; F has stopped falling long before.
MOST_ROUNDS = 100
#: Passes for the weights that complete the labels of the hinge for the first time.
FIRST_PASSES = 30


class PartlyLabelled:
    """An estimator that may learn from sequences whose labels are known in part."""

    #: where they were: F after each convex problem
    outer_history_: Array


class Choices(NamedTuple):
    """Labels of sequences, end to end, as far as they are known.

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


def is_partial(y: object) -> bool:
    """Whether some position has a set of labels or None."""
    if isinstance(y, Coded | np.ndarray) or not hasattr(y, "__iter__"):
        return isinstance(y, np.ndarray) and y.dtype == object and any(map(_has_open, y))
    return any(map(_has_open, y))


def _has_open(labels: object) -> bool:
    if isinstance(labels, np.ndarray) and labels.dtype != object:
        return False
    return isinstance(labels, list | tuple | np.ndarray) and any(
        one is None or isinstance(one, set | frozenset) for one in labels
    )


def read_choices(y: Outputs) -> Choices:
    """Classes and choices of partly labelled sequences; ValueError if there is nothing to choose from."""
    sequences = [list(one) for one in as_list(y, "y")]
    known = [
        [label for choice in one if choice is not None for label in choices_of(choice)] for one in sequences
    ]
    if not any(known):
        raise ValueError("y has no label at all; label at least some positions.")
    classes = np.unique(label_arrays([one for one in known if one], "sequence")[1])
    lengths = np.array([len(one) for one in sequences])
    table = allowed_table(sequences, lengths, classes, "y")
    empty = np.flatnonzero(~table.any(axis=1))
    if empty.size:
        i = int(np.searchsorted(np.cumsum(lengths), empty[0], side="right"))
        raise ValueError(f"y of sequence {i} has an empty set of labels; None stands for any label.")
    return Choices(classes, table, lengths)


class PartialProblem(NamedTuple):
    """Partly labelled sequences, laid out: their gold vertices are to be completed."""

    laid: TrainingProblem[Chain | ConditionedChain]
    choices: Choices
    #: 0, or -inf for labels that are not allowed
    shift: Array


def fit_partly(estimator: ChainClassifier, X: Tables, y: Outputs, sample_weight: ArrayLike | None) -> None:
    """Train on partly labelled sequences: a convex problem for each completion, until F stops falling."""
    choices = read_choices(y)
    if not choices.is_open.any():
        estimator._train(estimator._lay_out(X, choices.labels, sample_weight))
        return
    _check(estimator)
    problem = _lay_out(estimator, X, choices, sample_weight)
    solver, stopping = estimator._checked_parameters()
    seed = drawn_seed(estimator.random_state)
    weights, found = _first_weights(estimator, problem), None
    values: list[float] = []
    kept: dict[str, object] = {}
    for _ in range(MOST_ROUNDS):
        objective = estimator._objective(_completed(estimator, problem, weights))
        found = estimator._minimise(objective, problem.laid.structure, solver, stopping, seed, found)
        value = _whole(objective, problem, found.w)
        fell = not values or value < values[-1]
        if fell:
            values.append(value)
            weights, kept = found.w, {name: getattr(estimator, name) for name in _FITTED}
        stopping = _rest(stopping, found)
        if not fell or not found.certificate.converged or _flat(values, stopping.tol):
            break
    estimator.__dict__.update(kept)
    estimator.outer_history_ = np.array(values)
    estimator.certificate_ = _told(estimator, found)


_FITTED = ("weights_", "certificate_", "history_")


def _flat(values: list[float], tol: float) -> bool:
    """Whether the last convex problem has lowered F by no more than it was solved to."""
    return len(values) > 1 and values[-2] - values[-1] <= tol


def _rest(stopping: Stopping, found: Solution) -> Stopping:
    """The same rule for what is left of the time."""
    if stopping.max_seconds is None:
        return stopping
    return replace(stopping, max_seconds=max(stopping.max_seconds - found.certificate.seconds, 0.0))


def _told(estimator: ChainClassifier, last: Solution | None) -> Certificate:
    """The certificate of the last convex problem, whose status says what it is of."""
    certificate = estimator.certificate_
    n, value = len(estimator.outer_history_), estimator.outer_history_[-1]
    done = "stopped falling" if last is not None and last.certificate.converged else "stands"
    status = (
        f"{certificate.status} That is of convex problem {n}; with labels missing the whole is not convex, "
        f"and its objective {done} at {value:.6g}."
    )
    return replace(certificate, status=status)


def _check(estimator: ChainClassifier) -> None:
    if estimator.loss not in ("hinge", "softmax"):
        raise ValueError(
            f"loss={estimator.loss!r} needs all labels; train on partly labelled sequences with "
            "loss='hinge' or 'softmax'."
        )
    if estimator.checkpoint is not None or estimator.warm_start:
        raise ValueError("checkpoint and warm_start do not go with partly labelled sequences.")


# ---- what is laid out once -----------------------------------------------------------------------------


def _lay_out(
    estimator: ChainClassifier, X: Tables, choices: Choices, sample_weight: ArrayLike | None
) -> PartialProblem:
    estimator.classes_ = choices.classes
    check_two_classes(choices.classes)
    structure, scoring, weight, memory = estimator._scored_rows(X, choices.lengths, sample_weight)
    closed = ~choices.is_open
    rows = np.repeat(closed, choices.lengths)
    check_steps(
        estimator.constraints,
        structure,
        choices.classes,
        choices.codes[rows],
        choices.lengths[closed],
        np.flatnonzero(closed),
    )
    known = choices.table.sum(axis=1) == 1
    options = class_costs(
        estimator.cost,
        estimator.class_weight,
        choices.classes,
        lambda: _balanced(choices.codes[known], len(choices.classes)),
    )
    lengths = np.repeat(choices.lengths, choices.lengths) if options.get("normalized", True) else 1.0
    costs = open_costs(choices.table, cost_table(options.get("weights"), len(choices.classes)))
    cost = np.zeros(scoring.start[-1])
    cost[placed(choices.table.shape, scoring)] = (costs.T / lengths).T
    none = np.zeros(len(choices.lengths) + 1, dtype=np.int64)
    gold = SparseVertices(none, none[:0], np.empty(0))
    penalty = estimator._penalty()
    laid = TrainingProblem(structure, scoring, gold, cost, weight, penalty=penalty, memory=memory)
    return PartialProblem(laid, choices, shift_of(choices.table, scoring))


def _balanced(codes: Array, n_classes: int) -> Array:
    if len(np.unique(codes)) < n_classes:
        raise ValueError("class_weight='balanced' needs each label at some position where it is certain.")
    return balanced_weights(codes, n_classes)


def open_costs(table: Array, cost: Array) -> Array:
    """min_{j allowed} cost[j, k] for each token and label k: 0 for what is allowed."""
    found = np.full(table.shape, np.inf)
    for j, row in enumerate(cost):
        own = table[:, j]
        found[own] = np.minimum(found[own], row)
    return found


# ---- completions, and the whole objective --------------------------------------------------------------


def _first_weights(estimator: ChainClassifier, problem: PartialProblem) -> Array | None:
    """None completes by all allowed labellings alike; the hinge wants one, which a short run tells."""
    if estimator.loss == "softmax":
        return None
    from structlearn.solvers import LBFGS, Stopping, solve

    laid = _completed(estimator, problem, None)
    objective = Objective(
        laid.structure,
        laid.scoring,
        laid.gold,
        np.zeros_like(laid.cost),
        regularization=estimator.regularization,
        regularizer=Shannon(),
        sample_weight=laid.sample_weight,
        n_jobs=estimator._threads(),
    )
    return solve(objective, LBFGS(), Stopping(0.1, max_passes=FIRST_PASSES)).w


def _completed(
    estimator: ChainClassifier, problem: PartialProblem, w: Array | None
) -> TrainingProblem[Chain | ConditionedChain]:
    """The convex problem at w: the best of what is allowed is gold, or its mean; of all alike at None."""
    laid, choices = problem.laid, problem.choices
    structure, scoring = laid.structure, laid.scoring
    soft = w is None or estimator.loss == "softmax"
    record = Shannon().record(structure) if soft else structure.record
    oracle = Oracle(record, scoring, structure=structure, n_jobs=estimator._threads())
    weights = np.zeros(scoring.n_weights) if w is None else w
    entries = dict(_known(problem))
    alone = [(int(i), int(i) + 1) for i in np.flatnonzero(choices.is_open)]
    for one in oracle.maximizers(weights, problem.shift, np.ones(scoring.n_examples), alone):
        if not one.vertices.any():
            raise ValueError(
                f"The constraints and the labels of y leave no labelling of sequence {one.first}; correct "
                "its labels, or train with constraints=None."
            )
        parts = np.concatenate([one.vertices, one.shared])
        entries[one.first] = (np.flatnonzero(parts), parts[parts != 0.0])
    index, value = zip(*(entries[i] for i in range(scoring.n_examples)))
    start = np.concatenate([[0], np.cumsum([one.size for one in index])])
    return laid._replace(gold=SparseVertices(start, np.concatenate(index), np.concatenate(value)))


def _known(problem: PartialProblem) -> Iterator[tuple[int, tuple[Array, Array]]]:
    """The gold vertices of sequences that are labelled throughout."""
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


def _whole(objective: Objective, problem: PartialProblem, w: Array) -> float:
    """F(w)."""
    oracle = objective.oracle
    every = oracle.losses(w, objective.cost, objective.weight, oracle.no_gold).total
    allowed = oracle.losses(w, problem.shift, objective.weight, oracle.no_gold).total
    return float(objective.penalty.value(w) + every - allowed)
