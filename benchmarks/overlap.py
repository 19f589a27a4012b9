"""Single rows: where blocks maximised one by one are slow, and the stochastic extragradient is not.

python benchmarks/overlap.py

For each problem and lambda the mean curvature of its features over lambda, mean ||x||^2 / (d lambda), and
processor seconds and passes of whole fits by both solvers. `solver="auto"` chooses by the first number.
"""

from __future__ import annotations

import time
import warnings

import numpy as np
from common import letters, machine, note, recorded
from linear import blobs, dense_problem
from scipy import sparse

from structlearn import BinaryClassifier, MulticlassClassifier

MOST_PASSES = 300


def gaussian(n_features):
    """Three classes that six of the features tell."""
    rng = np.random.default_rng(7)
    X = rng.normal(size=(1500, n_features))
    return X, np.argmax(X[:, :3] + X[:, 3:6] + rng.normal(size=(1500, 3)), axis=1)


def sparse_classes(n=5000, d=100_000, nonzeros=40, n_classes=10):
    """Few features of each row, some of them frequent."""
    rng = np.random.default_rng(5)
    columns = (d * rng.random((n, nonzeros)) ** 3).astype(np.int64)
    X = sparse.csr_matrix((np.ones(n * nonzeros), columns.ravel(), np.arange(n + 1) * nonzeros), (n, d))
    X.sum_duplicates()
    W = rng.normal(size=(d, n_classes)) * (rng.random((d, 1)) < 0.3)
    return X, np.argmax(X @ W + rng.normal(size=(n, n_classes)), axis=1)


def images():
    """Letters without their neighbours."""
    words, labels, _ = letters()
    y = np.unique(np.concatenate(labels)[:5000], return_inverse=True)[1]
    return np.concatenate(words)[:5000], y


def first(problem, n=10_000):
    X, y = problem
    return X[:n], y[:n]


#: estimator, data, lambdas
PROBLEMS = {
    "Gaussian, 3,000 features": (MulticlassClassifier, lambda: gaussian(3000), (0.1, 0.01, 0.001)),
    "Gaussian, 300 features": (MulticlassClassifier, lambda: gaussian(300), (0.1, 0.01, 0.001)),
    "Gaussian, 30 features": (MulticlassClassifier, lambda: gaussian(30), (0.1, 0.01, 0.001)),
    "sparse": (MulticlassClassifier, sparse_classes, (0.01, 0.001, 1 / 5000)),
    "letters": (MulticlassClassifier, images, (0.01, 0.001, 1 / 5000)),
    "binary, Gaussian": (
        BinaryClassifier,
        lambda: first(dense_problem(np.random.default_rng(0))),
        (0.01, 1e-4),
    ),
    "binary, clusters": (BinaryClassifier, lambda: first(blobs(0.5)), (0.01, 1e-4)),
}


def main() -> None:
    print(f"# {machine()}, {time.strftime('%Y-%m-%d')}")
    warnings.simplefilter("ignore")
    for name, (make, data, lambdas) in PROBLEMS.items():
        X, y = data()
        make(loss="hinge", max_passes=1, solver="seg").fit(X[:100], y[:100])  # compiles
        make(loss="hinge", max_passes=1, solver="bcfw").fit(X[:100], y[:100])
        curvature = (X.multiply(X) if sparse.issparse(X) else X * X).sum() / X.shape[0] / X.shape[1]
        for value in lambdas:
            found = [fitted(make, X, y, value, solver) for solver in ("bcfw", "seg")]
            note(what=f"{name}, lambda {value:g}", curvature=curvature / value, bcfw=found[0], seg=found[1])
            print(f"{name}, lambda {value:g}, {curvature / value:.3g}: " + "; ".join(found), flush=True)


def fitted(make, X, y, regularization, solver) -> str:
    model = make(
        loss="hinge",
        regularization=regularization,
        fit_intercept=False,
        tol=1e-3,
        max_passes=MOST_PASSES,
        random_state=0,
        solver=solver,
    )
    begin = time.process_time()
    found = model.fit(X, y).certificate_
    seconds = time.process_time() - begin
    end = "" if found.converged else f", gap {found.gap:.1g}"
    return f"{solver} {seconds:.3f} s, {found.passes:.0f} passes{end}"


if __name__ == "__main__":
    recorded(main)
