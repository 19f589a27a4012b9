"""Smaller models: features whose weights are all zero are forgotten, with nothing else changed."""

from __future__ import annotations

import numpy as np

from structlearn.core.contract import Array
from structlearn.estimators import ChainClassifier
from structlearn.estimators.inputs.tag_dictionary import keys_of_dictionary, renumber_keys


def drop_unused(chain: ChainClassifier, n_last: int = 0) -> Array | None:
    """Take features without weights out of a fitted chain, in place; which ones stay, None if all do.

    The last `n_last` stay in any case, which are no vocabulary's.
    Only a sparse penalty leaves such features. A chain that another `fit` may go on from, or whose
    transitions have features, keeps all.
    """
    if getattr(chain, "penalty", "l2") == "l2" or chain.warm_start or chain.transition_features is not None:
        return None
    if chain.row_transformer is not None or hasattr(chain, "features_") or hasattr(chain, "pair_starts_"):
        return None
    size = chain.coef_.size
    table = chain.weights_[:size].reshape(chain.n_features_in_, -1)
    used: Array = np.asarray(table.any(axis=1))
    used[0] |= not used[: used.size - n_last].any()  # a vocabulary of nothing is none
    used[used.size - n_last :] = True
    used |= keys_of_dictionary(chain, used.size)
    if used.all():
        return None
    chain.weights_ = np.concatenate([table[used].ravel(), chain.weights_[size:]])
    chain.n_features_in_ = int(used.sum())
    renumber_keys(chain, used)
    return used
