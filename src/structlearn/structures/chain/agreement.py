"""Label sequences whose tokens agree: all tokens of a group that have a type have the same one.

Sequences are joined by groups alone. A token m of a group with a label of type T costs u[m, T] >= 0, and the
group pays what its tokens may spend on one type, so that for any u no labelling that agrees exceeds

    sum_i max_y [ s_i(y) - sum_m u[m, T(y_m)] ]  +  sum_g max_T sum_{m in g} u[m, T]

which is lowered by subgradient steps (Polyak 1969). A choice of a type for each group makes a labelling that
agrees, by sequences that do without the other types; of these the best is kept, and improved group by group.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from structlearn.core.contract import Array
from structlearn.structures.chain.constrained import ConstrainedSequence

#: Steps of the prices, and rounds over all groups that look for better types.
_MOST_STEPS, _MOST_ROUNDS = 40, 4
#: A bound is reached within this share of it.
_CLOSED = 1e-9

#: What finds the best sequence by scores of labels (L, K) and steps (L, K, K).
Oracle = Callable[[Array, Array], ConstrainedSequence]
#: Tokens of a group: (sequence, position).
Group = Sequence[tuple[int, int]]


class Agreeing(NamedTuple):
    """The sequences, their values, and a bound on the sum of any that agree; labels may not be found."""

    labels: list[Array]
    values: Array
    bound: float


class Agreement:
    """Sequences and groups of their tokens.

    Parameters
    ----------
    tables : list of (unary, steps), scores of each sequence
    groups : list of lists of (sequence, position)
    kind : (K,) the type of each label, -1 for none
    oracle : what solves one sequence
    """

    def __init__(
        self, tables: list[tuple[Array, Array]], groups: Sequence[Group], kind: Array, oracle: Oracle
    ) -> None:
        self.tables, self.kind, self.oracle = tables, kind, oracle
        self.groups = [group for group in groups if len(group) > 1]
        self.types = np.arange(kind.max(initial=-1) + 1)
        self.members = [(g, i, t) for g, group in enumerate(self.groups) for i, t in group]
        self.first = np.cumsum([0, *map(len, self.groups)])
        self.joined = sorted({i for _, i, _ in self.members})
        self.own = {i: [m for m, one in enumerate(self.members) if one[1] == i] for i in self.joined}
        self.alone = [oracle(*pair) for pair in tables]

    def solve(self) -> Agreeing:
        """Return labellings that agree, and a bound on all that do."""
        best = list(self.alone)
        if any(not one.labels.size for one in best):
            return self._answer(best, -np.inf)
        if len(self.types) == 0 or self._agrees(best):
            return self._answer(best, sum(one.bound for one in best))
        best = self._with_types(self._votes(best), None)
        best, bound = self._lower(best)
        if bound - _value(best) > _CLOSED * (1.0 + abs(bound)):
            best = self._improve(best)
        return self._answer(best, max(bound, _value(best)))

    def _answer(self, found: list[ConstrainedSequence], bound: float) -> Agreeing:
        labels = [one.labels for one in found]
        return Agreeing(labels, np.array([one.value for one in found]), float(bound))

    def _kinds(self, found: list[ConstrainedSequence]) -> Array:
        """Return the type of each member's label."""
        return np.array([self.kind[found[i].labels[t]] for _, i, t in self.members])

    def _agrees(self, found: list[ConstrainedSequence]) -> bool:
        kinds = self._kinds(found)
        return all(len(set(one[one >= 0])) < 2 for one in np.split(kinds, self.first[1:-1]))

    def _votes(self, found: list[ConstrainedSequence]) -> Array:
        """Return the most frequent type of each group."""
        kinds = self._kinds(found)
        of_groups = np.split(kinds, self.first[1:-1])
        return np.array([np.bincount(one[one >= 0], minlength=1).argmax() for one in of_groups])

    def _with_types(
        self, types: Array, best: list[ConstrainedSequence] | None, changed: Sequence[int] | None = None
    ) -> list[ConstrainedSequence]:
        """Return the best sequences where each group has a type: those in `changed`, else all joined."""
        found = list(self.alone if best is None else best)
        for i in self.joined if changed is None else changed:
            unary = self.tables[i][0].copy()
            for m in self.own[i]:
                g, _, t = self.members[m]
                unary[t, (self.kind >= 0) & (self.kind != types[g])] = -np.inf
            found[i] = self.oracle(unary, self.tables[i][1])
        return found

    def _lower(self, best: list[ConstrainedSequence]) -> tuple[list[ConstrainedSequence], float]:
        """Return the best sequences met, and the least bound."""
        price = np.zeros((len(self.members), len(self.types)))
        fixed = sum(one.bound for i, one in enumerate(self.alone) if i not in self.own)
        least = np.inf
        for _ in range(_MOST_STEPS):
            found = list(self.alone)
            for i in self.joined:
                found[i] = self._charged(i, price)
            paid = np.add.reduceat(price, self.first[:-1], axis=0)
            bound = fixed + sum(found[i].bound for i in self.joined) + paid.max(axis=1).sum()
            least = min(least, bound)
            kinds = self._kinds(found)
            votes = np.where(paid.max(axis=1) > 0, paid.argmax(axis=1), self._votes(found))
            trial = self._with_types(votes, None)
            best = trial if _value(trial) > _value(best) else best
            slope = (kinds[:, None] == self.types).astype(float)
            slope[np.arange(len(kinds)), votes[[g for g, _, _ in self.members]]] -= 1.0
            slope[(slope < 0) & (price <= 0)] = 0.0
            missing, square = bound - _value(best), (slope**2).sum()
            if missing <= _CLOSED * (1.0 + abs(bound)) or square == 0.0:
                break
            price = np.maximum(price + min(missing, 1e300) / square * slope, 0.0)
        return best, least

    def _charged(self, i: int, price: Array) -> ConstrainedSequence:
        """Return the best of a sequence whose typed tokens cost their prices."""
        unary = self.tables[i][0].copy()
        typed = self.kind >= 0
        for m in self.own[i]:
            unary[self.members[m][2], typed] -= price[m, self.kind[typed]]
        return self.oracle(unary, self.tables[i][1])

    def _improve(self, best: list[ConstrainedSequence]) -> list[ConstrainedSequence]:
        """Let each group in turn take another type, where that is better."""
        types = self._votes(best)
        wanted = np.split(self._kinds(self.alone), self.first[1:-1])
        for _ in range(_MOST_ROUNDS):
            before = _value(best)
            for g, kinds in enumerate(wanted):
                touched = sorted({i for i, _ in self.groups[g]})
                for other in sorted(set(kinds[kinds >= 0]) - {types[g]}):
                    trial_types = types.copy()
                    trial_types[g] = other
                    trial = self._with_types(trial_types, best, touched)
                    if _value(trial) > _value(best):
                        best, types = trial, trial_types
            if _value(best) <= before:
                break
        return best


def _value(found: list[ConstrainedSequence]) -> float:
    return float(sum(one.value for one in found))
