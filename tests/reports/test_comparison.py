import csv
import os
import subprocess
import sys

import numpy as np
import pytest

from structlearn import MulticlassClassifier
from structlearn.reports import Comparison, Run, compare
from structlearn.reports.comparison import chosen_estimators
from structlearn.reports.runs import Job, execute_apart
from structlearn.solvers import BlockFrankWolfe, Certificate, History, Row, clock

PARAMETERS = {"loss": "hinge", "tol": 0.05, "max_passes": 200}


def make_rows(n, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    return X, np.argmax(X[:, :3] + 0.3 * rng.normal(size=(n, 3)), axis=1)


@pytest.fixture(scope="module")
def data():
    return make_rows(60, 0), make_rows(40, 1)


@pytest.fixture(scope="module")
def comparison(data):
    (X, y), test = data
    return compare(MulticlassClassifier(**PARAMETERS), X, y, ["bcfw", "fw"], test=test)


def without_seconds(history):
    return [row._replace(seconds=0.0) for row in history]


# ---- runs ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["bcfw", "fw"])
def test_a_run_is_that_of_the_estimator_alone(comparison, data, name):
    (X, y), test = data
    alone = MulticlassClassifier(solver=name, random_state=0, **PARAMETERS).fit(X, y)
    run = comparison[name]
    assert without_seconds(run.history) == without_seconds(alone.history_)
    assert run.certificate.gap == alone.certificate_.gap
    assert run.errors[-1] == pytest.approx(1 - alone.score(*test))
    assert len(run.errors) == len(run.history)


def test_the_first_error_is_that_of_zero_weights(comparison, data):
    _, (_, y) = data
    for run in comparison.values():
        assert run.errors[0] == pytest.approx(np.mean(y != 0))  # all scores tie: the first class


def test_errors_are_those_of_the_weights_at_each_row(data):
    (X, y), _ = data
    seen = []
    estimator = MulticlassClassifier(random_state=0, **PARAMETERS)
    run = compare(estimator, X, y, ["fw"], test=lambda model: seen.append(model.weights_.copy()) or 0.0)["fw"]
    assert len(seen) == len(run.history) + 1  # and once at the end
    for i in (1, len(run.history) - 1):
        # P at the weights that were shown, by enumeration of the three classes
        scores = np.c_[X, np.ones(len(X))] @ seen[i].reshape(-1, 3)
        margins = scores + (np.arange(3) != y[:, None]) - scores[np.arange(len(y)), y][:, None]
        primal = 0.005 * seen[i] @ seen[i] + margins.max(axis=1).mean()
        assert run.history[i].primal == pytest.approx(primal)


def test_the_clock_stands_still_while_the_test_runs(data, monkeypatch):
    now = [0.0]
    monkeypatch.setattr(clock.time, "perf_counter", lambda: now[0])

    def slow(model):
        now[0] += 1000.0
        return 0.0

    (X, y), _ = data
    run = compare(MulticlassClassifier(max_seconds=10, **PARAMETERS), X, y, ["bcfw"], test=slow)["bcfw"]
    assert run.certificate.seconds == 0
    assert not np.any(run.history.seconds)
    assert run.certificate.converged


def test_variants_and_objects(data):
    (X, y), _ = data
    variants = {"plain": "bcfw", "averaged": ("bcfw", {"averaging": True}), "object": BlockFrankWolfe()}
    found = compare(MulticlassClassifier(**PARAMETERS), X, y, variants)
    assert list(found) == list(variants)
    assert without_seconds(found["plain"].history) == without_seconds(found["object"].history)
    assert without_seconds(found["plain"].history) != without_seconds(found["averaged"].history)
    assert not found.tested
    assert found["plain"].errors == []


def test_a_process_of_its_own_gives_the_same(comparison, data):
    (X, y), test = data
    (run,) = compare(MulticlassClassifier(**PARAMETERS), X, y, ["fw"], test=test, separate=True).values()
    assert without_seconds(run.history) == without_seconds(comparison["fw"].history)
    assert run.errors == comparison["fw"].errors


def end_the_process(model):
    os._exit(3)


def test_a_process_that_dies_is_named(data):
    (X, y), _ = data
    job = Job("the <last> one", MulticlassClassifier(solver="fw"), X, y, end_the_process)
    with pytest.raises(ChildProcessError, match="'the <last> one' ended early, with code 3"):
        execute_apart(job)


def test_what_cannot_be_pickled_cannot_go_elsewhere(data):
    (X, y), _ = data
    with pytest.raises(ValueError, match="cannot go to a process of its own"):
        execute_apart(Job("fw", MulticlassClassifier(callback=lambda row: None), X, y, None))


def test_refusals(data):
    (X, y), _ = data
    estimator = MulticlassClassifier(loss="hinge")
    with pytest.raises(ValueError, match="Did you mean 'bcfw'"):
        compare(estimator, X, y, ["fw", "bcwf"])
    with pytest.raises(ValueError, match="cannot train loss='hinge'"):
        compare(estimator, X, y, "lbfgs")
    with pytest.raises(ValueError, match="'fw' is given twice"):
        compare(estimator, X, y, ["fw", "fw"])
    with pytest.raises(ValueError, match="no solver to compare"):
        compare(estimator, X, y, [])


def test_default_solvers_fit_the_loss():
    hinge, smooth = (
        list(chosen_estimators(MulticlassClassifier(loss=loss), None)) for loss in ("hinge", "softmax")
    )
    assert hinge[0] == "bcfw"
    assert {"fw", "stochastic-subgradient"} <= set(hinge)
    assert {"sdca", "lbfgs"} <= set(smooth)
    assert not {"lbfgs", "perceptron"} & set(hinge)
    assert "bcfw" not in smooth


def test_a_default_that_refuses_the_data_is_left_out(data, monkeypatch):
    from structlearn.reports import comparison, runs

    def picky(job, rehearse=runs.rehearse_job):
        if job.name != "fw":
            raise ValueError("not this one")
        rehearse(job)

    (X, y), _ = data
    monkeypatch.setattr(comparison, "rehearse_job", picky)
    assert list(compare(MulticlassClassifier(**PARAMETERS), X, y)) == ["fw"]
    with pytest.raises(ValueError, match="not this one"):
        compare(MulticlassClassifier(**PARAMETERS), X, y, ["fw", "bcfw"])


def test_wrong_data_is_refused_once(data):
    (X, y), _ = data
    with pytest.raises(ValueError, match="inconsistent"):
        compare(MulticlassClassifier(), X, y[:-1])


# ---- the table -------------------------------------------------------------------------------------


def made_up(name, gaps, dual=1.0, errors=()):
    rows = [Row(i, 2.0 * i, 20 * i, 0.5 * i, dual + gap, dual, gap) for i, gap in enumerate(gaps)]
    last = rows[-1]
    certificate = Certificate(
        last.primal, dual, last.gap, last.passes, last.oracle_calls, last.seconds, "Done."
    )
    return Run(name, History(rows), certificate, list(errors), 12_345)


@pytest.fixture
def two():
    runs = [made_up("slow", [1, 0.5, 0.1, 0.02], dual=0.5), made_up("quick", [1, 0.04, 0.0005])]
    return Comparison(runs, tol=1e-3, parameters={})


def test_the_table_has_the_first_row_at_each_gap(two):
    slow, quick = two.table()
    assert (slow["passes_to_0.1"], slow["oracle_calls_to_0.1"], slow["seconds_to_0.1"]) == (4.0, 40, 1.0)
    assert slow["passes_to_0.01"] is None
    assert [quick[f"passes_to_{gap}"] for gap in ("0.1", "0.01", "0.001")] == [2.0, 4.0, 4.0]
    assert two.reached("slow", 0.01) is None


def test_the_best_bound_is_that_of_all(two):
    assert two.best_dual == 1.0


def test_csv(comparison, tmp_path):
    comparison.to_csv(tmp_path / "curves.csv")
    with open(tmp_path / "curves.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == sum(len(run.history) for run in comparison.values())
    for name, run in comparison.items():
        of_run = [row for row in rows if row["solver"] == name]
        np.testing.assert_array_equal([float(row["gap"]) for row in of_run], run.history.gap)
        np.testing.assert_array_equal([float(row["test_error"]) for row in of_run], run.errors)
        above = [float(row["above_best_dual"]) for row in of_run]
        np.testing.assert_allclose(above, run.history.primal - comparison.best_dual)
        assert min(above) >= 0


# ---- memory ----------------------------------------------------------------------------------------


# In a process of its own: what other tests left to be freed would change what the system counts.
PEAKS = """
import numpy as np
from structlearn.reports.memory import PeakMemory

memory = PeakMemory()
if memory.bytes is None:
    raise SystemExit
garbage = [np.ones(100) for _ in range(40_000)]  # small pieces, which stay with the process when freed
np.ones(4_000_000).sum()
after_one = memory.bytes
del garbage
with memory.aside():
    kept = np.ones(12_000_000)
after_aside = memory.bytes
np.ones(8_000_000).sum()
assert kept.size
print(after_one, after_aside, memory.bytes)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux tells the peak")
def test_peak_memory_counts_what_is_freed_again_but_not_what_is_aside():
    done = subprocess.run([sys.executable, "-c", PEAKS], capture_output=True, text=True, check=True)
    if not done.stdout:
        pytest.skip("the system does not tell the peak")
    after_one, after_aside, at_the_end = map(int, done.stdout.split())
    assert 60e6 < after_one < 90e6
    assert after_aside == pytest.approx(after_one, abs=1e6)
    assert 60e6 < at_the_end < 90e6
