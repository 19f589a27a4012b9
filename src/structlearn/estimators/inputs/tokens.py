"""Words as numbers: a hash for each column of a token, and for columns derived from its form."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from hashlib import blake2b
from typing import TypeAlias

import numpy as np

from structlearn.core.contract import Array
from structlearn.estimators.inputs.checking import as_list

#: A sentence is a list of tokens, a token a list of strings.
Sentences: TypeAlias = Sequence[Sequence[Sequence[str]]]
#: The code of strings that were rare in training, or never seen.
RARE_CODE = np.uint64(0x2545F4914F6CDD1D)
_COLUMN_STEP = np.uint64(0x9E3779B97F4A7C15)
#: What a token may look like, by its number of columns.
_EXAMPLE = {1: ', such as ["fox"]', 2: ', such as ["fox", "NOUN"]', 3: ', such as ["fox", "NOUN", "NN"]'}
_AFFIX = re.compile(r"(prefix|suffix)([1-9])")

#: Templates after McDonald, Crammer and Pereira (2005), and words beside the two: in Universal Dependencies
#: a preposition depends on its noun, so that it is the word before that tells where the noun belongs.
DEFAULT_TEMPLATES = (
    "",
    *("h.lower", "h.upos", "h.xpos", "h.lower h.xpos"),
    *("m.lower", "m.upos", "m.xpos", "m.lower m.xpos"),
    *("h.upos m.upos", "h.xpos m.xpos", "h.lower m.lower"),
    *("h.lower m.upos", "h.upos m.lower", "h.lower m.xpos", "h.xpos m.lower"),
    *("h.lower h.xpos m.xpos", "h.xpos m.lower m.xpos", "h.lower h.xpos m.lower m.xpos"),
    *("h.upos m.suffix3", "h.suffix3 m.upos", "h.suffix3 m.suffix3"),
    *("h.upos h+1.upos m.upos", "h-1.upos h.upos m.upos"),
    *("h.upos m-1.upos m.upos", "h.upos m.upos m+1.upos"),
    *("h.upos h+1.upos m-1.upos m.upos", "h-1.upos h.upos m-1.upos m.upos"),
    *("h.upos h+1.upos m.upos m+1.upos", "h-1.upos h.upos m.upos m+1.upos"),
    *("h.xpos h+1.xpos m-1.xpos m.xpos", "h-1.xpos h.xpos m-1.xpos m.xpos"),
    *("h.xpos h+1.xpos m.xpos m+1.xpos", "h-1.xpos h.xpos m.xpos m+1.xpos"),
    *("m-1.xpos m.xpos m+1.xpos", "h-1.xpos h.xpos h+1.xpos", "m-1.lower m.upos", "m.upos m+1.lower"),
    "h.upos b.upos m.upos",
    *("h.upos m-1.lower m.upos", "h.lower m-1.lower m.upos", "h.upos m.upos m+1.lower"),
    *("h.upos m-2.lower m.upos", "h.lower m-2.lower m.upos"),
    *("h-1.lower h.upos m.upos", "h.upos h+1.lower m.upos"),
    *("h.xpos m-1.xpos m.xpos", "h.xpos m.xpos m+1.xpos", "h-1.xpos h.xpos m.xpos", "h.xpos h+1.xpos m.xpos"),
    *("m-2.upos m-1.upos m.upos", "m.upos m+1.upos m+2.upos"),
    *("h-2.upos h-1.upos h.upos", "h.upos h+1.upos h+2.upos"),
)


def token_codes(X: Sentences, given: Sequence[str], wanted: Sequence[str]) -> tuple[Array, Array]:
    """Return hashes of the `wanted` columns, sentences end to end, and the sentences' lengths.

    Parameters
    ----------
    X : list of sentences
        A sentence is a list of tokens, a token a list of strings, one for each column of `given`.
    given, wanted : sequence of str
        Names of columns; a wanted one may be derived from `form`: lower, prefix1 to prefix9, suffix1 ...
    """
    sources = [_source(name, given) for name in wanted]
    tokens, lengths = _checked_tokens(X, len(given))
    codes = np.empty((len(tokens), len(wanted)), dtype=np.uint64)
    for j, (place, derive) in enumerate(sources):
        table: dict[str, int] = {}
        for t, token in enumerate(tokens):
            text = token[place]
            if text not in table:
                table[text] = _hash(derive(text))
            codes[t, j] = table[text]
    return codes, lengths


def frequent(codes: Array, least: int) -> Array:
    """Return the (column, code) pairs that occur at least `least` times, as sorted numbers."""
    found, counts = np.unique(_by_column(codes), return_counts=True)
    return found[counts >= least]


def without_rare(codes: Array, known: Array) -> Array:
    """Return codes in which unknown ones are replaced by one code for all rare strings."""
    return np.where(np.isin(_by_column(codes), known), codes, RARE_CODE)


def _by_column(codes: Array) -> Array:
    return codes + np.arange(codes.shape[1], dtype=np.uint64) * _COLUMN_STEP


def _source(name: str, given: Sequence[str]) -> tuple[int, Callable[[str], str]]:
    """Return the place of a column's source among the given ones, and the function for its strings."""
    if name in given:
        return list(given).index(name), lambda text: text
    if "form" in given:
        place, affix = list(given).index("form"), _AFFIX.fullmatch(name)
        if name == "lower":
            return place, str.lower
        if affix is not None:
            n = int(affix[2])
            return place, (lambda text: text[:n]) if affix[1] == "prefix" else (lambda text: text[-n:])
    raise ValueError(
        f"A template reads the column {name!r}; there are {', '.join(given)} and, where there is form, "
        "lower, prefix1 to prefix9 and suffix1 to suffix9."
    )


def _checked_tokens(X: Sentences, n_columns: int) -> tuple[list[Sequence[str]], Array]:
    tokens: list[Sequence[str]] = []
    lengths = []
    for i, sentence in enumerate(as_list(X, "X")):
        if not isinstance(sentence, list | tuple | np.ndarray) or len(sentence) == 0:
            raise ValueError(
                f"Sentence {i} must be a list of at least one token, each of {n_columns} strings."
            )
        for token in sentence:
            if not _is_token(token, n_columns):
                raise ValueError(
                    f"Sentence {i} has another kind of token ({type(token).__name__}); a token is a list of "
                    f"{n_columns} strings, one a column{_EXAMPLE.get(n_columns, '')}."
                )
        tokens.extend(sentence)
        lengths.append(len(sentence))
    return tokens, np.array(lengths, dtype=np.int64)


def _is_token(token: object, n_columns: int) -> bool:
    if not isinstance(token, list | tuple | np.ndarray) or len(token) != n_columns:
        return False
    return all(isinstance(text, str) for text in token)


def _hash(text: str) -> int:
    return int.from_bytes(blake2b(str(text).encode("utf-8", "replace"), digest_size=8).digest(), "little")
