"""Random graphs of which labels are unknown, or whose classes have several latent states.

Training solves a sequence of convex problems, in each of which the outputs are completed. The certificate is
that of the last one, so that the completions of its outputs are noted while the model is trained. That they
are right is checked, too: by enumeration they are the best of the allowed outputs at the weights before or,
for softmax, their mean; and the whole objective, F, falls to the last value of `outer_history_`.
"""

from __future__ import annotations

from copy import copy
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from structlearn.estimators.training.running import training_of

from .data import Array, Rng
from .outputs import sequences
from .problems import Output
from .reference import EXTENDED, Example, Written
from .segment_problems import Graphs

#: What float64 may lose per unit of the largest term of a score.
UNIT = 1e-13


class Round(NamedTuple):
    """One convex problem: the weights before it, if any, and the completed outputs as tables of parts."""

    before: Array | None
    gold: Any


class LatentGraphs(Graphs):
    """Outputs are states of the nodes, of the class that is known, or of any."""

    def draw(self, rng: Rng) -> None:
        super().draw(rng)
        self.n_classes = self.n_labels
        labels = [np.array(one) for one in self.gold]
        hidden = [np.where(rng.random(one.size) < rng.choice([0.0, 0.4]), -1, one) for one in labels]
        self.patient = bool(rng.integers(2))
        complete = len(np.setdiff1d(np.concatenate(hidden), [-1])) == self.n_classes
        self.labels = hidden if complete else labels
        codes = np.concatenate(self.labels)
        self._draw_cost(rng, codes[codes >= 0])
        rows = np.concatenate(self.nodes)
        most = [len(np.unique(rows[codes == k], axis=0)) for k in range(self.n_classes)]
        sizes = np.minimum(rng.integers(1, 3, size=self.n_classes), most)
        self.parameters["latent_states"] = dict(enumerate(sizes.tolist()))
        self.states = np.repeat(np.arange(self.n_classes), sizes)
        self.n_labels = len(self.states)

    @property
    def y(self) -> Any:
        return self.labels

    def model(self, **settings: Any) -> Any:
        """Note the completions of each convex problem; a warm start does not go with them.

        Only a problem that is solved is followed by another: every other model has the time for that.
        """
        enough = {"tol": 1e-3, "max_passes": 200.0} if self.patient else {}
        model = super().model(**{**settings, **enough, "warm_start": False})
        laid_out, self.rounds = training_of(model).objective, []

        def noted(_: Any, problem: Any) -> Any:
            self.rounds.append(Round(getattr(model, "weights_", None), problem.gold))
            return laid_out(problem)

        model.trained_by = type("Noted", (model.trained_by,), {"objective": noted})
        return model

    def cost(self, i: int, y: Output) -> float:
        pairs = [(gold, self.states[state]) for gold, state in zip(self.labels[i], y) if gold >= 0]
        return sum(self.table[pair] for pair in pairs) / (len(y) if self.mean else 1)

    def allowed(self, i: int) -> Array:
        """Which of the corners agree with what is known."""
        found = self.states[np.array(sequences(self.n_labels, len(self.labels[i])))]
        return ((found == self.labels[i]) | (self.labels[i] < 0)).all(axis=1)

    # ---- the last convex problem -------------------------------------------------------------------------

    def last(self, model: Any) -> Round:
        """The problem that the certificate is of: a further one, after which F had not fallen, is dropped."""
        return self.rounds[len(getattr(model, "outer_history_", [0])) - 1]

    def written(self, model: Any, loss: str, **penalty: Any) -> Written:
        self.whole = super().written(model, loss, **penalty)
        gold = [self.completed(i, self.last(model)) for i in self.used]
        moved = [one._replace(features=one.features - mean) for one, mean in zip(self.whole.examples, gold)]
        return self.whole._replace(examples=moved)

    def _example(self, i: int, weight: Any, model: Any) -> Example:
        """With features that are not yet compared with those of a gold output."""
        vertices = self.vertices(i)
        table = np.array([self.features(i, y, model) for y in vertices], dtype=EXTENDED)
        cost = np.array([self.cost(i, y) for y in vertices], dtype=EXTENDED)
        return Example(weight, table, cost, np.zeros((len(vertices), 1)), 0)

    def vertices(self, i: int) -> list[Output]:
        return sequences(self.n_labels, len(self.labels[i]))

    def completed(self, i: int, at: Round) -> Array:
        """Features of the completed output: of its nodes' states, then of its edges' pairs."""
        size, k = len(self.labels[i]), self.n_labels
        parts = np.zeros(size * k + len(self.graphs[i]) * self.n_pairs, dtype=EXTENDED)
        own = slice(at.gold.start[i], at.gold.start[i + 1])
        parts[at.gold.index[own]] = at.gold.value[own]
        nodes, pairs = parts[: size * k].reshape(size, k), parts[size * k :].reshape(-1, self.n_pairs)
        edges = self.edges[i].astype(EXTENDED).T @ pairs
        return np.concatenate([(nodes.T @ self.rows[i]).ravel(), edges.ravel()])

    @property
    def n_pairs(self) -> int:
        """Weights of a feature of edges."""
        k = self.n_labels
        return {"full": k * k, "symmetric": k * (k + 1) // 2, "potts": 1}.get(
            self.parameters["pairs"], k * (k - 1) // 2
        )

    # ---- what else is promised ---------------------------------------------------------------------------

    def also(self, model: Any) -> list[str]:
        """Completions are right, and F falls, to the last value of its history and at most to P."""
        found = []
        for at in self.rounds[1:]:
            w = self.weights(self._with(model, at.before))
            found += [f"example {i} is completed wrongly" for i in self.used if self._is_wrong(i, at, w)]
        if not hasattr(model, "outer_history_"):
            return found
        values, F = model.outer_history_, self.objective(self.weights(model))
        slack = UNIT * self._size(self.weights(model)) + model.certificate_.rounding
        if any(later >= earlier for earlier, later in pairwise(values)):
            found.append(f"the whole objective rises: {values}")
        if not abs(F - values[-1]) <= slack:
            found.append(f"outer_history_ ends with {values[-1]!r}, but F = {float(F)!r}")
        if model.certificate_.primal + slack < F:
            found.append(f"F = {float(F)!r} is above primal {model.certificate_.primal!r}")
        return found

    @property
    def used(self) -> Array:
        return np.flatnonzero(self.example_weights() > 0)

    @staticmethod
    def _with(model: Any, weights: Array) -> Any:
        other = copy(model)
        other.weights_ = weights
        return other

    def _is_wrong(self, i: int, at: Round, w: Array) -> bool:
        """Whether a completion is not the best of the allowed corners, or not their mean."""
        one = self.whole.examples[int(np.searchsorted(self.used, i))]
        table = one.features[self.allowed(i)]
        scores, mine = table @ w.astype(EXTENDED), self.completed(i, at)
        slack = UNIT * (np.abs(table) @ np.abs(w)).max() + 1e-12
        if self.whole.loss == "hinge":
            return bool(mine @ w < scores.max() - slack)
        q = np.exp(scores - scores.max())
        return bool((np.abs(mine - q @ table / q.sum()) > (1e-9 + 10 * slack) * np.abs(table).max()).any())

    def objective(self, w: Array) -> Any:
        """F(w)."""
        value = self.whole.regularizer(w.astype(EXTENDED))
        for i, one in zip(self.used, self.whole.examples):
            t = one.features @ w.astype(EXTENDED)
            hinge = self.whole.loss == "hinge"
            every, best = t + one.cost if hinge else t, t[self.allowed(i)]
            total = np.max if hinge else np.logaddexp.reduce
            value += one.weight * (total(every) - total(best))
        return value

    def _size(self, w: Array) -> float:
        """The largest sum of the sizes of a score's terms, and 1."""
        sizes = [(np.abs(one.features) @ np.abs(w) + np.abs(one.cost)).max() for one in self.whole.examples]
        return 1.0 + float(max(sizes))
