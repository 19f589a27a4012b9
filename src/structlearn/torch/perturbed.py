"""Perturb and maximise: smooth predictions of any structure, by the best outputs under random noise."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from structlearn.core.contract import Array
from structlearn.problem.losses import FenchelYoungLoss
from structlearn.problem.padded import PaddedBatch
from structlearn.problem.regularizers import Zero
from structlearn.structures import as_structure
from structlearn.structures.unshared import Whole
from structlearn.torch.functions import answers
from structlearn.torch.layers import batch_of
from structlearn.torch.tensors import outside_graphs


class PerturbedLayer(nn.Module):
    """The mean of the best outputs under noise: z(theta) = E argmax_z <theta + sigma Z, z>.

    Its mean over M draws of Z, and an unbiased estimate of its derivative (Berthet et al. 2020),

        J' v = 1/(sigma (M - 1)) sum_m (<v, z_m> - mean_m <v, z_m>) s(Z_m),

    with s(Z) = Z for Gaussian noise and 1 - exp(-Z) for Gumbel noise, both of variance 1. The variance of an
    entry is about Var(<v, z> s(Z)) / (sigma^2 M), at most E[(<v, z> - E<v, z>)^2 s(Z)^2] / (sigma^2 M): it
    grows as noise gets smaller, and four times as many draws halve the error.

    For structures that have no marginals (matchings, cuts, tours, own oracles); it serves all others, too.
    The derivative cannot be differentiated once more.

    Parameters
    ----------
    structure : Structure, or anything `StructuredPredictor` takes
        Shared parts are not shared: theta then has whole part vectors, (batch, parts).
    noise : {"gaussian", "gumbel"}
    sigma : float
        The size of the noise, in units of scores.
    n_samples : int
        The draws M per example and call, at least 2. They come from PyTorch's generator.

    """

    def __init__(
        self, structure: Any, noise: str = "gaussian", sigma: float = 1.0, n_samples: int = 10
    ) -> None:
        super().__init__()
        if noise not in _NOISES:
            raise ValueError(f"Unknown noise {noise!r}; valid are 'gaussian' and 'gumbel'.")
        if not (sigma > 0 and n_samples >= 2):
            raise ValueError(
                f"sigma must be positive and n_samples at least 2; got sigma={sigma}, n_samples={n_samples}."
            )
        given = as_structure(structure)
        self.loss = FenchelYoungLoss(Whole(given) if given.n_shared else given, Zero())
        self.noise, self.sigma, self.n_samples = noise, sigma, n_samples

    @outside_graphs
    def forward(self, theta: Tensor, *, sizes: Any = None, mask: Tensor | None = None) -> Tensor:
        """Return the mean prediction, of theta's shape; theta, sizes and mask as for `StructuredLayer`."""
        batch = batch_of(self.loss, theta, None, sizes, mask)
        draw, slope = _NOISES[self.noise]
        noise = draw((self.n_samples, *theta.shape)).to(theta)
        found: Tensor = _Perturbed.apply(theta, noise, slope(noise), self.sigma, batch)
        return found


class _Perturbed(torch.autograd.Function):
    """theta -> mean_m argmax <theta + sigma Z_m, z>."""

    @staticmethod
    def forward(
        ctx: Any, theta: Tensor, noise: Tensor, slope: Tensor, sigma: float, batch: PaddedBatch
    ) -> Tensor:
        none = theta.new_zeros(0)
        found: list[Array] = [answers(theta + sigma * one, none, batch).local for one in noise]
        best = torch.stack([torch.as_tensor(one).to(theta) for one in found])
        ctx.sigma = sigma
        ctx.save_for_backward(best, slope, batch_mask(theta, batch))
        return best.mean(0)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None, None, None]:
        best, slope, inside = ctx.saved_tensors
        along = (best * grad).flatten(2).sum(-1)
        along = (along - along.mean(0)) / (ctx.sigma * (len(best) - 1))
        moved = (along.reshape(*along.shape, *[1] * (grad.ndim - 1)) * slope).sum(0)
        return torch.where(inside, moved, 0.0), None, None, None, None


def batch_mask(theta: Tensor, batch: PaddedBatch) -> Tensor:
    """Return where scores count: not where they are padded, and not where they are -inf."""
    inside = torch.zeros_like(theta, dtype=torch.bool)
    for b in range(len(theta)):
        inside[b][batch.block(b)] = True
    return inside & (theta > -torch.inf)


def _gumbel(shape: tuple[int, ...]) -> Tensor:
    return -torch.empty(shape, dtype=torch.float64).exponential_().log()


def _gaussian(shape: tuple[int, ...]) -> Tensor:
    return torch.randn(shape, dtype=torch.float64)


#: How noise is drawn, and s(Z) = -d/dZ log of its density.
_NOISES: dict[str, tuple[Callable[[tuple[int, ...]], Tensor], Callable[[Tensor], Tensor]]] = {
    "gaussian": (_gaussian, lambda noise: noise),
    "gumbel": (_gumbel, lambda noise: 1.0 - torch.exp(-noise)),
}
