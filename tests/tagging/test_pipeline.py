"""A tagger inside a tagger fills a column, in training and in use, from Python and from the shell."""

import numpy as np
import pytest
from typer.testing import CliRunner

from model_files import rewrite
from structlearn import load
from structlearn.cli import app
from structlearn.core.kernel_cache import compilation
from structlearn.tagging import Tagger

SENTENCES = [["the", "dog", "runs", "."], ["a", "cat", "sees", "the", "dog", "."]] * 3
TAGS = [["D", "N", "V", "M"], ["D", "N", "V", "D", "N", "M"]] * 3
CHUNKS = [["B-NP", "I-NP", "B-VP", "O"], ["B-NP", "I-NP", "B-VP", "B-NP", "I-NP", "O"]] * 3
OPTIONS = {"random_state": 0, "tol": 0.1}


@pytest.fixture(autouse=True)
def _compiled_before(monkeypatch):
    monkeypatch.setattr(compilation, "_told", ["before"])


@pytest.fixture(scope="module")
def pos():
    return Tagger(**OPTIONS).fit(SENTENCES, TAGS)


@pytest.fixture(scope="module")
def chunker(pos):
    return Tagger(columns=("word", "pos"), templates="pos[-1..1]", taggers={"pos": pos}, **OPTIONS).fit(
        SENTENCES, CHUNKS
    )


def test_is_a_tagger_of_predicted_columns(pos, chunker):
    pairs = [list(zip(words, tags.tolist())) for words, tags in zip(SENTENCES, pos.predict(SENTENCES))]
    same = Tagger(columns=("word", "pos"), templates="pos[-1..1]", **OPTIONS).fit(pairs, CHUNKS)
    np.testing.assert_array_equal(same.chain_.weights_, chunker.chain_.weights_)
    for one, other in zip(same.predict_marginals(pairs), chunker.predict_marginals(SENTENCES)):
        np.testing.assert_array_equal(one, other)
    assert [one.label for one in chunker.tag("The cat runs.")[0]] == ["B-NP", "I-NP", "B-VP", "O"]


def test_in_one_file(pos, chunker, tmp_path):
    deeper = Tagger(columns=("word", "chunk"), taggers={"chunk": chunker}, **OPTIONS).fit(SENTENCES, CHUNKS)
    deeper.save(tmp_path / "deep.st")
    same = load(tmp_path / "deep.st")
    assert list(same.taggers["chunk"].taggers) == ["pos"]
    for one, other in zip(deeper.predict_marginals(SENTENCES), same.predict_marginals(SENTENCES)):
        np.testing.assert_array_equal(one, other)
    same.save(tmp_path / "again.st")
    assert (tmp_path / "again.st").read_bytes() == (tmp_path / "deep.st").read_bytes()


def forget(header, tensors):
    del header["bundled"]["pos"]["notes"]["templates"]


def deepen(header, tensors):
    inner, prefix = header["bundled"]["pos"], "bundled:pos:"
    known = {name.removeprefix(prefix): one for name, one in tensors.items() if name.startswith(prefix)}
    for depth in range(2, 6):
        header["sparse"] = {}
        inner["bundled"] = {"pos": {**inner, "bundled": {}}}
        inner = inner["bundled"]["pos"]
        tensors.update({prefix * depth + name: one for name, one in known.items()})


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (forget, "notes.templates"),
        (lambda header, tensors: header.pop("bundled"), "does not hold the taggers that its notes name"),
        (lambda header, tensors: header["bundled"].update(pos=3), "bundled.* must be dict"),
        (lambda header, tensors: header["bundled"].update(pos={}), "lacks"),
        (lambda header, tensors: tensors.pop("bundled:pos:history"), "it lacks history"),
        (deepen, "models lie more than 4 deep"),
    ],
)
def test_damaged_files_are_refused(chunker, tmp_path, change, why):
    chunker.save(tmp_path / "m.st")
    rewrite(tmp_path / "m.st", change)
    with pytest.raises(ValueError, match=f"m.st is damaged: .*{why}"):
        load(tmp_path / "m.st")


def test_refusals(pos, chunker):
    with pytest.raises(ValueError, match="a tagger for 'tag', which is not a column beside the word"):
        Tagger(columns=("word", "pos"), taggers={"tag": pos}).fit(SENTENCES, CHUNKS)
    with pytest.raises(ValueError, match="not fitted"):
        Tagger(columns=("word", "pos"), taggers={"pos": Tagger()}).fit(SENTENCES, CHUNKS)
    with pytest.raises(ValueError, match="a token is a string"):
        chunker.predict([[("the", "D")]])


# ---- from the shell --------------------------------------------------------------------------------------


def shell(*arguments, code=0):
    result = CliRunner().invoke(app, [str(one) for one in arguments])
    assert result.exit_code == code, result.output
    return result


def written(path, *columns):
    rows = ("\n".join(map(" ".join, zip(*sentence))) for sentence in zip(*columns))
    path.write_text("\n\n".join(rows) + "\n")
    return path


def test_with(pos, tmp_path):
    pos.save(tmp_path / "pos.st")
    wrong = [["X"] * len(tags) for tags in TAGS]
    gold = written(tmp_path / "gold.txt", SENTENCES, TAGS, CHUNKS)
    other = written(tmp_path / "other.txt", SENTENCES, wrong, CHUNKS)
    bare = written(tmp_path / "bare.txt", SENTENCES, CHUNKS)
    text = tmp_path / "text.txt"
    text.write_text("The cat runs.")
    answers = []
    for data in (gold, other, bare):  # what the file has in the column is not looked at
        out = tmp_path / f"{data.stem}.st"
        shell("train", "chunk", data, "--with", tmp_path / "pos.st", "--tol", "0.1", "--out", out)
        assert "pos" in shell("info", out).stdout
        assert "f1: 1" in shell("evaluate", out, data).stdout
        answers.append(shell("tag", out, text, "--format", "inline").stdout)
    assert answers == ["[NP The cat] [VP runs] .\n"] * 3
    refused = shell("train", "chunk", gold, "--with", tmp_path / "other.txt", "--out", tmp_path / "x", code=2)
    assert "not a structlearn model" in refused.stderr
    shell("train", "chunk", gold, "--out", tmp_path / "alone.st", "--tol", "9")
    refused = shell("train", "chunk", gold, "--with", tmp_path / "alone.st", "--out", tmp_path / "x", code=2)
    assert "looks at the column pos beside words" in refused.stderr
    two = ["--with", tmp_path / "pos.st"] * 2
    assert "two taggers for one column" in shell("train", "chunk", gold, *two, "--out", "x", code=2).stderr
    refused = shell("train", "classify", gold, "--with", tmp_path / "pos.st", "--out", tmp_path / "x", code=2)
    assert "--with does not go with the task classify" in refused.stderr
