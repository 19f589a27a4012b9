"""Layers and losses of any structure."""

from __future__ import annotations

from collections.abc import Sized
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from structlearn.problem.losses import FenchelYoungLoss
from structlearn.problem.padded import PaddedBatch, padded_batch
from structlearn.problem.regularizers import Regularizer, Zero
from structlearn.torch.backends import make_backend
from structlearn.torch.tensors import as_double, as_plain, check_called_plainly, outside_graphs


class StructuredLayer(nn.Module):
    """Scores to predictions: marginals, sparse mixtures of outputs (SparseMAP), or the best output's parts.

    Parameters
    ----------
    structure : Structure, or anything `StructuredPredictor` takes
    regularizer : Regularizer
        `Shannon()`, `SquaredNorm()`, `Tsallis(alpha)`, or `Zero()`, through which no gradient passes.
    backend : {"compiled", "torch"}
        Compiled kernels on the CPU, to which scores are copied from other devices; or, for chains and trees
        with `Shannon()`, PyTorch's own operations on the device of the scores.

    """

    def __init__(self, structure: Any, regularizer: Regularizer, backend: str = "compiled") -> None:
        super().__init__()
        self.loss = FenchelYoungLoss(structure, regularizer)
        self._backend = make_backend(self.loss, backend)

    @outside_graphs
    def forward(
        self, theta: Tensor, shared: Tensor | None = None, *, sizes: Any = None, mask: Tensor | None = None
    ) -> Tensor:
        """Return predictions for a batch.

        Parameters
        ----------
        theta : Tensor of shape (batch, ...)
            Scores of the local parts: (batch, K) for `Simplex`, `Cube` and `LabelGraph`, (batch, length, K)
            for `Chain`, (batch, length, K + K * K) for `ConditionedChain` (each position's labels, then the
            step to it), (batch, m, n) for `Matching`, (batch, n + 1, n) for trees. -inf forbids a part.
            Or whole part vectors, (batch, parts), shared parts included.
        shared : Tensor, optional
            Scores of the parts that all examples share, such as a chain's (K, K) transitions. Structures
            that have such parts need it; zeros say that they do not matter.
        sizes : int array of shape (batch,) or (batch, axes), optional
            How much of the leading axes of theta each example fills, where a batch is padded.
        mask : bool Tensor, optional
            The same as true entries: (batch, length) for chains, (batch, m, n) for matchings.

        Returns
        -------
        Tensor of theta's shape, zero where padded.

        """
        batch = batch_of(self.loss, theta, shared, sizes, mask)
        return self._backend.answers(theta, flat_shared(theta, shared), batch)

    @outside_graphs
    def decode(
        self, theta: Tensor, shared: Tensor | None = None, *, sizes: Any = None, mask: Tensor | None = None
    ) -> list[Any]:
        """Return the best output of each example, as the structure writes it."""
        structure = self.loss.structure
        best = batch_of(FenchelYoungLoss(structure, Zero()), theta, shared, sizes, mask)
        return [structure.decode(z) for z in best.answers(as_double(theta), as_double(_each(theta, shared)))]


class StructuredLoss(nn.Module):
    """The Fenchel-Young loss of each example: CRFs, SparseMAP, and with a cost and `Zero()` the hinge.

    Parameters
    ----------
    structure, regularizer, cost
        As for `structlearn.problem.losses.FenchelYoungLoss`.
    reduction : "mean", "sum" or "none"
    backend : {"compiled", "torch"}
        As for `StructuredLayer`.

    """

    def __init__(
        self,
        structure: Any,
        regularizer: Regularizer,
        cost: Any = None,
        reduction: str = "mean",
        backend: str = "compiled",
    ) -> None:
        super().__init__()
        if reduction not in _REDUCTIONS:
            raise ValueError(f"Unknown reduction {reduction!r}; valid are 'mean', 'sum' and 'none'.")
        self.loss = FenchelYoungLoss(structure, regularizer, cost)
        self._backend = make_backend(self.loss, backend)
        self.reduction = reduction

    @outside_graphs
    def forward(
        self,
        theta: Tensor,
        y: Any,
        shared: Tensor | None = None,
        *,
        sizes: Any = None,
        mask: Tensor | None = None,
    ) -> Tensor:
        """L(theta, y) = Omega*(theta + c) + Omega(mu) - <theta + c, mu>.

        y is a list of outputs, or a tensor of them, padded as theta is: labels (batch,) or (batch, length),
        0/1 indicators (batch, K), heads (batch, n), links (batch, m, n). The rest as for `StructuredLayer`.
        """
        batch = batch_of(self.loss, theta, shared, sizes, mask)
        outputs = read_outputs(theta, y)
        if not len(theta) and self.reduction == "mean":
            raise ValueError("The batch is empty: the mean of no losses is not defined; use reduction='sum'.")
        target = batch.targets(outputs)
        losses = self._backend.losses(theta, flat_shared(theta, shared), batch, target)
        return _REDUCTIONS[self.reduction](losses)


_REDUCTIONS = {"mean": torch.mean, "sum": torch.sum, "none": lambda value: value}


def _each(theta: Tensor, shared: Tensor | None) -> Tensor:
    """Return the shared scores once for each example, so that their gradients add up."""
    return flat_shared(theta, shared).expand(len(theta), -1)


def flat_shared(theta: Tensor, shared: Tensor | None) -> Tensor:
    return theta.new_zeros(0) if shared is None else shared.to(theta).flatten()


def read_outputs(theta: Tensor, y: Any) -> Any:
    """Return outputs as an array or a list of arrays; ValueError unless there is one for each example."""
    if np.ndim(y) < 1 if isinstance(y, Tensor) else not isinstance(y, Sized):
        raise ValueError("Outputs are a list or a tensor with one entry per example; got a single one.")
    if len(y) != len(theta):
        raise ValueError(f"{len(theta)} examples of scores but {len(y)} outputs were given.")
    return as_plain(y) if isinstance(y, Tensor | np.ndarray) else [as_plain(one) for one in y]


def batch_of(
    loss: FenchelYoungLoss, theta: Tensor, shared: Tensor | None, sizes: Any, mask: Any
) -> PaddedBatch:
    """Return the batch that scores and sizes describe; an error where they do not fit the structure."""
    check_called_plainly()
    for name, given in (("Scores", theta), ("Shared scores", shared)):
        if given is not None and not (isinstance(given, Tensor) and given.is_floating_point()):
            kind = given.dtype if isinstance(given, Tensor) else type(given).__name__
            raise TypeError(f"{name} must be a tensor of floating-point numbers; got {kind}.")
    if not theta.ndim:
        raise ValueError("Scores must have a batch axis; got a single number.")
    shape = None if shared is None else tuple(shared.shape)
    return padded_batch(loss, tuple(theta.shape), shape, as_plain(sizes), as_plain(mask))
