"""Random problems of label sequences."""

from __future__ import annotations

from itertools import pairwise, product
from typing import Any

import numpy as np

from .data import Array, Rng, draw_rows, exact, in_layout
from .outputs import one_hot, sequences, transitions
from .problems import Output, Problem, by_label, draw_class_weight, label_weights, recoded
from .reference import EXTENDED


class Chains(Problem):
    """Label sequences; the first and the last label may have weights of their own."""

    estimator = "ChainClassifier"

    def draw(self, rng: Rng) -> None:
        n, most, d = int(rng.integers(1, self.most_examples + 1)), int(rng.integers(2, 5)), self.width(rng)
        lengths = self.lengths(rng, n, most)
        lengths[0] = max(2, lengths[0])
        labels = rng.integers(most, size=lengths.sum())
        labels[:2] = 0, 1
        rows = draw_rows(rng, lengths.sum(), d)
        codes, self.n_labels = recoded(labels)
        ends, which = np.cumsum(lengths)[:-1], np.arange(n)
        if n > 1 and rng.random() < 0.3:  # the first, which has two labels, once more
            which[-1] = 0
        pieces = np.split(codes, ends)
        self.gold = [tuple(pieces[i].tolist()) for i in which]
        codes, self.n_labels = recoded(np.concatenate(self.gold))
        self.gold = [tuple(one.tolist()) for one in np.split(codes, np.cumsum([*map(len, self.gold)])[:-1])]
        self.X = [in_layout(np.split(rows, ends)[i], self.layout) for i in which]
        self.rows = [self.constant(x) for x in self.X]
        self.draw_cost(rng, codes)
        self.draw_form(rng)

    def lengths(self, rng: Rng, n: int, most: int) -> Array:
        return rng.integers(1, 4 if most == 4 else 5, size=n)

    def width(self, rng: Rng) -> int:
        return int(rng.integers(1, 4))

    def draw_form(self, rng: Rng) -> None:
        self.parameters.update(start=bool(rng.integers(2)), end=bool(rng.integers(2)))

    def draw_cost(self, rng: Rng, codes: Array) -> None:
        self.parameters["cost"], table, self.mean = by_label(rng, self.n_labels, tables=True)
        self.parameters["class_weight"], by_class = draw_class_weight(rng, codes, self.n_labels)
        self.table = table * by_class[:, None]

    def vary(self, rng: Rng) -> None:
        """Other costs, features, ends, or steps that are forbidden."""
        self.scale(float(rng.choice([1, 1, 2])))
        self.draw_cost(rng, np.concatenate(self.gold))
        if rng.random() < 0.3:
            self.draw_form(rng)
        made = {step for one in self.gold for step in pairwise(one)}
        free = [step for step in product(range(self.n_labels), repeat=2) if step not in made]
        kept = [step for step in free if rng.random() < 0.6]
        self.parameters["constraints"] = kept or None

    def vertices(self, i: int) -> list[Output]:
        forbidden = {*(self.parameters.get("constraints") or ())}
        every = sequences(self.n_labels, len(self.gold[i]))
        return [y for y in every if not {*pairwise(y)} & forbidden]

    def features(self, i: int, y: Output, model: Any) -> Array:
        k, form = self.n_labels, self.parameters
        labels = np.array([one_hot(label, k) for label in y]).T @ self.rows[i]
        ends = [one_hot(y[0], k) if form["start"] else [], one_hot(y[-1], k) if form["end"] else []]
        return np.concatenate([labels.ravel(), transitions(y, k), *ends])

    def cost(self, i: int, y: Output) -> float:
        total = sum(self.table[gold, label] for gold, label in zip(self.gold[i], y))
        return total / (len(y) if self.mean else 1)

    def bent(self, i: int, y: Output) -> Output:
        return tuple(np.ravel([one_hot(label, self.n_labels) for label in y]))

    def weights(self, model: Any) -> Array:
        names = [f"{name}_coef_" for name in ("start", "end") if self.parameters[name]]
        tables = [label_weights(model, self.intercept), model.transition_coef_]
        return np.concatenate([np.ravel(one) for one in (*tables, *(getattr(model, name) for name in names))])


class SeenChains(Chains):
    """Label sequences with weights for the pairs of a feature and a label that occur."""

    def draw_form(self, rng: Rng) -> None:
        super().draw_form(rng)
        self.parameters["features"] = "seen"

    def width(self, rng: Rng) -> int:
        return int(rng.integers(1, 6))

    def features(self, i: int, y: Output, model: Any) -> Array:
        found = super().features(i, y, model)
        seen = self._seen().ravel()
        found[: seen.size][~seen] = 0
        return found

    def _seen(self) -> Array:
        """Which pairs occur, of shape (K, d), or one more column for the constant, which all labels have."""
        found = np.zeros((self.n_labels, self.rows[0].shape[1]), dtype=bool)
        for rows, labels in zip(self.rows, self.gold):
            for row, label in zip(rows, labels):
                found[label] |= row != 0
        if self.intercept:
            found[:, -1] = True
        return found

    def weights(self, model: Any) -> Array:
        names = [f"{name}_coef_" for name in ("start", "end") if self.parameters[name]]
        labels = model.coef_.toarray()
        if self.intercept:
            labels = np.column_stack([labels, model.intercept_])
        tables = labels, model.transition_coef_, *(getattr(model, name) for name in names)
        return np.concatenate([np.ravel(one) for one in tables])


class CandidateChains(Chains):
    """Label sequences of words, of which frequent ones have the labels that they were seen with."""

    n_words = 3

    def draw(self, rng: Rng) -> None:
        super().draw(rng)
        self.words = [rng.integers(self.n_words, size=len(labels)) for labels in self.gold]
        tables = [exact(x).astype(np.float32) for x in self.X]
        self.names = [
            *(f"x{j}" for j in range(tables[0].shape[1])),
            *(f"word:{n}" for n in range(self.n_words)),
        ]
        pairs = list(zip(tables, self.words))
        self.rows = [self.constant(np.column_stack([x, np.eye(self.n_words)[own]])) for x, own in pairs]
        self.X = [
            [
                {"word": str(word), **dict(zip(self.names, map(float, row)))}
                for row, word in zip(x, own.tolist())
            ]
            for x, own in pairs
        ]

    def draw_form(self, rng: Rng) -> None:
        self.parameters.update(start=False, end=False, candidates="word")
        self.parameters["candidate_min_count"] = int(rng.integers(1, 6))
        self.parameters["transitions"] = str(rng.choice(["all", "seen", "seen-only"]))

    def vary(self, rng: Rng) -> None:
        """Other costs, or another dictionary."""
        self.draw_cost(rng, np.concatenate(self.gold))
        self.draw_form(rng)

    def _candidates(self) -> list[set[int]]:
        """The labels of each word; those of rare words together, or all labels if no word is rare."""
        seen = [set[int]() for _ in range(self.n_words)]
        for words, labels in zip(self.words, self.gold):
            for word, label in zip(words.tolist(), labels):
                seen[word].add(label)
        counts = np.bincount(np.concatenate(self.words), minlength=self.n_words)
        rare = counts < self.parameters["candidate_min_count"]
        together = set[int]().union(*(own for own, one in zip(seen, rare) if one)) or {*range(self.n_labels)}
        return [together if one else own for own, one in zip(seen, rare)]

    def _steps(self) -> set[tuple[int, int]]:
        if self.parameters["transitions"] == "all":
            return {*product(range(self.n_labels), repeat=2)}
        return {step for one in self.gold for step in pairwise(one)}

    def vertices(self, i: int) -> list[Output]:
        own, steps = self._candidates(), self._steps()
        found = list(product(*(sorted(own[word]) for word in self.words[i].tolist())))
        only = self.parameters["transitions"] == "seen-only"
        return [y for y in found if not only or {*pairwise(y)} <= steps]

    def features(self, i: int, y: Output, model: Any) -> Array:
        found, k = super().features(i, y, model), self.n_labels
        listed = np.array([step in self._steps() for step in product(range(k), repeat=2)])
        found[found.size - k * k :][~listed] = 0
        return found

    def weights(self, model: Any) -> Array:
        known = dict(zip(model.features_.names_, model.coef_.T))
        nothing = np.zeros(self.n_labels)
        table = [known.get(name, nothing) for name in self.names]
        table += [model.intercept_] if self.intercept else []
        return np.concatenate([np.array(table).T.ravel(), model.transition_coef_.ravel()])


class LongChains(Chains):
    """Label sequences that are long enough to be cut."""

    def lengths(self, rng: Rng, n: int, most: int) -> Array:
        return rng.integers(1, 5 if most == 4 else 7, size=n)

    def draw_form(self, rng: Rng) -> None:
        self.parameters.update(start=False, end=False)


class ConditionedChains(Chains):
    """Label sequences whose transitions are scored by some of the features."""

    def width(self, rng: Rng) -> int:
        return int(rng.integers(2, 4))

    def draw_form(self, rng: Rng) -> None:
        self.parameters["transition_features"] = [1] if rng.integers(2) else [1, 0]

    def features(self, i: int, y: Output, model: Any) -> Array:
        k, chosen = self.n_labels, self.parameters["transition_features"]
        labels = np.array([one_hot(label, k) for label in y]).T @ self.rows[i]
        pairs = np.zeros((len(chosen), k, k), dtype=EXTENDED)
        for t, (before, after) in enumerate(pairwise(y), 1):
            pairs[:, before, after] += exact(self.X[i])[t, chosen]
        return np.concatenate([labels.ravel(), pairs.ravel(), transitions(y, k)])

    def weights(self, model: Any) -> Array:
        tables = label_weights(model, self.intercept), model.conditioned_coef_, model.transition_coef_
        return np.concatenate([np.ravel(one) for one in tables])
