"""Taggers inside a tagger: columns that others fill, in training and in use alike."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from structlearn.data import Tokens
from structlearn.data.tokens import Column
from structlearn.estimators.files.persistence import Bundle
from structlearn.tagging.raw import check_words_only

if TYPE_CHECKING:
    from structlearn.tagging.tagger import Tagger

Taggers = Mapping[str, "Tagger"]


def check_taggers(taggers: Taggers, columns: tuple[str, ...]) -> None:
    """ValueError for taggers that fill no column beside the word, or that need more than words."""
    for name, tagger in taggers.items():
        if name not in columns[1:]:
            raise ValueError(f"There is a tagger for {name!r}, which is not a column beside the word.")
        check_words_only(tagger)


def with_predictions(tokens: Tokens, taggers: Taggers, word: str) -> Tokens:
    """Return the text with the columns of the taggers filled by them, whatever it had there."""
    columns = dict(tokens.columns)
    for name, tagger in taggers.items():
        words = Tokens({tagger.columns[0]: tokens.column(word)}, tokens.lengths)
        found = np.concatenate(tagger.predict(words)).astype(np.str_)
        strings, codes = np.unique(found, return_inverse=True)
        columns[tokens.aliases.get(name, name)] = Column(codes, strings.tolist())
    return replace(tokens, columns=columns)


def taggers_of(bundle: Bundle, kind: type[Any], names: tuple[str, ...]) -> dict[str, Tagger]:
    """Return the taggers inside a model file; ValueError if they are not those that its notes name."""
    if set(bundle.bundled) != set(names):
        raise ValueError("it does not hold the taggers that its notes name")
    return {name: kind.of(inner) for name, inner in bundle.bundled.items()}
