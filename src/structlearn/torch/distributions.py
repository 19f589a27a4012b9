"""Distributions over the outputs of a structure, with the manners of `torch.distributions`."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor
from torch.distributions import Distribution, register_kl

from structlearn.core.content import content_hash
from structlearn.core.contract import Array
from structlearn.problem.losses import FenchelYoungLoss
from structlearn.problem.regularizers import Shannon, Zero
from structlearn.structures import Structure, as_structure
from structlearn.structures.ranking import best_outputs, draw_outputs
from structlearn.torch.functions import BatchLoss, answers, moments
from structlearn.torch.layers import batch_of, flat_shared, read_outputs
from structlearn.torch.tensors import as_double, inner, outside_graphs


class StructuredDistribution(Distribution):
    """p(y) = exp(<theta, z(y)> - log Z) over the outputs y of a structure, for each example of a batch.

    Its events are the local parts of outputs, tables of 0 and 1 of the shape of an example's scores: samples
    and modes are such tensors, zero where padded, and `decode` writes them as outputs. Everything that
    depends on scores can be differentiated, but for samples and modes.

    Parameters
    ----------
    structure : Structure, or anything `StructuredPredictor` takes
        One that has marginals.
    theta : Tensor of shape (batch, ...)
        Scores, as `StructuredLayer` takes them; -inf forbids a part.
    shared : Tensor, optional
        Scores of the parts that all examples share, such as a chain's transitions.
    lengths : int Tensor of shape (batch,) or (batch, axes), optional
        How much of theta each example fills: the number of positions or words, or (m, n) of a grid.
    mask : bool Tensor, optional
        The same as true entries.

    """

    arg_constraints: ClassVar[dict[str, Any]] = {}

    def __init__(
        self,
        structure: Any,
        theta: Tensor,
        shared: Tensor | None = None,
        lengths: Any = None,
        *,
        mask: Tensor | None = None,
    ) -> None:
        self.structure: Structure = as_structure(structure)
        self._batch = batch_of(_loss(self.structure, True), theta, shared, lengths, mask)
        self.theta, self.shared, self.lengths, self.mask = theta, shared, lengths, mask
        self._flat = flat_shared(theta, shared)
        super().__init__(torch.Size(theta.shape[:1]), torch.Size(theta.shape[1:]), validate_args=False)

    # ---- what the scores say ---------------------------------------------------------------------------

    @property
    def log_partition(self) -> Tensor:
        """log sum_y exp <theta, z(y)>, of shape (batch,); its gradient is `marginals`."""
        value: Tensor = _value(self.theta, self._flat, self._batch)
        return value

    @property
    def marginals(self) -> Tensor:
        """The probability of each local part, of theta's shape."""
        return _moments(self.theta, self._flat, self._batch)[0]

    mean = marginals

    def log_prob(self, value: Any) -> Tensor:
        """Return log p(y) of outputs, or of events of shape (..., *theta.shape) as `sample` returns them.

        Outputs are a list or a tensor, as `StructuredLoss` takes them.
        """
        if self._is_events(value):
            events = value.reshape(-1, *self.theta.shape)
            found = [self._log_prob(self.decode(one)) for one in events]
            stacked = torch.stack(found) if found else self.theta.new_zeros((0, len(self.theta)))
            return stacked.reshape(*value.shape[: value.ndim - self.theta.ndim], len(self.theta))
        return self._log_prob(value)

    def entropy(self) -> Tensor:
        """H(p) = log Z - <theta, E z>, of shape (batch,)."""
        return self._cross(self).clamp_min(0.0).to(self.theta.dtype)

    def cross_entropy(self, other: StructuredDistribution) -> Tensor:
        """Return -E_p log q = log Z_q - <theta_q, E_p z>; inf where q forbids what p may take."""
        return self._cross(other).to(self.theta.dtype)

    def kl(self, other: StructuredDistribution) -> Tensor:
        """Return KL(p || q) = E_p log p - E_p log q, of shape (batch,)."""
        return (self._cross(other) - self._cross(self)).clamp_min(0.0).to(self.theta.dtype)

    # ---- outputs ---------------------------------------------------------------------------------------

    @property
    def mode(self) -> Tensor:
        """The most probable output of each example, as an event."""
        return self.argmax

    @property
    def argmax(self) -> Tensor:
        """The same as `mode`, by the name that torch-struct gives it."""
        best = batch_of(_loss(self.structure, False), self.theta, self.shared, self.lengths, self.mask)
        return torch.as_tensor(answers(self.theta, self._flat, best).local).to(self.theta)

    def topk(self, k: int) -> tuple[Tensor, Tensor]:
        """Return the k best outputs as events, (k, batch, ...), and their scores <theta, z(y)>, (k, batch).

        Where an example has fewer outputs the others are zero, with the score -inf.
        """
        found = [best_outputs(self.structure, one, k)[0] for one in self._part_vectors()]
        counts = np.array([len(one) for one in found])
        filled = [[one[min(i, len(one) - 1)] for one in found] for i in range(k)]
        local, of_shared = self._events(filled)
        scores = inner(self.theta, local) + inner(self._flat, of_shared)
        missing = torch.from_numpy(np.arange(k)[:, None] >= counts).to(local.device)
        local[missing] = 0.0
        return local, scores.masked_fill(missing, -torch.inf)

    @torch.no_grad()
    def sample(self, sample_shape: Sequence[int] = (), generator: torch.Generator | None = None) -> Tensor:
        """Draw independent outputs as events, (*sample_shape, batch, ...), exactly.

        The random numbers come from PyTorch's generator, or from the one that is given.
        """
        shape = torch.Size(sample_shape)
        seed = int(torch.randint(1 << 62, (), generator=generator).item())
        rng, n = np.random.default_rng(seed), shape.numel()
        found = [draw_outputs(self.structure, one, n, rng) for one in self._part_vectors()]
        local, _ = self._events([[one[i] for one in found] for i in range(n)])
        return local.reshape(*shape, *self.theta.shape)

    def decode(self, event: Tensor) -> list[Any]:
        """Return the outputs of an event of shape (batch, ...), as the structure writes them."""
        if event.shape != self.theta.shape:
            raise ValueError(
                f"An event has the shape of theta, {tuple(self.theta.shape)}; got {tuple(event.shape)}."
            )
        given = as_double(event)
        none = np.zeros((len(given), self._flat.numel()))
        outputs = [self.structure.decode(z) for z in self._batch.part_vectors(given, none)]
        written = self._batch.apart(self._encode([outputs]), given, none)[0]
        wrong = np.flatnonzero((written != given).reshape(len(given), -1).any(axis=1))
        if wrong.size:
            raise ValueError(f"Example {wrong[0]} is not the parts of an output: tables of 0 and 1 are.")
        return outputs

    # ---- within ----------------------------------------------------------------------------------------

    def _is_events(self, value: Any) -> bool:
        is_float = isinstance(value, Tensor) and value.is_floating_point()
        return is_float and value.shape[-self.theta.ndim :] == self.theta.shape

    def _log_prob(self, outputs: Any) -> Tensor:
        target = self._batch.targets(read_outputs(self.theta, outputs))
        found: Tensor = -_value(self.theta, self._flat, self._batch, target)
        return found

    def _cross(self, other: StructuredDistribution) -> Tensor:
        """-E_p log q in double precision."""
        same = type(self.structure) is type(other.structure) and self.theta.shape == other.theta.shape
        if not same or content_hash(self.structure.content) != content_hash(other.structure.content):
            raise ValueError("Distributions are compared over the outputs of one structure and one shape.")
        if not np.array_equal(self._batch.layout.shapes, other._batch.layout.shapes):
            raise ValueError("Two distributions are compared where their examples have the same lengths.")
        local, of_shared = _moments(self.theta.double(), self._flat.double(), self._batch)
        theta, flat = other.theta.double(), other._flat.double()
        expected = inner(theta, local) + inner(flat, of_shared)
        log_partition: Tensor = _value(theta, flat, other._batch)
        return log_partition - expected

    def _part_vectors(self) -> list[Array]:
        """Return the scores of each example as the structure takes them, in double precision, checked."""
        answers(self.theta, self._flat, self._batch)
        shared = np.broadcast_to(as_double(self._flat), (len(self.theta), self._flat.numel()))
        return self._batch.part_vectors(as_double(self.theta), shared)

    def _encode(self, outputs: list[list[Any]]) -> list[Array]:
        """Return the part vectors of outputs, for each row of them one after the other."""
        shapes = self._batch.layout.shapes
        if not outputs or not len(shapes):
            return []
        every = [y for row in outputs for y in row]
        vertices = self.structure.encode_many(every, np.tile(shapes, (len(outputs), 1)))
        n_parts = self._batch.layout.n_local + self.structure.n_shared
        return [vertices.dense(i, n_parts[i % len(shapes)]) for i in range(len(every))]

    def _events(self, outputs: list[list[Any]]) -> tuple[Tensor, Tensor]:
        """Return rows of outputs as local and as shared parts, (rows, batch, ...)."""
        n, batch = len(outputs), len(self.theta)
        local = np.zeros((n, *self.theta.shape))
        of_shared = np.zeros((n, batch, self._flat.numel()))
        found = self._encode(outputs)
        for i in range(n if found else 0):
            one = found[i * batch : (i + 1) * batch]
            local[i], of_shared[i] = self._batch.apart(one, local[i], of_shared[i])
        return torch.from_numpy(local).to(self.theta), torch.from_numpy(of_shared).to(self.theta)


_value = outside_graphs(BatchLoss.apply)
_moments = outside_graphs(moments)


@lru_cache(maxsize=64)
def _loss(structure: Structure, soft: bool) -> FenchelYoungLoss:
    """Return the loss of a structure, whose scratch memory is used again."""
    return FenchelYoungLoss(structure, Shannon() if soft else Zero())


@register_kl(StructuredDistribution, StructuredDistribution)
def _kl(p: StructuredDistribution, q: StructuredDistribution) -> Tensor:
    return p.kl(q)
