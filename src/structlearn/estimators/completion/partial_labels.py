"""Partly labelled sequences: a position may have a set of labels, or None for any (see `completion`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from structlearn.core.contract import Array
from structlearn.estimators.choices import class_costs, threads
from structlearn.estimators.completion.completion import (
    Choices,
    PartialProblem,
    check_partial,
    complete,
    fit_completions,
    no_gold,
)
from structlearn.estimators.inputs.allowed import allowed_table, choices_of, local_places, shift_of
from structlearn.estimators.inputs.checking import Coded, Tables, as_list, check_two_classes, label_arrays
from structlearn.estimators.inputs.constraints import check_steps
from structlearn.estimators.inputs.tag_dictionary import refuse_candidates
from structlearn.estimators.loss_choice import trained_loss
from structlearn.estimators.scikit import balanced_weights
from structlearn.estimators.training.chain_layout import scored_rows
from structlearn.estimators.training.running import TrainingProblem, training_of
from structlearn.estimators.weights.seen_choice import refuse_seen
from structlearn.estimators.weights.sparse_penalty import elastic_net
from structlearn.metrics import Outputs
from structlearn.problem.objective import Objective
from structlearn.problem.regularizers import Shannon
from structlearn.structures import Chain, ConditionedChain
from structlearn.structures.rows import cost_table

if TYPE_CHECKING:
    from structlearn.estimators.chain import ChainClassifier

#: Kinds of what stands for several labels.
_OPEN = (type(None), set, frozenset)
#: Passes for the weights that complete the labels of the hinge for the first time.
FIRST_PASSES = 30


def is_partial(y: object) -> bool:
    """Whether some position has a set of labels or None."""
    if isinstance(y, Coded | np.ndarray) or not hasattr(y, "__iter__"):
        return isinstance(y, np.ndarray) and y.dtype == object and any(map(_has_open, y))
    return any(map(_has_open, y))


def _has_open(labels: object) -> bool:
    if isinstance(labels, np.ndarray) and labels.dtype != object:
        return False
    if not isinstance(labels, list | tuple | np.ndarray):
        return False
    return any(issubclass(kind, _OPEN) for kind in set(map(type, labels)))


def read_choices(y: Outputs) -> Choices:
    """Read the classes and choices of partly labelled sequences; ValueError if there is nothing to choose."""
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


def fit_partly(estimator: ChainClassifier, X: Tables, y: Outputs, sample_weight: ArrayLike | None) -> None:
    """Train on partly labelled sequences: a convex problem for each completion, until F stops falling."""
    estimator.loss_ = estimator.chosen_loss().name
    choices = read_choices(y)
    if not choices.is_open.any():
        training_of(estimator).run(estimator.lay_out(X, choices.labels, sample_weight))
        return
    check_partial(estimator, "partly labelled sequences")
    refuse_seen(estimator, "partly labelled sequences")
    refuse_candidates(estimator, "partly labelled sequences")
    problem = _lay_out(estimator, X, choices, sample_weight)
    first = complete(estimator, problem, _first_weights(estimator, problem))
    fit_completions(estimator, problem, first)


# ---- what is laid out once -----------------------------------------------------------------------------


def _lay_out(
    estimator: ChainClassifier, X: Tables, choices: Choices, sample_weight: ArrayLike | None
) -> PartialProblem[Chain | ConditionedChain]:
    estimator.classes_ = choices.classes
    check_two_classes(choices.classes)
    structure, scoring, weight, memory = scored_rows(estimator, X, choices.lengths, sample_weight)
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
        lambda: balanced_known(choices.codes[known], len(choices.classes)),
    )
    lengths = np.repeat(choices.lengths, choices.lengths) if options.get("normalized", True) else 1.0
    costs = open_costs(choices.table, cost_table(options.get("weights"), len(choices.classes)))
    cost = np.zeros(scoring.start[-1])
    cost[local_places(choices.table.shape, scoring, choices.lengths)] = (costs.T / lengths).T
    gold, penalty = no_gold(len(choices.lengths)), elastic_net(estimator)
    laid = TrainingProblem(structure, scoring, gold, cost, weight, penalty=penalty, memory=memory)
    return PartialProblem(laid, choices, shift_of(choices.table, scoring, choices.lengths))


def balanced_known(codes: Array, n_classes: int) -> Array:
    """Return class weights from the labels that are certain; ValueError for a class that has none."""
    if len(np.unique(codes)) < n_classes:
        raise ValueError("class_weight='balanced' needs each label at some position where it is certain.")
    return balanced_weights(codes, n_classes)


def open_costs(table: Array, cost: Array) -> Array:
    """Return min_{j allowed} cost[j, k] for each token and label k: 0 for allowed labels."""
    found = np.full(table.shape, np.inf)
    for j, row in enumerate(cost):
        own = table[:, j]
        found[own] = np.minimum(found[own], row)
    return found


def _first_weights(
    estimator: ChainClassifier, problem: PartialProblem[Chain | ConditionedChain]
) -> Array | None:
    """Return the weights to complete with first; None stands for all allowed labellings alike.

    The hinge needs one labelling, which a short run finds.
    """
    if trained_loss(estimator) == "softmax":
        return None
    from structlearn.solvers import LBFGS, Stopping, solve

    laid = complete(estimator, problem, None)
    objective = Objective(
        laid.structure,
        laid.scoring,
        laid.gold,
        np.zeros_like(laid.cost),
        regularization=estimator.regularization,
        regularizer=Shannon(),
        sample_weight=laid.sample_weight,
        n_jobs=threads(estimator.n_jobs),
    )
    return solve(objective, LBFGS(), Stopping(0.1, max_passes=FIRST_PASSES)).w
