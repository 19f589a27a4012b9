"""From words to hidden states: embeddings, a convolution over characters, a BiLSTM."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field

import torch
from torch import Tensor, nn

from structlearn.neural.batches import Batch
from structlearn.neural.vocabularies import PADDING

_WORD, _CHARACTER, _FILTERS, _OTHER = 100, 30, 50, 32
#: Embeddings of words are drawn from the uniform distribution between minus this and this: sqrt(3 / 100).
_RANGE = 0.17


@dataclass(frozen=True)
class EncoderSizes:
    """How many strings of each kind there are, and how large the encoder is; `vector_size` of vectors."""

    n_words: int
    n_characters: int
    n_others: list[int] = field(default_factory=list)
    n_vectors: int = 1
    vector_size: int = 0
    hidden_size: int = 150
    n_layers: int = 1
    dropout: float = 0.0

    def as_notes(self) -> dict[str, object]:
        """Return them as model files hold them."""
        return asdict(self)

    @property
    def n_inputs(self) -> int:
        """Numbers per word that the LSTM reads."""
        return _WORD + _FILTERS + _OTHER * len(self.n_others) + self.vector_size

    @property
    def n_states(self) -> int:
        """Numbers per word that come out."""
        return 2 * self.hidden_size


class Encoder(nn.Module):
    """Hidden states of words, of shape (batch, length, 2 hidden_size): both directions side by side.

    A word is its embedding, the maximum of a convolution over its characters, the embeddings of its other
    columns, and its vector, if there is one, which is not trained.
    """

    def __init__(self, sizes: EncoderSizes) -> None:
        super().__init__()
        self.sizes, hidden = sizes, sizes.hidden_size
        self.words = nn.Embedding(sizes.n_words, _WORD)
        nn.init.uniform_(self.words.weight, -_RANGE, _RANGE)
        self.characters = nn.Embedding(sizes.n_characters, _CHARACTER, padding_idx=PADDING)
        self.filters = nn.Conv1d(_CHARACTER, _FILTERS, 3, padding=1)
        self.others = nn.ModuleList(nn.Embedding(n, _OTHER) for n in sizes.n_others)
        if sizes.vector_size:
            self.register_buffer("vectors", torch.zeros(sizes.n_vectors, sizes.vector_size))
        inputs = [sizes.n_inputs, *[sizes.n_states] * (sizes.n_layers - 1)]
        self.forth = nn.ModuleList(nn.LSTM(n, hidden, batch_first=True) for n in inputs)
        self.back = nn.ModuleList(nn.LSTM(n, hidden, batch_first=True) for n in inputs)
        self.dropout = nn.Dropout(sizes.dropout)

    def forward(self, batch: Batch) -> Tensor:
        """Return the hidden states of a batch."""
        # Sentences are reversed each within its length: packed sequences would not run on oneDNN.
        place = torch.arange(batch.words.shape[1])
        turned = torch.where(batch.mask, batch.lengths[:, None] - 1 - place, place)[..., None]
        states = self._inputs(batch)
        for forth, back in zip(self.forth, self.back):
            states = self.dropout(states)
            left = forth(states)[0]
            right = back(states.gather(1, turned.expand_as(states)))[0]
            states = torch.cat([left, right.gather(1, turned.expand_as(right))], -1)
        return states

    def _inputs(self, batch: Batch) -> Tensor:
        parts = [self.words(batch.words), self._spelled(batch.spellings)[batch.forms]]
        parts += [embed(codes) for embed, codes in zip(self.others, batch.others)]
        if self.sizes.vector_size:
            parts.append(self.vectors[batch.vectors])
        return torch.cat(parts, -1)

    def _spelled(self, spellings: Tensor) -> Tensor:
        there = (spellings != PADDING)[:, None]
        found = torch.relu(self.filters(self.characters(spellings).transpose(1, 2)))
        return (found * there).amax(2)
