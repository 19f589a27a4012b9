"""What is wrong is said in one sentence, with exit code 2; failures exit with 1."""

import errno
import json
import os

import numpy as np
import pytest
from cli_cases import rows, table
from safetensors.numpy import save_file
from typer.testing import CliRunner

from model_files import rewrite
from structlearn.cli import app
from structlearn.data import write_libsvm


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--solver", "bcwf"], "Did you mean 'bcfw'?"),
        (["--loss", "hing"], "Did you mean 'hinge'?"),
        (["--cost", "haming"], "Did you mean 'hamming'?"),
        (["--regularization", "-1"], "regularization must be at least 0"),
        (["--loss", "hinge", "--regularization", "0"], "needs --regularization > 0"),
        (["--tol", "nan"], "tol must be a finite number"),
        (["--max-passes", "0"], "--max-passes must be above 0"),
        (["--max-seconds", "-1"], "--max-seconds must be above 0"),
        (["--jobs", "0"], "--jobs"),
        (["--loss", "hinge", "--solver", "perceptron"], "Solver 'perceptron' trains --loss perceptron only"),
        (["--loss", ""], "Unknown loss ''; valid are 'auto', 'hinge', "),
        (
            ["--loss", "logistic"],
            "'hinge', 'perceptron', 'softmax', 'sparsemax', 'entmax15'",
        ),
        (["--loss", "softmax", "--solver", "lbfsg"], "Did you mean 'lbfgs'?"),
        (["--loss", "softmax", "--solver", "bcfw"], "cannot train --loss softmax; use one of 'sdca'"),
        (["--loss", "hinge", "--penalty", "l1"], "--penalty l1 needs a smooth loss such as 'softmax'"),
        (["--penalty", "l3"], "Unknown penalty 'l3'; valid are 'l2', 'l1', 'elasticnet', 'group'."),
        (["--l1-ratio", "0.3"], "--l1-ratio goes with --penalty elasticnet"),
        (["--loss", "softmax", "--penalty", "group", "--solver", "lbfgs"], "use one of 'proximal-newton'"),
        (["--edges", "tree"], "--edges does not go with the task classify (it goes with multilabel)"),
        (["--boundaries"], "it goes with tag"),
    ],
)
def test_wrong_options_are_refused_before_data_is_read(refused, tmp_path, options, said):
    assert said in refused("train", "classify", tmp_path / "absent", "--out", tmp_path / "model.st", *options)


@pytest.mark.parametrize(
    ("task", "options", "said"),
    [
        ("regress", ["--loss", "hinge"], "--loss does not go with the task regress (it goes with classify, "),
        ("regress", ["--cost", "hamming"], "--cost does not go with the task regress"),
        ("regress", ["--edges", "all"], "--edges does not go with the task regress"),
        ("regress", ["--penalty", "group"], "--penalty group needs --groups: the group of each feature"),
        ("regress", ["--penalty", "l1", "--groups", "0,0,1"], "--groups goes with --penalty group"),
        ("regress", ["--groups", "0,0,1"], "--groups goes with --penalty group"),
        ("regress", ["--penalty", "group", "--groups", "0,,1"], "the group of feature 2 empty"),
        ("classify", ["--groups", "0,0,1"], "--groups does not go with the task classify"),
        ("regress", ["--penalty", "lasso"], "valid are 'l2', 'l1', 'elasticnet', 'group'."),
        ("regress", ["--penalty", "elasticnetz"], "Did you mean 'elasticnet'?"),
        ("regress", ["--solver", "bcfw"], "valid are 'auto', 'direct', 'coordinate-descent', 'proximal'"),
        ("regress", ["--penalty", "l1", "--solver", "direct"], "use --solver coordinate-descent"),
        ("regress", ["--regularization", "-1"], "regularization must be at least 0"),
        ("tag", ["--penalty", "group"], "Unknown penalty 'group'; valid are 'l2', 'elasticnet', 'l1'."),
        ("tag", ["--penalty", "l1", "--loss", "hinge"], "--penalty l1 needs a smooth loss"),
        ("chunk", ["--l1-ratio", "0.3"], "--l1-ratio goes with --penalty elasticnet"),
        ("ner", ["--penalty", "elasticnet", "--l1-ratio", "1"], "--l1-ratio must be below 1"),
        ("multilabel", ["--penalty", "l2"], "--penalty does not go with the task multilabel"),
        ("tag", ["--loss", "entmax15"], "valid are 'auto', 'hinge', 'perceptron', 'softmax', 'sparsemax'."),
    ],
)
def test_options_of_other_tasks_are_refused_before_data_is_read(refused, tmp_path, task, options, said):
    assert said in refused("train", task, tmp_path / "absent", "--out", tmp_path / "model.st", *options)


def test_wrong_edges(refused, sets, tmp_path):
    message = refused("train", "multilabel", sets, "--out", tmp_path / "model.st", "--edges", "trees")
    assert "Did you mean 'tree'?" in message


def test_unknown_task(refused, libsvm, tmp_path):
    message = refused("train", "clasify", libsvm, "--out", tmp_path / "model.st")
    assert "'classify', 'multilabel', 'regress', 'tag'" in message
    assert "Did you mean 'classify'?" in message


def test_negative_seed(refused, libsvm, tmp_path):
    assert "eed" in refused("train", "classify", libsvm, "--out", tmp_path / "model.st", "--seed", "-1")


@pytest.mark.parametrize(
    "arguments", [["train"], ["nonsense"], ["train", "classify", "x"], ["info", "--what"]]
)
def test_misuse(run, arguments):
    result = run(*arguments, code=2)
    assert result.stdout == ""
    assert "Error" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["fit", "classify"], "Unknown command 'fit'. Did you mean 'train'?"),
        (["trian", "classify"], "Unknown command 'trian'. Did you mean 'train'?"),
        (["ner", "x"], "Unknown command 'ner'. Did you mean 'train ner'?"),
        (["align", "trian"], "Unknown command 'trian'. Did you mean 'train'?"),
        (["nonsense"], "Unknown command 'nonsense'."),
        (["train", "tag", "x", "--output", "y"], "Unknown option '--output'. Did you mean '--out'?"),
        (["train", "tag", "x", "-o", "y"], "Unknown option '-o'. Did you mean '--out'?"),
        (
            ["train", "tag", "x", "--lambda", "1"],
            "Unknown option '--lambda'. Did you mean '--regularization'?",
        ),
        (["predict", "m", "x", "--porba"], "Unknown option '--porba'. Did you mean '--proba'?"),
        (["info", "--what"], "Unknown option '--what'."),
        (["train", "tag", "x", "--out"], "--out needs a value behind it."),
        (["info", "--json=3"], "--json takes no value."),
        (["train", "tag", "x", "--out", "y", "--seed", "1.5"], "--seed must be a whole number; got '1.5'."),
        (
            ["train", "tag", "x", "--max-passes=few", "--out", "y"],
            "--max-passes must be a number; got 'few'.",
        ),
        (["train", "tag", "x", "--epochs", "0", "--out", "y"], "--epochs must be at least 1; got '0'."),
        (
            ["train", "tag", "x", "--regularization", "abc"],
            "--regularization must be a number, or auto; got 'abc'.",
        ),
        (
            ["train", "tag", "x"],
            "Missing --out MODEL: Model file to write. "
            "Usage: structlearn train tag DATA --out MODEL [OPTIONS]",
        ),
        (
            ["info", "x", "y"],
            "Unexpected 'y'. Usage: structlearn info [OPTIONS]",
        ),
    ],
)
def test_wrong_words_are_told_in_one_style(run, arguments, said):
    result = CliRunner().invoke(app, arguments, prog_name="structlearn")
    assert result.exit_code == 2
    assert result.stderr == f"Error: {said}\n"


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("inf.csv", "a,b,kind\n1,2,x\n3,inf,y\n", 'line 3: column "b" holds "inf", which is not finite'),
        ("words.csv", "a,b,kind\n" + "1,2,x\n" * 9 + "1,two,x\n", 'line 11: column "b" holds "two"'),
        ("empty.libsvm", "", "holds no examples"),
        ("bad.libsvm", "1 1:2 2:x\n", "line 1"),
        ("sets.libsvm", "1,2 1:2\n", "multi-label"),
        ("one.libsvm", "1 1:2\n1 1:3\n", "only one class"),
        ("binary.libsvm", b"\xff\xfe\x00", "is UTF-16 text"),
        ("mixed.libsvm", b"1 1:2\n1 \xff:2\n", "not UTF-8"),
        ("sheet.libsvm", b"PK\x03\x04\x14\0\xff\n", "is not text: save it as text in UTF-8"),
        ("broken.gz", b"no archive", "cannot be read"),
    ],
)
def test_bad_data(refused, tmp_path, name, text, said):
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    assert said in refused("train", "classify", path, "--out", tmp_path / "model.st")
    assert not (tmp_path / "model.st").exists()


def test_target_of_a_libsvm_file(refused, libsvm, tmp_path):
    message = refused("train", "classify", libsvm, "--out", tmp_path / "model.st", "--target", "kind")
    assert "looks like a libsvm file" in message


def test_tagging_of_a_libsvm_file(refused, tmp_path):
    path = tmp_path / "data.txt"
    path.write_text("1 1:0.5 2:0.5\n2 1:0.5 2:0.7\n")
    assert "looks like a libsvm file" in refused("train", "tag", path, "--out", tmp_path / "model.st")


def test_missing_files(refused, model, tmp_path):
    absent = tmp_path / "absent"
    assert "does not exist" in refused("train", "classify", absent, "--out", tmp_path / "new.st")
    assert "does not exist" in refused("predict", model, absent)
    assert "does not exist" in refused("evaluate", absent, absent)
    assert "does not exist" in refused("info", absent)


def test_outputs_are_checked_before_data_is_read(refused, model, tmp_path):
    absent, nowhere = tmp_path / "absent.txt", tmp_path / "nowhere" / "file"
    for arguments in (
        ["train", "classify", absent, "--out", nowhere],
        ["train", "classify", absent, "--out", tmp_path / "new.st", "--history", nowhere],
        ["predict", model, absent, "--out", nowhere],
    ):
        assert f"the folder {nowhere.parent} does not exist" in refused(*arguments)
    assert "it is a folder" in refused("train", "classify", absent, "--out", tmp_path)


def test_outputs_do_not_replace_inputs_or_devices(refused, model, libsvm, tmp_path):
    assert "uses this file already" in refused("train", "classify", libsvm, "--out", libsvm)
    assert "uses this file already" in refused("predict", model, libsvm, "--out", model)
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    link = tmp_path / "link"
    link.symlink_to(pipe)
    for path in (pipe, link):
        assert "device or a pipe" in refused("predict", model, libsvm, "--out", path)


def test_a_dash_is_stdout_and_no_model_file(run, refused, model, libsvm, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    answers = run("predict", model, libsvm).stdout
    assert run("predict", model, libsvm, "--out", "-").stdout == answers
    assert "Cannot write to -" in refused("train", "classify", libsvm, "--out", "-")
    assert not (tmp_path / "-").exists()


def test_folders_in_the_place_of_models_and_files(refused, model, tmp_path):
    assert "is a folder, not a model file" in refused("predict", tmp_path, tmp_path)
    assert "or a folder that `structlearn data pack` wrote" in refused("predict", model, tmp_path)


def test_no_threads_at_all(refused, model, libsvm):
    for command in ("predict", "evaluate"):
        assert "--jobs must be a positive number" in refused(command, model, libsvm, "--jobs", "0")


def test_groups_of_commands_show_their_help(run):
    for group in ("data", "align"):
        assert run(group).stdout == run(group, "--help").stdout


def test_history_is_not_the_model(refused, libsvm, tmp_path):
    out = tmp_path / "new.st"
    assert "uses this file already" in refused("train", "classify", libsvm, "--out", out, "--history", out)


def test_a_link_is_followed(run, model, libsvm, tmp_path):
    file, link = tmp_path / "file", tmp_path / "link"
    link.symlink_to(file)
    run("predict", model, libsvm, "--out", link)
    assert link.is_symlink()
    assert len(file.read_text().split()) == 60


def test_too_many_columns(refused, model, tmp_path):
    path = tmp_path / "wide.libsvm"
    write_libsvm(path, *rows(d=5))
    assert "5 features, the model was trained on 4" in refused("predict", model, path)
    assert "5 features, the model was trained on 4" in refused("evaluate", model, path)


def test_a_missing_column(run, refused, csv, tmp_path):
    X, _ = rows()
    out, path = tmp_path / "table.st", tmp_path / "narrow.csv"
    run("train", "classify", csv, "--out", out)
    path.write_text(table(X[:, :3], "a,b,c"))
    assert 'feature column "d" is missing' in refused("predict", out, path)
    path.write_text(table(X, "a,b,c,d"))
    assert "no labels" in refused("evaluate", out, path)


def test_another_format_than_the_training_data(run, refused, model, csv, libsvm, tmp_path):
    assert "looks like a table" in refused("predict", model, csv)
    out = tmp_path / "table.st"
    run("train", "classify", csv, "--out", out)
    assert "looks like a libsvm file" in refused("predict", out, libsvm)


def test_files_that_are_no_models(refused, model, libsvm, tmp_path):
    path = tmp_path / "other.st"
    for command in (["predict", path, libsvm], ["evaluate", path, libsvm], ["info", path]):
        path.write_bytes(model.read_bytes()[:-9])
        assert "not a structlearn model, or it is damaged" in refused(*command)
        path.write_bytes(model.read_bytes()[:20])
        assert "not a structlearn model, or it is damaged" in refused(*command)
        save_file({"weights": np.zeros(3)}, path)
        assert "not a structlearn model" in refused(*command)
        header = {"format": "structlearn-model", "version": 1}
        save_file(
            {"weights": np.zeros(3), "history": np.zeros((1, 7))}, path, {"structlearn": json.dumps(header)}
        )
        assert "damaged" in refused(*command)


def notes(**values):
    return lambda header, tensors: header["notes"].update(values)


def without(name):
    return lambda header, tensors: header["notes"].pop(name)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (notes(format=3), "notes.format must be"),
        (notes(n_features="4"), "notes.n_features must be int"),
        (notes(n_features=10**9), "its notes name 1000000000 features, but the model has 4"),
        (notes(format="csv"), "it lacks notes.features"),
        (without("n_features"), "it lacks notes.n_features"),
        (notes(task="tag"), "the task tag has a ChainClassifier"),
        (notes(task=["classify"]), "does not say how to read data files"),
    ],
)
def test_damaged_notes_are_a_sentence(refused, model, libsvm, tmp_path, change, why):
    path = tmp_path / "other.st"
    path.write_bytes(model.read_bytes())
    rewrite(path, change)
    for command in ("predict", "evaluate"):
        assert why in refused(command, path, libsvm)


def test_damaged_notes_of_a_table_are_a_sentence(run, refused, csv, tmp_path):
    path = tmp_path / "table.st"
    run("train", "classify", csv, "--out", path)
    whole = path.read_bytes()
    for change, why in (
        (without("features"), "it lacks notes.features"),
        (notes(features="abcd"), "notes.features must be list"),
        (notes(features=["a", "b", 3, "d"]), "notes.features[2] must be str, not 3"),
        (notes(targets=[]), "notes.targets must be 1 names"),
    ):
        path.write_bytes(whole)
        rewrite(path, change)
        assert why in refused("predict", path, csv)


def test_models_saved_from_python_are_described_but_not_applied(run, refused, libsvm, tmp_path):
    from structlearn import MulticlassClassifier

    path = tmp_path / "own.st"
    MulticlassClassifier(random_state=0).fit(*rows()).save(path)
    assert "use structlearn.load" in refused("predict", path, libsvm)
    assert "saved from Python" in run("info", path).stdout


def raising(error):
    def fail(*arguments, **options):
        raise error

    return fail


@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "No space left on device"), MemoryError()])
def test_failures_exit_with_1(run, libsvm, tmp_path, monkeypatch, error):
    monkeypatch.setattr("structlearn.storage.tensors.atomic_write", raising(error))
    result = run("train", "classify", libsvm, "--out", tmp_path / "model.st", code=1)
    assert result.stdout == ""
    assert result.stderr.splitlines()[-1] in ("Error: No space left on device.", "Error: Out of memory.")
    assert [path.name for path in tmp_path.iterdir()] == [libsvm.name]


def test_bugs_keep_their_traceback(run, model, libsvm, monkeypatch):
    monkeypatch.setattr("structlearn.MulticlassClassifier.predict", raising(ZeroDivisionError("a bug")))
    result = run("predict", model, libsvm, code=1)
    assert isinstance(result.exception, ZeroDivisionError)


def test_a_loop_of_links_is_no_data_and_no_output(refused, libsvm, tmp_path):
    loop = tmp_path / "loop"
    loop.symlink_to("loop")
    for task in ("classify", "tag"):
        assert "leads to no file" in refused("train", task, loop, "--out", tmp_path / "model")
    assert "leads back to itself" in refused("train", "classify", libsvm, "--out", loop)
