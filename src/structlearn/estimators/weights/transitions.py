"""The largest weights of a chain's transitions, with the names of labels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from structlearn.core.contract import Array
from structlearn.estimators.inputs.feature_names import Names
from structlearn.estimators.weights.top_places import top_places
from structlearn.structures import Chain

if TYPE_CHECKING:
    from structlearn.estimators.chain import ChainClassifier


class Transition(NamedTuple):
    """The weight of a step from one label to the next; None is the start or the end of a sequence.

    feature : the feature that the weight goes with, where transitions have features
    """

    before: object
    after: object
    weight: float
    feature: str | None = None

    @property
    def name(self) -> str:
        """Such as "B-NP -> I-NP", "(start) -> O", "pos=NN: B-NP -> I-NP"."""
        before = "(start)" if self.before is None else self.before
        after = "(end)" if self.after is None else self.after
        return f"{'' if self.feature is None else f'{self.feature}: '}{before} -> {after}"


def top_transitions(
    chain: ChainClassifier, labels: Sequence[object], k: int
) -> tuple[list[Transition], Array]:
    """Return the top weights of transitions, first and last labels, of both signs; and all weights."""
    steps: list[tuple[object, object]] = [(a, b) for a in labels for b in labels]
    weights = [chain.transition_coef_.ravel()]
    structure = chain.structure_
    if isinstance(structure, Chain) and structure.start:
        steps += [(None, b) for b in labels]
        weights.append(chain.start_coef_)
    if isinstance(structure, Chain) and structure.end:
        steps += [(a, None) for a in labels]
        weights.append(chain.end_coef_)
    every = np.concatenate(weights)
    found = [(*steps[j], float(every[j])) for j in top_places(every, k).tolist()]
    return [Transition(before, after, weight) for before, after, weight in found], every


def top_conditioned(
    chain: ChainClassifier, labels: Sequence[object], k: int, names: Names
) -> tuple[list[Transition], Array]:
    """Return the same for features that score transitions; none if there are no such features."""
    columns = chain.model_.transition_features
    if columns is None:
        return [], np.empty(0)
    table = chain.conditioned_coef_
    places = top_places(table.ravel(), k)
    which, before, after = np.unravel_index(places, table.shape)
    found = zip(names(columns[which]), before.tolist(), after.tolist(), table.ravel()[places].tolist())
    return [Transition(labels[a], labels[b], weight, name) for name, a, b, weight in found], table
