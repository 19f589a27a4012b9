"""Label sets: independent labels, or labels that influence each other in pairs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from structlearn.core.contract import Array
from structlearn.core.errors import doubt, doubt_alike
from structlearn.core.memory import Memory
from structlearn.estimators.choices import Auto, class_costs, one_of
from structlearn.estimators.confidence.calibration import Calibration
from structlearn.estimators.confidence.rows import (
    TEMPERED,
    RowConfidence,
    calibrate_labels,
    check_tempered,
    label_reliability,
)
from structlearn.estimators.files.attributes import StoredForm, count, label_array
from structlearn.estimators.inputs.checking import (
    as_list,
    check_same_length,
    check_sample_weight,
    summed_duplicates,
)
from structlearn.estimators.inputs.distinct import DistinctExamples
from structlearn.estimators.inputs.frames import column_names, is_frame
from structlearn.estimators.inputs.layout import gold_and_cost
from structlearn.estimators.loss_choice import (
    WITH_DEAR_MARGINALS,
    WITH_MARGINALS,
    has_no_cycle,
    trained_loss,
)
from structlearn.estimators.models.linear import model_of
from structlearn.estimators.rows import FlatEstimator, smooth_solvers
from structlearn.estimators.scikit import Table
from structlearn.estimators.training.fresh_fit import fresh_fit
from structlearn.estimators.training.running import EstimatorTraining, TrainingProblem, training_of
from structlearn.estimators.weights.frequencies import most_frequent_best
from structlearn.metrics import subset_accuracy
from structlearn.problem.registry import LOSSES
from structlearn.structures import Cube, LabelGraph

if TYPE_CHECKING:
    from sklearn.utils import Tags

    from structlearn.structures.factors.factor_graph import FactorAnswer

_ONE_CLASS = "MulticlassClassifier, which predicts one class per example"
_ONE_EACH = (
    f"y has exactly one label per example; use {_ONE_CLASS}. Label sets are a 0/1 matrix or a list of sets."
)

#: A 0/1 matrix, sets of labels, or a vector of labels.
LabelSets: TypeAlias = Table | Sequence[Iterable[object]]


class LabelSetTraining(EstimatorTraining[Cube | LabelGraph]):
    """Training of label sets: those without pairs are single rows."""

    def auto_for(self, problem: TrainingProblem[Cube | LabelGraph]) -> Auto:
        usual = super().auto_for(problem)
        smooth = LOSSES[trained_loss(self.estimator)].family == "smooth"
        single = smooth and isinstance(problem.structure, Cube)
        return smooth_solvers(self.estimator, problem, usual) if single else usual


class LabelledSet(NamedTuple):
    """Which labels are on, the score, and a bound that no label set within the constraints exceeds."""

    labels: Any
    value: float
    bound: float


@dataclass(kw_only=True, eq=False, repr=False)
class MultiLabelClassifier(FlatEstimator[Cube | LabelGraph]):
    """Choose a set of labels for each row; pairs of labels may have weights.

    Any subset of K labels: theta_k = <w_k, x> for each label that is on, and a 2x2 table for each pair.

    `cost` may be an array of shape (K,) or a
    mapping from labels; so may `class_weight`, and the two are multiplied.

    Parameters
    ----------
    edges : "all", "tree", "none" or list of pairs of labels
        Which pairs of labels have weights. "tree" learns the tree of the strongest dependencies from y
        (Chow and Liu 1968). Inference is exact without pairs, on forests, and up to 15 labels; else training
        is that of the linear programming relaxation, solved by a maximum flow, `certificate_.exact` is False,
        and `predict` answers with the best label set that it finds.

    Attributes
    ----------
    coef_ : ndarray of shape (n_labels, n_features)
    intercept_ : ndarray of shape (n_labels,)
    pair_coef_ : ndarray of shape (n_edges, 2, 2)
    edges_ : ndarray of shape (n_edges, 2), positions in `classes_`
    temperature_ : float, after `calibrate`
    classes_, n_features_in_, weights_, certificate_, history_

    Examples
    --------
    >>> from structlearn import MultiLabelClassifier
    >>> X, y = [[1, 0, 0], [0, 1, 0], [0, 0, 1]], [[1, 0], [0, 1], [1, 1]]
    >>> MultiLabelClassifier(random_state=0).fit(X, y).predict(X).tolist()
    [[1, 0], [0, 1], [1, 1]]
    """

    edges: str | ArrayLike = "all"

    trained_by: ClassVar[type[EstimatorTraining[Any]]] = LabelSetTraining

    #: "matrix", "vector" or "sets", as y was
    _form: str = field(init=False)
    temperature_: float = field(init=False)

    _stored: ClassVar[StoredForm] = StoredForm(
        {
            "classes_": label_array,
            "n_features_in_": count,
            "_form": Literal["matrix", "vector", "sets"],
            **TEMPERED,
        },
        ("Cube", "LabelGraph"),
    )

    @property
    def usual_losses(self) -> tuple[str, ...]:
        """Marginals are cheap where pairs have no cycles."""
        if isinstance(self.edges, str):
            return WITH_DEAR_MARGINALS if self.edges == "all" else WITH_MARGINALS
        given = self.edges if isinstance(self.edges, list | tuple | np.ndarray) else ()
        pairs = [tuple(one) for one in given if np.ndim(one) == 1 and len(one) == 2]
        return WITH_MARGINALS if has_no_cycle(pairs) else WITH_DEAR_MARGINALS

    def fit(self, X: Table, y: LabelSets, sample_weight: ArrayLike | None = None) -> MultiLabelClassifier:
        """Train on X of shape (n, d), dense or CSR.

        y is a 0/1 matrix of shape (n, K), a list of sets (lists, tuples) of labels, or a vector of labels,
        one per example; `predict` answers in the same form. The columns of a data frame are the labels'
        names, `classes_`; `predict` then answers with an array, as scikit-learn's estimators do.
        """
        with fresh_fit(self):
            rows = summed_duplicates(self._checked_inputs(X, accept_sparse="csr", order="C"))
            on = self._read_labels(y)
            if len(on) != rows.shape[0]:
                raise ValueError(
                    f"X has {rows.shape[0]} examples but y has {len(on)}: give one output per example."
                )
            weight = check_sample_weight(sample_weight, rows.shape[0])
            structure, memory = self._make_structure(on), Memory(self.memory)
            rows = self.fit_rows(rows, memory)
            scoring = self._training_row_scoring(rows, structure, memory)
            options = class_costs(
                self.cost,
                self.class_weight,
                self.classes_,
                lambda: on.size / (on.shape[1] * np.maximum(on.sum(axis=0), 1)),
            )
            gold, cost = gold_and_cost(structure, on, scoring, memory, **options)
            distinct = DistinctExamples(rows, on, weight)
            training_of(self).run(
                TrainingProblem(structure, scoring, gold, cost, weight, memory=memory, distinct=distinct)
            )
        return self

    def _read_labels(self, y: LabelSets) -> Array:
        """Return the 0/1 matrix of `y`; sets `classes_` and the form of the answers."""
        if y is None:
            raise ValueError("requires y to be passed, but the target y is None.")
        self._form, found = read_labels(y)
        if isinstance(found, list):
            self.classes_ = _sorted_labels(found)
            doubt_alike(self.classes_)
            if self._form == "vector":
                doubt(_ONE_EACH)
            return membership(found, self.classes_)
        if not np.isin(found, (0, 1)).all():
            advice = f" One column of classes is for {_ONE_CLASS}." if found.shape[1] == 1 else ""
            raise ValueError(
                f"y of shape (n, K) must hold 0 and 1 only; got other values (continuous or NaN?).{advice}"
            )
        self.classes_ = np.array(column_names(y)) if is_frame(y) else np.arange(found.shape[1])
        return found.astype(np.int64)

    def _make_structure(self, on: Array) -> Cube | LabelGraph:
        n_labels = on.shape[1]
        if not isinstance(self.edges, str):
            return LabelGraph(n_labels, self._edge_positions())
        kind = one_of("edges", self.edges, ("all", "tree", "none"))
        if kind == "none" or n_labels == 1:
            return Cube(n_labels)
        return LabelGraph.tree(on) if kind == "tree" else LabelGraph(n_labels, "all")

    def _edge_positions(self) -> Array:
        position = {label: k for k, label in enumerate(self.classes_.tolist())}
        pairs = []
        for labels in as_list(self.edges, "edges"):
            pair = [label.item() if isinstance(label, np.generic) else label for label in labels]
            if len(pair) != 2 or any(label not in position for label in pair):
                raise ValueError(f"edges has {tuple(pair)!r}, which is not a pair of labels of y.")
            pairs.append([position[label] for label in pair])
        return np.array(pairs, dtype=np.int64)

    def predict(self, X: Table, *, constraints: object = None) -> Array | list[tuple[object, ...]]:
        """Return the best label set of each row, in the form that y had: a 0/1 matrix or a list of tuples.

        Where y was a vector of labels, one per example, the best single label. `constraints` is a list of
        what each set must keep, such as `AtMost(3, "a", "b", "c", "d")` of `structlearn.constraints`.
        """
        if constraints is not None:
            return self._written(np.stack([one.states for one in self._best_within(X, constraints)]))
        scoring = self._row_scoring(X)
        if self._form == "vector":
            scores = self.decision_function(X) + self._single_scores()
            best = most_frequent_best(scores, getattr(self, "_frequencies", None))
            return self.classes_[best]
        structure = self.structure_
        answers = structure.labellings if isinstance(structure, LabelGraph) else structure
        parts = [part for _, part in model_of(self, answers).best_parts(scoring)]
        return self._written((np.stack(parts) > 0.5).astype(np.int64))

    def predict_with_bounds(self, X: Table, *, constraints: object = ()) -> list[LabelledSet]:
        """Return the label set of each row, its score, and a bound on that of any within the constraints."""
        found = list(self._best_within(X, constraints))
        written = self._written(np.stack([one.states for one in found]))
        return [LabelledSet(own, one.value, one.bound) for own, one in zip(written, found)]

    def _best_within(self, X: Table, constraints: object) -> Iterator[FactorAnswer]:
        """Yield the best label set of each row that keeps the constraints."""
        from structlearn.estimators.inputs.label_limits import LimitedSets

        if self._form == "vector":
            raise ValueError("y had one label per example: constraints are about sets of labels.")
        sparse_threshold = self.structure_.threshold if trained_loss(self) == "sparsemax" else 0.0
        limited = LimitedSets(constraints, self.classes_, self.edges_)
        pairs = self.pair_coef_ if len(self.edges_) else np.empty(0)
        return limited.best(self.decision_function(X) - sparse_threshold, pairs)

    def _written(self, on: Array) -> Array | list[tuple[object, ...]]:
        """Return label sets in the form that y had."""
        if self._form == "matrix":
            return on
        return [tuple(self.classes_[row.astype(bool)].tolist()) for row in on]

    def _single_scores(self) -> Array:
        """Return what the pairs add to the score of each label if it is the only one."""
        structure = self.structure_
        tables = [structure.encode(one)[structure.n_labels :] for one in np.eye(structure.n_labels)]
        return np.array(tables) @ self._row_weights(self.weights_).shared_weights

    def predict_marginals(self, X: Table) -> Array:
        """Return the probability of each label, of shape (n, K); after sparsemax many are exactly 0 or 1."""
        return np.stack([parts for _, parts in model_of(self).soft_parts(self._row_scoring(X))])

    def calibrate(self, X: Table, y: LabelSets) -> Calibration[RowConfidence]:
        """Choose the temperature by the likelihood of data that was not trained on; say what it changes.

        `predict_marginals` answers with the probabilities of the scores over `temperature_` from now on;
        predictions stay. The likelihood is that of each label by itself, on or off, averaged over labels.
        """
        check_tempered(trained_loss(self))
        scoring, on, model = self._row_scoring(X), self._known_labels(X, y), model_of(self)
        found = calibrate_labels(
            lambda one: np.stack([own for _, own in model.with_temperature(one).soft_parts(scoring)]),
            on,
            model.temperature,
        )
        self.temperature_ = found.temperature
        return found

    def reliability(self, X: Table, y: LabelSets) -> RowConfidence:
        """Compare probabilities of labels with how often they are on, on data with labels."""
        check_tempered(trained_loss(self))
        return label_reliability(self.predict_marginals(X), self._known_labels(X, y))

    def _known_labels(self, X: Table, y: LabelSets) -> Array:
        """Return the 0/1 matrix of the labels in `classes_`."""
        on = self.indicator(y)[:, :-1]
        check_same_length(range(np.shape(X)[0]), on)
        return on

    def decision_function(self, X: Table) -> Array:
        """Score of each label by itself, of shape (n, K), without the pairs."""
        return self._scores(X)

    def score(self, X: Table, y: LabelSets, sample_weight: ArrayLike | None = None) -> float:
        """Return the share of examples whose whole label set is right."""
        return subset_accuracy(self.indicator(y), self.indicator(self.predict(X)), sample_weight)

    def indicator(self, y: LabelSets) -> Array:
        """Return outputs of any accepted form as a 0/1 matrix over `classes_` and, last, unknown labels."""
        _, found = read_labels(y)
        if isinstance(found, list):
            known = set(self.classes_.tolist())
            unknown = np.array([bool(one - known) for one in found], dtype=np.int64)
            return np.column_stack([membership([one & known for one in found], self.classes_), unknown])
        on = found.astype(np.int64)
        if on.ndim != 2 or on.shape[1] != len(self.classes_):
            raise ValueError(f"y has {on.shape[1]} labels but the model has {len(self.classes_)}.")
        return np.column_stack([on, np.zeros(len(on), dtype=np.int64)])

    @property
    def edges_(self) -> Array:
        """Pairs of labels that have weights, as positions in `classes_`."""
        return np.asarray(getattr(self.structure_, "edges", np.zeros((0, 2), dtype=np.int64)))

    @property
    def pair_coef_(self) -> Array:
        """Weights of the pairs' tables, of shape (n_edges, 2, 2)."""
        return self._row_weights(self.weights_).shared_weights.reshape(-1, 2, 2)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags


def read_labels(y: LabelSets) -> tuple[str, Array | list[set[str | int]]]:
    """Return the form of outputs, "matrix", "vector" or "sets", and the matrix or the set of each example."""
    form = _label_form(y)
    if form == "matrix":
        return form, sparse.csr_array(y).toarray() if sparse.issparse(y) else np.asarray(y)
    if form == "sets":
        return form, [set(one) for one in as_list(y, "y")]
    values = np.asarray(y)
    if values.dtype.kind == "f" and not (np.isfinite(values).all() and (values == np.rint(values)).all()):
        raise ValueError("y is continuous or has NaN; labels are integers or strings.")
    return form, [{label} for label in values.tolist()]


def _label_form(y: LabelSets) -> str:
    if sparse.issparse(y):
        return "matrix"
    if not isinstance(y, np.ndarray) and hasattr(y, "__array__"):
        y = np.asarray(y)
    if isinstance(y, np.ndarray) and y.dtype != object:
        return "matrix" if y.ndim == 2 else "vector"
    examples = as_list(y, "y")
    if all(np.ndim(one) == 0 and not isinstance(one, set | frozenset) for one in examples):
        return "vector"
    if any(isinstance(one, set | frozenset | tuple) for one in examples):
        return "sets"
    lengths = {len(one) for one in examples}
    looks_binary = len(lengths) == 1 and all(
        isinstance(v, int | float | bool | np.number) and v in (0, 1) for one in examples for v in one
    )
    return "matrix" if looks_binary and lengths != {0} else "sets"


def _sorted_labels(sets: list[set[str | int]]) -> Array:
    labels = set().union(*sets)
    if not labels:
        raise ValueError("y names no label at all.")
    if len({isinstance(label, str) for label in labels}) > 1:
        raise ValueError("y mixes strings and numbers as labels; use one of the two.")
    return np.array(sorted(labels))


def membership(sets: list[set[str | int]], classes: Array) -> Array:
    """Return the 0/1 matrix of the classes that each set holds."""
    position = {label: k for k, label in enumerate(classes.tolist())}
    on = np.zeros((len(sets), len(position)), dtype=np.int64)
    for row, one in zip(on, sets):
        row[[position[label] for label in one]] = 1
    return on
