"""Hostile numbers: features of any size, with ties, zeros, repetitions and shifts."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

Array = Any
Rng = np.random.Generator
TEXTURES = ("normal", "ties", "zeros", "shifted", "columns", "equal")


def draw_rows(rng: Rng, n: int, d: int) -> Array:
    """Features of shape (n, d): of one texture, times a scale from 1e-9 to 1e8."""
    texture = rng.choice(TEXTURES, p=[0.4, 0.15, 0.15, 0.1, 0.1, 0.1])
    rows = rng.normal(size=(n, d))
    if texture == "ties":
        rows = rng.integers(-1, 2, size=(n, d)).astype(float)
    elif texture == "zeros":
        rows[rng.random(n) < 0.5] = 0.0
    elif texture == "shifted":
        rows += 10.0 ** rng.integers(1, 5)
    elif texture == "columns":
        rows *= 10.0 ** rng.uniform(-4, 4, size=d)
    elif texture == "equal":
        rows[:] = rows[0]
    return rows * draw_scale(rng)


def draw_scale(rng: Rng) -> float:
    return 1.0 if rng.random() < 0.4 else float(10.0 ** rng.uniform(-9, 8))


def in_layout(rows: Array, layout: str) -> Any:
    """As float32 or float64, dense or CSR: "float64", "float32", "float64 csr" ..."""
    kind, _, form = layout.partition(" ")
    table = rows.astype(kind)
    return sparse.csr_matrix(table) if form else table


def exact(table: Any) -> Array:
    """The numbers that a table holds, in extended precision."""
    dense = table.toarray() if sparse.issparse(table) else np.asarray(table)
    return dense.astype(np.longdouble)


def draw_weights(rng: Rng, n: int) -> Array | None:
    """Sample weights: none, or some of them zero, or of very different size."""
    kind = rng.integers(4)
    if kind < 2:
        return None
    weight = rng.uniform(0.1, 2.0, size=n) if kind == 2 else 10.0 ** rng.uniform(-4, 4, size=n)
    weight[rng.random(n) < 0.25] = 0.0
    return weight if weight.any() else None


def repeated(rng: Rng, n: int) -> Array:
    """Which drawn example each of n is: mostly its own, sometimes another's."""
    which = np.arange(n)
    if rng.random() < 0.3:
        which[rng.integers(n, size=n // 2 + 1)] = rng.integers(n)
    return which
