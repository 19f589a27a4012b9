"""The linear program over the local polytope of a label graph, by HiGHS, to compare roof duality with."""

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import csc_array

_INFEASIBLE = 2  # linprog's status


class LocalPolytope:
    """{z >= 0 : each pair table sums to one, and its margins are its two labels}, which contains M.

    HiGHS solves the linear program.
    """

    def __init__(self, n_labels, edges):
        self.n_labels = n_labels
        self.margins, self.margin_values = _margin_constraints(n_labels, edges)
        self.n_shared = 4 * len(edges)

    def maximize(self, shape, theta, shared, vertex):
        """vertex <- argmax <theta, z>; returns the maximum (-inf if no output is allowed)."""
        scores = np.concatenate((theta, shared))
        allowed = scores > -np.inf
        finite = np.where(allowed, scores, 0.0)
        scale = np.abs(finite).max() or 1.0  # the solver's tolerances are absolute
        solution = linprog(
            -finite / scale,
            A_eq=self.margins,
            b_eq=self.margin_values,
            bounds=np.column_stack((np.zeros(scores.size), allowed)),
            method="highs-ds",  # the simplex method ends in a vertex
            options={"dual_feasibility_tolerance": 1e-9},
        )
        if solution.status == _INFEASIBLE:
            vertex[:] = 0.0
            return -np.inf
        if solution.x is None:
            raise RuntimeError(f"HiGHS could not solve the relaxed label graph: {solution.message}")
        # Every vertex is half-integral (Hammer, Hansen and Simeone 1984): rounding only removes noise.
        vertex[:] = np.round(2.0 * solution.x) / 2.0
        return float(finite @ vertex)


def _margin_constraints(n_labels, edges):
    """A, b of A z = b, three rows an edge (a, b): t10 + t11 = z_a, t01 + t11 = z_b, t00 + ... + t11 = 1."""
    n_edges = len(edges)
    t00 = n_labels + 4 * np.arange(n_edges)
    a, b = edges.T
    columns = np.stack((t00 + 2, t00 + 3, a, t00 + 1, t00 + 3, b, t00, t00 + 1, t00 + 2, t00 + 3), axis=1)
    rows = 3 * np.arange(n_edges)[:, None] + np.array([0, 0, 0, 1, 1, 1, 2, 2, 2, 2])
    values = np.tile([1.0, 1.0, -1.0, 1.0, 1.0, -1.0, 1.0, 1.0, 1.0, 1.0], n_edges)
    size = (3 * n_edges, n_labels + 4 * n_edges)
    matrix = csc_array((values, (rows.ravel(), columns.ravel())), shape=size)
    return matrix, np.tile([0.0, 0.0, 1.0], n_edges)
