"""Raw text in, labelled tokens with their places in the text out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple
from weakref import WeakKeyDictionary

from structlearn.core.wording import list_names
from structlearn.estimators.inputs.token_features import TokenFeatures
from structlearn.tagging.streams import Passage, passages
from structlearn.tagging.tokenizers import TOKENIZERS, Span

if TYPE_CHECKING:
    from structlearn.tagging.answers import TaggerAnswers

#: The usual tokenizer.
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


def tag_text(tagger: TaggerAnswers, text: str, tokenizer: str) -> list[list[TaggedToken]]:
    """Label the sentences of a text; see `TaggerAnswers.tag`."""
    if not isinstance(text, str):
        raise ValueError(f"tag takes text, a str, not a {type(text).__name__}; predict takes sentences.")
    check_words_only(tagger)
    return _tag_passage(tagger, Passage(text, TOKENIZERS.entry(tokenizer).split(text), 0))


def tag_pieces(
    tagger: TaggerAnswers, pieces: Iterable[str], tokenizer: str
) -> Iterator[list[list[TaggedToken]]]:
    """Label the sentences of a text that comes in pieces; see `TaggerAnswers.tag_stream`."""
    check_words_only(tagger)
    return _tag_passages(tagger, passages(pieces, TOKENIZERS.entry(tokenizer)))


def check_words_only(tagger: TaggerAnswers) -> None:
    """Raise ValueError if a tagger needs more than words."""
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


def _tag_passages(tagger: TaggerAnswers, found: Iterator[Passage]) -> Iterator[list[list[TaggedToken]]]:
    """Yield the sentences of each passage, labelled; if context counts, beside the sentences before it."""
    before: list[list[str]] = []
    reach = tagger.derived_.context
    for passage in found:
        yield _tag_passage(tagger, passage, before)
        if reach:
            before = [*before, *_words(tagger, passage)][-reach:]


def _tag_passage(
    tagger: TaggerAnswers, passage: Passage, before: Sequence[list[str]] = ()
) -> list[list[TaggedToken]]:
    """Label the sentences of a passage, with the sentences `before` it as context only."""
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


def _words(tagger: TaggerAnswers, passage: Passage) -> list[list[str]]:
    """Return the tokens with plain apostrophes and, where training saw such, quotes as Penn writes them."""
    text = passage.text.replace("’", "'")
    words = [[text[a:b] for a, b in spans] for spans in passage.sentences]
    if _has_penn_quotes(tagger):
        for sentence, spans in zip(words, passage.sentences):
            _write_quotes(sentence, spans, text)
    return words


def _has_penn_quotes(tagger: TaggerAnswers) -> bool:
    """Whether training saw Penn's quotes: more features of `` than of a plain quote are known."""
    known = _PENN_QUOTES.get(tagger.features_)
    if known is None:
        ours, theirs = (tagger.word_rows(tagger.text([[mark]])).rows.sum() for mark in ('"', "``"))
        known = _PENN_QUOTES[tagger.features_] = bool(theirs > ours)
    return known


def _write_quotes(words: list[str], spans: Sequence[Span], text: str) -> None:
    for t, (word, (start, _)) in enumerate(zip(words, spans)):
        if word in _QUOTES:
            opens = word in "“``" or (word == '"' and (start == 0 or text[start - 1] in _OPENING))
            words[t] = "``" if opens else "''"
