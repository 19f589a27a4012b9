"""Messy tables as they are, beside a ColumnTransformer and LogisticRegression that a careful person wrote.

python benchmarks/messy_tables.py [SEEDS]

Tables are made: names, ages that are missing, dates, money, yes and no, categories, free text, and an answer
that depends on all of them. Ours gets the file; the peer gets columns that were parsed by hand. Both weigh
the penalty alike (C = 1 is lambda = 1 / n), and ours is tried with its default, too. Three real tables of
scikit-learn, whose columns are numbers, follow. Accuracy on rows that were held out.
"""

import sys
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
from common import note, recorded
from sklearn.compose import ColumnTransformer
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from structlearn import MulticlassClassifier, make_table_transformer
from structlearn.data import read_table, read_table_pieces

QUICK = [[1]]
WORDS = [
    "refund",
    "broken",
    "late",
    "great",
    "perfect",
    "slow",
    "kind",
    "rude",
    "cheap",
    "lovely",
    "missing",
    "again",
    "never",
    "always",
    "fine",
    "box",
]
TONE = dict(zip(WORDS, [-2, -2, -1.5, 2, 2, -1, 1, -2, -0.5, 1.5, -1.5, 0, -1, 0.5, 0.5, 0]))


def messy_table(n, seed):
    """A table as people have it, and the answer."""
    rng = np.random.default_rng(seed)
    age = rng.normal(45, 15, n).round()
    price = rng.lognormal(6, 1, n).round(2)
    when = pd.Timestamp("2019-01-01") + pd.to_timedelta(rng.integers(0, 1400, n), unit="D")
    plan = rng.choice(["basic", "plus", "pro", "trial"], n, p=[0.5, 0.3, 0.15, 0.05])
    member = rng.random(n) < 0.4
    share = rng.uniform(0, 100, n).round(1)
    words = [rng.choice(WORDS, rng.integers(4, 12)) for _ in range(n)]
    tone = np.array([sum(TONE[word] for word in one) / np.sqrt(len(one)) for one in words])
    score = 0.03 * (age - 45) + 0.6 * (np.log(price) - 6) + 0.8 * np.isin(when.month, [11, 12])
    score += 0.5 * (when.day_of_week >= 5) - 0.001 * (when - when[0]).days + 0.7 * member + 0.5 * tone
    score += np.where(plan == "pro", 1.0, 0.0) + 0.01 * (share - 50)
    y = np.where(score + rng.logistic(size=n) > np.median(score), "stays", "leaves")
    frame = pd.DataFrame(
        {
            "id": np.arange(1, n + 1),
            "name": [f"Customer {k}" for k in rng.permutation(n)],
            "age": np.where(rng.random(n) < 0.15, np.nan, age),
            "paid": [f"${one:,.2f}" for one in price],
            "since": [f"{one.day}/{one.month}/{one.year}" for one in when],
            "plan": np.where(rng.random(n) < 0.05, None, plan),
            "member": np.where(member, "yes", "no"),
            "used": [f"{one}%" for one in share],
            "comment": [" ".join(one) for one in words],
            "y": y,
        }
    )
    return frame


def parsed_by_hand(frame):
    """The columns, as somebody parses them who knows them."""
    when = pd.to_datetime(frame.since, format="%d/%m/%Y")
    return frame.assign(
        paid=frame.paid.str.replace("[$,]", "", regex=True).astype(float),
        used=frame.used.str.rstrip("%").astype(float),
        member=(frame.member == "yes").astype(float),
        days=(when - pd.Timestamp("2019-01-01")).dt.days,
        year=when.dt.year,
        month=when.dt.month,
        weekday=when.dt.day_of_week,
    )


def careful():
    """The peer's pipeline for the messy tables."""
    numbers = make_pipeline(SimpleImputer(strategy="median", add_indicator=True), StandardScaler())
    levels = OneHotEncoder(min_frequency=5, handle_unknown="infrequent_if_exist")
    parts = [
        ("numbers", numbers, ["age", "paid", "used", "member", "days", "year"]),
        ("levels", levels, ["plan", "month", "weekday"]),
        ("words", TfidfVectorizer(min_df=2), "comment"),
    ]
    return make_pipeline(ColumnTransformer(parts), LogisticRegression(max_iter=1000))


def ours(folder, train, test, regularization):
    """The accuracy of what `train classify` and `evaluate` do."""
    train.to_csv(folder / "train.csv", index=False)
    test.to_csv(folder / "test.csv", index=False)
    table = read_table(folder / "train.csv", target_kind="classes")
    transformer = make_table_transformer(min_frequency=table.min_frequency, kinds=table.kinds)
    model = MulticlassClassifier(
        row_transformer=transformer, regularization=regularization, tol=1e-5, random_state=0
    )
    model.fit(table.frame, table.y)
    pieces = read_table_pieces(folder / "test.csv", table.kinds, target_names=["y"], target_kind="classes")
    right = np.concatenate([model.predict(one.frame) == one.y for one in pieces])
    return float(right.mean())


def compare(what, folder, train, test, peer, parse=lambda frame: frame):
    """A row of accuracies."""
    n = len(train)
    X, X_test = (parse(one).drop(columns="y") for one in (train, test))
    found = {
        "scikit-learn": float((peer.fit(X, train.y).predict(X_test) == test.y).mean()),
        "ours, lambda = 1 / n": ours(folder, train, test, 1 / n),
        "ours, default": ours(folder, train, test, 0.01),
    }
    note(what=what, rows=n, **found)
    print(what, n, *(f"{name} {value:.4f}" for name, value in found.items()), flush=True)
    return list(found.values())


def main(seeds):
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        all_found = []
        for seed in range(seeds):
            frame = messy_table(6000, seed)
            train, test = frame[:2000], frame[2000:]
            all_found.append(compare(f"made, seed {seed}", folder, train, test, careful(), parsed_by_hand))
        mean = np.mean(all_found, axis=0)
        names = ("scikit-learn", "ours, lambda = 1 / n", "ours, default")
        note(what="made, mean", rows=2000, **dict(zip(names, mean.tolist())))
        print("mean", *mean.round(4))
        for load in (load_breast_cancer, load_wine, load_digits):
            data = load(as_frame=True)
            frame = data.data.assign(y=data.target.map(lambda k: f"class {k}"))
            frame = frame.sample(frac=1, random_state=0)
            half = len(frame) // 2
            peer = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
            what = load.__name__.removeprefix("load_")
            compare(what, folder, frame[:half], frame[half:], peer)


if __name__ == "__main__":
    recorded(main, int(sys.argv[1]) if len(sys.argv) > 1 else 5, peers=("scikit-learn", "pandas"))
