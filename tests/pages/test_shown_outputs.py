"""Pages show what their commands print: each is run as pasted, and compared."""

import pytest
from blocks import ROOT
from shown import agrees, shown_outputs

PAGES = ("README.md", "docs/start.md")


@pytest.mark.parametrize("page", PAGES)
def test_outputs_are_what_is_shown(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found = list(shown_outputs(ROOT / page))
    assert found
    for one in found:
        assert agrees(one.expected, one.printed), f"{one.expected}\n--- printed:\n{one.printed}"


def test_words_must_be_the_same_and_numbers_near():
    printed = "Read 5 rows.\naccuracy: 0.964497\nseconds: 3.2\nthe end\n"
    assert agrees(printed, printed)
    assert agrees("Read 5 rows.\naccuracy: 0.97\nseconds: 0.1\nthe end\n", printed)
    assert agrees("...\nthe end\n", printed)
    assert agrees("Read 5 ...\n...\n", printed)
    assert not agrees("Read 5 rows.\n...\naccuracy: 0.85\n...\n", printed)
    assert not agrees("Read 5 lines.\n...\n", printed)
    assert not agrees("Read 5 rows.\n", printed)
    assert not agrees("...\nanother line\n...\n", printed)
