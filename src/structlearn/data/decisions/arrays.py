"""What is decided, as arrays of a file: graphs, weights, bounds, matrices (`files` lists them)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from structlearn.core.contract import Array
    from structlearn.structures.decisions.decision import Decisions

#: So many nodes may be without an edge: each takes memory.
_LONE_NODES = 1 << 20
#: Attributes of structures that have other names in files.
_ATTRIBUTES = {"rows": "n_rows", "columns": "n_columns"}


class _Kind(NamedTuple):
    """A kind of decisions: arrays that it needs, others that it may have, and how it is made of them."""

    needs: tuple[str, ...]
    may_have: tuple[str, ...]
    make: Callable[[Mapping[str, Array], int | None], Any]
    #: the name of its class
    of: str
    what: str


def structure_of(arrays: Mapping[str, Array], n_parts: int | None) -> Decisions | None:
    """Return what the arrays say may be decided, None if they say nothing."""
    kind = _kind(arrays)
    if kind is None:
        return None
    named = [name for name in (*kind.needs, *kind.may_have) if name in arrays]
    structure: Decisions = kind.make(arrays, n_parts)
    _check_parts(structure.n_parts, n_parts, named)
    if "forbidden" not in arrays:
        return structure
    try:
        return structure.without(_whole("forbidden", arrays))
    except ValueError as error:
        raise ValueError(f"The array forbidden leaves no decision, or is wrong: {error}") from None


def _check_parts(found: int, n_parts: int | None, named: list[str]) -> None:
    if n_parts is not None and found != n_parts:
        raise ValueError(f"There are {n_parts} costs per example, but {found} parts by {', '.join(named)}.")


def _kind(arrays: Mapping[str, Array]) -> _Kind | None:
    """Return the kind of decisions whose arrays are there; ValueError for two kinds, or a part of one."""
    found = [one for one in _KINDS if any(name in arrays for name in (*one.needs, *one.may_have))]
    other = "SpanningTree" if "source" in arrays or "target" in arrays else "ShortestPath"
    found = [one for one in found if one.of != other]
    if not found:
        return None
    if len(found) > 1:
        raise ValueError(f"The arrays say twice what is decided: {found[0].what} and {found[1].what}.")
    for name in found[0].needs:
        if name not in arrays:
            raise ValueError(f"There is no array {name}, which {found[0].what} needs.")
    return found[0]


def index_of(at: tuple[int, ...]) -> str:
    """Write a place in an array: [3, 0]."""
    return f"[{', '.join(map(str, at))}]"


def _whole(name: str, arrays: Mapping[str, Array]) -> Array:
    """Return an array as whole numbers; ValueError names one that is not."""
    array = arrays[name]
    with np.errstate(invalid="ignore"):
        whole = array.astype(np.int64)
    wrong = np.argwhere(np.atleast_1d(whole != array))
    if wrong.size:
        at = tuple(wrong[0].tolist())
        found = np.atleast_1d(array)[at]
        raise ValueError(f"{name} must hold whole numbers; got {found} at {index_of(at)}.")
    return whole


def _number(name: str, arrays: Mapping[str, Array]) -> int:
    """Return an array of one whole number as that number."""
    if arrays[name].size != 1:
        raise ValueError(f"{name} must be one whole number; got {arrays[name].size} numbers.")
    return int(_whole(name, {name: arrays[name].ravel()})[0])


def _edges(arrays: Mapping[str, Array], *others: int) -> Array:
    """Return pairs of nodes; ValueError if their numbers are so high that most nodes have no edge."""
    edges = _whole("edges", arrays)
    if edges.ndim != 2 or edges.shape[1] != 2 or not len(edges):
        raise ValueError(f"edges must have the shape (parts, 2); got {edges.shape}.")
    highest = max(int(edges.max()), *others)
    if highest > _LONE_NODES + 2 * len(edges):
        raise ValueError(f"The graph has a node {highest} but {len(edges)} edges: number its nodes from 0.")
    return edges


def _make_path(arrays: Mapping[str, Array], n_parts: int | None) -> Any:
    from structlearn.structures import ShortestPath

    source, target = _number("source", arrays), _number("target", arrays)
    return ShortestPath(_edges(arrays, source, target), source, target)


def _make_tree(arrays: Mapping[str, Array], n_parts: int | None) -> Any:
    from structlearn.structures import SpanningTree

    return SpanningTree(_edges(arrays, 0))


def _make_knapsack(arrays: Mapping[str, Array], n_parts: int | None) -> Any:
    from structlearn.structures import Knapsack

    return Knapsack(_whole("weights", arrays), _whole("capacity", arrays))


def _make_top(arrays: Mapping[str, Array], n_parts: int | None) -> Any:
    from structlearn.structures import TopK

    return TopK(_needed(n_parts), _number("k", arrays))


def _make_subset(arrays: Mapping[str, Array], n_parts: int | None) -> Any:
    from structlearn.structures import Subset

    return Subset(_needed(n_parts), _number("least", arrays), _number("most", arrays))


def _needed(n_parts: int | None) -> int:
    if n_parts is None:
        raise ValueError("There is no array costs, which says how many parts there are to choose from.")
    return n_parts


def _make_assignment(arrays: Mapping[str, Array], n_parts: int | None) -> Any:
    from structlearn.structures import Assignment

    rows, columns = _number("rows", arrays), _number("columns", arrays)
    _check_parts(rows * columns, n_parts, ["rows", "columns"])
    return Assignment(rows, columns)


def _make_tour(arrays: Mapping[str, Array], n_parts: int | None) -> Any:
    from structlearn.structures import Tour

    n = _number("n_nodes", arrays)
    _check_parts(n * (n - 1) // 2, n_parts, ["n_nodes"])
    return Tour(n)


def _make_program(arrays: Mapping[str, Array], n_parts: int | None) -> Any:
    from structlearn.structures import Program

    given: dict[str, Any] = {name: arrays[name] for name in ("A", "b", "A_eq", "b_eq") if name in arrays}
    wide = {given[name].shape[-1] for name in ("A", "A_eq") if name in given and given[name].ndim == 2}
    n = n_parts if n_parts is not None else _needed(next(iter(wide), None))
    for name in ("A", "A_eq"):
        if name in given and given[name].shape[1:] != (n,):
            raise ValueError(f"{name} must have one column per part ({n}); got {given[name].shape}.")
    sides = [
        _side(name, arrays.get(name, np.array(usual)), n) for name, usual in (("lower", 0.0), ("upper", 1.0))
    ]
    if "integrality" in arrays:
        given["integrality"] = _side("integrality", _whole("integrality", arrays), n)
    return Program(**given, bounds=np.stack(sides, axis=1))


def _side(name: str, values: Array, n_parts: int) -> Array:
    """Return one number per part, of one number or as many."""
    if values.size not in (1, n_parts) or np.isnan(values).any():
        raise ValueError(f"{name} must hold one number, or one per part ({n_parts}); got {values.size}.")
    return np.broadcast_to(values.ravel(), (n_parts,))


_PROGRAM = ("A", "b", "A_eq", "b_eq", "lower", "upper", "integrality")
_KINDS = (
    _Kind(("edges", "source", "target"), (), _make_path, "ShortestPath", "a path (edges, source, target)"),
    _Kind(("edges",), (), _make_tree, "SpanningTree", "a spanning tree (edges)"),
    _Kind(("weights", "capacity"), (), _make_knapsack, "Knapsack", "a knapsack (weights, capacity)"),
    _Kind(("k",), (), _make_top, "TopK", "a choice (k)"),
    _Kind(("least", "most"), (), _make_subset, "Subset", "a choice (least, most)"),
    _Kind(("rows", "columns"), (), _make_assignment, "Assignment", "an assignment (rows, columns)"),
    _Kind(("n_nodes",), (), _make_tour, "Tour", "a tour (n_nodes)"),
    _Kind((), _PROGRAM, _make_program, "Program", f"a program ({', '.join(_PROGRAM)})"),
)
STRUCTURE_ARRAYS = tuple(dict.fromkeys(name for one in _KINDS for name in (*one.needs, *one.may_have)))
#: What a file may say is decided, in words.
DECIDED = "; ".join(one.what for one in _KINDS)


def structure_arrays(structure: Any) -> dict[str, Array]:
    """Return the arrays that say what is decided; TypeError for a structure that files cannot hold."""
    kind = next((one for one in _KINDS if one.of == type(structure).__name__), None)
    if kind is None or len(structure.instances) != 1:
        raise TypeError(
            f"A file cannot hold this {type(structure).__name__}; give one structure of {DECIDED}."
        )
    arguments = structure.arguments()
    forbidden = {"forbidden": arguments["forbidden"]} if "forbidden" in arguments else {}
    if kind.of == "Program":
        return {**_program_arrays(structure), **forbidden}
    values = {name: getattr(structure, _ATTRIBUTES.get(name, name)) for name in kind.needs}
    return {**{name: np.asarray(value, dtype=np.int64) for name, value in values.items()}, **forbidden}


def _program_arrays(program: Any) -> dict[str, Array]:
    """Return the matrices of a program, dense."""
    one = program.instances[0]
    equal, matrix = one.row_lower == one.row_upper, one.matrix.toarray()
    sides = {"lower": one.lower, "upper": one.upper, "integrality": one.whole.astype(np.int64)}
    rows = {"A": matrix[~equal], "b": one.row_upper[~equal]} if not equal.all() else {}
    equalities = {"A_eq": matrix[equal], "b_eq": one.row_upper[equal]} if equal.any() else {}
    return {**rows, **equalities, **sides}
