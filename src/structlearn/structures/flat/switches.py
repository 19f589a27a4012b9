"""Labels that are on or off: the code and the costs that `Cube` and `LabelGraph` share."""

from __future__ import annotations

import numpy as np

from structlearn.core.contract import Array
from structlearn.structures.base import Weights


def encode_switches(y: object, *shape: int) -> Array:
    """Return `y` as a 0/1 vector of floats, or as a table of them; ValueError if it is anything else."""
    on = np.asarray(y, dtype=np.float64)
    if on.shape != shape:
        raise ValueError(
            f"An output is a 0/1 vector of {shape[-1]} labels; got shape {on.shape[len(shape) - 1 :]}."
        )
    if not np.isin(on, (0.0, 1.0)).all():
        raise ValueError("An output is a 0/1 vector; got other values.")
    return on


def switch_costs(on: Array, weights: Weights = None, nodes: Weights = None, normalized: bool = True) -> Array:
    """Return c = +a_k where label k is off, -a_k where it is on: <c, z - on> = sum_k a_k |z_k - on_k|.

    a_k is 1 times the (K,) `weights` and `nodes` where given, over K where `normalized`. Works along the
    last axis of `on`.
    """
    scale = np.ones(on.shape[-1])
    for given in (weights, nodes):
        if given is None:
            continue
        factor = np.asarray(given, dtype=np.float64)
        if factor.shape != scale.shape:
            raise ValueError(
                f"Cost weights must have the shape ({scale.size},), one per label; got {factor.shape}."
            )
        if not np.isfinite(factor).all() or factor.min() < 0:
            raise ValueError("Cost weights must be finite and at least 0.")
        scale = scale * factor
    if normalized:
        scale = scale / scale.size
    return (1.0 - 2.0 * on) * scale
