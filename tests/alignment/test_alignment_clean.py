import gzip
from collections import Counter
from itertools import chain

import pytest
from hypothesis import given
from hypothesis import strategies as st

from structlearn.alignment.text.clean import (
    COUNTED,
    CleaningRules,
    clean_files,
    clean_pairs,
    split_pair,
    without_accents,
)
from structlearn.alignment.text.tokenizers import Tokenizer
from structlearn.data import DataError


def cleaned(lines, **rules):
    counts = Counter()
    pairs = [
        tuple(" ".join(side) for side in pair) for pair in clean_pairs(lines, CleaningRules(**rules), counts)
    ]
    return pairs, {name: n for name, n in counts.items() if n}


def test_tokens_case_and_accents():
    rules = {
        "tokenize_source": Tokenizer("simple", "en"),
        "tokenize_target": Tokenizer("simple", "fr"),
        "lowercase": True,
    }
    lines = [("He doesn't SEE.", "Il ne voit pas l'E\u0301glise.")]
    assert cleaned(lines, **rules)[0] == [("he does n't see .", "il ne voit pas l' église .")]
    assert cleaned(lines, **rules, strip_accents=True)[0][0][1] == "il ne voit pas l' eglise ."
    assert without_accents("ŒUVRE cœur naïf ça") == "OEUVRE coeur naif ca"


def test_unfit_pairs_are_dropped_and_counted():
    lines = [("a b", "c d"), ("", "c"), ("a", "b c"), ("a b c d e", "f g h i"), ("a b", "c d e f g")]
    kept, counts = cleaned(lines, min_length=2, max_length=4, max_ratio=2, split_above=0)
    assert kept == [("a b", "c d")]
    assert counts == {
        "pairs_read": 5, "pairs_written": 1, "source_tokens": 2, "target_tokens": 2,
        "dropped_empty": 1, "dropped_short": 1, "dropped_long": 2,
    }  # fmt: skip
    assert cleaned([("a b", "c d e f g")], max_ratio=2)[1]["dropped_ratio"] == 1
    assert cleaned([("a b", "c d e f")], max_ratio=2)[1]["pairs_written"] == 1


def split(source, target, limit):
    return [
        tuple(" ".join(side) for side in piece)
        for piece in split_pair((source.split(), target.split()), limit)
    ]


def test_long_pairs_are_split_at_the_same_marks():
    small = [("a b ;", "e ;"), ("c ,", "f g ,"), ("d .", "h .")]
    assert split("a b ; c , d .", "e ; f g , h .", 3) == small
    assert split("a b ; c , d .", "e ; f g , h .", 5) == [("a b ;", "e ;"), ("c , d .", "f g , h .")]
    assert split("a b ; c , d .", "e ; f g , h .", 7) == [("a b ; c , d .", "e ; f g , h .")]


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("a b , c ; d", "a b ; c , d"),  # another order
        ("a , b , c d", "a , b c d"),  # another number
        ("a , b c d e f g", "a b c d e f , g"),  # pieces of very different lengths
        ("a b c d .", "a b c d ."),  # nothing inside
    ],
)
def test_pairs_whose_marks_differ_stay_whole(source, target):
    assert split(source, target, 3) == [(source, target)]


SIDES = st.lists(st.sampled_from([*"abc", ",", ";", "."]), max_size=12)


@given(SIDES, SIDES, st.integers(1, 8))
def test_pieces_put_together_are_the_pair(left, right, limit):
    pieces = split_pair((left, right), limit)
    assert [[*chain.from_iterable(side)] for side in zip(*pieces)] == [left, right]
    if len(pieces) > 1:
        assert max(len(left), len(right)) > limit
        assert all(max(map(len, piece)) <= 2 * min(map(len, piece)) for piece in pieces)


def test_split_pieces_are_judged_one_by_one():
    lines = [("a b ; c d e f g h", "i j ; k l m n o p")]
    kept, counts = cleaned(lines, max_length=5)
    assert kept == [("a b ;", "i j ;")]
    assert (counts["pairs_split"], counts["dropped_long"], counts["pairs_written"]) == (1, 1, 1)


def test_files(write, tmp_path):
    source, target = write("a b\n\nc\n", "raw.en"), write(gzip.compress(b"d\ne\nf g\n"), "raw.fr.gz")
    outputs = tmp_path / "x.en", tmp_path / "x.fr.gz"
    counts = clean_files((source, target), outputs)
    assert outputs[0].read_text() == "a b\nc\n"
    assert gzip.decompress(outputs[1].read_bytes()) == b"d\nf g\n"
    assert tuple(counts) == COUNTED
    assert (counts["pairs_read"], counts["pairs_written"], counts["dropped_empty"]) == (3, 2, 1)


def test_no_output_if_the_input_is_bad(write, tmp_path):
    inputs = write("a\nb\n", "raw.en"), write("c\n", "raw.fr")
    with pytest.raises(DataError, match="the file ends here"):
        clean_files(inputs, (tmp_path / "x.en", tmp_path / "x.fr"))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["raw.en", "raw.fr"]


@pytest.mark.parametrize(
    ("rules", "said"),
    [
        ({"min_length": 0}, "1 <= minimum <= maximum"),
        ({"min_length": 9, "max_length": 8}, "they are 9 and 8"),
        ({"max_ratio": 0.5}, "at least 1, not 0.5"),
        ({"max_ratio": float("nan")}, "at least 1, not nan"),
        ({"split_above": -1}, "at least 0, not -1"),
    ],
)
def test_impossible_rules(rules, said):
    with pytest.raises(ValueError, match=said):
        CleaningRules(**rules)
