"""Sets of labellings with a guarantee: which taggers may have them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from structlearn.tagging.features.resources import DerivedColumns

#: What is said of sets with a guarantee of taggers with context.
NO_SETS = (
    "Sets with a guarantee need sentences whose labels do not depend on one another, but this tagger looks "
    "at those around a sentence: train it with context=0 (--context 0)."
)


def check_exchangeable(derived: DerivedColumns) -> None:
    """Raise ValueError for a tagger that looks at the sentences around one."""
    if derived.context:
        raise ValueError(NO_SETS)
