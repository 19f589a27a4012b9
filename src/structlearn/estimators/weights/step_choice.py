"""Which steps from label to label have weights: all, or only those that occur in the training data."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from structlearn.core.contract import Array
from structlearn.core.sentences import ParameterError
from structlearn.estimators.choices import one_of
from structlearn.structures import SparseChain

if TYPE_CHECKING:
    from structlearn.estimators.chain import ChainClassifier

AUTO, ALL, SEEN, ONLY = "auto", "all", "seen", "seen-only"
#: "auto" takes the steps that were seen where all steps are more than this, and this many times as many.
MANY_STEPS, TIMES_SEEN = 1 << 16, 8


def choose_steps(estimator: ChainClassifier, codes: Array | None, lengths: Array) -> SparseChain | None:
    """Return the chain of the steps that labels, end to end, make; None where all steps have weights.

    codes : None where labels are not known, or not those of the whole training data
    """
    if estimator.transitions == ALL or (estimator.transitions == AUTO and not _may_be_sparse(estimator)):
        return None
    _refuse_others(estimator)
    if codes is None:
        refuse_seen_steps(estimator, "partly labelled sequences")
        return None
    n_labels = len(estimator.classes_)
    inner = np.ones(codes.size, dtype=bool)
    inner[np.cumsum(lengths) - lengths] = False
    seen = np.unique(np.r_[0, codes[:-1]][inner] * n_labels + codes[inner])
    if estimator.transitions == AUTO and seen.size * TIMES_SEEN > n_labels**2:
        return None
    steps = np.stack(np.divmod(seen, n_labels), axis=1)
    return SparseChain(n_labels, steps, free=estimator.transitions != ONLY)


def _may_be_sparse(estimator: ChainClassifier) -> bool:
    """Return whether "auto" may leave steps out: there are many, and nothing else is said of them."""
    return len(estimator.classes_) ** 2 > MANY_STEPS and not _said_of_steps(estimator)


def _said_of_steps(estimator: ChainClassifier) -> str:
    """Return the first parameter that says something else of steps, and is set."""
    given = {
        "constraints": estimator.constraints is not None,
        "transition_features": estimator.transition_features is not None,
        "start": estimator.start,
        "end": estimator.end,
    }
    return next((name for name, is_set in given.items() if is_set), "")


def _refuse_others(estimator: ChainClassifier) -> None:
    """Raise ValueError where another parameter asks for what a chain of seen steps does not have."""
    other = _said_of_steps(estimator)
    if other:
        raise ParameterError(
            f"{{transitions=}} does not go with {{{other}}}; use {{transitions=all}}.",
            transitions=estimator.transitions,
        )


def refuse_seen_steps(estimator: ChainClassifier, what: str) -> None:
    """Raise ValueError where only steps that were seen are asked for, but cannot be known beforehand."""
    if estimator.transitions in (SEEN, ONLY):
        raise ParameterError(
            "{transitions=} does not go with {what}; use {transitions=all}.",
            transitions=estimator.transitions,
            what=what,
        )


def check_transitions(estimator: ChainClassifier) -> None:
    """Raise ValueError unless `transitions` is one of its values."""
    one_of("transitions", estimator.transitions, (AUTO, ALL, SEEN, ONLY))


def describe_steps(chain: SparseChain) -> str:
    """Return a sentence for the status of a certificate."""
    others = "other steps score 0" if chain.free else "no other step is made"
    name = SEEN if chain.free else ONLY
    return (
        f"It has weights for the {chain.n_shared:,} steps between labels that occur in the training data, of "
        f"{chain.n_labels**2:,}; {others} (transitions='{name}')."
    )
