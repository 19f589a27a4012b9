"""The two ways to answer a batch: compiled kernels, or PyTorch's own operations."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from structlearn.problem.losses import FenchelYoungLoss
from structlearn.problem.padded import PaddedBatch
from structlearn.problem.padded_gold import Target
from structlearn.problem.regularizers import Shannon
from structlearn.torch.functions import BatchAnswer, BatchLoss
from structlearn.torch.semirings import RULES, log_partition
from structlearn.torch.tensors import inner


class Compiled:
    """Compiled kernels on the CPU."""

    def answers(self, theta: Tensor, shared: Tensor, batch: PaddedBatch) -> Tensor:
        """Return z(theta) of a batch."""
        found: Tensor = BatchAnswer.apply(theta, shared.expand(len(theta), -1), batch)
        return found

    def losses(self, theta: Tensor, shared: Tensor, batch: PaddedBatch, target: Target) -> Tensor:
        """Return L(theta, y) of each example."""
        found: Tensor = BatchLoss.apply(theta, shared, batch, target)
        return found


class InTorch(Compiled):
    """PyTorch's operations on the device of the scores."""

    def answers(self, theta: Tensor, shared: Tensor, batch: PaddedBatch) -> Tensor:
        wanted = torch.is_grad_enabled() and (theta.requires_grad or shared.requires_grad)
        with torch.enable_grad():
            at = theta if theta.requires_grad else theta.detach().requires_grad_()
            value = _log_partition(at, shared, batch).sum()
            return torch.autograd.grad(value, at, create_graph=wanted)[0]

    def losses(self, theta: Tensor, shared: Tensor, batch: PaddedBatch, target: Target) -> Tensor:
        n_parts = batch.layout.n_local + shared.numel()
        vertices = [target.gold.vertices.dense(b, n) for b, n in enumerate(n_parts.tolist())]
        room = np.zeros(tuple(theta.shape)), np.zeros((len(theta), shared.numel()))
        local, of_shared = (torch.from_numpy(one).to(theta) for one in batch.apart(vertices, *room))
        gold = inner(theta, local) + inner(shared, of_shared)
        forbidden = (gold == -torch.inf).nonzero()
        value = _log_partition(theta, shared, batch)
        if len(forbidden):
            raise ValueError(
                f"Output {int(forbidden[0])} uses a part whose score is -inf, so that its loss is infinite: "
                "allow the part, or leave the example out."
            )
        found = value - gold
        return found + (found.clamp_min(0.0) - found).detach()


def make_backend(loss: FenchelYoungLoss, name: str) -> Compiled:
    """Return a backend by its name; ValueError where it cannot answer for a loss."""
    if name not in ("compiled", "torch"):
        raise ValueError(f"Unknown backend {name!r}; valid are 'compiled' and 'torch'.")
    if name == "compiled":
        return Compiled()
    simple = isinstance(loss.regularizer, Shannon) and loss.cost is None
    if type(loss.structure) not in RULES or not simple:
        kinds = ", ".join(kind.__name__ for kind in RULES)
        raise ValueError(
            f"backend='torch' answers for {kinds} with Shannon() and without a cost; got "
            f"{type(loss.structure).__name__} with {type(loss.regularizer).__name__}(). Use "
            "backend='compiled'."
        )
    return InTorch()


def _log_partition(theta: Tensor, shared: Tensor, batch: PaddedBatch) -> Tensor:
    structure = batch.loss.structure
    if theta.ndim != 1 + len(structure.local_axes):
        raise ValueError("backend='torch' takes tables of scores, not whole part vectors.")
    lengths = torch.from_numpy(batch.layout.shapes[:, 0] - structure.beyond_length[0])
    return log_partition(structure, theta, shared, lengths.to(theta.device))
