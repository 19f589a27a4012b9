"""What lambda should be where `train classify` on a table is given none: rules beside each other.

python benchmarks/table_lambda.py [SEEDS]

No table here is one of `messy_tables.py`, which reports accuracy: its seeds are 0 to 4, those of the messy
tables here 100 and above. The others are drawn by scikit-learn's `make_classification`. A row per kind of
table has the mean over seeds of the accuracy, and of the log loss, on 3,000 rows that were held out.
"""

import sys
from collections import defaultdict
from itertools import product

import numpy as np
from common import note, recorded
from messy_tables import messy_table
from sklearn.datasets import make_classification

from structlearn import MulticlassClassifier, make_table_transformer
from structlearn.metrics import log_loss

QUICK = [[1]]
HELD_OUT, FIRST = 3000, 0
RULES = {
    "0.01": lambda n: 0.01,
    "1 / n": lambda n: 1 / n,
    "0.1 / sqrt(n)": lambda n: 0.1 / np.sqrt(n),
}
#: features, informative ones, classes, share of wrong labels, how far classes are apart
KINDS = [
    *((12, 6, 2, 0.1, 1.0), (60, 10, 2, 0.0, 1.0), (40, 20, 6, 0.05, 1.0), (64, 40, 10, 0.0, 1.0)),
    *((12, 6, 2, 0.0, 3.0), (60, 10, 2, 0.0, 3.0), (40, 20, 6, 0.01, 3.0), (64, 40, 10, 0.0, 3.0)),
]
ROWS = (60, 300, 1500, 8000)


def tables(seed):
    """Yield kinds of tables, and training and held-out data."""
    for n, (d, informative, k, noise, apart) in product(ROWS, KINDS):
        X, y = make_classification(
            n + HELD_OUT,
            d,
            n_informative=informative,
            n_classes=k,
            flip_y=noise,
            class_sep=apart,
            random_state=seed,
        )
        what = f"drawn, {n} rows, {d} features, {k} classes, {apart:g} apart"
        yield what, (X[:n], y[:n]), (X[n:], y[n:])
    for n in (200, 1000, 5000):
        frame = messy_table(n + HELD_OUT, 100 + seed).drop(columns=["id", "name"])
        X, y = frame.drop(columns="y"), frame.y.to_numpy()
        yield f"messy, {n} rows", (X[:n], y[:n]), (X[n:], y[n:])


def main(seeds):
    found = defaultdict(list)
    for seed in range(FIRST, FIRST + seeds):
        for what, (X, y), (X_test, y_test) in tables(seed):
            for rule, value in RULES.items():
                model = MulticlassClassifier(
                    row_transformer=make_table_transformer(), regularization=value(len(y)), tol=1e-4
                ).fit(X, y)
                proba, codes = model.predict_proba(X_test), np.searchsorted(model.classes_, y_test)
                right = float((proba.argmax(axis=1) == codes).mean())
                for group in (what.split(", ")[0] + f" of {len(y)} rows", "all"):
                    found[group, rule].append((right, log_loss(codes, proba)))
    for group in sorted(dict.fromkeys(group for group, _ in found), key="all".__eq__):
        means = {rule: np.mean(found[group, rule], axis=0) for rule in RULES}
        row = {f"accuracy, {rule}": float(one[0]) for rule, one in means.items()}
        row |= {f"log loss, {rule}": float(one[1]) for rule, one in means.items()}
        note(what=group, **row)
        print(group, *(f"{rule}: {one[0]:.4f} {one[1]:.4f}" for rule, one in means.items()), flush=True)


if __name__ == "__main__":
    recorded(main, int(sys.argv[1]) if len(sys.argv) > 1 else 4, peers=("scikit-learn",))
