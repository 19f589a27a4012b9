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
from structlearn.estimators.inputs.tag_dictionary import keys_of_dictionary, renumber_keys
from structlearn.estimators.inputs.token_arrays import array_names
from structlearn.estimators.inputs.token_features import TokenFeatures
from structlearn.estimators.weights.seen_choice import seen_in
from structlearn.scoring import SeenPairs
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
    kept, found = _always_kept(features, n_arrays), copy(chain)
    stay = kept if features.hash_bits is None else np.ones_like(kept)  # hashes have no vocabulary
    stay = stay | keys_of_dictionary(chain, stay.size)
    pairs = seen_in(chain)
    used = _shrink_table(found, kept, stay) if pairs is None else _shrink_pairs(found, pairs, kept, stay)
    if used.all():
        return found, features
    renumber_keys(found, used)
    own = copy(features)
    own.keep(used[: features.n_features])
    if isinstance(own, TokenFeatures):
        found.features_ = own
    return found, own


def _shrink_table(chain: Any, kept: Array, stay: Array) -> Array:
    """Leave weights near zero out of a table of features and labels; return which features stay."""
    table, others = np.split(np.asarray(chain.weights_), [chain.coef_.size])
    small = without_small(table.reshape(chain.n_features_in_, -1), NEAR_ZERO, kept)
    used = _used(small.any(axis=1) | stay)
    chain.n_features_in_ = int(used.sum())
    chain.weights_ = np.concatenate([small[used].ravel(), as_floats(others)])
    return used


def _shrink_pairs(chain: Any, pairs: SeenPairs, kept: Array, stay: Array) -> Array:
    """Leave pairs of a feature and a label out whose weights are near zero; return which features stay."""
    weights, others = np.split(np.asarray(chain.weights_), [pairs.label.size])
    owner = np.repeat(np.arange(pairs.n_features), np.diff(pairs.first))
    large = (np.abs(weights) > NEAR_ZERO) | kept[owner]
    counts = np.bincount(owner[large], minlength=pairs.n_features)
    used = _used((counts > 0) | stay)
    chain.n_features_in_ = int(used.sum())
    chain.pair_starts_ = np.concatenate([[0], np.cumsum(counts[used])])
    chain.pair_labels_ = pairs.label[large & used[owner]]
    chain.weights_ = as_floats(np.concatenate([weights[large & used[owner]], others]))
    return used


def _used(found: Array) -> Array:
    """Return which features stay: at least one, since a vocabulary of nothing is none."""
    found[0] |= not found.any()
    return found


def can_shrink(chain: Any) -> bool:
    """Whether a model is a large fitted chain whose features score labels alone."""
    if not isinstance(chain, ChainClassifier) or not hasattr(chain, "weights_"):
        return False
    if chain.weights_.size < FEW:
        return False
    return chain.transition_features is None and chain.row_transformer is None


def _always_kept(features: Features, n_arrays: int) -> Array:
    """Return which columns are those of arrays."""
    kept = np.zeros(features.n_features + n_arrays, dtype=np.bool_)
    kept[features.n_features :] = True
    if isinstance(features, TokenFeatures) and features.n_arrays_:
        kept[features.places(array_names(features.n_arrays_))] = True
    return kept
