"""`python -m tests.torture`: thousands of seeded tests in a few processes; exit 1 if one fails.

A part is a module beside this one with `run(seed)`, which answers (label, failure or None) and perhaps
whether the package refused the problem, as it may. `groups(seeds)`, where there is one, tells which seeds are
best run by one process, and `describe(seed)` what a test is.
"""

from __future__ import annotations

import argparse
import faulthandler
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from importlib import import_module
from importlib.util import find_spec
from multiprocessing import get_context
from typing import Any, NamedTuple

#: How many seeds each part has for one of the fits asked for.
PARTS = {
    "fits": 1.0,
    "regressions": 0.2,
    "lives": 0.1,
    "special": 0.05,
    "decisions": 0.2,
    "files": 0.5,
    "kills": 0.01,
}
SEEDS_AT_ONCE = 100
#: After so many seconds one test is given up, with its process.
PATIENCE = 600
#: Groups after which all processes begin anew: compiled code fills their memory.
GROUPS_A_POOL = 100


class Outcome(NamedTuple):
    """What one seed of a part came to."""

    part: str
    seed: int
    label: str
    failure: str | None
    refused: bool = False


def main() -> int:
    arguments = parsed()
    parts = [name for name in arguments.part or PARTS if find_spec(f"{__package__}.{name}")]
    if arguments.seed is not None:
        return one_seed(parts[0], arguments.seed)
    begin, outcomes = time.perf_counter(), []
    total = sum(int(PARTS[name] * arguments.n) for name in parts)
    for part in parts:
        seeds = range(arguments.first, arguments.first + int(PARTS[part] * arguments.n))
        for found in in_processes(part, seeds, arguments.jobs):
            outcomes += found
            told(found, len(outcomes), total, begin)
    print(summary(outcomes, time.perf_counter() - begin))
    return int(any(one.failure for one in outcomes))


def parsed() -> Any:
    parser = argparse.ArgumentParser(prog="python -m tests.torture", description=__doc__.splitlines()[0])
    parser.add_argument("-n", type=int, default=10_000, help="fits; half as many files")
    parser.add_argument("--part", action="append", choices=PARTS, help="only this one (may be repeated)")
    parser.add_argument("--seed", type=int, help="run one seed of the first part, and show it")
    parser.add_argument("--first", type=int, default=0, help="where seeds begin")
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    return parser.parse_args()


def one_seed(part: str, seed: int) -> int:
    """Run one test in this process and say what it is."""
    describe = getattr(import_module(f"{__package__}.{part}"), "describe", None)
    found = run_seeds(part, [seed])
    print(*([describe(seed)] if describe else []), found[0], sep="\n")
    return show(found)


def run_seeds(part: str, seeds: Iterable[int]) -> list[Outcome]:
    """In this process; one that takes too long ends it."""
    run = import_module(f"{__package__}.{part}").run
    found = []
    for seed in seeds:
        faulthandler.dump_traceback_later(PATIENCE, exit=True)
        found.append(Outcome(part, seed, *run(seed)))
        faulthandler.cancel_dump_traceback_later()
    return found


def in_processes(part: str, seeds: range, jobs: int) -> Iterator[list[Outcome]]:
    """What the seeds come to, group by group, as they end."""
    grouped = getattr(import_module(f"{__package__}.{part}"), "groups", None)
    groups = grouped(seeds) if grouped else in_order(seeds)
    lost: list[list[int]] = []
    for k in range(0, len(groups), GROUPS_A_POOL):
        yield from _in_pool(part, groups[k : k + GROUPS_A_POOL], jobs, lost)
    for group in lost:  # a process died: find out which seed it was
        yield [outcome for seed in group for outcome in alone(part, seed)]


def _in_pool(part: str, groups: list[list[int]], jobs: int, lost: list[list[int]]) -> Iterator[list[Outcome]]:
    """Groups in new processes; those that died with one go to `lost`."""
    with _pool(jobs) as pool:
        futures = {pool.submit(run_seeds, part, group): group for group in groups}
        for future in as_completed(futures):
            if isinstance(future.exception(), BrokenProcessPool):
                lost.append(futures[future])
            else:
                yield future.result()


def in_order(seeds: range) -> list[list[int]]:
    return [list(seeds[k : k + SEEDS_AT_ONCE]) for k in range(0, len(seeds), SEEDS_AT_ONCE)]


def alone(part: str, seed: int) -> list[Outcome]:
    """One seed in a process of its own."""
    with _pool(1) as pool:
        future: Future[list[Outcome]] = pool.submit(run_seeds, part, [seed])
        try:
            return future.result()
        except BrokenProcessPool:
            return [Outcome(part, seed, "", "the process died, or did not end")]


def _pool(jobs: int) -> ProcessPoolExecutor:
    return ProcessPoolExecutor(jobs, mp_context=get_context("spawn"))


def told(found: list[Outcome], done: int, total: int, begin: float) -> None:
    """Failures at once, progress every so often, on stderr."""
    show(found)
    if done * 20 // total > (done - len(found)) * 20 // total:
        print(f"{done} of {total}, {time.perf_counter() - begin:.0f} s", file=sys.stderr, flush=True)


def show(found: list[Outcome]) -> int:
    """Failures on stderr, each with the way to see it again; 1 if there are any."""
    failed = [one for one in found if one.failure]
    for one in failed:
        again = f"python -m tests.torture --part {one.part} --seed {one.seed}"
        print(f"FAILED {again}   [{one.label}] {one.failure}", file=sys.stderr, flush=True)
    return int(bool(failed))


def summary(outcomes: list[Outcome], seconds: float) -> str:
    """Counts, one a line, as `name: tests, failures`."""
    lines = []
    for part in dict.fromkeys(one.part for one in outcomes):
        own = [one for one in outcomes if one.part == part]
        refused = sum(one.refused for one in own)
        lines.append(
            f"{part}: {len(own)}, {_failed(own)} failed" + (f", {refused} refused" if refused else "")
        )
        labels = [one.label.split(" / ") for one in own]
        for place in range(3):
            names = Counter(label[place] for label in labels if len(label) > place)
            bad = Counter(
                label[place] for label, one in zip(labels, own) if len(label) > place and one.failure
            )
            lines += [f"  {name}: {count}, {bad[name]} failed" for name, count in sorted(names.items())]
    return "\n".join([*lines, f"all: {len(outcomes)}, {_failed(outcomes)} failed, {seconds:.0f} s"])


def _failed(outcomes: list[Outcome]) -> int:
    return sum(one.failure is not None for one in outcomes)
