"""Label sequences laid out for training: the chain, the scoring of rows and of pairs, gold and costs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from structlearn.core.contract import Array
from structlearn.core.memory import Memory
from structlearn.estimators.choices import class_costs, threads
from structlearn.estimators.inputs.checking import (
    Tables,
    as_list,
    check_same_length,
    check_sample_weight,
    check_two_classes,
    label_codes,
    stack_examples,
)
from structlearn.estimators.inputs.constraints import check_steps, forbidden_steps
from structlearn.estimators.inputs.layout import Pieces, gold_and_cost
from structlearn.estimators.inputs.tag_dictionary import check_candidates, learn_dictionary
from structlearn.estimators.models.chains import column_array, label_scoring, with_pairs
from structlearn.estimators.scikit import balanced_weights
from structlearn.estimators.training.running import TrainingProblem
from structlearn.estimators.weights.seen_choice import choose_pairs
from structlearn.estimators.weights.sparse_penalty import elastic_net
from structlearn.estimators.weights.step_choice import choose_steps
from structlearn.metrics import Outputs
from structlearn.scoring import Scoring, SelectedScoring
from structlearn.structures import Chain, ConditionedChain
from structlearn.structures.chain.candidates import CandidateChain

if TYPE_CHECKING:
    from structlearn.estimators.chain import ChainClassifier


def lay_out_sequences(
    estimator: ChainClassifier,
    X: Tables,
    y: Outputs,
    sample_weight: ArrayLike | None,
    classes: Array | None = None,
) -> TrainingProblem[Chain | ConditionedChain]:
    """Make a training problem of sequences whose labels are all known; set `classes_` of the estimator."""
    as_list(X, "X")  # no examples at all: X is named before y
    estimator.classes_, codes, lengths = label_codes(y, "sequence", classes)
    known = codes if classes is None else None
    structure, scoring, weight, memory = scored_rows(estimator, X, lengths, sample_weight, known)
    check_steps(estimator.constraints, structure, estimator.classes_, codes, lengths)
    if estimator.candidates is not None:
        structure, scoring = _over_candidates(estimator, X, structure, scoring, codes)
    options = class_costs(
        estimator.cost,
        estimator.class_weight,
        estimator.classes_,
        lambda: balanced_weights(codes, len(estimator.classes_)),
    )
    costs = estimator.chosen_loss().uses_costs
    gold, cost = gold_and_cost(structure, Pieces(codes, lengths), scoring, memory, costs=costs, **options)
    penalty = elastic_net(estimator)
    return TrainingProblem(structure, scoring, gold, cost, weight, penalty=penalty, memory=memory)


def scored_rows(
    estimator: ChainClassifier,
    X: Tables,
    n_labels: Array,
    sample_weight: ArrayLike | None,
    codes: Array | None = None,
) -> tuple[Chain | ConditionedChain, Scoring, Array | None, Memory]:
    """Return structure, scoring, sample weights and memory.

    n_labels : the number of labels of each sequence
    codes : all labels, where they are known and whole, so that it can be seen which features they have
    """
    rows, shapes = stack_examples(X, ndim=2, noun="Sequence", n_jobs=threads(estimator.n_jobs))
    lengths = shapes[:, 0]
    check_same_length(X, n_labels)
    odd = np.flatnonzero(lengths != n_labels)
    if odd.size:
        i = odd[0]
        raise ValueError(f"Sequence {i} has {lengths[i]} rows of features but {n_labels[i]} labels.")
    weight = check_sample_weight(sample_weight, len(lengths))
    check_two_classes(estimator.classes_)
    check_candidates(estimator)
    estimator.n_features_in_ = rows.shape[1]
    structure = choose_steps(estimator, codes, lengths) or _new_structure(estimator)
    memory = Memory(estimator.memory)
    mapped = estimator.fit_rows(rows, memory)
    local = label_scoring(
        structure,
        mapped,
        lengths,
        None if codes is None else choose_pairs(estimator, mapped, codes),
        intercept=estimator.fit_intercept,
        sparsify=memory.limit is None,
        memory=memory,
    )
    return (
        structure,
        with_pairs(local, rows, structure, column_array(estimator.transition_features)),
        weight,
        memory,
    )


def _over_candidates(
    estimator: ChainClassifier, X: Tables, structure: Any, scoring: Any, codes: Array
) -> tuple[Any, Scoring]:
    """Restrict structure and scoring to the candidates of a tag dictionary, which is learnt here."""
    found = learn_dictionary(estimator, X, codes).candidates(X.rows, np.diff(scoring.first))  # type: ignore[union-attr]
    return CandidateChain(structure, found), SelectedScoring(scoring, found.first, found.label)


def _new_structure(estimator: ChainClassifier) -> Chain | ConditionedChain:
    n_labels = len(estimator.classes_)
    forbidden = forbidden_steps(estimator.constraints, estimator.classes_)
    columns = column_array(estimator.transition_features)
    if columns is None:
        return Chain(n_labels, start=estimator.start, end=estimator.end, forbidden=forbidden)
    if estimator.start or estimator.end:
        raise ValueError(
            "start and end do not go with transition_features; add a column that marks the first or last "
            "position to X."
        )
    if columns.ndim != 1 or columns.size == 0 or columns.dtype.kind not in "iu":
        raise ValueError("transition_features must be a list of column numbers of X, at least one.")
    if not 0 <= columns.min() <= columns.max() < estimator.n_features_in_:
        raise ValueError(
            f"transition_features must be between 0 and {estimator.n_features_in_ - 1}, the columns of X."
        )
    return ConditionedChain(n_labels, forbidden=forbidden)
