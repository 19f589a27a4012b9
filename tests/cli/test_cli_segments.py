"""chunk and ner by models of segments."""

import pytest
from cli_cases import values
from test_cli_tagging import phrases, plain

from structlearn import load
from structlearn.estimators import SegmentTagger


@pytest.fixture
def chunks(write):
    return write(plain(phrases()), "train.txt")


@pytest.fixture
def chunker(tmp_path, run, chunks):
    out = tmp_path / "chunker.st"
    run("train", "chunk", chunks, "--model", "segments", "--out", out, "--tol", "0.1")
    return out


def test_segments_are_trained_and_asked_as_chains_are(run, chunker, write, tmp_path):
    text = plain(phrases(5, seed=1))
    data, bare = write(text, "new.txt"), write(plain(phrases(5, seed=1), n_columns=2), "bare.txt")
    assert run("predict", chunker, bare).stdout == text
    assert values(run("evaluate", chunker, data).stdout)["f1"] == "1"
    assert "estimator: SegmentTagger" in run("info", chunker).stdout
    marginals = run("predict", chunker, data, "--marginals").stdout.splitlines()
    assert all(0.3 < float(line.split()[-1]) <= 1 for line in marginals if line)
    run("show", chunker, data, "--out", tmp_path / "page.html")
    assert "dog" in (tmp_path / "page.html").read_text()
    tagger = load(chunker)
    assert type(tagger.chain_) is SegmentTagger
    assert tagger.predict([[("the", "D"), ("dog", "N")]])[0].tolist() == ["B-NP", "I-NP"]


def test_what_goes_with_chains_is_refused(refused, chunks, tmp_path):
    base = ["train", "chunk", chunks, "--out", tmp_path / "m.st", "--model"]
    assert "model" in refused(*base, "trees")
    assert "--constraints goes with --model chain" in refused(*base, "segments", "--constraints", "bio")
    assert "--transitions goes with --model chain" in refused(*base, "segments", "--transitions", "pos")
    assert "--model" in refused("train", "tag", chunks, "--out", tmp_path / "m.st", "--model", "segments")
    assert "--penalty goes with --model chain" in refused(*base, "segments", "--penalty", "l1")


def test_weights_of_segments_have_names(run, chunker):
    shown = run("weights", chunker, "--top", "2").stdout
    assert all(word in shown for word in ("first of NP", "of length 2", " -> "))


def test_features_of_whole_segments_are_in_the_file(run, write, tmp_path):
    names = ["New York", "Rio de Oro", "Anna"]
    lines = [
        [(word, f"{'B' if k == 0 else 'I'}-LOC") for k, word in enumerate(name.split())]
        for name in names * 40
    ]
    text = "\n".join("".join(f"{w} {t}\n" for w, t in [("in", "O"), *one]) for one in lines)
    data, out = write(text, "names.txt"), tmp_path / "names.st"
    cities = write("New York\nRio de Oro\n", "cities.txt")
    options = ["--model", "segments", "--lexicon", f"CITY={cities}", "--tol", "0.1"]
    run("train", "ner", data, "--out", out, *options)
    cities.unlink()
    assert values(run("evaluate", out, data).stdout)["f1"] == "1"
    assert run("predict", out, data).stdout == text
    ranked = run("predict", out, data, "--kbest", 2).stdout.split("\n\n")
    assert [one.split("\n", 1)[1].replace("\t", " ") for one in ranked[:2:2]] == [text.split("\n\n")[0]]
    tagger = load(out)
    assert tagger.chain_.segment_features == "text"
    assert any("usual1" in part.columns for part in tagger.derived_.parts)
    assert tagger.predict_spans([["in", "New", "York"]])[0][0][:3] == (1, 3, "LOC")


def test_chains_do_not_go_on_from_segments(refused, chunker, chunks, tmp_path):
    said = refused("train", "chunk", chunks, "--continue", chunker, "--out", tmp_path / "m.st")
    assert "it is a model of segments; only chains are continued" in said
