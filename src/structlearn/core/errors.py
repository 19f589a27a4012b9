"""Errors and warnings: those that a caller may want to tell from others, and those about doubtful data.

Data is doubtful that can be read, but is hardly meant so; the warning says what to look at.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import TYPE_CHECKING

from structlearn.core.wording import quote

if TYPE_CHECKING:
    import numpy as np

#: Tokens from which on a single sequence is doubtful.
LONG_SEQUENCE = 1000


class NothingLearnedWarning(UserWarning):
    """Warns of a trained model whose weights are zero, or that is no better than a constant."""


class OracleError(ValueError):
    """Raised for an answer that should be maximal but is not: a known point has a higher score.

    Weak duality makes a negative duality gap a proof of it. No certificate can be given then.
    """


def doubt(sentence: str) -> None:
    """Warn of doubtful data."""
    warnings.warn(sentence, UserWarning, stacklevel=2)


def doubt_one_sequence(name: str, lengths: np.ndarray) -> None:
    """Warn of a long file that is one sequence."""
    if len(lengths) == 1 and lengths[0] > LONG_SEQUENCE:
        doubt(
            f"{name} has no blank line, so that its {lengths[0]} tokens are one sequence; put a blank line "
            "between sentences."
        )


def doubt_alike(labels: Iterable[object]) -> None:
    """Warn of labels that are the same but for case or for blanks around them."""
    seen: dict[str, str] = {}
    for label in sorted(one for one in labels if isinstance(one, str)):
        other = seen.setdefault(label.strip().casefold(), label)
        if other != label:
            doubt(
                f"The labels {quote(other)} and {quote(label)} differ only in case or in blanks; if they "
                "mean the same, write them in one way."
            )
            return
