"""`structlearn compare decisions`: a small study, taken up again, its numbers and its page."""

import json

import numpy as np
import pytest

from structlearn.reports.decisions.grid import METHODS, DecisionCell, DecisionGrid
from structlearn.reports.decisions.page import grouped, table_rows
from structlearn.reports.decisions.study import DecisionResult, MethodResult, measure_cell

SMALL = ["--quick", "--problem", "paths", "--seeds", "1"]


def test_the_whole_grid_is_that_of_the_literature():
    cells = list(DecisionGrid().cells())
    assert len(set(cells)) == 2 * 4 * 3 * 2 * 10
    assert len({cell.file for cell in cells}) == len(cells)


def test_a_study_is_kept_and_goes_on(run, tmp_path):
    found = run("compare", "decisions", *SMALL, "--out", tmp_path)
    rows = json.loads((tmp_path / "table.json").read_text())
    assert [row["method"] for row in rows] == list(METHODS) * 4
    assert found.stdout.endswith(f"page: {tmp_path / 'index.html'}\n")
    assert "Shortest paths" in (tmp_path / "index.html").read_text()
    assert len((tmp_path / "table.csv").read_text().splitlines()) == 1 + len(rows)
    again = run("compare", "decisions", *SMALL, "--out", tmp_path)
    assert "4 of 4 data sets are kept" in again.stderr
    assert again.stdout == found.stdout
    next((tmp_path / "cells").iterdir()).write_text("{}")
    broken = run("compare", "decisions", *SMALL, "--out", tmp_path, code=2)
    assert "run the study again" in broken.stderr


def test_regrets_are_those_of_a_decision_rule_that_is_written_here():
    """At degree 1 without noise least squares finds the costs, so that nothing is lost."""
    found = {one.method: one for one in measure_cell(DecisionCell("paths", 1, 0.0, 100, 0)).methods}
    assert found["two-stage"].test_regret < 1e-4
    assert all(one.test_regret > -1e-12 for one in found.values())
    assert found["spo+"].test_regret < found["imitation"].test_regret


def test_tables_have_means_spreads_and_paired_differences():
    regrets = np.array([[0.01, 0.05, 0.04, 0.03], [0.03, 0.05, 0.04, 0.07]])
    results = [
        DecisionResult(
            DecisionCell("knapsack", 4, 0.5, 100, seed),
            [MethodResult(name, 1.0, 0.0, value, 0.5) for name, value in zip(METHODS, row)],
        )
        for seed, row in enumerate(regrets)
    ]
    row = table_rows(grouped(results))[0]
    assert row[:3] == ["0.5", "100", "4"]
    assert row[3] == "2.00 ± 1.41 *"  # means and standard deviations, in per cent
    assert row[6] == "5.00 ± 2.83"
    assert row[7] == "3.00 ± 1.00"  # 2 and 4


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--problem", "path"], "Did you mean 'paths'?"),
        (["--problem", ","], "no problem to study"),
        (["--largest", "10"], "begins with 100 examples"),
        (["--jobs", "-1"], "--jobs must be at least 1"),
    ],
)
def test_what_cannot_be_is_refused(refused, tmp_path, arguments, said):
    assert said in refused("compare", "decisions", *arguments, "--out", tmp_path)
