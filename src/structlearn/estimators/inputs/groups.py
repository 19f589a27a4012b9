"""Groups of features for the group norm: as ids, or as lists of feature indices."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from structlearn.core.contract import Array


def group_ids(groups: Sequence[object] | Array, n_features: int) -> Array:
    """Return the group of each feature, 0 .. n_groups - 1, from ids or from lists of feature indices."""
    if all(isinstance(group, Sequence | np.ndarray) and not isinstance(group, str) for group in groups):
        return _ids_of_lists([np.asarray(group) for group in groups], n_features)
    ids = np.asarray(groups)
    if ids.shape != (n_features,):
        raise ValueError(
            f"groups must name the group of each of the {n_features} features; got shape {ids.shape}."
        )
    return np.unique(ids, return_inverse=True)[1]


def _ids_of_lists(lists: list[Array], n_features: int) -> Array:
    ids = np.full(n_features, -1)
    for g, features in enumerate(lists):
        if features.size == 0 or features.dtype.kind not in "iu":
            raise ValueError(
                f"Group {g} must be a list of at least one feature index; got {features.tolist()!r}."
            )
        outside = features[(features < 0) | (features >= n_features)]
        if outside.size:
            raise ValueError(
                f"Group {g} has the feature {outside[0]}, but features run from 0 to {n_features - 1}."
            )
        again = features[ids[features] >= 0]
        if again.size or np.unique(features).size < features.size:
            repeated = again[0] if again.size else features[np.argmax(np.bincount(features)[features])]
            raise ValueError(f"groups must partition the features, but feature {repeated} is listed twice.")
        ids[features] = g
    missing = np.flatnonzero(ids < 0)
    if missing.size:
        raise ValueError(f"groups must partition the features, but feature {missing[0]} is in none of them.")
    return ids
