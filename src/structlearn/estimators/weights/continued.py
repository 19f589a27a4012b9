"""More data later: weights of a model before, by the names of features and labels, as a start for the next.

The next problem is that of its own data alone, and so are its certificate and its optimum: what is carried
over only shortens the way.
"""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING, NamedTuple, cast

import numpy as np

from structlearn.core.contract import Array
from structlearn.estimators.inputs.token_features import TokenFeatures
from structlearn.problem.objective import Objective
from structlearn.solvers.bcfw.dense_point import DensePoint
from structlearn.solvers.solution import Solution
from structlearn.structures import Chain

if TYPE_CHECKING:
    from structlearn.estimators.chain import ChainClassifier


class Former(NamedTuple):
    """A model before: its classes, its weights by row (feature) and class, and those of steps."""

    classes: Array
    rows: Array
    intercept: Array
    shared: dict[str, Array]
    solution: Solution

    @classmethod
    def of(cls, model: ChainClassifier) -> Former:
        structure = model.structure_
        tables = structure.shared_tables(model._shared_weights) if isinstance(structure, Chain) else {}
        known = Solution(model.weights_, model.certificate_)
        return cls(model.classes_, model.coef_.T, model.intercept_, dict(tables), known)


def places_by_name(before: TokenFeatures, now: TokenFeatures) -> Array:
    """Where each feature of now was before; -1 where it was not."""
    if now.hash_bits is not None or before.hash_bits is not None:
        return places_by_column(before.n_features, now.n_features)
    known, wanted = before.hashes(), now.hashes()
    order = np.argsort(known)
    at = np.minimum(np.searchsorted(known[order], wanted), known.size - 1)
    return np.where(known[order][at] == wanted, order[at], -1)


def places_by_column(n_before: int, n_now: int) -> Array:
    """The same of features without names: columns are the same if there are as many."""
    return np.arange(n_now) if n_before == n_now else np.full(n_now, -1)


class Continued:
    """A sequence model whose `fit` with `warm_start` goes on from the one before, by names."""

    def continue_from(self, former: ChainClassifier, places: Array) -> None:
        """Start the next `fit` at the weights of another model; `places` has each column's place there."""
        if former.transition_features is None and not hasattr(former, "row_transformer_"):
            self._start = (Former.of(former), places)

    def _remember(self) -> ChainClassifier | None:
        """The model as it is, where the next fit is to go on from it and nothing else is said."""
        model = cast("ChainClassifier", self)
        there = model.warm_start and hasattr(self, "weights_") and "_start" not in vars(self)
        return copy(model) if there else None

    def _go_on(self, former: ChainClassifier | None, n_features: int) -> None:
        if former is None:
            return
        before, now = getattr(former, "features_", None), getattr(self, "features_", None)
        if before is not None and now is not None:
            self.continue_from(former, places_by_name(before, now))
        else:
            self.continue_from(former, places_by_column(former.n_features_in_, n_features))

    def _is_same(self, former: Former, places: Array) -> bool:
        """Whether weights and dual points mean what they meant before."""
        classes = cast("ChainClassifier", self).classes_
        return np.array_equal(former.classes, classes) and np.array_equal(places, np.arange(len(places)))

    def _warm(self, objective: Objective) -> Solution | None:
        known: Solution | None = super()._warm(objective)  # type: ignore[misc]
        former, places = vars(self).pop("_start", (None, None))
        if getattr(self, "transition_features", None) is not None:
            former = None
        if former is None or (known is not None and known.fits(objective) and self._is_same(former, places)):
            return known
        return start_at(
            objective, carried(former, places, cast("ChainClassifier", self), objective), former.solution
        )


def carried(former: Former, places: Array, model: ChainClassifier, objective: Objective) -> Array:
    """The first weights of a new problem: those known before, zero for what is new."""
    structure, n_weights, k = objective.structure, objective.n_weights, len(model.classes_)
    w = np.zeros(n_weights)
    W = w[: n_weights - structure.n_shared].reshape(-1, k)
    position = {label: j for j, label in enumerate(former.classes.tolist())}
    both = [(j, position[label]) for j, label in enumerate(model.classes_.tolist()) if label in position]
    if not both:
        return w
    new, old = map(np.array, zip(*both))
    known = np.flatnonzero(places >= 0)
    W[np.ix_(known, new)] = former.rows[np.ix_(places[known], old)]
    if len(W) > len(places):
        W[len(places), new] = former.intercept[old]
    shared = w[n_weights - structure.n_shared :]
    for name, table in structure.shared_tables(shared).items() if isinstance(structure, Chain) else ():
        if name in former.shared:
            table[np.ix_(*[new] * table.ndim)] = former.shared[name][np.ix_(*[old] * table.ndim)]
    return w


def start_at(objective: Objective, w: Array, before: Solution) -> Solution:
    """A start at weights: with the dual point of the predictions there, where the loss is smooth."""
    point = None
    if objective.regularizer.smooth:
        n = objective.scoring.n_examples
        z, h, start = np.empty(objective.point_start[-1]), np.empty(n), objective.point_start
        alone = [(i, i + 1) for i in range(n)]
        for one in objective.oracle.maximizers(
            w, objective.cost, np.ones(n), alone, gold=objective._compared
        ):
            i = one.first
            z[start[i] : start[i + 1]] = np.concatenate([one.vertices, one.shared])
            h[i] = one.losses.gain
        point = DensePoint.of(objective, z, h)
    return Solution(w, before.certificate, point=point, polytopes=objective.polytopes)
