"""Lives of estimators: fitted, changed, fitted again, interrupted, resumed, saved, loaded, copied.

A Hypothesis state machine draws a life step by step. After every fit the certificate must hold for the
problem that the estimator states now, recomputed by code that shares nothing with the package (`fits` and
`regressions`), and its bounds must not contradict those of a fresh fit.
"""

from __future__ import annotations

import pickle
import shutil
import tempfile
import warnings
from pathlib import Path
from typing import Any, ClassVar
from unittest import mock

import numpy as np
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    precondition,
    rule,
    run_state_machine_as_test,
)
from hypothesis.strategies import booleans, integers
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

import structlearn
from structlearn.core import memory
from structlearn.solvers import Checkpoint, checkpoint

from . import fits
from .beings import BEINGS, Being

STEPS = 12
#: What a run says that is asked to go on from the checkpoint of another one.
OTHERS = "is of other data or other parameters"
seeds = integers(0, 2**32 - 1)


class Killed(Exception):
    """Ends a run at one of its evaluations."""


class Life(RuleBasedStateMachine):
    """One estimator, and what becomes of it."""

    beings: ClassVar[tuple[Being, ...]] = BEINGS

    @initialize(which=integers(0, 10**6), seed=seeds)
    def is_born(self, which: int, seed: int) -> None:
        self.being = self.beings[which % len(self.beings)]
        self.folder = Path(tempfile.mkdtemp(prefix="life"))
        #: how often the problem or its settings have changed
        self.changes = 0
        #: the same when the model was trained (None if it is not), and on what
        self.fitted: int | None = None
        self.seen: Any = None
        #: the same when the run was killed whose checkpoint lies in the folder
        self.kept: int | None = None
        self.begin(seed)

    def teardown(self) -> None:
        if hasattr(self, "folder"):
            shutil.rmtree(self.folder, ignore_errors=True)

    def begin(self, seed: int) -> None:
        rng = np.random.default_rng(seed)
        self.problem, self.kind = self.being.draw(rng)
        self.model = self.being.model(rng, self.problem, self.kind)

    # ---- what changes ------------------------------------------------------------------------------------

    @rule(seed=seeds)
    def other_data(self, seed: int) -> None:
        """Data of any other shape, with the parameters that go with them."""
        self.problem, _ = self.being.draw(np.random.default_rng(seed), self.kind)
        self.state()

    @rule(seed=seeds)
    def other_problem(self, seed: int) -> None:
        """Another problem on examples of the same shapes: what a warm start may mistake for the same."""
        self.problem = self.being.varied(np.random.default_rng(seed), self.problem)
        self.state()

    @rule(seed=seeds)
    def other_settings(self, seed: int) -> None:
        """Another loss, solver, lambda, tolerance or budget."""
        rng = np.random.default_rng(seed)
        self.kind = self.being.other_kind(rng, self.kind)
        self.model.set_params(**self.being.settings(rng, self.problem, self.kind))
        self.state()

    @rule(on=booleans())
    def warm(self, on: bool) -> None:
        self.model.set_params(warm_start=on)

    def state(self) -> None:
        """Give the model the parameters that its problem is told by."""
        self.changes += 1
        self.model.set_params(**self.being.parameters(self.problem))

    # ---- fits --------------------------------------------------------------------------------------------

    @rule()
    def fit(self) -> None:
        self.train()

    @rule()
    def fit_warm(self) -> None:
        """The commonest way to go on."""
        self.model.set_params(warm_start=True)
        self.train()

    @property
    def keeps_scores(self) -> bool:
        return self.model.solver in ("newton", "proximal-newton")

    @precondition(lambda self: "memory" in self.model.get_params() and not self.keeps_scores)
    @rule()
    def fit_in_little_memory(self) -> None:
        """All arrays that may go to files do; Newton's methods, which keep scores in memory, refuse that."""
        with mock.patch.multiple(memory, SMALL=1, LEAST=-(1 << 60)):
            self.train(memory=1)

    @precondition(lambda self: self.being.partial)
    @rule(seed=seeds)
    def fit_partly(self, seed: int) -> None:
        """On labels that are known in part: no convex problem, but the next fit is."""
        y = self.being.partly(np.random.default_rng(seed), self.problem)
        partly = clone(self.model).set_params(
            loss="softmax", solver="auto", solver_options=None, penalty="l2"
        )
        partly.set_params(warm_start=False, checkpoint=None, class_weight=None)
        with quiet():
            partly.fit(self.problem.X, y, self.problem.sample_weight)
        assert np.isfinite(partly.weights_).all()
        assert (np.diff(partly.outer_history_) <= 1e-9 * np.abs(partly.outer_history_[:-1])).all()
        changed = {name: value for name, value in vars(partly).items() if name.endswith("_")}
        vars(self.model).update(changed)
        self.fitted = None

    @precondition(lambda self: self.being.checkpoints and self.kept is None)
    @rule(at=integers(1, 4))
    def is_killed(self, at: int) -> None:
        """A run with checkpoints that ends at one of its evaluations."""
        count = iter(range(100_000))

        def die(row: Any) -> None:
            if next(count) == at:
                raise Killed

        kept = Checkpoint(self.folder / "kept", seconds=0.0)
        try:
            self.train(checkpoint=kept, callback=die)
        except Killed:
            self.fitted = None
        if (self.folder / "kept" / checkpoint.NAME).exists():
            self.kept = self.changes

    @precondition(lambda self: self.kept is not None)
    @rule()
    def resumes(self) -> None:
        """From the checkpoint of this problem as if nothing had happened; from another's, with a sentence."""
        try:
            self.train(checkpoint=Checkpoint(self.folder / "kept", seconds=0.0, resume=True))
        except ValueError as error:
            if OTHERS not in str(error) or self.kept == self.changes:
                raise
            self.fitted = None
        shutil.rmtree(self.folder / "kept", ignore_errors=True)
        self.kept = None

    def train(self, **passing: Any) -> None:
        """Fit with parameters that are those of this fit alone, and check what it says."""
        before = {name: self.model.get_params()[name] for name in passing}
        self.model.set_params(**passing)
        self.fitted = None
        try:
            with quiet(), mock.patch.object(checkpoint, "BUSY", np.inf):
                self.being.fit(self.model, self.problem)
        except (ValueError, TypeError) as error:
            if not any(part in str(error) for part in fits.REFUSALS):
                raise
            return
        finally:
            self.model.set_params(**before)
        self.fitted, self.seen = self.changes, self.problem.X
        found = self.being.complaints(self.model, self.problem, self.kind)
        assert not found, found
        self.agrees_with_a_fresh_fit()

    def agrees_with_a_fresh_fit(self) -> None:
        """Both certificates bound one and the same optimum."""
        if not self.model.warm_start or self.kind.loss == "perceptron":
            return
        fresh = clone(self.model).set_params(warm_start=False)
        with quiet():
            self.being.fit(fresh, self.problem)
        one, other = self.model.certificate_, fresh.certificate_
        slack = one.rounding + other.rounding
        assert one.dual <= other.primal + slack
        assert other.dual <= one.primal + slack

    # ---- copies ------------------------------------------------------------------------------------------

    @rule()
    def is_cloned(self) -> None:
        self.model, self.fitted = clone(self.model), None

    @precondition(lambda self: self.fitted == self.changes)
    @rule()
    def is_pickled(self) -> None:
        self.replace(pickle.loads(pickle.dumps(self.model)))  # noqa: S301

    @precondition(lambda self: self.fitted == self.changes)
    @rule()
    def is_saved_and_loaded(self) -> None:
        path = self.folder / "model.safetensors"
        self.model.save(path)
        parameters = self.model.get_params()
        loaded = structlearn.load(path, **self.being.loading(self.problem))
        self.replace(loaded.set_params(**parameters))

    def replace(self, other: Any) -> None:
        """By a copy that says the same."""
        np.testing.assert_array_equal(other.weights_, self.model.weights_)
        assert other.certificate_ == self.model.certificate_
        mine, copied = (model.predict(self.seen) for model in (self.model, other))
        assert str(list(mine)) == str(list(copied))
        self.model = other


class quiet(warnings.catch_warnings):
    """Warnings are errors, but for those that some of the random problems deserve."""

    def __enter__(self) -> None:
        super().__enter__()
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", ConvergenceWarning)
        for message in fits.DESERVED:
            warnings.filterwarnings("ignore", message=message)


def run(seed: int) -> tuple[str, str | None]:
    """One life: its label, and what went wrong in it (None if nothing did)."""
    being = BEINGS[seed % len(BEINGS)]
    machine = type("Life", (Life,), {"beings": (being,), "_hypothesis_internal_use_seed": seed})
    try:
        run_state_machine_as_test(machine, settings=one_life())
    except Exception as error:
        notes = "\n".join(getattr(error, "__notes__", []))
        return str(being), f"{type(error).__name__}: {error}\n{notes}"
    return str(being), None


def one_life() -> settings:
    return settings(
        max_examples=2,  # the first is the simplest there is
        stateful_step_count=STEPS,
        deadline=None,
        database=None,
        phases=(Phase.generate,),
        report_multiple_bugs=False,
        suppress_health_check=list(HealthCheck),
    )


def groups(seeds: range) -> list[list[int]]:
    """Seeds of one being together: one process compiles it."""
    by_being: dict[int, list[int]] = {}
    for seed in seeds:
        by_being.setdefault(seed % len(BEINGS), []).append(seed)
    return [group[k : k + 20] for group in by_being.values() for k in range(0, len(group), 20)]
