"""Peak memory of training on high-dimensional sparse data: 20,000 examples, 1,000,000 columns, 50 classes.

python benchmarks/memory.py
"""

from __future__ import annotations

import resource
import time

import numpy as np
from common import machine, note, recorded
from scipy import sparse

from structlearn import MulticlassClassifier

QUICK = [[]]

EXAMPLES, COLUMNS, CLASSES, NONZEROS = 20_000, 1_000_000, 50, 50


def main():
    rng = np.random.default_rng(0)
    y = rng.integers(CLASSES, size=EXAMPLES)
    common = rng.integers(COLUMNS, size=(EXAMPLES, NONZEROS - 5))
    telling = y[:, None] * 100 + rng.integers(100, size=(EXAMPLES, 5))
    indices = np.concatenate([common, telling], axis=1).ravel()
    X = sparse.csr_matrix(
        (np.ones(indices.size, np.float32), indices, np.arange(EXAMPLES + 1) * NONZEROS), (EXAMPLES, COLUMNS)
    )
    X.sum_duplicates()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    model = MulticlassClassifier(
        loss="hinge", regularization=1 / EXAMPLES, tol=0.05, max_passes=20, random_state=0
    ).fit(X, y)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"# {machine()}, {time.strftime('%Y-%m-%d')}")
    print(
        f"peak memory {peak:.2f} GB ({before:.2f} GB before training; target 3 GB); w alone is "
        f"{model.weights_.nbytes / 2**30:.2f} GB"
    )
    print(model.certificate_)
    found = model.certificate_
    note(what="20,000 x 1,000,000", peak_gb=peak, seconds=found.seconds, gap=found.gap, passes=found.passes)


if __name__ == "__main__":
    recorded(main)
