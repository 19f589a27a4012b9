"""The aligner as a file: statistics, vectors and weights as named arrays, the rest as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_type_hints

import numpy as np

from structlearn.apps.alignment.features import feature_names
from structlearn.apps.alignment.jumps import WIDEST
from structlearn.apps.alignment.lexicon import N_MISSING
from structlearn.apps.alignment.statistics import AlignmentStatistics
from structlearn.apps.alignment.vectors import Vectors, WordVectors
from structlearn.core.contract import Array
from structlearn.estimators.forms import number, read_certificate
from structlearn.estimators.model_file import ModelFile, damaged, history_array, history_of, write_model
from structlearn.estimators.stored import build
from structlearn.storage.schema import check_form, read_json

if TYPE_CHECKING:
    from structlearn.apps.alignment.aligner import Aligner

_SIDES = ("source", "target")
_FITTED = {"slope_": number, "aer_": float | None, "feature_names_": list[str]}


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
    file = ModelFile(path)
    header = file.header
    if header["estimator"] != "Aligner":
        raise ValueError(f"{path} holds a {header['estimator'][:40]}, not an Aligner; use structlearn.load.")
    try:
        aligner = _made(kind, header)
        arrays = {name: file.load(name) for name in file.shapes}
        _check_statistics(arrays)
        aligner.statistics_ = AlignmentStatistics.from_arrays(_room(arrays, "statistics."))
        aligner.vectors_ = _read_vectors(_room(arrays, "vectors."))
        aligner.mapped_ = None
        aligner._take_rule()
        aligner.structure_ = build(header["structure"])
        for name in _FITTED:
            setattr(aligner, name, header["fitted"][name])
        aligner.history_ = history_of(arrays["history"])
        if header["certificate"]:
            aligner.certificate_ = read_certificate(header["certificate"])
    except ValueError as error:
        raise error if str(error).startswith(str(path)) else damaged(path, error) from None
    if aligner.feature_names_ != feature_names(vectors=aligner.vectors_ is not None):
        raise ValueError(f"{path} has other features than this version of structlearn; train it again.")
    aligner.weights_ = arrays["weights"]
    if aligner.weights_.size != len(aligner.feature_names_):
        raise damaged(
            path, f"it has {aligner.weights_.size} weights of {len(aligner.feature_names_)} features"
        )
    return aligner


def _made(kind: type[Aligner], header: Mapping[str, Any]) -> Aligner:
    """The aligner with the parameters of a header, whose forms are checked."""
    hints = get_type_hints(kind)
    forms = {f"{name}?": hints[name] for name in kind._get_param_names()}
    if not {f"{name}?" for name in header["parameters"]} <= forms.keys():
        raise ValueError("parameters are none of an Aligner")
    check_form(header["parameters"], forms, "parameters")
    check_form(header["fitted"], _FITTED, "fitted")
    check_form(
        header["structure"], {"name": Literal["Matching"], "arguments": {"capacities": [int]}}, "structure"
    )
    return kind(**header["parameters"])


def _check_statistics(arrays: dict[str, Array]) -> None:
    """ValueError if a table is missing or too short: compiled code looks up its entries unchecked."""
    shapes = {name.removeprefix("statistics."): value.shape for name, value in arrays.items()}
    for name in ("source.counts", "target.counts", "lexicon.target"):
        if len(shapes.get(name, ())) != 1:
            raise ValueError(f"it lacks the table {name}")
    sides = {side: shapes[f"{side}.counts"][0] for side in _SIDES}
    n_entries = shapes["lexicon.target"][0]
    expected = {
        "lexicon.start": sides["source"] + 2,
        "lexicon.together": n_entries,
        "lexicon.source_pairs": sides["source"] + 1,
        "lexicon.target_pairs": sides["target"] + 1,
        "forward.translation": n_entries + N_MISSING,
        "reverse.translation": n_entries + N_MISSING,
        "forward.null": sides["target"] + 1,
        "reverse.null": sides["source"] + 1,
        "forward.jumps": 2 * WIDEST + 1,
        "reverse.jumps": 2 * WIDEST + 1,
        "forward.p0": 1,
        "reverse.p0": 1,
    }
    for name, size in expected.items():
        if shapes.get(name) != (size,):
            raise ValueError(f"the table {name} must have {size} entries")
        kind = "iu" if name.startswith("lexicon.") else "f"
        if arrays[f"statistics.{name}"].dtype.kind not in kind:
            raise ValueError(f"the table {name} holds the wrong kind of numbers")
    _check_lexicon(arrays["statistics.lexicon.start"], arrays["statistics.lexicon.target"], sides["target"])
    for side in _SIDES:
        _check_words(arrays, side, sides[side])


def _check_lexicon(start: Array, target: Array, n_words: int) -> None:
    rising = start[0] == 0 and start[-1] == target.size and (start[1:] >= start[:-1]).all()
    inside = target.dtype.kind in "iu" and (not target.size or 0 <= target.min() <= target.max() < n_words)
    if not rising or not inside:
        raise ValueError("the entries of its lexicon are out of range")


def _check_words(arrays: dict[str, Array], side: str, n_words: int) -> None:
    text = arrays.get(f"statistics.{side}.words")
    words: Any = None if text is None or text.dtype != np.uint8 else read_json(bytes(text))
    check_form(words, list[str], f"the words of the {side}")
    if len(words) != n_words or arrays[f"statistics.{side}.counts"].dtype.kind not in "iu":
        raise ValueError(f"there are {len(words)} words of the {side}, but counts of {n_words}")


def _room(tensors: dict[str, Array], prefix: str) -> dict[str, Array]:
    """The arrays whose names begin with `prefix`, by the rest of their names."""
    return {name.removeprefix(prefix): value for name, value in tensors.items() if name.startswith(prefix)}


def _vector_arrays(vectors: Vectors | None) -> dict[str, Array]:
    arrays = {}
    for name, side in zip(_SIDES, vectors or ()):
        text = "".join(f"{word}\n" for word in side.words).encode()
        arrays[f"{name}.words"] = np.frombuffer(text, dtype=np.uint8)
        arrays[f"{name}.matrix"] = side.matrix
    return arrays


def _read_vectors(arrays: dict[str, Array]) -> Vectors | None:
    if not arrays:
        return None
    source, target = (_read_side(arrays, side) for side in _SIDES)
    if source.matrix.shape[1] != target.matrix.shape[1]:
        raise ValueError("the vectors of its two sides differ in dimension")
    return source, target


def _read_side(arrays: dict[str, Array], side: str) -> WordVectors:
    text, matrix = arrays.get(f"{side}.words"), arrays.get(f"{side}.matrix")
    if text is None or matrix is None or text.dtype != np.uint8 or matrix.dtype != np.float32:
        raise ValueError(f"it lacks the vectors of the {side}")
    words = bytes(text).decode().split("\n")[:-1]
    if matrix.ndim != 2 or len(words) != len(matrix):
        raise ValueError(f"there are {len(words)} words but vectors of shape {matrix.shape} of the {side}")
    return WordVectors(words, matrix)
