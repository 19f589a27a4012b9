"""The aligner as a file: statistics, vectors and weights as named arrays, the rest as JSON."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from structlearn.apps.alignment.features import feature_names
from structlearn.apps.alignment.statistics import AlignmentStatistics
from structlearn.apps.alignment.vectors import Vectors, WordVectors
from structlearn.contract import Array
from structlearn.estimators.persistence import history_array, history_of, read_model, write_model
from structlearn.solvers import Certificate
from structlearn.structures import Matching

if TYPE_CHECKING:
    from structlearn.apps.alignment.aligner import Aligner

_SIDES = ("source", "target")
_FITTED = ("slope_", "aer_", "feature_names_")


def write_aligner(aligner: Aligner, path: str | Path) -> None:
    """Write a fitted aligner."""
    parameters = aligner.get_params(deep=False)
    seed = parameters["random_state"]
    parameters["random_state"] = seed if isinstance(seed, int) else None
    header = {
        "estimator": "Aligner",
        "parameters": parameters,
        "structure": {"name": "Matching", "arguments": {"capacities": aligner.structure_.capacities}},
        "fitted": {name: getattr(aligner, name) for name in _FITTED},
        "certificate": aligner.certificate_.as_dict() if aligner.certificate_ else {},
        "notes": {"task": "align"},
    }
    tensors = {f"statistics.{name}": value for name, value in aligner.statistics_.to_arrays().items()}
    tensors |= {f"vectors.{name}": value for name, value in _vector_arrays(aligner.vectors_).items()}
    tensors |= {"weights": aligner.weights_, "history": history_array(aligner.history_)}
    write_model(path, header, {name: np.ascontiguousarray(value) for name, value in tensors.items()})


def read_aligner(kind: type[Aligner], path: str | Path) -> Aligner:
    """Read an aligner; ValueError if the file holds none."""
    header, tensors = read_model(path)
    if header["estimator"] != "Aligner":
        raise ValueError(f"{path} holds a {header['estimator']}, not an Aligner; use structlearn.load.")
    try:
        aligner = kind(**header["parameters"])
        aligner.statistics_ = AlignmentStatistics.from_arrays(_room(tensors, "statistics."))
        aligner.vectors_ = _read_vectors(_room(tensors, "vectors."))
        aligner.mapped_ = None
        aligner._take_rule()
        aligner.structure_ = Matching(capacities=tuple(header["structure"]["arguments"]["capacities"]))
        for name in _FITTED:
            setattr(aligner, name, header["fitted"][name])
    except (KeyError, TypeError) as error:
        raise ValueError(f"{path} is damaged: it lacks {error}.") from None
    if aligner.feature_names_ != feature_names(vectors=aligner.vectors_ is not None):
        raise ValueError(f"{path} has other features than this version of structlearn; train it again.")
    aligner.weights_ = tensors["weights"]
    aligner.history_ = history_of(tensors["history"])
    if header["certificate"]:
        aligner.certificate_ = Certificate(**header["certificate"])
    return aligner


def _room(tensors: dict[str, Array], prefix: str) -> dict[str, Array]:
    """The arrays whose names begin with `prefix`, by the rest of their names."""
    return {name.removeprefix(prefix): value for name, value in tensors.items() if name.startswith(prefix)}


def _vector_arrays(vectors: Vectors | None) -> dict[str, Any]:
    if vectors is None:
        return {}
    arrays = {}
    for name, side in zip(_SIDES, vectors):
        text = "".join(f"{word}\n" for word in side.words).encode()
        arrays[f"{name}.words"] = np.frombuffer(text, dtype=np.uint8)
        arrays[f"{name}.matrix"] = side.matrix
    return arrays


def _read_vectors(arrays: dict[str, Array]) -> Vectors | None:
    if not arrays:
        return None
    source, target = (
        WordVectors(bytes(arrays[f"{side}.words"]).decode().split("\n")[:-1], arrays[f"{side}.matrix"])
        for side in _SIDES
    )
    return source, target
