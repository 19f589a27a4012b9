"""Bounds checks of compiled code are really on where they are asked for (see `make boundscheck`)."""

import os
import subprocess
import sys

from structlearn.kernels import cache_folder

#: A table of one row, and a workspace and an answer for none: Viterbi writes beyond both.
BEYOND = """
import numpy as np
from structlearn.contract import corner, workspace
from structlearn.structures import Chain
chain, shared = Chain(2), np.zeros(4)
try:
    corner(chain.record, (1, 2), np.zeros(2), shared, workspace(chain.record, (0, 2)), np.zeros(1))
except IndexError as error:
    print("caught:", error)
"""


def test_indices_out_of_bounds_are_caught(tmp_path):
    asked = {"NUMBA_BOUNDSCHECK": "1", "STRUCTLEARN_CACHE": str(tmp_path)}
    environment = {**os.environ, **asked}
    command = [sys.executable, "-c", BEYOND]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert "caught: index is out of bounds" in done.stdout, done.stderr


def test_checked_kernels_have_a_cache_of_their_own(monkeypatch):
    folders = []
    for checked in (None, True):
        monkeypatch.setattr("numba.config.BOUNDSCHECK", checked)
        cache_folder.cache_clear()
        folders.append(cache_folder())
    cache_folder.cache_clear()
    assert len(set(folders)) == 2
