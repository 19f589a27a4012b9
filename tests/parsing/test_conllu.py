"""CoNLL-U files: every byte is kept, and what is wrong is named with its line."""

import gzip
import os
from pathlib import Path

import numpy as np
import pytest

from structlearn.data import DataError, read_tokens
from structlearn.parsing import parsing_scores, read_conllu

SAMPLE = (
    "# sent_id = 1\n"
    "# text = Vámonos al mar\n"
    "1-2\tVámonos\t_\t_\t_\t_\t_\t_\t_\t_\n"
    "1\tVamos\tir\tVERB\tV\t_\t0\troot\t_\t_\n"
    "2\tnos\tnosotros\tPRON\tP\t_\t1\tobj\t_\tArcConf=0.1|SpaceAfter=No\n"
    "2.1\tnada\tnada\tPRON\t_\t_\t_\t_\t1:nsubj\t_\n"
    "3-4\tal\t_\t_\t_\t_\t_\t_\t_\t_\n"
    "3\ta\ta\tADP\tE\t_\t5\tcase\t_\t_\n"
    "4\tel\tel\tDET\tD\t_\t5\tdet\t_\t_\n"
    "5\tmar\tmar\tNOUN\tN\t_\t1\tobl:arg\t_\t_\n"
    "\n"
    "# only a comment\n"
    "\n"
    "1\tNo\tno\tINTJ\tI\t_\t0\troot\t_\t_\n"
)


def written(path, text):
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def as_bytes(document, trees, notes=None):
    return "".join(document.filled(trees, notes)).encode()


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("tail", ["", "\n", "\n\n"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_round_trips_are_byte_for_byte(tmp_path, end, tail, mark):
    text = mark + (SAMPLE.removesuffix("\n") + tail).replace("\n", end)
    document = read_conllu(written(tmp_path / "a.conllu", text))
    assert [len(one) for one in document.sentences] == [5, 1]
    assert as_bytes(document, document.trees(single_root=True)) == text.encode()


def test_archives_are_read(tmp_path):
    (tmp_path / "a.conllu.gz").write_bytes(gzip.compress(SAMPLE.encode()))
    document = read_conllu(tmp_path / "a.conllu.gz")
    assert document.tokens()[0][0] == ("Vamos", "VERB", "V")
    heads, labels = document.trees()[0]
    np.testing.assert_array_equal(heads, [0, 1, 5, 5, 1])
    assert labels.tolist() == ["root", "obj", "case", "det", "obl:arg"]


def test_only_heads_labels_and_notes_change(tmp_path):
    document = read_conllu(written(tmp_path / "a.conllu", SAMPLE))
    trees = [(np.array([2, 0, 4, 2, 4]), list("vwxyz")), (np.array([0]), None)]
    notes = [["", "ArcConf=0.5", "ArcConf=1", "", ""], [""]]
    changed = as_bytes(document, trees, notes).decode().split("\n")
    before = SAMPLE.split("\n")
    assert [k for k, (a, b) in enumerate(zip(before, changed)) if a != b] == [3, 4, 7, 8, 9]
    assert changed[3].split("\t")[6:] == ["2", "v", "_", "_"]
    assert changed[4].split("\t")[6:] == ["0", "w", "_", "SpaceAfter=No|ArcConf=0.5"]
    assert changed[7].split("\t")[9] == "ArcConf=1"


LINES = [
    ("3\ta\ta\tADP\tE\t_\t5\tcase\t_\t_", "3\ta\ta\tADP\tE\t_\t5\tcase\t_", 8, "9 columns"),
    ("3\ta\ta\tADP\tE\t_\t5\tcase\t_\t_", "3 a a ADP E _ 5 case _ _", 8, "no tabs"),
    ("3\ta\ta\tADP", "3\ta\t\tADP", 8, "column 3 is empty"),
    ("4\tel", "5\tel", 9, "word number 5; expected 4"),
    ("4\tel", "x\tel", 9, '"x" cannot be here'),
    ("4\tel", f"{'4' * 5000}\tel", 9, "cannot be here"),
    ("2.1\t", "3.1\t", 6, '"3.1" cannot be here'),
    ("3-4\t", "4-5\t", 7, '"4-5" cannot be here'),
]
each_change = ("old", "new", "line", "message")


@pytest.mark.parametrize(
    each_change,
    [
        *LINES,
        ("\t5\tcase", "\t6\tcase", 8, "head 6 is outside of the sentence, which has 5 words"),
        ("\t5\tcase", "\t-1\tcase", 8, 'must be a word\'s number or 0; got "-1"'),
        ("\t5\tcase", f"\t{'5' * 5000}\tcase", 8, "must be a word's number or 0"),
        ("\t5\tcase", "\t_\tcase", 8, 'must be a word\'s number or 0; got "_"'),
        ("\t1\tobl:arg", "\t4\tobl:arg", 10, "word 5 is its own ancestor"),
        ("\t5\tcase", "\t0\tcase", 8, "a second root; line 4 has the first"),
    ],
)
def test_what_is_wrong_is_named_with_its_line(tmp_path, old, new, line, message):
    path = written(tmp_path / "bad.conllu", SAMPLE.replace(old, new, 1))
    with pytest.raises(DataError) as error:
        read_conllu(path).trees(single_root=True)
    assert f"bad.conllu, line {line}: " in str(error.value)
    assert message in str(error.value)
    assert str(error.value).endswith(".")


@pytest.mark.parametrize(each_change, LINES)
def test_taggers_refuse_the_same_lines(tmp_path, old, new, line, message):
    path = written(tmp_path / "bad.conllu", SAMPLE.replace(old, new, 1))
    with pytest.raises(DataError) as error:
        read_conllu(path)
    with pytest.raises(DataError) as other:
        read_tokens(path)
    assert str(other.value) == str(error.value)


def test_several_roots_are_no_mistake_where_they_may_be(tmp_path):
    path = written(tmp_path / "a.conllu", SAMPLE.replace("\t5\tcase", "\t0\tcase"))
    np.testing.assert_array_equal(read_conllu(path).trees()[0][0], [0, 1, 0, 5, 1])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "holds no sentences"),
        (b"# nothing\n", "holds no sentences"),
        (b"# one\n# \xff\n", r"line 2: byte 3 is not UTF-8"),
    ],
)
def test_files_that_cannot_be_read(tmp_path, content, message):
    with pytest.raises(DataError, match=message):
        read_conllu(written(tmp_path / "bad.conllu", content))
    with pytest.raises(DataError, match="does not exist"):
        read_conllu(tmp_path / "nowhere.conllu")


def test_attachment_scores_by_hand():
    gold = [(np.array([2, 0, 2, 2]), ["det", "root", "obj:x", "punct"]), (np.array([0]), ["root"])]
    predicted = [(np.array([2, 0, 2, 1]), ["det", "dep", "obj:y", "punct"]), (np.array([0]), ["root"])]
    tags = [["DET", "VERB", "NOUN", "PUNCT"], ["INTJ"]]
    scores = parsing_scores(gold, predicted, tags)
    assert scores == pytest.approx((4 / 5, 3 / 5, 2 / 5, 1.0, 3 / 4, 0.5, 2, 5))
    with pytest.raises(ValueError, match="Sentence 0 has 4 words but 1"):
        parsing_scores(gold, predicted[::-1], tags)


DEV = (
    Path(os.environ.get("STRUCTLEARN_DATA", Path(__file__).parents[3] / "shared" / "data")) / "ud_english_ewt"
)


@pytest.mark.skipif(not DEV.is_dir(), reason="the treebank is not here")
def test_a_real_treebank_comes_back_byte_for_byte():
    path = DEV / "en_ewt-ud-dev.conllu.gz"
    document = read_conllu(path)
    assert as_bytes(document, document.trees(single_root=True)) == gzip.decompress(path.read_bytes())
