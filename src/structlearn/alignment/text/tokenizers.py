"""From raw text to tokens that know where they stand in it.

`simple` is one regular expression per language, whose matches are the tokens. Text that it has tokenised
comes out of it unchanged. It splits French elisions (`l' homme`) and pronouns behind the verb (`vois -tu`,
`a -t-il`), and English contractions (`do n't`, `john 's`). `characters` splits Chinese, Japanese and the
scripts of South-East Asia at each character, and the rest as `simple` does. The others are libraries: `moses`
is sacremoses, `icu` is PyICU.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache, partial
from itertools import pairwise
from typing import Any, NamedTuple

from structlearn.core.registry import Registry

Span = tuple[int, int]
#: From a text to where its tokens begin and end.
Splitter = Callable[[str], list[Span]]

#: Each becomes one other character, so that positions stay what they are.
_MARKS = str.maketrans({"’": "'", "‘": "'", "ʼ": "'", "“": '"', "”": '"', "«": '"', "»": '"'})

_NUMBER = r"\d+(?:[.,:]\d+)+(?!\w)"
_INITIALS = r"(?:[^\W\d_]\.){2,}"
_WORD = r"\w+(?:['-]\w+)*"
_MARK = r"\.{2,}|[^\w\s]"

_ENDING = r"'(?:s|m|d|re|ve|ll)\b"
_ENGLISH = (
    r"(?:mr|mrs|ms|dr|st)\.(?=\s+\w)",
    r"\w+(?=n't\b)",
    rf"{_ENDING}|\w+(?:(?!{_ENDING})['-]\w+)*",
)

_PRONOUN = r"-(?:t-)?(?:je|tu|ils?|elles?|on|nous|vous|ce|moi|toi|le|la|les|lui|leur|y|en)"
_PRONOUNS = rf"(?:{_PRONOUN})+(?![\w'-])"
_FRENCH = (
    r"(?:m|mm|mme|mlle|dr)\.(?=\s+\w)",
    r"(?:[cdjlmnst]|(?:jus|lors|puis|quoi)?qu)'(?!')",
    rf"rendez-vous\b|{_PRONOUN}(?=(?:{_PRONOUN})*(?![\w'-]))|\w+(?:(?!{_PRONOUNS})['-]\w+)*",
)


#: Characters of scripts that are written without blanks: Han and kana; Thai, Lao, Burmese, Khmer.
HAN_AND_KANA = "\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
SOUTH_EAST_ASIAN = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"
#: Vowels, tones and voicing that are written above, below or around the character before them.
_ABOVE_OR_BELOW = (
    "\u0300-\u036f\u0e31\u0e34-\u0e3a\u0e47-\u0e4e\u0eb1\u0eb4-\u0ebc\u0ec8-\u0ece"
    "\u102b-\u103e\u17b4-\u17d3\u3099\u309a"
)
_CHARACTER = rf"[{HAN_AND_KANA}{SOUTH_EAST_ASIAN}][{_ABOVE_OR_BELOW}]*"
_LETTERS = rf"(?:(?![{HAN_AND_KANA}{SOUTH_EAST_ASIAN}])\w)+"


def _pattern(*words: str) -> re.Pattern[str]:
    return re.compile("|".join((_NUMBER, _INITIALS, *words, _MARK)), re.IGNORECASE)


_SIMPLE = {"en": _pattern(*_ENGLISH), "fr": _pattern(*_FRENCH)}
_OTHER = _pattern(_WORD)
_CHARACTERS = _pattern(_CHARACTER, rf"{_LETTERS}(?:['-]{_LETTERS})*")
_BLANKS = re.compile(r"\S+")


class SplitText(list[str]):
    """The tokens of a text, and where they stand in it: token k is from spans[k][0] to before spans[k][1]."""

    def __init__(self, tokens: Iterable[str], text: str, spans: Sequence[Span]) -> None:
        super().__init__(tokens)
        self.text = text
        self.spans = spans

    def words(self) -> list[int]:
        """Return the number of the word between blanks that each token is in."""
        starts = [found.start() for found in _BLANKS.finditer(self.text)]
        found, word = [], 0
        for first, _ in self.spans:
            while word + 1 < len(starts) and starts[word + 1] <= first:
                word += 1
            found.append(word)
        return found


# ---- splitters: from a language to a function of text ----------------------------------------------------


def _by_pattern(pattern: re.Pattern[str], text: str) -> list[Span]:
    return [found.span() for found in pattern.finditer(text)]


def _split_at_blanks(language: str) -> Splitter:
    return partial(_by_pattern, _BLANKS)


def _simple(language: str) -> Splitter:
    pattern = _SIMPLE.get(language, _OTHER)
    return lambda text: _by_pattern(pattern, text.translate(_MARKS))


def _characters(language: str) -> Splitter:
    return lambda text: _by_pattern(_CHARACTERS, text.translate(_MARKS))


def _moses(language: str) -> Splitter:
    try:
        from sacremoses import MosesTokenizer
    except ImportError:
        raise _missing("Moses", "sacremoses") from None
    tokenize = partial(MosesTokenizer(lang=language).tokenize, escape=False)
    return lambda text: list(_found_again(text, tokenize(text)))


def _icu(language: str) -> Splitter:
    try:
        import icu
    except ImportError:
        raise _missing("ICU", "PyICU") from None
    breaks = icu.BreakIterator.createWordInstance(icu.Locale(language))
    return lambda text: _between_breaks(breaks, text)


def _between_breaks(breaks: Any, text: str) -> list[Span]:
    """Return the pieces between breaks that are no blanks; ICU counts in units of UTF-16."""
    wide = len(text) != len(text.encode("utf-16-le")) // 2
    place = _places(text) if wide else None
    breaks.setText(text)
    ends = [0, *breaks]
    if place is not None:
        ends = [place[end] for end in ends]
    return [(a, b) for a, b in pairwise(ends) if not text[a:b].isspace()]


def _places(text: str) -> list[int]:
    """Return the number of the character at each unit of UTF-16, and behind the last."""
    units = [k for k, character in enumerate(text) for _ in range(1 + (ord(character) > 0xFFFF))]
    return [*units, len(text)]


def _found_again(text: str, tokens: Iterable[str]) -> Iterator[Span]:
    """Yield where tokens stand in a text; one that was rewritten takes what is up to the next blank."""
    at = 0
    for token in tokens:
        while at < len(text) and text[at].isspace():
            at += 1
        found = text.find(token, at)
        first = at if found < 0 else found
        rewritten = _BLANKS.match(text, first)
        end = first + len(token) if found >= 0 else rewritten.end() if rewritten else first
        yield first, end
        at = end


def _missing(name: str, package: str) -> ValueError:
    return ValueError(
        f"The tokeniser of {name} needs the library {package}: install structlearn[align], or use --tokenize "
        "simple, or characters for text without blanks."
    )


# ---- by name ---------------------------------------------------------------------------------------------


class TokenizerKind(NamedTuple):
    """A way to split text."""

    name: str
    what: str
    splitter: Callable[[str], Splitter]


TOKENIZERS: Registry[TokenizerKind] = Registry(
    "tokenizer",
    [
        TokenizerKind("none", "tokens stand between blanks", _split_at_blanks),
        TokenizerKind("simple", "words and marks, English contractions, French elisions", _simple),
        TokenizerKind("characters", "each character of scripts without blanks is a token", _characters),
        TokenizerKind("moses", "the library sacremoses", _moses),
        TokenizerKind("icu", "words by the dictionaries of PyICU", _icu),
    ],
)


class Tokenizer(NamedTuple):
    """A way to split text of a language, as model files name it."""

    name: str = "none"
    language: str = ""

    def __call__(self, text: str) -> SplitText:
        """Return the tokens of a text; `simple` and `characters` write quotation marks in one way."""
        spans = _splitter(*self)(text)
        written = text.translate(_MARKS) if self.name in ("simple", "characters") else text
        return SplitText([written[a:b] for a, b in spans], text, spans)


#: Takes what stands between blanks.
AT_BLANKS = Tokenizer()


@lru_cache(maxsize=16)
def _splitter(name: str, language: str) -> Splitter:
    return TOKENIZERS.entry(name).splitter(language)


def usual_tokenizer(lines: Iterable[str], language: str) -> Tokenizer:
    """Return the tokeniser for text like this: by words where it has blanks, else by ICU or by characters."""
    text = "".join(lines)
    without_blanks = re.findall(f"[{HAN_AND_KANA}{SOUTH_EAST_ASIAN}]", text)
    if 2 * len(without_blanks) <= len(re.sub(r"\s", "", text)):
        return Tokenizer("simple", language)
    try:
        _splitter("icu", language)
    except ValueError:
        return Tokenizer("characters", language)
    return Tokenizer("icu", language)
