"""Decision problems in one .npz file of NumPy: features, costs, and what may be decided.

    features      (n, d) or (n, parts, d)    one row per example, or one row per part
    costs         (n, parts)                 what each part costs, or is worth; not needed to predict
    known_costs   (n, parts)                 the part of the costs that is known beforehand
    sense         "min" or "max"             whether costs are to be small or large; "min" if it is missing
    forbidden     (k,)                       numbers of parts that no decision may take

and arrays that say what is decided, one kind of them:

    edges, source, target                    a path through a directed graph; edges (parts, 2)
    edges                                    a spanning tree of an undirected graph
    weights, capacity                        items of a knapsack; weights (parts,) or (dimensions, parts)
    k                                        exactly k of the parts
    least, most                              as many of the parts as lie between the two
    rows, columns                            an assignment of rows to columns; parts are row by row
    n_nodes                                  a tour of all nodes; parts in the order of numpy.triu_indices
    A, b, A_eq, b_eq, lower, upper,          a program: A z <= b, A_eq z = b_eq, lower <= z <= upper (0 and 1
    integrality                              if missing), z_j whole where integrality is 1

Numbers are finite, but for lower and upper. Nothing is pickled.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from structlearn.core.wording import count_of
from structlearn.data.archives import read_arrays, unusable_at
from structlearn.data.decisions.arrays import STRUCTURE_ARRAYS, index_of, structure_arrays, structure_of
from structlearn.data.graphs import write_arrays
from structlearn.data.scalars import LARGEST_FEATURE
from structlearn.storage.errors import DataError, StrPath

if TYPE_CHECKING:
    from collections.abc import Iterator

    from structlearn.core.contract import Array
    from structlearn.structures.decisions.decision import Decisions

_OF_EXAMPLES = ("features", "costs", "known_costs")


class DecisionFile(NamedTuple):
    """What a file of decision problems holds.

    X : features, of shape (n, d) or (n, parts, d)
    costs : of shape (n, parts), or None
    known_costs : of shape (n, parts), or None
    structure : what may be decided, of `structlearn.structures`; None if the file does not say it
    sense : "min", "max", or None if the file does not say it
    arrays : as they are in the file
    """

    X: Array
    costs: Array | None
    known_costs: Array | None
    structure: Decisions | None
    sense: str | None
    arrays: Mapping[str, Array]


def read_decisions(path: StrPath, *, n_parts: int | None = None) -> DecisionFile:
    """Read the decision problems of an .npz file; DataError if its arrays do not fit together.

    Parameters
    ----------
    path : str or path
    n_parts : int, optional
        How many parts decisions have, where the file has neither costs nor a row of features per part.
    """
    names = (*_OF_EXAMPLES, "sense", "forbidden", *STRUCTURE_ARRAYS)
    arrays = read_arrays(path, names, texts=("sense",))
    if "features" not in arrays:
        raise DataError(f"{os.fspath(path)} has no array features.")
    with _naming(path):
        features = _check_features(arrays["features"])
        costs, known = (_check_costs(name, arrays, features) for name in ("costs", "known_costs"))
        parts = _parts(features, costs, known, n_parts)
        structure = structure_of(arrays, parts)
        return DecisionFile(features, costs, known, structure, _sense(arrays), arrays)


@contextmanager
def _naming(path: StrPath) -> Iterator[None]:
    """Raise DataError, which names the file, for a ValueError."""
    try:
        yield
    except DataError:
        raise
    except (ValueError, TypeError) as error:
        raise DataError(f"{os.fspath(path)}: {error}") from None


# ---- examples --------------------------------------------------------------------------------------


def _check_features(features: Array) -> Array:
    if features.ndim not in (2, 3) or not features.size:
        raise ValueError(
            f"features must have the shape (examples, d) or (examples, parts, d); got {features.shape}."
        )
    at = unusable_at(features)
    if at is not None:
        raise ValueError(
            f"features has {features[at]:g} at {index_of(at)}; features are numbers of at most "
            f"{LARGEST_FEATURE:g}."
        )
    return features if features.dtype in (np.float32, np.float64) else features.astype(np.float64)


def _check_costs(name: str, arrays: Mapping[str, Array], features: Array) -> Array | None:
    """Return costs of examples, if there are any; ValueError if they do not fit the features."""
    if name not in arrays:
        return None
    costs = arrays[name]
    if costs.ndim != 2 or not costs.size:
        raise ValueError(f"{name} must have the shape (examples, parts); got {costs.shape}.")
    if len(costs) != len(features):
        raise ValueError(
            f"{name} has {count_of(len(costs), 'row')} but features has {len(features)}: each example needs "
            "one of each."
        )
    if features.ndim == 3 and costs.shape[1] != features.shape[1]:
        raise ValueError(
            f"{name} has {costs.shape[1]} columns, but features has rows of {features.shape[1]} parts."
        )
    at = unusable_at(costs)
    if at is not None:
        raise ValueError(
            f"{name} has {costs[at]:g} at {index_of(at)}; leave the example out, or forbid the part by the "
            "array forbidden."
        )
    return costs.astype(np.float64, copy=False)


def _parts(features: Array, costs: Array | None, known: Array | None, given: int | None) -> int | None:
    """Return how many parts decisions have, as far as examples say it."""
    for one in (costs, known):
        if one is not None:
            if known is not None and known.shape != one.shape:
                raise ValueError(f"costs has {one.shape[1]} columns, but known_costs has {known.shape[1]}.")
            return int(one.shape[1])
    return int(features.shape[1]) if features.ndim == 3 else given


def _sense(arrays: Mapping[str, Array]) -> str | None:
    if "sense" not in arrays:
        return None
    given = arrays["sense"].ravel().tolist()
    if given not in (["min"], ["max"]):
        raise ValueError(f'sense must be the text "min" or "max"; got {str(given[:1] or "nothing")[:40]}.')
    return str(given[0])


# ---- writing ---------------------------------------------------------------------------------------


def write_decisions(
    path: StrPath,
    X: ArrayLike,
    costs: ArrayLike | None = None,
    structure: object = None,
    *,
    known_costs: ArrayLike | None = None,
    sense: str | None = None,
) -> None:
    """Write decision problems as `read_decisions`, and `structlearn train decide`, read them.

    Parameters
    ----------
    path : str or path
    X : array-like of shape (n, d) or (n, parts, d)
    costs, known_costs : array-like of shape (n, parts), optional
    structure : one of `structlearn.structures` that decide, optional
    sense : "min" or "max", optional
    """
    found = {"features": np.asarray(X), "costs": costs, "known_costs": known_costs, "sense": sense}
    there = {name: np.asarray(value) for name, value in found.items() if value is not None}
    write_arrays(path, {**there, **({} if structure is None else structure_arrays(structure))})
