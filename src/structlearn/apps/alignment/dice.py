"""Dice's coefficient of words that occur together."""

from __future__ import annotations

import numpy as np

from structlearn.apps.alignment.bitext import Array
from structlearn.apps.alignment.lexicon import Lexicon


def dice(lexicon: Lexicon) -> Array:
    """2 c(e, f) / (c(e) + c(f)) of each entry, counted in sentence pairs; of shape (K,)."""
    either = lexicon.source_pairs[lexicon.source()] + lexicon.target_pairs[lexicon.target]
    return (2 * lexicon.together / either).astype(np.float32)
