"""Raw text in, labelled tokens with their places in the text out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple, cast
from weakref import WeakKeyDictionary

from structlearn.core.wording import list_names
from structlearn.estimators.inputs.token_features import TokenFeatures
from structlearn.tagging.streams import Passage, passages
from structlearn.tagging.tokenizers import TOKENIZERS, Span

if TYPE_CHECKING:
    from structlearn.tagging.tagger import Tagger

#: What a tokenizer may be, and the usual one.
PENN = "penn"
_QUOTES = {'"', "“", "”", "''", "``"}
_OPENING = frozenset(" \t\r\n([{<“")
#: Whether training saw Penn's quotes, by the features that it learned.
_PENN_QUOTES: WeakKeyDictionary[object, bool] = WeakKeyDictionary()


class TaggedToken(NamedTuple):
    """A token, its label, and where it stands: ``text[start:end]`` is the token."""

    token: str
    label: str
    start: int
    end: int


class RawText:
    """What taggers of words do with raw text."""

    def tag(self, text: str, tokenizer: str = PENN) -> list[list[TaggedToken]]:
        """Return the sentences of a text, each a list of `(token, label, start, end)`.

        tokenizer : "penn" (English), "marks" (any language with blanks between words) or "blanks" (text that
        is tokenised already, a sentence a line).
        """
        if not isinstance(text, str):
            raise ValueError(f"tag takes text, a str, not a {type(text).__name__}; predict takes sentences.")
        tagger = cast("Tagger", self)
        check_words(tagger)
        return _tagged(tagger, Passage(text, TOKENIZERS.entry(tokenizer).split(text), 0))

    def tag_stream(self, pieces: Iterable[str], tokenizer: str = PENN) -> Iterator[list[list[TaggedToken]]]:
        """`tag` of a text that comes in pieces, however long it is: lists of sentences, as they are whole.

        Positions count from the beginning of the first piece.
        """
        tagger = cast("Tagger", self)
        check_words(tagger)
        return _tagged_stream(tagger, passages(pieces, TOKENIZERS.entry(tokenizer)))


def check_words(tagger: Tagger) -> None:
    """ValueError if a tagger needs more than words."""
    labels = tagger.classes_  # which a tagger that is not fitted lacks
    if isinstance(tagger.features_, TokenFeatures):
        raise ValueError(
            f"The tagger of {len(labels)} labels was trained on features by name, which raw text does not "
            "have; give them to predict."
        )
    if tagger.n_arrays_:
        raise ValueError(
            "The tagger looks at arrays beside words, which raw text does not have; give predict pairs "
            "(words, array)."
        )
    missing = [name for name in tagger.columns[1:] if name not in (tagger.taggers or {})]
    if missing:
        raise ValueError(
            f"The tagger looks at the column {list_names(missing)} beside words, which raw text does not "
            "have; train it with another tagger for that column: `structlearn train ... --with MODEL`."
        )


def _tagged_stream(tagger: Tagger, found: Iterator[Passage]) -> Iterator[list[list[TaggedToken]]]:
    """Passage by passage; where context counts, beside the last sentences of those before."""
    before: list[list[str]] = []
    reach = tagger.derived_.context
    for passage in found:
        yield _tagged(tagger, passage, before)
        if reach:
            before = [*before, *_words(tagger, passage)][-reach:]


def _tagged(tagger: Tagger, passage: Passage, before: Sequence[list[str]] = ()) -> list[list[TaggedToken]]:
    """Return the sentences of a passage, after others that are not told."""
    text, sentences, offset = passage
    if not sentences:
        return []
    found = tagger.predict([*before, *_words(tagger, passage)])[len(before) :]
    return [
        [
            TaggedToken(text[a:b], str(label), offset + a, offset + b)
            for (a, b), label in zip(spans, labels.tolist())
        ]
        for spans, labels in zip(sentences, found)
    ]


# ---- words as the training text writes them --------------------------------------------------------------


def _words(tagger: Tagger, passage: Passage) -> list[list[str]]:
    """Return the tokens with plain apostrophes and, where training saw such, quotes as Penn writes them."""
    text = passage.text.replace("’", "'")
    words = [[text[a:b] for a, b in spans] for spans in passage.sentences]
    if _has_penn_quotes(tagger):
        for sentence, spans in zip(words, passage.sentences):
            _write_quotes(sentence, spans, text)
    return words


def _has_penn_quotes(tagger: Tagger) -> bool:
    """Whether training saw Penn's quotes: more features of `` than of a plain quote are known."""
    known = _PENN_QUOTES.get(tagger.features_)
    if known is None:
        ours, theirs = (tagger.rows([[mark]]).rows.sum() for mark in ('"', "``"))
        known = _PENN_QUOTES[tagger.features_] = bool(theirs > ours)
    return known


def _write_quotes(words: list[str], spans: Sequence[Span], text: str) -> None:
    for t, (word, (start, _)) in enumerate(zip(words, spans)):
        if word in _QUOTES:
            opens = word in "“``" or (word == '"' and (start == 0 or text[start - 1] in _OPENING))
            words[t] = "``" if opens else "''"
