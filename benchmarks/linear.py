"""Multiclass and binary hinge against liblinear: seconds to the same objective, one thread each.

python benchmarks/linear.py [digits] [letters] [dense] [sparse] [blobs]  (digits, dense, sparse unless named)
"""

from __future__ import annotations

import sys
import time
import warnings

import numpy as np
from common import best_of, letters, machine, note, recorded
from scipy import sparse
from sklearn.datasets import load_digits, make_classification
from sklearn.svm import LinearSVC

from structlearn import BinaryClassifier, MulticlassClassifier

QUICK = [["digits"]]

SEEDS = range(5)


def liblinear(X, y, regularization, **options):
    return LinearSVC(
        C=1 / (regularization * len(y)), fit_intercept=False, dual=True, max_iter=100_000, **options
    )


def multiclass_objective(svc, X, y, regularization):
    scores = X @ svc.coef_.T
    hinge = (scores + 1 - np.eye(len(svc.classes_))[y]).max(axis=1) - scores[np.arange(len(y)), y]
    return regularization / 2 * np.sum(svc.coef_**2) + hinge.mean()


def seconds_to(history, value):
    reached = np.flatnonzero(history.primal <= value)
    return history.seconds[reached[0]] if reached.size else np.inf


def multiclass(X, y, name, regularization):
    """Seconds to the objective of liblinear at tol 0.01, which depends on its seed: the median of five."""
    ratios, times = [], []
    for seed in SEEDS:
        svc = liblinear(X, y, regularization, multi_class="crammer_singer", tol=0.01, random_state=seed)
        peer = best_of(lambda svc=svc: svc.fit(X, y), 5)
        value = multiclass_objective(svc, X, y, regularization)
        model = MulticlassClassifier(
            loss="hinge",
            regularization=regularization,
            fit_intercept=False,
            tol=1e-4 * value,
            random_state=seed,
        )
        model.fit(X, y)
        ours = min(seconds_to(model.fit(X, y).history_, value) for _ in range(5))
        ratios.append(ours / peer)
        times.append((ours, peer))
    ours, peer = times[int(np.argsort(ratios)[len(ratios) // 2])]
    note(what=name, seconds=ours, liblinear_seconds=peer, ratio=np.median(ratios))
    print(
        f"{name}: ours {ours:.4f} s, liblinear {peer:.4f} s; ratio, median of {len(ratios)} seeds: "
        f"{np.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})",
        flush=True,
    )


def binary_objective(svc, X, y, regularization):
    margins = (2 * y - 1) * (X @ svc.coef_[0])
    return regularization / 2 * np.sum(svc.coef_**2) + np.maximum(0, 1 - margins).mean()


def loosest(X, y, regularization, value):
    """The loosest tolerance, within a tenth, at which liblinear reaches an objective."""

    def fitted(tol):
        return liblinear(X, y, regularization, loss="hinge", tol=tol, random_state=0).fit(X, y)

    low, high = -4.0, 1.0
    while high - low > 0.05:
        middle = (low + high) / 2
        reached = binary_objective(fitted(10**middle), X, y, regularization) <= value
        low, high = (middle, high) if reached else (low, middle)
    return fitted(10**low)


def binary(X, y, name, regularization):
    """Seconds to a relative gap of 1e-3, and those of liblinear to the same objective."""
    model = BinaryClassifier(
        loss="hinge", regularization=regularization, fit_intercept=False, tol=1e-3, random_state=0
    )
    model.fit(X, y)
    model.tol = 1e-3 * model.certificate_.primal
    ours = min((model.fit(X, y).certificate_ for _ in range(5)), key=lambda one: one.seconds)
    svc = loosest(X, y, regularization, ours.primal)
    peer = best_of(lambda: svc.fit(X, y), 3)
    value = binary_objective(svc, X, y, regularization)
    what, ratio = f"{name}, lambda {regularization:g}", ours.seconds / peer
    note(what=what, seconds=ours.seconds, liblinear_seconds=peer, ratio=ratio)
    print(
        f"{name}, lambda {regularization:g}: ours {ours.seconds:.3f} s, {ours.passes:.0f} passes, "
        f"P {ours.primal:.6f}, relative gap {ours.gap / ours.primal:.1e}; "
        f"liblinear (tol {svc.tol:.2g}, {svc.n_iter_} iterations) {peer:.3f} s, P {value:.6f} "
        f"({ours.seconds / peer:.2f}x)",
        flush=True,
    )


def dense_problem(rng):
    X = rng.normal(size=(100_000, 100))
    return X, (X @ rng.normal(size=100) + 3 * rng.normal(size=100_000) > 0).astype(int)


def sparse_problem(rng):
    n, d, nonzeros = 50_000, 1_000_000, 50
    indices = (d * rng.random((n, nonzeros)) ** 3).astype(np.int64)
    X = sparse.csr_matrix((np.ones(n * nonzeros), indices.ravel(), np.arange(n + 1) * nonzeros), (n, d))
    X.sum_duplicates()
    w = rng.normal(size=d) * (rng.random(d) < 0.3)
    return X, (X @ w + rng.normal(size=n) > 0).astype(int)


def blobs(separation):
    """Classes of scikit-learn's generator; the labels of one in ten are random."""
    return make_classification(
        20_000, 60, n_informative=20, n_redundant=20, flip_y=0.1, class_sep=separation, random_state=0
    )


def main(names):
    print(f"# {machine()}, {time.strftime('%Y-%m-%d')}")
    warnings.simplefilter("ignore")
    if "digits" in names:
        X, y = load_digits(return_X_y=True)
        multiclass(X / 16, y, "digits, lambda 0.01", 0.01)
        multiclass(X / 16, y, "digits, lambda 0.001", 0.001)
        multiclass(X / 16, y, "digits, lambda 1/n", 1 / len(y))
    if "letters" in names:
        words, labels, _ = letters()
        X = np.concatenate(words)[:10_000]
        y = np.unique(np.concatenate(labels)[:10_000], return_inverse=True)[1]
        multiclass(X, y, "10,000 letters, lambda 0.01", 0.01)
        multiclass(X, y, "10,000 letters, lambda 1/n", 1 / len(y))
    rng = np.random.default_rng(0)
    problems = {"dense": dense_problem(rng), "sparse": sparse_problem(rng)}
    problems |= {f"blobs, separation {separation}": blobs(separation) for separation in (0.5, 2.0)}
    for name, (X, y) in problems.items():
        if name.split(",")[0] in names:
            for regularization in (1e-2, 1e-4):
                binary(X, y, f"{name} {X.shape[0]:,} x {X.shape[1]:,}", regularization)


if __name__ == "__main__":
    recorded(main, sys.argv[1:] or ["digits", "dense", "sparse"])
