"""Errors and warnings that a caller may want to tell from others."""

from __future__ import annotations


class NothingLearnedWarning(UserWarning):
    """A trained model whose weights are zero, or that is no better than a constant."""


class OracleError(ValueError):
    """An answer that should be maximal is not: a point that is known already has a higher score.

    Weak duality makes a negative duality gap a proof of it. No certificate can be given then.
    """
