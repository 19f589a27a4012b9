"""Losses and layers of any structure."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
from jax import Array

from structlearn.jax.functions import Given, make_functions
from structlearn.problem.losses import FenchelYoungLoss
from structlearn.problem.padded import padded_batch
from structlearn.problem.regularizers import Regularizer

_REDUCTIONS: dict[str, Callable[[Array], Array]] = {"mean": jnp.mean, "sum": jnp.sum, "none": lambda x: x}


def structured_layer(structure: Any, regularizer: Regularizer, n_threads: int = 1) -> Callable[..., Array]:
    """Make a function from scores to predictions, as `structlearn.torch.StructuredLayer` is one.

    Parameters
    ----------
    structure : Structure, or anything `StructuredPredictor` takes
    regularizer : Regularizer
        `Shannon()`, `SquaredNorm()`, `Tsallis(alpha)`, or `Zero()`, through which no gradient passes.
    n_threads : int

    Returns
    -------
    layer(theta, shared=None, *, sizes=None, mask=None) -> Array of theta's shape, zero where padded
    """
    loss = FenchelYoungLoss(structure, regularizer)
    known = make_functions(loss, n_threads).known

    def layer(theta: Any, shared: Any = None, *, sizes: Any = None, mask: Any = None) -> Array:
        theta, shared = _read_scores(loss, theta, shared, sizes, mask)
        return known(theta, shared, Given(None, _as_array(sizes), _as_array(mask)))[1]

    return layer


def structured_loss(
    structure: Any,
    regularizer: Regularizer,
    cost: Any = None,
    reduction: str = "mean",
    n_threads: int = 1,
) -> Callable[..., Array]:
    """Make a Fenchel-Young loss, as `structlearn.torch.StructuredLoss` is one.

    Parameters
    ----------
    structure, regularizer, cost
        As for `structlearn.problem.losses.FenchelYoungLoss`.
    reduction : "mean", "sum" or "none"
    n_threads : int

    Returns
    -------
    loss(theta, y, shared=None, *, sizes=None, mask=None) -> Array
        y is an array of outputs, padded as theta is: labels (batch,) or (batch, length), 0/1 indicators
        (batch, K), heads (batch, n), links (batch, m, n).
    """
    if reduction not in _REDUCTIONS:
        raise ValueError(f"Unknown reduction {reduction!r}; valid are 'mean', 'sum' and 'none'.")
    found = FenchelYoungLoss(structure, regularizer, cost)
    losses = make_functions(found, n_threads).losses

    def loss(theta: Any, y: Any, shared: Any = None, *, sizes: Any = None, mask: Any = None) -> Array:
        theta, shared = _read_scores(found, theta, shared, sizes, mask)
        y = jnp.asarray(y)
        if y.ndim < 1 or len(y) != len(theta):
            raise ValueError(f"{len(theta)} examples of scores but outputs of shape {y.shape} were given.")
        if not len(theta) and reduction == "mean":
            raise ValueError("The batch is empty: the mean of no losses is not defined; use reduction='sum'.")
        given = Given(y, _as_array(sizes), _as_array(mask))
        return _REDUCTIONS[reduction](losses(theta, shared, given))

    return loss


def _as_array(given: Any) -> Array | None:
    return None if given is None else jnp.asarray(given)


def _read_scores(
    loss: FenchelYoungLoss, theta: Any, shared: Any, sizes: Any, mask: Any
) -> tuple[Array, Array | None]:
    """Return scores as arrays; an error where their shapes do not fit the structure."""
    theta, shared = jnp.asarray(theta), _as_array(shared)
    for name, given in (("Scores", theta), ("Shared scores", shared)):
        if given is not None and not jnp.issubdtype(given.dtype, jnp.floating):
            raise TypeError(f"{name} must be an array of floating-point numbers; got {given.dtype}.")
    if not theta.ndim:
        raise ValueError("Scores must have a batch axis; got a single number.")
    if sizes is not None and mask is not None:
        raise ValueError("Give sizes or a mask, not both.")
    if sizes is None and mask is None:
        padded_batch(loss, theta.shape, None if shared is None else shared.shape)
    return theta, shared
