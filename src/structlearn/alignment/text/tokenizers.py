"""From raw text to tokens: a tokeniser of our own, and Moses's through the library sacremoses.

Ours is one regular expression a language, whose matches are the tokens. Text that it has tokenised comes
out of it unchanged. It splits French elisions (`l' homme`) and pronouns behind the verb (`vois -tu`,
`a -t-il`), and English contractions (`do n't`, `john 's`).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial

Tokenizer = Callable[[str], list[str]]

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


def _pattern(*words: str) -> re.Pattern[str]:
    return re.compile("|".join((_NUMBER, _INITIALS, *words, _MARK)), re.IGNORECASE)


_SIMPLE = {"en": _pattern(*_ENGLISH), "fr": _pattern(*_FRENCH)}
_OTHER = _pattern(_WORD)


def split_at_blanks(text: str) -> list[str]:
    """Split text at blanks into tokens."""
    return text.split()


def simple(language: str) -> Tokenizer:
    """Split text into words, numbers and marks; what is special to "en" and "fr" is split off (see above)."""
    pattern = _SIMPLE.get(language, _OTHER)
    return lambda text: pattern.findall(text.translate(_MARKS))


def moses(language: str) -> Tokenizer:
    """Return the Moses tokeniser of a language; ValueError where sacremoses is missing."""
    try:
        from sacremoses import MosesTokenizer
    except ImportError:
        raise ValueError(
            "The Moses tokeniser needs the library sacremoses: install structlearn[align], or use the simple "
            "tokeniser."
        ) from None
    return partial(MosesTokenizer(lang=language).tokenize, escape=False)
