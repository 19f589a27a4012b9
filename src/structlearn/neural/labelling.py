"""The network of a tagger: hidden states, a score per label, a chain over them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor, nn

from structlearn.core.contract import Array
from structlearn.neural.batches import Batch, TextBatches
from structlearn.neural.encoder import Encoder, EncoderSizes
from structlearn.neural.vocabularies import CodedText
from structlearn.torch import CRF

#: Words per batch of predictions.
_AT_ONCE = 4000


class LabellingNetwork(nn.Module):
    """score(x, y) = sum_t <w_(y_t), h_t> + b_(y_t) + the transitions of a CRF."""

    def __init__(
        self, sizes: EncoderSizes, n_labels: int, forbidden: list[tuple[int | None, int | None]] | None
    ) -> None:
        super().__init__()
        self.encoder = Encoder(sizes)
        self.scores = nn.Linear(sizes.n_states, n_labels)
        self.crf = CRF(n_labels, batch_first=True, forbidden=forbidden)

    def forward(self, batch: Batch) -> Tensor:
        """Return the scores of labels, of shape (batch, length, labels)."""
        scores: Tensor = self.scores(self.encoder.dropout(self.encoder(batch)))
        return scores

    def loss(self, batch: Batch, labels: Tensor) -> Tensor:
        """Return the sum of minus the log-likelihoods."""
        found: Tensor = -self.crf(self(batch), labels, batch.mask)
        return found


@torch.no_grad()
def word_rows(module: nn.Module, batches: TextBatches, n_columns: int) -> Array:
    """Return what a module gives each word of a text, of shape (n_tokens, n_columns), in float32."""
    found = np.zeros((int(batches.text.lengths.sum()), n_columns), dtype=np.float32)
    for chosen, batch in batches.all(_AT_ONCE):
        at, mask = batches.places(chosen)
        found[at] = module(batch).numpy()[mask]
    return found


def encoded(encoders: Sequence[Encoder], text: CodedText) -> list[Array]:
    """Return the hidden states of all encoders side by side, per sentence."""
    batches = TextBatches(text)
    found = [word_rows(one, batches, one.sizes.n_states) for one in encoders]
    return np.split(np.concatenate(found, axis=1), text.starts[1:])
