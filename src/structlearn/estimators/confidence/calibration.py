"""Whether probabilities mean what they say, and the temperature that makes them mean it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from math import exp, log
from typing import Generic, NamedTuple, TypeVar

import numpy as np

from structlearn.core.contract import Array

N_BINS = 10
#: Temperatures that are looked at; at an end of the range the likelihood has no optimum, or hardly one.
LEAST, MOST = 0.05, 20.0
_ACCURACY = 1e-4
#: How sure a model is.
C = TypeVar("C")


class Reliability(NamedTuple):
    """Probabilities of answers beside how many of these are right, in ten bins of equal width.

    counts, confidence, accuracy : of shape (10,): how many answers, their mean probability, the share of
        right ones; the last two are 0 where there are none.
    """

    counts: Array
    confidence: Array
    accuracy: Array

    @classmethod
    def of(cls, answers: Iterable[tuple[float, bool]]) -> Reliability:
        """Measure answers that are given as pairs of a probability and whether the answer is right."""
        values = np.array(list(answers), dtype=np.float64).reshape(-1, 2)
        place = np.minimum((values[:, 0] * N_BINS).astype(np.int64), N_BINS - 1)
        counts = np.bincount(place, minlength=N_BINS)
        sums = [np.bincount(place, weights=column, minlength=N_BINS) for column in values.T]
        return cls(counts, *(column / np.maximum(counts, 1) for column in sums))

    @property
    def error(self) -> float:
        """The expected calibration error: the mean of |accuracy - confidence| over all answers."""
        return float(self.counts @ abs(self.accuracy - self.confidence) / max(self.counts.sum(), 1))


class Confidence(NamedTuple):
    """How sure a model is beside how right it is: of labels, of spans, and of whole sentences.

    labels, spans : Reliability of the predicted ones
    log_likelihood : the mean over sentences of log p(y | x)
    left_out : how many sentences the mean leaves out, since no labelling of the model's is theirs
    """

    labels: Reliability
    spans: Reliability
    log_likelihood: float
    left_out: int


class Calibration(NamedTuple, Generic[C]):
    """What `calibrate` has found, and the same data before and after."""

    temperature: float
    before: C
    after: C


def best_temperature(log_likelihood: Callable[[float], float]) -> float:
    """Return argmax_T of the log-likelihood of scores over T, which is concave in 1 / T."""
    from scipy.optimize import minimize_scalar

    found = minimize_scalar(
        lambda cold: -log_likelihood(exp(-cold)),
        bounds=(-log(MOST), -log(LEAST)),
        method="bounded",
        options={"xatol": _ACCURACY},
    )
    return exp(-found.x)
