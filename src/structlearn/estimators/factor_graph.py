"""States of variables under factors of any order, whose weights are learned, and under constraints."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from structlearn.core.contract import Array
from structlearn.core.memory import Memory
from structlearn.estimators.base import StructuredEstimator
from structlearn.estimators.choices import cost_options
from structlearn.estimators.files.attributes import StoredForm, codes, count, name_array
from structlearn.estimators.inputs.checking import (
    as_list,
    check_same_length,
    check_sample_weight,
    for_no_examples,
)
from structlearn.estimators.inputs.factors import (
    FactorExample,
    FactorExamples,
    FactorType,
    read_factor_graphs,
)
from structlearn.estimators.inputs.layout import gold_and_cost
from structlearn.estimators.models.linear import model_of
from structlearn.estimators.scikit import check_is_fitted
from structlearn.estimators.training.fresh_fit import fresh_fit, of_fit
from structlearn.estimators.training.running import TrainingProblem, training_of
from structlearn.metrics import Outputs, sequence_accuracy
from structlearn.structures.factors.factor_graph import MOST_BRANCHES, FactorAnswer
from structlearn.structures.factors.several import FactorGraphs


@dataclass(kw_only=True, eq=False, repr=False)
class FactorGraphClassifier(StructuredEstimator[FactorGraphs]):
    """A state for each variable of a factor graph: theta_f = sum_j x_fj W_tj for a factor f of type t.

    Factors score all states of one, two or more variables together. Those of one type share their weights:
    each of their features has a table of weights, with an entry for each combination of states. Examples
    bring factor graphs of their own. Constraints of `structlearn.constraints` among the factors hold in
    training and in predictions.

    Prediction is the best labelling that descent on the dual and branch and bound find, with a bound on all
    others: `certificate_.primal` is computed with such bounds and `dual` with real labellings, so that the
    gap is true, though it may not close. loss="hinge", "perceptron" or "sparsemax".

    Parameters
    ----------
    most_branches : int
        Subproblems of branch and bound for each labelling, at most; fewer where tables are large.

    Attributes
    ----------
    factor_types_ : ndarray of names
    factor_coef_ : dict from types to ndarrays of shape (n_features, states of the first variable, ...)
        The last row is that of a constant, where the factors have no features, or with fit_intercept.
    structure_ : None
        Every example brings its own graph.
    n_features_in_ : int
        Of all types together.
    weights_, certificate_, history_

    Examples
    --------
    >>> from structlearn import FactorGraphClassifier
    >>> def switches(*x):  # three switches in a row, each with a feature
    ...     return [2, 2, 2], [("on", (v,), [x[v]]) for v in range(3)] + [("row", (0, 1, 2))]
    >>> X = [switches(1, -1, 2), switches(-1, 1, 1), switches(2, 1, -1)]
    >>> model = FactorGraphClassifier(random_state=0).fit(X, [[1, 0, 1], [0, 1, 1], [1, 1, 0]])
    >>> model.predict(X)[1].tolist()
    [0, 1, 1]
    """

    most_branches: int = MOST_BRANCHES

    factor_types_: Array = field(init=False)
    _type_features: Array = field(init=False)
    _type_orders: Array = field(init=False)
    _type_states: Array = field(init=False)

    of_layout: ClassVar[tuple[str, ...]] = ("fit_intercept",)
    _stored: ClassVar[StoredForm] = StoredForm(
        {
            "n_features_in_": count,
            "factor_types_": name_array,
            "_type_features": codes,
            "_type_orders": codes,
            "_type_states": codes,
        },
        (None,),
    )

    def fit(
        self, X: Sequence[FactorExample], y: Outputs, sample_weight: ArrayLike | None = None
    ) -> FactorGraphClassifier:
        """Train on factor graphs.

        Parameters
        ----------
        X : list of tuples (n_states, factors)
            n_states has the number of states of each variable. A factor is a tuple (type, scope) or (type,
            scope, features): the type is a name, the scope a tuple of variables, counted from 0, and
            features are a row of numbers. All factors of a type have as many features, and their variables
            as many states. Or a factor is a constraint, such as `AtMost(1, 0, 3)` (see `FactorGraph`).
        y : list of integer arrays
            The states of the variables, counted from 0.
        sample_weight : array-like of shape (n_examples,), optional
        """
        with fresh_fit(self):
            if self.class_weight is not None:
                raise ValueError("FactorGraphClassifier has no classes to weigh; use cost or sample_weight.")
            examples = read_factor_graphs(X, self.most_branches)
            if not examples.types:
                raise ValueError("No example has a factor with scores, so that there is nothing to learn.")
            outputs = as_list(y, "y")
            check_same_length(as_list(X, "X"), outputs)
            self._check_outputs(examples, outputs)
            self._set_types(examples.types)
            scoring = examples.scoring(intercept=self.fit_intercept)
            weight = check_sample_weight(sample_weight, scoring.n_examples)
            memory = Memory(self.memory)
            structure = examples.structure
            gold, cost = gold_and_cost(structure, outputs, scoring, memory, **cost_options(self.cost))
            training_of(self).run(TrainingProblem(structure, scoring, gold, cost, weight, memory=memory))
            self.structure_ = None  # type: ignore[assignment]
        return self

    @staticmethod
    def _check_outputs(examples: FactorExamples, outputs: Sequence[object]) -> None:
        """Name the example whose output does not fit."""
        for i, (g, y) in enumerate(zip(examples.which, outputs)):
            try:
                examples.structure.graphs[g].encode(y)
            except ValueError as error:
                raise ValueError(f"Example {i}: {error}") from None

    def _set_types(self, types: Mapping[str, FactorType]) -> None:
        names = sorted(types)
        self.factor_types_ = np.array(names)
        self._type_features = np.array([types[name].n_features for name in names])
        self._type_orders = np.array([len(types[name].n_states) for name in names])
        self._type_states = np.concatenate([types[name].n_states for name in names])
        self.n_features_in_ = int(self._type_features.sum())

    @property
    def _types(self) -> dict[str, FactorType]:
        states = np.split(self._type_states, np.cumsum(self._type_orders)[:-1])
        return {
            str(name): FactorType(int(n), tuple(map(int, own)))
            for name, n, own in zip(self.factor_types_, self._type_features, states)
        }

    # ---- prediction --------------------------------------------------------------------------------

    def _ask(self, X: Sequence[FactorExample]) -> tuple[FactorExamples, list[Array]]:
        """Return examples as they were read, and their scores."""
        check_is_fitted(self, "weights_")
        examples = read_factor_graphs(X, self.most_branches, self._types)
        scoring = examples.scoring(intercept=of_fit(self, "fit_intercept"))
        return examples, [scoring.scores(self.weights_, i, i + 1) for i in range(scoring.n_examples)]

    @for_no_examples
    def predict(self, X: Sequence[FactorExample]) -> list[Array]:
        """Return the best states found for each factor graph."""
        return [one.states for one in self.predict_with_bounds(X)]

    @for_no_examples
    def predict_with_bounds(self, X: Sequence[FactorExample]) -> list[FactorAnswer]:
        """Return the states of each factor graph, their score, and a bound on that of all others."""
        examples, scores = self._ask(X)
        found = []
        for i, (g, theta) in enumerate(zip(examples.which, scores)):
            try:
                found.append(examples.structure.graphs[g].solve(theta))
            except ValueError as error:
                raise ValueError(f"Example {i}: {error}") from None
        return found

    @for_no_examples
    def predict_marginals(self, X: Sequence[FactorExample]) -> list[list[Array]]:
        """Return, after sparsemax, the probabilities of the states of each variable, by example."""
        check_is_fitted(self, "weights_")
        examples = read_factor_graphs(X, self.most_branches, self._types)
        scoring = examples.scoring(intercept=of_fit(self, "fit_intercept"))
        graphs = examples.structure.graphs
        found = []
        for i, parts in model_of(self, examples.structure).soft_parts(scoring):
            start = graphs[examples.which[i]].state_start
            found.append([one.copy() for one in np.split(parts[: start[-1]], start[1:-1])])
        return found

    def score(self, X: Sequence[FactorExample], y: Outputs, sample_weight: ArrayLike | None = None) -> float:
        """Return the share of variables whose states are right."""
        return sequence_accuracy(y, self.predict(X), sample_weight)

    # ---- weights by name ---------------------------------------------------------------------------

    @property
    def factor_coef_(self) -> dict[str, Array]:
        """Tables of weights by type, of shape (n_features, states of the first variable, ...)."""
        found, first = {}, 0
        for name, kind in self._types.items():
            rows = kind.n_rows(intercept=of_fit(self, "fit_intercept"))
            last = first + rows * kind.n_entries
            found[name] = self.weights_[first:last].reshape(rows, *kind.n_states)
            first = last
        return found

    def _weight_counts(self) -> set[int]:
        names, n = self.factor_types_.tolist(), self.factor_types_.size
        if names != sorted(set(names)) or self._type_features.size != n or self._type_orders.size != n:
            raise ValueError("factor_types_ must be names in their order, with features and orders")
        if (self._type_orders < 1).any() or self._type_orders.sum() != self._type_states.size:
            raise ValueError("the orders of factor types do not fit the states of their variables")
        if (self._type_features < 0).any() or (self._type_states < 1).any():
            raise ValueError("factor types have a negative number of features, or variables without states")
        intercept = bool(of_fit(self, "fit_intercept"))
        return {sum(kind.n_rows(intercept=intercept) * kind.n_entries for kind in self._types.values())}
