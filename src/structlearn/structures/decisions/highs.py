"""Linear and mixed-integer programs, solved by HiGHS: a model that stays, of which scores alone change.

For any multipliers y of the rows (of the sign that inequalities ask for) and r = theta - A^T y,

    max_z <theta, z>  <=  sum_k max(y_k l_k, y_k u_k) + sum_j max(r_j lower_j, r_j upper_j)

so that an answer comes with a bound that is true whatever the solver's tolerances are. `highspy` keeps the
model and starts from the last basis; without it SciPy solves each program afresh, which takes ten times as
long.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple, Protocol

import numpy as np
from scipy import sparse

from structlearn.core.contract import Array

#: Violations that simplex may leave, of a program whose largest score is 1.
TOLERANCE = 1e-9


class Polyhedron(NamedTuple):
    """{z : row_lower <= matrix z <= row_upper, lower <= z <= upper}, some parts of which are whole."""

    matrix: Any  # (rows, parts), by columns
    row_lower: Array
    row_upper: Array
    lower: Array
    upper: Array
    #: of each part whether it is a whole number
    whole: Array

    @property
    def n_parts(self) -> int:
        return int(self.lower.size)

    @property
    def most_chosen(self) -> int:
        return self.n_parts

    @property
    def largest_entry(self) -> float:
        """The largest absolute value that a part may have."""
        return float(np.maximum(np.abs(self.lower), np.abs(self.upper)).max())

    def bound(self, theta: Array, y: Array) -> float:
        """Return a bound on <theta, z>, by the formula above."""
        # 1. A multiplier of a row without that limit is zero.
        y = np.where(np.isneginf(self.row_lower), np.maximum(y, 0.0), y)
        y = np.where(np.isposinf(self.row_upper), np.minimum(y, 0.0), y)
        limits = np.where(y > 0.0, self.row_upper, self.row_lower)
        used = y != 0.0
        # 2. What multipliers leave of the scores is at its largest in a corner of the bounds.
        rest = theta - self.matrix.T @ y
        corner = np.where(rest > 0.0, self.upper, self.lower)
        left = rest != 0.0
        return float(y[used] @ limits[used]) + float(rest[left] @ corner[left])

    def violation(self, z: Array) -> float:
        """Return by how much z misses a row or a bound, at most."""
        rows = self.matrix @ z
        missed = (self.row_lower - rows, rows - self.row_upper, self.lower - z, z - self.upper)
        return max(float(one.max(initial=0.0)) for one in missed)


class ProgramAnswer(NamedTuple):
    """A point, empty where none was found, and a bound on all; what HiGHS says unless it is "Optimal"."""

    point: Array
    bound: float
    said: str = ""


class ProgramSolver(Protocol):
    """What maximises <theta, z>, without whole numbers or with them."""

    def relaxed(self, theta: Array, lower: Array, upper: Array) -> ProgramAnswer:
        """Return the best vertex of the linear program, within other bounds."""

    def whole(self, theta: Array, lower: Array, upper: Array, gap: float, seconds: float) -> ProgramAnswer:
        """Return a solution in whole numbers, within a relative gap, or as far as the time allows."""


@cache
def load_highspy() -> Any:
    """Return the module, which takes a while to import; None where it is not installed."""
    try:
        import highspy
    except ImportError:  # SciPy has HiGHS too, without a model that stays
        return None
    return highspy


def make_solver(polyhedron: Polyhedron) -> ProgramSolver:
    """Return a solver for one thread."""
    return ScipySolver(polyhedron) if load_highspy() is None else KeptModel(polyhedron)


def vertex_basis(polyhedron: Polyhedron) -> Array | None:
    """Return the state of each part and row at a vertex: 0 and 1 at a bound, 2 basic; None if not known."""
    highspy = load_highspy()
    if highspy is None:
        return None
    model = _model(polyhedron, np.zeros(polyhedron.n_parts, dtype=bool))
    model.run()
    basis = model.getBasis()
    states = [*basis.col_status, *basis.row_status]
    kinds = highspy.HighsBasisStatus
    names = {kinds.kLower: 0, kinds.kUpper: 1, kinds.kBasic: 2}
    if _what_it_says(model) or not basis.valid or not set(states) <= names.keys():
        return None
    return np.array([names[one] for one in states])


class KeptModel:
    """A model in `highspy`, which changes scores and goes on from the last basis."""

    def __init__(self, polyhedron: Polyhedron) -> None:
        self.polyhedron = polyhedron
        self.linear = _model(polyhedron, np.zeros(polyhedron.n_parts, dtype=bool))
        self.mixed: Any = _model(polyhedron, polyhedron.whole) if polyhedron.whole.any() else None
        self._parts = np.arange(polyhedron.n_parts, dtype=np.int32)
        #: models whose bounds are not those of the polyhedron
        self._changed: list[Any] = []

    def relaxed(self, theta: Array, lower: Array, upper: Array) -> ProgramAnswer:
        model, polyhedron = self.linear, self.polyhedron
        self._ask(model, theta, lower, upper)
        said = _what_it_says(model)
        if said:
            return ProgramAnswer(np.empty(0), np.inf, said)
        solution = model.getSolution()
        y = np.array(solution.row_dual)
        return ProgramAnswer(
            np.array(solution.col_value), _tightened(polyhedron, lower, upper).bound(theta, y)
        )

    def whole(self, theta: Array, lower: Array, upper: Array, gap: float, seconds: float) -> ProgramAnswer:
        model, highspy = self.mixed, load_highspy()
        model.setOptionValue("mip_rel_gap", gap)
        model.setOptionValue("time_limit", min(model.getRunTime() + seconds, highspy.kHighsInf))
        self._ask(model, theta, lower, upper)
        said, info = _what_it_says(model), model.getInfo()
        found = info.primal_solution_status == highspy.SolutionStatus.kSolutionStatusFeasible
        point = np.array(model.getSolution().col_value) if found else np.empty(0)
        return ProgramAnswer(point, float(info.mip_dual_bound), said)

    def _ask(self, model: Any, theta: Array, lower: Array, upper: Array) -> None:
        """Solve a model, whose bounds stay until others are given."""
        size, own = theta.size, lower is self.polyhedron.lower and upper is self.polyhedron.upper
        if not own or any(one is model for one in self._changed):
            model.changeColsBounds(size, self._parts, lower, upper)
        self._changed = [one for one in self._changed if one is not model] + ([] if own else [model])
        model.changeColsCost(size, self._parts, theta)
        model.run()


def _tightened(polyhedron: Polyhedron, lower: Array, upper: Array) -> Polyhedron:
    return polyhedron._replace(lower=lower, upper=upper)


def _model(polyhedron: Polyhedron, whole: Array) -> Any:
    """Pass a program to HiGHS."""
    highspy = load_highspy()
    program = highspy.HighsLp()
    program.num_col_, program.num_row_ = polyhedron.n_parts, polyhedron.row_lower.size
    program.sense_ = highspy.ObjSense.kMaximize
    program.col_cost_ = np.zeros(polyhedron.n_parts)
    program.col_lower_, program.col_upper_ = polyhedron.lower, polyhedron.upper
    program.row_lower_, program.row_upper_ = polyhedron.row_lower, polyhedron.row_upper
    matrix = polyhedron.matrix
    program.a_matrix_.start_, program.a_matrix_.index_ = matrix.indptr, matrix.indices
    program.a_matrix_.value_ = matrix.data
    if whole.any():
        kinds = highspy.HighsVarType.kContinuous, highspy.HighsVarType.kInteger
        program.integrality_ = [kinds[int(one)] for one in whole]
    model: Any = highspy.Highs()
    options: dict[str, Any] = {
        "output_flag": False, "threads": 1, "random_seed": 0, "mip_abs_gap": TOLERANCE,
        "primal_feasibility_tolerance": TOLERANCE, "dual_feasibility_tolerance": TOLERANCE,
        "mip_feasibility_tolerance": TOLERANCE,
    }  # fmt: skip
    if not whole.any():
        options["solver"] = "simplex"
    for name, value in options.items():
        model.setOptionValue(name, value)
    model.passModel(program)
    return model


def _what_it_says(model: Any) -> str:
    """Return the status of a model that was solved, "" where it is optimal."""
    status, highspy = model.getModelStatus(), load_highspy()
    return "" if status == highspy.HighsModelStatus.kOptimal else str(model.modelStatusToString(status))


class ScipySolver:
    """SciPy's HiGHS, which is given the whole program each time."""

    def __init__(self, polyhedron: Polyhedron) -> None:
        self.polyhedron = polyhedron
        lower, upper = polyhedron.row_lower, polyhedron.row_upper
        rows = sparse.csr_array(polyhedron.matrix)
        self._equal = np.flatnonzero(lower == upper)
        self._below = np.flatnonzero((lower != upper) & np.isfinite(upper))
        self._above = np.flatnonzero((lower != upper) & np.isfinite(lower))
        self._rows = sparse.vstack([rows[self._below], -rows[self._above]], format="csr")
        self._limits = np.concatenate([upper[self._below], -lower[self._above]])
        self._equalities = rows[self._equal]

    def relaxed(self, theta: Array, lower: Array, upper: Array) -> ProgramAnswer:
        from scipy.optimize import linprog  # it takes a while to import

        found = linprog(
            -theta, A_ub=self._rows, b_ub=self._limits, A_eq=self._equalities,
            b_eq=self.polyhedron.row_upper[self._equal], bounds=np.stack([lower, upper], axis=1),
            method="highs-ds",
            options={"primal_feasibility_tolerance": TOLERANCE, "dual_feasibility_tolerance": TOLERANCE},
        )  # fmt: skip
        if found.status != 0:
            return ProgramAnswer(np.empty(0), np.inf, _scipy_says(found.message))
        y = np.zeros(self.polyhedron.row_lower.size)
        y[self._equal] = -found.eqlin.marginals
        n_below, marginals = self._below.size, found.ineqlin.marginals
        y[self._below] -= marginals[:n_below]
        y[self._above] += marginals[n_below:]
        return ProgramAnswer(found.x, _tightened(self.polyhedron, lower, upper).bound(theta, y))

    def whole(self, theta: Array, lower: Array, upper: Array, gap: float, seconds: float) -> ProgramAnswer:
        from scipy.optimize import Bounds, LinearConstraint, milp

        polyhedron = self.polyhedron
        options: dict[str, float] = {"mip_rel_gap": gap}
        if np.isfinite(seconds):
            options["time_limit"] = seconds
        found = milp(
            -theta, integrality=polyhedron.whole.astype(int), bounds=Bounds(lower, upper), options=options,
            constraints=LinearConstraint(polyhedron.matrix, polyhedron.row_lower, polyhedron.row_upper),
        )  # fmt: skip
        point = np.empty(0) if found.x is None else np.asarray(found.x)
        bound = np.inf if found.mip_dual_bound is None else -float(found.mip_dual_bound)
        return ProgramAnswer(point, bound, "" if found.status == 0 else _scipy_says(found.message))


def _scipy_says(message: str) -> str:
    """Return what HiGHS says within a sentence of SciPy: "(HiGHS Status 8: Infeasible)"."""
    return message.rpartition(":")[2].strip(" .)") or message
