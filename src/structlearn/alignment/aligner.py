"""The word aligner: statistics of bitext, features of edges, a matching learned from gold links.

theta_ij = <w, x_ij>,    links = argmax over matchings z of <theta, z>
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain, compress
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from structlearn.alignment.files.storage import read_aligner, write_aligner
from structlearn.alignment.gold.confidence import USUAL, CalibratedLinks, held_out_weights
from structlearn.alignment.gold.features import STRONG, EdgeFeatures, link_feature_names
from structlearn.alignment.gold.gold_pairs import GoldViews, check_links, gold_of
from structlearn.alignment.gold.identical import identical_links
from structlearn.alignment.gold.learning import (
    LEARNERS,
    Setting,
    Validation,
    choose_setting,
    confidence_slope,
    reread,
    settings_of,
)
from structlearn.alignment.gold.new_pairs import OtherText, features_as_new, other_text
from structlearn.alignment.gold.other_kind import linked_shares
from structlearn.alignment.gold.readings import AGAIN
from structlearn.alignment.gold.vectors import (
    MappedVectors,
    Vectors,
    Words,
    known_vectors,
    nearest_links,
)
from structlearn.alignment.gold.votes import Votes, voted_pairs, votes_of
from structlearn.alignment.gold.words import GoldWords, count_gold_words, gold_surplus, no_gold_words
from structlearn.alignment.linking import LinkDrawing
from structlearn.alignment.links import Link, Links, table_links
from structlearn.alignment.statistics.statistics import AlignmentStatistics
from structlearn.alignment.text.balance import link_threshold, surplus
from structlearn.alignment.text.pairs import LengthLimit
from structlearn.alignment.text_statistics import TextStatistics
from structlearn.alignment.uses.uses import AlignerUses
from structlearn.core.contract import Array
from structlearn.core.sentences import ParameterError
from structlearn.estimators.choices import check_number, one_of
from structlearn.estimators.scikit import BaseEstimator, check_is_fitted
from structlearn.solvers.checkpoint import Checkpoint
from structlearn.solvers.solution import Certificate, History
from structlearn.structures import Matching

#: No word has this many links: nothing limits the unsupervised rule.
_UNBOUND = 1000
_NOTHING_SURE = "No gold link is sure: they teach nothing, and links are drawn as without gold links."


@dataclass(kw_only=True, eq=False, repr=False)
class Aligner(LinkDrawing, CalibratedLinks, AlignerUses, TextStatistics, BaseEstimator):
    """Word aligner, trained on raw bitext and, if there are any, on gold links.

    Parameters
    ----------
    fertility : int, optional
        The most links of a word; 1 is one-to-one. By default 2 with gold links, without them as many as the
        posteriors allow.
    loss : "softmax", "hinge" or "auto"
        How gold links are learned: by the log-loss of edges, by the hinge over matchings, or by the
        better one in cross-validation.
    regularization, missed : float, optional
        Lambda per gold pair, and the cost of a missed link (with the log-loss 1.5 spurious ones). Otherwise
        they are chosen by cross-validation inside the gold pairs, by their alignment error rate.
    spurious : float
        The cost of a spurious link.
    pseudo_gold : bool or "nearest"
        Without gold links: whether to train on the confident links of the unsupervised aligner, or on those
        of words whose vectors are each other's nearest.
    map_vectors : bool
        Whether the vectors of the two sides are of two spaces. Then an orthogonal map is learned from the
        translations that the statistics are sure of.
    tokenize : "none", "simple", "characters", "moses", "icu" or "auto"; or one per side
        How texts are split, if pairs are texts instead of lists of words; "auto" goes by their script. The
        model remembers it, and splits new text in the same way.
    source_language, target_language : str
        Such as "en", for tokenizers that ask for it.
    lowercase, strip_accents : bool
        How words are looked up in the statistics; the text itself stays as it is. Accents, upper case and
        other characters that the text has not are not looked up either, see `TextForm`.
    min_probability : float
        Translations that are less likely in both directions are left out of the model.
    folds : int
        Parts of the cross-validation.
    tol, max_passes : float
        Training ends at this duality gap, or after this many passes, with a warning.
    max_length : int
        Pairs with a side of more words are left out of training, and have no links in prediction; a warning
        says how many there were. Time grows with the product of the lengths, and more.
    memory : int or str, optional
        Most memory that the statistics shall take, such as "1GB": the text then goes to working files in
        the folder for temporary files, and rare pairs of words that do not fit are passed over.
    checkpoint : path or `structlearn.solvers.Checkpoint`, optional
        Where the statistics are kept after each iteration, to go on from.
    n_jobs : int
        Threads for the statistics, and for batches of pairs that are aligned; the results are the same.
    random_state : int, RandomState or None

    Attributes
    ----------
    statistics_ : AlignmentStatistics
    forms_ : pair of TextForm
        How the words of both sides are looked up.
    weights_ : ndarray of shape (n_features,), named by `feature_names_`
    first_weights_ : ndarray, or None without gold links
        Those of the first reading, of the features that do not begin with "again".
    structure_ : Matching
    certificate_ : Certificate, or None without training on links
    validation_ : list of Validation
        Settings and their alignment error rates in cross-validation, the chosen one first, or none.
    aer_, text_aer_ : float or None
        Those of the chosen one: on new pairs, and on pairs of the text that the statistics are of, where the
        gold pairs were counted with it. With `statistics`, `aer_` is of pairs as these know them.
    n_voters_ : int
        Other aligners whose links the model weighs.
    vectors_, mapped_ : pair of WordVectors, MappedVectors
        Those of words that the statistics know, in one space; and what is known of a map that was learned.
    slope_ : float
        Confidences are the projection of `slope_` theta + 1/2 onto the matchings' polytope.

    Examples
    --------
    >>> from structlearn import Aligner
    >>> text = ["the house|la maison", "the car|la voiture", "a house|une maison", "a car|une voiture"]
    >>> pairs = [tuple(side.split() for side in line.split("|")) for line in text]
    >>> sorted(Aligner(random_state=0).fit(pairs).predict(pairs[:1])[0])
    [(0, 0), (1, 1)]
    """

    fertility: int | None = None
    loss: str = "softmax"
    regularization: float | None = None
    missed: float | None = None
    spurious: float = 1.0
    pseudo_gold: bool | str = False
    map_vectors: bool = False
    tokenize: str | Sequence[str] = "none"
    source_language: str = ""
    target_language: str = ""
    lowercase: bool = True
    strip_accents: bool = False
    min_probability: float = 1e-5
    folds: int = 5
    tol: float = 1e-2
    max_passes: float = 1000
    max_length: int = 200
    memory: int | str | None = None
    checkpoint: str | PathLike[str] | Checkpoint | None = None
    n_jobs: int = 1
    random_state: int | np.random.RandomState | None = None

    def fit(
        self,
        pairs: Sequence[Words],
        links: Sequence[Links | Iterable[Link]] | None = None,
        bitext: Iterable[Words] | None = None,
        *,
        statistics: AlignmentStatistics | None = None,
        vectors: Vectors | None = None,
        earlier: Aligner | None = None,
        votes: Votes | None = None,
    ) -> Aligner:
        """Train.

        Parameters
        ----------
        pairs : sequence of (source words, target words)
        links : sequence of Links or of sets of (source, target), optional
            Gold links of the pairs, as `Links` or as `predict` returns them; those of sets are sure.
        bitext : iterable of (source words, target words), optional
            More text for the statistics, which are of these pairs too, but for gold pairs where there is
            much of it (see `new_pairs`); it is read once, as a stream.
        statistics : AlignmentStatistics, optional
            Those of an earlier fit, used as they are.
        vectors : pair of WordVectors, optional
            Of both sides, in one space unless `map_vectors`: the cosines of two words, and of what is around
            them, are four more features. The model keeps the vectors of the words that its statistics know.
        earlier : Aligner, optional
            A model of earlier text that this text continues: its counts go on, and its text's form holds.
            Of its gold links nothing is kept.
        votes : sequence of voters, optional
            Links of other aligners for the pairs with gold links: of each voter a sequence of sets, of
            `Links`, or of dicts from links to scores between 0 and 1. Gold links learn what they are worth,
            and new pairs are aligned with votes of the same aligners.

        """
        if links is not None and len(links) != len(pairs):
            raise ValueError(f"{len(pairs)} pairs but links of {len(links)} were given.")
        if statistics is not None and earlier is not None:
            raise ValueError(
                "Statistics are used as they are, an earlier model is continued; give one of them."
            )
        self._check(vectors)
        if votes and links is None:
            raise ValueError("Gold links learn what votes are worth; give links, or no votes.")
        pairs, bitext = self._split_text(pairs, bitext, earlier)
        pairs = list(voted_pairs(pairs, votes))
        self.n_voters_ = max((len(votes_of(pair)) for pair in pairs), default=0)
        limit = LengthLimit(self.max_length)
        admitted = [limit.admits(*pair) for pair in pairs]
        pairs = list(compress(pairs, admitted))
        gold_links = [
            Links.from_user(one, k) for k, one in compress(enumerate(links or ()), admitted)
        ] or None
        if gold_links and not any(one.sure for one in gold_links):
            warnings.warn(_NOTHING_SURE, stacklevel=2)
            gold_links, self.n_voters_ = None, 0
        more = (pair for pair in bitext if limit.admits(*pair))
        text = self._find_forms(pairs, more, statistics, earlier)
        before = None if earlier is None else earlier.statistics_
        other = OtherText(text, False)
        if gold_links is not None:
            other = other_text(pairs, text)
        counted = [] if other.is_much else pairs
        self.statistics_ = statistics or self.train_statistics(chain(counted, other.pairs), before)
        limit.warn("were left out")
        self.mapped_: MappedVectors | None = None
        self.vectors_: Vectors | None = None
        if vectors is not None:
            self.vectors_, self.mapped_ = known_vectors(
                vectors, self.forms_, self.statistics_, self.map_vectors
            )
        self.use_rule()
        if gold_links is None and not self.pseudo_gold:
            return self
        gap = 0.0
        if gold_links is not None:
            shares = linked_shares(self, pairs, other.first)
            shares.say_if_unlike()
            gap = shares.gap
        features = self.features(pairs)
        known = self._pseudo_links(pairs, features) if gold_links is None else gold_links
        self.structure_ = Matching(capacities=(self.fertility or 2,) * 2)
        check_links(features.bitext, known)
        surplus = None if gold_links is None else gold_surplus(features, gold_links)
        features = self._with_gold_features(pairs, features, surplus)
        new = None
        if surplus is not None and statistics is None and not other.is_much and len(pairs) > 1:
            own = features.bitext.tables(surplus)
            new = features_as_new(self, pairs, other.pairs, before, own)
        written = [self.write_pair(pair) for pair in pairs]
        same = list(identical_links(features.bitext, written, self.statistics_.lexicon))
        gold = GoldViews.of(gold_of(features, known, self.structure_), new, same)
        setting = self._learn(gold, known, gap)
        if gold_links is not None and surplus is not None and len(pairs) > 1:
            held_out = held_out_weights(gold.mix(), setting, self.folds, **self._model_parameters())
            self._calibrate(pairs, features, gold_links, held_out, surplus)
        return self

    def _check(self, vectors: Vectors | None) -> None:
        if self.fertility is not None and self.fertility < 1:
            raise ValueError(f"fertility is at least 1, or None; got {self.fertility}.")
        if self.max_length < 1:
            raise ValueError(f"max_length is at least 1; got {self.max_length}.")
        if self.folds < 2:
            raise ValueError(f"folds is at least 2; got {self.folds}.")
        one_of("loss", self.loss, ["auto", *LEARNERS])
        for name in ("regularization", "missed", "spurious"):
            if getattr(self, name) is not None:
                check_number(name, getattr(self, name), strict=name == "regularization")
        if isinstance(self.pseudo_gold, str):
            one_of("pseudo_gold", self.pseudo_gold, ["nearest"])
            if vectors is None:
                raise ParameterError("{pseudo_gold=nearest} takes links from word vectors; give vectors.")

    def use_rule(self) -> None:
        """Set the weights of the unsupervised aligner: mean > threshold, 1/2 unless a side is far longer."""
        self.feature_names_ = link_feature_names(vectors=self.vectors_ is not None)
        self.weights_ = np.zeros(len(self.feature_names_))
        self.weights_[self.feature_names_.index("constant")] = -self._threshold() / STRONG
        self.weights_[self.feature_names_.index("mean")] = 1.0 / STRONG
        self.structure_ = Matching(capacities=(self.fertility or _UNBOUND,) * 2)
        self.first_weights_: Array | None = None
        self.slope_ = 1.0
        self.confidence_ = USUAL
        self.gold_words_: GoldWords | None = None
        self.certificate_: Certificate | None = None
        self.history_ = History([])
        self.validation_: list[Validation] = []
        self.aer_: float | None = None
        self.text_aer_: float | None = None

    def _threshold(self) -> float:
        return link_threshold(surplus(self.statistics_.source_words, self.statistics_.target_words))

    def _pseudo_links(self, pairs: Sequence[Words], features: EdgeFeatures) -> list[Links]:
        """Return the links of nearest vectors; or the rule's as sure, with a mean above 0.1 as possible."""
        if self.pseudo_gold == "nearest" and self.vectors_ is not None:
            vectors = self.vectors_
            return [Links.of(table_links(nearest_links(self.write_pair(pair), vectors))) for pair in pairs]
        tables = features.bitext.tables(features.mean)
        return [
            Links.of(table_links(table > self._threshold()), table_links(table > 0.1)) for table in tables
        ]

    def _with_gold_features(
        self, pairs: Sequence[Words], features: EdgeFeatures, surplus: Array | None
    ) -> EdgeFeatures:
        """Return the features with those learned from gold links; each pair's without its own links."""
        lexicon = self.statistics_.lexicon
        told = no_gold_words(lexicon)
        if surplus is not None:
            told = count_gold_words(lexicon, features.bitext, surplus)
        self.gold_words_ = told
        self.feature_names_ = link_feature_names(
            vectors=self.vectors_ is not None, taught=True, voters=self.n_voters_
        )
        return self.features(pairs, surplus)

    def _learn(self, gold: GoldViews, links: Sequence[Links], gap: float) -> Setting:
        """Choose a setting and learn the weights; `gap` is between the log odds of links here and in text."""
        shared = self._model_parameters()
        given = self.loss, self.regularization, self.missed, self.spurious
        best, self.validation_ = choose_setting(
            gold, links, settings_of(*given, len(links)), self.folds, **shared
        )
        if self.validation_:
            _, self.aer_, self.text_aer_ = self.validation_[0]
        best = best.with_gap(gap)
        pairs = gold.both()
        again = reread(pairs, **shared)
        model = again.fit(best, **shared)
        self.weights_, self.certificate_, self.history_, _, self.first_weights_ = model
        self.feature_names_ += AGAIN if again.first is not None else ()
        self.slope_ = confidence_slope(again.gold.X.rows @ self.weights_, pairs)
        return best

    def _model_parameters(self) -> dict[str, Any]:
        """Return the parameters that all models of links share."""
        return {
            "structure": self.structure_,
            "tol": self.tol,
            "max_passes": self.max_passes,
            "random_state": self.random_state,
        }

    def save(self, path: str | Path) -> None:
        """Write the model as one safetensors file: statistics, weights, and the rest as JSON."""
        check_is_fitted(self, "weights_")
        write_aligner(self, path)

    @classmethod
    def load(cls, path: str | Path) -> Aligner:
        """Read a model that `save` wrote; no code is executed."""
        return read_aligner(cls, path)
