"""Results of benchmarks as data: what is saved, how tables are made of it, and what is compared."""

import json
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[1] / "benchmarks"


@pytest.fixture
def script(monkeypatch):
    """A module of the folder of benchmarks, by name."""
    monkeypatch.syspath_prepend(str(FOLDER))
    names = ("common", "report", "run", "track", "census")
    for name in names:
        monkeypatch.delitem(sys.modules, name, raising=False)
    yield __import__
    for name in names:
        sys.modules.pop(name, None)


def test_a_benchmark_saves_what_it_notes_and_prints(script, tmp_path, monkeypatch, capsys):
    common = script("common")
    monkeypatch.setattr(common, "RESULTS", tmp_path)
    monkeypatch.setattr(sys, "argv", ["benchmarks/toy.py", "part", "/a/folder/other"])
    monkeypatch.delenv(common.RUNNING, raising=False)
    monkeypatch.setenv(common.RUNNING, "1")  # so that it is put back
    monkeypatch.delenv(common.RUNNING)

    def main():
        common.note(what="a fit", seconds=0.5)
        print("half a second")

    common.recorded(main, peers=("numpy", "no-such-package"))
    assert capsys.readouterr().out == "half a second\n"
    found = json.loads((tmp_path / "toy-part.json").read_text())
    assert found["figures"] == {"rows": [{"what": "a fit", "seconds": 0.5}], "lines": ["half a second"]}
    assert found["command"] == "python benchmarks/toy.py part other"
    assert list(found["peers"]) == ["numpy"]
    common.recorded(lambda: print("a child"), peers=())  # one that runs inside another records nothing
    assert [one.name for one in tmp_path.iterdir()] == ["toy-part.json"]


def test_a_page_shows_the_rows_that_it_asks_for(script, tmp_path, monkeypatch):
    report = script("report")
    monkeypatch.setattr(report, "RESULTS", tmp_path)
    rows = [{"what": "a", "ms": 1.23456}, {"what": "b", "ms": 2.0, "gap": 0}]
    about = {"command": "c", "date": "d", "commit": "e", "machine": "m", "load": [1.0], "peers": {"p": "1"}}
    (tmp_path / "toy.json").write_text(json.dumps({**about, "figures": {"rows": rows, "lines": []}}))
    page = "before\n<!-- result: toy /^a/ -->\nold\n<!-- end of result -->\nafter\n"
    shown = report.rendered(page)
    assert "| | ms |\n| --- | --- |\n| a | 1.235 |\n" in shown
    assert "`c`, d, commit e, m, load 1.0, p 1. 1 rows more are in the file." in shown
    assert "old" not in shown
    assert report.rendered(shown) == shown
    assert "| b | 2 | 0 |" in report.rendered(page.replace(" /^a/", ""))


def test_times_of_two_results_are_compared(script):
    track = script("track")
    before = {"toy": [{"what": "a", "cpu_seconds": 2.0, "gap": 0.1}, {"what": "gone", "ms": 1.0}]}
    after = {"toy": [{"what": "a", "cpu_seconds": 3.0, "gap": 0.2}, {"what": "new", "ms": 1.0}]}
    assert track.result_ratios(before, after) == {"toy: a, cpu_seconds": 1.5}


def test_every_benchmark_says_how_it_is_run(script):
    run = script("run")
    found = {path.stem: run.constants(path.read_text()) for path in run.benchmarks()}
    assert {"letters", "startup", "lambda_by_size"} <= set(found)
    assert not {"common", "run", "report", "track", "census", "against"} & set(found)
    assert found["letters"] == {"BENCH": [[]], "QUICK": []}
    assert found["raw_text"]["BENCH"] == []
    assert all(
        isinstance(one, list) for constants in found.values() for kind in constants.values() for one in kind
    )


def test_the_census_counts(script, tmp_path):
    census = script("census")
    (tmp_path / "structlearn" / "estimators").mkdir(parents=True)
    (tmp_path / "structlearn" / "estimators" / "one.py").write_text(
        "from structlearn.two import kernel\n\n\n"
        "class Base:\n    def _read(self, a): ...\n\n\n"
        "class Chain(Base):\n    def _read(self, b): ...\n    def told(self): ...\n\n\n"
        "def count(other):\n    return other._hidden + other._read(1)\n"
    )
    (tmp_path / "structlearn" / "two.py").write_text(
        "_hidden = 1\n\n\ndef count(span_lexicon): ...\n\n\n@kernel\ndef one(a: Any, b: Any) -> None: ...\n"
    )
    source = census.Source(tmp_path)
    assert census.option_files(source).counted == ["two.py"]
    assert census.class_size(source, "Chain").now == "2 / 3 / 1"
    assert census.private_across(source).counted == ["_hidden (estimators/one.py)"]
    assert census.repeated_methods(source).counted == ["_read 2, 2 signatures"]
    assert census.shared_names(source).counted == ["count (2)"]
    assert census.kernel_anys(source).now == "2"
    assert census.participles(source).counted == ["told 1"]
