"""From the links of two directional aligners to one alignment (Koehn et al. 2005).

Both directions give links (source, target). Where an order matters, links are gone through in theirs.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable

from structlearn.alignment.links import Link, link_table, table_links
from structlearn.core.contract import Array

Symmetrization = Callable[[Collection[Link], Collection[Link]], frozenset[Link]]

#: Steps to a neighbour, the straight ones first.
_NEIGHBOURS = ((-1, 0), (0, -1), (1, 0), (0, 1), (-1, -1), (-1, 1), (1, -1), (1, 1))


def intersection(forward: Collection[Link], backward: Collection[Link]) -> frozenset[Link]:
    """Return the links of both directions."""
    return frozenset(forward) & frozenset(backward)


def union(forward: Collection[Link], backward: Collection[Link]) -> frozenset[Link]:
    """Return the links of either direction."""
    return frozenset(forward) | frozenset(backward)


def grow_diag(forward: Collection[Link], backward: Collection[Link]) -> frozenset[Link]:
    """Grow the intersection by neighbours in the union, straight or diagonal, that link a free word."""
    grown = _Growing(intersection(forward, backward))
    candidates = union(forward, backward)
    while grown.add_neighbours(candidates):
        pass
    return frozenset(grown.links)


def grow_diag_final(forward: Collection[Link], backward: Collection[Link]) -> frozenset[Link]:
    """Return `grow_diag`, then any link of forward, then of backward, of which *a* word is still free."""
    return _final(forward, backward, any)


def grow_diag_final_and(forward: Collection[Link], backward: Collection[Link]) -> frozenset[Link]:
    """Return `grow_diag`, then any link of forward, then of backward, with *both* words still free."""
    return _final(forward, backward, all)


def symmetrize_tables(forward: Array, backward: Array, method: Symmetrization = grow_diag_final_and) -> Array:
    """Do the same for 0/1 tables [source, target] of one shape, and return such a table."""
    if forward.shape != backward.shape:
        raise ValueError(
            f"The tables have shapes {forward.shape} and {backward.shape}; both must be [source, target]."
        )
    return link_table(method(table_links(forward), table_links(backward)), forward.shape)


def _final(
    forward: Collection[Link], backward: Collection[Link], enough: Callable[[Iterable[bool]], bool]
) -> frozenset[Link]:
    grown = _Growing(grow_diag(forward, backward))
    for links in (forward, backward):
        for link in sorted(links):
            if enough(grown.free(link)):
                grown.add(link)
    return frozenset(grown.links)


class _Growing:
    """Links so far, and the words that have one."""

    def __init__(self, links: Iterable[Link]) -> None:
        self.links = set(links)
        self._taken = {i for i, _ in self.links}, {j for _, j in self.links}

    def add(self, link: Link) -> None:
        self.links.add(link)
        for position, taken in zip(link, self._taken):
            taken.add(position)

    def free(self, link: Link) -> tuple[bool, bool]:
        """Whether the source and the target word have no link yet."""
        return link[0] not in self._taken[0], link[1] not in self._taken[1]

    def add_neighbours(self, candidates: frozenset[Link]) -> bool:
        """Make one sweep and return whether it added anything. Links added further on get their turn too."""
        before = len(self.links)
        for i, j in sorted(candidates):
            if (i, j) in self.links:
                for down, right in _NEIGHBOURS:
                    neighbour = i + down, j + right
                    if neighbour in candidates and any(self.free(neighbour)):
                        self.add(neighbour)
        return len(self.links) > before
