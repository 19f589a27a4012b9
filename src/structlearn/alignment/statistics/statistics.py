"""Statistics from bitext: Dice, Model 1 and the HMM in both directions; posteriors for any pair.

A pair of m source and n target words has m * n cells, and every table over a pair is (m, n).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from structlearn.alignment.statistics.continuing import EarlierText
from structlearn.alignment.statistics.cooccurrence import build_lexicon
from structlearn.alignment.statistics.direction import Direction
from structlearn.alignment.statistics.expectation import expect
from structlearn.alignment.statistics.lexicon import N_MISSING, Lexicon, dice_of_cells, find_entries
from structlearn.alignment.statistics.training import (
    BELIEFS,
    CHUNK,
    EMIteration,
    EMSettings,
    cell_ranges,
    stages,
    train_directions,
)
from structlearn.alignment.text.bitext import Bitext, TrainingText, Vocabulary
from structlearn.alignment.text.occurrences import N_PARTS
from structlearn.core.content import add_to_hash
from structlearn.core.contract import Array
from structlearn.core.threads import in_order
from structlearn.solvers.checkpoint import Checkpoint, Keeper
from structlearn.solvers.progress import count_steps


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
        """Return the geometric mean of both directions."""
        return np.sqrt(self.forward * self.reverse)

    def mean(self) -> Array:
        """Return the mean of both directions; the unsupervised aligner links above 0.5, see `balance`."""
        return (self.forward + self.reverse) / 2


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
        cls,
        text: TrainingText,
        settings: EMSettings | None = None,
        *,
        n_jobs: int = 1,
        earlier: AlignmentStatistics | None = None,
        checkpoint: Checkpoint | None = None,
    ) -> AlignmentStatistics:
        """Train the statistics of a text; they are the same for every `n_jobs`.

        Parameters
        ----------
        text : TrainingText
        settings : EMSettings, optional
        n_jobs : int
        earlier : AlignmentStatistics, optional
            Of earlier text, which counts as though it were read again. The first words of `text` are its
            words.
        checkpoint : Checkpoint, optional
            Where iterations are kept, to go on from.

        """
        if text.n_cells == 0:
            raise ValueError("The bitext has no pair with words on both sides; give at least one.")
        settings = settings or EMSettings()
        old = None if earlier is None else earlier.lexicon
        with count_steps("word pairs", 2 * N_PARTS * text.n_windows) as advance, in_order(n_jobs) as run:
            lexicon = build_lexicon(text, run, advance=advance, earlier=old)
        known = None if earlier is None else EarlierText.of(earlier, lexicon)
        n_steps = sum(text.n_cells // stage.step // CHUNK + 1 for stage in stages(settings, text))  # about
        kept = _open_keeper(checkpoint, text, settings, earlier)
        with kept as keeper, count_steps("alignment models", n_steps) as advance:
            forward, reverse, history = train_directions(
                text, lexicon, settings, n_jobs=n_jobs, advance=advance, earlier=known, keeper=keeper
            )
        words = text.source_words, text.target_words
        return cls(*words, lexicon, forward.finish(), reverse.finish(), list(history))

    def encode(self, pairs: Iterable[tuple[Iterable[str], Iterable[str]]]) -> Bitext:
        """Pairs of (source words, target words) in the numbers of this vocabulary."""
        return Bitext.encode(pairs, self.source_words, self.target_words)

    def posteriors(self, bitext: Bitext, *, n_jobs: int = 1) -> Posteriors:
        """Return the posteriors of the HMM over all pairs."""

        def work(part: tuple[int, int]) -> Posteriors:
            return self._posteriors(bitext, find_entries(self.lexicon, bitext.record, *part), part)

        with in_order(n_jobs) as run:
            return Posteriors(*(np.concatenate(parts) for parts in zip(*run(work, cell_ranges(bitext)))))

    def _posteriors(self, bitext: Bitext, entry: Array, part: tuple[int, int]) -> Posteriors:
        records = self.forward.record(), self.reverse.record()
        forward, reverse = expect(bitext.record, entry, *records, *part, counting=False)
        return Posteriors(forward.link, reverse.link, forward.null, reverse.null)

    def of_cells(self, bitext: Bitext) -> tuple[Posteriors, PairStatistics]:
        """Return the posteriors of the HMM over all pairs, and the statistics of every cell."""
        entry = find_entries(self.lexicon, bitext.record, 0, len(bitext))
        tables = self.forward.translation, self.reverse.translation
        found = (one[entry].astype(np.float32, copy=False) for one in tables)
        dice = dice_of_cells(self.lexicon, bitext.record, entry)
        return self._posteriors(bitext, entry, (0, len(bitext))), PairStatistics(dice, *found)

    def tables(self, source: Iterable[str], target: Iterable[str]) -> Posteriors:
        """Return the posteriors of one pair of sentences, (m, n) each."""
        bitext = self.encode([(source, target)])
        return next(by_pair(bitext, self.posteriors(bitext)))

    def prune(self, min_probability: float = 1e-3) -> AlignmentStatistics:
        """Return a copy without entries whose two probabilities are both smaller, for a small file."""
        likelier = np.maximum(self.forward.translation, self.reverse.translation)[:-N_MISSING]
        kept = likelier >= min_probability
        return replace(
            self,
            lexicon=self.lexicon.keep(kept),
            forward=self.forward.select(kept),
            reverse=self.reverse.select(kept),
        )

    def sure_translations(self, least: float = 0.5, often: int = 5) -> list[tuple[str, str]]:
        """Return word pairs that occur together `often` enough and translate each other both ways.

        `least` is what counts alone would say: the less there are, the more the prior has taken from them.
        """
        lexicon = self.lexicon
        tables = self.forward.translation[:-N_MISSING], self.reverse.translation[:-N_MISSING]
        counted = lexicon.together / (lexicon.together + BELIEFS.translation)
        sure = (np.minimum(*tables) > least * counted) & (lexicon.together >= often) & self.are_words()
        source, target = self.source_words.words, self.target_words.words
        return [(source[e], target[f]) for e, f in zip(lexicon.source()[sure], lexicon.target[sure])]

    def are_words(self) -> Array:
        """Whether an entry is of two words, not of numbers that many words share; of shape (K,)."""
        lexicon = self.lexicon
        return self.source_words.is_word[lexicon.source()] & self.target_words.is_word[lexicon.target]

    def to_arrays(self) -> dict[str, Array]:
        """Return everything but the history as named arrays."""
        arrays = {f"lexicon.{name}": value for name, value in self.lexicon._asdict().items()}
        for name, direction in (("forward", self.forward), ("reverse", self.reverse)):
            arrays |= {f"{name}.{key}": value for key, value in direction.to_arrays().items()}
        for name, words in (("source", self.source_words), ("target", self.target_words)):
            text = json.dumps(words.words, ensure_ascii=False).encode()
            arrays |= {f"{name}.words": np.frombuffer(text, dtype=np.uint8), f"{name}.counts": words.counts}
        return arrays

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Array]) -> AlignmentStatistics:
        """Return the inverse of `to_arrays`."""
        rooms: dict[str, dict[str, Array]] = {}
        for name, value in arrays.items():
            room, key = name.split(".")
            rooms.setdefault(room, {})[key] = value
        source, target = (
            Vocabulary(json.loads(bytes(side["words"])), side["counts"])
            for side in (rooms["source"], rooms["target"])
        )
        forward = Direction.from_arrays(rooms["forward"], True, len(source))
        reverse = Direction.from_arrays(rooms["reverse"], False, len(target))
        return cls(source, target, Lexicon(**rooms["lexicon"]), forward, reverse)


def _open_keeper(
    checkpoint: Checkpoint | None,
    text: TrainingText,
    settings: EMSettings,
    earlier: AlignmentStatistics | None,
) -> AbstractContextManager[Keeper | None]:
    """Return the keeper of a run, which knows it by all that shapes the statistics."""
    if checkpoint is None:
        return nullcontext()
    found = hashlib.blake2b(digest_size=16)
    add_to_hash(found, (repr(settings), text.most_entries))
    for side in (text.source_words, text.target_words):
        add_to_hash(found, (json.dumps(side.words), side.counts))
    for window in text.windows():
        add_to_hash(found, window.record)
    if earlier is not None:
        add_to_hash(found, tuple(earlier.to_arrays().values()))
    return checkpoint.open_as(found.hexdigest())


def by_pair(bitext: Bitext, posteriors: Posteriors) -> Iterator[Posteriors]:
    """Yield the tables pair by pair."""
    tables = zip(bitext.tables(posteriors.forward), bitext.tables(posteriors.reverse))
    for s, (forward, reverse) in enumerate(tables):
        forward_null = posteriors.forward_null[bitext.target.start[s] : bitext.target.start[s + 1]]
        reverse_null = posteriors.reverse_null[bitext.source.start[s] : bitext.source.start[s + 1]]
        yield Posteriors(forward, reverse, forward_null, reverse_null)
