"""What K threads or K machines would bring: passes are counted, seconds are a model with measured constants.

python benchmarks/workers.py [count] [model] [--counts FILE]

*Counted*: passes to a gap of 1e-2 on the letters (folds 1-9, lambda 0.01), with K partitions in this process
or K threads (more than there are cores, which counts the same): staleness is real, only time is not. The
other problems are assumed to need as many times more passes as letters do.

*Modelled*, for n examples of t seconds a visit, d weights, and passes(K) relative to one worker:

    T(K) = passes(K) * ( n t s / K + r * (L + 16 d K / B + c d K^2) )

n t     one worker's processor time of a pass, with what follows it (cached passes, its part of evaluation)
s       how much slower a visit is beside others on one machine (memory), measured with two; 1 on machines
r       rounds a pass: full ones, and the short ones of cached passes (machines); n / (K visits) for threads
L       latency of a round: sending, waking, waiting
16 d K / B   w to K workers and their changes back, at the driver; nothing between threads
c d K^2 the line search over K changes (all products of two), at the driver; c = 0.26 s / (1e5 * 100^2);
        a thread also copies w and adds up: c d (K^2 + 4 K), all of them at once
"""

from __future__ import annotations

import argparse
import json
import warnings
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from common import letters, note, recorded

from structlearn import ChainClassifier
from structlearn.estimators import cluster
from structlearn.solvers.bcfw.active import WEIGHTS_A_VISIT, ActiveSetBlocks
from structlearn.solvers.bcfw.rounds import PARTS_OF_A_VISIT

WORKERS = (1, 2, 4, 16, 32, 64)
THREADS = (1, 2, 4, 16)
ROUNDS = (4, 20)
GAP, MOST_PASSES = 1e-2, 1000
#: seconds of a line search per weight and pair of workers (see results/journal/a-cluster.json)
SEARCH = 0.26 / (1e5 * 100**2)
#: rounds over blocks worth another visit that follow each full pass
SHORT_ROUNDS = 8
#: the driver's rule: work of a round is so many times its sending, within the fewest and most rounds
WORTH = 4.0


# ---- passes, counted ----------------------------------------------------------------------------


class InProcess:
    """An engine whose workers are objects here, asked one after the other."""

    def __init__(self, size: int) -> None:
        self.size, self.objects = size, {}

    def open(self, make) -> None:
        self.objects = {number: one() for number, one in enumerate(make)}

    def call(self, name, arguments):
        return {number: getattr(self.objects[number], name)(*values) for number, values in arguments.items()}

    def revive(self, number) -> None:
        raise RuntimeError("No worker is lost in this process.")


def count(path: Path) -> None:
    """Passes to the gap by number of workers and rounds, and by threads; what the file has stays."""
    X, y, folds = letters()
    chosen = np.flatnonzero(folds != 0)
    X, y = [X[i] for i in chosen], [y[i] for i in chosen]
    options = {
        "loss": "hinge",
        "regularization": 0.01,
        "tol": GAP,
        "max_passes": MOST_PASSES,
        "fit_intercept": False,
    }
    found = json.loads(path.read_text()) if path.exists() else {}

    def fit(name: str, n_jobs: int = 1, solver: str = "bcfw", **where) -> None:
        if name in found:
            return
        model = ChainClassifier(solver=solver, random_state=0, n_jobs=n_jobs, **options)
        certificate = model.fit(X, y, **where).certificate_
        found[name] = certificate.passes if certificate.converged else float("inf")
        path.write_text(json.dumps(found, indent=1))
        note(what=name, passes=found[name])
        print(f"{name:28s} {found[name]:6.0f} passes", flush=True)

    for solver in ("bcfw", "seg"):
        for k in THREADS:
            fit(f"{solver} threads {k}", k, solver)
    for rounds in ROUNDS:
        cluster.JoinedBlocks = partial(_joined, rounds, adapt=False)
        for k in WORKERS:
            fit(f"workers {k} rounds {rounds}", client=InProcess(k))


_joined = cluster.JoinedBlocks


# ---- seconds, modelled --------------------------------------------------------------------------


@dataclass(frozen=True)
class Problem:
    """What a pass costs one worker."""

    name: str
    n: int
    #: seconds a visit, with what follows it
    visit: float
    d: int
    passes: float
    #: local parts of an example
    parts: float


@dataclass(frozen=True)
class Place:
    """Where the workers are."""

    name: str
    #: seconds of a round beside work and bytes
    latency: float
    #: bytes a second at the driver
    bandwidth: float
    #: how much slower a visit is beside others
    slower: float = 1.0


#: Letters: 2.21 s of the processor for 8 passes. Parsing: 136 s for 6 passes over EWT, labels included, so
#: that a visit is too dear rather than too cheap (results/journal/parsing.json, a-cluster.json). The
#: larger ones are only larger.
PROBLEMS = (
    Problem("letters", 6_251, 44e-6, 4_004, 8, 217),
    Problem("letters x 100", 625_100, 44e-6, 4_004, 8, 217),
    Problem("parsing", 12_544, 1.8e-3, 1 << 22, 6, 438),
    Problem("parsing x 100", 1_254_400, 1.8e-3, 1 << 22, 6, 438),
)
HERE = Place("local processes", 5e-3, 2e9, 1.1)
NETWORK = Place("machines, 10 Gbit/s", 1e-3, 1.25e9)


def rounds_of(problem: Problem, place: Place, k: int, fewest: int = ROUNDS[0], most: int = ROUNDS[1]) -> int:
    """As the driver adapts them."""
    overhead = place.latency + 16 * problem.d * k / place.bandwidth
    return int(np.clip(problem.n * problem.visit * place.slower / k / (WORTH * overhead), fewest, most))


def seconds(problem: Problem, place: Place, k: int, counted: dict[str, float]) -> tuple[float, float]:
    """Seconds to the gap with k workers, and which fraction of them is work."""
    if k == 1:
        return problem.passes * problem.n * problem.visit, 1.0
    rounds = rounds_of(problem, place, k)
    near = min(ROUNDS, key=lambda known: abs(np.log(known / rounds)))
    passes = problem.passes * counted.get(f"workers {k} rounds {near}", np.nan) / counted["bcfw threads 1"]
    work = problem.n * problem.visit * place.slower / k
    sent = place.latency + 16 * problem.d * k / place.bandwidth + SEARCH * problem.d * k**2
    total = work + (rounds + SHORT_ROUNDS) * sent
    return passes * total, work / total


def thread_seconds(problem: Problem, k: int, counted: dict[str, float], slower: float) -> tuple[float, float]:
    """The same for k threads, without a limit of memory bandwidth beyond what two have shown."""
    if k == 1:
        return problem.passes * problem.n * problem.visit, 1.0
    least = ActiveSetBlocks.least_visits + problem.d // WEIGHTS_A_VISIT
    visits = int(least * min(1.0, PARTS_OF_A_VISIT / problem.parts))
    rounds = max(1, problem.n // (k * visits))
    work = problem.n * problem.visit * slower / k
    total = work + rounds * SEARCH * problem.d * (k**2 + 4 * k)
    passes = problem.passes * counted[f"bcfw threads {k}"] / counted["bcfw threads 1"]
    return passes * total, work / total


def model(counted: dict[str, float]) -> None:
    """Speed-ups over one worker; in brackets the fraction of the time that is work."""
    for place in (HERE, NETWORK):
        print(f"\n{place.name}: times as fast as one (work's share of the time)")
        _table(
            WORKERS[1:], [(one.name, [seconds(one, place, k, counted) for k in WORKERS]) for one in PROBLEMS]
        )
    print("\nthreads: times as fast as one (work's share of the time)")
    rows = [(one.name, [thread_seconds(one, k, counted, HERE.slower) for k in THREADS]) for one in PROBLEMS]
    _table(THREADS[1:], rows)


def _table(workers, rows) -> None:
    print("| | one, s | " + " | ".join(map(str, workers)) + " |")
    print("|---" * (2 + len(workers)) + "|")
    for name, ((alone, _), *others) in rows:
        cells = " | ".join(
            f"{alone / took:.2g} ({work:.0%})" if 0 < took < np.inf else f"{_why(took)} ({work:.0%})"
            for took, work in others
        )
        print(f"| {name} | {alone:.3g} | {cells} |")


def _why(took: float) -> str:
    return "never" if took == np.inf else "not counted"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("what", nargs="*", default=["count", "model"])
    parser.add_argument("--counts", type=Path, default=Path("workers.json"))
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    if "count" in options.what:
        count(options.counts)
    if "model" in options.what:
        model(json.loads(options.counts.read_text()))


if __name__ == "__main__":
    recorded(main)
