"""What it takes to read a table and to map its rows: CPU seconds, the best of three.

python benchmarks/tables.py [ROWS]
"""

import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd
from common import note, recorded

from structlearn import make_table_transformer
from structlearn.data import read_csv, read_table
from structlearn.estimators.row_maps.stored import stored_transformer

QUICK = [[]]


def write_tables(folder, n):
    """A table of 20 numbers, and one in which 5 of the columns are text and some cells are empty."""
    rng = np.random.default_rng(0)
    numbers = pd.DataFrame(rng.normal(size=(n, 20)).round(6), columns=[f"c{j}" for j in range(20)])
    mixed = numbers.copy()
    for j, levels in enumerate((2, 10, 100, 1000, n)):
        mixed[f"c{j}"] = [f"level {k}" for k in rng.integers(levels, size=n)]
    mixed.loc[rng.random(n) < 0.1, ["c3", "c9"]] = np.nan
    for name, frame in (("numbers", numbers), ("mixed", mixed)):
        frame.assign(y=rng.integers(3, size=n)).to_csv(folder / f"{name}.csv", index=False)


def best(function):
    """CPU seconds of the quickest of three runs, and what it gives."""
    seconds = []
    for _ in range(3):
        begin = time.process_time()
        found = function()
        seconds.append(time.process_time() - begin)
    return min(seconds), found


def main(n):
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_tables(folder, n)
        for kind in ("numbers", "mixed"):
            report(kind, folder / f"{kind}.csv")


def report(kind, path):
    """A line for each figure."""
    seconds, table = best(lambda: read_table(path))
    figure(kind, "read_table", seconds)
    if kind == "numbers":
        figure(kind, "read_csv", best(lambda: read_csv(path))[0])
    figure(kind, "pandas.read_csv", best(lambda: pd.read_csv(path))[0])
    seconds, fitted = best(lambda: make_table_transformer().fit(table.X))
    stored = stored_transformer(fitted)
    figure(kind, "the transformer's fit", seconds)
    figure(kind, "its transform", best(lambda: fitted.transform(table.X))[0])
    figure(kind, "from a model file", best(lambda: stored.transform(table.X))[0])


def figure(kind, what, seconds):
    note(what=f"{kind}: {what}", cpu_seconds=seconds)
    print(f"{kind}: {what} {seconds:.2f}")


if __name__ == "__main__":
    recorded(main, int(sys.argv[1]) if len(sys.argv) > 1 else 50_000, peers=("pandas",))
