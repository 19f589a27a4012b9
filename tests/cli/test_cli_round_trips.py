"""train, predict and evaluate give what the Python API gives."""

import csv as csv_module
import gzip

import numpy as np
import pytest
from cli_cases import columns, label_sets, read_tags, rows, sentences, table, values

from structlearn import (
    ChainClassifier,
    MulticlassClassifier,
    MultiLabelClassifier,
    load,
    make_table_transformer,
)
from structlearn.data import read_libsvm, write_libsvm


def test_classify_libsvm(run, libsvm, tmp_path):
    out = tmp_path / "model.st"
    result = run("train", "classify", libsvm, "--out", out, "--tol", "0.01", "--regularization", "0.1")
    X, y = read_libsvm(libsvm)
    same = MulticlassClassifier(tol=0.01, regularization=0.1, random_state=0).fit(X, y)
    np.testing.assert_array_equal(load(out).weights_, same.weights_)
    certificate = values(result.stdout)
    assert list(certificate)[:3] == ["primal", "dual", "gap"]
    assert float(certificate["gap"]) <= 0.01
    assert certificate["status"].startswith("Converged")
    assert run("predict", out, libsvm).stdout.split() == [str(label) for label in same.predict(X)]
    scores = values(run("evaluate", out, libsvm).stdout)
    assert (scores["accuracy"], scores["examples"]) == (f"{same.score(X, y):.6g}", "60")


def test_classify_csv(run, csv, tmp_path):
    out = tmp_path / "model.st"
    run("train", "classify", csv, "--out", out)
    X, y = rows()
    names = np.array(["red", "green", "blue"])[y]
    same = MulticlassClassifier(row_transformer=make_table_transformer(), random_state=0).fit(X, names)
    # Columns are found by name, in any order, with others between and the target absent.
    shuffled = tmp_path / "new.csv"
    shuffled.write_text(table(X[:, ::-1], "d,c,b,a,extra", range(60)))
    predicted = same.predict(X).tolist()
    assert run("predict", out, shuffled).stdout.split() == predicted
    assert run("predict", out, csv).stdout.split() == predicted
    assert values(run("evaluate", out, csv).stdout)["accuracy"] == f"{same.score(X, names):.6g}"


def test_classify_csv_whose_target_is_not_last(run, refused, tmp_path):
    X, y = rows()
    path, out = tmp_path / "table.txt", tmp_path / "model.st"
    path.write_text(table(y[:, None], "kind,a,b,c,d", *X.T.tolist()))
    run("train", "classify", path, "--out", out, "--target", "kind")
    assert load(out).n_features_in_ == 4
    same = MulticlassClassifier(row_transformer=make_table_transformer(), random_state=0).fit(X, y)
    assert run("predict", out, path).stdout.split() == [str(k) for k in same.predict(X)]
    assert "one target column, not 'kind,a'" in refused(
        "train", "classify", path, "--out", out, "--target", "kind,a"
    )


@pytest.mark.parametrize("edges", ["all", "tree", "none"])
def test_multilabel_libsvm(run, sets, tmp_path, edges):
    out = tmp_path / "model.st"
    run("train", "multilabel", sets, "--out", out, "--edges", edges, "--no-intercept")
    X, y = read_libsvm(sets, multilabel=True)
    same = MultiLabelClassifier(edges=edges, fit_intercept=False, random_state=0).fit(X, y)
    np.testing.assert_array_equal(load(out).weights_, same.weights_)
    predicted = same.predict(X)
    assert () in predicted  # an empty line
    assert run("predict", out, sets).stdout == "".join(",".join(map(str, one)) + "\n" for one in predicted)
    scores = values(run("evaluate", out, sets).stdout)
    gold, guess = (same.indicator(one)[:, :-1] for one in (y, predicted))
    assert list(scores)[:2] == ["exact_match", "exact_match_of_most_frequent"]
    assert {"hamming_loss", "micro_f1", "macro_f1", "examples"} <= set(scores)
    assert scores["exact_match"] == f"{same.score(X, y):.6g}"
    assert scores["hamming_loss"] == f"{np.mean(gold != guess):.6g}"
    assert scores["micro_f1"] == f"{2 * (gold & guess).sum() / (gold.sum() + guess.sum()):.6g}"


def test_multilabel_csv(run, refused, tmp_path):
    X, y = label_sets()
    on = np.array([[k in one for k in range(3)] for one in y]).astype(int)
    path, out = tmp_path / "sets.csv", tmp_path / "model.st"
    path.write_text(table(X, "a,b,c,d,sun,sea,sky", *on.T.tolist()))
    run("train", "multilabel", path, "--out", out, "--target", "sun,sea,sky")
    same = MultiLabelClassifier(row_transformer=make_table_transformer(), random_state=0).fit(X, on)
    names = np.array(["sun", "sea", "sky"])
    expected = [",".join(names[row.astype(bool)]) for row in same.predict(X)]
    assert run("predict", out, path).stdout.splitlines() == expected
    assert values(run("evaluate", out, path).stdout)["exact_match"] == f"{same.score(X, on):.6g}"
    assert "classes: sun, sea, sky" in run("info", out).stdout
    assert "--target name,name" in refused("train", "multilabel", path, "--out", out)
    assert "at most one label per row" in refused(
        "train", "multilabel", path, "--out", out, "--target", "sun"
    )


@pytest.mark.parametrize("boundaries", [False, True])
def test_tag(run, tags, tmp_path, boundaries):
    out = tmp_path / "model.st"
    run("train", "tag", tags, "--out", out, *["--boundaries"] * boundaries)
    X, y = read_tags(tags)
    same = ChainClassifier(start=boundaries, end=boundaries, random_state=0).fit(X, y)
    np.testing.assert_array_equal(load(out).weights_, same.weights_)
    predicted = [
        [(a, b, label) for (a, b, _), label in zip(*pair)] for pair in zip(sentences(), same.predict(X))
    ]
    assert run("predict", out, tags).stdout == columns(predicted)
    scores = values(run("evaluate", out, tags).stdout)
    assert scores["accuracy"] == f"{same.score(X, y):.6g}"
    assert scores["sequences"] == "20"
    assert scores["tokens"] == str(sum(map(len, y)))


def test_tag_without_labels_and_with_unknown_words(run, refused, tags, tmp_path):
    out, bare, wide = tmp_path / "model.st", tmp_path / "bare.txt", tmp_path / "wide.txt"
    run("train", "tag", tags, "--out", out)
    bare.write_text(columns(sentences(), n_columns=2))
    assert run("predict", out, bare).stdout == run("predict", out, tags).stdout
    assert "no labels" in refused("evaluate", out, bare)
    bare.write_text("xylophone cap=False\n")
    assert len(run("predict", out, bare).stdout.split()) == 3
    wide.write_text("a b c d\n")
    assert "2 feature columns and a label" in refused("predict", out, wide)


def test_tag_with_the_label_in_a_numbered_column(run, refused, tags, tmp_path):
    first, out, other = tmp_path / "first.txt", tmp_path / "first.st", tmp_path / "last.st"
    first.write_text(columns([[(c, a, b) for a, b, c in one] for one in sentences()]))
    run("train", "tag", first, "--out", out, "--target", "0")
    run("train", "tag", tags, "--out", other)
    moved = [line.split() for line in run("predict", out, first).stdout.splitlines()]
    last = [line.split() for line in run("predict", other, tags).stdout.splitlines()]
    assert [[*line[1:], *line[:1]] for line in moved] == last
    first_bare = tmp_path / "bare.txt"
    first_bare.write_text(columns(sentences(), n_columns=2))
    assert run("predict", out, first_bare).stdout == run("predict", out, first).stdout
    assert run("evaluate", out, first).stdout == run("evaluate", other, tags).stdout
    message = refused("train", "tag", first, "--out", out, "--target", "label")
    assert "first.txt, line 1: there is no column 'label'; its columns have the numbers 0 to 2." in message


def test_predict_pads_narrow_files(run, model, tmp_path):
    narrow, padded = tmp_path / "narrow.txt", tmp_path / "padded.txt"
    narrow.write_text("0 1:2.5\n1\n")
    padded.write_text("7 1:2.5 4:0\n7 4:0\n")  # labels are not looked at
    assert run("predict", model, narrow).stdout == run("predict", model, padded).stdout


def test_predict_to_files(run, model, libsvm, tmp_path):
    plain, packed = tmp_path / "labels.txt", tmp_path / "labels.txt.gz"
    shown = run("predict", model, libsvm, "--jobs", "2").stdout
    for path in (plain, packed):
        assert run("predict", model, libsvm, "--out", path).stdout == ""
    assert plain.read_text() == shown
    assert gzip.decompress(packed.read_bytes()).decode() == shown
    assert not list(tmp_path.glob(".*"))


def test_unknown_labels_count_as_wrong(run, model, tmp_path):
    path = tmp_path / "other.libsvm"
    X, _ = rows()
    answers = run("predict", model, write(path, X, ["0"] * 60)).stdout.split()
    # The labels of this file are not all numbers, so that it is read as strings.
    result = run("evaluate", model, write(path, X, ["new", "new", *answers[2:]]))
    assert values(result.stdout)["accuracy"] == f"{58 / 60:.6g}"
    assert "2 of the labels" in result.stderr


def test_unknown_labels_of_sets_count_as_wrong(run, sets, tmp_path):
    out, path = tmp_path / "model.st", tmp_path / "other.libsvm"
    run("train", "multilabel", sets, "--out", out)
    X, _ = label_sets()
    answers = [line.split(",") if line else [] for line in run("predict", out, sets).stdout.splitlines()]
    answers[0] = [*answers[0], "new"]
    write_libsvm(path, X, answers, multilabel=True)
    result = run("evaluate", out, path)
    scores = values(result.stdout)
    assert scores["exact_match"] == f"{59 / 60:.6g}"
    assert scores["hamming_loss"] == f"{1 / 240:.6g}"
    assert "1 of the labels" in result.stderr


def write(path, X, y):
    write_libsvm(path, X, y)
    return path


def test_history_and_gz(run, libsvm, tmp_path):
    packed, out, history = tmp_path / "data.gz", tmp_path / "model.st", tmp_path / "trace.csv"
    packed.write_bytes(gzip.compress(libsvm.read_bytes()))
    run("train", "classify", packed, "--out", out, "--history", history)
    with open(history, newline="") as file:
        trace = list(csv_module.DictReader(file))
    assert [float(row["gap"]) for row in trace] == load(out).history_["gap"].tolist()
    assert {path.name for path in tmp_path.iterdir()} == {
        "classes.libsvm",
        "data.gz",
        "model.st",
        "trace.csv",
    }


def test_runs_are_seeded(run, libsvm, tmp_path):
    def weights(name, *options):
        shared = ("--loss", "hinge", "--max-passes", "2")
        run("train", "classify", libsvm, "--out", tmp_path / name, *shared, *options)
        return load(tmp_path / name).weights_

    first = weights("first.st")
    np.testing.assert_array_equal(first, weights("again.st"))
    np.testing.assert_array_equal(first, weights("zero.st", "--seed", "0"))
    assert not np.array_equal(first, weights("other.st", "--seed", "1"))


def test_the_loss_goes_with_the_solver(run, tmp_path):
    """Of tag it is softmax, whatever makes the features; solvers of the hinge alone say that they take it."""
    words, model = tmp_path / "words.txt", tmp_path / "model.st"
    words.write_text("the D\ncat N\n\na D\ndog N\nruns V\n\n" * 3)
    for templates in ((), ("--templates", "word")):
        said = run("train", "tag", words, "--out", model, "--solver", "lbfgs", *templates).stderr
        assert "The loss" not in said
        assert load(model).chain_.loss_ == "softmax"
    said = run("train", "tag", words, "--out", model, "--solver", "bcfw")
    assert "The loss is 'hinge', because --solver bcfw does not train 'softmax'." in said.stderr
    assert (load(model).chain_.loss_, load(model).chain_.cost) == ("hinge", "count")
    words.write_text("the B-N\ncat I-N\n\na B-N\ndog I-N\nruns O\n\n" * 3)
    said = run("train", "chunk", words, "--out", model, "--cost", "hamming", "--loss", "hinge")
    assert (load(model).chain_.loss_, load(model).chain_.cost) == ("hinge", "hamming")


@pytest.mark.filterwarnings("default::structlearn.NothingLearnedWarning")
def test_a_table_of_seven_classes(run, tmp_path):
    """As of wines, whose grades are mostly 5 and 6: never all the first grade, and a line says what to do."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 4)).round(3)
    grade = np.clip(np.round(5.6 + 0.3 * X[:, 0] + 0.8 * rng.normal(size=400)), 3, 9).astype(int)
    table, model = tmp_path / "wine.csv", tmp_path / "model.st"
    rows = [",".join(map(str, [*one, g])) for one, g in zip(X.tolist(), grade.tolist())]
    table.write_text("\n".join(["a,b,c,d,quality", *rows, ""]))

    def accuracy(*options):
        said = run("train", "classify", table, "--out", model, *options).stderr
        (found,) = (
            one for one in run("evaluate", model, table).stdout.splitlines() if one.startswith("accuracy:")
        )
        return float(found.split()[-1]), said

    usual = np.mean(grade == np.bincount(grade).argmax())
    assert accuracy()[0] > usual
    constant, said = accuracy("--loss", "hinge", "--regularization", "10")
    assert constant == pytest.approx(usual, abs=1e-3)
    assert said.count("Warning: ") == 1
    assert "train with --loss softmax or a --regularization below 10" in said
