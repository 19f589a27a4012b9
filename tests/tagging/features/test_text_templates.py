import pytest

from structlearn.tagging.features import Atom, Template, parse_templates
from structlearn.tagging.features.views import text_hash, view_named


@pytest.mark.parametrize(
    ("notation", "expanded"),
    [
        ("word", "word"),
        ("word[-1..1]", "word[-1] word word[1]"),
        ("word.suffix2..4[1]", "word.suffix2[1] word.suffix3[1] word.suffix4[1]"),
        ("pos[-1]&pos&word.lower[2]", "pos[-1]&pos&word.lower[2]"),
        ("0[0..1]&1[-1..0]", "0&1[-1] 0&1 0[1]&1[-1] 0[1]&1"),
        ("word word[0] pos\n word", "word pos"),
    ],
)
def test_notation(notation, expanded):
    assert " ".join(map(str, parse_templates(notation))) == expanded
    assert parse_templates(expanded) == parse_templates(notation)


def test_objects():
    both = parse_templates([Template((Atom("word", "shape", -1),)), "word.shape[-1] pos"])
    assert list(map(str, both)) == ["word.shape[-1]", "pos"]


@pytest.mark.parametrize(
    ("notation", "message"),
    [
        ("", "no templates"),
        ("word[", r"'word\[' cannot be read"),
        ("word&", "cannot be read at ''"),
        ("word.suffix0", "no view 'suffix0'"),
        ("word.upper", "no view 'upper' of a column; use lower, norm, shape"),
        ("word[2..1]", "range from 2 to 1"),
    ],
)
def test_refusals(notation, message):
    with pytest.raises(ValueError, match=message):
        parse_templates(notation)


@pytest.mark.parametrize(
    ("view", "text", "seen"),
    [
        ("same", "McX", "McX"),
        ("lower", "McX", "mcx"),
        ("norm", "Mc-42", "mc-00"),
        ("shape", "McDonald-4x", "XxXx-dx"),
        ("shape", "U.S.", "X.X."),
        ("prefix2", "word", "wo"),
        ("suffix3", "word", "ord"),
        ("suffix3", "wo", None),
    ],
)
def test_views(view, text, seen):
    assert view_named(view)(text) == seen


def test_hashes_do_not_depend_on_the_machine():
    assert text_hash("word") == int.from_bytes(bytes.fromhex("4aa4cf27d7c78e95"), "little")  # b2sum -l 64
