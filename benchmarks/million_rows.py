"""A million rows of 30 columns, from the file to rows of features and to a model: seconds and memory.

python benchmarks/million_rows.py [ROWS]

Each way runs in a process of its own, on the same file; seconds are of the processor and by the clock, and
those of models are of whole processes, imports included.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
from common import note, recorded

QUICK = [["50000"]]
_MEASURE = """
import json, resource, sys, time
begin, clock = time.process_time() * {reading}, time.perf_counter()
{code}
seconds, clock = time.process_time() - begin, time.perf_counter() - clock
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
print(json.dumps([seconds, clock, peak]), file=sys.stderr)
"""
OURS = """
from structlearn.data import read_table
from structlearn import make_table_transformer
table = read_table(sys.argv[1], target_kind="classes")
transformer = make_table_transformer(min_frequency=table.min_frequency, kinds=table.kinds)
X = transformer.fit_transform(table.frame)
"""
PLAIN = "from structlearn.data.tables import source; source.ARROW_FROM = 1 << 60\n" + OURS
THEIRS = """
import pandas as pd
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.preprocessing import OneHotEncoder, StandardScaler
frame = pd.read_csv(sys.argv[1])
y = frame.pop("y")
levels = OneHotEncoder(min_frequency=5, handle_unknown="infrequent_if_exist")
X = make_column_transformer(
    (StandardScaler(), make_column_selector(dtype_include="number")),
    (levels, make_column_selector(dtype_exclude="number")),
).fit_transform(frame)
"""


THEIR_MODEL = f"""{THEIRS}
from sklearn.linear_model import LogisticRegression
LogisticRegression(max_iter=1000).fit(X, y)
"""
OUR_MODEL = """
from structlearn.cli import app
app(["train", "classify", sys.argv[1], "--out", sys.argv[1] + ".st"], standalone_mode=False)
"""


def write_table(path, n):
    """27 numbers, 3 of them whole, and 3 categories."""
    rng = np.random.default_rng(0)
    columns = {f"n{j}": rng.normal(size=n).round(4) for j in range(24)}
    columns |= {f"i{j}": rng.integers(0, 100_000, n) for j in range(3)}
    for j, levels in enumerate((5, 50, 1000)):
        columns[f"c{j}"] = np.array([f"level{k}" for k in range(levels)])[rng.integers(levels, size=n)]
    frame = pd.DataFrame(columns)
    score = frame.n0 + frame.n1 - frame.n2 / 2 + 2 * (frame.c0 == "level1") + rng.normal(size=n)
    frame.assign(y=np.where(score > 0.5, "yes", "no")).to_csv(path, index=False)


def measure(code, path):
    """CPU seconds and GB of a process."""
    program = _MEASURE.format(code=code, reading=int("Logistic" not in code and "train" not in code))
    found = subprocess.run(
        [sys.executable, "-c", program, str(path)], capture_output=True, text=True, check=True, env=os.environ
    )
    return json.loads(found.stderr.splitlines()[-1])


def main(n):
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "rows.csv"
        write_table(path, n)
        ways = {
            "features, pandas and scikit-learn": THEIRS,
            "features, ours": OURS,
            "features, ours without pyarrow": PLAIN,
            "model, pandas and scikit-learn": THEIR_MODEL,
            "model, `structlearn train classify`": OUR_MODEL,
        }
        for what, code in ways.items():
            seconds, clock, peak = measure(code, path)
            note(what=what, rows=n, cpu_seconds=seconds, seconds=clock, gigabytes=peak)
            print(f"{what}: {seconds:.2f} CPU s, {clock:.2f} s by the clock, {peak:.2f} GB", flush=True)


if __name__ == "__main__":
    recorded(
        main,
        int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000,
        peers=("scikit-learn", "pandas", "pyarrow"),
    )
