"""tag, chunk and ner: from column files to models and back."""

import gzip
import json

import numpy as np
import pytest
from cli_cases import values

from structlearn import ChainClassifier, load
from structlearn.data import read_tokens
from structlearn.tagging import Tagger

PHRASES = [
    [("the", "D", "B-NP"), ("dog", "N", "I-NP")],
    [("runs", "V", "B-VP")],
    [("in", "P", "B-PP")],
    [(",", ",", "O")],
]
QUICK = ["--max-passes", "30", "--tol", "0.1"]


def phrases(n=15, seed=0):
    rng = np.random.default_rng(seed)
    return [[token for k in rng.integers(4, size=3) for token in PHRASES[k]] for _ in range(n)]


def plain(sentences, separator=" ", end="\n", n_columns=3):
    return (end * 2).join(end.join(separator.join(t[:n_columns]) for t in one) for one in sentences)


def conllu(sentences):
    lines = []
    for i, one in enumerate(sentences):
        lines += [f"# sent_id = {i}", "1-2\tof the\t_\t_\t_\t_\t_\t_\t_\t_"]
        lines += [f"{k}\t{w}\t_\t{t}\t{y}\t_\t_\t_\t_\t_" for k, (w, t, y) in enumerate(one, 1)]
        lines += [f"{len(one)}.1\tempty\t_\t_\t_\t_\t_\t_\t_\t_", ""]
    return "\n".join(lines) + "\n"


@pytest.fixture
def chunks(write):
    return write(plain(phrases()), "train.txt")


@pytest.fixture
def chunker(tmp_path, run, chunks):
    out = tmp_path / "chunker.st"
    run("train", "chunk", chunks, "--out", out, *QUICK)
    return out


@pytest.mark.parametrize(("separator", "end"), [(" ", "\n"), ("\t", "\n"), (" ", "\r\n")])
def test_chunk_comes_back_in_its_format(run, chunker, write, separator, end):
    text = plain(phrases(5, seed=1), separator, end)  # no line end at its end
    data, bare = write(text, "new.txt"), write(plain(phrases(5, seed=1), separator, end, 2), "bare.txt")
    written = run("predict", chunker, data).stdout_bytes.decode()
    assert written == text  # words tell the labels
    assert run("predict", chunker, bare).stdout_bytes.decode() == written
    wrong = write(text.replace("B-VP", "O"), "wrong.txt")
    assert run("predict", chunker, wrong).stdout_bytes.decode() == written


def test_packed_output(run, chunker, chunks, tmp_path):
    run("predict", chunker, chunks, "--out", tmp_path / "out.gz")
    assert gzip.decompress((tmp_path / "out.gz").read_bytes()) == run("predict", chunker, chunks).stdout_bytes


def test_evaluate_spans(run, chunker, write):
    text = "the D B-NP\ndog N I-NP\nruns V B-NP\n\nin P B-PP\n, , O\n"
    data = write(text, "some.txt")
    shown = run("evaluate", chunker, data).stdout
    scores = values(shown)
    assert (scores["accuracy"], scores["exact_match"], scores["tokens"]) == ("0.8", "0.5", "5")
    assert (scores["precision"], scores["recall"], scores["spans"]) == ("0.666667", "0.666667", "3")
    header = ["precision", "recall", "f1", "gold", "found", "right"]
    assert scores["type"].split() == header
    assert scores["type NP"].split() == ["1.0000", "0.5000", "0.6667", "2", "1", "1"]
    assert scores["type VP"].split() == ["0.0000", "0.0000", "0.0000", "0", "1", "0"]
    assert len({len(line) for line in shown.splitlines() if line.startswith("type")}) == 1
    figures = json.loads(run("evaluate", chunker, data, "--json").stdout)
    assert {name: f"{figures[name]:.6g}" for name in list(scores)[:8]} == dict(list(scores.items())[:8])
    assert (figures["precision NP"], figures["recall NP"], figures["f1 NP"]) == (1, 0.5, 2 / 3)
    assert (figures["precision VP"], figures["spans VP"], figures["f1 PP"]) == (0, 0, 1)


def test_labels_that_training_never_saw(run, refused, chunker, write):
    data = write("the D B-NP\n\nruns V B-XP\n", "odd.txt")
    assert 'odd.txt, line 3: training never saw the label "B-XP"' in refused("evaluate", chunker, data)
    result = run("evaluate", chunker, data, "--count-unknown")
    assert values(result.stdout)["accuracy"] == "0.5"
    assert "1 of the labels" in result.stderr
    data.write_text("the D B-NP\n\nruns V I-PP\n")  # a known type in an unknown place is a mistake, no more
    assert values(run("evaluate", chunker, data).stdout)["accuracy"] == "0.5"


def test_marginals_are_confidences(run, chunker, chunks):
    lines = [
        line.split() for line in run("predict", chunker, chunks, "--marginals").stdout.splitlines() if line
    ]
    tagger = Tagger.load(chunker)
    table = np.concatenate(tagger.predict_marginals([[t[:2] for t in one] for one in phrases()]))
    assert [line[3] for line in lines] == [f"{share:.4f}" for share in table.max(axis=1)]


def test_what_was_trained_tags_text_in_python(run, chunker, write):
    sentences = phrases(5, seed=1)
    written = run("predict", chunker, write(plain(sentences, n_columns=2), "bare.txt")).stdout
    tagger = load(chunker)
    assert type(tagger) is Tagger
    found = tagger.predict([[token[:2] for token in one] for one in sentences])
    labels = [label for one in found for label in one.tolist()]
    assert labels == [line.split()[2] for line in written.splitlines() if line]
    assert "estimator: ChainClassifier" in run("info", chunker).stdout


def test_models_of_own_features_are_chains(run, tags, tmp_path):
    run("train", "tag", tags, "--out", tmp_path / "model.st", "--tol", "0.1")
    assert type(load(tmp_path / "model.st")) is ChainClassifier


def test_upos_of_conllu(run, write, tmp_path):
    text, out = conllu(phrases()), tmp_path / "upos.st"
    data = write(text, "train.conllu")
    run("train", "tag", data, "--label", "upos", "--out", out, *QUICK)
    assert load(out).predict([["the", "dog"]])[0].tolist() == ["D", "N"]
    blank = write(text.replace("\tN\t", "\t_\t").replace("\tV\t", "\t_\t"), "blank.conllu")
    assert run("predict", out, blank).stdout == text
    assert values(run("evaluate", out, data).stdout)["accuracy"] == "1"
    assert "data: CoNLL-U" in run("info", out).stdout
    shown = run("predict", out, data, "--marginals").stdout
    misc = read_tokens(write(shown, "shown.conllu")).column("misc").cells
    assert all(cell.startswith("Confidence=") for cell in misc)


def test_columns_by_name_and_number(run, refused, write, tmp_path):
    data, out, other = write(conllu(phrases()), "train.conllu"), tmp_path / "a.st", tmp_path / "b.st"
    run("train", "chunk", data, "--label", "XPOS", "--columns", "form,upos", "--out", out, *QUICK)
    run("train", "chunk", data, "--label", "4", "--columns", "1,3", "--out", other, *QUICK)
    np.testing.assert_array_equal(Tagger.load(out).chain_.weights_, Tagger.load(other).chain_.weights_)
    assert run("predict", out, data).stdout == run("predict", other, data).stdout
    shown = run("info", out).stdout
    assert "task: chunk" in shown
    message = refused("train", "chunk", data, "--label", "tag", "--out", out)
    assert "train.conllu, line 2: there is no column 'tag'; its columns are id, form, lemma" in message
    message = refused("train", "chunk", data, "--label", "xpos", "--templates", "form xpos", "--out", out)
    assert "column xpos is the label" in message
    assert "no column 'lemmas'" in refused("train", "tag", data, "--templates", "lemmas", "--out", out)
    plain_data = write(plain(phrases()), "plain.txt")
    assert "not CoNLL-U" in refused("predict", out, plain_data)


def test_templates_and_their_options(run, refused, chunks, tmp_path):
    out = tmp_path / "model.st"
    run("train", "ner", chunks, "--templates", "word pos[-1]&pos", "--min-count", "2", "--out", out, *QUICK)
    tagger = Tagger.load(out)
    assert [str(one) for one in tagger.features_.templates] == ["word", "pos[-1]&pos"]
    assert tagger.min_count == 2
    run("train", "tag", chunks, "--hash-bits", "10", "--out", out, *QUICK)
    assert Tagger.load(out).chain_.n_features_in_ == 1024
    assert "'word['" in refused("train", "tag", chunks, "--templates", "word[", "--out", out)
    assert "--hash-bits" in refused("train", "tag", chunks, "--hash-bits", "99", "--out", out)
    message = refused("train", "classify", chunks, "--label", "1", "--out", out)
    assert "--label does not go with the task classify (it goes with tag, chunk, ner)" in message


def test_transitions_that_depend_on_tags(run, refused, chunks, tmp_path):
    out = tmp_path / "model.st"
    given = ["--templates", "word", "--transitions", "pos", *QUICK]
    run("train", "chunk", chunks, *given, "--out", out)
    tagger = Tagger.load(out)
    n_tags, n_labels = 5, len(tagger.classes_)
    assert tagger.chain_.conditioned_coef_.shape == (n_tags, n_labels, n_labels)
    assert run("predict", out, chunks).stdout == chunks.read_text()
    assert "--hash-bits" in refused("train", "chunk", chunks, "--hash-bits", "8", *given, "--out", out)


def test_a_tagger_made_in_python(run, write, tmp_path):
    sentences = phrases()
    tagger = Tagger(columns=("word", "pos"), random_state=0, tol=0.1)
    tagger.fit([[t[:2] for t in one] for one in sentences], [[t[2] for t in one] for one in sentences])
    tagger.save(tmp_path / "tagger.st")
    data = write(plain(sentences))
    assert run("predict", tmp_path / "tagger.st", data).stdout == plain(sentences)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("a X\nb Y\n\nc X Z\n", "bad.txt, line 4: 3 columns, but line 1 has 2."),
        ("a X\nb\tY\n", "line 2: cells are separated by tabs, but those of line 1 by spaces"),
        (b"a X\n\xff Y\n", "line 2: byte 1 is not UTF-8 text: save the file as UTF-8, or convert it"),
        ("a\nb\n", "line 1: only one column"),
        ("\n\n", "holds no tokens"),
        ("a\tX\nb\t\n", "line 2: the label is empty"),
    ],
)
def test_bad_files(refused, write, tmp_path, content, said):
    data = write(content, "bad.txt")
    for task in ("tag", "chunk"):
        assert said in refused("train", task, data, "--out", tmp_path / "model.st")


def test_bad_files_for_a_model(refused, chunker, write):
    wide = write("a b c d\n", "wide.txt")
    message = refused("predict", chunker, wide)
    assert "wide.txt, line 1: 4 columns; the model was trained on files of 3 columns, the label" in message
    assert "For raw text use `structlearn tag`" in message
    assert "no labels to compare with" in refused("evaluate", chunker, write("a b\n", "bare.txt"))


def test_files_of_crfsuite(run, refused, write, tmp_path):
    out, lines = tmp_path / "model.st", []
    for one in phrases():
        lines += [f"{label}\tw={word}\tpos={tag}\tlength:{len(word)}" for word, tag, label in one] + [""]
    data = write("\n".join(lines), "data.txt")
    run("train", "chunk", data, "--out", out, *QUICK)
    labels = "\n".join(line.split("\t")[0] for line in lines)
    assert run("predict", out, data).stdout == labels
    assert values(run("evaluate", out, data).stdout)["f1"] == "1"
    tagger = load(out)
    assert "w=the" in tagger.features_.get_feature_names_out()
    found = tagger.predict([[{"w=the": True, "length": 3}, {"w=dog": 1, "pos=N": 1}]])
    assert found[0].tolist() == ["B-NP", "I-NP"]
    words = write(plain(phrases()), "words.txt")
    assert "words.txt has no feature that the model knows" in refused("predict", out, words)
    run("train", "tag", data, "--hash-bits", "10", "--out", out, *QUICK)
    assert load(out).chain_.n_features_in_ == 1024
    assert "no words to show" in refused("show", out, data, "--out", tmp_path / "page.html")
    unknown = write("NEW\tw=a\n", "unknown.crfsuite")
    assert "never saw the label" in refused("evaluate", out, unknown)
    bad = write("O\ta:x\n", "bad.crfsuite")
    assert "bad.crfsuite, line 1" in refused("train", "tag", bad, "--out", out)
    bare = write("A\n\nB\n", "bare.crfsuite")
    assert "No token has a feature" in refused("train", "tag", bare, "--out", out)
    both = ["--hash-bits", "8", "--keep-names"]
    assert "give --hash-bits or --keep-names" in refused("train", "tag", data, *both, "--out", out)
    assert "features of templates have names without it, unless --hash-bits is given" in refused(
        "train", "tag", words, "--keep-names", "--out", out
    )


def test_the_shell_trains_over_candidates(run, tmp_path):
    data, model = tmp_path / "d.txt", tmp_path / "m.safetensors"
    data.write_text("the D\ndog N\n\nthe D\nruns V\n\nthe D\ndog N\n\n" * 3)
    said = run("train", "tag", data, "--candidates", "word", "--candidate-min-count", "2", "--out", model)
    assert "over candidate labels of a tag dictionary: 3 values of word" in said.stdout
    assert run("predict", model, data).stdout.split() == data.read_text().split()
    problem = run("train", "tag", data, "--candidates", "pos", "--out", model, code=2).stderr
    assert "--candidates pos is not among the templates" in problem
