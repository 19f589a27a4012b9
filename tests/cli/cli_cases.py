"""Small data, and how to start the command line in a process of its own."""

import os
import signal
import sys
import time

import numpy as np
import pytest

from structlearn.data import FeatureVocabulary, read_columns, split_rows

# Ctrl-C reaches the child even where this process was started with SIGINT ignored.
_MAIN = (
    "import signal; signal.signal(signal.SIGINT, signal.default_int_handler);"
    "from structlearn.cli import main; main()"
)


def command(*arguments):
    return [sys.executable, "-c", _MAIN, *map(str, arguments)]


def await_end_of_group(process, seconds=60):
    """Wait until nothing is left of the process group that a process led; what is left then is killed."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            os.killpg(process.pid, 0)
        except ProcessLookupError:
            return
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGKILL)
    pytest.fail(f"A process of the group is still there after {seconds} s.")


def rows(n=60, d=4, k=3, seed=0):
    """Features and the classes 0..k-1 that they hint at."""
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(n, d)), 3)
    return X, np.argmax(X[:, :k] + 0.3 * rng.normal(size=(n, k)), axis=1)


def numbers(n=60, d=4, seed=0):
    """Features and a number that depends on two of them."""
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(n, d)), 3)
    return X, np.round(3 + X[:, 0] - 2 * X[:, 1] + 0.1 * rng.normal(size=n), 4)


def values(text):
    """`name: value` lines as a dict."""
    return dict(line.split(": ", 1) for line in text.splitlines())


def read_tags(path):
    """Sequences and labels of a column file."""
    sequences = read_columns(path)
    return split_rows(*FeatureVocabulary().fit_transform(sequences)), sequences.labels


def label_sets(n=60, d=4, k=3, seed=0):
    """Features and label sets, some of them empty."""
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(n, d)), 3)
    on = X[:, :k] + 0.3 * rng.normal(size=(n, k)) > 0.2
    return X, [tuple(np.flatnonzero(row).tolist()) for row in on]


def sentences(n=20, seed=0):
    """Sequences of (word, shape, label)."""
    rng = np.random.default_rng(seed)
    kinds = {"N": ["dog", "cat", "Rome"], "V": ["runs", "sees"], "D": ["the", "a"]}
    made = []
    for _ in range(n):
        labels = rng.choice(["D", "N", "V"], size=rng.integers(1, 6))
        words = [str(rng.choice(kinds[label])) for label in labels]
        made.append([(word, f"cap={word[0].isupper()}", str(label)) for word, label in zip(words, labels)])
    return made


def columns(sequences, n_columns=3):
    """The text of a column file."""
    return "\n".join("".join(" ".join(token[:n_columns]) + "\n" for token in one) for one in sequences)


def table(X, header, *more):
    """The text of a CSV file: features, then other columns."""
    lines = [",".join(map(str, [*row, *rest])) for row, *rest in zip(X.tolist(), *more)]
    return "\n".join([header, *lines]) + "\n"
