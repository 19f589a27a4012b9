"""The shell on tables as people have them: text, missing values, names; the same as in Python."""

import json

import numpy as np
import pandas as pd
import pytest
from cli_cases import values

from model_files import rewrite
from structlearn import LinearRegressor, MulticlassClassifier, load, make_table_transformer


def people(n=120, seed=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "age": rng.normal(40, 10, n).round(1),
            "city": rng.choice(["Rome", "Oslo", "Paris"], n),
            "income": rng.normal(5e4, 2e4, n).round(2),
            "street": [f"street {k}" for k in rng.integers(0, 9, n)],
        }
    )
    frame.loc[::7, "age"] = np.nan
    frame.loc[::9, "city"] = None
    return frame, np.where((frame.city == "Rome") | (frame.age > 50), "yes", "no")


@pytest.fixture
def csv(tmp_path):
    frame, y = people()
    frame.assign(bought=y).to_csv(tmp_path / "people.csv", index=False)
    return tmp_path / "people.csv"


@pytest.fixture
def out(tmp_path):
    return tmp_path / "model.st"


def test_classify(run, csv, out, tmp_path):
    certificate = values(run("train", "classify", csv, "--out", out, "--loss", "softmax").stdout)
    frame, y = people()
    same = MulticlassClassifier(row_transformer=make_table_transformer(), loss="softmax", random_state=0)
    same.fit(frame, y)
    assert certificate["primal"] == f"{same.certificate_.primal:.6g}"
    new, _ = people(seed=1)
    new.to_csv(tmp_path / "new.csv", index=False)
    assert run("predict", out, tmp_path / "new.csv").stdout.split() == same.predict(new).tolist()
    marginals = run("predict", out, tmp_path / "new.csv", "--marginals").stdout.splitlines()
    np.testing.assert_allclose(
        [[float(cell.split(":")[1]) for cell in line.split()] for line in marginals],
        same.predict_proba(new),
        rtol=1e-5,
    )
    accuracy = run("evaluate", out, csv, "--json").stdout
    assert json.loads(accuracy)["accuracy"] == pytest.approx(same.score(frame, y))


def test_the_model_is_one_of_python_too(run, csv, out):
    run("train", "classify", csv, "--out", out)
    model, (frame, _) = load(out), people()
    assert model.feature_names_in_.tolist() == list(frame.columns)
    assert model.predict(frame).tolist() == run("predict", out, csv).stdout.split()
    with pytest.raises(ValueError, match="same order"):
        model.predict(frame[["city", "age", "income", "street"]])


def test_weights_are_named(run, csv, out):
    run("train", "classify", csv, "--out", out)
    shown = run("weights", out, "--label", "yes").stdout
    for name in ("city=Rome", "age", "age is missing", "city is missing", "income", "street=street 3"):
        assert f"  {name}" in shown
    described = values(run("info", out).stdout)
    assert described["row_transformer"] == "TableTransformer"
    assert (described["numbers"], described["categories"]) == ("age, income", "city, street")
    assert described["largest weights of label yes"].startswith("city=Rome ")


def test_columns_are_found_by_name(run, refused, csv, out, tmp_path):
    run("train", "classify", csv, "--out", out)
    expected, path = run("predict", out, csv).stdout, tmp_path / "other.csv"
    frame = people()[0]
    frame[["street", "income", "age", "city"]].to_csv(path, index=False, sep=";", decimal=",")
    result = run("predict", out, path)
    assert (result.stdout, result.stderr) == (expected, "")
    frame.assign(note="x", more=1).to_csv(path, index=False)
    result = run("predict", out, path)
    assert result.stdout == expected
    assert "no use for the columns note, more" in result.stderr
    frame.drop(columns=["age", "city"]).to_csv(path, index=False)
    assert "the feature columns age, city are missing" in refused("predict", out, path)
    frame.assign(age="old").to_csv(path, index=False)
    assert 'line 2: column "age" holds "old", which is not a number' in refused("predict", out, path)


def test_columns_are_named_at_once_or_one_by_one(run, csv, out):
    for flags in (("--ignore", "age,street"), ("--ignore", "age", "--ignore", "street")):
        run("train", "classify", csv, "--out", out, *flags)
        assert values(run("info", out).stdout)["left out"] == "age, street"


def test_unknown_levels_and_new_gaps(run, csv, out, tmp_path):
    run("train", "classify", csv, "--out", out, "--min-count", "12")
    path = tmp_path / "new.csv"
    path.write_text("age,city,income,street\n,Atlantis,,nowhere\n30,Rome,1e4,street 1\n")
    assert len(run("predict", out, path).stdout.split()) == 2
    assert "street=(rare)" in run("weights", out).stdout


def test_tables_are_read_in_pieces(run, csv, out, tmp_path, monkeypatch):
    from structlearn.data.tables import source

    run("train", "classify", csv, "--out", out)
    commands = [("predict",), ("predict", "--marginals"), ("predict", "--json"), ("evaluate",)]
    whole = [run(name, out, csv, *flags).stdout for name, *flags in commands]
    monkeypatch.setattr(source, "PIECE", 7)
    assert [run(name, out, csv, *flags).stdout for name, *flags in commands] == whole


def test_regress(run, csv, out):
    run("train", "regress", csv, "--target", "income", "--out", out)
    frame, y = people()
    X = frame.drop(columns="income").assign(bought=y)
    same = LinearRegressor(row_transformer=make_table_transformer(), random_state=0).fit(X, frame.income)
    found = [float(line) for line in run("predict", out, csv).stdout.split()]
    np.testing.assert_allclose(found, same.predict(X), rtol=1e-6)


def test_groups_are_those_of_columns(run, refused, csv, out):
    options = ["--target", "income", "--out", out, "--penalty", "group", "--regularization", "2000"]
    run("train", "regress", csv, *options, "--groups", "0,1,2,2")
    groups = load(out).groups
    names = ["age", "age is missing", *["city"] * 4, *["street"] * 9, "bought"]
    assert groups == ["0", "0", *["1"] * 4, *["2"] * 10]
    assert len(groups) == len(names) == load(out).coef_.size
    assert "each of the 4 features; got 2" in refused("train", "regress", csv, *options, "--groups", "0,1")


def test_multilabel(run, out, tmp_path):
    frame, _ = people()
    path = tmp_path / "sets.csv"
    frame.assign(old=(frame.age > 40), roman=(frame.city == "Rome")).to_csv(path, index=False)
    run("train", "multilabel", path, "--target", "old,roman", "--out", out)
    assert load(out).classes_.tolist() == ["old", "roman"]
    assert set(run("predict", out, path).stdout.splitlines()) == {"", "old", "roman", "old,roman"}
    assert float(values(run("evaluate", out, path).stdout)["hamming_loss"]) < 0.05


def test_multilabel_of_lists(run, refused, out, tmp_path):
    path = tmp_path / "lists.csv"
    path.write_text(
        "a,b,t\n" + "".join(f"{k % 2},{k % 3},{['x;y', 'x', 'y', ''][k % 4]}\n" for k in range(48))
    )
    run("train", "multilabel", path, "--target", "t", "--out", out)
    found = run("predict", out, path).stdout.splitlines()
    assert {one for line in found for one in line.split(",") if one} <= {"x", "y"}
    assert "exact_match: " in run("evaluate", out, path).stdout
    path.write_text("a,b\n0,1\n")  # without the target
    assert len(run("predict", out, path).stdout.splitlines()) == 1
    said = refused("train", "multilabel", path, "--out", tmp_path / "other")
    assert "or a column that lists labels" in said


def test_without_scaling_numbers_are_as_they_were(run, out, tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2)).round(3)
    y = (X[:, 0] > 0).astype(int)
    path = tmp_path / "numbers.csv"
    pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "y": y}).to_csv(path, index=False)
    run("train", "classify", path, "--out", out, "--no-scale")
    plain = MulticlassClassifier(random_state=0).fit(X, y)
    np.testing.assert_array_equal(load(out).weights_, plain.weights_)
    assert "row_transformer:" not in run("info", out).stdout
    assert run("predict", out, path).stdout.split() == [str(one) for one in plain.predict(X)]


def test_scaling_can_be_left_out_of_a_table(run, csv, out):
    run("train", "classify", csv, "--out", out, "--no-scale", "--max-passes", "3", "--ignore", "income")
    assert load(out).row_transformer_.maps[0].columns[0]["scale"] == 1.0


def test_parquet(run, csv, out, tmp_path):
    frame, y = people()
    frame.assign(bought=y).to_parquet(tmp_path / "people.parquet")
    run("train", "classify", tmp_path / "people.parquet", "--out", out)
    expected = run("predict", out, tmp_path / "people.parquet").stdout
    assert run("predict", out, csv).stdout == expected


def test_class_names_are_those_of_the_file(run, out, tmp_path):
    path = tmp_path / "codes.csv"
    path.write_text("a,code\n" + "1,007\n2,010\n" * 10)
    run("train", "classify", path, "--out", out)
    assert run("predict", out, path).stdout.split()[:2] == ["007", "010"]
    assert values(run("evaluate", out, path).stdout.partition("class:")[0])["accuracy"] == "1"


def test_what_was_left_out_is_said(run, csv, out, tmp_path):
    frame, y = people()
    path = tmp_path / "ids.csv"
    frame.assign(id=range(120), name=[f"n{k}" for k in range(120)], land="x", y=y).to_csv(path, index=False)
    said = run("train", "classify", path, "--out", out).stderr
    assert 'Note: Column "id" is left out: it counts the rows.' in said
    assert 'Note: Column "name" is left out: its text is different in every row' in said
    assert 'Note: Column "land" is left out: it is the same in all rows.' in said
    assert "Read 120 examples with 4 columns (2 numbers, 2 categories)" in said
    assert run("predict", out, path).stderr == ""


@pytest.mark.parametrize(
    ("content", "flags", "said"),
    [
        (
            "c,a,t\n" + "$5,1,x\n€7,2,y\n" * 9,
            (),
            "take the column as categories (--category c), or leave it out (--ignore c)",
        ),
        ("c,t\n" + "1,x\n2,y\n" * 9 + "?!,x\n", (), "count such cells as missing (--number c)"),
        ("a,t\n1,x\n2,y\n", ("--hash-bits", "99"), "--hash-bits must be from 1 to 24; got 99."),
        ("a,t\n1,x\n2,y\n", ("--ngrams", "0"), "--ngrams must be at least 1; got 0."),
        ("a,t\n1,x\n", ("--text", "b"), 'the column "b" is missing'),
        ("a,t\n1,x\n", ("--min-count", "0"), "--min-count must be at least 1; got 0."),
        ("a,b,t\n1,1,x\n2,1,\n", (), 'line 3: the target column "t" is empty'),
        (",,\n0,1,x\n", (), "no column has a name"),
        (
            "a,b,t\n1,2,x\n",
            ("--target", "r", "--text", "aa", "--ignore", "q"),
            "the columns r, aa, q are missing",
        ),
        ("age,b,t\n1,2,x\n", ("--category", "aeg"), 'Did you mean "age"?'),
        ("age,b,t\n1,2,x\n3,4,x\n", (), 'the target "t" is "x" in all 2 rows'),
        ("age,b,t\n1,2,x\n", (), "in the only row"),
    ],
)
def test_refusals(refused, out, tmp_path, content, flags, said):
    (tmp_path / "x.csv").write_text(content)
    assert said in refused("train", "classify", tmp_path / "x.csv", "--out", out, *flags)


def test_a_column_of_which_half_are_numbers_is_named_with_its_flag(run, out, tmp_path):
    cells = [str(k % 9) if k % 3 else "A" for k in range(60)]
    (tmp_path / "x.csv").write_text("mixed,t\n" + "".join(f"{one},{one in '1235'}\n" for one in cells))
    said = run("train", "classify", tmp_path / "x.csv", "--out", out).stderr
    assert "40 of its 60 cells are numbers" in said
    assert "all others as missing: --number mixed)" in said
    said = run("train", "classify", tmp_path / "x.csv", "--out", out, "--number", "mixed").stderr
    assert "mixed" not in said


def test_columns_without_a_name_are_called_as_pandas_calls_them(run, out, tmp_path):
    path = tmp_path / "x.csv"
    path.write_text("a,,t\n" + "".join(f"{k % 5},{k % 7},{'xy'[k % 7 > 3]}\n" for k in range(60)))
    said = run("train", "classify", path, "--out", out).stderr
    assert 'The header has no name for a column; it is called "Unnamed: 1".' in said
    assert "Unnamed: 1" in run("weights", out).stdout
    assert "accuracy: 1\n" in run("evaluate", out, path).stdout


def test_flags_of_tables(refused, libsvm, tags, out):
    assert "--ignore names columns of a table" in refused(
        "train", "classify", libsvm, "--out", out, "--ignore", "a"
    )
    assert "--no-scale does not go with the task tag" in refused(
        "train", "tag", tags, "--out", out, "--no-scale"
    )


def test_tables_with_text_are_not_packed(refused, csv, tmp_path):
    message = refused("data", "pack", "classify", csv, "--out", tmp_path / "packed")
    assert "with text or missing values is not packed" in message


def test_tables_of_numbers_are_packed_as_they_are(run, out, tmp_path):
    rng = np.random.default_rng(0)
    path = tmp_path / "numbers.csv"
    pd.DataFrame({"a": rng.normal(size=40), "b": 1e3 * rng.normal(size=40), "y": [0, 1] * 20}).to_csv(
        path, index=False
    )
    run("data", "pack", "classify", path, "--out", tmp_path / "packed")
    run("train", "classify", tmp_path / "packed", "--out", out, "--max-passes", "2")
    assert "row_transformer:" not in run("info", out).stdout
    assert len(run("predict", out, path).stdout.split()) == 40


def test_comparison(run, csv, tmp_path):
    run(
        "compare",
        "classify",
        csv,
        "--out",
        tmp_path / "page",
        "--solvers",
        "bcfw,fw",
        "--test",
        csv,
        "--tol",
        "0.1",
    )
    assert (tmp_path / "page" / "index.html").exists()


@pytest.mark.parametrize(
    ("notes", "said"),
    [
        ({"text": [3]}, "notes.text[0] must be str"),
        ({"kinds": [{"kind": 3}]}, "must be"),
        ({"kinds": []}, "notes.kinds must be as many as notes.features"),
        ({"features": ["a"]}, "its notes name 1 features, but the model has 4"),
        ({"left_out": 3}, "notes.left_out must be list"),
    ],
)
def test_damaged_notes(run, refused, csv, out, notes, said):
    run("train", "classify", csv, "--out", out)
    rewrite(out, lambda header, tensors: header["notes"].update(notes))
    assert said in refused("predict", out, csv)


def test_notes_of_text_without_a_map(run, refused, out, tmp_path):
    path = tmp_path / "x.csv"
    path.write_text("a,t\n1,x\n2,y\n")
    run("train", "classify", path, "--out", out, "--no-scale")
    rewrite(out, lambda header, tensors: header["notes"].update(text=["a"]))
    assert "the model has no map for them" in refused("predict", out, path)


def test_unscaled_columns_are_named_in_words_of_the_shell(run, csv, out, tmp_path):
    few = ["--out", out, "--max-passes", "2", "--tol", "1e-9"]
    said = run("train", "classify", csv, "--no-scale", *few).stderr
    assert "Columns income, age are up to " in said
    assert (
        "times larger than the median column: scale the columns, as with a table, whose numbers are" in said
    )
    assert "row_transformer" not in said
    (tmp_path / "x.libsvm").write_text("a 1:1 2:0.5 3:1e7\nb 1:2 2:1 3:-3e6\n" * 10)
    assert "Column index 3 is " in run("train", "classify", tmp_path / "x.libsvm", *few).stderr


@pytest.mark.filterwarnings("always:The number of unique classes")
def test_numbers_for_classes_are_warned_of_once(run, tmp_path, out):
    x = np.random.default_rng(0).normal(size=30)
    pd.DataFrame({"size": x, "price": 3 * x}).to_csv(tmp_path / "prices.csv", index=False)
    said = run("tune", "classify", tmp_path / "prices.csv", "--regularization", "1,0.1", "--out", out).stderr
    assert said.count("the task regress predicts numbers") == said.count("Warning") == 1
