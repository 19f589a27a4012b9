"""Dependency parsers whose arcs are scored by networks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from structlearn.core.contract import Array
from structlearn.data import Tokens
from structlearn.estimators.inputs.checking import check_same_length, for_no_examples
from structlearn.estimators.scikit import BaseEstimator, check_is_fitted
from structlearn.estimators.training.fresh_fit import fresh_fit
from structlearn.estimators.tree_parser import Parse, Trees, read_trees
from structlearn.metrics import sequence_accuracy
from structlearn.neural.arcs import ArcNetwork
from structlearn.neural.batches import Batch, TextBatches
from structlearn.neural.labelling import encoded
from structlearn.neural.networks import NetworkInputs, train_networks
from structlearn.neural.parameters import NetworkParameters
from structlearn.neural.parser_files import StoredParser
from structlearn.neural.training import torch_settings
from structlearn.problem.regularizers import Shannon, Zero
from structlearn.solvers.clock import counting_seconds
from structlearn.solvers.solution import Certificate, History
from structlearn.structures import NonProjectiveTree, ProjectiveTree
from structlearn.torch import StructuredLayer, StructuredLoss

#: A sentence is a list of tokens, a token a list of strings, one per column.
Sentences = Sequence[Sequence[Sequence[str]]]
#: Words per batch of predictions.
_AT_ONCE = 2000


class _Answers(NamedTuple):
    """What networks say of a batch: its sentences, the mean scores of arcs, and what relations depend on."""

    chosen: Array
    mask: Array
    arcs: Tensor
    states: list[Tensor]
    sizes: Array


@dataclass(kw_only=True, eq=False, repr=False)
class NeuralParser(StoredParser, NetworkParameters, BaseEstimator):
    """Dependency trees over arcs that networks score, and a relation for each arc.

    Networks read the columns of words by a BiLSTM (words also by their characters), and score pairs of words
    by biaffine layers. They are trained as a distribution over all trees, by the matrix-tree theorem, and
    relations by the gold arcs. It answers as `TreeParser` does.

    Parameters
    ----------
    projective : bool
        Whether the arcs of answers may not cross. Training learns from all trees.
    single_root : bool
        Whether exactly one word depends on the root.
    columns : sequence of str
        Names of the strings of a token, the word first.

    Attributes
    ----------
    labels_ : ndarray of str, or None where trees have none
    networks_ : list of torch.nn.Module
    certificate_, history_
        Of the networks: the loss in training, for which no bound but 0 is known.
    """

    columns: Sequence[str] = ("form", "upos", "xpos")
    projective: bool = False
    single_root: bool = True
    n_layers: int = 2
    hidden_size: int = 200
    dropout: float = 0.33
    batch_size: int = 1000

    labels_: Array | None = field(init=False)
    certificate_: Certificate = field(init=False)
    history_: History = field(init=False)

    #: probabilities are those of a distribution over trees
    loss_ = "softmax"

    @property
    def structure_(self) -> ProjectiveTree | NonProjectiveTree:
        """The trees among which answers are."""
        return (ProjectiveTree if self.projective else NonProjectiveTree)(self.single_root)

    def check_parameters(self) -> None:
        """Refuse parameters that `fit` would refuse, without data."""
        self.check_network()

    # ---- training ------------------------------------------------------------------------------------------

    def fit(self, X: Sentences, y: Trees) -> NeuralParser:
        """Train on sentences and trees, afresh: heads (0 is the root), or pairs (heads, labels)."""
        self.check_parameters()
        heads, labels = read_trees(y)
        check_same_length(X, heads)
        tokens = self._tokens(X)
        for i, (one, n) in enumerate(zip(heads, tokens.lengths.tolist())):
            self._check_tree(i, one, n)
        with fresh_fit(self), counting_seconds():
            self._fit_networks(tokens, np.concatenate(heads), labels)
        return self

    def _check_tree(self, i: int, heads: Array, n_words: int) -> None:
        try:
            NonProjectiveTree(self.single_root).encode(heads, (n_words + 1, n_words))
        except ValueError as error:
            raise ValueError(f"Sentence {i}: {error}") from None

    def _fit_networks(self, tokens: Tokens, heads: Array, labels: list[Array] | None) -> None:
        inputs = NetworkInputs.learn(tokens, self.columns, self)
        sizes, batches = inputs.sizes(self), TextBatches(inputs.coder.code(tokens))
        self.labels_, codes = None, np.zeros(len(heads), dtype=np.int64)
        if labels is not None:
            self.labels_, codes = np.unique(np.concatenate(labels), return_inverse=True)
        trees = StructuredLoss(NonProjectiveTree(self.single_root), Shannon(), reduction="sum")

        def make() -> ArcNetwork:
            network = ArcNetwork(sizes, 1 if self.labels_ is None else len(self.labels_))
            inputs.fill(network.encoder)
            return network

        def loss(network: ArcNetwork, chosen: Array, batch: Batch) -> Tensor:
            at, mask = batches.places(chosen)
            gold, states = torch.from_numpy(batches.padded(heads[at], mask)), network(batch)
            found: Tensor = trees(network.arcs(states), gold, sizes=_tree_sizes(batch.lengths.numpy()))
            if labels is None:
                return found
            scores = network.relations_of(states, gold, batch.mask)
            return found + functional.cross_entropy(scores, torch.from_numpy(codes[at]), reduction="sum")

        trained = train_networks(self, batches, make, loss)
        self.networks_, self.coder_ = trained.networks, inputs.coder
        self.certificate_, self.history_ = trained.certificate, trained.history

    def _tokens(self, X: Sentences) -> Tokens:
        return Tokens.from_sentences(X, self.columns)

    # ---- answers -------------------------------------------------------------------------------------------

    @for_no_examples
    def predict(self, X: Sentences) -> list[Array] | list[Parse]:
        """Return the best tree of each sentence: heads or, after training with labels, a `Parse`."""
        check_is_fitted(self, "networks_")
        best = StructuredLayer(self.structure_, Zero())
        found: list[Any] = [np.empty(0, dtype=np.int64)] * len(X)
        if self.labels_ is not None:
            found = [Parse(one, self.labels_[:0]) for one in found]
        for one in self._answers(X):
            heads = [np.asarray(tree) for tree in best.decode(one.arcs, sizes=one.sizes)]
            for i, tree in zip(one.chosen.tolist(), self._with_relations(one, heads)):
                found[i] = tree
        return found

    def _with_relations(self, one: _Answers, heads: list[Array]) -> Sequence[Array | Parse]:
        if self.labels_ is None:
            return heads
        given = torch.from_numpy(TextBatches.padded(np.concatenate(heads), one.mask))
        mask = torch.from_numpy(one.mask)
        with torch.no_grad():
            scores = [
                net.relations_of(states, given, mask) for net, states in zip(self.networks_, one.states)
            ]
        best = self.labels_[torch.stack(scores).mean(0).argmax(1).numpy()]
        ends = np.cumsum([len(tree) for tree in heads])[:-1]
        return [Parse(tree, names) for tree, names in zip(heads, np.split(best, ends))]

    @for_no_examples
    def predict_marginals(self, X: Sentences) -> list[Array]:
        """Return arcs' probabilities, of shape (words + 1, words) each: [h, m - 1], h = 0 for the root."""
        soft = StructuredLayer(self.structure_, Shannon())
        return self._tables(X, lambda one: soft(one.arcs.double(), sizes=one.sizes))

    def decision_function(self, X: Sentences) -> Iterator[Array]:
        """Yield the scores of the arcs of each sentence, of shape (words + 1, words)."""
        check_is_fitted(self, "networks_")
        yield from self._tables(X, lambda one: one.arcs.double()) if len(X) else ()

    def _tables(self, X: Sentences, of: Callable[[_Answers], Tensor]) -> list[Array]:
        """Return a table of arcs per sentence, without the padding of its batch."""
        found = [np.empty((1, 0))] * len(X)
        for one in self._answers(X):
            for i, table, n in zip(one.chosen.tolist(), of(one).numpy(), one.sizes[:, 1].tolist()):
                found[i] = table[: n + 1, :n].copy()
        return found

    @for_no_examples
    def predict_kbest(self, X: Sentences, k: int = 5) -> list[list[tuple[Array | Parse, float]]]:
        """Return the k best trees of each sentence with the scores of their arcs, best first."""
        found = []
        for sentence, theta in zip(X, self.decision_function(X)):
            heads, scores = self.structure_.k_best(theta, k)
            found.append(list(zip(self._labelled(sentence, list(heads)), scores.tolist())))
        return found

    def _labelled(self, sentence: Sequence[Sequence[str]], heads: list[Array]) -> list[Array | Parse]:
        """Return several trees of one sentence with their relations."""
        found: list[Array | Parse] = []
        for one in self._answers([sentence] * len(heads)):
            found += self._with_relations(one, [heads[i] for i in one.chosen])
        return found

    @for_no_examples
    def sample(
        self, X: Sentences, n: int = 1, random_state: int | np.random.Generator | None = None
    ) -> list[Array]:
        """Draw n trees per sentence, of shape (n, words), from the model's distribution."""
        rng = np.random.default_rng(random_state)
        return [self.structure_.sample(theta, n, rng) for theta in self.decision_function(X)]

    def score(self, X: Sentences, y: Trees) -> float:
        """Return the share of words with the right head."""
        predicted = [getattr(one, "heads", one) for one in self.predict(X)]
        return sequence_accuracy(read_trees(y)[0], predicted)

    @for_no_examples
    def encode(self, X: Sentences) -> list[Array]:
        """Return hidden states: per sentence an array of (length, n_networks * 2 * hidden_size), float32."""
        check_is_fitted(self, "networks_")
        with torch_settings(self.n_jobs):
            return encoded([one.encoder for one in self.networks_], self.coder_.code(self._tokens(X)))

    def _answers(self, X: Sentences) -> Iterator[_Answers]:
        """Yield what networks say of sentences with words, in batches."""
        check_is_fitted(self, "networks_")
        batches = TextBatches(self.coder_.code(self._tokens(X)))
        with torch_settings(self.n_jobs), torch.no_grad():
            for chosen, batch in batches.all(_AT_ONCE):
                states = [one(batch) for one in self.networks_]
                arcs = torch.stack([one.arcs(each) for one, each in zip(self.networks_, states)]).mean(0)
                sizes = _tree_sizes(batch.lengths.numpy())
                yield _Answers(chosen, batch.mask.numpy(), arcs, states, sizes)


def _tree_sizes(lengths: Array) -> Array:
    """Return the shapes of the tables of arcs of sentences."""
    return np.stack([lengths + 1, lengths], axis=1)
