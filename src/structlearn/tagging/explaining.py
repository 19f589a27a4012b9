"""Why a tagger has chosen its labels: names of features come from templates, or are the user's own."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from structlearn.core.contract import Array
from structlearn.estimators import ChainClassifier
from structlearn.estimators.inputs.feature_names import Names, looked_up, own_names
from structlearn.estimators.inputs.token_arrays import array_names
from structlearn.estimators.inputs.token_features import TokenFeatures, pack_names, unpack_names
from structlearn.estimators.scikit import check_is_fitted
from structlearn.estimators.weights.explaining import Explanation, explanations
from structlearn.storage.schema import read_json
from structlearn.tagging.features.names import names_in, template_names
from structlearn.tagging.patterns.features import PatternFeatures

if TYPE_CHECKING:
    from structlearn.estimators.weights.top_weights import TopFeatures
    from structlearn.tagging.featured import Sentences
    from structlearn.tagging.features import TextFeatures
    from structlearn.tagging.tagger import Tagger

#: What a model file calls the strings of the training text, and where each template's features begin.
STRINGS, STARTS = "strings", "starts"


def explain_tokens(tagger: Tagger, X: Sentences) -> Iterator[list[Explanation]]:
    """Explain why the tokens of sentences have their labels."""
    chain = _chain_of(tagger)
    if isinstance(tagger.features_, TokenFeatures):
        return explanations(chain, X)  # type: ignore[arg-type]
    names = looked_up(names_in(tagger.features_, tagger.text(X)), tagger_feature_names(tagger))
    return explanations(chain, tagger.rows(X), names)


def top_features_of(tagger: Tagger, k: int) -> TopFeatures:
    """Return the k largest positive and negative weights of each label and of transitions, with names."""
    from structlearn.estimators.weights.top_weights import top_features

    return top_features(_chain_of(tagger), k, tagger_feature_names(tagger))


def tagger_feature_names(tagger: Tagger) -> Names:
    """Return the function from columns of the features' matrix to names."""
    if isinstance(tagger.features_, TokenFeatures):
        return own_names(tagger.chain_)
    own, n = template_names(tagger.features_), tagger.features_.n_features
    behind = getattr(tagger, "array_names_", None) or array_names(tagger.n_arrays_)

    def names(places: Array) -> list[str]:
        found = iter(own(places[places < n]))
        return [next(found) if place < n else behind[place - n] for place in places.tolist()]

    return names if behind else own


def _chain_of(tagger: Tagger) -> ChainClassifier:
    check_is_fitted(tagger, "chain_")
    chain = tagger.chain_
    if not isinstance(chain, ChainClassifier):
        raise ValueError(
            "Chains say why a token has its label; of segments, `structlearn weights MODEL` and "
            "structlearn.estimators.weights.top_weights show what they look at."
        )
    return chain


# ---- in model files ----------------------------------------------------------------------------------


def stored_strings(features: TextFeatures) -> dict[str, Array]:
    """Return what names of features can be made of again: none where features are numbered by hashing."""
    if isinstance(features, PatternFeatures):
        return {} if features.names_ is None else pack_names(features.names_)
    if not features.strings_:
        return {}
    text = json.dumps({name: list(strings) for name, strings in features.strings_.items()})
    return {
        STRINGS: np.frombuffer(text.encode("ascii"), dtype=np.uint8),
        STARTS: np.asarray(features.starts_, dtype=np.int64),
    }


def take_strings(features: TextFeatures, arrays: Mapping[str, Array]) -> None:
    """Give features back the strings of a model file, which older ones lack; ValueError if none."""
    if isinstance(features, PatternFeatures):
        _take_names(features, arrays)
        return
    text, starts = arrays.get(STRINGS), arrays.get(STARTS)
    if text is None or starts is None:
        return
    if text.dtype != np.uint8 or text.ndim != 1 or starts.dtype != np.int64:
        raise ValueError("the strings of its features are none")
    edges = starts.tolist() if starts.ndim == 1 else []
    if edges != sorted(edges) or len(edges) != len(features.templates) + 1:
        raise ValueError("the strings of its features are of other templates")
    if edges[0] != 0 or edges[-1] != features.n_features:
        raise ValueError("the features of its templates do not begin where they should")
    features.starts_, features.strings_ = starts, _StoredStrings(bytes(text), features.columns)


def _take_names(features: PatternFeatures, arrays: Mapping[str, Array]) -> None:
    """Give features of patterns back their names, if the file has them; they must be those of its keys."""
    if "names" not in arrays:
        return
    keys = features.keys_
    features.with_names(unpack_names(arrays))
    if not np.array_equal(features.keys_, keys):
        raise ValueError("the names of its features are those of other features")


class _StoredStrings(Mapping[str, list[str]]):
    """The strings of a model file, by column; they are read when names are asked for, as most never are."""

    def __init__(self, text: bytes, columns: Sequence[str]) -> None:
        self._text, self._columns = text, columns

    @cached_property
    def _read(self) -> dict[str, list[str]]:
        found = read_json(self._text, dict[str, list[str]], "the strings of its features")
        return {name: found.get(name, []) for name in self._columns}

    def __getitem__(self, column: str) -> list[str]:
        return self._read[column]

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __len__(self) -> int:
        return len(self._columns)
