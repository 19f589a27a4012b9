"""Multiclass and binary hinge against liblinear: seconds to liblinear's objective, one thread each.

python benchmarks/linear.py
"""

from __future__ import annotations

import time
import warnings

import numpy as np
from common import best_of, machine
from scipy import sparse
from sklearn.datasets import load_digits
from sklearn.svm import LinearSVC

from structlearn import BinaryClassifier, MulticlassClassifier


def seconds_to(history, value):
    reached = np.flatnonzero(history.primal <= value)
    return history.seconds[reached[0]] if reached.size else np.inf


def multiclass(regularization, name):
    X, y = load_digits(return_X_y=True)
    X = X / 16
    svc = LinearSVC(
        multi_class="crammer_singer", C=1 / (regularization * len(y)), fit_intercept=False, tol=0.01
    )
    peer = best_of(lambda: svc.fit(X, y))
    scores = X @ svc.coef_.T
    hinge = (scores + 1 - np.eye(10)[y]).max(axis=1) - scores[np.arange(len(y)), y]
    value = regularization / 2 * np.sum(svc.coef_**2) + hinge.mean()
    model = MulticlassClassifier(
        regularization=regularization, fit_intercept=False, tol=1e-6 * value, random_state=0, max_passes=300
    )
    ours = min(seconds_to(model.fit(X, y).history_, value) for _ in range(9))
    print(
        f"digits, lambda {name}: liblinear {peer:.4f} s to P = {value:.6f}; "
        f"ours {ours:.4f} s ({ours / peer:.2f}x)"
    )


def binary(X, y, name, regularization):
    svc = LinearSVC(
        loss="hinge", dual=True, C=1 / (regularization * len(y)), fit_intercept=False, tol=1e-3, max_iter=3000
    )
    model = BinaryClassifier(regularization=regularization, fit_intercept=False, tol=1e-3, random_state=0)
    model.fit(X, y)
    model.tol = 1e-3 * model.certificate_.primal
    runs = [model.fit(X, y).certificate_ for _ in range(3)]
    ours = min(runs, key=lambda one: one.seconds)
    # the loosest tolerance of liblinear that reaches our objective
    for tol in (1.0, 0.3, 0.1, 0.03, 0.01, 3e-3, 1e-3):
        svc.set_params(tol=tol)
        begin = time.perf_counter()
        svc.fit(X, y)
        peer = time.perf_counter() - begin
        margins = (2 * y - 1) * (X @ svc.coef_[0])
        value = regularization / 2 * np.sum(svc.coef_**2) + np.maximum(0, 1 - margins).mean()
        if value <= ours.primal:
            break
    print(
        f"{name}: ours {ours.seconds:.3f} s, {ours.passes:.0f} passes, P {ours.primal:.6f}, relative gap "
        f"{ours.gap / ours.primal:.1e}; liblinear (tol {tol:g}) {peer:.3f} s, P {value:.6f} "
        f"({ours.seconds / peer:.2f}x)"
    )


def main():
    print(f"# {machine()}, {time.strftime('%Y-%m-%d')}")
    warnings.simplefilter("ignore")
    multiclass(0.01, "0.01")
    multiclass(1 / 1797, "1/n")
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100_000, 100))
    y = (X @ rng.normal(size=100) + 3 * rng.normal(size=100_000) > 0).astype(int)
    for regularization in (1e-2, 1e-4):
        binary(X, y, f"binary, dense 100,000 x 100, lambda {regularization:g}", regularization)
    n, d, nonzeros = 50_000, 1_000_000, 50
    indices = (d * rng.random((n, nonzeros)) ** 3).astype(np.int64)
    S = sparse.csr_matrix((np.ones(n * nonzeros), indices.ravel(), np.arange(n + 1) * nonzeros), (n, d))
    S.sum_duplicates()
    w = rng.normal(size=d) * (rng.random(d) < 0.3)
    y = (S @ w + rng.normal(size=n) > 0).astype(int)
    for regularization in (1e-2, 1e-4):
        binary(S, y, f"binary, sparse 50,000 x 1,000,000, lambda {regularization:g}", regularization)


if __name__ == "__main__":
    main()
