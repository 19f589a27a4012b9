"""A small share of what `make torture` does: processes ended at random moments."""

import pytest

from torture.kills import run


@pytest.mark.parametrize("seed", range(8))
def test_what_a_killed_process_leaves_is_whole(seed):
    label, wrong = run(seed)
    assert wrong is None, label
