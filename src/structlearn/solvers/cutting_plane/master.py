"""The master problem of cutting planes: the best mixture of the planes at hand, by PIQP.

Planes come in groups, one slack variable each. With dual maps u_k and costs c_k (see `problem.objective`):

    max_alpha <c, alpha> - 1/(2 lambda) ||sum_k alpha_k u_k||^2,   alpha >= 0, sum over each group <= 1

What a group leaves of 1 is the weight of the gold outputs, a plane with u = 0 and c = 0. Whatever the
accuracy of the solver, what is returned is feasible, so that its dual value is a bound.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse

from structlearn.core.contract import Array

WEIGHTLESS = 1e-6  # an interior-point method leaves a little on planes that do not count


def mixture_of_gram(gram: Array, cost: Array) -> Array:
    """Return alpha for one group, from gram = <u_k, u_l> / lambda: a small dense program."""
    import piqp  # importing it takes long, and few solvers need it

    solver = piqp.DenseSolver()
    solver.setup(gram, -cost, G=np.ones((1, cost.size)), h_u=np.ones(1), x_l=np.zeros(cost.size))
    solver.solve()
    return feasible(solver.result.x, np.zeros(cost.size, dtype=np.int64))


def mixture_of_rows(rows: sparse.csr_matrix, cost: Array, owner: Array, regularization: float) -> Array:
    """Return alpha for the groups `owner`, from the u_k as rows of a CSR matrix.

    A sparse program over (alpha, w) with lambda w = sum_k alpha_k u_k: no Gram matrix of all planes, and the
    ordering of the factorisation decides whether planes or weights are eliminated.
    """
    import piqp

    m, d = rows.shape
    _, group = np.unique(owner, return_inverse=True)
    n_groups = int(group.max()) + 1
    members = sparse.csc_matrix((np.ones(m), (group, np.arange(m))), shape=(n_groups, m + d))
    lam = np.full(d, regularization)
    solver = piqp.SparseSolver()
    solver.setup(
        sparse.diags(np.concatenate([np.zeros(m), lam]), format="csc"),
        np.concatenate([-cost, np.zeros(d)]),
        sparse.hstack([rows.T, -sparse.diags(lam)], format="csc"),
        np.zeros(d),
        members,
        h_u=np.ones(n_groups),
        x_l=np.concatenate([np.zeros(m), np.full(d, -np.inf)]),
    )
    solver.solve()
    return feasible(solver.result.x[:m], group)


def feasible(alpha: Array, group: Array) -> Array:
    """Move alpha to where it is allowed; a solver that failed leaves all weight to the gold outputs."""
    alpha = np.maximum(np.nan_to_num(alpha, posinf=0.0), 0.0)
    total = np.bincount(group, weights=alpha)
    return alpha / np.maximum(total, 1.0)[group]


def idle_for(idle: Array, alpha: Array) -> Array:
    """Return how many master problems in a row gave a plane no weight, after one more."""
    return np.where(alpha > WEIGHTLESS, 0, idle + 1)
