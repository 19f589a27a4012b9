"""One direction of an alignment model: which words each word generates, NULL, and the jumps."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from structlearn.alignment.statistics.expectation import DirectionRecord, Expected
from structlearn.alignment.statistics.jumps import (
    Jumps,
    carry_weights,
    jump_penalty,
    reestimate_jumps,
    shared_jumps,
    uniform_jumps,
    without_jumps,
)
from structlearn.alignment.statistics.lexicon import N_MISSING, Lexicon
from structlearn.alignment.statistics.relations import Relations
from structlearn.alignment.statistics.translation import Priors, reestimate, reestimate_null
from structlearn.core.contract import Array

#: Probability of a word that the generating word has never been seen with.
UNSEEN = 1e-6


@dataclass(frozen=True)
class Direction:
    """Source words generate target words if `from_source`, else target words generate source words.

    translation : t(generated | generating) of each entry of the lexicon
    null : probability of each word given NULL, the word never seen last
    jumps : how likely each distance is, by the generating word
    p0 : probability that a word is from NULL
    log_prior : what the priors add to the log-likelihood to make the objective of training
    """

    from_source: bool
    translation: Array  # (K + N_MISSING,)
    null: Array  # (n_words + 1,)
    jumps: Jumps
    p0: float
    log_prior: float = 0.0

    @classmethod
    def uniform(cls, lexicon: Lexicon, from_source: bool, p0: float) -> Direction:
        """Return the direction at which training starts."""
        n_words = len(lexicon.target_pairs if from_source else lexicon.source_pairs)
        translation = np.full(len(lexicon.target) + N_MISSING, 1 / n_words, dtype=np.float32)
        jumps = uniform_jumps(lexicon.source_pairs if from_source else lexicon.target_pairs)
        return cls(from_source, translation, np.full(n_words, 1 / n_words), jumps, p0, jump_penalty(jumps))

    def with_jumps(self, other: Direction) -> Direction:
        """Return a copy with the jumps of another, whose words have the first numbers."""
        return replace(self, jumps=carry_weights(other.jumps, self.jumps), log_prior=other.log_prior)

    def record(self, hmm: bool = True) -> DirectionRecord:
        """Return the compiled form, of Model 1 if it is not for the HMM."""
        jumps = self.jumps if hmm else without_jumps(self.jumps)
        return DirectionRecord(self.translation, self.null, self.p0, jumps)

    def m_step(self, lexicon: Lexicon, relations: Relations, expected: Expected, priors: Priors) -> Direction:
        """Make the M-step. The translation table is overwritten."""
        reestimate(lexicon, relations, expected.link, self.from_source, priors, self.translation)
        generated = relations.target if self.from_source else relations.source
        null = reestimate_null(expected.null[:-1], generated, priors.null)
        jumps = self.jumps
        if expected.jumps.taken.size:
            jumps = reestimate_jumps(jumps, expected.jumps, priors.jumps, priors.visits)
        return replace(self, null=null, jumps=jumps, log_prior=jump_penalty(jumps))

    def finish(self) -> Direction:
        """Return a copy without probabilities below `UNSEEN`, with the places of unstored pairs filled.

        A generating word never seen generates all words alike.
        """
        table = np.maximum(self.translation, np.float32(UNSEEN))
        table[-N_MISSING:] = UNSEEN
        table[-N_MISSING:][[1, 3] if self.from_source else [2, 3]] = 1 / len(self.null)
        return replace(self, translation=table)

    def select(self, kept: Array) -> Direction:
        """Return a copy with the entries where `kept` is true."""
        table = np.concatenate([self.translation[:-N_MISSING][kept], self.translation[-N_MISSING:]])
        return replace(self, translation=table)

    def to_arrays(self) -> dict[str, Array]:
        tables = {"translation": self.translation, "null": self.null, "p0": np.array([self.p0])}
        jumps = {"jumps": self.jumps.weights, "visits": self.jumps.visits, "classes": self.jumps.classes}
        return tables | jumps

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Array], from_source: bool, n_words: int) -> Direction:
        """Return the inverse, for `n_words` generating words; in older files all words jump alike."""
        if arrays["jumps"].ndim == 1:
            jumps = shared_jumps(arrays["jumps"], n_words)
        else:
            jumps = Jumps(arrays["jumps"], arrays["visits"], arrays["classes"])
        return cls(from_source, arrays["translation"], arrays["null"], jumps, float(arrays["p0"][0]))
