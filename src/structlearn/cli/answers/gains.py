"""What the values of an option brought in a search: each at its best, beside the first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import sqrt
from statistics import fmean, stdev
from typing import Any

from structlearn.cli.commands.search import Metric, Tried, TunedSetting
from structlearn.core.wording import align_columns


def gains(settings: Sequence[TunedSetting], metric: Metric, shown: Sequence[str]) -> list[dict[str, Any]]:
    """Return a row per value of each option of which several were tried.

    A row has the means over the folds of the figures that are `shown`, at the best lambda for this value; the
    gain is the mean of the differences to the first value on the same folds, with its standard error.
    """
    return [row for name in settings[0].options for row in _rows_of(name, settings, metric, shown)]


def _rows_of(
    name: str, settings: Sequence[TunedSetting], metric: Metric, shown: Sequence[str]
) -> Iterator[dict[str, Any]]:
    first: Tried | None = None
    for value in dict.fromkeys(one.options[name] for one in settings):
        own = [tried for one in settings if one.options[name] == value for tried in one.tried]
        best = max(own, key=lambda tried: metric.sign * tried.mean)
        first = first or best
        differences = [a - b for a, b in zip(best.scores, first.scores)]
        yield {
            "option": name,
            "value": value,
            "figures": {
                key: fmean(one[key] for one in best.figures) for key in shown if key in best.figures[0]
            },
            "gain": fmean(differences),
            "standard_error": stdev(differences) / sqrt(len(differences)),
        }


def gain_tables(rows: Sequence[dict[str, Any]], metric: str) -> Iterator[str]:
    """Yield a table per option, as text, with the figures that all its values have."""
    for name in dict.fromkeys(row["option"] for row in rows):
        own = [row for row in rows if row["option"] == name]
        shown = [key for key in own[0]["figures"] if all(key in row["figures"] for row in own)]
        head = [name.replace("_", "-"), *shown, f"gain in {metric}", "standard error"]
        yield align_columns([head, *(_cells(row, shown) for row in own)])


def _cells(row: dict[str, Any], shown: Sequence[str]) -> list[str]:
    figures = [f"{row['figures'][key]:.4f}" for key in shown]
    return [str(row["value"]), *figures, f"{row['gain']:+.4f}", f"{row['standard_error']:.4f}"]
