"""Noise in the place of costs: perturbed losses, estimated with draws that are kept."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from structlearn.core.contract import Array
from structlearn.core.sentences import Statement, join_sentences
from structlearn.estimators.training.running import TrainingProblem
from structlearn.solvers.solution import Certificate
from structlearn.structures import Structure
from structlearn.structures.base import SparseVertices


class Repeated(NamedTuple):
    """Which examples, and which of all their parts, the repeated ones are."""

    examples: Array
    parts: Array


def with_noise(
    problem: TrainingProblem[Structure], n_samples: int, noise: float, seed: int
) -> tuple[Repeated, TrainingProblem[Structure]]:
    """Return which examples are repeated, and the problem with noise in their costs; scoring is as before."""
    start, gold = problem.scoring.start, problem.gold
    which = np.repeat(np.arange(problem.scoring.n_examples), n_samples)
    parts = _ranges(start[which], np.diff(start)[which])
    counts = np.diff(gold.start)[which]
    entries = _ranges(gold.start[which], counts)
    begins = np.concatenate([[0], np.cumsum(counts)])
    cost = problem.cost[parts] + noise * np.random.default_rng(seed).standard_normal(parts.size)
    weight = None if problem.sample_weight is None else problem.sample_weight[which]
    repeated = SparseVertices(begins, gold.index[entries], gold.value[entries])
    return Repeated(which, parts), problem._replace(gold=repeated, cost=cost, sample_weight=weight)


def estimate_certificate(certificate: Certificate, n_samples: int) -> Certificate:
    """Return the certificate of a perturbed loss, which is that of the noise that was drawn."""
    said = Statement(
        "This is an estimate: primal, dual and gap are those of the loss with {n} draws of noise per "
        "example, and nothing is certified about its expectation.",
        n=n_samples,
    )
    return replace(certificate, status=join_sentences(certificate.status, said), exact=False)


def _ranges(starts: Array, sizes: Array) -> Array:
    """Return the indices of ranges, end to end."""
    ends = np.cumsum(sizes)
    return np.arange(ends[-1]) + np.repeat(starts - (ends - sizes), sizes)
