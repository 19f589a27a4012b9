"""Whole `fit` calls of flat models beside scikit-learn, liblinear, skglm and celer, to the same excess.

python benchmarks/flat.py [PROBLEM ...] [--excess 1e-2,1e-3,1e-4]

PROBLEM: digits-hinge, digits-softmax, dense-hinge, dense-logistic, sparse-hinge, sparse-logistic, lasso,
l1-logistic; all unless named. Excess is (P - P*)/P*. For each excess, each program runs with the loosest
tolerance of a grid at which it reaches that excess; then all run in turns, five times, and the medians of
CPU seconds are compared (programs that take ten times as long as the fastest run once, and are left out of
smaller excesses). One thread each, no intercept. Peers that are not installed are left out.
"""

from __future__ import annotations

import os

os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1")

import argparse
import time
import warnings
from importlib.util import find_spec

import numpy as np
from common import machine, note, recorded
from scipy import sparse
from sklearn.datasets import load_digits
from sklearn.linear_model import Lasso, LogisticRegression
from sklearn.svm import LinearSVC

from structlearn import BinaryClassifier, LinearRegressor, MulticlassClassifier

REPEATS = int(os.environ.get("REPEATS", 5))
#: Programs that take this many times as long as the fastest are not run again.
SLOW = 10
TOLERANCES = 10.0 ** np.arange(1, -9.5, -0.5)
QUICK = [["digits-softmax"]]


# ---- problems ----------------------------------------------------------------------------------------


def dense(n=100_000, d=100):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    return X, (X @ rng.normal(size=d) + 3 * rng.normal(size=n) > 0).astype(int)


def rare(n=100_000, d=50_000, nonzeros=50):
    """Rows of 50 entries, whose columns are frequent and rare, as words are."""
    rng = np.random.default_rng(0)
    columns = (d * rng.random((n, nonzeros)) ** 3).astype(np.int64)
    X = sparse.csr_matrix(
        (rng.random(n * nonzeros), columns.ravel(), np.arange(n + 1) * nonzeros), shape=(n, d)
    )
    X.sum_duplicates()
    w = rng.normal(size=d) * (rng.random(d) < 0.3)
    return X, (X @ w + rng.normal(size=n) > 0).astype(int)


def few_of_many(X, rng, share=0.05):
    """Return X and labels that depend on few columns."""
    w = np.where(rng.random(X.shape[1]) < share, rng.normal(size=X.shape[1]), 0.0)
    scores = X @ w
    return X, (scores + 0.5 * scores.std() * rng.normal(size=X.shape[0]) > 0).astype(int)


def regression(X, rng, n_used=100):
    w = np.zeros(X.shape[1])
    w[rng.choice(w.size, n_used, replace=False)] = rng.standard_normal(n_used)
    y = X @ w
    return X, y + 0.1 * y.std() * rng.standard_normal(y.size)


def correlated(n, d, rho=0.9):
    """Columns of which each is like the one before."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d))
    for j in range(1, d):
        X[:, j] = rho * X[:, j - 1] + np.sqrt(1 - rho**2) * X[:, j]
    return np.asfortranarray(X)


# ---- objectives ----------------------------------------------------------------------------------------


def crammer_singer(W, X, y, strength):
    scores = np.asarray(X @ W.T)
    hinge = (scores + 1 - np.eye(len(W))[y]).max(axis=1) - scores[np.arange(len(y)), y]
    return strength / 2 * np.sum(W**2) + hinge.mean()


def softmax(W, X, y, strength):
    scores = np.asarray(X @ W.T)
    top = scores.max(axis=1)
    logs = top + np.log(np.exp(scores - top[:, None]).sum(axis=1))
    return strength / 2 * np.sum(W**2) + (logs - scores[np.arange(len(y)), y]).mean()


def hinge(W, X, y, strength):
    return strength / 2 * np.sum(W**2) + np.maximum(0, 1 - (2 * y - 1) * (X @ W.ravel())).mean()


def logistic(W, X, y, strength):
    return strength / 2 * np.sum(W**2) + np.logaddexp(0, -(2 * y - 1) * (X @ W.ravel())).mean()


def l1_logistic(W, X, y, strength):
    return strength * np.abs(W).sum() + np.logaddexp(0, -(2 * y - 1) * (X @ W.ravel())).mean()


def lasso(W, X, y, strength):
    r = y - X @ W.ravel()
    return strength * np.abs(W).sum() + r @ r / (2 * len(y))


# ---- programs: name -> a function of X, y, lambda and tolerance that returns weights --------------------


def structlearn(kind, **options):
    def fit(X, y, strength, tol):
        return (
            kind(regularization=strength, fit_intercept=False, tol=tol, random_state=0, **options)
            .fit(X, y)
            .coef_
        )

    return fit


def scikit(solver, **options):
    def fit(X, y, strength, tol):
        C = 1 / (strength * len(y))
        model = LogisticRegression(
            C=C, fit_intercept=False, solver=solver, tol=tol, max_iter=10_000, random_state=0, **options
        )
        return model.fit(X, y).coef_

    return fit


def svc(**options):
    def fit(X, y, strength, tol):
        C = 1 / (strength * len(y))
        model = LinearSVC(
            C=C, fit_intercept=False, dual=True, max_iter=100_000, tol=tol, random_state=0, **options
        )
        return model.fit(X, y).coef_

    return fit


def scikit_lasso(X, y, strength, tol):
    return Lasso(alpha=strength, fit_intercept=False, tol=tol, max_iter=10**6).fit(X, y).coef_


def celer_lasso(X, y, strength, tol):
    from celer import Lasso

    return Lasso(alpha=strength, fit_intercept=False, tol=tol, max_iter=1000).fit(X, y).coef_


def celer_logistic(X, y, strength, tol):
    from celer import LogisticRegression

    model = LogisticRegression(C=1 / (strength * len(y)), fit_intercept=False, tol=tol, max_iter=1000)
    return model.fit(X, y).coef_


def skglm_lasso(X, y, strength, tol):
    from skglm import Lasso

    return Lasso(alpha=strength, fit_intercept=False, tol=tol, max_iter=1000).fit(X, y).coef_


def skglm_logistic(X, y, strength, tol):
    from skglm import SparseLogisticRegression

    model = SparseLogisticRegression(alpha=strength, fit_intercept=False, tol=tol, max_iter=1000)
    return model.fit(X, y).coef_


OURS = "structlearn"
CLASSES, BINARY = MulticlassClassifier, BinaryClassifier
SKLEARN = {"lbfgs": scikit("lbfgs"), "newton-cholesky": scikit("newton-cholesky")}
PROGRAMS = {
    "digits-hinge": {
        OURS: structlearn(CLASSES, loss="hinge"),
        "liblinear": svc(multi_class="crammer_singer"),
    },
    "digits-softmax": {OURS: structlearn(CLASSES), **SKLEARN},
    "hinge": {OURS: structlearn(BINARY, loss="hinge"), "liblinear": svc(loss="hinge")},
    "logistic": {
        OURS: structlearn(BINARY),
        **SKLEARN,
        "liblinear": scikit("liblinear"),
        "liblinear-dual": scikit("liblinear", dual=True),
    },
    "lasso": {
        OURS: structlearn(LinearRegressor, penalty="l1"),
        "scikit-learn": scikit_lasso,
        "celer": celer_lasso,
        "skglm": skglm_lasso,
    },
    "l1-logistic": {
        OURS: structlearn(BINARY, penalty="l1"),
        "liblinear": scikit("liblinear", l1_ratio=1.0),
        "skglm": skglm_logistic,
        "celer": celer_logistic,
    },
}


def available(programs):
    return {name: fit for name, fit in programs.items() if name not in ("celer", "skglm") or find_spec(name)}


# ---- measuring -----------------------------------------------------------------------------------------


def loosest(fit, value, X, y, strength, aim, start):
    """Return the loosest tolerance from `start` on that reaches `aim`, or None."""
    for k in range(start, len(TOLERANCES)):
        if value(np.asarray(fit(X, y, strength, TOLERANCES[k])), X, y, strength) <= aim:
            return k
    return None


def seconds(call):
    begin = time.process_time()
    call()
    return time.process_time() - begin


def compare(name, programs, value, X, y, strength, excesses):
    """Compare the programs on one problem and note the ratio of ours to the best peer."""
    programs = available(programs)
    dense_ones = {"newton-cholesky"} if X.shape[1] > 2000 else set()
    programs = {one: fit for one, fit in programs.items() if one not in dense_ones}
    best = min(
        value(np.asarray(fit(X, y, strength, 1e-7 if one == OURS else 1e-6)), X, y, strength)
        for one, fit in programs.items()
    )
    at = dict.fromkeys(programs, 0)
    for excess in excesses:
        for one, fit in programs.items():
            if at[one] is not None:
                at[one] = loosest(fit, value, X, y, strength, (1 + excess) * best, at[one])
        run = {
            one: (lambda one=one: programs[one](X, y, strength, TOLERANCES[at[one]]))
            for one in programs
            if at[one] is not None
        }
        times = {one: [seconds(call)] for one, call in run.items()}
        slow = SLOW * min(times.values())[0]
        for _ in range(REPEATS - 1):
            for one, taken in times.items():
                if taken[0] <= slow:
                    taken.append(seconds(run[one]))
        peers = [one for one in times if one != OURS]
        best_peer = min(peers, key=lambda one: times[one][0])
        at.update({one: None for one in peers if times[one][0] > slow and one != best_peer})
        medians = {one: float(np.median(taken)) for one, taken in times.items()}
        others = {one: taken for one, taken in medians.items() if one != OURS}
        peer = min(others, key=others.get)
        ratio = medians[OURS] / others[peer] if OURS in medians else np.inf
        note(
            what=f"{name}, excess {excess:g}",
            ms=1e3 * medians.get(OURS, np.inf),
            peer_ms=1e3 * others[peer],
            peer=peer,
            ratio=ratio,
        )
        shown = ", ".join(f"{one} {1e3 * taken:.1f}" for one, taken in medians.items())
        print(f"{name}, excess {excess:g}: ratio {ratio:.2f} (ms: {shown})", flush=True)


def problems():
    """Yield the name, programs, objective, X, y and lambdas of each problem, one after the other."""

    def digits():
        X, y = load_digits(return_X_y=True)
        return X / 16, y

    yield "digits-hinge", "digits-hinge", crammer_singer, digits, lambda X, y: (0.01, 0.001, 1 / len(y))
    yield "digits-softmax", "digits-softmax", softmax, digits, lambda X, y: (0.01, 0.001, 1 / len(y))
    for name, make in {"dense": dense, "sparse": rare}.items():
        for loss, value in {"hinge": hinge, "logistic": logistic}.items():
            yield f"{name}-{loss}", loss, value, make, lambda X, y: (0.001, 1 / len(y))

    def by_largest(X, y):
        largest = np.abs(X.T @ y).max() / len(y)
        return largest / 10, largest / 100

    rng = np.random.default_rng
    shapes = {
        "dense 1,000 x 5,000": lambda: np.asfortranarray(rng(0).standard_normal((1000, 5000))),
        "dense 5,000 x 500": lambda: np.asfortranarray(rng(0).standard_normal((5000, 500))),
        "correlated 500 x 10,000": lambda: correlated(500, 10_000),
        "sparse 10,000 x 50,000": lambda: sparse.random(
            10_000, 50_000, 1e-3, "csc", random_state=rng(0), data_rvs=rng(1).standard_normal
        ),
    }
    for shape, X in shapes.items():
        used = 500 if shape.startswith("sparse") else 100
        yield (
            f"lasso {shape}",
            "lasso",
            lasso,
            lambda X=X, used=used: regression(X(), rng(2), used),
            by_largest,
        )

    def by_largest_class(X, y):
        return by_largest(X, y - 0.5)

    shapes = {
        "dense 2,000 x 2,000": lambda: rng(0).standard_normal((2000, 2000)),
        "sparse 20,000 x 20,000": lambda: rare(20_000, 20_000, 50)[0],
    }
    for shape, X in shapes.items():
        yield (
            f"l1-logistic {shape}",
            "l1-logistic",
            l1_logistic,
            lambda X=X: few_of_many(X(), rng(2)),
            by_largest_class,
        )


def main(names, excesses):
    print(f"# whole fits, CPU ms, medians of {REPEATS}; {machine()}, {time.strftime('%Y-%m-%d')}")
    warnings.simplefilter("ignore")
    for name, programs, value, make, lambdas in problems():
        if names and not any(name.startswith(one) for one in names):
            continue
        X, y = make()
        for strength in lambdas(X, y):
            compare(f"{name}, lambda {strength:.3g}", PROGRAMS[programs], value, X, y, strength, excesses)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*")
    parser.add_argument("--excess", default="1e-2,1e-3,1e-4")
    given = parser.parse_args()
    recorded(main, given.names, [float(one) for one in given.excess.split(",")], peers=["skglm", "celer"])
