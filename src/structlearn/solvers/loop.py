"""The only loop: it runs any solver, and owns budget, certificate, status, trace and callback."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any, Generic, TypeAlias

import numpy as np

from structlearn.core.contract import Array
from structlearn.core.errors import OracleError
from structlearn.core.rounding import MATERIAL, Bound
from structlearn.core.sentences import Statement
from structlearn.core.threads import blas_threads
from structlearn.solvers.best import Best, has_bounds
from structlearn.solvers.checkpoint import Checkpoint, Keeper
from structlearn.solvers.clock import Stopwatch, seconds_spent
from structlearn.solvers.needs import check_needs
from structlearn.solvers.refutation import refutation
from structlearn.solvers.solution import INTERRUPTED, Certificate, DualPoint, History, Row, Solution
from structlearn.solvers.solver import Candidate, Kind, Progress, Solver, State
from structlearn.solvers.states import check_saved, check_weight_count, refuse_misfits
from structlearn.solvers.stopping import Stopping as Stopping
from structlearn.solvers.stopping import Tolerance

#: What is said of a problem of which nothing can be certified, not even at w = 0.
TOO_LARGE = (
    "Features or targets are so large that their squares are infinite: no certificate is possible. Divide "
    "them by a constant, or scale them, as with row_transformer=StandardScaler()."
)
#: An estimate of the gap within this many tolerances is near: then the gap is evaluated after each pass.
NEAR = 3.0
#: What NumPy makes a generator of.
Seed: TypeAlias = int | Sequence[int] | np.random.SeedSequence | np.random.Generator | None


def solve(
    objective: Kind,
    solver: Solver[Kind, State],
    stopping: Stopping | None = None,
    *,
    seed: Seed = None,
    callback: Callable[[Row], object] | None = None,
    warm: Solution | None = None,
    watch: Callable[[Row, Array], object] | None = None,
    checkpoint: Checkpoint | None = None,
    resumable: bool = True,
) -> Solution:
    """Minimise `objective` with `solver` until the duality gap is at most `tol` or a budget is spent.

    `callback` gets each `Row` of the history; training ends when it returns a true value. Ctrl-C ends
    training too; the best weights so far are returned. `watch` gets each row with the best weights so far,
    while the clock stands still. With a `checkpoint` the run is written to disk every so often, and goes on
    from there bit for bit; its seed is the one it began with. `warm` is a solution to start from: of this
    problem, or of another; what is not feasible here is left out. Unless the solution is `resumable`, a later
    run takes nothing but its weights, and no hash of the problem is computed.
    """
    check_needs(solver, objective)
    warm = None if warm is None else warm.start_for(objective)
    with blas_threads(1), np.errstate(over="ignore", invalid="ignore"):  # what diverges is never the best
        stopping = stopping or Stopping()
        run = _Run(objective, solver, stopping, callback, watch, resumable)
        run.calls_before = python_calls(objective)
        rng = np.random.default_rng(seed)
        opened = nullcontext() if checkpoint is None else checkpoint.open(objective, solver, stopping.tol)
        with opened as keeper:
            return _solve(run, rng, warm, keeper)


def _solve(
    run: _Run[Kind, State], rng: np.random.Generator, warm: Solution | None, keeper: Keeper | None
) -> Solution:
    objective, solver = run.objective, run.solver
    kept = None if keeper is None else keeper.load()
    state = solver.start(objective, rng, warm) if kept is None else run.resume(kept, rng)
    try:
        if kept is None:
            run.certify(state)
            state = run.confirm(state)
        while not run.reason(state):
            state = solver.step(objective, state, rng)
            if run.due(state):
                run.certify(state)
                state = run.confirm(state)
            if keeper is not None and (keeper.is_due() or run.reason(state)):
                keeper.keep(run.record(state, rng))
    except KeyboardInterrupt:
        run.interrupted = True
    return run.finish(state)


@dataclass
class _Run(Generic[Kind, State]):
    """What one training run has found so far."""

    objective: Kind
    solver: Solver[Kind, State]
    stopping: Stopping
    callback: Callable[[Row], object] | None
    watch: Callable[[Row, Array], object] | None
    resumable: bool = True
    history: History = field(default_factory=History)
    best: Best = field(default_factory=Best)
    extra: dict[str, float] = field(default_factory=dict)
    next_check: float = 0.0
    clock: Stopwatch = field(default_factory=Stopwatch)
    #: seconds of `max_seconds` that were spent before training began
    spent_before: float = field(default_factory=seconds_spent)
    #: answers of plain Python before this run
    calls_before: int = 0
    called_off: bool = False
    interrupted: bool = False
    #: the last state that was evaluated
    evaluated: State | None = None
    #: the last state that was settled, with its dual point
    settled: tuple[State, DualPoint | None] | None = None

    def record(self, state: State, rng: np.random.Generator) -> dict[str, object]:
        """Return all that is needed to go on from here."""
        return {
            "state": self.solver.saved(self.objective, state),
            "random": rng.bit_generator.state,
            "best": self.best,
            "extra": self.extra,
            "next_check": self.next_check,
            "seconds": self.clock.seconds,
            "rows": self.history.rows,
            "columns": self.history.extra,
        }

    def resume(self, record: Mapping[str, Any], rng: np.random.Generator) -> State:
        """Go on from a record that was read from a file; return its state."""
        with refuse_misfits():
            check_saved(record, Best, self.objective.n_weights)
            rng.bit_generator.state = record["random"]
            self.best, self.extra = record["best"], record["extra"]
            self.next_check = record["next_check"]
            self.history = History(record["rows"])
            self.history.extra = {name: list(values) for name, values in record["columns"].items()}
            state = self.solver.restored(self.objective, record["state"])
            check_weight_count(state, self.objective.n_weights)
            self.solver.progress(state)
        self.clock = Stopwatch(record["seconds"])
        return state

    @property
    def tolerance(self) -> Tolerance:
        """The gap at which to stop."""
        return self.stopping.tolerance(self.best.at_zero)

    def passes(self, state: State) -> float:
        return state.oracle_calls / self.objective.n_active

    def due(self, state: State) -> bool:
        """Evaluate at whole passes: at the first, later every tenth of the way, and when near tol."""
        passes = self.passes(state)
        if passes < int(self.next_check) + 1 and not _is_whole(passes):
            return False
        progress = self.solver.progress(state)
        near = progress.estimate <= NEAR * self.tolerance.gap
        return not progress.pending and (passes >= self.next_check or (near and _is_whole(passes)))

    def certify(self, state: State) -> None:
        """Evaluate the state, add a row to the history, and show it to the callback."""
        best = self._evaluate(state)
        row = self._row(state, best)
        self.next_check = row.passes + max(1.0, self._share(state, row.passes) * row.passes)
        self.history.append(row, **self.extra)
        if self.callback is not None and self.callback(row):
            self.called_off = True
        if self.watch is not None:
            begin = self.clock.seconds
            self.watch(row, best.w)
            self.clock.set_back(begin)

    def confirm(self, state: State) -> State:
        """Make sure that a closed gap is closed, but for bounds: what was added up step by step is added up
        afresh.

        If it is open then, training goes on from there.
        """
        best, tolerance = self.best, self.tolerance
        done = best.gap <= tolerance.gap or best.needs_tighter_bounds(tolerance)
        return self._settle(state)[0] if done and self.solver.certifies else state

    def _settle(self, state: State) -> tuple[State, DualPoint | None]:
        """Make a state consistent; return it and its dual point, certified by values without drift."""
        if self.settled is None or self.settled[0] is not state:
            self.settled = self.solver.settle(self.objective, state)
            if self.solver.accumulates:
                self.best = self.best._replace(dual=Bound(0.0), dual_norm=0.0, rough_dual=0.0)
            self._evaluate(self.settled[0], primal=self.evaluated is not state)
        return self.settled

    def _share(self, state: State, passes: float) -> float:
        """Return how far to go until the next evaluation: at first as far again, where tol is far."""
        far = NEAR * self.tolerance.gap < self.solver.progress(state).estimate < np.inf
        return 1.0 if far and passes < 10 else 0.1

    def _evaluate(self, state: State, primal: bool = True) -> Best:
        """Keep the best of each side among the candidates; w = 0 is always one where P means something.

        Without `primal` their dual values alone: those of a state whose weights were evaluated before.
        """
        candidates, best = self.solver.candidates(self.objective, state), self.best
        certifies = self.solver.certifies
        if not best.w.size and certifies and candidates[0].w.any():
            candidates = [Candidate(np.zeros(candidates[0].w.size)), *candidates]
        for candidate in candidates:
            if primal:
                best = self._better(best, candidate)
            if candidate.dual is not None:
                best = best._replace(rough_dual=max(best.rough_dual, sum(candidate.dual)))
                if best.dual.value < candidate.dual.value < np.inf:
                    best = best._replace(dual=candidate.dual, dual_norm=candidate.dual_norm)
            self.extra.update(candidate.extra)
        self.best = self._check_gap(best, state) if certifies else best
        self.evaluated = state
        if primal and has_bounds(self.objective):
            estimate = self.solver.progress(state).estimate + max(one.ahead for one in candidates)
            self.best = self.best.with_solver_gap(estimate, self.tolerance)
        return self.best

    def _better(self, best: Best, candidate: Candidate) -> Best:
        """Return the better one of two primal values; where none is certified, the later one."""
        w, value, certifies = candidate.w, candidate.primal, self.solver.certifies
        value = self.objective.primal(w) if value is None else value
        if best.w.size and certifies and not value < best.primal:  # nor where it is not a number
            return best
        rounding = self.objective.primal_rounding(w, value) if certifies else 0.0
        if not (np.isfinite(value) and np.isfinite(rounding) and np.isfinite(w).all()):
            if best.w.size and certifies:
                return best
            raise ValueError(TOO_LARGE)
        if not best.w.size and certifies:
            best = best._replace(at_zero=float(value) if value > rounding else 0.0)
        return best._replace(w=w.copy(), primal=float(value), rounding=rounding)

    def _check_gap(self, best: Best, state: State) -> Best:
        """Raise an OracleError for a gap below zero, which proves that an oracle's answer was not maximal.

        One that may come of the tolerance of an oracle of one's own counts as a rounding error.
        """
        if not best.gap < 0.0:
            return best
        if best.gap < -MATERIAL * (abs(best.primal) + abs(best.lower_bound)):
            _, point = self.solver.settle(self.objective, state)
            z = None if point is None else np.asarray(point)
            raise OracleError(refutation(self.objective, best.w, z, best.gap))
        return best._replace(rounding=best.rounding - best.gap)

    def _row(self, state: State, best: Best) -> Row:
        oracle_calls = state.oracle_calls
        bound, gap = (best.lower_bound, best.gap) if self.solver.certifies else (best.dual.value, best.primal)
        seconds = self.clock.seconds
        return Row(len(self.history), self.passes(state), oracle_calls, seconds, best.primal, bound, gap)

    def reason(self, state: State) -> str:
        """Say why to stop now, as a sentence; return an empty text to go on."""
        best, tolerance = self.best, self.tolerance
        progress = self.solver.progress(state)
        if best.gap <= tolerance.gap and self.solver.certifies:
            return Statement(
                "Converged: the duality gap {gap} is within {tolerance}.",
                gap=f"{best.gap:.3g}",
                tolerance=tolerance.sentence,
            )
        if progress.finished:
            return progress.finished
        if self.solver.certifies and best.primal - best.rough_dual <= tolerance.gap:
            return Statement(
                "Stopped with gap {gap}, perhaps within {tolerance} but for rounding errors of large scores: "
                "float64 cannot certify more; scale the features, or raise {tol}.",
                gap=f"{best.gap:.3g}",
                tolerance=tolerance.sentence,
            )
        if best.needs_tighter_bounds(tolerance) and self.solver.certifies:
            return best.bounds_left(tolerance, self.objective)
        spent = self._spent_budget(progress)
        if spent is None and not self.called_off:
            return ""
        left = best.gap_left(tolerance) if self.solver.certifies else Statement("mistakes left")
        if self.called_off:
            return Statement("Stopped by the callback with {left}.", left=left)
        advice = "Stopped after {spent} with {left}: raise it, {tol} or {regularization}."
        return Statement(advice, spent=spent, left=left)

    def _spent_budget(self, progress: Progress) -> Statement | None:
        """Name the budget that is spent, if one is."""
        stop = self.stopping
        if stop.max_seconds is not None and self.spent_before + self.clock.seconds >= stop.max_seconds:
            return Statement("{max_seconds=}", max_seconds=float(stop.max_seconds))
        if progress.pending:
            return None
        if progress.oracle_calls / self.objective.n_active >= stop.max_passes:
            return Statement("{max_passes=}", max_passes=float(stop.max_passes))
        if stop.max_oracle_calls is not None and progress.oracle_calls >= stop.max_oracle_calls:
            return Statement("max_oracle_calls={calls}", calls=stop.max_oracle_calls)
        return None

    def finish(self, state: State) -> Solution:
        """Settle and certify the state, whose values replace those of a row for the same pass."""
        seconds = self.clock.seconds
        state, point = self._settle(state)
        best = self.best
        last = self._row(state, best)
        if len(self.history) and self.history.rows[-1].passes == last.passes:
            last = last._replace(iteration=last.iteration - 1, seconds=self.history.pop().seconds)
        self.history.append(last, **self.extra)
        if self.solver.certifies:
            self.history.lower(last.dual)
        finished = self.solver.progress(state).finished
        if self.interrupted:
            status = f"{INTERRUPTED} with gap {last.gap:.3g}: this is the best model so far."
        else:
            status = self.reason(state) or Statement(
                "Stopped with gap {gap}: raise {max_passes} or {tol}.", gap=f"{last.gap:.3g}"
            )
        converged = last.gap <= self.tolerance.gap if self.solver.certifies else bool(finished)
        certificate = Certificate(
            primal=last.primal,
            dual=last.dual,
            gap=last.gap,
            passes=last.passes,
            oracle_calls=last.oracle_calls,
            seconds=seconds,
            status=status,
            exact=self.objective.exact,
            converged=bool(converged),
            rounding=best.rounding + best.dual.rounding,
            tolerance=self.tolerance.gap if self.solver.certifies else 0.0,
            calls=python_calls(self.objective) - self.calls_before,
            inference_gap=float(best.inference_gap),
        )
        known = self._hashes() if self.resumable else ("", "")
        return Solution(best.w, certificate, self.history, point, state, *known, dual_norm=best.dual_norm)

    def _hashes(self) -> tuple[str, str]:
        """Return the hashes by which a later run knows this problem; of all of it for solvers that resume."""
        problem = self.objective
        return problem.polytopes, problem.content_hash if self.solver.resumes else ""


def python_calls(objective: object) -> int:
    """Return how often plain Python has answered; 0 for problems that do not count it."""
    return int(getattr(objective, "python_calls", 0))


def _is_whole(passes: float) -> bool:
    return abs(passes - round(passes)) < 1e-9
