"""Synthetic decision problems: the generators of the literature, from their papers' formulas.

Features are Gaussian, and costs are a polynomial of a random linear map of them, so that a linear model is
wrong for degrees above 1. An integer as `random_state` gives the draws of PyEPO with that seed, in its order.

References
----------
Elmachtoub and Grigas (2022), Smart "predict, then optimize", Management Science 68(1).
Tang and Khalil (2024), PyEPO: a PyTorch-based end-to-end predict-then-optimize library for linear and integer
programming, Mathematical Programming Computation 16.
"""

from __future__ import annotations

from operator import index
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from structlearn.structures.decisions.decision import Decisions

Draws: TypeAlias = np.random.RandomState | np.random.Generator


class DecisionData(NamedTuple):
    """Examples to decide about.

    Attributes
    ----------
    X : ndarray of shape (n, n_features)
        One row of features per example.
    costs : ndarray of shape (n, n_parts)
        What each part costs, or is worth.
    structure : the decisions that are feasible, of `structlearn.structures`
    """

    X: NDArray[np.float64]
    costs: NDArray[np.float64]
    structure: Decisions


def make_shortest_paths(
    n: int,
    n_features: int = 5,
    *,
    rows: int = 5,
    columns: int = 5,
    degree: int = 1,
    noise: float = 0.0,
    random_state: int | Draws | None = None,
) -> DecisionData:
    """Draw costs of the edges of a grid, through which a shortest path is to be found.

        c_e = ((<B_e, x> / sqrt(p) + 3)^degree + 1) / 3.5^degree * eps_e

    with x ~ N(0, I), entries of B that are 0 or 1 with equal probability, and eps_e uniform between 1 - noise
    and 1 + noise (Elmachtoub and Grigas 2022).

    Parameters
    ----------
    n, n_features : int
        Number of examples, and p.
    rows, columns : int
        Nodes of the grid. Paths lead from the upper left to the lower right corner, by `ShortestPath.grid`.
    degree : int
        At least 1. At 1 costs are linear in the features.
    noise : float
        Half the width of the noise, between 0 and 1.
    random_state : int, RandomState, Generator or None
        An integer gives PyEPO's data of that seed, before it is rounded to float32.

    Returns
    -------
    X, costs, structure
        A `DecisionData`; costs are to be minimised.

    Examples
    --------
    >>> from structlearn import DecisionPredictor
    >>> from structlearn.data import make_shortest_paths
    >>> X, costs, paths = make_shortest_paths(100, degree=2, random_state=0)
    >>> X.shape, costs.shape
    ((100, 5), (100, 40))
    >>> DecisionPredictor(paths, random_state=0).fit(X, costs).score(X, costs) > -0.1
    True
    """
    from structlearn.structures import ShortestPath

    draws = _checked_draws(n, n_features, degree, noise, random_state)
    structure = ShortestPath.grid(rows, columns)
    X, polynomial = _polynomial(draws, n, n_features, structure.n_parts, degree)
    costs = (polynomial + 1) / 3.5**degree
    return DecisionData(X, costs * _noise(draws, costs, noise), structure)


def make_knapsacks(
    n: int,
    n_features: int = 5,
    *,
    n_items: int = 32,
    dimensions: int = 1,
    degree: int = 1,
    noise: float = 0.0,
    capacity: int = 2000,
    random_state: int | Draws | None = None,
) -> DecisionData:
    """Draw values of items, of which the best are to be packed into a knapsack.

        v_j = ceil(5 ((<B_j, x> / sqrt(p) + 3)^degree + 1) / 3.5^degree * eps_j)

    with B, x and eps as in `make_shortest_paths`. Weights are drawn once for all examples, uniformly from
    3.00 to 7.99 (Tang and Khalil 2024). They are in hundredths here, so that they are whole numbers.

    Parameters
    ----------
    n, n_features : int
        Number of examples, and p.
    n_items, dimensions : int
        Items, and the constraints that each of them has a weight for.
    degree : int
        At least 1. At 1 values are linear in the features, but for rounding.
    noise : float
        Half the width of the noise, between 0 and 1.
    capacity : int
        What may be packed in each dimension, in hundredths: 20 in the literature.
    random_state : int, RandomState, Generator or None
        An integer gives PyEPO's data of that seed.

    Returns
    -------
    X, costs, structure
        A `DecisionData`; costs are values, to be maximised (`DecisionPredictor(sense="max")`).
    """
    from structlearn.structures import Knapsack

    draws = _checked_draws(n, n_features, degree, noise, random_state)
    if index(n_items) < 1 or index(dimensions) < 1:
        raise ValueError(f"A knapsack needs an item and a dimension; got {n_items} and {dimensions}.")
    weights = draws.choice(np.arange(300, 800), size=(dimensions, n_items))
    structure = Knapsack(weights, np.full(dimensions, index(capacity)))
    X, polynomial = _polynomial(draws, n, n_features, n_items, degree)
    values = (polynomial + 1) * 5 / 3.5**degree
    return DecisionData(X, np.ceil(values * _noise(draws, values, noise)), structure)


def make_tours(
    n: int,
    n_features: int = 5,
    *,
    n_nodes: int = 20,
    degree: int = 1,
    noise: float = 0.0,
    random_state: int | Draws | None = None,
) -> DecisionData:
    """Draw lengths of the ways between nodes, all of which a shortest tour is to visit.

        c_ij = |u_i - u_j| + (<B_ij, x> / sqrt(p) + 3)^degree / 3^(degree - 1) * eps_ij

    rounded to four decimals (Tang and Khalil 2024). Half of the points u are uniform on a square of side 4,
    the others Gaussian. Entries of B are products of a fair 0 or 1 and of a number between -2 and 2. x and
    eps are as in `make_shortest_paths`.

    Parameters
    ----------
    n, n_features : int
        Number of examples, and p.
    n_nodes : int
        At least 3. Parts are the pairs of nodes, in the order of `numpy.triu_indices(n_nodes, 1)`.
    degree : int
        At least 1. At 1 lengths are linear in the features.
    noise : float
        Half the width of the noise, between 0 and 1.
    random_state : int, RandomState, Generator or None
        An integer gives PyEPO's data of that seed, before it is rounded to float32.

    Returns
    -------
    X, costs, structure
        A `DecisionData`; costs are to be minimised.
    """
    from structlearn.structures import Tour

    draws = _checked_draws(n, n_features, degree, noise, random_state)
    structure = Tour(n_nodes)
    half = n_nodes // 2
    points = np.concatenate([draws.uniform(-2, 2, (half, 2)), draws.normal(0, 1, (n_nodes - half, 2))])
    one, other = np.triu_indices(n_nodes, 1)
    distances = np.hypot(*(points[one] - points[other]).T)
    sizes = (len(one), n_features)
    B = draws.binomial(1, 0.5, sizes) * draws.uniform(-2, 2, sizes)
    X = draws.normal(0, 1, (n, n_features))
    learned = (X @ B.T / np.sqrt(n_features) + 3) ** degree / 3 ** (degree - 1)
    return DecisionData(X, np.around(distances + learned * _noise(draws, learned, noise), 4), structure)


def _checked_draws(
    n: int, n_features: int, degree: int, noise: float, random_state: int | Draws | None
) -> Draws:
    """Return the source of random numbers; ValueError for sizes that make no problem."""
    for name, value in (("n", n), ("n_features", n_features), ("degree", degree)):
        if index(value) < 1:
            raise ValueError(f"{name} must be at least 1; got {value}.")
    if not 0 <= noise <= 1:
        raise ValueError(f"noise must be between 0 and 1; got {noise}.")
    if isinstance(random_state, np.random.RandomState | np.random.Generator):
        return random_state
    # The old generator: seeds of the literature then give the literature's data.
    return np.random.RandomState(random_state)


def _polynomial(
    draws: Draws, n: int, n_features: int, n_parts: int, degree: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Draw B and X; return X and (X B^T / sqrt(p) + 3)^degree."""
    B = draws.binomial(1, 0.5, (n_parts, n_features))
    X = draws.normal(0, 1, (n, n_features))
    return X, (X @ B.T / np.sqrt(n_features) + 3) ** degree


def _noise(draws: Draws, costs: NDArray[np.float64], width: float) -> NDArray[np.float64]:
    """Draw factors around 1."""
    return draws.uniform(1 - width, 1 + width, costs.shape)
