"""Predict costs, then decide: trained for the decision."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, cast

import numpy as np
from numpy.typing import ArrayLike

from structlearn.core.contract import Array, Shape
from structlearn.core.memory import Memory
from structlearn.core.sentences import ParameterError
from structlearn.estimators.base import StructuredEstimator
from structlearn.estimators.choices import check_number, cost_options, one_of, threads
from structlearn.estimators.decisions.costs import Costs, check_one_each, cost_arrays
from structlearn.estimators.decisions.early_stopping import ValidationChoice, ValidationRegret, set_aside
from structlearn.estimators.decisions.features import (
    has_part_rows,
    part_scoring,
    row_scoring,
    scaled_rows,
)
from structlearn.estimators.decisions.layout import (
    DecisionExamples,
    Instances,
    best_decisions,
    stack_if_alike,
    structure_of_all,
)
from structlearn.estimators.decisions.noise import with_noise
from structlearn.estimators.decisions.rows import unpack_rows
from structlearn.estimators.decisions.training import DecisionTraining
from structlearn.estimators.decisions.two_stage import fit_two_stage
from structlearn.estimators.files.attributes import StoredForm, count
from structlearn.estimators.inputs.checking import check_sample_weight, stack_examples, summed_duplicates
from structlearn.estimators.mapped import MappedRows
from structlearn.estimators.scikit import Rows, check_is_fitted, drawn_seed
from structlearn.estimators.training.fresh_fit import fresh_fit, keep_layout, of_fit
from structlearn.estimators.training.running import EstimatorTraining, TrainingProblem, training_of
from structlearn.estimators.weights.row_weights import RowWeights
from structlearn.metrics import normalized_regret
from structlearn.problem.registry import DECISIONS
from structlearn.scoring import Scoring
from structlearn.solvers.solution import History, Row
from structlearn.structures import OwnStructure, Structure, as_structure
from structlearn.structures.base import SparseVertices, answering
from structlearn.structures.refusing import refuse_wrong_oracle


@dataclass(kw_only=True, eq=False, repr=False)
class DecisionPredictor(MappedRows, StructuredEstimator[Structure]):
    """Predicts costs c_hat = X B from features, and decides by them: the z of least <c_hat, z>.

    The SPO+ loss (Elmachtoub and Grigas 2022) bounds the regret of the decision, <c, z(c_hat)> - <c, z(c)>,
    from above. It is the structural hinge with the true costs as costs of parts, so that training ends with a
    certificate. Docs: docs/decisions.md.

    Parameters
    ----------
    structure : object
        What may be decided: one of `structlearn.structures` (`ShortestPath`, `Knapsack`, `TopK` ...), or an
        oracle of your own, as for `StructuredPredictor`.
    loss : {"spo+", "imitation", "sparsemax", "perturbed", "two-stage"}
        "imitation" is the structural hinge with Hamming costs, which sees the best decisions alone, and
        "sparsemax" its smooth relative; "perturbed" is the Fenchel-Young loss of noisy decisions, estimated
        with `n_samples` draws; "two-stage" fits the costs by least squares, whatever they are used for.
    alpha : float
        The factor of the predicted costs in the loss, 2 in SPO+. Together with `regularization` it says how
        far predicted costs may exceed the true ones.
    sense : {"min", "max"}
        Whether costs are to be small, or what is predicted are values that are to be large.
    regularization : float or "auto"
        lambda in P(B) = lambda/2 ||B||^2 + mean loss. "auto" is in proportion to P(0), to the mean squared
        length of a row of features, and to one over that of the costs; `regularization_` is what it was.
    tol : float
        Training ends when the duality gap is at most this share of P(0).
    n_samples, noise : int, float
        Draws of Gaussian noise per example, and its standard deviation, for loss="perturbed".
    early_stopping : bool
        Leave `validation_fraction` of the examples out, and take the weights of the least regret on them
        among those that training has evaluated: the optimum of SPO+ is not the least regret.
    validation_fraction : float

    Attributes
    ----------
    coef_ : ndarray of shape (n_parts, n_features), or (n_features,) where each part has features of its own
        B, the weights of the predicted costs.
    intercept_ : ndarray of shape (n_parts,), or float
    regularization_ : float
    n_features_in_, weights_, certificate_, history_, loss_

    Examples
    --------
    >>> import numpy as np
    >>> from structlearn import DecisionPredictor
    >>> from structlearn.structures import ShortestPath
    >>> paths = ShortestPath([(0, 1), (1, 3), (0, 2), (2, 3)], source=0, target=3)
    >>> X = np.array([[0.0], [1.0], [0.2], [0.8]])  # rain; the upper road is longer, but dry
    >>> costs = np.hstack([np.full((4, 2), 2.0), 1 + 3 * X, 1 + 3 * X])
    >>> model = DecisionPredictor(paths, random_state=0).fit(X, costs)
    >>> model.predict([[0.1], [0.9]]).tolist()
    [[0, 0, 1, 1], [1, 1, 0, 0]]
    """

    structure: object = field(default=None, kw_only=False)
    loss: str = "spo+"
    alpha: float = 2.0
    sense: str = "min"
    regularization: float | str = "auto"  # type: ignore[assignment]
    n_samples: int = 10
    noise: float = 1.0
    early_stopping: bool = False
    validation_fraction: float = 0.2

    regularization_: float = field(init=False)
    #: the axes of the parts of an example, where all have the same; () where they differ
    part_shape_: tuple[int, ...] = field(init=False)
    #: whether each part has features of its own
    _of_parts: bool = field(init=False)
    #: what early stopping compares, while training runs
    validation_: ValidationChoice | None = field(init=False)

    trained_by: ClassVar[type[EstimatorTraining[Any]]] = DecisionTraining
    of_layout: ClassVar[tuple[str, ...]] = ("sense", "alpha")
    of_cost: ClassVar[tuple[str, ...]] = ("cost",)
    #: Whether a model may do without a structure of its own, since each example may bring one.
    takes_instances: ClassVar[bool] = True
    output_kind: ClassVar[str] = DECISIONS
    _stored: ClassVar[StoredForm] = StoredForm(
        {"n_features_in_": count, "part_shape_": [count], "_of_parts": bool, "regularization_": float}
    )

    # ---- training ------------------------------------------------------------------------------------------

    def fit(
        self,
        X: Any,
        costs: Costs,
        sample_weight: ArrayLike | None = None,
        *,
        instances: Instances = None,
        known_costs: Costs | None = None,
        validation: tuple[Any, Costs] | None = None,
    ) -> DecisionPredictor:
        """Train on features and on what each part turned out to cost.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n, d); or of shape (n, parts, d), or a list
            One row per example, on which every part has weights of its own; or one row per part, whose
            weights all parts share (a list of (parts_i, d) arrays where examples differ in size).
        costs : array-like of shape (n, parts), or a list of arrays
            What each part costs (with sense="max", what it is worth), all of it.
        sample_weight : array-like of shape (n,), optional
        instances : sequence of structures, optional
            One per example, all of one class, where examples have graphs, weights or capacities of their own;
            for an oracle of your own with `maximize(theta, x)`, the x of each example.
        known_costs : as costs, optional
            The part of the costs that is known beforehand; the rest is predicted.
        validation : (X, costs), optional
            Examples for early stopping, in the place of those that it would leave out of training. X may be
            `structlearn.estimators.decisions.rows.DecisionRows`, with known costs and instances.
        """
        with fresh_fit(self):
            self.check_parameters()
            self.validation_ = None
            X, instances, known_costs = unpack_rows(X, instances, known_costs)
            true = cost_arrays(costs)
            asked = self._laid_out(X, true, instances)
            check_one_each(true, asked.scoring.n_examples)
            weight = check_sample_weight(sample_weight, asked.scoring.n_examples)
            known = self._flat_known_costs(known_costs, asked)
            flat = asked.flatten(true, "costs")
            with answering(asked.structure):
                self._train(asked, flat, known, weight, validation)
            self.validation_ = None
            if instances is not None:  # those of other examples are others
                self.structure_ = cast(Structure, self.structure and as_structure(self.structure))
        return self

    def _train(
        self,
        asked: DecisionExamples,
        costs: Array,
        known: Array,
        weight: Array | None,
        validation: tuple[Any, Costs] | None,
    ) -> None:
        """Find the best decisions, and train by them and the costs."""
        gold = self._gold(asked, costs)
        if self.chosen_loss().name == "two-stage":
            self._fit_two_stage(asked, costs - known, weight)
            return
        if self.early_stopping:
            regret = ValidationRegret(asked, gold, costs, self._factor, known, threads(self.n_jobs))
            weight, self.validation_ = self._choose_by(regret, weight, validation)
        self._fit_hinge(asked, costs, known, gold, weight)

    def _choose_by(
        self, regret: ValidationRegret, weight: Array | None, given: tuple[Any, Costs] | None
    ) -> tuple[Array | None, ValidationChoice]:
        """Return weights of training examples, and what chooses by those left out, or by those given."""
        if given is None:
            return set_aside(regret, self.validation_fraction, weight, drawn_seed(self.random_state))
        X, instances, known_costs = unpack_rows(given[0], None, None)
        asked, true = self._asked_about(X, instances), cost_arrays(given[1])
        check_one_each(true, asked.scoring.n_examples)
        costs = asked.flatten(true, "costs")
        gold = best_decisions(asked.oracle(regret.n_jobs), np.sign(self._factor) * costs)
        known = self._flat_known_costs(known_costs, asked)
        other = ValidationRegret(asked, gold, costs, self._factor, known, regret.n_jobs)
        return weight, ValidationChoice(other, np.arange(len(true)))

    def _fit_hinge(
        self, asked: DecisionExamples, costs: Array, known: Array, gold: SparseVertices, weight: Array | None
    ) -> None:
        problem = TrainingProblem(
            asked.structure,
            asked.scoring,
            gold,
            self._part_costs(asked, costs, gold) + self._factor * known,
            weight,
            memory=Memory(self.memory),
        )
        if self.chosen_loss().name == "perturbed":
            which, problem = with_noise(problem, self.n_samples, self.noise, drawn_seed(self.random_state))
            rows = asked.rows[which.parts if self._of_parts else which.examples]
            shapes, sizes = problem.scoring.shapes[which.examples], np.diff(problem.scoring.start)
            problem = problem._replace(scoring=self._scoring(rows, shapes, sizes[which.examples]))
        training_of(self).run(problem)

    @property
    def usual_losses(self) -> tuple[str, ...]:
        """The loss that "auto" stands for."""
        return ("spo+",)

    @property
    def _factor(self) -> float:
        """What predicted costs are multiplied by in scores: s alpha, by the parameters of the fit."""
        return (-1.0 if of_fit(self, "sense") == "min" else 1.0) * float(of_fit(self, "alpha"))

    def check_parameters(self) -> None:
        """Refuse parameters that `fit` would refuse, without data: ValueError or TypeError."""
        one_of("sense", self.sense, ("min", "max"))
        check_number("alpha", self.alpha, strict=True)
        check_number("noise", self.noise, strict=True)
        if not isinstance(self.n_samples, int | np.integer) or self.n_samples < 1:
            raise ParameterError("{n_samples} must be at least 1; got {given}.", given=repr(self.n_samples))
        if not 0 < self.validation_fraction < 1:
            raise ParameterError(
                "{validation_fraction} must be between 0 and 1; got {given}.",
                given=repr(self.validation_fraction),
            )
        if self.class_weight is not None:
            raise ValueError("DecisionPredictor has no classes to weigh; use sample_weight.")
        super().check_parameters()

    def _part_costs(self, asked: DecisionExamples, costs: Array, gold: SparseVertices) -> Array:
        """Costs of parts in the objective: the true ones, those of mistakes, or none."""
        if self.chosen_loss().name == "spo+":
            return -np.sign(self._factor) * costs
        if self.chosen_loss().name == "imitation":
            return asked.structure.cost_many(gold, asked.scoring.shapes, **cost_options(self.cost))
        return np.zeros_like(costs)

    def _fit_two_stage(self, asked: DecisionExamples, targets: Array, weight: Array | None) -> None:
        n, sizes = asked.scoring.n_examples, np.diff(asked.scoring.start)
        share = np.full(n, 1.0 / n) if weight is None else weight / weight.sum()
        rows = scaled_rows(asked.rows, 1.0, constant=self.fit_intercept)
        table = targets.reshape(-1, 1) if self._of_parts else targets.reshape(n, -1)
        of_rows = np.repeat(share, sizes) if self._of_parts else share
        given = None if isinstance(self.regularization, str) else self.regularization
        found = fit_two_stage(rows, table, of_rows, given, self.tol)
        self.structure_, self.weights_, self.loss_ = (
            asked.structure,
            found.weights.ravel(),
            self.chosen_loss().name,
        )
        self.certificate_, self.history_ = found.certificate, History([found.row])
        self.regularization_ = found.regularization
        keep_layout(self)

    def _gold(self, asked: DecisionExamples, costs: Array) -> SparseVertices:
        """Return the best decisions by the true costs; ValueError if there is nothing to decide."""
        sign = np.sign(self._factor)
        gold = best_decisions(asked.oracle(threads(self.n_jobs), to_the_end=True), sign * costs)
        if not gold.index.size:
            other = "max" if self.sense == "min" else "min"
            raise ValueError(
                "The best decision of every example is to take no part, so that there is nothing to learn: "
                f"check the signs of the costs, or give sense={other!r}."
            )
        if isinstance(asked.structure, OwnStructure):
            refuse_wrong_oracle(asked.structure, asked.scoring.shapes, gold)
        return gold

    def _weights_watcher(self, place: Callable[[Array], object]) -> Callable[[Row, Array], object] | None:
        """Return the function that `solve` calls with its weights: for early stopping and other watchers."""
        watch, choice = super()._weights_watcher(place), getattr(self, "validation_", None)
        if choice is None:
            return watch

        def show(row: Row, w: Array) -> None:
            choice.look(w)
            if watch is not None:
                watch(row, w)

        return show

    # ---- examples as they are laid out ---------------------------------------------------------------------

    def _laid_out(self, X: Any, costs: Sequence[Array], instances: Instances) -> DecisionExamples:
        """Check training data, fit the map of rows, and lay all out."""
        self._of_parts = has_part_rows(X)
        rows, axes = self._training_rows(X, costs)
        self.n_features_in_ = rows.shape[1]
        self.part_shape_ = axes[0] if len(set(axes)) == 1 else ()
        if not self._of_parts and not self.part_shape_:
            lengths = sorted({len(one) for one in costs})
            raise ValueError(
                "One row of features per example needs the same parts in all examples; got costs of "
                f"{lengths[0]} and of {lengths[-1]} parts. Give features of parts: a list of 2-D arrays."
            )
        return self._with_structure(self.structure, self.fit_rows(rows, Memory(self.memory)), axes, instances)

    def _with_structure(
        self, given: object, rows: Rows, axes: list[tuple[int, ...]], instances: Instances
    ) -> DecisionExamples:
        structure, shapes = structure_of_all(given, axes, instances)
        sizes = np.array([int(np.prod(one)) for one in axes])
        return DecisionExamples(structure, self._scoring(rows, shapes, sizes), axes, rows)

    def _training_rows(self, X: Any, costs: Sequence[Array]) -> tuple[Rows, list[tuple[int, ...]]]:
        """Return the rows of features, and the axes of each example's parts."""
        if self._of_parts:
            return self._rows_of_parts(X, 1 if costs[0].ndim == 1 else costs[0].ndim)
        rows = summed_duplicates(self._checked_inputs(X, accept_sparse="csr", order="C"))
        check_one_each(costs, rows.shape[0])
        return rows, [one.shape for one in costs]

    def _rows_of_parts(self, X: Any, ndim: int) -> tuple[Rows, list[tuple[int, ...]]]:
        rows, axes = stack_examples(X, ndim=ndim + 1, noun="Example", n_jobs=threads(self.n_jobs))
        return rows, [tuple(one) for one in axes.tolist()]

    def _scoring(self, rows: Rows, shapes: Sequence[Shape] | Array, sizes: Array) -> Scoring:
        is_fitted = hasattr(self, "weights_")
        constant = self._weights.has_constant if is_fitted else self.fit_intercept
        scaled = scaled_rows(rows, self._factor, constant=constant)
        if self._of_parts:
            return part_scoring(scaled, shapes, sizes)
        return row_scoring(scaled, shapes, int(sizes[0]), Memory(self.memory))

    def _flat_known_costs(self, known_costs: Costs | None, asked: DecisionExamples) -> Array:
        if known_costs is None:
            return np.zeros(asked.scoring.start[-1])
        known = cost_arrays(known_costs, "known_costs")
        check_one_each(known, asked.scoring.n_examples, "known_costs")
        return asked.flatten(known, "known_costs")

    # ---- what a fitted model has ---------------------------------------------------------------------------

    @property
    def _n_scores(self) -> int:
        return 1 if self._of_parts else int(np.prod(self.part_shape_))

    @property
    def _weights(self) -> RowWeights:
        return RowWeights(self.weights_, self.row_map.n_scored, self._n_scores)

    @property
    def coef_(self) -> Array:
        """B: weights of the predicted costs."""
        coef = self._weights.coef
        return coef[0] if self._of_parts else coef

    @property
    def intercept_(self) -> Any:
        """Weights of the constant feature; zero where there is none."""
        constant = self._weights.intercept
        return float(constant[0]) if self._of_parts else constant

    def _weight_counts(self) -> set[int]:
        return RowWeights(np.empty(0), self.row_map.n_scored, self._n_scores).sizes

    # ---- answers -------------------------------------------------------------------------------------------

    def _asked_about(self, X: Any, instances: Instances) -> DecisionExamples:
        """Lay examples out that a model is asked about."""
        if has_part_rows(X) != self._of_parts:
            wanted = "one row of features per part" if self._of_parts else "one row of features per example"
            raise ValueError(f"This model was trained on {wanted}; X has other axes.")
        if self._of_parts:
            rows, axes = self._rows_of_parts(X, max(len(self.part_shape_), 1))
        else:
            rows = self._checked_rows(X)
            axes = [self.part_shape_] * rows.shape[0]
        known = getattr(self, "structure_", self.structure)
        return self._with_structure(known, self.row_map.apply(rows), axes, instances)

    def predict(self, X: Any, *, instances: Instances = None, known_costs: Costs | None = None) -> Any:
        """Decide: an (n, parts) array of 0 and 1, or a list where examples differ in their parts."""
        check_is_fitted(self, "weights_")
        X, instances, known_costs = unpack_rows(X, instances, known_costs)
        asked = self._asked_about(X, instances)
        shift = self._factor * self._flat_known_costs(known_costs, asked)
        if self.loss_ == "sparsemax":
            shift -= asked.structure.threshold
        with answering(asked.structure):
            answers = asked.oracle(threads(self.n_jobs)).predict(self.weights_, shift)
            found = [parts.copy() for _, parts in answers]
        decode = asked.structure.decode
        shaped = (one.reshape(axes) for one, axes in zip(found, asked.axes))
        return stack_if_alike([decode(one) for one in shaped], asked.axes)

    def predict_costs(self, X: Any, *, known_costs: Costs | None = None, instances: Instances = None) -> Any:
        """Predict what each part costs, what is known of it included: an (n, parts) array, or a list."""
        check_is_fitted(self, "weights_")
        X, instances, known_costs = unpack_rows(X, instances, known_costs)
        asked = self._asked_about(X, instances)
        factor = self._factor
        flat = asked.scoring.scores(self.weights_, 0, asked.scoring.n_examples) / factor
        flat += self._flat_known_costs(known_costs, asked)
        found = np.split(flat, asked.scoring.start[1:-1])
        return stack_if_alike([one.reshape(axes) for one, axes in zip(found, asked.axes)], asked.axes)

    def best_decisions(self, costs: Costs, *, instances: Instances = None) -> Any:
        """Decide by given costs, such as the true ones: what `predict` is compared with."""
        true = cost_arrays(costs)
        axes = [one.shape for one in true]
        structure, shapes = structure_of_all(getattr(self, "structure_", self.structure), axes, instances)
        sizes = np.array([one.size for one in true])
        nothing = part_scoring(np.zeros((int(sizes.sum()), 1)), shapes, sizes)
        asked = DecisionExamples(structure, nothing, axes, np.empty((0, 1)))
        sign = -1.0 if of_fit(self, "sense") == "min" else 1.0
        flat = sign * asked.flatten(true, "costs")
        with answering(structure):
            found = best_decisions(asked.oracle(threads(self.n_jobs), to_the_end=True), flat)
        dense = (found.dense(i, size).reshape(axes[i]) for i, size in enumerate(sizes))
        return stack_if_alike([structure.decode(one) for one in dense], axes)

    def score(
        self,
        X: Any,
        costs: Costs,
        sample_weight: ArrayLike | None = None,
        *,
        instances: Instances = None,
        known_costs: Costs | None = None,
    ) -> float:
        """Return minus the normalised regret: the sum of regrets over that of the absolute best costs."""
        decided = self.predict(X, instances=instances, known_costs=known_costs)
        true = cost_arrays(costs)
        check_one_each(true, len(decided))
        best = self.best_decisions(true, instances=instances)
        sense = of_fit(self, "sense")
        return -normalized_regret(true, decided, best, sense=sense, sample_weight=sample_weight)
