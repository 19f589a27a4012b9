"""A conditional random field as a module that owns its transitions, with the calls of pytorch-crf."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from structlearn.problem.losses import FenchelYoungLoss
from structlearn.problem.regularizers import Shannon, Zero
from structlearn.structures import Chain
from structlearn.torch.functions import BatchAnswer, BatchLoss, answers
from structlearn.torch.layers import batch_of
from structlearn.torch.tensors import as_plain, outside_graphs


class CRF(nn.Module):
    """A linear-chain CRF on top of scores that a network computes.

        log p(y | x) = score(x, y) - log sum_y' exp score(x, y')
        score(x, y)  = sum_t emissions_t[y_t] + sum_t transitions[y_(t-1), y_t] + start[y_1] + end[y_L]

    Its calls, its parameters and its state are those of `torchcrf.CRF`, so that weights can be loaded from
    one into the other. Padding must be at the end.

    Parameters
    ----------
    n_labels : int
    batch_first : bool
        Whether scores have the shape (batch, length, labels) instead of (length, batch, labels).
    forbidden : pairs of labels, optional
        Steps (before, after) that no sequence makes; None before or after is the start or the end.

    """

    def __init__(self, n_labels: int, batch_first: bool = False, forbidden: Any = None) -> None:
        super().__init__()
        chain = Chain(n_labels, start=True, end=True, forbidden=forbidden)
        self.num_tags, self.batch_first = chain.n_labels, batch_first
        self.start_transitions = nn.Parameter(torch.empty(self.num_tags))
        self.end_transitions = nn.Parameter(torch.empty(self.num_tags))
        self.transitions = nn.Parameter(torch.empty(self.num_tags, self.num_tags))
        self._soft, self._hard = FenchelYoungLoss(chain, Shannon()), FenchelYoungLoss(chain, Zero())
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw all transitions uniformly between -0.1 and 0.1."""
        for table in (self.start_transitions, self.end_transitions, self.transitions):
            nn.init.uniform_(table, -0.1, 0.1)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(n_labels={self.num_tags})"

    @outside_graphs
    def forward(
        self, emissions: Tensor, tags: Tensor, mask: Tensor | None = None, reduction: str = "sum"
    ) -> Tensor:
        """Return the log-likelihood of label sequences; its negative is the loss.

        Parameters
        ----------
        emissions : Tensor of shape (length, batch, labels), or (batch, length, labels) with batch_first
            Scores; -inf forbids a label.
        tags : integer Tensor of shape (length, batch), or (batch, length)
            What stands beyond the mask does not matter.
        mask : Tensor of the shape of tags, optional
            True, or 1, where there is a label, and from the first position on.
        reduction : {"sum", "mean", "token_mean", "none"}
            The sum over sequences, their mean, the sum over the number of labels, or one value per sequence.
        """
        if reduction not in ("sum", "mean", "token_mean", "none"):
            raise ValueError(
                f"Unknown reduction {reduction!r}; valid are 'sum', 'mean', 'token_mean' and 'none'."
            )
        theta, inside, labels = (self._by_batch(one) for one in (emissions, mask, tags))
        shared = self._shared(emissions)
        batch = batch_of(self._soft, theta, shared, None, inside)
        if labels.ndim != 2 or labels.shape != theta.shape[:2]:
            raise ValueError(
                f"Tags must have the shape of the first two axes of emissions, {tuple(emissions.shape[:2])}; "
                f"got {tuple(tags.shape)}."
            )
        if not len(theta) and reduction in ("mean", "token_mean"):
            raise ValueError("The batch is empty: the mean of no losses is not defined; use reduction='sum'.")
        found = -BatchLoss.apply(theta, shared, batch, batch.targets(as_plain(labels)))
        if reduction == "none":
            return found
        if reduction == "sum":
            return found.sum()
        return found.sum() / (len(theta) if reduction == "mean" else int(batch.layout.shapes[:, 0].sum()))

    @outside_graphs
    def decode(self, emissions: Tensor, mask: Tensor | None = None) -> list[list[int]]:
        """Return the best label sequence of each example, by Viterbi's algorithm."""
        theta, shared = self._by_batch(emissions), self._shared(emissions)
        batch = batch_of(self._hard, theta, shared, None, self._by_batch(mask))
        best = answers(theta, shared, batch).local.argmax(-1).tolist()
        return [labels[:length] for labels, length in zip(best, batch.layout.shapes[:, 0].tolist())]

    @outside_graphs
    def marginals(self, emissions: Tensor, mask: Tensor | None = None) -> Tensor:
        """Return the probability of each label at each position, of the shape of emissions; 0 if padded."""
        theta, shared = self._by_batch(emissions), self._shared(emissions)
        batch = batch_of(self._soft, theta, shared, None, self._by_batch(mask))
        return self._by_batch(BatchAnswer.apply(theta, shared.expand(len(theta), -1), batch))

    def _by_batch(self, given: Any) -> Any:
        """Exchange the first two axes where the batch is the second."""
        has_two = isinstance(given, Tensor) and given.ndim > 1
        return given.transpose(0, 1) if has_two and not self.batch_first else given

    def _shared(self, like: Tensor) -> Tensor:
        tables = (self.transitions.flatten(), self.start_transitions, self.end_transitions)
        return torch.cat(tables).to(like)
