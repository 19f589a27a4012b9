"""Pure functions of outputs: how right predictions are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from structlearn.core.contract import Array

__all__ = [
    "LabelScores",
    "LinkScores",
    "area_under_curve",
    "exact_match",
    "hamming_loss",
    "label_scores",
    "link_scores",
    "log_loss",
    "normalized_regret",
    "r2",
    "regret",
    "sequence_accuracy",
    "subset_accuracy",
]

#: Outputs of examples, one each.
Outputs: TypeAlias = Sequence[object] | Array


def refuse_sparse(y: object, name: str = "y") -> None:
    """Raise a TypeError for outputs that are a sparse matrix, or a list of some: NumPy cannot read them."""
    for place, one in [(name, y), *((f"{name}[{i}]", one) for i, one in enumerate(_items_of_list(y)))]:
        if hasattr(one, "toarray"):
            raise TypeError(
                f"{place} is sparse ({type(one).__name__}), and outputs are read as arrays; give "
                f"{place}.toarray()."
            )


def _items_of_list(y: object) -> Sequence[object]:
    return y if isinstance(y, list | tuple) else ()


def _pair_outputs(y_true: Outputs, y_pred: Outputs) -> list[tuple[Array, Array]]:
    refuse_sparse(y_true)
    if len(y_true) != len(y_pred):
        raise ValueError(f"{len(y_true)} outputs were given but {len(y_pred)} predicted.")
    if not len(y_true):
        raise ValueError("There are no outputs to compare; give at least one.")
    pairs = [(np.asarray(a), np.asarray(b)) for a, b in zip(y_true, y_pred)]
    for i, (a, b) in enumerate(pairs):
        if a.shape != b.shape:
            raise ValueError(f"Output {i} has shape {a.shape} but its prediction {b.shape}.")
    return pairs


def _average(values: Array, sample_weight: ArrayLike | None) -> float:
    weights = None if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    return float(np.average(values, weights=weights))


def _weights(sample_weight: ArrayLike | None, n: int) -> Array:
    return np.ones(n) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)


def sequence_accuracy(y_true: Outputs, y_pred: Outputs, sample_weight: ArrayLike | None = None) -> float:
    """Return the share of positions with the right label, over all sequences."""
    pairs = _pair_outputs(y_true, y_pred)
    right = np.array([np.sum(a == b) for a, b in pairs])
    size = np.array([a.size for a, _ in pairs])
    weight = _weights(sample_weight, len(pairs))
    if not weight @ size:
        raise ValueError("There are no outputs to compare: all are empty, or of weight zero.")
    return float(weight @ right / (weight @ size))


def exact_match(y_true: Outputs, y_pred: Outputs, sample_weight: ArrayLike | None = None) -> float:
    """Return the share of outputs that are right as a whole."""
    right = [np.array_equal(a, b) for a, b in _pair_outputs(y_true, y_pred)]
    return _average(np.array(right), sample_weight)


def subset_accuracy(y_true: Outputs, y_pred: Outputs, sample_weight: ArrayLike | None = None) -> float:
    """Return the share of rows of a 0/1 matrix that are right as a whole."""
    refuse_sparse(y_true)
    return _average((np.asarray(y_true) == np.asarray(y_pred)).all(axis=1), sample_weight)


def hamming_loss(y_true: Outputs, y_pred: Outputs, sample_weight: ArrayLike | None = None) -> float:
    """Return the mean over outputs of the share of wrong entries."""
    wrong = [np.mean(a != b) for a, b in _pair_outputs(y_true, y_pred)]
    return _average(np.array(wrong), sample_weight)


class LabelScores(NamedTuple):
    """Counts of a label, and what follows from them: precision, recall and F1, 0 where there are none."""

    right: int
    found: int
    gold: int

    @property
    def precision(self) -> float:
        """Share of those found that are right."""
        return self.right / self.found if self.found else 0.0

    @property
    def recall(self) -> float:
        """Share of the gold ones that were found."""
        return self.right / self.gold if self.gold else 0.0

    @property
    def f1(self) -> float:
        """Harmonic mean of the two."""
        return 2 * self.right / (self.found + self.gold) if self.found + self.gold else 0.0


def label_scores(y_true: Sequence[Hashable], y_pred: Sequence[Hashable]) -> dict[Hashable, LabelScores]:
    """Return the scores of each label that is in either: numbers first, then strings, each in their order."""
    gold, found = Counter(y_true), Counter(y_pred)
    right = Counter(a for a, b in zip(y_true, y_pred, strict=True) if a == b)
    labels = sorted(gold | found, key=lambda label: (isinstance(label, str), label))
    return {label: LabelScores(right[label], found[label], gold[label]) for label in labels}


class LinkScores(NamedTuple):
    """Precision, recall and F1 of links, counted over all pairs."""

    precision: float
    recall: float
    f1: float


def link_scores(y_true: Outputs, y_pred: Outputs, sample_weight: ArrayLike | None = None) -> LinkScores:
    """Return precision, recall and F1 of 0/1 tables of links. Where nothing is predicted, precision is 1."""
    pairs = _pair_outputs(y_true, y_pred)
    counts = np.array([[np.sum((a == 1) & (b == 1)), np.sum(a == 1), np.sum(b == 1)] for a, b in pairs])
    weight = _weights(sample_weight, len(pairs))
    both, gold, found = (float(total) for total in weight @ counts)
    precision = both / found if found else 1.0
    recall = both / gold if gold else 1.0
    f1 = 2 * both / (gold + found) if gold + found else 1.0
    return LinkScores(precision, recall, f1)


def log_loss(codes: Array, probabilities: Array) -> float:
    """Return the mean of -log p_i[c_i]: c_i the right class of example i, p_i its row of probabilities.

    A probability of zero counts as the smallest step above it, so that the loss is finite.
    """
    right = probabilities[np.arange(len(codes)), codes].astype(np.float64)
    return float(-np.mean(np.log(np.maximum(right, np.finfo(np.float64).eps))))


def area_under_curve(second: Array, scores: ArrayLike) -> float:
    """Return the probability that the score of a positive example is above that of a negative one.

    This is the area under the curve of true over false positives; ties count one half. NaN unless there are
    examples of both kinds.
    """
    from scipy.stats import rankdata

    positive = np.asarray(second, dtype=bool)
    n, m = int(positive.sum()), int((~positive).sum())
    if not n or not m:
        return float("nan")
    return float((rankdata(scores)[positive].sum() - n * (n + 1) / 2) / (n * m))


def r2(y_true: ArrayLike, y_pred: ArrayLike) -> float:
    """1 - sum (y - p)^2 / sum (y - mean)^2, the share of the variance that predictions p explain.

    Where all y are equal it is 1 if they are met exactly, else 0, as scikit-learn has it.
    """
    refuse_sparse(y_true)
    y, predicted = np.asarray(y_true, dtype=np.float64), np.asarray(y_pred, dtype=np.float64)
    left, there = float(np.square(y - predicted).sum()), float(np.square(y - y.mean()).sum())
    if not there:
        return float(not left)
    return 1.0 - left / there


def __dir__() -> list[str]:
    return sorted(__all__)


# ---- decisions ------------------------------------------------------------------------------------------


def regret(costs: Outputs, decided: Outputs, best: Outputs, *, sense: str = "min") -> Array:
    """Return what each decision costs more than the best one: <c, decided> - <c, best>.

    Parameters
    ----------
    costs : sequence of arrays
        The true costs of each example's parts; with sense="max" their values, and the regret is what is lost.
    decided, best : sequences of arrays
        0/1 decisions, and the best ones by the true costs.
    """
    if sense not in ("min", "max"):
        raise ValueError(f"sense must be 'min' or 'max'; got {sense!r}.")
    sign = 1.0 if sense == "min" else -1.0
    return sign * (decision_costs(costs, decided) - decision_costs(costs, best))


def normalized_regret(
    costs: Outputs,
    decided: Outputs,
    best: Outputs,
    *,
    sense: str = "min",
    sample_weight: ArrayLike | None = None,
) -> float:
    """Return the sum of regrets over that of the absolute best costs; arguments as in `regret`."""
    lost, scale = regret(costs, decided, best, sense=sense), np.abs(decision_costs(costs, best))
    weight = np.ones(lost.size) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    total = float(weight @ scale)
    if not total > 0:
        raise ValueError(
            "The best decisions cost 0 in all, so that a regret has nothing to be compared with; use "
            "metrics.regret, or add to the costs what every decision costs."
        )
    return float(weight @ lost) / total


def decision_costs(costs: Outputs, decided: Outputs) -> Array:
    """Return <c, z> of each example."""
    return np.array([float(np.vdot(c, z)) for c, z in _pair_outputs(costs, decided)])
