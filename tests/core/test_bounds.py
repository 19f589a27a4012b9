"""Compiled code that checks every index (see `make boundscheck`): it does, and finds nothing to object to."""

import os
import subprocess
import sys
from pathlib import Path

MODEL = Path(__file__).parents[1] / "estimators" / "models" / "v1-chain.safetensors"

#: Viterbi with a workspace and an answer that are too small; then sequences without positions, as users have.
CHECKED = """
import sys
import numpy as np
import structlearn
from structlearn.core.contract import maximize, workspace
from structlearn.estimators.inputs.checking import Stacked

model = structlearn.load(sys.argv[1])
chain = model.structure_
K, shared = chain.n_labels, np.zeros(chain.n_shared)
try:
    maximize(chain.record, (1, K), np.zeros(K), shared, workspace(chain.record, (0, K)), np.zeros(1))
except IndexError as error:
    print(error)
rows = np.zeros((2, model.n_features_in_))
print([one.size for one in model.predict(Stacked(rows, np.array([0, 2, 0])))])
"""


def test_indices_out_of_bounds_are_caught_and_do_not_occur(tmp_path):
    asked = {**os.environ, "NUMBA_BOUNDSCHECK": "1", "STRUCTLEARN_CACHE": str(tmp_path)}
    command = [sys.executable, "-c", CHECKED, str(MODEL)]
    done = subprocess.run(command, env=asked, capture_output=True, text=True, check=False)
    assert done.stdout.splitlines() == ["index is out of bounds", "[0, 2, 0]"], done.stderr
