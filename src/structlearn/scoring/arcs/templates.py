"""Templates of arc features: which columns of which words are read together.

A template is a line of *atoms*, separated by spaces, each `place.column`:

    "h.form m.upos"                  the head's form with the dependent's tag
    "h.upos h+1.upos m-1.upos m.upos"    tags of the two and of neighbours
    "h.upos b.upos m.upos"           once for each distinct tag between the two

Each template makes a feature of its own and one together with the direction and length of the arc. The empty
template makes those of direction and length alone.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from structlearn.core.contract import Array

NO_ATOM, HEAD, MODIFIER, BETWEEN = range(4)
_PLACES = {"h": HEAD, "m": MODIFIER, "b": BETWEEN}
_ATOM = re.compile(r"([hmb])([+-][1-9])?\.(\w+)")
_MASK = (1 << 64) - 1


class Templates(NamedTuple):
    """Compiled form: atoms of each template, those with words between last."""

    #: (n_templates, most atoms): whose word, how far from it, which column
    place: Array
    offset: Array
    column: Array
    #: odd factors of the atoms' codes and a summand for each template, from which hashes are made
    factor: Array
    seed: Array
    #: how many templates have no atom between
    n_plain: int
    #: the column of the atoms between, which is one
    between: int


def columns_of_templates(templates: Sequence[str]) -> list[str]:
    """Return the names of the columns that templates read, in the order of their first use."""
    return list(dict.fromkeys(column for line in templates for *_, column in map(_parse_atom, line.split())))


def compile_templates(templates: Sequence[str], columns: Sequence[str]) -> Templates:
    """Compile templates over numbered columns; ValueError for a line that is not a template."""
    lines = [list(map(_parse_atom, line.split())) for line in templates]
    if not lines:
        raise ValueError("A parser needs at least one template; the empty string is the simplest.")
    lines.sort(key=lambda atoms: any(place == BETWEEN for place, *_ in atoms))  # stable
    between = {column for atoms in lines for place, _, column in atoms if place == BETWEEN}
    if len(between) > 1:
        raise ValueError(f"All atoms between (b) read one column; these read {', '.join(sorted(between))}.")
    widest = max(1, *map(len, lines))
    place, offset, column = np.zeros((3, len(lines), widest), dtype=np.int64)
    for t, atoms in enumerate(lines):
        for a, (where, away, name) in enumerate(atoms):
            place[t, a], offset[t, a], column[t, a] = where, away, list(columns).index(name)
    numbers = _numbers(len(lines) * (widest + 1)).reshape(len(lines), widest + 1)
    n_plain = sum(all(where != BETWEEN for where, *_ in atoms) for atoms in lines)
    among = list(columns).index(between.pop()) if between else 0
    factor, seed = np.ascontiguousarray(numbers[:, 1:] | np.uint64(1)), np.ascontiguousarray(numbers[:, 0])
    return Templates(place, offset, column, factor, seed, n_plain, among)


def _parse_atom(atom: str) -> tuple[int, int, str]:
    found = _ATOM.fullmatch(atom)
    if found is None or (found[1] == "b" and found[2]):
        raise ValueError(
            f"{atom!r} is not an atom of a template; write atoms such as h.form, m-1.upos (a neighbour) or "
            "b.upos (a word between)."
        )
    return _PLACES[found[1]], int(found[2] or 0), found[3]


def _numbers(n: int) -> Array:
    """Return fixed pseudo-random numbers (splitmix64): models in files depend on them."""
    found, state = [], 0
    for _ in range(n):
        state = (state + 0x9E3779B97F4A7C15) & _MASK
        z = state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & _MASK
        found.append(z ^ (z >> 31))
    return np.array(found, dtype=np.uint64)
