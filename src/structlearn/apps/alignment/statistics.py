"""Statistics from bitext: Dice, Model 1 and the HMM in both directions; posteriors for any pair.

A pair of m source and n target words has m * n cells, and every table over a pair is (m, n).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from structlearn.apps.alignment.bitext import Bitext, Vocabulary
from structlearn.apps.alignment.direction import Direction
from structlearn.apps.alignment.expectation import expect
from structlearn.apps.alignment.lexicon import N_MISSING, N_PARTS, Lexicon, build_lexicon, find_entries
from structlearn.apps.alignment.training import BELIEFS, EMIteration, EMSettings, chunks, train
from structlearn.core.contract import Array
from structlearn.core.threads import in_order
from structlearn.solvers.progress import counted


class Posteriors(NamedTuple):
    """Probabilities of links in both directions; over one pair, or over the cells and words of many.

    forward : p(target word j is from source word i); over i and NULL they sum to 1
    reverse : p(source word i is from target word j); over j and NULL they sum to 1
    """

    forward: Array  # (m, n) or (n_cells,)
    reverse: Array  # (m, n) or (n_cells,)
    forward_null: Array  # (n,) or (n_target_tokens,)
    reverse_null: Array  # (m,) or (n_source_tokens,)

    def agreement(self) -> Array:
        """Geometric mean of both directions; a link where it exceeds 0.5 is the unsupervised aligner."""
        return np.sqrt(self.forward * self.reverse)


class PairStatistics(NamedTuple):
    """Statistics of every cell of a bitext, each of shape (n_cells,)."""

    dice: Array
    translation: Array  # t(f | e)
    reverse_translation: Array  # t(e | f)


@dataclass(frozen=True)
class AlignmentStatistics:
    """What bitext tells about which words translate which.

    Made by `train` or `from_arrays`. Pairs to ask about are a `Bitext` in this vocabulary, see `encode`.
    """

    source_words: Vocabulary
    target_words: Vocabulary
    lexicon: Lexicon
    forward: Direction
    reverse: Direction
    history: list[EMIteration] = field(default_factory=list)

    @classmethod
    def train(
        cls, bitext: Bitext, settings: EMSettings | None = None, *, n_jobs: int = 1
    ) -> AlignmentStatistics:
        """Statistics of a bitext; the same for every `n_jobs`."""
        if bitext.cell_start[-1] == 0:
            raise ValueError("The bitext has no pair with words on both sides; give at least one.")
        settings = settings or EMSettings()
        with counted("word pairs", 2 * N_PARTS) as advance:
            lexicon, entry = build_lexicon(bitext, n_jobs=n_jobs, advance=advance)
        n_steps = (settings.model1 + settings.hmm) * len(chunks(bitext))
        with counted("alignment models", n_steps) as advance:
            forward, reverse, history = train(
                bitext, lexicon, entry, settings, n_jobs=n_jobs, advance=advance
            )
        words = bitext.source_words, bitext.target_words
        return cls(*words, lexicon, forward.finished(), reverse.finished(), history)

    def encode(self, pairs: Iterable[tuple[Iterable[str], Iterable[str]]]) -> Bitext:
        """Pairs of (source words, target words) in the numbers of this vocabulary."""
        return Bitext.encode(pairs, self.source_words, self.target_words)

    def posteriors(self, bitext: Bitext, *, n_jobs: int = 1) -> Posteriors:
        """Posteriors of the HMM over all pairs."""
        records = self.forward.record(bitext.longest + 1), self.reverse.record(bitext.longest + 1)

        def work(part: tuple[int, int]) -> tuple[Array, ...]:
            entry = find_entries(self.lexicon, bitext.record, *part)
            forward, reverse = expect(bitext.record, entry, *records, *part)
            return forward.link, reverse.link, forward.null, reverse.null

        with in_order(n_jobs) as run:
            return Posteriors(*(np.concatenate(parts) for parts in zip(*run(work, chunks(bitext)))))

    def tables(self, source: Iterable[str], target: Iterable[str]) -> Posteriors:
        """Posteriors of one pair of sentences, (m, n) each."""
        bitext = self.encode([(source, target)])
        return next(by_pair(bitext, self.posteriors(bitext)))

    def pair_statistics(self, bitext: Bitext) -> PairStatistics:
        """Dice and translation probabilities of every cell."""
        entry = find_entries(self.lexicon, bitext.record, 0, len(bitext))
        table = np.concatenate([self.lexicon.dice(), np.zeros(N_MISSING, dtype=np.float32)])
        tables = table, self.forward.translation, self.reverse.translation
        return PairStatistics(*(one[entry].astype(np.float32, copy=False) for one in tables))

    def prune(self, min_probability: float = 1e-3) -> AlignmentStatistics:
        """Without the entries whose translation probabilities are both smaller: a small file."""
        likelier = np.maximum(self.forward.translation, self.reverse.translation)[:-N_MISSING]
        kept = likelier >= min_probability
        return replace(
            self,
            lexicon=self.lexicon.keep(kept),
            forward=self.forward.kept(kept),
            reverse=self.reverse.kept(kept),
        )

    def sure_translations(self, least: float = 0.5, often: int = 5) -> list[tuple[str, str]]:
        """Word pairs that occur together `often` enough and translate each other, in both directions.

        `least` is what counts alone would say: the less there are, the more the prior has taken from them.
        """
        lexicon = self.lexicon
        tables = self.forward.translation[:-N_MISSING], self.reverse.translation[:-N_MISSING]
        counted = lexicon.together / (lexicon.together + BELIEFS.translation)
        sure = np.flatnonzero((np.minimum(*tables) > least * counted) & (lexicon.together >= often))
        source, target = self.source_words.words, self.target_words.words
        return [(source[e], target[f]) for e, f in zip(lexicon.source()[sure], lexicon.target[sure])]

    def to_arrays(self) -> dict[str, Array]:
        """Everything but the history, as named arrays."""
        arrays = {f"lexicon.{name}": value for name, value in self.lexicon._asdict().items()}
        for name, direction in (("forward", self.forward), ("reverse", self.reverse)):
            arrays |= {f"{name}.{key}": value for key, value in direction.to_arrays().items()}
        for name, words in (("source", self.source_words), ("target", self.target_words)):
            text = json.dumps(words.words, ensure_ascii=False).encode()
            arrays |= {f"{name}.words": np.frombuffer(text, dtype=np.uint8), f"{name}.counts": words.counts}
        return arrays

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Array]) -> AlignmentStatistics:
        """The inverse of `to_arrays`."""
        rooms: dict[str, dict[str, Array]] = {}
        for name, value in arrays.items():
            room, key = name.split(".")
            rooms.setdefault(room, {})[key] = value
        source, target = (
            Vocabulary(json.loads(bytes(side["words"])), side["counts"])
            for side in (rooms["source"], rooms["target"])
        )
        forward = Direction.from_arrays(rooms["forward"], True)
        reverse = Direction.from_arrays(rooms["reverse"], False)
        return cls(source, target, Lexicon(**rooms["lexicon"]), forward, reverse)


def by_pair(bitext: Bitext, posteriors: Posteriors) -> Iterator[Posteriors]:
    """Pair by pair, as tables."""
    tables = zip(bitext.tables(posteriors.forward), bitext.tables(posteriors.reverse))
    for s, (forward, reverse) in enumerate(tables):
        forward_null = posteriors.forward_null[bitext.target.start[s] : bitext.target.start[s + 1]]
        reverse_null = posteriors.reverse_null[bitext.source.start[s] : bitext.source.start[s + 1]]
        yield Posteriors(forward, reverse, forward_null, reverse_null)
