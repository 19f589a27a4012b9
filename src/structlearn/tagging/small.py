"""Small model files: weights near zero are left out, with the features that have no others.

The score of a label at a token is a sum over the features that it has, each 0 or 1. So a token with m
features has its scores changed by at most m times `NEAR_ZERO`, and by the rounding to 32 bits.
"""

from __future__ import annotations

from copy import copy
from typing import Any

import numpy as np

from structlearn.core.contract import Array
from structlearn.estimators import ChainClassifier
from structlearn.estimators.inputs.checking import Stacked
from structlearn.estimators.inputs.token_arrays import array_names
from structlearn.estimators.inputs.token_features import TokenFeatures
from structlearn.tagging.features import TextFeatures
from structlearn.tagging.features.small_weights import as_floats, without_small

#: Weights of features that are 0 or 1 are left out of model files up to this absolute value.
NEAR_ZERO = 5e-4
#: Models of fewer weights are written as they are.
FEW = 100_000

Features = TextFeatures | TokenFeatures


def has_indicators(rows: Stacked) -> bool:
    """Whether all features of words are 0 or 1, so that a small weight changes no score by much."""
    data = getattr(rows.rows, "data", None)
    return isinstance(data, np.ndarray) and bool((data == 1).all())


def shrink_model(chain: Any, features: Features, n_arrays: int) -> tuple[Any, Features]:
    """Return copies of a fitted chain and its features without weights near zero; others as they are.

    The last `n_arrays` columns, those of arrays beside the words, keep all their weights.
    """
    if not can_shrink(chain):
        return chain, features
    table = np.asarray(chain.weights_[: chain.coef_.size]).reshape(chain.n_features_in_, -1)
    kept = _always_kept(features, n_arrays)
    small = without_small(table, NEAR_ZERO, kept)
    used = small.any(axis=1) | kept
    found, own = copy(chain), features
    if features.hash_bits is None:
        used[0] |= not used.any()  # a vocabulary of nothing is none
        small, own = small[used], copy(features)
        own.keep(used[: features.n_features])
        found.n_features_in_ = int(used.sum())
    found.weights_ = np.concatenate([small.ravel(), as_floats(chain.weights_[chain.coef_.size :])])
    if isinstance(own, TokenFeatures):
        found.features_ = own
    return found, own


def can_shrink(chain: Any) -> bool:
    """Whether a model is a large fitted chain with a weight for each feature and label."""
    if not isinstance(chain, ChainClassifier) or not hasattr(chain, "weights_"):
        return False
    if chain.weights_.size < FEW:
        return False
    given = chain.transition_features, chain.row_transformer
    return all(one is None for one in given) and not hasattr(chain, "pair_starts_")


def _always_kept(features: Features, n_arrays: int) -> Array:
    """Return which columns are those of arrays."""
    kept = np.zeros(features.n_features + n_arrays, dtype=np.bool_)
    kept[features.n_features :] = True
    if isinstance(features, TokenFeatures) and features.n_arrays_:
        kept[features.places(array_names(features.n_arrays_))] = True
    return kept
