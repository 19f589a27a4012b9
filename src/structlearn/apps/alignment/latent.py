"""Word vectors of both languages in one space, from bitext alone.

    D ~ U S V',    u_e = row e of U sqrt(S),    v_f = row f of V sqrt(S)

with D the Dice coefficients of source word e and target word f: words that translate each other are near.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.linalg import svds

from structlearn.apps.alignment.dice import dice
from structlearn.apps.alignment.statistics import AlignmentStatistics
from structlearn.apps.alignment.vectors import Vectors, WordVectors, unit_rows


def latent_vectors(statistics: AlignmentStatistics, dimension: int = 100) -> Vectors:
    """Vectors of the words of the statistics, of this dimension or of as many as the words allow."""
    lexicon = statistics.lexicon
    words = statistics.source_words.words, statistics.target_words.words
    shape = len(words[0]), len(words[1])
    entries = dice(lexicon).astype(np.float64)
    D = csr_array((entries, lexicon.target, lexicon.start[: shape[0] + 1]), shape=shape)
    U, S, Vt = svds(D, k=min(dimension, min(shape) - 1), v0=np.ones(min(shape)))
    rows = (U * np.sqrt(S), Vt.T * np.sqrt(S))
    source, target = (
        WordVectors(known, unit_rows(side.astype(np.float32))) for known, side in zip(words, rows)
    )
    return source, target
