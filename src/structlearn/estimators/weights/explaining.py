"""Why a chain has chosen a label: what each feature adds for it, against the runner-up.

The runner-up of a token is the label that would cost the sequence least of its score if the token alone had
it, all others being kept. The contributions of a token add up to that difference:

    score(y) - score(y with r at t) = sum_j (w_y - w_r)_j x_tj + differences of the steps before and after t
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy import sparse

from structlearn.core.contract import Array
from structlearn.estimators.inputs.checking import Tables
from structlearn.estimators.inputs.feature_names import CONSTANT, Names, own_names, token_names_in
from structlearn.estimators.inputs.token_reading import is_named
from structlearn.estimators.scikit import Rows, check_is_fitted
from structlearn.estimators.weights.transitions import Transition
from structlearn.structures import Chain

if TYPE_CHECKING:
    from structlearn.estimators.chain import ChainClassifier
    from structlearn.estimators.models.chains import ChainModel


class Contribution(NamedTuple):
    """What a feature or a transition adds to the score of a label, less what it adds for the runner-up."""

    name: str
    amount: float


class Explanation(NamedTuple):
    """Why a token has its label.

    label, runner_up : the label in the best sequence, and the next best for this token, all others kept; no
        runner-up (None) where no other label is allowed there
    difference : of the two sequences' scores: the sum of all contributions
    contributions : from what speaks most for the label to what speaks most against it; no zeros
    """

    label: object
    runner_up: object
    difference: float
    contributions: list[Contribution]


def explanations(
    chain: ChainClassifier, X: Tables, names: Names | None = None
) -> Iterator[list[Explanation]]:
    """Yield the explanations of all tokens, sequence by sequence."""
    check_is_fitted(chain, "weights_")
    if names is None:
        names = token_names_in(chain.features_, X) if is_named(X) else own_names(chain)
    model = chain.model_
    predicted = model.best(X)
    given, lengths = model.reader.rows(X)
    mapped = model.reader.row_map.apply(given)
    scores, _ = model.part_scores(X)
    place = {label: k for k, label in enumerate(chain.classes_.tolist())}
    a = 0
    for labels, length in zip(predicted, lengths.tolist()):
        b = a + length
        path = np.array([place[label] for label in labels.tolist()], dtype=np.int64)
        sequence = _Sequence(model, mapped[a:b], given[a:b], path, names)
        yield sequence.explain(next(scores)) if length else []
        a = b


class _Sequence(NamedTuple):
    """A sequence and its best labels: rows as they are scored, as they are given, and names of features."""

    model: ChainModel
    rows: Rows
    given: Rows
    path: Array
    names: Names

    def explain(self, theta: Array) -> list[Explanation]:
        """Explain each token, given the scores of all parts."""
        labels = self.model.classes.tolist()
        found = []
        for t, (label, scores) in enumerate(zip(self.path.tolist(), self._alternatives(theta))):
            best = scores[label]
            scores[label] = -np.inf
            other = int(np.argmax(scores))
            if scores[other] == -np.inf:
                found.append(Explanation(labels[label], None, np.inf, []))
                continue
            parts = [one for one in self._contributions(t, label, other) if one.amount]
            parts.sort(key=lambda one: -one.amount)
            found.append(Explanation(labels[label], labels[other], float(best - scores[other]), parts))
        return found

    def _alternatives(self, theta: Array) -> Array:
        """Score of each label at each token, the others being kept, but for what they have in common."""
        structure, path = self.model.structure, self.path
        unary, steps = structure.label_and_step_scores(*structure.read_scores(theta))
        found = unary.copy()
        for t in range(1, path.size):
            found[t] += steps[t][path[t - 1]]
            found[t - 1] += steps[t][:, path[t]]
        return found

    def _contributions(self, t: int, label: int, other: int) -> Iterator[Contribution]:
        """Yield the contributions of features, of the constant, and of the steps before and after."""
        W = self.model.rows
        columns, values = _entries(self.rows, t)
        amounts = values * (W.of(columns, label) - W.of(columns, other))
        yield from map(Contribution, self.names(columns), amounts.tolist())
        constant = self.model.rows.intercept
        yield Contribution(CONSTANT, float(constant[label] - constant[other]))
        if t > 0:
            yield from self._step(t, (self.path[t - 1], label), (self.path[t - 1], other))
        if t + 1 < self.path.size:
            yield from self._step(t + 1, (label, self.path[t + 1]), (other, self.path[t + 1]))
        yield from self._borders(t, label, other)

    def _step(self, t: int, step: tuple[int, int], other: tuple[int, int]) -> Iterator[Contribution]:
        """Yield what the step to token t adds, by itself and through features of t that score steps."""
        labels = self.model.classes.tolist()
        table = self.model.transitions
        before, after = (labels[k] for k in step)
        yield Contribution(Transition(before, after, 0.0).name, float(table[step] - table[other]))
        chosen = self.model.transition_features
        if chosen is None:
            return
        columns, values = _entries(self.given[:, chosen], t)
        weights = self.model.transition_feature_weights[columns]
        amounts = values * (weights[:, *step] - weights[:, *other])
        for name, amount in zip(self.names(chosen[columns]), amounts.tolist()):
            yield Contribution(Transition(before, after, 0.0, name).name, amount)

    def _borders(self, t: int, label: int, other: int) -> Iterator[Contribution]:
        """Yield what being the first or the last label adds."""
        model, name = self.model, self.model.classes.tolist()[label]
        if not isinstance(model.structure, Chain):
            return
        if t == 0 and model.structure.start:
            table = model.boundary("start")
            yield Contribution(Transition(None, name, 0.0).name, float(table[label] - table[other]))
        if t + 1 == self.path.size and model.structure.end:
            table = model.boundary("end")
            yield Contribution(Transition(name, None, 0.0).name, float(table[label] - table[other]))


def _entries(rows: Rows, t: int) -> tuple[Array, Array]:
    """Return the columns and values of the nonzero entries of a row."""
    row = rows[t]
    if sparse.issparse(row):
        return row.indices.astype(np.int64), row.data.astype(np.float64)
    columns = np.flatnonzero(row)
    return columns, np.asarray(row[columns], dtype=np.float64)
