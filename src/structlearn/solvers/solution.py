"""What every solver returns: weights, a certificate of how far from optimal they are, and the way there."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field, replace
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from structlearn.core.contract import Array
from structlearn.storage.atomic import atomic_write

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from structlearn.problem.problem import Problem


#: How the status of a run that Ctrl-C ended begins.
INTERRUPTED = "Interrupted"


class Row(NamedTuple):
    """One evaluation of the certificate during training."""

    iteration: int
    passes: float
    oracle_calls: int
    seconds: float
    primal: float
    dual: float
    gap: float


class History:
    """The trace of a training run, one `Row` per evaluation; columns by name: ``history.gap``.

    `primal` and `dual` are the best values seen so far, `gap` is their difference. A solver may add columns
    of its own, which follow these.
    """

    def __init__(self, rows: Iterable[Row] = ()) -> None:
        self.rows = list(rows)
        self.extra: dict[str, list[float]] = {}

    @property
    def columns(self) -> tuple[str, ...]:
        return (*Row._fields, *self.extra)

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows)

    def __getitem__(self, key: str | int | slice) -> Any:
        """Return a column by name, a row by number."""
        if isinstance(key, str):
            if key in self.extra:
                return np.array(self.extra[key])
            position = Row._fields.index(key)
            return np.array([row[position] for row in self.rows])
        return self.rows[key]

    def __getattr__(self, name: str) -> Array:
        if name in Row._fields or name in self.__dict__.get("extra", ()):
            return self[name]
        raise AttributeError(f"History has the columns {', '.join(Row._fields)}; got {name!r}.")

    def append(self, row: Row, **extra: float) -> None:
        """Add a row; further columns must be added from the first row on."""
        self.rows.append(row)
        for name, value in extra.items():
            self.extra.setdefault(name, []).append(value)

    def pop(self) -> Row:
        """Take the last row back."""
        for values in self.extra.values():
            values.pop()
        return self.rows.pop()

    def lower(self, dual: float) -> None:
        """Take no dual value for more than `dual`, which is certain: what is above is drift or rounding."""
        self.rows = [
            row._replace(dual=dual, gap=row.primal - dual) if row.dual > dual else row for row in self.rows
        ]

    def _table(self) -> Iterator[tuple[float, ...]]:
        return ((*row, *extra) for row, *extra in zip(self.rows, *self.extra.values()))

    def to_csv(self, path: str | Path) -> None:
        """Write the trace with a header line."""
        with atomic_write(path) as aside, open(aside, "w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(self.columns)
            writer.writerows(self._table())

    def plot(self, axes: Axes | None = None, x: str = "passes") -> Axes:
        """Draw the primal value and the dual bound; the optimum lies in the band between them.

        `x` is "passes", "seconds" or "oracle_calls"; `axes` are Matplotlib's, new ones unless given.
        """
        if axes is None:
            import matplotlib.pyplot as plt

            axes = plt.subplots(layout="constrained")[1]
        axes.fill_between(self[x], self["dual"], self["primal"], alpha=0.3, label="the optimum is here")
        axes.plot(self[x], self["primal"], label="primal")
        axes.plot(self[x], self["dual"], linestyle="--", label="dual")
        axes.set(xlabel=x.replace("_", " "), ylabel="objective")
        axes.legend(frameon=False)
        return axes

    def to_frame(self) -> pd.DataFrame:
        """Return the trace as a pandas DataFrame (pandas is optional)."""
        import pandas as pd

        return pd.DataFrame(self._table(), columns=list(self.columns))


@dataclass(frozen=True)
class Certificate:
    """How far from optimal the returned weights are: their objective exceeds the optimum by at most `gap`.

    primal : P of the returned weights
    dual : the best lower bound seen, less all rounding errors that the two values may have
    passes, oracle_calls, seconds : what it took (without compilation)
    status : a sentence on why training ended and what to do next
    exact : False where the oracle was a relaxation, whose problem is then the one certified
    converged : whether the gap is within tol, or the solver is done
    rounding : the bound on rounding errors by which `dual` was lowered (see docs/trust.md)
    tolerance : the gap that `tol` asked for (see docs/certificate.md); 0 in older models and without a dual
    inference_gap : how much of `gap` bounds of inference leave open; 0 where it is exact, or not known
    calls : how often a `maximize` in plain Python was called in this run; 0 where it is compiled
    """

    primal: float
    dual: float
    gap: float
    passes: float
    oracle_calls: int
    seconds: float
    status: str
    exact: bool = True
    converged: bool = True
    rounding: float = 0.0
    tolerance: float = 0.0
    calls: int = field(default=0, compare=False)
    inference_gap: float = 0.0

    @property
    def solver_gap(self) -> float:
        """What the solver could still gain at these weights: the gap without what inference leaves open."""
        return self.gap - self.inference_gap

    @property
    def interrupted(self) -> bool:
        """Whether Ctrl-C ended the run."""
        return self.status.startswith(INTERRUPTED)

    def as_dict(self) -> dict[str, float | str]:
        found = asdict(self)
        for name in ("calls", "inference_gap"):
            if not found[name]:
                del found[name]
        return found

    def __str__(self) -> str:
        return "\n".join(f"{name}: {_plain(value)}" for name, value in self.as_dict().items())

    def _repr_html_(self) -> str:
        """Return a table, for notebooks, in their colours."""
        left = 'style="text-align: left; white-space: normal"'
        rows = (
            f'<tr><th scope="row" {left}>{name}</th><td {left}>{escape(_plain(value))}</td></tr>'
            for name, value in self.as_dict().items()
        )
        return f"<table>{''.join(rows)}</table>"


def _plain(value: float | str) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


class DualPoint(Protocol):
    """z as a solver keeps it: a dense array, or what NumPy makes one of."""

    @property
    def shape(self) -> tuple[int, ...]: ...

    def __array__(self) -> Array: ...


@dataclass(frozen=True)
class Solution:
    """Result of `solve`.

    w : the weights with the least primal value seen
    point : the dual point as its solver keeps it, where it keeps one; `z` is the same as a dense array
    state : the solver's last state, to go on from with the same solver on the same problem
    polytopes, content_hash : hashes of what examples have as outputs, and of the whole problem
    dual_norm : ||w(z)||^2 of the point with the best dual value; NaN where the solver does not tell
    """

    w: Array
    certificate: Certificate
    history: History = field(default_factory=History)
    point: DualPoint | None = None
    state: object = None
    polytopes: str = ""
    content_hash: str = ""
    dual_norm: float = np.nan

    def __getstate__(self) -> dict[str, object]:
        """Leave out the solver's state, which may hold the data and threads: a copy starts from z or w."""
        return {**self.__dict__, "state": None, "content_hash": ""}

    def fits(self, problem: Problem) -> bool:
        """Return whether there is a dual point that is feasible in a problem, whose outputs are the same."""
        return self.point is not None and self.polytopes != "" and self.polytopes == problem.polytopes

    def start_for(self, problem: Problem) -> Solution | None:
        """Return what a run on a problem may start from.

        The weights, where there are as many; the dual point, where it is feasible; the state of the solver,
        where nothing has changed.
        """
        if self.w.size != problem.n_weights or not np.isfinite(self.w).all():
            return None
        same = self.content_hash != "" and self.content_hash == problem.content_hash
        point, state = self.point if self.fits(problem) else None, self.state if same else None
        return replace(self, point=point, state=state)

    @property
    def z(self) -> Array | None:
        """The dual point, dense: examples end to end, each its local and then its shared parts."""
        return None if self.point is None else np.asarray(self.point)
