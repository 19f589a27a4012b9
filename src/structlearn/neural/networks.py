"""Networks of one text: what they read of it, and their training, one after the other."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Generic, NamedTuple, TypeVar

import numpy as np
import torch
from torch import Tensor, nn

from structlearn.core.contract import Array
from structlearn.data import Tokens
from structlearn.data.word_vectors import read_vectors
from structlearn.estimators.scikit import drawn_seed
from structlearn.neural.batches import Batch, TextBatches
from structlearn.neural.encoder import Encoder, EncoderSizes
from structlearn.neural.parameters import NetworkParameters
from structlearn.neural.training import EpochRow, NetworkTraining, torch_settings
from structlearn.neural.vocabularies import KnownStrings, TextCoder
from structlearn.solvers.clock import seconds_spent
from structlearn.solvers.solution import Certificate, History, Row

N = TypeVar("N", bound=nn.Module)
#: Words of a file of vectors that are kept beside those of the training text.
_MOST_VECTORS = 50_000
#: Words per batch of predictions.
_AT_ONCE = 4000


@dataclass(frozen=True, eq=False)
class NetworkInputs:
    """What networks read of a text.

    coder : from strings to numbers
    vectors : of words, the first of them zero, (n, vector_size); None where there are none
    """

    coder: TextCoder
    vectors: Array | None = None

    @classmethod
    def learn(cls, tokens: Tokens, columns: Sequence[str], options: NetworkParameters) -> NetworkInputs:
        """Learn the strings of a training text, and read the vectors that go with it."""
        coder = TextCoder.learn(tokens, columns)
        if options.vectors is None:
            return cls(coder)
        own = set(tokens.column(columns[0]).strings)
        found = read_vectors(options.vectors, own | {one.lower() for one in own}, most=_MOST_VECTORS)
        known = KnownStrings.of(dict.fromkeys(found.words, 1))
        rows = found.matrix[found.rows(known.strings)]
        vectors = np.concatenate([np.zeros((1, rows.shape[1]), dtype=np.float32), rows])
        return cls(replace(coder, with_vectors=known), vectors)

    def sizes(self, options: NetworkParameters) -> EncoderSizes:
        """Return the sizes of an encoder of them."""
        return EncoderSizes(
            len(self.coder.words),
            len(self.coder.characters),
            [len(one) for one in self.coder.others],
            len(self.coder.with_vectors) - 1,
            0 if self.vectors is None else self.vectors.shape[1],
            options.hidden_size,
            options.n_layers,
            float(options.dropout),
        )

    def fill(self, encoder: Encoder) -> None:
        """Give an encoder the vectors."""
        if self.vectors is not None:
            encoder.vectors.copy_(torch.from_numpy(self.vectors))


class TrainedNetworks(NamedTuple, Generic[N]):
    """Networks, and how their training went."""

    networks: list[N]
    certificate: Certificate
    history: History


def train_networks(
    options: NetworkParameters,
    batches: TextBatches,
    make: Callable[[], N],
    loss: Callable[[N, Array, Batch], Tensor],
) -> TrainedNetworks[N]:
    """Train networks of different random numbers; all are in evaluation mode then."""
    seed, networks, begin = drawn_seed(options.random_state), [], time.perf_counter() - seconds_spent()
    epochs: list[list[EpochRow]] = []
    ended = ""
    for i in range(options.n_networks):
        if ended:
            break
        with torch_settings(options.n_jobs, seed + i):
            network = make()
            training = NetworkTraining(network, partial(loss, network), batches, options)
            training.run(np.random.default_rng([seed, i]), begin, f"network {i + 1}")
        networks.append(network)
        epochs.append(training.epochs)
        ended = training.ended
    return TrainedNetworks(networks, *_certificate(epochs, begin, ended))


def _certificate(epochs: list[list[EpochRow]], begin: float, ended: str) -> tuple[Certificate, History]:
    """Return what can be said of networks: losses are at least 0, and no better bound is known."""
    history = History()
    for number, one in enumerate((one for each in epochs for one in each), 1):
        history.append(Row(number, number, 0, one.seconds, one.loss, 0.0, one.loss))
    primal = float(np.mean([each[-1].loss for each in epochs]))
    told = "No certificate: networks are not convex, and no bound but 0 on their loss is known."
    status = f"{ended}: the networks are those of the last step. {told}" if ended else told
    seconds = time.perf_counter() - begin
    return Certificate(primal, 0.0, primal, len(history), 0, seconds, status), history
