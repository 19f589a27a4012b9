"""Files that can be read, but are hardly meant so, are refused or warned of before anything long begins."""

import pytest

from structlearn import load

pytestmark = pytest.mark.filterwarnings("default::UserWarning")

QUICK = ["--max-passes", "5", "--tol", "0.5"]
WORDS = [f"word{k}" for k in range(120)]


def file_of(rows, length=6):
    """A column file of sentences of one length."""
    lines = [" ".join(row) + ("\n" if k % length == length - 1 else "") for k, row in enumerate(rows)]
    return "\n".join([*lines, ""])


def talk(run, *arguments, **options):
    return " ".join(run(*arguments, *QUICK, **options).stderr.split())


@pytest.mark.parametrize("task", ["tag", "chunk", "ner"])
def test_words_in_the_place_of_labels_are_refused(refused, write, tmp_path, task):
    data = write(file_of(("B-NP" if k % 2 else "O", word) for k, word in enumerate(WORDS)))
    said = refused("train", task, data, "--out", tmp_path / "m")
    assert "column 1, which has 120 different ones in 120 tokens" in said
    assert "--label 0" in said
    assert "--columns (1, say)" in said


def test_words_as_labels_that_are_asked_for_are_trained_on(run, write, tmp_path):
    data = write(file_of(("X" if k % 2 else "Y", f"w{k % 60}") for k in range(120)))
    assert "60 different ones" in talk(run, "train", "tag", data, "--label", "1", "--out", tmp_path / "m")
    said = talk(run, "train", "tag", data, "--label", "0", "--columns", "1", "--out", tmp_path / "m")
    assert "Warning: In" not in said
    assert "Column" not in said


def test_labels_before_words_and_tags_are_doubted(run, write, tmp_path):
    data = write(file_of((("L", "M")[k % 2], f"w{k}", "NV"[k % 2]) for k in range(1002)))
    said = talk(run, "train", "tag", data, "--out", tmp_path / "m", "--templates", "word pos.shape")
    assert "Column 0 is read as the words, but has 2 different cells where column 1 has 1002" in said


@pytest.mark.parametrize(("labels", "doubted"), [("NV", True), ("OX", False), (["B-X", "I-X"], False)])
def test_labels_that_mark_no_spans_are_doubted(run, write, tmp_path, labels, doubted):
    data = write(file_of((word, labels[k % 2]) for k, word in enumerate(WORDS[:12])))
    said = talk(run, "train", "chunk", data, "--out", tmp_path / "m")
    assert ("mark no spans" in said and "The task tag" in said) is doubted


def test_long_runs_of_plain_labels_are_spans(run, write, tmp_path):
    data = write(file_of((word, "title" if k % 6 < 3 else "author") for k, word in enumerate(WORDS[:12])))
    assert "mark no spans" not in talk(run, "train", "chunk", data, "--out", tmp_path / "m")


def test_labels_that_differ_in_case_are_doubted(run, write, tmp_path):
    data = write(file_of((word, ("N", "n", "V")[k % 3]) for k, word in enumerate(WORDS[:12])))
    said = talk(run, "train", "tag", data, "--out", tmp_path / "m")
    assert said.count('labels "N" and "n" differ only in case or in blanks') == 1


def test_documents_are_not_scored_and_lines_stay(run, write, tmp_path):
    body = "Ann B-P\nruns O\n\nthe O\ncat O\n\n" * 6
    data, model = write(f"-DOCSTART- O\n\n{body}", "train.txt"), tmp_path / "m.st"
    assert "Read 12 sequences, 24 tokens" in run("train", "ner", data, "--out", model, *QUICK).stderr
    assert "-DOCSTART-" not in "".join(map(str, load(model).features_.templates))
    marked, bare = run("predict", model, data).stdout, run("predict", model, write(body, "bare.txt")).stdout
    assert marked == f"-DOCSTART- O\n\n{bare}"
    scores = [run("evaluate", model, tmp_path / name).stdout for name in ("train.txt", "bare.txt")]
    assert scores[0] == scores[1]
    words = write("-DOCSTART-\n\nAnn\nruns\n", "words.txt")
    assert run("predict", model, words).stdout.splitlines()[0] == "-DOCSTART- _"


THREE = "Ana N B-PER\nvive V O\nen P O\nRoma N B-LOC\n\nZoe N B-PER\nPaz N I-PER\nduerme V O\n\n" * 4


def test_names_are_found_by_words_alone(run, write, tmp_path):
    data, model = write(THREE, "train.txt"), tmp_path / "m.st"
    assert "Note:" not in talk(run, "train", "ner", data, "--out", model)
    assert load(model).columns == ("word",)
    text = write("Ana vive en Roma .\n", "text.txt")
    assert run("tag", model, text).stdout.startswith("Ana\t")
    assert run("predict", model, data).stdout.startswith("Ana N B-PER")


@pytest.mark.parametrize(
    ("task", "flags"), [("chunk", []), ("ner", ["--columns", "0,1"]), ("ner", ["--templates", "word pos"])]
)
def test_columns_that_raw_text_lacks_are_told(run, write, tmp_path, task, flags):
    data, model = write(THREE, "train.txt"), tmp_path / "m.st"
    said = talk(run, "train", task, data, "--out", model, *flags)
    assert said.index("Note: the model looks at the column pos beside words") < said.index("Read 8 sequences")
    assert "--columns 0 (words alone)" in said
    assert "--with MODEL" in said
    assert load(model).columns == ("word", "pos")
    if not flags:
        assert "Note:" not in talk(run, "train", task, data, "--out", model, "--columns", "0")
