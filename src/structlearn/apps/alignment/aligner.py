"""The word aligner: statistics of bitext, features of edges, a matching learned from gold links.

theta_ij = <w, x_ij>,    links = argmax over matchings z of <theta, z>
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain, islice, pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from structlearn.apps.alignment.bitext import Bitext
from structlearn.apps.alignment.clean import without_accents
from structlearn.apps.alignment.features import (
    STRONG,
    EdgeFeatures,
    edge_features,
    feature_names,
)
from structlearn.apps.alignment.learning import (
    MISSED,
    REGULARIZATIONS,
    Gold,
    Setting,
    calibrate,
    cross_validate,
    fit_links,
    gold_of,
)
from structlearn.apps.alignment.links import Link, Links, table_links
from structlearn.apps.alignment.statistics import AlignmentStatistics
from structlearn.apps.alignment.vectors import Vectors, Words, WordVectors
from structlearn.contract import Array
from structlearn.estimators.persistence import read_model, write_model
from structlearn.oracle import Oracle
from structlearn.regularizers import SquaredNorm
from structlearn.scoring import PartScoring
from structlearn.solvers import Certificate, History, Row
from structlearn.structures import Matching

#: Pairs whose features are held at once.
BATCH = 500
#: With two posteriors above 1/4 a word has at most three links: this many never bind the unsupervised rule.
_UNBOUND = 3


class Aligned(NamedTuple):
    """One aligned pair: its links in order and, if asked for, how sure each is."""

    links: list[Link]
    confidence: list[float]


@dataclass(kw_only=True, eq=False, repr=False)
class Aligner(BaseEstimator):
    """Word aligner, trained on raw bitext and, if there are any, on gold links.

    Parameters
    ----------
    fertility : int, optional
        The most links of a word; 1 is one-to-one. By default 2 with gold links, without them as many as the
        posteriors allow.
    regularization, missed : float, optional
        Lambda, and the cost of a missed link where a spurious one costs 1. Those that are not given are
        chosen by cross-validation inside the gold pairs, by their alignment error rate.
    pseudo_gold : bool
        Without gold links: whether to train on the confident links of the unsupervised aligner.
    lowercase, strip_accents : bool
        How words are looked up in the statistics; the text itself stays as it is.
    min_probability : float
        Translations that are less likely in both directions are left out of the model.
    folds : int
        Parts of the cross-validation.
    tol, max_passes : float
        Training ends at this duality gap, or, with a warning, after so many passes.
    n_jobs : int
        Threads for the statistics.
    random_state : int, RandomState or None

    Attributes
    ----------
    statistics_ : AlignmentStatistics
    weights_ : ndarray of shape (n_features,), named by `feature_names_`
    structure_ : Matching
    certificate_ : Certificate, or None without training on links
    validation_ : list of Trial
        Settings and their alignment error rates in cross-validation; `aer_` is the least, or None.
    slope_ : float
        Confidences are the projection of slope_ theta + 1/2 onto the matchings' polytope.
    """

    fertility: int | None = None
    regularization: float | None = None
    missed: float | None = None
    pseudo_gold: bool = False
    lowercase: bool = True
    strip_accents: bool = False
    min_probability: float = 1e-5
    folds: int = 5
    tol: float = 1e-2
    max_passes: float = 1000
    n_jobs: int = 1
    random_state: Any = None

    def fit(
        self,
        pairs: Sequence[Words],
        links: Sequence[Links] | None = None,
        bitext: Iterable[Words] | None = None,
        *,
        statistics: AlignmentStatistics | None = None,
        vectors: Vectors | None = None,
    ) -> Aligner:
        """Train.

        Parameters
        ----------
        pairs : sequence of (source words, target words)
        links : sequence of Links, optional
            Gold links of the pairs.
        bitext : iterable of (source words, target words), optional
            More text for the statistics, which are of these pairs too; it is read once, as a stream.
        statistics : AlignmentStatistics, optional
            Those of an earlier fit, used as they are.
        vectors : pair of WordVectors, optional
            Of both sides, in one space: their cosines are two more features. The model keeps the vectors of
            the words that its statistics know.

        """
        if links is not None and len(links) != len(pairs):
            raise ValueError(f"{len(pairs)} pairs but links of {len(links)} were given.")
        self._check()
        self.statistics_ = statistics or self._statistics(chain(pairs, bitext or ()))
        self.vectors_ = None if vectors is None else self._known(vectors)
        self._take_rule()
        if links is None and not self.pseudo_gold:
            return self
        features = self.features(pairs)
        known = self._confident(features) if links is None else links
        self.structure_ = Matching(capacities=(self.fertility or 2,) * 2)
        self._learn(gold_of(features, known, self.structure_))
        return self

    def _check(self) -> None:
        if self.fertility is not None and self.fertility < 1:
            raise ValueError(f"fertility is at least 1, or None; got {self.fertility}.")
        if self.folds < 2:
            raise ValueError(f"folds is at least 2; got {self.folds}.")

    def _statistics(self, pairs: Iterable[Words]) -> AlignmentStatistics:
        bitext = Bitext.from_pairs(self._written(pair) for pair in pairs if pair[0] and pair[1])
        return AlignmentStatistics.train(bitext, n_jobs=self.n_jobs).prune(self.min_probability)

    def _known(self, vectors: Vectors) -> Vectors:
        """The vectors of words that the statistics know."""
        if vectors[0].matrix.shape[1] != vectors[1].matrix.shape[1]:
            raise ValueError("The vectors of the two sides differ in dimension; map one side with learn_map.")
        statistics = self.statistics_
        words = statistics.source_words.words, statistics.target_words.words
        source, target = (side.among(known) for side, known in zip(vectors, words))
        return source, target

    def _take_rule(self) -> None:
        """The unsupervised aligner, agreement > 1/2, as weights."""
        self.feature_names_ = feature_names(vectors=self.vectors_ is not None)
        self.weights_ = np.zeros(len(self.feature_names_))
        self.weights_[self.feature_names_.index("constant")] = -0.5 / STRONG
        self.weights_[self.feature_names_.index("agreement")] = 1.0 / STRONG
        self.structure_ = Matching(capacities=(self.fertility or _UNBOUND,) * 2)
        self.slope_ = 1.0
        self.certificate_: Certificate | None = None
        self.history_ = History([])
        self.validation_: list[Any] = []
        self.aer_: float | None = None

    def _confident(self, features: EdgeFeatures) -> list[Links]:
        """Links above 1/2 as sure, and whatever has a tenth of the agreement as possible."""
        bitext = features.bitext
        shapes = zip(bitext.source.lengths, bitext.target.lengths)
        tables = [bitext.cells(features.agreement, k, k + 1).reshape(shape) for k, shape in enumerate(shapes)]
        return [Links.of(table_links(table > 0.5), table_links(table > 0.1)) for table in tables]

    def _learn(self, gold: Gold) -> None:
        settings = [
            Setting(regularization, missed)
            for regularization in self._given(self.regularization, REGULARIZATIONS)
            for missed in self._given(self.missed, MISSED)
        ]
        shared = {
            "capacities": self.structure_.capacities,
            "tol": self.tol,
            "max_passes": self.max_passes,
            "random_state": self.random_state,
        }
        best = settings[0]
        if len(settings) > 1 and len(gold.X) > 1:
            self.validation_ = cross_validate(gold, settings, self.folds, **shared)
            best, self.aer_ = min(self.validation_, key=lambda trial: trial.aer)
        model = fit_links(gold, best, **shared)
        self.weights_, self.certificate_ = model.weights_, model.certificate_
        self.history_ = model.history_
        self.slope_ = calibrate(model.weights_, gold)

    @staticmethod
    def _given(value: float | None, choices: Sequence[float]) -> Sequence[float]:
        return choices if value is None else (value,)

    # ---- prediction ---------------------------------------------------------------------------------

    def predict(self, pairs: Iterable[Words]) -> list[frozenset[Link]]:
        """The links of each pair."""
        return [frozenset(one.links) for one in self.align(pairs)]

    def predict_scores(self, pairs: Iterable[Words]) -> list[dict[Link, float]]:
        """The links of each pair with confidences between 0 and 1."""
        return [dict(zip(one.links, one.confidence)) for one in self.align(pairs, scores=True)]

    def align(self, pairs: Iterable[Words], *, scores: bool = False) -> Iterator[Aligned]:
        """Stream the pairs, aligned, with confidences if `scores`."""
        check_is_fitted(self, "weights_")
        stream = iter(pairs)
        while batch := list(islice(stream, BATCH)):
            yield from self._align(batch, scores)

    def confidences(self, pairs: Sequence[Words]) -> list[Array]:
        """The (m, n) table of confidences of each pair."""
        features = self.features(pairs)
        z = self._soft(features)
        lengths = zip(features.bitext.source.lengths, features.bitext.target.lengths)
        return [features.bitext.cells(z, k, k + 1).reshape(shape) for k, shape in enumerate(lengths)]

    def unknown_words(self, pairs: Iterable[Words]) -> tuple[int, int]:
        """How many words of the pairs the statistics lack, and how many there are."""
        bitext = self.statistics_.encode(map(self._written, pairs))
        sides = ((bitext.source, bitext.source_words), (bitext.target, bitext.target_words))
        unknown = sum(int((side.tokens == len(words)).sum()) for side, words in sides)
        return unknown, sum(side.tokens.size for side, _ in sides)

    def _align(self, batch: Sequence[Words], scores: bool) -> Iterator[Aligned]:
        features = self.features(batch)
        bitext = features.bitext
        cells = np.flatnonzero(self._ask(self.structure_.record, features, self.weights_, 0.0) > 0.5)
        pair = np.searchsorted(bitext.cell_start, cells, side="right") - 1
        i, j = np.divmod(cells - bitext.cell_start[pair], bitext.target.lengths[pair])
        links = list(zip(i.tolist(), j.tolist()))
        sure = self._soft(features)[cells].tolist() if scores else []
        ends = np.searchsorted(pair, np.arange(len(batch) + 1)).tolist()
        for first, last in pairwise(ends):
            yield Aligned(links[first:last], sure[first:last])

    def _soft(self, features: EdgeFeatures) -> Array:
        record = SquaredNorm().record(self.structure_)
        return self._ask(record, features, self.slope_ * self.weights_, 0.5)

    @staticmethod
    def _ask(record: Any, features: EdgeFeatures, weights: Array, shift: float) -> Array:
        """What the structure answers to the scores of all cells; pairs without cells are passed over."""
        lengths = features.bitext.source.lengths, features.bitext.target.lengths
        shapes = np.stack(lengths, axis=1)
        shapes = shapes[shapes.all(axis=1)]
        if not len(shapes):
            return np.empty(0)
        oracle = Oracle(record, PartScoring(features.F, shapes))
        shifts = np.full(len(features.F), shift) if shift else None
        answers = oracle.corners(weights, shifts, np.ones(len(shapes)))
        return np.concatenate([answer.vertices for answer in answers])

    def features(self, pairs: Sequence[Words]) -> EdgeFeatures:
        """Features of all edges of the pairs."""
        return edge_features(self.statistics_, [self._written(pair) for pair in pairs], self.vectors_)

    def _written(self, pair: Words) -> tuple[list[str], list[str]]:
        """The words as the statistics have them."""
        lower, strip = self.lowercase, self.strip_accents
        source, target = ([_written(word, lower, strip) for word in side] for side in pair)
        return source, target

    # ---- files --------------------------------------------------------------------------------------

    def save(self, path: str | Path) -> None:
        """Write the model as one safetensors file: statistics, weights, and the rest as JSON."""
        check_is_fitted(self, "weights_")
        parameters = self.get_params(deep=False)
        parameters["random_state"] = None if not isinstance(self.random_state, int) else self.random_state
        header = {
            "estimator": "Aligner",
            "parameters": parameters,
            "structure": {"name": "Matching", "arguments": {"capacities": self.structure_.capacities}},
            "fitted": {"slope_": self.slope_, "aer_": self.aer_, "feature_names_": self.feature_names_},
            "certificate": self.certificate_.as_dict() if self.certificate_ else {},
            "notes": {"task": "align"},
        }
        history = np.array(self.history_.rows, dtype=np.float64).reshape(-1, len(Row._fields))
        tensors = {f"statistics.{name}": value for name, value in self.statistics_.to_arrays().items()}
        tensors |= {f"vectors.{name}": value for name, value in self._vector_arrays().items()}
        tensors |= {"weights": self.weights_, "history": history}
        write_model(path, header, {name: np.ascontiguousarray(value) for name, value in tensors.items()})

    def _vector_arrays(self) -> dict[str, Array]:
        if self.vectors_ is None:
            return {}
        arrays = {}
        for name, side in zip(("source", "target"), self.vectors_):
            text = "".join(f"{word}\n" for word in side.words).encode()
            arrays[f"{name}.words"] = np.frombuffer(text, dtype=np.uint8)
            arrays[f"{name}.matrix"] = side.matrix
        return arrays

    @classmethod
    def load(cls, path: str | Path) -> Aligner:
        """Read a model that `save` wrote; no code is executed."""
        header, tensors = read_model(path)
        if header["estimator"] != "Aligner":
            raise ValueError(f"{path} holds a {header['estimator']}, not an Aligner; use structlearn.load.")
        aligner = cls(**header["parameters"])
        try:
            aligner.statistics_ = AlignmentStatistics.from_arrays(_room(tensors, "statistics."))
            aligner.vectors_ = _read_vectors(_room(tensors, "vectors."))
            aligner._take_rule()
            aligner.structure_ = Matching(capacities=tuple(header["structure"]["arguments"]["capacities"]))
            for name in ("slope_", "aer_", "feature_names_"):
                setattr(aligner, name, header["fitted"][name])
        except (KeyError, TypeError) as error:
            raise ValueError(f"{path} is damaged: it lacks {error}.") from None
        if aligner.feature_names_ != feature_names(vectors=aligner.vectors_ is not None):
            raise ValueError(f"{path} has other features than this version of structlearn; train it again.")
        aligner.weights_ = tensors["weights"]
        if header["certificate"]:
            aligner.certificate_ = Certificate(**header["certificate"])
        return aligner


def _room(tensors: dict[str, Array], prefix: str) -> dict[str, Array]:
    """The arrays whose names begin with `prefix`, by the rest of their names."""
    return {name.removeprefix(prefix): value for name, value in tensors.items() if name.startswith(prefix)}


def _read_vectors(arrays: dict[str, Array]) -> Vectors | None:
    if not arrays:
        return None
    source, target = (
        WordVectors(bytes(arrays[f"{side}.words"]).decode().split("\n")[:-1], arrays[f"{side}.matrix"])
        for side in ("source", "target")
    )
    return source, target


@lru_cache(maxsize=1 << 18)
def _written(word: str, lowercase: bool, strip_accents: bool) -> str:
    word = word.lower() if lowercase else word
    return without_accents(word) if strip_accents else word
