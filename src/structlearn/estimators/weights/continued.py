"""More data later: weights of a model before, by the names of features and labels, as a start for the next.

The next problem is that of its own data alone, and so are its certificate and its optimum: what is carried
over only shortens the way.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from dataclasses import replace
from functools import reduce
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np
from scipy import sparse

from structlearn.core.contract import Array
from structlearn.core.sentences import join_sentences
from structlearn.estimators.choices import ON_LONG_SEQUENCES, ON_MANY_LABELS, Auto
from structlearn.estimators.inputs.tag_dictionary import check_candidates, dictionary_of
from structlearn.estimators.inputs.token_features import TokenFeatures
from structlearn.estimators.loss_choice import trained_loss
from structlearn.estimators.training.fresh_fit import forget_attributes, former_of
from structlearn.estimators.training.running import EstimatorTraining, TrainingProblem
from structlearn.estimators.weights.seen_choice import check_features, describe_pairs, seen_in
from structlearn.estimators.weights.sparse_penalty import check_penalty
from structlearn.estimators.weights.step_choice import check_transitions, describe_steps
from structlearn.problem.objective import Objective
from structlearn.scoring import SeenPairs
from structlearn.solvers.bcfw.dense_point import DensePoint
from structlearn.solvers.solution import Certificate, Solution
from structlearn.solvers.solver import Solver
from structlearn.structures import Chain, ConditionedChain, SparseChain, Structure
from structlearn.structures.chain.candidates import CandidateChain

if TYPE_CHECKING:
    from structlearn.estimators.chain import ChainClassifier
    from structlearn.solvers.stopping import Stopping

S = TypeVar("S", bound=Structure)
#: Sequences of at least this mean length are trained by stretches.
LONG = 100
#: At most so many shared parts of dual points, of all sequences together, are kept (8 bytes each).
MOST_SHARED = 1 << 26
#: The same where they are the steps that were seen, not all: such a block takes little time.
MOST_SEEN = 1 << 27


class Former(NamedTuple):
    """A model before: its classes, its weights by row (feature) and class, and those of steps."""

    classes: Array
    rows: Array | sparse.csr_matrix
    intercept: Array
    shared: dict[str, Array]
    solution: Solution
    seen: SeenPairs | None = None

    @classmethod
    def of(cls, model: ChainClassifier) -> Former:
        structure, rows = model.structure_, model.model_.rows
        tables: Mapping[str, Array] = {"transitions": model.transition_coef_}
        if isinstance(structure, Chain):
            tables = structure.shared_tables(rows.shared_weights)
        known = Solution(model.weights_, model.certificate_)
        return cls(model.classes_, model.coef_.T, model.intercept_, dict(tables), known, seen_in(model))


def places_by_name(before: TokenFeatures, now: TokenFeatures) -> Array:
    """Return the column of each feature in the earlier model, -1 for new features."""
    if now.hash_bits is not None or before.hash_bits is not None:
        return places_by_column(before.n_features, now.n_features)
    known, wanted = before.hashes(), now.hashes()
    order = np.argsort(known)
    at = np.minimum(np.searchsorted(known[order], wanted), known.size - 1)
    return np.where(known[order][at] == wanted, order[at], -1)


def places_by_column(n_before: int, n_now: int) -> Array:
    """Return the same for features without names: columns are the same if their number is."""
    return np.arange(n_now) if n_before == n_now else np.full(n_now, -1)


def unrestricted(structure: S | CandidateChain) -> S | Chain:
    """Return the chain that candidates restrict; others as they are."""
    return structure.chain if isinstance(structure, CandidateChain) else structure


class Start(NamedTuple):
    """What the next fit starts at: a model before, and the place there of each column."""

    former: Former
    places: Array


def remember(model: ChainClassifier) -> ChainClassifier | None:
    """Return the model as it is, where the next fit is to go on from it and nothing else is said."""
    there = model.warm_start and hasattr(model, "weights_") and not hasattr(model, "_start")
    return copy(model) if there else None


def go_on(model: ChainClassifier, former: ChainClassifier | None) -> None:
    """Have the fit that runs start at the weights of the model before, by the names of features."""
    if former is None:
        return
    before, now = getattr(former, "features_", None), getattr(model, "features_", None)
    if before is not None and now is not None:
        model.continue_from(former, places_by_name(before, now))
    else:
        model.continue_from(former, places_by_column(former.n_features_in_, model.n_features_in_))


class ContinuedTraining(EstimatorTraining[Chain | ConditionedChain]):
    """Training of a chain: with `warm_start` it goes on from the one before, by names."""

    estimator: ChainClassifier

    def solver_and_stopping(self, auto: Auto | None = None) -> tuple[Solver, Stopping]:
        """Return the solver and the stopping rule, after a look at the penalty as well."""
        check_penalty(self.estimator)
        check_features(self.estimator)
        check_transitions(self.estimator)
        check_candidates(self.estimator)
        return super().solver_and_stopping(auto)

    def auto_for(self, problem: TrainingProblem[Chain | ConditionedChain]) -> Auto:
        """Return what solver="auto" stands for: for smooth losses it depends on labels and lengths."""
        scoring, structure = problem.scoring, unrestricted(problem.structure)
        most = MOST_SEEN if isinstance(structure, SparseChain) else MOST_SHARED
        if scoring.n_examples * scoring.n_shared > most and problem.penalty is None:
            return ON_MANY_LABELS
        plain = type(problem.structure) is Chain and not (structure.start or structure.end)
        long = scoring.shapes[:, 0].mean() >= LONG
        in_memory = problem.memory is None or problem.memory.limit is None
        softmax = trained_loss(self.estimator) == "softmax"
        return ON_LONG_SEQUENCES if plain and long and in_memory and softmax else super().auto_for(problem)

    def fitted_structure(self, structure: Any) -> Any:
        """Return the chain itself; the model has the dictionary that restricts it beside."""
        return unrestricted(structure)

    def warm(self, objective: Objective) -> Solution | None:
        """Return the solution before or, of other data, a start at the weights that are known by name."""
        known, start = super().warm(objective), self._start()
        if start is None or self.estimator.transition_features is not None:
            return known
        if known is not None and known.fits(objective) and self._is_same(start):
            return known
        first = first_weights(start.former, start.places, self.estimator, objective)
        return start_at(objective, first, start.former.solution)

    def describe(self, certificate: Certificate) -> Certificate:
        """Add to the status which pairs and which steps have weights, where not all do."""
        found, pairs = super().describe(certificate), seen_in(self.estimator)
        chain, said = self.estimator.structure_, []
        if pairs is not None:
            said.append(describe_pairs(pairs, len(self.estimator.classes_)))
        if isinstance(chain, SparseChain):
            said.append(describe_steps(chain))
        dictionary = dictionary_of(self.estimator)
        if dictionary is not None:
            about = str(self.estimator.candidates), int(self.estimator.candidate_min_count)
            said.append(dictionary.describe(*about, chain.n_labels))
        return replace(found, status=reduce(join_sentences, said, found.status))

    def _start(self) -> Start | None:
        """Return the start that this fit was given, or has found."""
        found = vars(self.estimator).get("_start", former_of(self.estimator).get("_start"))
        forget_attributes(self.estimator, "_start")
        return found

    def _is_same(self, start: Start) -> bool:
        """Whether weights and dual points mean what they meant before."""
        same = np.array_equal(start.former.classes, self.estimator.classes_)
        same = same and same_pairs(start.former.seen, seen_in(self.estimator))
        return same and np.array_equal(start.places, np.arange(len(start.places)))


def first_weights(former: Former, places: Array, model: ChainClassifier, objective: Objective) -> Array:
    """Return the first weights of a new problem: those known before, zero for new ones."""
    structure, n_weights, k = unrestricted(objective.structure), objective.n_weights, len(model.classes_)
    w = np.zeros(n_weights)
    position = {label: j for j, label in enumerate(former.classes.tolist())}
    both = [(j, position[label]) for j, label in enumerate(model.classes_.tolist()) if label in position]
    if not both:
        return w
    new, old = map(np.array, zip(*both))
    seen = seen_in(model)
    local = w[: n_weights - structure.n_shared]
    if seen is None:
        fill_table(local.reshape(-1, k), former, places, new, old)
    else:
        fill_pairs(local, seen, former, places, new, old)
    shared = w[n_weights - structure.n_shared :]
    if not isinstance(structure, Chain):
        return w
    tables = structure.shared_tables(shared)
    for name, table in tables.items():
        if name in former.shared:
            table[np.ix_(*[new] * table.ndim)] = former.shared[name][np.ix_(*[old] * table.ndim)]
    shared[:] = structure.shared_from(tables)
    return w


def fill_table(W: Array, former: Former, places: Array, new: Array, old: Array) -> None:
    """Set W, a row per feature and the constant: labels `new` were labels `old` of the model before."""
    known = np.flatnonzero(places >= 0)
    before = former.rows[places[known]][:, old]
    W[np.ix_(known, new)] = before if isinstance(before, np.ndarray) else before.toarray()
    if len(W) > len(places):
        W[len(places), new] = former.intercept[old]


def fill_pairs(w: Array, seen: SeenPairs, former: Former, places: Array, new: Array, old: Array) -> None:
    """Set the weights of pairs that were seen, and of the constant, likewise."""
    label_before = np.full(int(max(seen.label.max(initial=0), new.max())) + 1, -1)
    label_before[new] = old
    feature = places[np.repeat(np.arange(seen.n_features), np.diff(seen.first))]
    label = label_before[seen.label]
    known = np.flatnonzero((feature >= 0) & (label >= 0))
    w[known] = np.asarray(former.rows[feature[known], label[known]]).ravel()
    if w.size > seen.label.size:
        w[seen.label.size + new] = former.intercept[old]


def same_pairs(before: SeenPairs | None, now: SeenPairs | None) -> bool:
    """Whether the same pairs of features and labels have weights."""
    if before is None or now is None:
        return before is now
    return np.array_equal(before.first, now.first) and np.array_equal(before.label, now.label)


def start_at(objective: Objective, w: Array, before: Solution) -> Solution:
    """Return a start at given weights, with the dual point of the predictions there if the loss is smooth."""
    point = None
    if objective.regularizer.smooth:
        n = objective.scoring.n_examples
        z, h, start = np.empty(objective.point_start[-1]), np.empty(n), objective.point_start
        alone = [(i, i + 1) for i in range(n)]
        for one in objective.oracle.maximizers(
            w, objective.cost, np.ones(n), alone, gold=objective.gold_vertices
        ):
            i = one.first
            z[start[i] : start[i + 1]] = np.concatenate([one.vertices, one.shared])
            h[i] = one.losses.gain
        point = DensePoint.of(objective, z, h)
    return Solution(w, before.certificate, point=point, polytopes=objective.polytopes)
