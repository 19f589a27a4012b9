"""The scaling study: its grid, what it measures, that it goes on where it was ended, what it concludes."""

import csv
import json
import os
import time

import numpy as np
import pytest

from structlearn import MulticlassClassifier
from structlearn.alignment.gold.concatenated import WordPairs
from structlearn.apps.scaling import PROBLEMS, study_problem
from structlearn.reports.scaling.analysis import (
    Winner,
    fitted_exponent,
    growth,
    last_winner,
    winner,
    without_winner,
)
from structlearn.reports.scaling.figures import time_figure, winner_figure
from structlearn.reports.scaling.grid import (
    SOLVERS,
    Cell,
    chosen_solvers,
    known_lambdas,
    lambdas,
    sample_sizes,
)
from structlearn.reports.scaling.measure import Effort
from structlearn.reports.scaling.page import count_cells, write_study
from structlearn.reports.scaling.results import CellResult, Results
from structlearn.reports.scaling.study import (
    StudyPlan,
    StudyProblem,
    TimeBudget,
    read_results,
    run_study,
    spent_seconds,
)
from structlearn.storage.errors import DataError

GAPS = (0.1, 0.01)
PLAN = StudyPlan(chosen_solvers(["bcfw", "fw"]), gaps=GAPS)


class Deadly(MulticlassClassifier):
    """Its process ends without a word."""

    def fit(self, X, y, **options):
        os._exit(7)


class Asleep(MulticlassClassifier):
    """It would take an hour."""

    def fit(self, X, y, **options):
        time.sleep(3600)


def rows(total=150, seed=0, estimator=MulticlassClassifier):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(total, 5))
    y = np.argmax(X[:, :3] + 0.5 * rng.normal(size=(total, 3)), axis=1)
    hinge = estimator(loss="hinge", random_state=0)
    return StudyProblem("rows", "three kinds", hinge, total, lambda n: (X[:n], y[:n]))


def endless():
    return 600.0


def run(folder, problem=None, plan=PLAN, left=endless, tell=lambda sentence: None):
    return run_study(problem or rows(), plan, folder, left, tell)


# ---- the grid --------------------------------------------------------------------------------------


def test_sizes_and_lambdas_are_logarithmic_grids():
    assert sample_sizes(6877) == [100, 300, 1000, 3000, 6877]
    assert sample_sizes(12_544) == [100, 300, 1000, 3000, 12_544]  # 10,000 is too near
    assert sample_sizes(12_544, 300) == [100, 300]
    assert sample_sizes(80) == [80]
    assert lambdas(1797) == ["1", "0.1", "0.01", "0.001", "1/n"]
    assert lambdas(100) == ["1", "0.1", "1/n"]
    assert known_lambdas(100) == ["1", "0.1", "0.01", "1/n"]
    assert known_lambdas(300) == lambdas(300)
    assert Cell("fw", 100, "0.01").run == Cell("fw", 100, "1/n")
    assert Cell("fw", 300, "0.01").run == Cell("fw", 300, "0.01")


def test_solvers_by_name():
    assert list(chosen_solvers(["seg", "bcfw-plain"])) == ["stochastic-extragradient", "bcfw-plain"]
    assert chosen_solvers(None) == SOLVERS
    for wrong, said in ((["bcwf"], "Did you mean 'bcfw'"), ([], "at least one"), (["fw", "fw"], "twice")):
        with pytest.raises(ValueError, match=said):
            chosen_solvers(wrong)


# ---- what is measured ------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def studied(tmp_path_factory):
    folder = tmp_path_factory.mktemp("study")
    return folder, run(folder)


def test_cells_are_those_of_a_fit_of_its_own(studied):
    _, results = studied
    X, y = rows().first(150)
    for cell in (Cell("fw", 150, "1/n"), Cell("bcfw", 150, "0.1"), Cell("fw", 150, "1")):
        parameters = {"solver": cell.solver, "regularization": cell.regularization, "tol": 0.01}
        alone = MulticlassClassifier(random_state=0, max_passes=1e9, **parameters).fit(X, y)
        one = results[cell]
        assert one.status == "reached"
        assert one.gap == pytest.approx(alone.certificate_.gap)
        assert one.end.passes == alone.certificate_.passes
        for gap in GAPS:
            first = next(row for row in alone.history_ if row.gap <= gap)
            took = results.effort(cell, gap)
            assert (took.passes, took.oracle_calls) == (first.passes, first.oracle_calls)
            assert 0 < took.cpu_seconds <= one.end.cpu_seconds


def test_all_cells_have_run_and_are_kept(studied):
    folder, results = studied
    assert {one.cell for one in results.found} == set(results.cells())
    again = read_results(folder)
    assert {one.cell: one for one in again.found} == {one.cell: one for one in results.found}
    assert spent_seconds(folder) == sum(one.seconds for one in results.found)


def test_a_study_that_was_ended_does_the_rest(tmp_path, studied):
    def until_three(sentence, told=[]):  # noqa: B006
        told.append(sentence)
        if len(told) == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(tmp_path, tell=until_three)
    kept = {path: path.stat().st_mtime_ns for path in (tmp_path / "cells").iterdir()}
    assert len(kept) == 3
    told = []
    results = run(tmp_path, tell=told.append)
    assert len(told) == len(list(results.cells())) - 3
    assert all(path.stat().st_mtime_ns == before for path, before in kept.items())
    whole = studied[1]
    for cell in results.cells():
        assert results[cell].gap == whole[cell].gap
    assert run(tmp_path, tell=told.append).found
    assert len(told) == len(list(results.cells())) - 3  # nothing is left


@pytest.mark.parametrize(
    ("problem", "plan", "said"),
    [
        (rows(seed=1), PLAN, "other data"),
        (rows(total=200), PLAN, "other sizes"),
        (rows(), StudyPlan(PLAN.solvers, gaps=GAPS, seed=1), "other seed"),
        (rows(), StudyPlan(PLAN.solvers, gaps=(0.1, 0.05)), "other gaps"),
        (rows(), StudyPlan(chosen_solvers(["bcfw"]), gaps=GAPS), "other solvers"),
    ],
)
def test_a_changed_study_is_noticed(studied, problem, plan, said):
    with pytest.raises(DataError, match=said):
        run(studied[0], problem, plan)


def test_damaged_files_are_named(tmp_path, studied):
    (tmp_path / "cells").mkdir()
    damaged = tmp_path / "cells" / "fw-100-1.json"
    damaged.write_text("{")
    with pytest.raises(DataError, match=r"without its study\.json"):
        run(tmp_path)
    (tmp_path / "study.json").write_bytes((studied[0] / "study.json").read_bytes())
    with pytest.raises(DataError, match=r"fw-100-1\.json is damaged; remove it"):
        run(tmp_path)
    (tmp_path / "study.json").write_text("[]")
    for ask in (run, read_results):
        with pytest.raises(DataError, match="not the file of a scaling study"):
            ask(tmp_path)


# ---- time ------------------------------------------------------------------------------------------


def test_without_time_nothing_is_run_and_that_is_said(tmp_path):
    results = run(tmp_path, left=lambda: 0.0)
    assert results.found == []
    assert "14 cells: 14 not run. Give more --minutes" in count_cells(results)


def test_what_is_left_is_shared_by_the_sizes_and_their_cells(tmp_path):
    results = run(tmp_path, left=lambda: 120.0)
    limits = json.loads((tmp_path / "study.json").read_text())["limits"]
    assert limits["100"] == 120.0 / 2 / 6
    assert limits["150"] < 120.0 / 8  # less what a cell takes beside training
    assert {one.limit for one in results.found} == set(limits.values())


def test_a_gap_out_of_reach_is_not_tried_again_with_more_examples(tmp_path):
    results = run(
        tmp_path, plan=StudyPlan(chosen_solvers(["subgradient"]), gaps=(0.1, 1e-9)), left=lambda: 0.1
    )
    few, more = (Cell("subgradient", n, "1/n") for n in (100, 150))
    assert results[few].status == "out of time"
    assert results[few].limit == 0.5
    assert results.seconds_text(few, 1e-9, str).startswith("> ")
    assert results[more].tol == 0.1
    assert results[more].status == "reached"
    assert results.seconds_text(more, 1e-9, str) == "skipped"
    hopeless = Results("rows", "", ["subgradient"], [100, 150], [1e-9])
    hopeless.add(made("subgradient", 100, "1/n", {}, tol=1e-9))
    assert hopeless.targets(more) == []
    assert hopeless.status(more) == "skipped"


def test_the_budget_has_shares_that_together_are_the_whole(monkeypatch):
    now = [1000.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    budget = TimeBudget(1.0, jobs=2, spent=20.0)  # of 60 seconds 3 are kept for the report
    assert budget.left == 94.0
    share = budget.share(4)
    assert share() == 23.5
    now[0] += 10.0  # of two processes
    assert (share(), budget.left) == (3.5, 74.0)
    assert budget.share(1)() == 74.0
    assert budget.end == 1047.0
    now[0] = budget.end
    assert budget.left == 0.0
    assert TimeBudget(30.0, jobs=1, spent=0.0).end == now[0] + 1770.0  # 30 seconds for the report


def test_at_the_end_cells_under_way_are_given_up_and_measured_by_the_next_run(tmp_path):
    plan = StudyPlan({"bcfw": ("bcfw", {})}, largest=100, gaps=(0.1,))
    told = []
    given_up = run_study(rows(), plan, tmp_path, endless, told.append, end=time.monotonic())
    assert (given_up.found, told) == ([], [])
    assert "not run" in count_cells(given_up)
    asleep = run_study(rows(estimator=Asleep), plan, tmp_path, endless, told.append, time.monotonic() + 0.2)
    assert asleep.found == []
    assert len(run(tmp_path, plan=plan).found) == len(list(given_up.cells()))


def test_a_process_that_dies_and_a_refusal_are_results(tmp_path):
    plan = StudyPlan({"bcfw": ("bcfw", {})}, largest=100, gaps=(0.1,))
    dead = run(tmp_path / "dead", rows(estimator=Deadly), plan)
    assert {one.status for one in dead.found} == {"failed"}
    assert "ended early, with code 7" in dead[Cell("bcfw", 100, "1")].sentence
    refused = run(tmp_path / "refused", plan=StudyPlan({"lbfgs": ("lbfgs", {})}, largest=100))
    assert "cannot train loss='hinge'" in refused[Cell("lbfgs", 100, "1")].sentence
    assert refused.seconds_text(Cell("lbfgs", 100, "1"), 0.1, str) == "failed"


# ---- what is concluded -----------------------------------------------------------------------------


def made(solver, n, lam, seconds, *, tol=0.01, spent=12.0):
    """A made-up result: seconds by gap."""
    reached = {gap: Effort(1.0, int(1e6 * value), value, 1000) for gap, value in seconds.items()}
    status = "reached" if tol in seconds else "out of time"
    end = Effort(2.0, 10, spent, 2000)
    return CellResult(solver, n, lam, status, "Ended.", tol, 12.0, 0.5, end, reached, 20.0)


def made_up():
    """Seconds are n^1.5 and 0.01 n, which cross at n = 1e-4; the second never comes to 0.01."""
    results = Results("made", "<script>alert('up')</script>", ["steep", "<i>flat"], [100, 300, 1000], GAPS)
    for n in results.sizes:
        for lam in lambdas(n):
            results.add(made("steep", n, lam, {0.1: 1e-5 * n**1.5, 0.01: 1e-4 * n**1.5}))
            results.add(made("<i>flat", n, lam, {0.1: 2e-4 * n}))
    return results


def test_a_known_exponent_is_found():
    n = np.array([100.0, 300.0, 1000.0, 3000.0])
    noise = np.exp([0.1, -0.1, -0.1, 0.1])
    found = fitted_exponent(n, 3e-4 * n**1.25 * noise)
    slope, covariance = np.polyfit(np.log(n), np.log(3e-4 * n**1.25 * noise), 1, cov=True)
    assert found.exponent == pytest.approx(slope[0] if np.ndim(slope) else slope)
    assert found.error == pytest.approx(np.sqrt(covariance[0, 0]))
    assert fitted_exponent(n, 3e-4 * n**1.25).exponent == pytest.approx(1.25)
    assert fitted_exponent(n[:2], n[:2]) is None


def test_growth_over_the_sizes_that_were_reached():
    results = made_up()
    assert growth(results, "steep", "1/n", 0.01).exponent == pytest.approx(1.5)
    assert growth(results, "steep", "0.01", 0.01).points == 3  # with 100 examples it is 1/n
    assert growth(results, "steep", "0.1", 0.1, "oracle_calls").exponent == pytest.approx(1.5, abs=1e-3)
    assert growth(results, "<i>flat", "1/n", 0.01) is None
    results = Results("made", "", ["steep"], [100, 300, 1000, 3000], GAPS, results.found)
    results.add(made("steep", 3000, "1/n", {}))
    partly = growth(results, "steep", "1/n", 0.01)
    assert partly.exponent == pytest.approx(1.5)
    assert not partly.whole


def test_the_winner_is_the_quickest():
    results = made_up()
    few, many = winner(results, 100, "1", 0.1), winner(results, 1000, "1", 0.1)
    assert (few.solver, many.solver) == ("steep", "<i>flat")
    assert few.ahead == pytest.approx(2.0)
    alone = winner(results, 1000, "1/n", 0.01)
    assert (alone.solver, alone.ahead) == ("steep", None)
    waiting = Results("made", "", ["steep"], [100], GAPS)
    assert winner(waiting, 100, "1", 0.1) is None
    assert without_winner(waiting, 100, "1", 0.1) == "not run"
    waiting.add(made("steep", 100, "1", {}))
    assert without_winner(waiting, 100, "1", 0.1) == "none"


def test_the_last_winner_is_of_the_largest_size_that_a_solver_came_through_with():
    results = Results("made", "", ["steep", "flat"], [100, 300, 1000], GAPS)
    for n in (100, 300):
        results.add(made("steep", n, "1", {0.1: 0.5}))
        results.add(made("flat", n, "1", {}))
    assert last_winner(results, "1", 0.1) == (300, Winner("steep", 0.5, None))
    assert last_winner(results, "1", 0.01) == (1000, None)


def test_the_map_names_winners_and_the_curves_show_exponents():
    results = made_up()
    one, other = winner_figure(results).axes
    words = [text.get_text() for text in one.texts]
    assert words.count("<i>flat\n0.2 s") == 4  # 1,000 examples
    assert words[0] == "steep\n0.01 s"
    assert not any("flat" in text.get_text() for text in other.texts)
    panels = time_figure(results).axes
    assert len(panels) == 4
    assert [text.get_text() for text in panels[0].get_legend().get_texts()] == ["n^1.00", "n^1.50"]


def test_the_report_escapes_names_and_has_all_numbers(tmp_path):
    results = made_up()
    page = write_study([results], tmp_path, about={"seed": "<b>0"}).read_text()
    assert "<script>alert" not in page
    assert "&lt;script&gt;alert" in page
    assert "<i>flat" not in page
    assert "&gt; 12" in page
    with open(tmp_path / "table.csv", newline="") as file:
        table = list(csv.DictReader(file))
    assert len(table) == len(list(results.cells())) == len(json.loads((tmp_path / "table.json").read_text()))
    (row,) = [row for row in table if (row["solver"], row["n"], row["lambda"]) == ("steep", "1000", "1/n")]
    assert float(row["cpu_seconds_to_0.01"]) == pytest.approx(1e-4 * 1000**1.5)
    assert float(row["regularization"]) == 0.001
    (flat,) = [row for row in table if (row["solver"], row["n"], row["lambda"]) == ("<i>flat", "300", "1")]
    assert (flat["cpu_seconds_to_0.01"], flat["status"], flat["cpu_seconds"]) == ("", "out of time", "12.0")
    assert {f"made-{name}.{kind}" for name in ("time", "winners") for kind in ("png", "svg")} <= {
        path.name for path in tmp_path.iterdir()
    }


# ---- the problems ----------------------------------------------------------------------------------


def test_fewer_examples_are_the_first_of_more():
    problem = study_problem("digits", None, largest=None, seed=0)
    X, y = problem.first(300)
    few, labels = problem.first(100)
    np.testing.assert_array_equal(few, X[:100])
    np.testing.assert_array_equal(labels, y[:100])
    assert len(set(y.tolist())) == 10
    assert not np.array_equal(study_problem("digits", None, largest=None, seed=1).first(300)[1], y)


def test_embedded_pairs_stand_in_for_the_hansards(monkeypatch, tmp_path, capsys):
    monkeypatch.setenv("STRUCTLEARN_DATA", str(tmp_path))
    problem = study_problem("alignment", None, largest=20, seed=0)
    assert "pairs that come with structlearn" in capsys.readouterr().err
    X, y = problem.first(5)
    assert isinstance(X, WordPairs)
    assert [table.shape for table in y] == list(zip(X.rows.lengths, X.columns.lengths, strict=True))
    whole, _ = problem.first(20)
    vectors = [side.vectors[side.index[: side.start[1]]] for side in (X.rows, whole.rows)]
    np.testing.assert_array_equal(*vectors)
    problem.estimator.set_params(regularization=1.0, tol=0.1).fit(X, y)


@pytest.mark.parametrize("name", [name for name in PROBLEMS if name != "alignment"])
def test_real_data_gives_a_loss_of_about_one_at_zero(name, monkeypatch):
    from structlearn.apps.scaling import located

    monkeypatch.setenv("STRUCTLEARN_DATA", os.environ.get("STRUCTLEARN_DATA", "shared/data"))
    if PROBLEMS[name].data and located(PROBLEMS[name].data) is None:
        pytest.skip("no data")
    problem = study_problem(name, None, largest=None, seed=0)
    estimator = problem.estimator.set_params(regularization=1.0, tol=1.0, max_passes=1)
    estimator.fit(*problem.first(30))
    assert 0.5 <= estimator.history_[0].primal <= 1.5
