"""Run the study of decisions: data sets in processes, each kept as it ends."""

from __future__ import annotations

import json
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from structlearn.core.processes import end_with_parent, start_method
from structlearn.estimators.decisions.predictor import DecisionPredictor
from structlearn.reports.decisions.grid import FACTORS, METHODS, PATIENCE, PROBLEMS, DecisionCell
from structlearn.storage.atomic import atomic_write, make_folder
from structlearn.storage.errors import DataError

CELLS = "cells"


class MethodResult(NamedTuple):
    """What came of one method on one data set; regrets are normalised, and seconds are of all its fits."""

    method: str
    regularization: float
    validation_regret: float
    test_regret: float
    cpu_seconds: float


class DecisionResult(NamedTuple):
    """What came of all methods on one data set."""

    cell: DecisionCell
    methods: list[MethodResult]


def measure_cell(cell: DecisionCell) -> DecisionResult:
    """Train every method on a data set, with the lambda of the least regret on the validation examples."""
    X, costs, structure = cell.data()
    ends = [cell.n, cell.n + cell.n_validation]
    parts = list(zip(np.split(X, ends), np.split(costs, ends), strict=True))
    sense = PROBLEMS[cell.problem][1]
    found = []
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        for loss, options in METHODS.items():
            model = DecisionPredictor(structure, loss=loss, sense=sense, random_state=cell.seed, **options)
            found.append(_measure_method(model, *parts))
    return DecisionResult(cell, found)


def _measure_method(model: DecisionPredictor, train: Any, validation: Any, test: Any) -> MethodResult:
    begin = time.process_time()
    unit = model.fit(*train).regularization_
    model.set_params(warm_start=model.loss != "two-stage")
    least, worse = MethodResult(model.loss, np.nan, np.inf, np.nan, 0.0), 0
    for factor in FACTORS:
        model.set_params(regularization=factor * unit).fit(*train)
        regret = -model.score(*validation)
        worse += factor <= 1.0  # where lambda is large, all may be as bad
        if regret < least.validation_regret:
            least, worse = MethodResult(model.loss, factor * unit, regret, -model.score(*test), 0.0), 0
        if worse == PATIENCE:
            break
    return least._replace(cpu_seconds=time.process_time() - begin)


# ---- many of them ----------------------------------------------------------------------------------


def run_cells(
    cells: Sequence[DecisionCell], out: Path, jobs: int, tell: Callable[[str], object]
) -> list[DecisionResult]:
    """Measure the data sets that `out` does not keep yet, several at once; return the results of all."""
    folder = make_folder(out / CELLS)
    missing = [one for one in cells if not (folder / one.file).exists()]
    if len(missing) < len(cells):
        tell(f"{len(cells) - len(missing)} of {len(cells)} data sets are kept from an earlier run.")
    begin = time.monotonic()
    for k, result in enumerate(_measured(missing, jobs), 1):
        keep(result, folder)
        if k == len(missing) or k % max(len(missing) // 20, 1) == 0:
            tell(f"{k} of {len(missing)} data sets after {time.monotonic() - begin:.0f} s.")
    return [read_result(folder / one.file) for one in cells]


def _measured(cells: Sequence[DecisionCell], jobs: int) -> Iterator[DecisionResult]:
    if jobs == 1 or len(cells) < 2:
        yield from map(measure_cell, cells)
        return
    with start_method().Pool(jobs, initializer=end_with_parent) as pool:
        yield from pool.imap_unordered(measure_cell, cells)


def keep(result: DecisionResult, folder: Path) -> None:
    """Write the result of a data set, whole or not at all."""
    shown = {"cell": result.cell._asdict(), "methods": [one._asdict() for one in result.methods]}
    with atomic_write(folder / result.cell.file) as aside:
        aside.write_text(json.dumps(shown, indent=1), encoding="utf-8")


def read_result(path: Path) -> DecisionResult:
    """Read what was kept of a data set; DataError says what to do if that cannot be."""
    try:
        given = json.loads(path.read_text(encoding="utf-8"))
        cell = DecisionCell(**given["cell"])
        return DecisionResult(cell, [MethodResult(**one) for one in given["methods"]])
    except (ValueError, TypeError, KeyError):
        raise DataError(f"{path} is not the result of a study; remove it, and run the study again.") from None
