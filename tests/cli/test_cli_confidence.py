"""predict --spans, --kbest and --coverage; calibrate and conformalize."""

import numpy as np
import pytest
from cli_cases import values

from structlearn import load
from structlearn.data import PackedWriter

KINDS = {"B-X": ["the", "a"], "I-X": ["dog", "cat", "one"], "O": ["runs", "one", "a"]}


def sentences(n, seed):
    """Words that tell their labels, but for two; the first label is no I."""
    rng = np.random.default_rng(seed)
    made = []
    for length in rng.integers(1, 7, n):
        labels = [str(rng.choice(["B-X", "O"]))]
        for _ in range(length - 1):
            labels.append(str(rng.choice(["O", "B-X"] if labels[-1] == "O" else ["I-X", "O"])))
        made.append([(str(rng.choice(KINDS[label])), label) for label in labels])
    return made


def columns(made, n_columns=2):
    return "\n\n".join("\n".join(" ".join(token[:n_columns]) for token in one) for one in made) + "\n"


@pytest.fixture
def model(run, write, tmp_path):
    """A chunker; softmax unless a flag says else."""

    def train(*flags):
        out = tmp_path / "model.st"
        run("train", "chunk", write(columns(sentences(40, 0)), "train.txt"), "--out", out, *flags)
        return out

    return train


@pytest.fixture
def held_out(write):
    return write(columns(sentences(60, 1)), "held-out.txt")


def test_spans(run, model, write):
    path, text = model(), sentences(4, 2)
    head, *lines = run("predict", path, write(columns(text, 1), "new.txt"), "--spans").stdout.splitlines()
    assert head.split("\t") == ["sentence", "start", "end", "label", "probability", "words"]
    words = [[word for word, _ in one] for one in text]
    found = [(i, *span) for i, one in enumerate(load(path).predict_spans(words)) for span in one]
    assert len(found) == len(lines) > 2
    for line, (i, start, end, label, share) in zip(lines, found):
        assert line == f"{i}\t{start}\t{end}\t{label}\t{share:.6g}\t{' '.join(words[i][start:end])}"


def test_kbest(run, model, write):
    path, text = model(), sentences(3, 3)
    data = write(columns(text), "new.txt")
    written = run("predict", path, data, "--kbest", 3).stdout
    expected = ""
    words = [[word for word, _ in one] for one in text]
    for i, ranked in enumerate(load(path).predict_kbest_proba(words, 3)):
        for rank, (labels, share) in enumerate(ranked, 1):
            expected += f"# sentence {i} rank {rank} probability {share:.6g}\n"
            expected += "".join(f"{word}\t{label}\n" for word, label in zip(words[i], labels)) + "\n"
    assert written == expected


def test_calibrate(run, model, held_out, tmp_path, write):
    path, out = model(), tmp_path / "calibrated.st"
    scores = values(run("calibrate", path, held_out, "--out", out).stdout)
    calibrated = load(out)
    assert float(scores["temperature"]) == pytest.approx(calibrated.temperature_, rel=1e-5)
    assert float(scores["log_likelihood_after"]) >= float(scores["log_likelihood_before"])
    assert {
        "label_error_before",
        "label_error_after",
        "span_error_before",
        "span_error_after",
    } <= scores.keys()
    tenths = [line.split() for name, line in scores.items() if name.startswith("spans_after")]
    data = write(columns(sentences(60, 1)), "again.txt")
    assert (
        sum(int(n) for n, _, _ in tenths) == len(run("predict", out, data, "--spans").stdout.splitlines()) - 1
    )
    for flag in ("--spans", "--marginals"):
        assert run("predict", path, data, flag).stdout != run("predict", out, data, flag).stdout
    assert run("predict", path, data).stdout == run("predict", out, data).stdout
    run("calibrate", out, held_out, "--out", out)  # over itself
    assert load(out).temperature_ == pytest.approx(calibrated.temperature_, rel=1e-3)


@pytest.mark.parametrize("loss", ["softmax", "hinge"])
def test_sets(run, refused, model, held_out, write, tmp_path, loss):
    path, out, text = model("--loss", loss), tmp_path / "sets.st", sentences(3, 4)
    data = write(columns(text), "new.txt")
    assert "has no sets yet; run structlearn conformalize" in refused(
        "predict", path, data, "--coverage", 0.9
    )
    scores = values(run("conformalize", path, held_out, "--out", out).stdout)
    assert scores == {"sentences": "60", "highest_coverage": f"{60 / 61:.6g}"}
    blocks = run("predict", out, data, "--coverage", 0.9).stdout.split("\n\n")[:-1]
    words = [[word for word, _ in one] for one in text]
    sets = load(out).predict_sets(words, 0.9)
    expected = [
        "\n".join([f"# sentence {i} labelling {rank} of {len(one)}", *map("\t".join, zip(words[i], labels))])
        for i, one in enumerate(sets)
        for rank, labels in enumerate(one, 1)
    ]
    assert blocks == expected
    assert "need 99 examples in conformalize; it had 60" in refused("predict", out, data, "--coverage", 0.99)


def test_sets_that_are_too_large_are_said_to_be(run, model, held_out, write, tmp_path, monkeypatch):
    path, out = model(), tmp_path / "sets.st"
    run("conformalize", path, held_out, "--out", out)
    data = write(columns(sentences(2, 4)), "new.txt")
    monkeypatch.setattr("structlearn.estimators.confidence.confident.outputs_above", lambda *_: None)
    lines = run("predict", out, data, "--coverage", 0.9).stdout.splitlines()
    assert lines[::2] == [
        f"# sentence {i} has too many labellings to write: any may be the true one" for i in (0, 1)
    ]


def test_data_without_words(run, tmp_path):
    """Packed arrays: labels are numbers, and each run of equal ones is a span."""
    rng = np.random.default_rng(0)
    y = [rng.integers(0, 3, n) for n in rng.integers(2, 6, 30)]
    with PackedWriter(tmp_path / "data", "chain") as writer:
        writer.append([np.eye(3)[one] + rng.normal(size=(len(one), 3)) for one in y], y)
    out = tmp_path / "model.st"
    run("train", "tag", tmp_path / "data", "--out", out, "--loss", "softmax")
    head, first, *_ = run("predict", out, tmp_path / "data", "--spans").stdout.splitlines()
    assert head.split("\t")[-1] == "probability"
    assert first.startswith("0\t0\t")
    assert run("predict", out, tmp_path / "data", "--kbest", 1).stdout.splitlines()[1] in "012"
    scores = values(run("calibrate", out, tmp_path / "data", "--out", out).stdout)
    assert 0.05 < float(scores["temperature"]) < 20
    run("conformalize", out, tmp_path / "data", "--out", out)


def test_labels_that_the_model_does_not_know_are_told(run, refused, model, write, tmp_path):
    path, out = model(), tmp_path / "out.st"
    some = write(columns(sentences(10, 1)) + "\nthe B-Y\n", "some.txt")
    assert (
        "Note: the labels of 1 sentence are not known to the model"
        in run("calibrate", path, some, "--out", out).stderr
    )
    none = write("the Q\n", "none.txt")
    for command in ("calibrate", "conformalize"):
        assert "allows none of the labellings in y" in refused(command, path, none, "--out", out)


def test_what_is_refused(run, refused, model, held_out, libsvm, write, tmp_path):
    path, out = model("--loss", "hinge"), tmp_path / "out.st"
    for flags in (["--spans"], ["--kbest", 2]):
        assert "--loss hinge has no probabilities of labellings" in refused("predict", path, held_out, *flags)
    assert "--loss hinge has no probabilities" in refused("calibrate", path, held_out, "--out", out)
    asked = {
        "--kbest must be from 1 to 1000; got 0": ["--kbest", 0],
        "both excluded; got 1": ["--coverage", 1],
    }
    asked["--kbest must be from 1 to 1000; got 1000000000"] = ["--kbest", 10**9]
    asked["Give one of --spans and --kbest"] = ["--spans", "--kbest", 2]
    asked["Give one of --marginals and --coverage"] = ["--marginals", "--coverage", 0.9]
    for sentence, flags in asked.items():
        assert sentence in refused("predict", path, held_out, *flags)
    bare = write(columns(sentences(3, 5), 1), "bare.txt")
    assert "has no labels to compare with" in refused("conformalize", path, bare, "--out", out)
    assert "uses this file already" in refused("conformalize", path, held_out, "--out", held_out)
    run("train", "classify", libsvm, "--out", out)
    assert "goes with models of tag, chunk and ner; this is one of the task classify" in refused(
        "predict", out, libsvm, "--spans"
    )
