"""Models of Wapiti, against what the real Wapiti answered, byte by byte and by an independent scorer."""

import gzip
import os
import re
import warnings
from collections import defaultdict
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from foreign import PATTERNS, named_tagger, pattern_tagger, sentences

from structlearn import Tagger
from structlearn.tagging.exchange import wapiti, wapiti_file

SHARED = Path(os.environ.get("STRUCTLEARN_DATA", Path(__file__).resolve().parents[4] / "shared" / "data"))


@pytest.fixture(scope="module")
def real():
    if not (SHARED / "wapiti").is_dir():
        pytest.skip("the data is not here")
    return gzip.decompress((SHARED / "wapiti" / "model.wapiti.gz").read_bytes())


def test_a_model_of_the_real_wapiti_comes_back_byte_by_byte(real, tmp_path):
    tagger = wapiti.read_tagger(real)
    assert wapiti.write_tagger(tagger) == real
    tagger.save(tmp_path / "m.safetensors")
    assert wapiti.write_tagger(Tagger.load(tmp_path / "m.safetensors")) == real


def test_answers_and_scores_are_those_of_the_real_wapiti(real):
    """`wapiti label -p` chooses each label by its probability, and scores a sentence by their product."""
    text = gzip.decompress((SHARED / "wapiti" / "labelled.txt.gz").read_bytes()).decode()
    blocks = [block.split("\n") for block in text.strip().split("\n\n")]
    X = [[tuple(line.split()[:2]) for line in lines] for _, *lines in blocks]
    tagger = wapiti.read_tagger(real)
    for (head, *lines), table in zip(blocks, tagger.predict_marginals(X)):
        best = zip(tagger.classes_[table.argmax(axis=1)], table.max(axis=1))
        assert [f"{label}/{share:.6f}" for label, share in best] == [line.split()[-1] for line in lines]
        assert head == f"# 0 {np.prod(table.max(axis=1)):.6f}"


def score_by_file(data, sentence, labels):
    """The score of a labelling by the lines of a file, read with regular expressions, patterns by hand."""
    text = data.decode()
    strings = [re.findall(r"^\d+:(.*),$", part, re.MULTILINE) for part in re.split("#qrk#.*\n", text)]
    weights = defaultdict(float)
    weights.update((int(j), float.fromhex(w)) for j, w in re.findall(r"^(\d+)=(.*)$", text, re.MULTILINE))
    lines, known, observations = strings
    k, start, offsets = len(known), 0, {}
    for one in observations:
        offsets[one] = start
        start += {"u": k, "b": k * k, "*": k + k * k}[one[0]]
    total = 0.0
    for t, label in enumerate(labels):
        y, before = known.index(label), known.index(labels[t - 1])
        for one in {line: applied(line, sentence, t) for line in lines}.values():
            if one in offsets and one[0] != "b":
                total += weights[offsets[one] + y]
            if one in offsets and one[0] != "u" and t:
                total += weights[offsets[one] + (k if one[0] == "*" else 0) + before * k + y]
    return total


def applied(line, sentence, t):
    def cell(found):
        at, column = t + int(found[2]), int(found[3])
        inside = 0 <= at < len(sentence)
        text = sentence[at][column] if inside else f"_x{at}" if at < 0 else f"_x+{at - len(sentence) + 1}"
        if found[1] == "m":
            text = text.encode()[:2].decode("utf-8", "surrogateescape") if len(text.encode()) > 1 else ""
        return text

    return re.sub(r'%([xm])\[(-?\d+),(\d)(?:,"\^\.\.")?\]', cell, line)


@pytest.mark.parametrize(
    "templates",
    [
        PATTERNS,
        PATTERNS[:-1],
        [*PATTERNS, "b:t=%x[0,1]", "*:c"],
        ["U00:%x[-1,0]", "U01:%x[0,0]/%x[1,1]", "B", "B01:%x[0,1]"],
    ],
)
def test_an_exported_model_scores_as_ours_does(templates):
    """Differences of scores of labellings are those of the tagger, by the file alone."""
    tagger = pattern_tagger(templates)
    data = wapiti.write_tagger(tagger)
    again = wapiti.read_tagger(data)
    X, _ = sentences(12, seed=1)
    X = [one for one in X if len(one) <= 4 and ("_B-1", "X") not in one]
    for sentence, best, theirs in zip(X, tagger.predict(X), again.predict_marginals(X)):
        every = [list(one) for one in product(["B", "I", "O"], repeat=len(sentence))]
        scores = np.array([score_by_file(data, sentence, one) for one in every])
        logs = [tagger.log_probability([sentence], [one])[0] for one in every]
        np.testing.assert_allclose(scores - scores.max(), np.array(logs) - max(logs), atol=1e-9)
        assert every[int(scores.argmax())] == best.tolist()
        np.testing.assert_allclose(theirs, tagger.predict_marginals([sentence])[0], atol=1e-9)


def test_an_imported_model_is_a_start_for_training():
    options = {"chain_options": {"fit_intercept": False, "max_passes": 3}, "tol": 1e-3}
    first = pattern_tagger(**options | {"chain_options": {"fit_intercept": False}})
    again = wapiti.read_tagger(wapiti.write_tagger(first))
    X, y = sentences()
    cold, warm = (Tagger(columns=("0", "1"), templates=PATTERNS, random_state=0, **options) for _ in range(2))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cold.fit(X, y)
        warm.continue_from(again).fit(X, y)
    assert (
        warm.certificate_.primal - first.certificate_.dual
        < cold.certificate_.primal - first.certificate_.dual
    )
    assert warm.certificate_.primal == pytest.approx(first.certificate_.primal, abs=2e-3)


@pytest.mark.parametrize(
    ("tagger", "problem"),
    [
        (lambda: named_tagger(), "Wapiti needs patterns"),
        (lambda: pattern_tagger(constraints=[("B", "O")]), "constraints"),
        (lambda: pattern_tagger(chain_options={"start": True}), "first and last label"),
        (lambda: pattern_tagger(hash_bits=8), "names of the features"),
        (lambda: pattern_tagger(keep_names=False), "names of the features"),
        (lambda: pattern_tagger(["U:%x[-6,0]"]), "offset of 4"),
    ],
)
def test_what_does_not_fit_is_refused(tagger, problem):
    with pytest.raises(ValueError, match=problem):
        wapiti.write_tagger(tagger())


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        (b"#mdl#2#", b"#mdl#1#", "conditional random field"),
        (b"#mdl#2#", b"#mdx#2#", "does not begin"),
        (b"#rdr#4", b"#rdr#0", "no patterns"),
        (b"#qrk#3", b"#qrk#999999999", "not as long as it says"),
        (b"1:B,", b"9:B,", "not as long as it says"),
        (b"1:B,", b"1:O,", "twice"),
        (b"%x[1,1]", b"%q[1,1]", "unknown directive"),
        (b"=0x1", b"=0xz", "no weight"),
    ],
)
def test_damaged_files_are_refused(old, new, problem):
    data = wapiti.write_tagger(pattern_tagger(chain_options={"fit_intercept": False}))
    assert old in data
    with pytest.raises(ValueError, match=problem):
        wapiti.read_tagger(data.replace(old, new, 1))


@pytest.mark.parametrize("value", [1.0, -0.5, 3.141592653589793, 5e-324, 1.7976931348623157e308])
def test_numbers_are_written_as_c_does(value):
    text = wapiti_file._hexadecimal(value)
    assert float.fromhex(text) == value
    assert not re.search(r"\.\d*0p|\.p", text)
