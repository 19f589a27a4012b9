"""Predict costs, then decide: trained for the decision."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, cast

import numpy as np
from numpy.typing import ArrayLike

from structlearn.core.contract import Array
from structlearn.core.memory import Memory
from structlearn.core.sentences import ParameterError
from structlearn.estimators.choices import check_number, cost_options, one_of, threads
from structlearn.estimators.decisions.base import DecisionEstimator
from structlearn.estimators.decisions.costs import Costs, check_one_each, cost_arrays
from structlearn.estimators.decisions.early_stopping import ValidationChoice, ValidationRegret, set_aside
from structlearn.estimators.decisions.features import part_scoring, scaled_rows
from structlearn.estimators.decisions.layout import (
    DecisionExamples,
    Instances,
    best_decisions,
    refuse_nothing,
    stack_if_alike,
    structure_of_all,
)
from structlearn.estimators.decisions.noise import with_noise
from structlearn.estimators.decisions.rows import unpack_rows
from structlearn.estimators.decisions.training import DecisionTraining
from structlearn.estimators.decisions.two_stage import fit_two_stage
from structlearn.estimators.files.attributes import StoredForm, count
from structlearn.estimators.inputs.checking import check_sample_weight
from structlearn.estimators.scikit import check_is_fitted, drawn_seed
from structlearn.estimators.training.fresh_fit import fresh_fit, keep_layout, of_fit
from structlearn.estimators.training.running import EstimatorTraining, TrainingProblem, training_of
from structlearn.metrics import normalized_regret
from structlearn.problem.registry import DECISIONS
from structlearn.solvers.solution import History, Row
from structlearn.structures import OwnStructure, Structure, as_structure
from structlearn.structures.base import SparseVertices, answering
from structlearn.structures.refusing import refuse_wrong_oracle

if TYPE_CHECKING:
    from structlearn.estimators.training.cluster import Cluster


@dataclass(kw_only=True, eq=False, repr=False)
class DecisionPredictor(DecisionEstimator):
    """Predict what the parts of a decision cost, and take the best decision by these costs.

    Predicts costs c_hat = X B from features, and decides by them: the z of least <c_hat, z>.

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
    positive : bool
        Whether no weight B of the predicted costs may be negative, the intercept's included, whatever the
        sense: a larger feature then never makes a part cheaper (with sense="max", worth less).
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

    loss: str = "spo+"
    regularization: float | str = "auto"  # type: ignore[assignment]
    positive: bool = False
    n_samples: int = 10
    noise: float = 1.0
    early_stopping: bool = False
    validation_fraction: float = 0.2

    regularization_: float = field(init=False)
    #: what early stopping compares, while training runs
    validation_: ValidationChoice | None = field(init=False)

    trained_by: ClassVar[type[EstimatorTraining[Any]]] = DecisionTraining
    of_cost: ClassVar[tuple[str, ...]] = ("cost",)
    #: Whether a model may do without a structure of its own, since each example may bring one.
    takes_instances: ClassVar[bool] = True
    output_kind: ClassVar[str] = DECISIONS
    packed_as: ClassVar[str] = "decisions"
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
        client: Cluster | None = None,
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
        client : distributed.Client, optional
            Train on its cluster (see `structlearn.distributed`), without instances, known costs, early
            stopping and `positive`, with the loss "spo+", "imitation" or "sparsemax".
        """
        with fresh_fit(self):
            self.check_parameters()
            self.validation_ = None
            X, instances, known_costs = unpack_rows(X, instances, known_costs)
            if client is not None:
                from structlearn.estimators.decisions.cluster import refuse_on_cluster, train_decisions_on

                refuse_on_cluster(self, instances, known_costs)
                train_decisions_on(client, self, X, costs, sample_weight)
                return self
            asked, flat, weight = self._read_examples(X, costs, sample_weight, instances)
            known = self._flat_known_costs(known_costs, asked)
            with answering(asked.structure):
                self._train(asked, flat, known, weight, validation)
            self.validation_ = None
            if instances is not None:  # those of other examples are others
                self.structure_ = cast(Structure, self.structure and as_structure(self.structure))
        return self

    def lay_out(
        self, X: Any, costs: Costs, sample_weight: ArrayLike | None, classes: Array | None = None
    ) -> TrainingProblem[Structure]:
        """Make a training problem of features and costs, as `train_on` asks for it: there are no classes."""
        asked, flat, weight = self._read_examples(X, costs, sample_weight, None)
        gold = self._gold(asked, flat)
        return self._training_problem(asked, self._part_costs(asked, flat, gold), gold, weight)

    def _read_examples(
        self, X: Any, costs: Costs, sample_weight: ArrayLike | None, instances: Instances
    ) -> tuple[DecisionExamples, Array, Array | None]:
        """Return examples, their costs end to end, and example weights."""
        true = cost_arrays(costs)
        asked = self._laid_out(X, true, instances)
        check_one_each(true, asked.scoring.n_examples)
        weight = check_sample_weight(sample_weight, asked.scoring.n_examples)
        return asked, asked.flatten(true, "costs"), weight

    def _training_problem(
        self, asked: DecisionExamples, part_costs: Array, gold: SparseVertices, weight: Array | None
    ) -> TrainingProblem[Structure]:
        memory = Memory(self.memory)
        return TrainingProblem(asked.structure, asked.scoring, gold, part_costs, weight, memory=memory)

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
        refuse_nothing(gold, self.sense)
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
        part_costs = self._part_costs(asked, costs, gold) + self._factor * known
        problem = self._training_problem(asked, part_costs, gold, weight)
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
        found = fit_two_stage(rows, table, of_rows, given, self.tol, positive=self.positive)
        self.structure_, self.weights_ = asked.structure, found.weights.ravel()
        self.loss_ = self.chosen_loss().name
        self.certificate_, self.history_ = found.certificate, History([found.row])
        self.regularization_ = found.regularization
        keep_layout(self)

    def _gold(self, asked: DecisionExamples, costs: Array) -> SparseVertices:
        """Return the best decisions by the true costs."""
        sign = np.sign(self._factor)
        gold = best_decisions(asked.oracle(threads(self.n_jobs), to_the_end=True), sign * costs)
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

    # ---- answers -------------------------------------------------------------------------------------------

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
