"""CRFsuite's model files: binary, of little-endian integers of 32 bits and weights of 64.

header     "lCRF", size, "FOMC", version, number of features (0), labels and attributes, five offsets
FEAT       per weight: 0 for an attribute and a label, 1 for a label and the next; from, to, weight
CQDB       the labels (see `cqdb`), then the attributes
LFRF       per label, the numbers of the weights from it
AFRF       per attribute, the numbers of its weights
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

import numpy as np

from structlearn.core.contract import Array
from structlearn.tagging.exchange.cqdb import read_strings, write_strings
from structlearn.tagging.exchange.tables import check_names

MAGIC = b"lCRF"
_KIND, _VERSION = b"FOMC", 100
_HEADER = struct.Struct("<4sI4s9I")
_CHUNK = struct.Struct("<4s2I")
STATE, TRANSITION = 0, 1
_WEIGHT = np.dtype([("kind", "<u4"), ("source", "<u4"), ("target", "<u4"), ("weight", "<f8")])
#: Places for labels of the start and the end, which are not used.
_ENDS = 2
_MOST = 1 << 32


@dataclass(frozen=True)
class CrfsuiteModel:
    """The contents of a file; `features` has the fields kind, source, target and weight."""

    labels: list[str]
    attributes: list[str]
    features: Array


def features_array(kind: int, source: Array, target: Array, weight: Array) -> Array:
    """Return weights of one kind as a file has them."""
    found = np.empty(weight.size, dtype=_WEIGHT)
    found["kind"], found["source"], found["target"], found["weight"] = kind, source, target, weight
    return found


def read_model(data: bytes) -> CrfsuiteModel:
    """Read the contents of a file; ValueError if they are not CRFsuite's, or lead out of it."""
    if len(data) < _HEADER.size or data[:4] != MAGIC:
        raise ValueError("it does not begin as a model of CRFsuite")
    _, size, kind, version, _, n_labels, n_attributes, *offsets = _HEADER.unpack_from(data)
    features, labels, attributes, _, _ = offsets
    if kind != _KIND or version != _VERSION:
        raise ValueError(f"it is of another kind or version of CRFsuite than {_VERSION}")
    if size > len(data):
        raise ValueError(f"it is cut short: {len(data)} of {size} bytes")
    model = CrfsuiteModel(
        read_strings(data, labels, n_labels),
        read_strings(data, attributes, n_attributes),
        _read_features(data, features),
    )
    _check(model)
    return model


def _read_features(data: bytes, begin: int) -> Array:
    if begin + _CHUNK.size > len(data) or data[begin : begin + 4] != b"FEAT":
        raise ValueError("it lacks its weights")
    _, _, n = _CHUNK.unpack_from(data, begin)
    if begin + _CHUNK.size + n * _WEIGHT.itemsize > len(data):
        raise ValueError("its weights are cut short")
    return np.frombuffer(data, dtype=_WEIGHT, count=n, offset=begin + _CHUNK.size)


def _check(model: CrfsuiteModel) -> None:
    check_names("labels", model.labels)
    check_names("attributes", model.attributes)
    kind, n_labels = model.features["kind"], len(model.labels)
    limits = np.where(kind == STATE, len(model.attributes), n_labels)
    if (kind > TRANSITION).any() or (model.features["source"] >= limits).any():
        raise ValueError("one of its weights is of no attribute or label")
    if (model.features["target"] >= n_labels).any():
        raise ValueError("one of its weights is for no label")
    if not np.isfinite(model.features["weight"]).all():
        raise ValueError("one of its weights is not finite")


def write_model(model: CrfsuiteModel) -> bytes:
    """Return the contents as CRFsuite writes them."""
    n, found = len(model.features), model.features
    chunks = [_CHUNK.pack(b"FEAT", _CHUNK.size + n * _WEIGHT.itemsize, n) + found.tobytes()]
    chunks += [write_strings(model.labels), write_strings(model.attributes)]
    starts = [_HEADER.size, *(_HEADER.size + sum(map(len, chunks[: k + 1])) for k in range(2))]
    end = starts[-1] + len(chunks[-1])
    for magic, kind, n_sources, n_more in (
        (b"LFRF", TRANSITION, len(model.labels), _ENDS),
        (b"AFRF", STATE, len(model.attributes), 0),
    ):
        chunks.append(b"\0" * (-end % 4))
        starts.append(end + len(chunks[-1]))
        chunks.append(_references(magic, found, kind, n_sources, n_more, starts[-1]))
        end = starts[-1] + len(chunks[-1])
    if end >= _MOST:
        raise ValueError("Model files of CRFsuite have at most 4 GB.")
    counts = 0, len(model.labels), len(model.attributes)
    return _HEADER.pack(MAGIC, end, _KIND, _VERSION, *counts, *starts) + b"".join(chunks)


def _references(magic: bytes, found: Array, kind: int, n: int, n_more: int, begin: int) -> bytes:
    """Return the numbers of the weights of each source: offsets, then a count and the numbers per source."""
    own = np.flatnonzero(found["kind"] == kind)
    own = own[np.argsort(found["source"][own], kind="stable")]
    counts = np.bincount(found["source"][own], minlength=n)
    before = np.cumsum(counts) - counts
    body = np.insert(own, before, counts).astype("<u4").tobytes()
    first = begin + _CHUNK.size + 4 * (n + n_more)
    offsets = np.concatenate([first + 4 * (before + np.arange(n)), np.zeros(n_more)]).astype("<u4")
    size = first - begin + len(body)
    return _CHUNK.pack(magic, size, n + n_more) + offsets.tobytes() + body
