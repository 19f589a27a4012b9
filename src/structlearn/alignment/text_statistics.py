"""The part of an aligner that reads text: how its words are written, and the statistics of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import TYPE_CHECKING

from structlearn.alignment.gold.vectors import Words
from structlearn.alignment.gold.votes import with_votes_of
from structlearn.alignment.statistics.memory_plan import MemoryPlan
from structlearn.alignment.statistics.statistics import AlignmentStatistics
from structlearn.alignment.text.bitext import Bitext, checked_pair
from structlearn.alignment.text.form import (
    Forms,
    FormWriter,
    OtherForm,
    form_of_words,
    forms_of_text,
    in_forms,
)
from structlearn.alignment.text.on_disk import TextOnDisk
from structlearn.alignment.text.pairs import Splits
from structlearn.alignment.text.tokenizers import TOKENIZERS, Tokenizer, usual_tokenizer
from structlearn.core.sentences import Statement
from structlearn.estimators.choices import make_checkpoint, one_of

if TYPE_CHECKING:
    from os import PathLike

    from structlearn.solvers.checkpoint import Checkpoint


#: First pairs of a text that tell how it is to be split.
_LOOKED_AT = 1000


def _split_at_blanks(text: str) -> list[str]:
    return text.split()


def splits_of(tokenizers: tuple[Tokenizer, Tokenizer]) -> Splits:
    """Return what makes tokens of the text of either side."""
    source, target = tokenizers
    return (
        source.__call__ if source.name != "none" else _split_at_blanks,
        target.__call__ if target.name != "none" else _split_at_blanks,
    )


class TextStatistics:
    """How words are looked up, and what text says of them."""

    if TYPE_CHECKING:
        tokenize: str | Sequence[str]
        source_language: str
        target_language: str
        lowercase: bool
        strip_accents: bool
        min_probability: float
        memory: int | str | None
        checkpoint: str | PathLike[str] | Checkpoint | None
        n_jobs: int
        statistics_: AlignmentStatistics

    #: How raw text of both sides is split into tokens; "none" where lists of words are taken as they are.
    tokenizers_: tuple[Tokenizer, Tokenizer] = Tokenizer(), Tokenizer()

    def split(self, pair: Words | tuple[str, str]) -> Words:
        """Return the words of a pair, whose texts the tokenizers of the model split; lists stay as they are.

        Words of a text are a `SplitText`, whose `spans` say where they stand in it.
        """
        if self.tokenizers_[0].name == "none" == self.tokenizers_[1].name or len(pair) != 2:
            return checked_pair(pair)
        source, target = (
            one(side) if isinstance(side, str) else side for one, side in zip(self.tokenizers_, pair)
        )
        return checked_pair((source, target))

    def choose_tokenizers(
        self, text: Iterable[Words | tuple[str, str]], earlier: TextStatistics | None = None
    ) -> None:
        """Set the tokenizers, by first pairs of the text if they are to be chosen."""
        if earlier is not None:
            self.tokenizers_ = earlier.tokenizers_
            return
        given = [self.tokenize] * 2 if isinstance(self.tokenize, str) else list(self.tokenize)
        if len(given) != 2:
            raise ValueError(f"tokenize is one name, or one per side; got {len(given)}.")
        names = [one_of("tokenizer", name, ("auto", *TOKENIZERS)) for name in given]
        sides: tuple[list[str], list[str]] = [], []
        for pair in text if "auto" in names else ():
            for side, texts in zip(pair, sides):
                texts.extend([side] if isinstance(side, str) else ())
        source, target = (
            usual_tokenizer(texts, language) if name == "auto" else Tokenizer(name, language)
            for name, texts, language in zip(names, sides, (self.source_language, self.target_language))
        )
        self.tokenizers_ = source, target

    def _split_text(
        self, pairs: Sequence[Words], bitext: Iterable[Words] | None, earlier: TextStatistics | None
    ) -> tuple[list[Words], Iterator[Words]]:
        """Choose the tokenizers, and return pairs and bitext as lists of words."""
        stream = iter(bitext or ())
        head = list(islice(stream, _LOOKED_AT))
        self.choose_tokenizers([*pairs[:_LOOKED_AT], *head], earlier)
        return [self.split(pair) for pair in pairs], map(self.split, chain(head, stream))

    def _find_forms(
        self,
        pairs: Sequence[Words],
        bitext: Iterable[Words],
        statistics: AlignmentStatistics | None,
        earlier: TextStatistics | None,
    ) -> Iterable[Words]:
        """See how the text is written; returns the bitext."""
        asked = {"lowercase": self.lowercase, "strip_accents": self.strip_accents}
        if earlier is not None:
            self._check_same(earlier)
            self.set_forms(earlier.forms_)
            return in_forms(self.forms_, bitext)
        if statistics is None:
            forms, bitext = forms_of_text(bitext, pairs, **asked)
            self.set_forms(forms)
        else:
            words = statistics.source_words, statistics.target_words
            self.set_forms((form_of_words(words[0], **asked), form_of_words(words[1], **asked)))
        return bitext

    def _check_same(self, earlier: TextStatistics) -> None:
        for name in ("lowercase", "strip_accents"):
            if getattr(self, name) != getattr(earlier, name):
                was = f"{{{name}={getattr(earlier, name)}}}"
                raise OtherForm(
                    None, Statement(f"The continued model was trained with {was}; give the same.")
                )

    def set_forms(self, forms: Forms) -> None:
        """Have words written in these forms, one per side."""
        self.forms_ = forms
        self._writers = FormWriter(forms[0]), FormWriter(forms[1])

    def train_statistics(
        self, pairs: Iterable[Words], earlier: AlignmentStatistics | None = None, *, keep: bool = True
    ) -> AlignmentStatistics:
        """Return the statistics of checked pairs; with `keep`, the run is kept in the checkpoint, if any."""
        written = (self._write(*pair) for pair in pairs if len(pair[0]) and len(pair[1]))
        known = None if earlier is None else (earlier.source_words, earlier.target_words)
        if self.memory is None:
            text: Bitext | TextOnDisk = Bitext.from_pairs(written, known)
        else:
            text = TextOnDisk(written, MemoryPlan.of(self.memory), known)
        for writer in self._writers:
            writer.clear()  # it has remembered more words than new text will have
        kept = make_checkpoint(self.checkpoint) if keep else None
        found = AlignmentStatistics.train(text, n_jobs=self.n_jobs, earlier=earlier, checkpoint=kept)
        return found.prune(self.min_probability)

    def unknown_words(self, pairs: Iterable[Words]) -> tuple[int, int]:
        """Count the words of the pairs that the statistics lack, and all words."""
        bitext = self.statistics_.encode(map(self.write_pair, pairs))
        sides = ((bitext.source, bitext.source_words), (bitext.target, bitext.target_words))
        unknown = sum(int((side.tokens == len(words)).sum()) for side, words in sides)
        return unknown, sum(side.tokens.size for side, _ in sides)

    def write_pair(self, pair: Words) -> Words:
        """Return the words as the statistics have them, with the votes of the pair."""
        return with_votes_of(pair, self._write(*self.split(pair)))

    def _write(self, source: Sequence[str], target: Sequence[str]) -> tuple[list[str], list[str]]:
        try:
            return self._writers[0].words(source), self._writers[1].words(target)
        except TypeError:
            raise ValueError('A word is a string, such as "house"; a pair has something else.') from None
