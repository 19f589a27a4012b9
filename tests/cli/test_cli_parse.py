"""`train parse`, `predict`, `evaluate` and `show` on CoNLL-U files."""

import pytest
from cli_cases import values

from structlearn import TreeParser, load

SENTENCE = (
    "# text = the {noun} {verb}\n"
    "1-2\tthe{noun}\t_\t_\t_\t_\t_\t_\t_\t_\n"
    "1\tthe\tthe\tDET\tDT\t_\t{a}\tdet\t_\t_\n"
    "2\t{noun}\t{noun}\tNOUN\tNN\t_\t{b}\tnsubj\t_\tSpaceAfter=No\n"
    "2.1\tx\tx\tX\t_\t_\t_\t_\t_\t_\n"
    "3\t{verb}\t{verb}\tVERB\tVBZ\t_\t{c}\troot\t_\t_\n"
    "\n"
)


def treebank(heads=("2", "3", "0")):
    pairs = [("dog", "runs"), ("cat", "sees"), ("dog", "sees"), ("<b>", "runs")]
    a, b, c = heads
    return "".join(SENTENCE.format(noun=noun, verb=verb, a=a, b=b, c=c) for noun, verb in pairs)


@pytest.fixture
def conllu(tmp_path):
    path = tmp_path / "bank.conllu"
    path.write_text(treebank())
    return path


def test_from_a_treebank_to_a_page(run, conllu, tmp_path):
    model = tmp_path / "parser.st"
    options = ("--loss", "softmax", "--regularization", "0.3", "--tol", "0.1")
    trained = run("train", "parse", conllu, "--out", model, *options)
    assert "Read 4 sentences, 12 words" in trained.stderr
    assert float(values(trained.stdout)["gap"]) <= 0.1
    # 1. An empty treebank, with Windows line ends and no end: heads and labels are filled, nothing else.
    bare = tmp_path / "bare.conllu"
    text = treebank().replace("\n", "\r\n").rstrip()
    bare.write_bytes(text.replace("\tdet\t", "\t_\t").replace("\t2\t_", "\t_\t_").encode())
    out = tmp_path / "out.conllu"
    run("predict", model, bare, "--out", out)
    assert out.read_bytes() == text.encode()
    parser = load(model)
    assert type(parser) is TreeParser
    tree = parser.predict([[("the", "DET", "DT"), ("dog", "NOUN", "NN"), ("runs", "VERB", "VBZ")]])[0]
    assert (tree.heads.tolist(), tree.labels.tolist()) == ([2, 3, 0], ["det", "nsubj", "root"])
    # 2. Confidences join the last column.
    lines = run("predict", model, conllu, "--marginals").stdout.splitlines()
    assert lines[3].startswith("2\tdog\tdog\tNOUN\tNN\t_\t3\tnsubj\t_\tSpaceAfter=No|ArcConf=0.")
    assert lines[4] == "2.1\tx\tx\tX\t_\t_\t_\t_\t_\t_"
    # 3. Figures, and a page.
    found = values(run("evaluate", model, conllu).stdout)
    assert (found["uas"], found["las"], found["words"]) == ("1", "1", "12")
    page = tmp_path / "page.html"
    run("show", model, conllu, "--out", page, "--limit", "4")
    assert page.read_text().count("<svg width") > 4
    assert "<b>" not in page.read_text()


@pytest.mark.parametrize(
    ("heads", "line", "message"),
    [
        (("0", "3", "0"), 6, "a second root; line 3 has the first"),
        (("2", "1", "0"), 4, "the heads have a cycle"),
        (("2", "4", "0"), 4, "head 4 is outside of the sentence"),
        (("2", "x", "0"), 4, "must be a word's number or 0"),
        (("2", "3\t", "0"), 4, "11 columns; CoNLL-U has ten"),
    ],
)
def test_bad_treebanks_are_named_with_their_line(refused, tmp_path, heads, line, message):
    path = tmp_path / "bad.conllu"
    path.write_text(treebank(heads))
    sentence = refused("train", "parse", path, "--out", tmp_path / "m.st")
    assert f"bad.conllu, line {line}: " in sentence
    assert message in sentence
    assert not (tmp_path / "m.st").exists()


def test_what_does_not_go_with_parse_is_refused(refused, conllu, tmp_path, model):
    out = tmp_path / "m.st"
    assert "CoNLL-U has fixed columns" in refused("train", "parse", conllu, "--out", out, "--target", "3")
    flag = refused("train", "tag", conllu, "--out", out, "--many-roots")
    assert "--many-roots does not go with the task tag" in flag
    drawn = refused("show", model, conllu, "--out", tmp_path / "page.html")
    assert "is not of the form index:value" in drawn


def test_tagged_text_is_drawn(run, tags, tmp_path):
    model, page = tmp_path / "tagger.st", tmp_path / "page.html"
    run("train", "tag", tags, "--out", model)
    run("show", model, tags, "--out", page)
    assert 'class="span"' in page.read_text()
