"""Features of whole segments: a row for each that may be in a sentence, by hashes of their names."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from scipy import sparse

from structlearn.estimators.choices import one_of
from structlearn.estimators.inputs.checking import Stacked, as_list
from structlearn.estimators.inputs.token_arrays import tokens_of
from structlearn.estimators.inputs.token_features import TokenFeatures

#: Names, or names with weights, of the features of a segment of a sentence: from X[i], start and end.
SegmentFeatures: TypeAlias = Callable[[Any, int, int], Mapping[str, object] | Collection[str]]
Named = Mapping[str, object] | Collection[str]
#: `segment_features` of sentences that bring those of their segments, as `SegmentedRows` do.
OF_TEXT = "text"


@dataclass(frozen=True, eq=False)
class SegmentedRows(Stacked):
    """Rows of tokens, and what makes those of whole segments, as `segment_rows` does, from most and bits."""

    segments: Callable[[int, int], sparse.csr_matrix]


def rows_of_segments(
    X: Any, features: Callable[[Any, int, int], Named] | str, most: int, bits: int
) -> sparse.csr_matrix:
    """Return the rows of the segments of sentences, from a function or as the sentences bring them."""
    if callable(features):
        return segment_rows(
            [one for one in map(tokens_of, as_list(X, "X")) if len(one)], features, most, bits
        )
    one_of("segment_features", features, (OF_TEXT,))
    if not isinstance(X, SegmentedRows):
        raise ValueError(
            'segment_features="text" are made of words, by a tagger: give it the sentences; or give a '
            "function of segments."
        )
    return X.segments(most, bits)


def segment_rows(
    sentences: Sequence[Any], features: Callable[[Any, int, int], Named], most: int, bits: int
) -> sparse.csr_matrix:
    """Return the rows of all segments of up to `most` tokens, by first token and length.

    A segment that would end behind its sentence has a row without features.
    """
    rows: sparse.csr_matrix = (
        TokenFeatures(hash_bits=bits).transform(_segments(sentences, features, most), "Segment").rows
    )
    return rows


def _segments(
    sentences: Sequence[Any], features: Callable[[Any, int, int], Named], most: int
) -> Iterator[list[Named]]:
    for sentence in sentences:
        length = sentence.shape[0] if hasattr(sentence, "shape") else len(sentence)
        first = features(sentence, 0, 1)
        nothing: Named = {} if isinstance(first, Mapping) else []
        yield [
            features(sentence, start, start + m) if start + m <= length else nothing
            for start in range(length)
            for m in range(1, most + 1)
        ]
