"""Taggers whose labels are scored by networks and by features of templates."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import torch

from structlearn.core.contract import Array
from structlearn.data import Tokens
from structlearn.estimators.completion.partial_labels import is_partial
from structlearn.estimators.files.persistence import Bundle, load_bundle, save_bundle
from structlearn.estimators.inputs.checking import Stacked, as_list, for_no_examples, label_codes
from structlearn.estimators.inputs.constraints import Constraints, forbidden_steps
from structlearn.estimators.inputs.token_arrays import TokenArrays, has_pairs
from structlearn.estimators.inputs.token_reading import is_named
from structlearn.estimators.scikit import BaseEstimator, check_is_fitted
from structlearn.estimators.training.fresh_fit import fresh_fit
from structlearn.neural.batches import Batch, TextBatches
from structlearn.neural.encoder import EncoderSizes
from structlearn.neural.files import network_notes, network_weights, read_networks
from structlearn.neural.joining import join_chains
from structlearn.neural.labelling import LabellingNetwork, encoded, word_rows
from structlearn.neural.networks import NetworkInputs, train_networks
from structlearn.neural.parameters import NetworkParameters
from structlearn.neural.training import torch_settings
from structlearn.neural.vocabularies import TextCoder
from structlearn.solvers.clock import counting_seconds
from structlearn.storage.model_file import damage_error
from structlearn.storage.schema import check_form
from structlearn.tagging.answers import TaggerAnswers
from structlearn.tagging.featured import Labels, Sentences
from structlearn.tagging.tagger import Tagger

if TYPE_CHECKING:
    from structlearn.tagging.features import Templates, TextFeatures
    from structlearn.tagging.features.resources import DerivedColumns, Resources
    from structlearn.tagging.pipeline import Taggers
    from structlearn.tagging.plan import Plan

#: What its model files say that they hold.
APPLICATION = "NeuralTagger"
#: What they call the weights of networks.
_WEIGHTS = "networks"

#: Parameters that its linear part has, too.
_OF_LINEAR = ("columns", "task", "templates", "constraints", "taggers", "n_jobs", "random_state", "verbose")
#: Those that model files hold beside them.
_OWN: dict[str, object] = {
    "linear_share": float,
    "n_networks": int,
    "epochs": int,
    "hidden_size": int,
    "n_layers": int,
    "dropout": float,
    "word_dropout": float,
    "batch_size": int,
    "learning_rate": float,
    "max_seconds": float | None,
    "verbose": int,
}


class _LinearPart(Tagger):
    """A tagger that keeps the text that it was trained on: its derived columns have not seen their labels."""

    training_text: Tokens

    def learn_text(self, X: Sentences, y: Labels | None) -> tuple[Tokens, Any]:
        found = super().learn_text(X, y)
        self.training_text = found[0]
        return found


@dataclass(kw_only=True, eq=False, repr=False)
class NeuralTagger(NetworkParameters, TaggerAnswers, BaseEstimator):
    """A chain whose labels are scored by networks and, beside them, by the features of a `Tagger`.

        score(x, y) = a score_linear(x, y) + (1 - a) score_network(x, y),    a = linear_share

    The linear part is a `Tagger` with the defaults of its task, trained to its certificate. Networks read
    words, characters and other columns by a BiLSTM, with a CRF on top, and are trained on the same data;
    where the task has columns of usual labels and of context, they read these, too.
    A token is a string (the word) or a tuple of columns. It answers as `Tagger` does.

    Parameters
    ----------
    columns, task, templates, constraints, taggers
        As in `Tagger`: templates are those of the linear part; networks read the columns themselves.
    linear_share : float
        The share of the linear part, at least 0 and less than 1. With 0 it is not trained.

    Attributes
    ----------
    tagger_ : Tagger
        The features, and the chain over them and over the scores of the networks.
    networks_ : list of torch.nn.Module
    linear_certificate_ : dict
        That of the linear part.
    certificate_, history_
        Of the networks: the loss in training, for which no bound but 0 is known.
    classes_

    Examples
    --------
    >>> from structlearn.neural import NeuralTagger
    >>> X, y = [["the", "cat"], ["a", "dog"]] * 10, [["D", "N"], ["D", "N"]] * 10
    >>> tagger = NeuralTagger(random_state=0).fit(X, y)
    >>> [labels.tolist() for labels in tagger.predict([["the", "dog"]])]
    [['D', 'N']]
    """

    columns: Any = ("word",)
    task: str = "tag"
    templates: Templates | None = None
    constraints: Constraints = None
    taggers: Taggers | None = None
    linear_share: float = 0.5
    n_networks: int = 2

    tagger_: Tagger = field(init=False)
    networks_: list[LabellingNetwork] = field(init=False)
    coder_: TextCoder = field(init=False)
    linear_certificate_: dict[str, Any] = field(init=False)

    # ---- training ------------------------------------------------------------------------------------------

    def fit(self, X: Sentences, y: Labels) -> NeuralTagger:
        """Train on sentences (lists of words, or of tuples of `columns`) and lists of labels, afresh."""
        self.check_parameters()
        if not isinstance(X, Tokens):
            as_list(X, "X")
        if is_named(X) or has_pairs(X):
            raise ValueError("Networks read words; features by name and arrays go with Tagger.")
        if is_partial(y):
            raise ValueError("Networks learn whole labels; partly labelled sentences go with Tagger.")
        with fresh_fit(self), counting_seconds():
            linear = self._linear_part()
            linear.prepare(X, y) if self.linear_share == 0 else linear.fit(X, y)
            self._fit_networks(linear, y)
        return self

    def check_parameters(self) -> None:
        """Refuse parameters that `fit` would refuse, without data: ValueError or TypeError."""
        self.check_network()
        if not 0 <= self.linear_share < 1:
            raise ValueError(f"linear_share must be at least 0 and less than 1; got {self.linear_share!r}.")
        self._linear_part().check_parameters()

    def resources(self) -> Resources:
        """Tell which columns the linear part derives."""
        return self._linear_part().resources()

    def _linear_part(self) -> _LinearPart:
        given = {name: getattr(self, name) for name in _OF_LINEAR}
        limit = {} if self.max_seconds is None else {"max_seconds": self.max_seconds / 2}
        return _LinearPart(**given, features="all", chain_options={"transitions": "all", **limit})

    def _fit_networks(self, linear: _LinearPart, y: Labels) -> None:
        tokens, derived = linear.training_text, linear.derived_.parts
        classes, codes, _ = label_codes(y, "sequence")
        columns = [*self.columns, *(name for part in derived for name in part.columns)]
        inputs = NetworkInputs.learn(tokens, columns, self)
        sizes, batches = inputs.sizes(self), TextBatches(inputs.coder.code(tokens))
        forbidden = forbidden_steps(self.constraints, classes)

        def make() -> LabellingNetwork:
            network = LabellingNetwork(sizes, len(classes), forbidden)
            inputs.fill(network.encoder)
            return network

        def loss(network: LabellingNetwork, chosen: Array, batch: Batch) -> torch.Tensor:
            at, mask = batches.places(chosen)
            return network.loss(batch, torch.from_numpy(batches.padded(codes[at], mask)))

        trained = train_networks(self, batches, make, loss)
        self.networks_, self.coder_ = trained.networks, inputs.coder
        share = self.linear_share
        self.linear_certificate_ = linear.certificate_.as_dict() if share else {}
        chain = join_chains(linear.chain_ if share else None, classes, linear.features_.n_features, self)
        chain.certificate_, chain.history_ = trained.certificate, trained.history
        linear.chain_, linear.n_arrays_ = chain, len(classes)
        linear.array_names_ = [f"networks={label}" for label in classes.tolist()]
        del linear.training_text
        self.tagger_ = linear

    # ---- answers: those of a chain over the features and over the scores of the networks -------------------

    def rows(self, X: Sentences) -> Stacked:
        """Return the features of sentences and the networks' scores of labels, a row per word."""
        check_is_fitted(self, "tagger_")
        if has_pairs(X):
            raise ValueError("Networks read words; give sentences without arrays beside them.")
        tokens = self.tagger_.text(X)
        return TokenArrays.stacked(self._label_scores(tokens)).beside(self.tagger_.word_rows(tokens))

    def _label_scores(self, tokens: Tokens) -> Array:
        batches, n = TextBatches(self.coder_.code(tokens)), len(self.classes_)
        with torch_settings(self.n_jobs):
            found = [word_rows(one, batches, n) for one in self.networks_]
        return np.asarray(np.mean(found, axis=0, dtype=np.float32))

    @for_no_examples
    def encode(self, X: Sentences) -> list[Array]:
        """Return hidden states: per sentence an array of (length, n_networks * 2 * hidden_size), float32.

        `ChainClassifier` takes them as features, and `Tagger` beside its own, as pairs (words, array): the
        last layer is then trained to a certificate.
        """
        check_is_fitted(self, "tagger_")
        with torch_settings(self.n_jobs):
            return encoded([one.encoder for one in self.networks_], self.coder_.code(self.tagger_.text(X)))

    def word_rows(self, text: Tokens) -> Stacked:
        """Return the features of a text without the networks' scores."""
        return self.tagger_.word_rows(text)

    def text(self, X: Sentences) -> Tokens:
        """Return sentences of words with all columns that are looked at."""
        return self.tagger_.text(X)

    def _fitted_estimator(self) -> Any:
        check_is_fitted(self, "tagger_")
        return self.tagger_.chain_

    @property
    def chain_(self) -> Any:
        """The chain over the features and over the scores of the networks."""
        return self._fitted_estimator()

    @property
    def derived_(self) -> DerivedColumns:  # type: ignore[override]
        """What makes further columns of words."""
        return self.tagger_.derived_

    @property
    def features_(self) -> TextFeatures:
        """The features of templates."""
        found: TextFeatures = self.tagger_.features_
        return found

    #: arrays beside words, of which it takes none
    n_arrays_ = 0

    # ---- files ---------------------------------------------------------------------------------------------

    def save(self, path: str | Path) -> None:
        """Write the tagger as one safetensors file, which `structlearn predict` reads, too."""
        save_bundle(self.bundle(), path)

    def bundle(self, plan: Plan | None = None) -> Bundle:
        check_is_fitted(self, "tagger_")
        found, sizes = self.tagger_.bundle(plan), self.networks_[0].encoder.sizes
        own = {
            "application": APPLICATION,
            "neural": {name: getattr(self, name) for name in _OWN},
            "linear_certificate": self.linear_certificate_,
            **network_notes(sizes, len(self.networks_)),
        }
        return replace(
            found,
            notes=found.notes | own,
            texts=found.texts | self.coder_.texts(),
            arrays=found.arrays | {_WEIGHTS: network_weights(self.networks_)},
        )

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a tagger that `save` or `structlearn train tag | chunk | ner --model neural` wrote."""
        bundle = load_bundle(path)
        if bundle.notes.get("application") != APPLICATION:
            raise ValueError(f"{path} holds no tagger with networks; use structlearn.load.")
        try:
            return cls.of(bundle)
        except ValueError as error:
            raise damage_error(path, error) from None

    @classmethod
    def of(cls, bundle: Bundle) -> Self:
        """Return the tagger of a model file; ValueError if its notes are of none."""
        tagger, notes = Tagger.of(bundle), bundle.notes
        check_form(notes.get("neural"), _OWN, "notes.neural")
        check_form(notes.get("linear_certificate"), dict[str, Any], "notes.linear_certificate")
        if _WEIGHTS not in bundle.arrays or tagger.n_arrays_ != len(tagger.classes_):
            raise ValueError("it lacks networks, or their scores among its features")
        of_tagger = ("columns", "task", "templates", "constraints", "taggers", "random_state")
        shared = {name: getattr(tagger, name) for name in of_tagger}
        self = cls(**shared, **notes["neural"], n_jobs=tagger.chain_.n_jobs)
        self.tagger_, self.linear_certificate_ = tagger, notes["linear_certificate"]
        self.coder_ = TextCoder.from_texts(bundle.texts)
        steps = forbidden_steps(tagger.constraints, tagger.classes_)

        def make(sizes: EncoderSizes) -> LabellingNetwork:
            return LabellingNetwork(sizes, len(tagger.classes_), steps)

        self.networks_ = read_networks(notes, self.coder_, bundle.arrays[_WEIGHTS], make)
        return self
