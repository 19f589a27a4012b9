"""How sure a model of rows is: probabilities of classes and of labels, sets of classes, and intervals.

Probabilities are those of scores over one temperature T. With codes y of the true classes, the surprise of a
row is A(theta / T) - theta_y / T, where A is the log of the sum of exponentials, so that it is -log p(y | x),
or, for a loss without probabilities, the largest score.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike

from structlearn.core.contract import Array
from structlearn.core.sentences import Statement
from structlearn.estimators.confidence.calibration import Calibration, Reliability, best_temperature
from structlearn.estimators.confidence.conformal import Conformal, largest_score
from structlearn.estimators.files.attributes import count, numbers, positive
from structlearn.estimators.inputs.checking import check_same_length
from structlearn.estimators.scikit import Table

#: What `calibrate` sets, and what `conformalize` sets, as model files hold it.
TEMPERED: dict[str, object] = {"temperature_?": positive}
COVERED: dict[str, object] = {"conformal_scores_?": numbers, "n_conformal_?": count}
#: What adding up in another order may change in a score.
_ROUNDING = 1e-9
_NO_SETS = "There are no {} yet: call conformalize with data that was used for nothing else."


class RowConfidence(NamedTuple):
    """How sure a model of rows is beside how right it is.

    labels : Reliability of the predicted classes or, of label sets, of the probability of each label
    log_likelihood : the mean log-probability of the true classes, or of each true label, on or off
    left_out : how many rows it leaves out, since the model does not know their class
    """

    labels: Reliability
    log_likelihood: float
    left_out: int


def check_tempered(loss: str) -> None:
    """Raise AttributeError unless probabilities of this loss have a temperature."""
    if loss == "sparsemax" or loss.startswith("entmax"):
        raise AttributeError(
            Statement(
                "Probabilities of {loss=} may be exactly 0, so that none fits best; train with "
                "{loss=softmax}.",
                loss=loss,
            )
        )
    if loss != "softmax":
        raise AttributeError(Statement("{loss=} has no probabilities; train with {loss=softmax}.", loss=loss))


# ---- one class per row -----------------------------------------------------------------------------------


def surprise(scores: Array, codes: Array, *, probable: bool) -> Array:
    """Return the surprise of each row, of scores of shape (n, K); inf where the code is -1."""
    found, known = np.full(len(codes), np.inf), np.flatnonzero(codes >= 0)
    own = scores[known, codes[known]]
    found[known] = np.maximum(_top(scores[known], probable=probable) - own, 0.0)
    return found


def _top(scores: Array, *, probable: bool) -> Array:
    most: Array = scores.max(axis=1)
    return most + np.log(np.exp(scores - most[:, None]).sum(axis=1)) if probable else most


@dataclass(frozen=True, eq=False)
class ClassConfidence:
    """How sure a model is of one class per row.

    scores : of shape (n, K), not divided by the temperature
    probable : whether the loss is softmax
    """

    scores: Array
    temperature: float
    probable: bool

    def calibrate(self, codes: Array) -> Calibration[RowConfidence]:
        """Find the temperature by the likelihood of the true classes, -1 for unknown ones."""
        before = self.reliability(codes)
        known = codes >= 0
        if not known.any():
            raise ValueError("The model knows none of the classes in y; are these its classes?")
        theta, true = self.scores[known], codes[known]
        found = best_temperature(lambda one: -float(surprise(theta / one, true, probable=True).mean()))
        return Calibration(found, before, ClassConfidence(self.scores, found, True).reliability(codes))

    def reliability(self, codes: Array) -> RowConfidence:
        """Compare how often the best class is right with its probability."""
        check_same_length(self.scores, codes)
        theta = self.scores / self.temperature
        logs = -surprise(theta, codes, probable=True)
        best = np.exp(theta.max(axis=1) - _top(theta, probable=True))
        known = codes >= 0
        mean = float(logs[known].mean()) if known.any() else -np.inf
        answers = np.column_stack([best, theta.argmax(axis=1) == codes])
        return RowConfidence(Reliability.of(answers), mean, int((~known).sum()))

    def conformal(self, codes: Array) -> Conformal:
        """Return what sets with a guarantee need of data that was used for nothing else."""
        check_same_length(self.scores, codes)
        found = surprise(self.scores / self.temperature, codes, probable=self.probable)
        finite = np.sort(found[np.isfinite(found)])
        if not finite.size:
            raise ValueError("The model knows none of the classes in y; are these its classes?")
        return Conformal(finite, len(found))

    def sets(self, known: Conformal, coverage: float) -> list[Array]:
        """Return the codes of each row's set, the most probable class, which is always there, first."""
        most = largest_score(*known, coverage, noun="classes")
        theta = self.scores / self.temperature
        least = _top(theta, probable=self.probable) - most
        order = np.argsort(-theta, axis=1, kind="stable")
        sizes = (theta >= (least - _ROUNDING * (1.0 + np.abs(least)))[:, None]).sum(axis=1)
        return [row[: max(size, 1)] for row, size in zip(order, sizes.tolist())]


# ---- a set of labels per row -----------------------------------------------------------------------------


def calibrate_labels(
    marginals: Callable[[float], Array], on: Array, now: float
) -> Calibration[RowConfidence]:
    """Find the temperature by the likelihood of single labels.

    marginals : from a temperature to the probability of each label, of shape (n, K)
    on : 0/1 matrix of the true labels
    now : the temperature until now
    """
    found = best_temperature(lambda one: _mean_log(marginals(one), on))
    return Calibration(found, label_reliability(marginals(now), on), label_reliability(marginals(found), on))


def label_reliability(probabilities: Array, on: Array) -> RowConfidence:
    """Compare probabilities of labels with how often they are on."""
    answers = np.column_stack([probabilities.ravel(), on.ravel()])
    return RowConfidence(Reliability.of(answers), _mean_log(probabilities, on), 0)


def _mean_log(probabilities: Array, on: Array) -> float:
    true = np.where(on > 0, probabilities, 1.0 - probabilities)
    return float(np.log(np.maximum(true, np.finfo(np.float64).tiny)).mean())


# ---- a number per row ------------------------------------------------------------------------------------


@dataclass(kw_only=True, eq=False, repr=False)
class Intervals:
    """A regression that answers with intervals: prediction +- q(coverage) sigma(x).

    q is a quantile of |y - prediction| / sigma(x) over data that was used for nothing else; sigma(x) is the
    standard deviation of the prediction (`predict` with `return_std`).

    Attributes
    ----------
    conformal_scores_, n_conformal_ : after `conformalize`
    """

    conformal_scores_: Array = field(init=False)
    n_conformal_: int = field(init=False)

    def conformalize(self, X: Table, y: ArrayLike) -> Self:
        """Prepare `predict_interval` by data that was used for nothing else, neither training nor tuning."""
        middle, width = self._middle_and_width(X)
        true = np.asarray(y, dtype=np.float64)
        check_same_length(middle, true)
        if not np.isfinite(true).all():
            raise ValueError("y holds NaN or infinity.")
        self.conformal_scores_, self.n_conformal_ = np.sort(np.abs(true - middle) / width), len(true)
        return self

    def predict_interval(self, X: Table, coverage: float = 0.9) -> Array:
        """Return lower and upper ends, of shape (n, 2), that hold y with at least this probability.

        The probability is over examples, those of `conformalize` included, that are exchangeable with these;
        it is guaranteed whatever the model is worth, but not for a single example.
        """
        check_conformal(self, "intervals")
        middle, width = self._middle_and_width(X)
        known = Conformal(self.conformal_scores_, self.n_conformal_)
        half = largest_score(*known, coverage, noun="intervals") * width
        return np.column_stack([middle - half, middle + half])

    def _middle_and_width(self, X: Table) -> tuple[Array, Array]:
        """Return predictions and standard deviations; 1 where the model claims to be exact."""
        asked: Any = self
        middle, width = asked.predict(X, return_std=True)
        return middle, np.where(width > 0, width, 1.0)


def check_conformal(estimator: Any, noun: str) -> None:
    """Raise ValueError unless `conformalize` has been called."""
    if not hasattr(estimator, "conformal_scores_"):
        raise ValueError(_NO_SETS.format(noun))
