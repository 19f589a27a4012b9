"""Any linear or mixed-integer program in matrices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from structlearn.core.callbacks import Callback
from structlearn.core.contract import Array, Record, Shape, max_value, maximize, workspace
from structlearn.core.kernels import implements, jitable, leaf
from structlearn.core.words import call
from structlearn.structures.base import Structure, Weights
from structlearn.structures.decisions.decision import Decisions
from structlearn.structures.decisions.program_input import as_polyhedron, check_limits, implied_bounds
from structlearn.structures.decisions.program_oracle import RELATIVE, ProgramOracle
from structlearn.structures.decisions.simplex import (
    SimplexWork,
    Tables,
    lay_out,
    simplex_work,
    solve_by_table,
)
from structlearn.structures.instances import of_instances
from structlearn.structures.registry import stored


@of_instances
class ProgramRecord(NamedTuple):
    """The compiled form of `Program`: small linear programs as tables, and what answers for all others."""

    #: of a `core.callbacks.Callback`
    address: int
    tables: Tables


def _numbers(value: object) -> bool:
    """Accept an array of finite numbers."""
    return isinstance(value, np.ndarray) and value.dtype.kind in "biuf" and bool(np.isfinite(value).all())


def _matrix(value: object) -> bool:
    """Accept a sparse matrix as three arrays."""
    return isinstance(value, tuple) and len(value) == 3 and all(map(_numbers, value))


_FORMS = {
    "A": _matrix, "b": _numbers, "A_eq": _matrix, "b_eq": _numbers, "bounds": _numbers,
    "integrality": _numbers, "mip_gap": float, "time_limit": float | None,
}  # fmt: skip


@stored("solutions of a linear or mixed-integer program", _FORMS)
class Program(Decisions):
    """The vertices of a linear program, or the solutions of a mixed-integer one, by HiGHS.

        maximize <theta, z>   subject to   A z <= b,   A_eq z = b_eq,   bounds,   z_j whole where it must be

    Parts need not be 0 or 1. An answer comes with an upper bound of all others, from multipliers or from
    branch and bound. Where a mixed-integer program stops early (`mip_gap`, `time_limit`), training takes P
    from these bounds and D from the solutions, so that its certificate stays true.

    Parameters
    ----------
    A, b : array-like or sparse matrix of shape (rows, parts), and one number per row; None for no rows
    A_eq, b_eq : the same for equalities
    bounds : (least, most), or one such pair per part; None is infinite
    integrality : True where all parts are whole numbers, or one number per part, 1 where it is (as in
        `scipy.optimize.milp`); None for a linear program
    mip_gap : float
        The relative gap at which a mixed-integer program may stop; gold decisions are solved to the end.
    time_limit : float, optional
        Seconds after which it must stop.

    Raises
    ------
    ValueError
        Where the program is infeasible, or leaves a part unbounded.
    """

    no_marginals = " (it can only maximise); use {loss=hinge} or 'sparsemax'"
    accuracy = RELATIVE

    def __init__(
        self,
        A: Any = None,
        b: ArrayLike | None = None,
        A_eq: Any = None,
        b_eq: ArrayLike | None = None,
        bounds: Any = (0, 1),
        integrality: ArrayLike | bool | None = None,
        *,
        mip_gap: float = 0.0,
        time_limit: float | None = None,
    ) -> None:
        self.mip_gap, self.time_limit = check_limits(mip_gap, time_limit)
        given = as_polyhedron(A, b, A_eq, b_eq, bounds, integrality)
        self.instances = (implied_bounds(given),)
        self._settle()

    def _settle(self) -> None:
        """Set what follows from the instances."""
        one = self.instances
        whole = [polyhedron.whole.any() for polyhedron in one]
        self.bounded = any(whole) and (self.mip_gap > 0 or self.time_limit is not None)
        self.zero_one = all(p.lower.min() >= 0 and p.upper.max() <= 1 for p in one)
        self.signed = any(p.lower.min() < 0 for p in one)
        self.largest_entry = max(p.largest_entry for p in one)
        oracle = ProgramOracle(self.instances, self.mip_gap, self.time_limit, self.bounded)
        self.python = self._answers = Callback(oracle, oracle.bound)
        if len(one) == 1:
            oracle.check_feasible()

    @classmethod
    def together(cls, structures: Sequence[Program]) -> Program:
        """Return one structure of the programs of several, of which each example may have one."""
        limits = {(one.mip_gap, one.time_limit) for one in structures}
        if len(limits) > 1:
            raise ValueError("Programs of one model must have one mip_gap and one time_limit.")
        found = cls.__new__(cls)
        found.mip_gap, found.time_limit = limits.pop()
        found.instances = tuple(instance for one in structures for instance in one.instances)
        found.masks = (None,) * len(found.instances)
        found._settle()
        return found

    def without(self, parts: ArrayLike) -> Program:
        """Return the same program in which these parts, given by their numbers, are zero."""
        wrong = self._part_numbers(parts)
        first = self.instances[0]
        lower, upper = first.lower.copy(), first.upper.copy()
        if (lower[wrong] > 0).any() or (upper[wrong] < 0).any():
            raise ValueError("A part whose bounds leave zero out cannot be forbidden; change the bounds.")
        lower[wrong] = upper[wrong] = 0.0
        found = type(self).__new__(type(self))
        found.mip_gap, found.time_limit = self.mip_gap, self.time_limit
        found.instances = (first._replace(lower=lower, upper=upper), *self.instances[1:])
        found.masks = self.masks
        found._settle()
        return found

    @property
    def to_the_end(self) -> Program:
        """The same program without a `mip_gap`: for gold decisions, which are asked for once."""
        if not self.mip_gap:
            return self
        return _from_state(type(self), self.instances, 0.0, self.time_limit)

    @cached_property
    def instance_record(self) -> ProgramRecord:
        return ProgramRecord(self._answers.address, lay_out(self.instances))

    @property
    def record(self) -> Record:
        return self.instance_record

    @property
    def content(self) -> tuple[object, ...]:
        parts = ((*_arrays(one.matrix), *one[1:]) for one in self.instances)
        return (*(array for one in parts for array in one), self.mip_gap, self.time_limit)

    def arguments(self) -> dict[str, object]:
        one = self.instances[0]
        equal, rows = one.row_lower == one.row_upper, sparse.csr_array(one.matrix)
        return {
            "A": _arrays(rows[~equal]), "b": one.row_upper[~equal],
            "A_eq": _arrays(rows[equal]), "b_eq": one.row_upper[equal],
            "bounds": np.stack([one.lower, one.upper], axis=1), "integrality": one.whole.astype(np.int64),
            "mip_gap": self.mip_gap, "time_limit": self.time_limit,
        }  # fmt: skip

    @classmethod
    def from_arguments(cls, arguments: Mapping[str, Any]) -> Structure:
        given = dict(arguments)
        n_parts = len(given["integrality"])
        for matrix, limits in (("A", "b"), ("A_eq", "b_eq")):
            try:
                made = sparse.csr_array(given[matrix], shape=(given[limits].size, n_parts))
                made.check_format(full_check=True)
            except (ValueError, IndexError, TypeError):
                raise ValueError(f"{matrix} is not a sparse matrix") from None
            given[matrix] = made
        return cls(**given)

    def encode(self, y: object, shape: Shape | None = None) -> Array:
        """Return the solution y itself; ValueError where it breaks a constraint by more than a millionth."""
        polyhedron = self.instances[0 if shape is None else shape[1]]
        z = np.asarray(y, dtype=np.float64)
        if z.shape != (polyhedron.n_parts,):
            raise ValueError(f"A solution has {polyhedron.n_parts} parts; got the shape {z.shape}.")
        violation = polyhedron.violation(z) if np.isfinite(z).all() else np.inf
        if not violation <= 1e-6 * (1.0 + polyhedron.largest_entry):
            raise ValueError(f"The solution breaks a constraint or a bound by {violation:.3g}.")
        if (np.abs(z - np.rint(z)) > 1e-6)[polyhedron.whole].any():
            raise ValueError("A part of the solution that must be whole is not.")
        return z

    def decode(self, vertex: Array) -> Array:
        """Return the solution, in integers where all parts are whole numbers."""
        whole = all(one.whole.all() for one in self.instances)
        return np.rint(vertex).astype(np.int64) if whole else np.array(vertex)

    def cost(
        self, mu: Array, *, weights: Weights = None, nodes: Weights = None, normalized: bool = True
    ) -> Array:
        """Return Hamming costs over parts; ValueError where they are not 0 or 1."""
        if not np.isin(mu, (0.0, 1.0)).all():
            raise ValueError(
                "A Hamming cost needs parts that are 0 or 1; use DecisionPredictor with loss='spo+', whose "
                "costs are those of the parts."
            )
        return super().cost(mu, weights=weights, nodes=nodes, normalized=normalized)

    def __reduce__(self) -> tuple[Any, tuple[object, ...]]:
        return _from_state, (type(self), self.instances, self.mip_gap, self.time_limit)


def _from_state(kind: type[Program], instances: Any, mip_gap: float, time_limit: float | None) -> Program:
    found = kind.__new__(kind)
    found.mip_gap, found.time_limit, found.instances = mip_gap, time_limit, instances
    found.masks = (None,) * len(instances)
    found._settle()
    return found


def _arrays(matrix: Any) -> tuple[Array, Array, Array]:
    """Return a sparse matrix as three arrays."""
    return matrix.data, matrix.indices.astype(np.int64), matrix.indptr.astype(np.int64)


@implements(workspace, ProgramRecord)
@jitable
def program_workspace(structure: ProgramRecord, shape: Shape) -> SimplexWork:
    return simplex_work(structure.tables)


@leaf
def _ask(
    structure: ProgramRecord,
    shape: Shape,
    theta: Array,
    shared: Array,
    work: SimplexWork,
    vertex: Array,
    bound: int,
) -> float:
    if not solve_by_table(structure.tables, shape[1], theta, work, vertex):
        return call(structure.address, (bound, shape[0], shape[1], theta, shared, vertex))
    value = 0.0
    for j in range(theta.size):
        value += theta[j] * vertex[j]
    return value


@implements(maximize, ProgramRecord)
@leaf
def program_maximize(
    structure: ProgramRecord, shape: Shape, theta: Array, shared: Array, work: SimplexWork, vertex: Array
) -> float:
    return _ask(structure, shape, theta, shared, work, vertex, 0)


@implements(max_value, ProgramRecord)
@leaf
def program_max_value(
    structure: ProgramRecord, shape: Shape, theta: Array, shared: Array, work: SimplexWork, vertex: Array
) -> float:
    return _ask(structure, shape, theta, shared, work, vertex, 1)
