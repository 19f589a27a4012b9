"""From raw text to sentences of tokens, as positions in the text: nothing of it is changed.

Sentences end at blank lines and where Punkt (Kiss and Strunk 2006) finds an end; words are split by NLTK.
Both need no data: Punkt's abbreviations are those below and all of the form "U.S.".
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache
from itertools import pairwise
from typing import Any, NamedTuple, TypeAlias

from structlearn.core.registry import Registry
from structlearn.tagging.lone_modules import import_alone

#: Where a token begins, and where it ends.
Span: TypeAlias = tuple[int, int]
#: Positions of the tokens of each sentence of a text; no sentence is empty.
Split: TypeAlias = Callable[[str], list[list[Span]]]

PARAGRAPH = re.compile(r"\n[ \t\r]*\n")
LINE = re.compile(r"\n")
_WORD = re.compile(r"\S+")
_INITIALS = re.compile(r"(?:[^\W\d_]\.)+[^\W\d_]")
#: A number, initials, a word, or a mark, however often.
_PART = re.compile(r"\d+(?:[.,:]\d+)+|(?:[^\W\d_]\.){2,}|\w+|([^\w\s])\1*")
#: Marks that Penn's tokens write as others of the same length.
_SAME = str.maketrans({"’": "'"})
_ABBREVIATIONS = """
    mr mrs ms dr prof rev hon gen col lt sgt capt maj adm gov sen rep st mt ft jr sr inc corp co ltd bros dept
    univ assn jan feb apr jun jul aug sep sept oct nov dec etc vs cf nos vol eds pp approx ave blvd rd
"""


class TokenizerEntry(NamedTuple):
    """A tokenizer by name.

    what : what it does, in words
    split : from a text to its sentences
    border : what no sentence goes across
    """

    name: str
    what: str
    split: Split
    border: re.Pattern[str] = PARAGRAPH


class _Abbreviations(frozenset[str]):
    """Words, in lower case, whose period ends no sentence; those made of initials, too."""

    def __contains__(self, word: object) -> bool:
        return super().__contains__(word) or _INITIALS.fullmatch(str(word)) is not None


def penn(text: str) -> list[list[Span]]:
    """Split text into tokens as in the Penn Treebank: do n't, John 's, U.S. and state-of-the-art are kept."""
    return _in_sentences(text.translate(_SAME), _penn_words)


def marks(text: str) -> list[list[Span]]:
    """Split text into words, numbers with what is inside them, initials, and marks."""
    return _in_sentences(text, _marks)


def blank_separated(text: str) -> list[list[Span]]:
    """Return what stands between blanks; a line is a sentence."""
    lines = ([match.span() for match in _WORD.finditer(text, a, b)] for a, b in _between(LINE, text))
    return [line for line in lines if line]


def _in_sentences(text: str, words: Callable[[str], list[Span]]) -> list[list[Span]]:
    found = []
    for first, last in _between(PARAGRAPH, text):
        paragraph = text[first:last]
        for a, b in _punkt().span_tokenize(paragraph):
            spans = [(first + a + start, first + a + end) for start, end in words(paragraph[a:b])]
            if spans:
                found.append(spans)
    return found


def _between(border: re.Pattern[str], text: str) -> Iterator[Span]:
    """Return the stretches of a text between borders."""
    edges = [0, *(at for match in border.finditer(text) for at in match.span()), len(text)]
    return ((a, b) for a, b in pairwise(edges) if a < b)


def _penn_words(sentence: str) -> list[Span]:
    try:
        return list(_penn_tokenizer().span_tokenize(sentence))
    except (ValueError, StopIteration, RuntimeError):  # a mix of quotes that NLTK does not find again
        return _marks(sentence)


def _marks(sentence: str) -> list[Span]:
    return [match.span() for match in _PART.finditer(sentence)]


@cache
def _penn_tokenizer() -> Any:
    return import_alone("nltk.tokenize.destructive").NLTKWordTokenizer()


@cache
def _punkt() -> Any:
    punkt = import_alone("nltk.tokenize.punkt")
    parameters = punkt.PunktParameters()
    parameters.abbrev_types = _Abbreviations(_ABBREVIATIONS.split())
    return punkt.PunktSentenceTokenizer(parameters)


TOKENIZERS: Registry[TokenizerEntry] = Registry(
    "tokenizer",
    [
        TokenizerEntry("penn", "English as in the Penn Treebank (do n't, John 's)", penn),
        TokenizerEntry("marks", "words and marks, of any language that has blanks between words", marks),
        TokenizerEntry(
            "blanks",
            "text that is tokenised: blanks between tokens, one sentence per line",
            blank_separated,
            LINE,
        ),
    ],
)
