"""A tagger of NumPy alone: reads a model file, and tags; nothing else of structlearn is needed.

    from structlearn.runtime import load
    load("model.safetensors").predict([["The", "dog"]])

This file may be copied into a program that cannot install Numba, SciPy or scikit-learn. It reads taggers with
templates that look at single words, or with patterns of CRF++ and Wapiti without regular expressions, and
chains of named features; it answers with the labels that the whole library answers with, and refuses others.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from hashlib import blake2b
from itertools import groupby, pairwise
from typing import Any

import numpy as np

Rows = list[list[tuple[int, float]]]  # per token, the columns and the weights of its features
_TYPES = {"F64": "<f8", "F32": "<f4", "U64": "<u8", "U32": "<u4", "U16": "<u2", "U8": "u1"}
_TYPES |= {"I64": "<i8", "I32": "<i4", "I16": "<i2", "I8": "i1", "BOOL": "?"}
_VERSION, _LONGEST_HEADER, _OUTSIDE, _ALL = 11, 1 << 28, 0x9E3779B97F4A7C15, (1 << 64) - 1
_ATOM = re.compile(r"(\w+?)(?:\.([a-z]+)(\d*))?(?:\[(-?\d+)\])?")
_CELL = re.compile(r"%([xX])\[(@?)([-+]?\d+),(\d+)\]")
_ELSE = "; use structlearn.load."


def load(path: str) -> RuntimeTagger:
    """Read a model file; ValueError for one that this tagger does not know."""
    with open(path, "rb") as file:
        size = int.from_bytes(file.read(8), "little")
        try:
            entries = json.loads(file.read(min(size, _LONGEST_HEADER)))
            header = json.loads(entries.pop("__metadata__")["structlearn"])
        except (ValueError, KeyError, TypeError, AttributeError):
            raise ValueError(f"{path} is no model file of structlearn.") from None
        data = file.read()
    if header.get("format") != "structlearn-model" or header["version"] > _VERSION:
        raise ValueError(f"{path} is no model file of structlearn, or one of a later version.")
    return RuntimeTagger(header, _arrays(header, entries, data))


def _arrays(header: Any, entries: Any, data: bytes) -> dict[str, np.ndarray]:
    """Return the arrays of a file; of those that are mostly zero it has positions and values."""
    found = {}
    for name, entry in entries.items():
        begin, end = entry["data_offsets"]
        found[name] = np.frombuffer(data[begin:end], _TYPES[entry["dtype"]]).reshape(entry["shape"])
    for name, shape in header.get("sparse", {}).items():
        value, gaps = found[f"{name}:value"], found.get(f"{name}:gaps")  # 255 stands for 255 places more
        index = found[f"{name}:index"] if gaps is None else (np.cumsum(gaps, dtype=np.int64) - 1)[gaps != 255]
        found[name] = np.zeros(shape, value.dtype)
        found[name].reshape(-1)[index] = value
    return found


class RuntimeTagger:
    """The best labels of sentences, by scores of labels and of steps from label to label."""

    def __init__(self, header: Any, arrays: dict[str, np.ndarray]) -> None:
        notes = header["notes"]
        _refuse(header, notes)
        fitted = {name: _value(one) for name, one in header["fitted"].items()}
        fitted |= {name[7:]: one for name, one in arrays.items() if name.startswith("fitted:")}
        self.classes_ = fitted["classes_"]
        self._read_weights(header, fitted, arrays["weights"].astype(np.float64))
        self._rows: Callable[[Any], Rows]
        if "features" in header:
            own = {name[9:]: one for name, one in arrays.items() if name.startswith("features:")}
            self._rows = _Named(own, header["features"]["hash_bits"]).rows
        else:
            kind = _Patterns if "%" in notes["templates"] else _Templates
            self._rows = kind(notes, arrays["array:features"]).rows

    def _read_weights(self, header: Any, fitted: Any, w: np.ndarray) -> None:
        """Cut w = [W, a constant, pairs of labels by feature, transitions, start, end]."""
        k, n, chain = len(self.classes_), int(fitted["n_features_in_"]), header["structure"]["arguments"]
        columns = _value(header["parameters"].get("transition_features"))
        self._paired = np.array([] if columns is None else columns, dtype=np.int64)
        if "steps" in chain:  # only these have weights
            steps, table = _value(chain["steps"]), np.full((k, k), 0.0 if chain["free"] else -np.inf)
            w, table[steps[:, 0], steps[:, 1]] = np.split(w, [w.size - len(steps)])
            w = np.append(w, table)
        ends = [name for name in ("start", "end") if chain.get(name)]
        rows, rest = np.split(w, [w.size - (self._paired.size + 1) * k * k - len(ends) * k])
        self._W = np.zeros((n + 1, k))
        if "pair_starts_" in fitted:
            labels = fitted["pair_labels_"].astype(np.int64)
            self._W[np.repeat(np.arange(n), np.diff(fitted["pair_starts_"])), labels] = rows[: labels.size]
            self._W[n, : rows.size - labels.size] = rows[labels.size :]
        else:
            self._W[: rows.size // k] = rows.reshape(-1, k)
        tables, edges = np.split(rest, [rest.size - len(ends) * k])
        *pairs, self._steps = tables.reshape(-1, k, k).copy()
        self._pairs = dict(zip(self._paired.tolist(), pairs))
        known = dict(zip(ends, edges.reshape(-1, k).copy()))
        self._start, self._end = (known.get(name, np.zeros(k)) for name in ("start", "end"))
        forbidden = _value(chain.get("forbidden"))
        for before, after in () if forbidden is None else forbidden:  # -1 is the start or the end
            table = self._start if before < 0 else self._end if after < 0 else self._steps
            table[after if before < 0 else before if after < 0 else (before, after)] = -np.inf

    def predict(self, sentences: Any) -> list[np.ndarray]:
        """Return the best labels of each sentence, a list of words, of tuples of columns, or of features."""
        return [self.classes_[self._path(self._rows(one))] for one in sentences]

    def _path(self, rows: Rows) -> np.ndarray:
        """Viterbi's algorithm: the best value of each prefix by its last label, then back from the end."""
        if not rows:
            return np.empty(0, dtype=np.int64)
        unary = [sum((self._W[j] * v for j, v in row), self._W[-1]) for row in rows]
        best, back = unary[0] + self._start, []
        for row, scores in zip(rows[1:], unary[1:]):
            steps = sum((self._pairs[j] * v for j, v in row if j in self._pairs), self._steps)
            values = best[:, None] + steps
            back.append(values.argmax(axis=0))
            best = values.max(axis=0) + scores
        path = [int((best + self._end).argmax())]
        for table in reversed(back):
            path.append(int(table[path[-1]]))
        return np.array(path[::-1])


def _refuse(header: Any, notes: Any) -> None:
    """Raise a ValueError for models that need more than this file has."""
    if header["estimator"] != "ChainClassifier":
        raise ValueError(f"structlearn's runtime reads chains, not a {header['estimator']}{_ELSE}")
    arrays = notes.get("arrays") or header.get("features", {}).get("n_arrays")
    others = notes.get("derived") or notes.get("bundled") or header["parameters"].get("candidates")
    if "row_map" in header or others or arrays:
        what = "lexicons, context, usual labels, tag dictionaries, arrays or models inside"
        raise ValueError(f"structlearn's runtime has no {what}{_ELSE}")
    if "features" not in header and "templates" not in notes:
        raise ValueError(f"structlearn's runtime reads models of words or of named features{_ELSE}")


def _value(stored: Any) -> Any:
    """Return a value of the header, which may be an array."""
    if isinstance(stored, dict) and "array" in stored:
        return np.array(stored["array"], dtype=stored["dtype"]).reshape(stored["shape"])
    return stored


def _hash(text: str) -> int:
    digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "little")


def _finder(keys: np.ndarray, bits: int | None) -> Callable[[int], int]:
    """Return the function from keys to columns, -1 for unknown ones; by some bits of keys if these say so."""
    place = {key: j for j, key in enumerate(keys.tolist())}
    return (lambda key: place.get(key, -1)) if bits is None else (lambda key: key >> (64 - bits))


class _Named:
    """Features by name: dicts or lists of strings, by the conventions of python-crfsuite."""

    def __init__(self, arrays: dict[str, np.ndarray], bits: int | None) -> None:
        by_key = _finder(arrays.get("keys", np.empty(0, np.uint64)), bits)
        self._column: Callable[[str], int] = lambda name: by_key(_hash(name))
        if "names" in arrays:
            edges, text = [0, *arrays["ends"].tolist()], arrays["names"].tobytes()
            names = (text[a:b].decode("utf-8", "surrogatepass") for a, b in pairwise(edges))
            place = {name: j for j, name in enumerate(names)}
            self._column = lambda name: place.get(name, -1)

    def rows(self, sentence: Any) -> Rows:
        """Return the columns and weights of each token; weights have the precision of training."""
        named = (self._pairs(token, "") for token in sentence)
        found = ([(self._column(name), float(np.float32(value))) for name, value in one] for one in named)
        return [[pair for pair in row if pair[0] >= 0] for row in found]

    def _pairs(self, value: Any, name: str) -> Iterator[tuple[str, float]]:
        """Yield the names and weights that a token, or a value in it, stands for."""
        if isinstance(value, dict):
            for key, inner in value.items():
                yield from self._pairs(inner, f"{name}:{key}" if name else key)
        elif isinstance(value, list | tuple | set | frozenset):
            yield from ((f"{name}:{one}" if name else one, 1.0) for one in value)
        elif isinstance(value, np.ndarray):
            yield from ((f"{name}:{j}", float(one)) for j, one in enumerate(value))
        else:
            yield (f"{name}:{value}", 1.0) if isinstance(value, str) else (name, float(value))


class _Words:
    """Features of sentences whose tokens are words, or tuples of columns."""

    _looked: list[str]
    _read: Any
    _keys: Any

    def __init__(self, notes: Any, keys: np.ndarray) -> None:
        self._find = _finder(keys, notes["hash_bits"])
        self._read(notes["templates"])
        names, aliases = notes["names"], notes["aliases"]

        def place(column: str) -> int:
            own = aliases.get(column, column).lower()
            return int(names.index(own) if own in names else range(len(names))[int(own)])

        given = notes.get("parameters", {}).get("columns")
        self._columns: list[str] = given or sorted(set(self._looked), key=place)

    def rows(self, sentence: Any) -> Rows:
        """Return the columns of each token's features."""
        tokens = [(one,) if isinstance(one, str) else tuple(map(str, one)) for one in sentence]
        if any(len(one) != len(self._columns) for one in tokens):
            raise ValueError(f"A token has the columns {', '.join(self._columns)}.")
        keys = ([self._find(key) for key in self._keys(tokens, t) if key] for t in range(len(tokens)))
        return [[(j, 1.0) for j in row if j >= 0] for row in keys]


class _Templates(_Words):
    """Templates of structlearn: a key is mixed from the hash of a template and of what its atoms see."""

    def _read(self, text: str) -> None:
        self._templates, self._seen = [], dict[tuple[str, str, int], int]()
        for one in text.split():
            found = [_ATOM.fullmatch(atom) for atom in one.split("&")]
            atoms = [(m[1], m[2] or "same", int(m[3] or 0), int(m[4] or 0)) for m in found if m]
            if len(atoms) < len(found) or not all(view in _VIEWS for _, view, _, _ in atoms):
                raise ValueError(f"structlearn's runtime has no template {one!r}{_ELSE}")
            self._templates.append((_hash(one) or 1, atoms))
        self._looked = [column for _, atoms in self._templates for column, _, _, _ in atoms]

    def _keys(self, tokens: list[tuple[str, ...]], t: int) -> Iterator[int]:
        for key, atoms in self._templates:
            for column, view, size, offset in atoms:
                value = self._seen_at(tokens, t + offset, self._columns.index(column), view, size)
                key = _mix(key + value) if key and value else 0
            yield key

    def _seen_at(self, tokens: list[tuple[str, ...]], at: int, column: int, view: str, size: int) -> int:
        if not 0 <= at < len(tokens):
            return _OUTSIDE * (-2 * at if at < 0 else 2 * (at - len(tokens)) + 1) & _ALL
        known = tokens[at][column], view, size
        if known not in self._seen:
            text = _VIEWS[view](known[0], size)
            self._seen[known] = 0 if text is None else _hash(text) or 1
        return self._seen[known]


def _mix(x: int) -> int:
    """Mix 64 bits, as splitmix64 does at its end."""
    x &= _ALL
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9 & _ALL
    x = (x ^ (x >> 27)) * 0x94D049BB133111EB & _ALL
    return x ^ (x >> 31)


def _kind(one: str) -> str:
    return "X" if one.isupper() else "x" if one.isalpha() else "d" if one.isdigit() else one


def _shape(text: str, most: int) -> str:
    return "".join("".join(list(run)[:most]) for _, run in groupby(map(_kind, text)))


_VIEWS: dict[str, Callable[[str, int], str | None]] = {
    "same": lambda text, n: text,
    "lower": lambda text, n: text.lower(),
    "norm": lambda text, n: "".join("0" if one.isdigit() else one for one in text.lower()),
    "shape": lambda text, n: _shape(text, 1),
    "pattern": lambda text, n: _shape(text, 4),
    "prefix": lambda text, n: text[:n] if len(text) >= n else None,
    "suffix": lambda text, n: text[-n:] if len(text) >= n else None,
}


class _Patterns(_Words):
    """Patterns of CRF++ and Wapiti: a feature is the string that a pattern makes of the cells."""

    def _read(self, text: str) -> None:
        lines = text.split("\n")
        wapiti = any(re.match(r"[ub*]|.*%(?:X|x\[@)", line) for line in lines)
        self._mark, self._far = ("_x", 4) if wapiti else ("_B", 8)
        # text, then command, @, offset and column of a cell, then text, and so on
        self._lines = [_CELL.split(line) for line in lines if "%" in line or line[0] not in "bB"]
        if any("%" in piece for line in self._lines for piece in line[::5]):
            raise ValueError(f"structlearn's runtime has no regular expressions of Wapiti{_ELSE}")
        self._looked = [column for line in self._lines for column in line[4::5]]

    def _keys(self, tokens: list[tuple[str, ...]], t: int) -> Iterator[int]:
        for line in self._lines:
            cells = [self._cell(tokens, t, *line[k : k + 4]) for k in range(1, len(line), 5)]
            yield _hash("".join(a + b for a, b in zip(line[::5], [*cells, ""]))) or 1

    def _cell(self, tokens: Any, t: int, command: str, fixed: str, offset: str, column: str) -> str:
        at, n = int(offset), len(tokens)
        at = t + at if not fixed else at - 1 if at > 0 else n + at
        place = self._columns.index(column) if column in self._columns else int(column)
        far = -at if at < 0 else at - n + 1
        outside = f"{self._mark}{'-' if at < 0 else '+'}{far if far <= self._far else '#'}"
        text = tokens[at][place] if 0 <= at < n else outside
        lower = text.encode("utf-8", "surrogatepass").lower()
        return text if command == "x" else lower.decode("utf-8", "surrogateescape")
