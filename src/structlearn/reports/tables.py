"""Numbers as text."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from structlearn.reports.runs import Run


def final_row(run: Run) -> dict[str, str]:
    """Return where a run of a comparison ended, by the names of the table's columns."""
    found = run.certificate
    return {
        "solver": run.name,
        "gap": brief(found.gap, 3),
        "primal": brief(found.primal, 6),
        "dual": brief(found.dual, 6),
        "passes": brief(found.passes, 3),
        "calls": brief(found.oracle_calls, 3),
        "seconds": brief(found.seconds, 3),
        "error": brief(run.errors[-1] if run.errors else None),
        "memory": size(run.memory),
    }


def brief(value: float | None, digits: int = 4) -> str:
    """Return a number in a few digits; a dash for none."""
    if value is None or not math.isfinite(value):
        return "–"
    return f"{value:,.0f}" if value >= 1000 or value == int(value) else f"{value:.{digits}g}"


def size(n_bytes: float | None) -> str:
    """Return bytes in the unit that suits them; a dash for none."""
    if n_bytes is None:
        return "–"
    for unit in ("B", "kB", "MB"):
        if n_bytes < 1000:
            return f"{n_bytes:.3g} {unit}"
        n_bytes /= 1000
    return f"{n_bytes:.3g} GB"
