"""What all maps of rows share, and their registry: by the name of the scikit-learn class that learns one."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, ClassVar, NamedTuple, TypeAlias, TypeVar

import numpy as np
from scipy import sparse

from structlearn.core.contract import Array
from structlearn.core.registry import Registry, resolve_name
from structlearn.estimators.scikit import Rows

#: What a map is made of: arrays, and numbers, switches and names.
Values: TypeAlias = dict[str, Any]
Kind = TypeVar("Kind", bound="type[RowMap]")


class Origin(NamedTuple):
    """What an output of a map is made of: a column (None: several), and what its name adds to that one's."""

    column: int | None
    suffix: str = ""


@dataclass(frozen=True, eq=False)
class RowMap(ABC):
    """A fitted map of rows. Its fields are all that a model file holds of it; their hints are their forms.

    `check` and `n_inputs` are asked first of what was read: only then do the others hold.
    """

    #: whether it takes rows that are not all numbers: with text, or with missing values
    of_tables: ClassVar[bool] = False
    #: whether it takes data frames themselves, rather than arrays of objects
    takes_frames: ClassVar[bool] = False
    #: how many rows should be mapped at a time
    rows_at_once: ClassVar[int] = 1024

    @classmethod
    @abstractmethod
    def of(cls, fitted: Any) -> RowMap:
        """Return the map that a fitted transformer of scikit-learn applies; ValueError if there is none."""

    @abstractmethod
    def check(self) -> None:
        """Raise ValueError if the fields do not fit together."""

    @property
    @abstractmethod
    def n_inputs(self) -> int:
        """How many features a row has."""

    @property
    @abstractmethod
    def n_outputs(self) -> int:
        """How many it is mapped to."""

    @abstractmethod
    def transform(self, X: Rows) -> Rows:
        """Map X of shape (n, n_inputs) to (n, n_outputs), in the arithmetic of scikit-learn's `transform`."""

    def origins(self) -> list[Origin]:
        """Return the origin of each output."""
        return [Origin(None, f"mapped{k}") for k in range(self.n_outputs)]

    def values(self) -> Values:
        """Return the fields by name."""
        return {field.name: getattr(self, field.name) for field in fields(self)}


class FeatureByFeature(RowMap):
    """A map that makes one output of each feature."""

    @property
    def n_outputs(self) -> int:
        return self.n_inputs

    def origins(self) -> list[Origin]:
        return [Origin(j) for j in range(self.n_inputs)]


@dataclass(frozen=True)
class RowMapEntry:
    """A map by the name of the class that learns it.

    Attributes
    ----------
    kind : the class that applies it, here
    learned_by : the class that learns it, or where it is ("package.module:Name")
    what : what it does, in words
    """

    kind: type[RowMap]
    learned_by: str | type
    what: str

    @property
    def name(self) -> str:
        """That of the class which learns it."""
        where = self.learned_by
        return where.rpartition(":")[2] if isinstance(where, str) else where.__name__


ROW_MAPS: Registry[RowMapEntry] = Registry("stored row_transformer")


def register_row_map(learned_by: str | type, what: str) -> Callable[[Kind], Kind]:
    """Register a class of maps, which files may hold from then on."""

    def register(kind: Kind) -> Kind:
        ROW_MAPS.register(RowMapEntry(kind, learned_by, what))
        return kind

    return register


#: The decorator's name in 0.2, for maps that users have written.
kept = register_row_map


def row_map_entry(transformer: object) -> RowMapEntry | None:
    """Return the entry of a transformer's own class; a class of the same name, or a subclass, has none."""
    entry = ROW_MAPS.get(type(transformer).__name__)
    return entry if entry is not None and resolve_name(entry.learned_by) is type(transformer) else None


# ---- what the maps use -----------------------------------------------------------------------------


def product(X: Rows, Y: Array | sparse.csr_matrix) -> Array:
    """Return X Y as a dense array."""
    found = X @ Y
    return found if isinstance(found, np.ndarray) else found.toarray()


def as_numbers(X: Rows) -> Rows:
    """Return rows as floats, NaN where something is missing; ValueError for text."""
    if not isinstance(X, np.ndarray) or X.dtype.kind == "f":
        return X
    try:
        return X.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"A column of numbers holds something else ({error}).") from None


def check_matrix(name: str, value: Any, shape: tuple[int | None, int | None]) -> None:
    """Raise ValueError unless a field is a matrix of numbers of this shape; None is any size but 0."""
    found = np.shape(value) if isinstance(value, np.ndarray) else getattr(value, "shape", ())
    fits = len(found) == 2 and all(want in (None, size) for want, size in zip(shape, found))
    if not fits or 0 in found or value.dtype.kind not in "iuf":
        raise ValueError(f"{name} of its row map must be a matrix of numbers, not of shape {found}")


def check_vector(name: str, value: object, size: int) -> None:
    """Raise ValueError unless a field is a vector of `size` numbers."""
    if not isinstance(value, np.ndarray) or value.shape != (size,) or value.dtype.kind not in "iuf":
        raise ValueError(f"{name} of its row map must be a vector of {size} numbers")


def not_kept(what: str, held: str) -> ValueError:
    """Return the error for a transformer that cannot be saved."""
    return ValueError(
        f"A model file cannot hold the row_transformer {what}; it holds {held}. Transform the rows before "
        "fit, and save a model without row_transformer."
    )
