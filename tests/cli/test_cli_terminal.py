r"""Nothing of data or of names acts on the terminal: stderr is one printable line of at most 500 characters.

Each command family meets cells, labels, names and headers with escape sequences, control characters, marks
that reverse text, and a million characters; file names hold the same, and bytes that are no text.
"""

import os
import pickle
import re
import warnings

import numpy as np
import pytest
from cli_cases import columns, sentences
from typer.testing import CliRunner

from structlearn import MulticlassClassifier
from structlearn.cli import app
from structlearn.cli.support.flags import OPPOSITES, flag, in_flags, said_by
from structlearn.cli.tasks.registry import TASKS
from structlearn.core.sentences import ParameterError, Statement
from structlearn.core.wording import LONGEST

HOSTILE = {
    "escape": "\x1b[31mred\x1b[0m\x1b]0;title\x07",
    "controls": "a\x00b\x08\x9b31m\x7f",
    "bidi": "a\u202egpj.exe\u2066",
    "long": "y" * 1_700_000,
    "long escapes": "\x1b" * 100_000,
}
each_text = pytest.mark.parametrize("odd", HOSTILE.values(), ids=HOSTILE)


def stderr_of(*arguments, code=2):
    """The sentence of a command that is refused, checked."""
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert result.exit_code == code, result.output[-2000:]
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    lines = result.stderr.splitlines()
    for line in lines:
        assert line.isprintable(), line[:300]
        assert len(line) <= LONGEST
    (sentence,) = [line for line in lines if line.startswith("Error: ")]
    return sentence


CONLLU = "1\tthe\tthe\tDET\tDT\t_\t{head}\tdet\t_\t_\n2\tdog\tdog\tNOUN\tNN\t_\t0\troot\t_\t_\n\n"
FILES = {
    "a cell of a table": ("classify", "x.csv", "a,kind\n" + "1,x\n" * 9 + "{odd},y\n"),
    "a column of a table": ("classify", "x.csv", "{odd},kind\nz,x\n"),
    "two columns of a table": ("classify", "x.csv", "{odd},{odd},kind\n1,1,x\n"),
    "an index of libsvm": ("classify", "x.libsvm", "1 1:1\n1 {odd}:1\n"),
    "a value of libsvm": ("classify", "x.libsvm", "1 1:1\n1 1:{odd}\n"),
    "no entry of libsvm": ("classify", "x.libsvm", "1 1:1\n1 {odd}\n"),
    "a label of libsvm": ("classify", "x.libsvm", "1 1:1\n{odd},{odd} 1:1\n"),
    "labels of libsvm": ("multilabel", "x.libsvm", "1 1:1\n{odd},{odd} 1:1\n"),
    "a number to learn": ("regress", "x.csv", "a,b\n1,2\n2,{odd}\n"),
    "a feature of words": ("tag", "x.txt", "a 1 N\n\nb {odd} {odd} N\n"),
    "a word's number": ("parse", "x.conllu", CONLLU.replace("2\tdog", "{odd}\tdog").replace("{head}", "2")),
    "a head": ("parse", "x.conllu", CONLLU.replace("{head}", "{odd}")),
    "columns of CoNLL-U": ("parse", "x.conllu", "1\t{odd}\n\n"),
    "an archive": ("match", "x.npz", "{odd}"),
}


@each_text
@pytest.mark.parametrize("kind", FILES)
def test_what_files_hold(tmp_path, odd, kind):
    task, name, text = FILES[kind]
    path = tmp_path / name
    path.write_text(text.replace("{odd}", odd.replace("\n", "")))
    stderr_of("train", task, path, "--out", tmp_path / "model.st")
    assert os.listdir(tmp_path) == [name]


@each_text
def test_labels_that_a_model_does_not_know(run, tmp_path, odd):
    data, model = tmp_path / "tags.txt", tmp_path / "model.st"
    data.write_text(columns(sentences()))
    run("train", "tag", data, "--out", model, "--max-passes", 1)
    data.write_text(f"dog cap=False {odd}\n")
    assert "training never saw the label" in stderr_of("evaluate", model, data)


@each_text
def test_links_and_vectors(tmp_path, odd):
    for name, text in (("e", "a b\n"), ("f", "c d\n"), ("links", f"{odd}\n"), ("vec", f"{odd}\n")):
        (tmp_path / name).write_text(text)
    e, f, links, vec, out = (tmp_path / name for name in ("e", "f", "links", "vec", "model"))
    assert "is not a link" in stderr_of("align", "evaluate", "--hyp", links, "--gold", links)
    text = ("--src", e, "--tgt", f, "--out", out)
    stderr_of("align", "train", *text, "--vectors-src", vec, "--vectors-tgt", vec)
    stderr_of("align", "train", *text, "--max-length", 1)


@each_text
def test_arguments(libsvm, csv, tmp_path, odd):
    odd = odd.replace("\x00", "")[:100_000]  # no program can be given them
    out = tmp_path / "model.st"
    stderr_of("train", odd, libsvm, "--out", out)
    stderr_of("train", "classify", csv, "--out", out, "--target", odd)
    for option in ("--loss", "--solver", "--cost", "--memory", "--cluster"):
        stderr_of("train", "classify", libsvm, "--out", out, option, odd)
    for wrong in ([odd], ["train", "classify", libsvm, "--out", out, "--tol", odd], ["info", f"--{odd}"]):
        stderr_of(*wrong)


@pytest.mark.parametrize("name", ["\x1b[31mred\x1b[0m", "two\nlines", "a\u202eb", "\udcff\udcfe", "n" * 200])
def test_names_of_files(run, libsvm, tmp_path, name):
    folder = tmp_path / name
    out = tmp_path / "model.st"
    stderr_of("train", "classify", folder, "--out", out)
    stderr_of("predict", folder, libsvm)
    stderr_of("info", folder)
    stderr_of("train", "classify", libsvm, "--out", folder / name / "model.st")
    folder.mkdir()
    (folder / "x.libsvm").write_text("1 1:x\n")
    stderr_of("train", "classify", folder / "x.libsvm", "--out", out)
    talk = run("train", "classify", libsvm, "--out", folder / "model.st").stderr
    assert all(line.isprintable() for line in talk.splitlines())
    data = folder / f"{name}.conllu"
    data.write_text(CONLLU.replace("{head}", "2") * 4)
    run("train", "parse", data, "--out", out, "--max-passes", 1)
    run("show", out, data, "--out", tmp_path / "page.html")
    report = tmp_path / "report"
    run(
        "compare", "classify", libsvm, "--test", libsvm, "--solvers", "fw", "--max-passes", 2, "--out", report
    )


@each_text
def test_headers_of_models_and_archives(tmp_path, odd):
    path = tmp_path / "odd.st"
    path.write_bytes(odd.encode())
    stderr_of("info", path)
    stderr_of("predict", path, path)
    np.savez(tmp_path / "x.npz", **{odd.replace("\x00", "")[:2000].replace("/", ""): np.zeros(3)})
    stderr_of("train", "match", tmp_path / "x.npz", "--out", tmp_path / "model.st")


def test_what_is_told_of_a_model_on_stdout(run, tmp_path):
    odd = "\x1b[31mred\x1b[0m\u202e"
    (tmp_path / "x.csv").write_text(f"a,kind\n1,{odd}\n2,y\n3,{odd}\n")
    run("train", "classify", tmp_path / "x.csv", "--out", tmp_path / "x.st")
    told = run("info", tmp_path / "x.st").stdout.splitlines()
    assert all(line.isprintable() for line in told)
    assert "classes: \\x1b[31mred\\x1b[0m\\u202e, y" in told


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("method", ["fit", "predict"])
def test_a_warning_is_a_sentence(run, libsvm, tmp_path, monkeypatch, method):
    asked = getattr(MulticlassClassifier, method)

    def warned(self, *args, **options):
        rare = Statement("the label {label} is rare; raise {max_passes}", label=f"\x1b[31m{'x' * 10**6}\n")
        warnings.warn(UserWarning(rare), stacklevel=1)
        return asked(self, *args, **options)

    monkeypatch.setattr(MulticlassClassifier, method, warned)
    result = run("train", "classify", libsvm, "--out", tmp_path / "model.st")
    if method == "predict":
        result = run("evaluate", tmp_path / "model.st", libsvm)
    (line,) = [line for line in result.stderr.splitlines() if line.startswith("Warning: ")]
    assert line.isprintable()
    assert len(line) <= LONGEST
    assert line.endswith("is rare; raise --max-passes")


# ---- the words of the shell --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        ("Use {projective=False} to keep them.", "Use --non-projective to keep them."),
        ("use {single_root=False}.", "use --many-roots."),
        ("train with {loss=softmax} or 'sparsemax'.", "train with --loss softmax or 'sparsemax'."),
        ("Stopped after {max_passes=1e+03} with gap", "Stopped after --max-passes 1e+03 with gap"),
        ("raise {max_passes} or regularization.", "raise --max-passes or regularization."),
        ("{n_jobs} must be positive", "--jobs must be positive"),
        ("column \"loss=3\" holds 'max_passes'", "column \"loss=3\" holds 'max_passes'"),
        ("/data/max_passes.txt, line 3", "/data/max_passes.txt, line 3"),
        ("use {solver_options=1}.", "use solver_options in Python."),
        ("leave it out ({ignore=credit score})", "leave it out (--ignore 'credit score')"),
        ("""take it as text ({text=it's})""", """take it as text (--text 'it'"'"'s')"""),
        ("train with {hash_bits=None}.", "train with no --hash-bits."),
        ("{boundaries=True}, not {boundaries=False}", "--boundaries, not no --boundaries"),
    ],
)
def test_parameters_are_named_as_flags(template, expected):
    assert in_flags(Statement(template)) == expected


def test_what_others_say_stays_as_it_is():
    """Braces in what is given, and plain strings, are no templates."""
    assert in_flags("use loss='hinge' for {tol}") == "use loss='hinge' for {tol}"
    said = Statement("{what} needs {loss=}", what="the file {tol}", loss="a {loss} b")
    assert str(said) == "the file {tol} needs loss='a {loss} b'"
    assert in_flags(said) == "the file {tol} needs --loss 'a {loss} b'"


def test_errors_about_parameters_know_them():
    with pytest.raises(ParameterError) as found:
        MulticlassClassifier(tol=-1).check_parameters()
    assert (found.value.name, found.value.value) == ("tol", "-1")
    assert found.value.advice == str(found.value) == "tol must be at least 0; got -1."
    assert said_by(found.value) == "--tol must be at least 0; got -1."
    again = pickle.loads(pickle.dumps(found.value))  # noqa: S301
    assert (again.name, str(again)) == ("tol", str(found.value))


def test_every_flag_that_stands_for_another_parameter_is_there(run):
    shown = run("align", "train", "--help").stdout + "".join(
        run("train", task, "--help").stdout for task in TASKS
    )
    known = set(re.findall(r"--[a-z][a-z0-9-]*", shown))
    assert {flag(name) for name in (*OPPOSITES, "n_jobs", "random_state")} <= known


@pytest.mark.filterwarnings("default")
def test_crossing_arcs_name_the_flag(run, tmp_path):
    heads = [3, 4, 0, 3]
    words = "".join(f"{i + 1}\tw{i}\t_\tX\t_\t_\t{head}\tdep\t_\t_\n" for i, head in enumerate(heads))
    path = tmp_path / "crossing.conllu"
    path.write_text(f"{words}\n" * 4)
    talk = run("train", "parse", path, "--out", tmp_path / "model.st", "--max-passes", 1).stderr
    assert "Use --non-projective" in talk
    assert "projective=" not in talk
