"""What the columns of a feature matrix are called."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from structlearn.core.contract import Array
from structlearn.estimators.inputs.token_arrays import array_names
from structlearn.estimators.inputs.token_features import TokenFeatures
from structlearn.estimators.inputs.token_reading import TokenForm, names_read

#: From columns (of those features that have weights) to their names.
Names: TypeAlias = Callable[[Array], list[str]]
#: The name of the feature that is always 1.
CONSTANT = "(constant)"


def numbered_names(prefix: str, first: int = 0) -> Names:
    """Return names with numbers: x0, x1 ..."""
    return partial(_number_names, prefix, first)


def _number_names(prefix: str, first: int, places: Array) -> list[str]:
    return [f"{prefix}{first + place}" for place in places.tolist()]


def listed_names(names: Sequence[str]) -> Names:
    """Return the names in a list."""
    return partial(_names_at, names)


def _names_at(names: Sequence[str], places: Array) -> list[str]:
    return [str(names[place]) for place in places.tolist()]


def looked_up(names: Mapping[int, str], others: Names) -> Names:
    """Return names from a mapping; columns that it lacks have their other names."""

    def found(places: Array) -> list[str]:
        missing = [place for place in places.tolist() if place not in names]
        rest = dict(zip(missing, others(np.array(missing)))) if missing else {}
        return [names[place] if place in names else rest[place] for place in places.tolist()]

    return found


def own_names(estimator: Any) -> Names:
    """Return the names an estimator knows: of tokens' features, of a data frame's columns, or x0, x1 ..."""
    if hasattr(estimator, "row_transformer_"):
        return mapped_names(estimator)
    if isinstance(getattr(estimator, "features_", None), TokenFeatures):
        return token_feature_names(estimator.features_)
    return input_names(estimator)


def input_names(estimator: Any) -> Names:
    """Return the names of a frame's columns, those of an application (`_input_names`), or x0, x1 ..."""
    if getattr(estimator, "feature_names_in_", None) is not None:
        return listed_names(estimator.feature_names_in_)
    own: Names | None = getattr(estimator, "_input_names", None)
    return own or numbered_names("x")


def mapped_names(estimator: Any, inputs: Sequence[str] | None = None) -> Names:
    """Return a transformer's names for its outputs; mapped0, mapped1 ... if it has none."""
    from structlearn.estimators.row_maps.stored import stored_transformer

    try:
        transformer = stored_transformer(estimator.row_transformer_)
    except ValueError:  # one that no file can hold
        return numbered_names("mapped")
    if inputs is None:
        inputs = input_names(estimator)(np.arange(transformer.n_features_in_))
    return listed_names(transformer.names([str(one) for one in inputs]))


def token_feature_names(features: TokenFeatures) -> Names:
    """Return the names that are kept, else hashes."""
    if features.hash_bits is not None:
        return numbered_names("hash ")
    if features.names_ is not None:
        return listed_names(features.names_)
    return lambda places: [f"#{key:016x}" for key in features.keys_[places].tolist()]


def token_names_in(features: TokenFeatures, X: Sequence[Sequence[TokenForm]]) -> Names:
    """Return the names that a text has itself, and those that are kept."""
    if features.names_ is not None:
        return token_feature_names(features)
    names = [*names_read(X), *array_names(features.n_arrays_)]
    places = features.places(names).tolist()
    found = {place: name for place, name in zip(places, names) if place >= 0}
    return looked_up(found, token_feature_names(features))
