"""Answers and losses of a batch as functions that JAX can differentiate: callbacks with rules.

The values of a batch have the gradient z - mu; that has the derivative J v, with J the Hessian of Omega*
(`structlearn.problem.derivatives`); and J v can be differentiated once more. Structures answer in float32
where scores have at most 32 bits, else in float64.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from structlearn.problem.losses import FenchelYoungLoss
from structlearn.problem.padded import PaddedBatch, padded_batch
from structlearn.problem.padded_gold import Target, no_target


class Given(NamedTuple):
    """What comes with scores: outputs, and how much of the scores each example fills; None without them."""

    y: Array | None
    sizes: Array | None
    mask: Array | None


class Functions(NamedTuple):
    """The functions of a loss.

    known : theta, shared, given -> values, z - mu of local parts, and of shared ones for each example
    losses : the values alone, whose gradient has been computed with them
    """

    known: Callable[..., Any]
    losses: Callable[..., Any]


def make_functions(loss: FenchelYoungLoss, n_threads: int) -> Functions:
    """Make the functions of a loss, with their rules."""
    host = Host(loss, n_threads)

    @jax.custom_vjp
    def known(theta: Array, shared: Array | None, given: Given) -> tuple[Array, Array, Array]:
        each = (len(theta), 0 if shared is None else shared.size)
        like = (_like(theta, theta.shape[:1]), _like(theta), _like(theta, each))
        return _call(host.ask, like, theta, shared, given)

    def known_forward(theta: Array, shared: Array | None, given: Given) -> Any:
        found = known(theta, shared, given)
        return found, (theta, shared, given, found)

    def known_backward(kept: Any, grads: Any) -> Any:
        theta, shared, given, (_, local, of_shared) = kept
        moved, moved_shared = move(theta, shared, grads[1], grads[2], given)
        weight = grads[0].reshape(-1, *[1] * (theta.ndim - 1))
        return moved + weight * local, _sum_up(moved_shared + grads[0][:, None] * of_shared, shared), None

    @jax.custom_vjp
    def move(
        theta: Array, shared: Array | None, v: Array, of_shared: Array, given: Given
    ) -> tuple[Array, Array]:
        return _call(host.move, (_like(theta), _like(of_shared)), theta, shared, given, v, of_shared)

    def move_forward(theta: Array, shared: Array | None, v: Array, of_shared: Array, given: Given) -> Any:
        return move(theta, shared, v, of_shared, given), (theta, shared, v, of_shared, given)

    def move_backward(kept: Any, grads: Any) -> Any:
        theta, shared, v, of_shared, given = kept
        like = (_like(theta), _like(of_shared))
        bent, bent_shared = _call(host.move, like, theta, shared, given, *grads, v, of_shared)
        return bent, _sum_up(bent_shared, shared), *move(theta, shared, *grads, given), None

    @jax.custom_vjp
    def losses(theta: Array, shared: Array | None, given: Given) -> Array:
        return known(theta, shared, given)[0]

    def losses_forward(theta: Array, shared: Array | None, given: Given) -> Any:
        values, *slopes = known(theta, shared, given)
        return values, (shared, *slopes)

    def losses_backward(kept: Any, grad: Array) -> Any:
        shared, local, of_shared = kept
        weight = grad.reshape(-1, *[1] * (local.ndim - 1))
        return weight * local, _sum_up(grad[:, None] * of_shared, shared), None

    known.defvjp(known_forward, known_backward)
    move.defvjp(move_forward, move_backward)
    losses.defvjp(losses_forward, losses_backward)
    return Functions(known, losses)


class Host:
    """What callbacks compute, with NumPy's arrays."""

    def __init__(self, loss: FenchelYoungLoss, n_threads: int) -> None:
        self.loss = loss
        self.n_threads = n_threads

    def ask(self, theta: Any, shared: Any, given: Given) -> tuple[Any, ...]:
        """Return values, z - mu of local parts and of shared ones."""
        batch, target = self._read(theta, shared, given)
        asked = no_target(len(theta)) if target is None else target
        kind = np.float64 if theta.dtype == np.float64 else np.float32
        scores = np.ascontiguousarray(theta, dtype=kind)
        found = batch.ask(scores, _double(shared).ravel(), asked, self.n_threads)
        lowest = -np.inf if target is None else 0.0
        return np.maximum(found.values + asked.omega - found.gold, lowest), found.local, found.shared

    def move(self, theta: Any, shared: Any, given: Given, *ways: Any) -> tuple[Any, Any]:
        """Return J v for one way v, D J[u] v for two, u and v."""
        batch, target = self._read(theta, shared, given)
        scores = _double(theta)
        if target is not None:
            scores = batch.add_cost(scores, target)
        each = np.broadcast_to(_double(shared).ravel(), ways[1].shape)
        return batch.derivative(scores, each, *map(_double, ways))

    def _read(self, theta: Any, shared: Any, given: Given) -> tuple[PaddedBatch, Target | None]:
        shape = None if shared is None else shared.shape
        batch = padded_batch(self.loss, theta.shape, shape, given.sizes, given.mask)
        return batch, None if given.y is None else batch.targets(given.y)


def _call(function: Callable[..., Any], like: Any, *given: Any) -> Any:
    """Call a function of NumPy's arrays; its results have the shapes and types of `like`."""

    def on_host(*given: Any) -> Any:
        found = function(*jax.tree.map(np.asarray, given))
        return tuple(np.asarray(one, dtype=wanted.dtype) for one, wanted in zip(found, like))

    return jax.pure_callback(on_host, like, *given, vmap_method="sequential")


def _double(given: Any) -> Any:
    """Return a copy in double precision; nothing for None."""
    return np.empty(0) if given is None else np.array(given, dtype=np.float64)


def _like(array: Array, shape: tuple[int, ...] | None = None) -> Any:
    return jax.ShapeDtypeStruct(array.shape if shape is None else shape, array.dtype)


def _sum_up(each: Array, shared: Array | None) -> Array | None:
    """Return what all examples give to shared scores."""
    return None if shared is None else jnp.sum(each, axis=0).reshape(shared.shape).astype(shared.dtype)
