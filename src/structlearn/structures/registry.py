"""The structures that model files can hold: each class registers what it is and how it is stored.

A new structure is its own file, with `@stored` on its class, and a line in `structures/__init__.py`, which
imports it, or in `ON_FIRST_USE`. A user's own class may be registered, too; its module must then be imported
before a model of it is loaded.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sized
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from structlearn.core.forms import count as count
from structlearn.core.forms import form
from structlearn.core.registry import Registry
from structlearn.structures.base import Structure

Kind = TypeVar("Kind", bound="type[Structure]")


@dataclass(frozen=True)
class StructureEntry:
    """A structure by its name.

    Attributes
    ----------
    kind : its class
    what : what its outputs are, in words
    arguments : the forms of its constructor's arguments in a file (see `structlearn.storage.schema`)
    """

    kind: type[Structure]
    what: str
    arguments: Mapping[str, object]

    @property
    def name(self) -> str:
        """The name of its class."""
        return self.kind.__name__


#: Modules that few programs need: of each structure the one that is imported when its name is first used.
ON_FIRST_USE = {
    "Assignment": "structlearn.structures.decisions.assignment",
    "FactorGraph": "structlearn.structures.factors.factor_graph",
    "Knapsack": "structlearn.structures.decisions.knapsack",
    "Program": "structlearn.structures.decisions.program",
    "ShortestPath": "structlearn.structures.decisions.paths",
    "SpanningTree": "structlearn.structures.decisions.spanning_trees",
    "Subset": "structlearn.structures.decisions.subsets",
    "TopK": "structlearn.structures.decisions.subsets",
    "Tour": "structlearn.structures.decisions.tours",
}

STRUCTURES: Registry[StructureEntry] = Registry("structure", homes=ON_FIRST_USE)


def stored(what: str, arguments: Mapping[str, object]) -> Callable[[Kind], Kind]:
    """Register a class of structures, which files may hold from then on."""

    def register(kind: Kind) -> Kind:
        STRUCTURES.register(StructureEntry(kind, what, arguments))
        return kind

    return register


def structure_entry(structure: object) -> StructureEntry | None:
    """Return the entry of a structure, known by its class: a user's own of the same name has none."""
    entry = STRUCTURES.get(type(structure).__name__)
    return entry if entry is not None and entry.kind is type(structure) else None


# ---- forms of arguments ----------------------------------------------------------------------------


@form("an array of pairs of integers")
def pairs(value: object) -> bool:
    if not isinstance(value, np.ndarray) or not value.size:
        return isinstance(value, np.ndarray)
    return value.dtype.kind in "iu" and value.shape[1:] == (2,)


def check_graph(n_nodes: int, edges: Sized) -> None:
    """Raise a ValueError for a graph of which hardly any node has an edge: each takes memory."""
    if n_nodes > (1 << 20) + 2 * len(edges):
        raise ValueError(f"its graph has {n_nodes} nodes but {len(edges)} edges")
