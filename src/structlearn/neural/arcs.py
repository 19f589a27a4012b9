"""The network of a parser: scores of arcs and of their relations (Dozat and Manning 2017)."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from structlearn.neural.batches import Batch
from structlearn.neural.encoder import Encoder, EncoderSizes

_ARC, _RELATION = 200, 64
_SLOPE = 0.1
_SPREAD = 0.01


class ArcNetwork(nn.Module):
    """Biaffine scores of heads and modifiers, which are layers of their own over hidden states.

        arc(h, m)      = <a_h, A b_m> + <a_h, c>
        relation(h, m) = [r_h; 1]^T U_k [s_m; 1]    for each relation k

    The root's hidden state is a parameter.
    """

    def __init__(self, sizes: EncoderSizes, n_relations: int) -> None:
        super().__init__()
        self.encoder, n = Encoder(sizes), sizes.n_states
        self.root = nn.Parameter(torch.zeros(n))
        self.heads, self.modifiers = nn.Linear(n, _ARC), nn.Linear(n, _ARC)
        self.of_heads, self.of_modifiers = nn.Linear(n, _RELATION), nn.Linear(n, _RELATION)
        self.pairs = nn.Parameter(_SPREAD * torch.randn(_ARC, _ARC))
        self.chances = nn.Parameter(torch.zeros(_ARC))
        shape = n_relations, _RELATION + 1, _RELATION + 1
        self.relations = nn.Parameter(_SPREAD * torch.randn(shape))

    def forward(self, batch: Batch) -> Tensor:
        """Return hidden states, those of the root first: (batch, length + 1, n_states)."""
        states = self.encoder(batch)
        root = self.root.expand(len(states), 1, -1)
        found: Tensor = self.encoder.dropout(torch.cat([root, states], 1))
        return found

    def arcs(self, states: Tensor) -> Tensor:
        """Return the scores of arcs, (batch, length + 1, length): from each head to each word."""
        heads, modifiers = self._layer(self.heads, states), self._layer(self.modifiers, states[:, 1:])
        return heads @ self.pairs @ modifiers.transpose(1, 2) + (heads @ self.chances)[:, :, None]

    def relations_of(self, states: Tensor, heads: Tensor, mask: Tensor) -> Tensor:
        """Return the scores of the relations of words to their heads, (words of the mask, relations)."""
        all_heads = self._layer(self.of_heads, states)
        chosen = all_heads.gather(1, heads[..., None].expand(-1, -1, all_heads.shape[-1]))[mask]
        words = self._layer(self.of_modifiers, states[:, 1:])[mask]
        across = torch.einsum("ni,kij->nkj", _with_one(chosen), self.relations)
        return (across @ _with_one(words)[..., None])[..., 0]

    def _layer(self, layer: nn.Linear, states: Tensor) -> Tensor:
        found: Tensor = self.encoder.dropout(functional.leaky_relu(layer(states), _SLOPE))
        return found


def _with_one(rows: Tensor) -> Tensor:
    return torch.cat([rows, torch.ones_like(rows[..., :1])], -1)
