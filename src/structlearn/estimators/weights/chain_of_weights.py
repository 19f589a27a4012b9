"""A chain that predicts, made of its weights alone."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from structlearn.core.contract import Array
from structlearn.estimators.chain import ChainClassifier
from structlearn.structures import Chain


def chain_of(labels: Sequence[str], n_features: int, weights: Array) -> ChainClassifier:
    """Return the chain of sorted labels fitted to these weights; ValueError if they cannot be its weights."""
    chain = ChainClassifier(loss="softmax")
    if len(labels) < 2 or list(labels) != sorted(set(labels)):
        raise ValueError("the labels of its chain are not distinct and sorted")
    chain.classes_, chain.n_features_in_ = np.array(labels), n_features
    chain.structure_, chain.weights_ = Chain(len(labels)), weights.astype(np.float64)
    if weights.size not in chain.model_.rows.sizes or not np.isfinite(weights).all():
        raise ValueError(f"its {weights.size} numbers are no weights of {n_features} features")
    return chain
