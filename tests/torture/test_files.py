"""A small share of what `make torture` does: damaged files through every reader."""

import pytest

from torture.files import run


@pytest.mark.parametrize("seed", range(64))
def test_a_damaged_file_is_at_most_one_sentence(seed):
    label, wrong = run(seed)
    assert wrong is None, label
