"""The usual label of a word, of a suffix, of what stands before it: columns learnt from training text.

For a template and a token, among the training tokens with the same value: which label is the most frequent,
what share of them has it, and how many they are. A token of the training text must not see its own label, nor
those of its document, where names come again: there, only other blocks of successive sentences count. So the
model learns how far the usual label is to be trusted in text that it has not seen.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import repeat
from typing import Any, Self

import numpy as np
from scipy import sparse

from structlearn.core.contract import Array
from structlearn.data import Column, Tokens
from structlearn.storage.schema import check_form
from structlearn.tagging.features.derived import Stored, with_columns
from structlearn.tagging.features.features import TextFeatures
from structlearn.tagging.features.keys import KeyTable
from structlearn.tagging.features.templates import Template, Templates, own_templates

#: Successive sentences whose labels are hidden from each other in training.
BLOCK = 30
_NAME = "usual"
#: Shares of the usual label, and counts, are told apart at these.
_SHARES, _COUNTS = (0.6, 0.9), (2, 4)
_KINDS = (len(_SHARES) + 1) * (len(_COUNTS) + 1)
#: Counts of one label that are looked at at once.
_CHUNK = 1 << 22
_NOTES = {"kind": str, "templates": str}


@dataclass(eq=False)
class UsualLabels:
    """Columns usual1, usual2 ...: what label is usual for the value of each template.

    templates : see `structlearn.tagging.features.templates`
    labels : the labels
    tables : of each template, keys of its values and their cells' codes
    """

    templates: tuple[Template, ...]
    labels: list[str] = field(default_factory=list)
    tables: list[tuple[Array, Array]] = field(default_factory=list)

    @classmethod
    def of(cls, templates: Templates) -> Self:
        """Make columns that have learnt nothing yet."""
        return cls(own_templates(templates))

    @property
    def columns(self) -> list[str]:
        """Names of the columns that are added."""
        return [f"{_NAME}{j}" for j in range(1, len(self.templates) + 1)]

    @property
    def needs(self) -> list[str]:
        """Columns that are looked at."""
        return list(dict.fromkeys(atom.column for one in self.templates for atom in one.atoms))

    @property
    def default_templates(self) -> str:
        """Each column, and the first also with its neighbours."""
        first = f"{_NAME}1"
        around = f"{first}[-1..1] {first}[-1]&{first} {first}&{first}[1]"
        return " ".join([around, *self.columns[1:]])

    @property
    def _strings(self) -> list[str]:
        """The cells, by their codes: label, share, count; the last is that of new values."""
        return [*(f"{label} {kind}" for label in self.labels for kind in range(_KINDS)), "new"]

    def fresh(self) -> UsualLabels:
        """Return a copy that has learnt nothing."""
        return UsualLabels(self.templates)

    def learn(self, tokens: Tokens, labels: Sequence[Any]) -> Tokens:
        """Learn from a training text, and add to it columns that do not see the labels of their block."""
        flat = [label for sentence in known_texts(labels) for label in sentence]
        self.labels = sorted({label for label in flat if label is not None})
        place: dict[str | None, int] = {label: k for k, label in enumerate(self.labels)}
        y = np.array([place.get(label, -1) for label in flat], dtype=np.int64)
        block = np.repeat(np.arange(len(tokens)) // BLOCK, tokens.lengths)
        self.tables, cells = [], []
        for keys in TextFeatures(self.templates).keys(tokens):
            table, codes = self._learnt(keys, y, block)
            self.tables.append(table)
            cells.append(codes)
        return self._add_columns(tokens, cells)

    def add(self, tokens: Tokens) -> Tokens:
        """Return a text with the columns."""
        new = len(self.labels) * _KINDS
        cells = []
        for (keys, codes), own in zip(self.tables, TextFeatures(self.templates).keys(tokens)):
            places = KeyTable(keys).places(own)
            if keys.size and keys[0] == 0:  # tokens without a value are alike, as they were in training
                places[own == 0] = 0
            cells.append(np.append(codes, new)[places].astype(np.int32))  # the place -1 is that of new ones
        return self._add_columns(tokens, cells)

    def _add_columns(self, tokens: Tokens, cells: Sequence[Array]) -> Tokens:
        strings = self._strings
        return with_columns(tokens, {name: Column(c, strings) for name, c in zip(self.columns, cells)})

    def _learnt(self, keys: Array, y: Array, block: Array) -> tuple[tuple[Array, Array], Array]:
        """Return keys with their codes, and the codes of the tokens, each from other blocks' labels."""
        found, key = np.unique(keys, return_inverse=True)
        inside = key * (int(block.max(initial=0)) + 1) + block
        _, first, group = np.unique(inside, return_index=True, return_inverse=True)
        K = max(len(self.labels), 1)
        total, own = _counts(key, y, (found.size, K)), _counts(group, y, (first.size, K))
        others = self._codes(total, repeat(None))
        hidden = self._codes(total[key[first]], own)
        return (found, others), hidden[group]

    def _codes(self, counts: sparse.csr_matrix, less: sparse.csr_matrix | Iterator[None]) -> Array:
        """Return codes of cells from counts of labels, one row each."""
        rows = max(_CHUNK // counts.shape[1], 1)
        codes = []
        for a in range(0, counts.shape[0], rows):
            some = counts[a : a + rows].toarray()
            if isinstance(less, sparse.csr_matrix):
                some -= less[a : a + rows].toarray()
            codes.append(_cells(some, len(self.labels) * _KINDS))
        return np.concatenate(codes) if codes else np.empty(0, dtype=np.int32)

    def to_stored(self) -> Stored:
        """Return what a model file holds of it."""
        arrays: dict[str, Array] = {}
        for j, (keys, codes) in enumerate(self.tables):
            arrays |= {f"keys{j}": keys, f"codes{j}": codes}
        notes = {"kind": _NAME, "templates": " ".join(map(str, self.templates))}
        return Stored(notes, {"labels": self.labels}, arrays)

    @classmethod
    def from_stored(cls, stored: Stored) -> UsualLabels:
        """Invert `to_stored`; ValueError for what it cannot have given."""
        check_form(stored.notes, _NOTES, "derived")
        self = cls.of(stored.notes["templates"])
        self.labels = stored.texts["labels"]
        for j in range(len(self.templates)):
            keys, codes = stored.arrays[f"keys{j}"], stored.arrays[f"codes{j}"]
            if (
                keys.dtype != np.uint64
                or codes.dtype != np.int32
                or keys.shape != codes.shape
                or keys.ndim != 1
            ):
                raise ValueError("its usual labels are not readable")
            if codes.size and not 0 <= codes.min() <= codes.max() <= len(self.labels) * _KINDS:
                raise ValueError("its usual labels are out of range")
            self.tables.append((keys, codes))
        return self


def known_text(label: object) -> str | None:
    """Return a label as text; None where it is not known (or only a set of which it is one)."""
    if type(label) is str:
        return label
    return None if label is None or isinstance(label, set | frozenset | list | tuple) else str(label)


def known_texts(labels: Sequence[Any]) -> list[list[str | None]]:
    """Return the labels of sentences as text, None where they are not known."""
    plain = (one.tolist() if isinstance(one, np.ndarray) else list(one) for one in labels)
    return [one if set(map(type, one)) <= {str} else [*map(known_text, one)] for one in plain]


def _counts(rows: Array, y: Array, shape: tuple[int, int]) -> sparse.csr_matrix:
    known = y >= 0
    ones = np.ones(int(known.sum()), dtype=np.int64)
    return sparse.csr_matrix((ones, (rows[known], y[known])), shape=shape)


def _cells(counts: Array, new: int) -> Array:
    """Return the code of each row of counts."""
    total, best = counts.sum(axis=1), counts.argmax(axis=1)
    share = np.searchsorted(_SHARES, counts.max(axis=1) / np.maximum(total, 1), side="right")
    often = np.searchsorted(_COUNTS, total, side="right")
    codes = (best * (len(_SHARES) + 1) + share) * (len(_COUNTS) + 1) + often
    return np.where(total > 0, codes, new).astype(np.int32)
