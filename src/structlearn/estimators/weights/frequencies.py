"""How often labels occur in the training data: ties are broken by it, and constants are judged by it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from structlearn.core.contract import Array
from structlearn.estimators.inputs.allowed import local_places
from structlearn.scoring import JointScoring, LabelScoring, Scoring
from structlearn.structures import Cube, LabelGraph
from structlearn.structures.cut.cut import Cuts

if TYPE_CHECKING:
    from structlearn.estimators.training.running import TrainingProblem

#: Examples whose gold parts are counted at once.
AT_ONCE = 100_000


def rows_of(scoring: Scoring) -> LabelScoring | None:
    """Return the scoring of rows, each of which scores every label; None if there is none."""
    local = scoring.local if isinstance(scoring, JointScoring) else scoring
    return local if isinstance(local, LabelScoring) else None


def gold_frequencies(problem: TrainingProblem[Any]) -> Array | None:
    """Return the share of rows whose gold output has each part that a row scores; None without such rows."""
    rows = rows_of(problem.scoring)
    if rows is None:
        return None
    n, gold, counts = rows.n_examples, problem.gold, np.zeros(rows.n_labels)
    weight = _weights(problem, n)
    sizes = np.diff(rows.first)
    for first in range(0, n, AT_ONCE):
        own = slice(first, min(first + AT_ONCE, n))
        start = gold.start[first : own.stop + 1]
        index, value = gold.index[start[0] : start[-1]], gold.value[start[0] : start[-1]]
        owner = np.repeat(np.arange(own.start, own.stop), np.diff(start))
        local = index < sizes[owner] * rows.n_labels
        columns, shares = index[local] % rows.n_labels, (value * weight[owner])[local]
        counts += np.bincount(columns, weights=shares, minlength=rows.n_labels)
    return counts / (weight @ sizes)


def _weights(problem: TrainingProblem[Any], n: int) -> Array:
    """Return the weight of each example; among equal ones, a single one carries the weight of all."""
    weight = np.ones(n) if problem.sample_weight is None else np.asarray(problem.sample_weight)
    if problem.active is None:
        return weight
    kept = np.zeros(n)
    kept[problem.active] = weight[problem.active]
    return kept


def most_frequent_best(scores: Array, frequencies: Array | None) -> Array:
    """Return the column of the highest score in each row; among ties, the most frequent one."""
    if frequencies is None or frequencies.size != scores.shape[1]:
        return np.argmax(scores, axis=1)
    order = np.argsort(-frequencies, kind="stable")
    return order[np.argmax(scores[:, order], axis=1)]


def tie_scores(scoring: Scoring, structure: object, frequencies: Array | None) -> Array | None:
    """Return scores of all local parts that prefer frequent labels; for switches, those mostly on."""
    rows = rows_of(scoring)
    if rows is None or frequencies is None or frequencies.size != rows.n_labels:
        return None
    switches = isinstance(structure, Cube | LabelGraph | Cuts)
    sizes, found = np.diff(rows.first), np.zeros(scoring.start[-1])
    found[local_places((int(sizes.sum()), rows.n_labels), scoring, sizes)] = frequencies - 0.5 * switches
    return found
