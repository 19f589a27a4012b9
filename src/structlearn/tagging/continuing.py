"""A tagger that goes on from another one, by the names of features and labels."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from structlearn.core.contract import Array
from structlearn.core.sentences import ParameterError
from structlearn.estimators import ChainClassifier
from structlearn.estimators.inputs.token_features import TokenFeatures
from structlearn.estimators.weights.continued import places_by_column, places_by_name
from structlearn.tagging.features import TextFeatures
from structlearn.tagging.features.keys import KeyTable
from structlearn.tagging.patterns.features import PatternFeatures

if TYPE_CHECKING:
    from structlearn.tagging.tagger import Tagger

Features = TextFeatures | TokenFeatures


def continue_tagger(chain: ChainClassifier, before: Tagger, features: Features, n_arrays: int = 0) -> None:
    """Start the next fit of a chain at a tagger's weights; ValueError if its features are of another kind."""
    chain.set_params(warm_start=True)
    places = _places(before.features_, features)
    behind = places_by_column(before.n_arrays_, n_arrays)
    behind = np.where(behind < 0, -1, before.features_.n_features + behind)
    chain.continue_from(before.chain_, np.concatenate([places, behind]))


def _places(before: Features, now: Features) -> Array:
    if isinstance(before, TokenFeatures) and isinstance(now, TokenFeatures):
        return places_by_name(before, now)
    if isinstance(before, TokenFeatures) or isinstance(now, TokenFeatures):
        raise ValueError("The model before has features of another kind; go on with the kind it has.")
    if not isinstance(now, type(before)) or not isinstance(before, type(now)):
        raise ValueError("The model before has templates of another notation; go on with those.")
    patterns = isinstance(now, PatternFeatures)  # whose features are their names
    if (not patterns and before.templates != now.templates) or before.hash_bits != now.hash_bits:
        raise ParameterError(
            "The model before has other templates; go on with the same templates and {hash_bits}."
        )
    if now.hash_bits is not None:
        return places_by_column(before.n_features, now.n_features)
    return KeyTable(before.keys_).places(now.keys_)
