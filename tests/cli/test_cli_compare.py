"""`structlearn compare`: the report of a task and of a recipe, and what is refused."""

import csv

import pytest
from cli_cases import rows

from structlearn import MulticlassClassifier
from structlearn.data import read_libsvm, write_libsvm

QUICK = ["--tol", "0.05"]


@pytest.fixture(autouse=True)
def no_data(monkeypatch, tmp_path):
    monkeypatch.setenv("STRUCTLEARN_DATA", str(tmp_path / "nothing"))


def read_rows(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def test_a_task(run, libsvm, tmp_path):
    test, out = tmp_path / "test.libsvm", tmp_path / "a report"
    write_libsvm(test, *rows(seed=1))
    found = run("compare", "classify", libsvm, "--solvers", "bcfw, fw", "--test", test, "--out", out, *QUICK)
    header, first, second, *_ = found.stdout.splitlines()
    assert header.split() == ["solver", "gap", "primal", "dual", "passes", "seconds", "error", "memory"]
    assert (first.split()[0], second.split()[0]) == ("bcfw", "fw")
    assert found.stdout.endswith(f"page: {out / 'index.html'}\n")
    assert "bcfw: Converged" in found.stderr
    table = {row["solver"]: row for row in read_rows(out / "table.csv")}
    X, y = read_libsvm(libsvm)
    alone = MulticlassClassifier(solver="fw", tol=0.05, random_state=0).fit(X, y)
    assert float(table["fw"]["gap"]) == pytest.approx(alone.certificate_.gap)
    error = 1 - alone.score(*read_libsvm(test))
    assert float(table["fw"]["test_error"]) == pytest.approx(error)
    assert "share of wrong labels" in (out / "index.html").read_text()


def test_regression_has_solvers_of_its_own(run, real, tmp_path):
    out = tmp_path / "report"
    run("compare", "regress", real, "--solvers", "direct,proximal", "--test", real, "--out", out)
    direct, proximal = read_rows(out / "table.csv")
    assert float(direct["primal"]) == pytest.approx(float(proximal["primal"]), rel=1e-2)
    assert float(direct["test_error"]) == pytest.approx(float(proximal["test_error"]), rel=0.2)


def test_a_recipe(run, tmp_path):
    out = tmp_path / "report"
    found = run(
        "compare", "triplets", "--solvers", "bcfw", "--out", out, "--max-passes", "5", "--tol", "0.01"
    )
    assert "using triplets of handwritten digits" in found.stderr
    (row,) = read_rows(out / "table.csv")
    assert float(row["passes"]) <= 5
    assert float(row["test_error"]) < 0.3


def test_alignment_compares_two_oracles(run, tmp_path):
    out = tmp_path / "report"
    quick = ["--max-passes", "2", "--pairs", "8"]
    found = run("compare", "alignment", "--solvers", "bcfw,bcfw-lp", "--out", out, *quick)
    assert "using the pairs that come with structlearn" in found.stderr
    one, other = read_rows(out / "table.csv")
    assert float(one["primal"]) == pytest.approx(float(other["primal"]), rel=1e-9)
    assert [row["solver"] for row in (one, other)] == ["bcfw", "bcfw-lp"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["clasify", "DATA"], "Did you mean 'classify'?"),
        (["classify", "DATA", "--solvers", "bcfw,bcwf"], "Did you mean 'bcfw'?"),
        (["classify", "DATA", "--loss", "hinge", "--solvers", "lbfgs"], "cannot train --loss hinge"),
        (["classify", "DATA", "--solvers", ","], "no solver to compare"),
        (["classify", "DATA", "--solvers", "fw,fw"], "'fw' is given twice"),
        (["classify", "DATA", "--loss", "hing"], "Did you mean 'hinge'?"),
        (["classify", "DATA", "--data", "x"], "--data does not go with the task classify"),
        (["classify", "DATA"], "does not exist"),
        (["tag", "DATA", "--l1-ratio", "0.3"], "--l1-ratio goes with --penalty elasticnet"),
        (["letters", "--l1-ratio", "0.3"], "--l1-ratio does not go with letters"),
        (["letters", "--edges", "all"], "--edges does not go with letters"),
        (["scene", "--test", "x"], "--test does not go with scene"),
        (["scene"], "run `structlearn data fetch scene`, or name its folder with --data DIR"),
        (["letters", "--data", "DATA"], "The data folder DATA does not exist."),
        (["letters", "--solvers", "lbfgs"], "cannot train --loss hinge"),
        (["triplets", "--tol", "-1"], "tol must be at least 0"),
        (["triplets", "--pairs", "9"], "--pairs does not go with triplets"),
        (["alignment", "--pairs", "9000"], "There are 212 pairs"),
        (["alignment", "--solvers", "bcfw,bcfw"], "'bcfw' is given twice"),
        (["alignment", "--cost", "hamming"], "--cost does not go with alignment"),
    ],
)
def test_refusals(refused, tmp_path, monkeypatch, arguments, said):
    monkeypatch.chdir(tmp_path)
    assert said in refused("compare", *arguments, "--out", tmp_path / "report")
    assert not (tmp_path / "report").exists()


def test_the_report_needs_a_folder(refused, libsvm, tmp_path):
    assert "it is a file, not a folder" in refused("compare", "classify", libsvm, "--out", libsvm)


def test_test_data_without_labels(refused, run, csv, tmp_path):
    bare = tmp_path / "bare.csv"
    bare.write_text("a,b,c,d\n1,2,3,4\n")
    message = refused("compare", "classify", csv, "--test", bare, "--out", tmp_path / "report")
    assert "no labels" in message


def test_columns_of_a_table_are_left_out(run, refused, tmp_path):
    data, out = tmp_path / "mixed.csv", tmp_path / "report"
    data.write_text(
        "paid,x,y\n" + "".join(f"{'$€'[k % 2]}{k},{k % 7},{'ab'[k % 7 > 3]}\n" for k in range(1, 29))
    )
    assert "--ignore paid" in refused("compare", "classify", data, "--solvers", "bcfw", "--out", out)
    result = run("compare", "classify", data, "--ignore", "paid", "--solvers", "bcfw", "--out", out)
    assert "28 examples with 1 column " in result.stderr
    assert "--ignore does not go with" in refused("compare", "tag", data, "--ignore", "day", "--out", out)


def test_words_are_tested_on_words(run, write, tmp_path):
    words = write("the D\ndog N\n\na D\ncat N\n" * 3, "words.txt")
    out = tmp_path / "report"
    found = run("compare", "tag", words, "--solvers", "bcfw", "--test", words, "--out", out, *QUICK)
    (row,) = [line.split() for line in found.stdout.splitlines() if line.startswith("bcfw")]
    assert row[6] == "0"


def test_elastic_nets_are_compared(run, write, tmp_path):
    words = write("the D\ndog N\n\na D\ncat N\n" * 3, "words.txt")
    penalty = ["--loss", "softmax", "--penalty", "elasticnet", "--l1-ratio"]
    for ratio in ("0.2", "0.9"):
        run("compare", "tag", words, *penalty, ratio, "--out", tmp_path / ratio, "--tol", "0.001")
    (a, b), (c, _) = (read_rows(tmp_path / ratio / "table.csv") for ratio in ("0.2", "0.9"))
    assert {a["solver"], b["solver"]} == {"proximal", "stochastic-extragradient"}
    assert float(a["primal"]) == pytest.approx(float(b["primal"]), abs=2e-3)
    assert abs(float(a["primal"]) - float(c["primal"])) > 0.01
