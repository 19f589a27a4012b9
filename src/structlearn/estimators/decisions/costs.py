"""Costs of parts as users give them, checked: one array per example, or one table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from structlearn.core.contract import Array
from structlearn.metrics import refuse_sparse

#: An (n, parts) table, or one array per example.
Costs: TypeAlias = ArrayLike | Sequence[ArrayLike]


def cost_arrays(costs: Costs, name: str = "costs") -> list[Array]:
    """Return the costs of each example as an array of finite numbers; ValueError names what is not."""
    refuse_sparse(costs, name)
    if not hasattr(costs, "__len__"):
        raise TypeError(f"{name} must be an array with one row per example, or a list of arrays.")
    given = costs.to_numpy() if hasattr(costs, "to_numpy") else costs
    found = [_numbers(one, i, name) for i, one in enumerate(given)]  # type: ignore[arg-type]
    if not found:
        raise ValueError(f"{name} is empty: at least one example is needed.")
    return found


def _numbers(given: ArrayLike, i: int, name: str) -> Array:
    try:
        values = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"The {name} of example {i} are not numbers; give one number per part.") from None
    if values.ndim == 0 or values.size == 0:
        raise ValueError(f"The {name} of example {i} must be an array with one number per part.")
    wrong = np.argwhere(~np.isfinite(values))
    if len(wrong):
        part = wrong[0].tolist()
        at = part[0] if len(part) == 1 else tuple(part)
        raise ValueError(
            f"The {name} of example {i} are not finite: part {at} has {values[tuple(wrong[0])]}. Leave the "
            "example out, or forbid the part (structure.without) instead of giving it an infinite cost."
        )
    return values


def common_axes(costs: Sequence[Array]) -> tuple[int, ...]:
    """Return the axes of the parts of every example; () where they differ."""
    return costs[0].shape if len({one.shape for one in costs}) == 1 else ()


def check_alike(costs: Sequence[Array]) -> None:
    """ValueError unless all examples have the same parts, as one row of features per example needs."""
    if not common_axes(costs):
        lengths = sorted({len(one) for one in costs})
        raise ValueError(
            "One row of features per example needs the same parts in all examples; got costs of "
            f"{lengths[0]} and of {lengths[-1]} parts. Give features of parts: a list of 2-D arrays."
        )


def check_one_each(arrays: Sequence[Array], n_examples: int, name: str = "costs") -> None:
    """ValueError unless there are as many arrays as examples."""
    if len(arrays) != n_examples:
        raise ValueError(
            f"X has {n_examples} examples but {name} has {len(arrays)}: give one row per example."
        )
