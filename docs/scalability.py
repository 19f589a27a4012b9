"""The tables and pictures of scalability.md, made of a study: `python docs/scalability.py STUDY_FOLDER`.

The folder is the one that `structlearn compare scaling --out STUDY_FOLDER` wrote.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

from PIL import Image

from structlearn.reports.machine import machine
from structlearn.reports.plots import save_figure
from structlearn.reports.scaling.analysis import Exponent, growth, winner, without_winner
from structlearn.reports.scaling.figures import study_figures
from structlearn.reports.scaling.grid import PER_EXAMPLE, Cell
from structlearn.reports.scaling.page import count_cells
from structlearn.reports.scaling.results import Results
from structlearn.reports.scaling.study import FILE, read_results
from structlearn.reports.tables import brief, size

DOCS = Path(__file__).parent
PAGE = DOCS / "scalability.md"
MARKED = re.compile(r"(?P<begin><!-- study: (?P<name>[\w.-]+) -->\n).*?(?P<end><!-- end -->)", re.DOTALL)
#: The order in which the page speaks of the problems.
ORDER = ("letters", "alignment", "scene", "parsing", "digits")


def table(header: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """A table of Markdown."""
    lines = [list(header), *map(list, rows)]
    lines.insert(1, ["---"] * len(lines[0]))
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def seconds(value: float) -> str:
    """Seconds in two digits."""
    return brief(value, 2)


def run(studies: list[Results]) -> str:
    """What was run, and where."""
    where = machine()
    rows = [[one.problem, one.what, said_sizes(one), count_cells(one).partition(".")[0]] for one in studies]
    said = f"{where['processor']}; {where['versions']}.\n"
    return table(("problem", "outputs", "n", "cells"), rows) + "\n" + said


def said_sizes(results: Results) -> str:
    """The numbers of examples."""
    return ", ".join(f"{n:,}" for n in results.sizes)


def winners(studies: list[Results]) -> str:
    """With all examples: the quickest solver to each gap, its seconds, and how far behind the next one is."""
    rows = []
    for one in studies:
        for lam in one.lambdas:
            name = f"**{one.problem}**, n = {one.sizes[-1]:,}" if lam == one.lambdas[0] else ""
            rows.append([name, lam, *(won(one, lam, gap) for gap in one.gaps)])
    return table(("problem", "lambda", *(f"to {gap:g}" for gap in studies[0].gaps)), rows)


def won(results: Results, lam: str, gap: float) -> str:
    """A winner in a few words."""
    best = winner(results, results.sizes[-1], lam, gap)
    if best is None:
        return without_winner(results, results.sizes[-1], lam, gap)
    ahead = "alone" if best.ahead is None else f"next {best.ahead:.1f} times"
    return f"{best.solver}, {seconds(best.cpu_seconds)} s ({ahead})"


def exponents(studies: list[Results], gap: float) -> str:
    """Exponents of seconds and of oracle calls to a gap, for lambda = 0.01 and 1/n."""
    places = [(one, lam) for one in studies for lam in ("0.01", PER_EXAMPLE)]
    rows = [[solver, *(grown(one, solver, lam, gap) for one, lam in places)] for solver in studies[0].solvers]
    return table(("solver", *(f"{one.problem}, {lam}" for one, lam in places)), rows)


def grown(results: Results, solver: str, lam: str, gap: float) -> str:
    """An exponent of seconds with its error; that of oracle calls after the slash."""
    time, calls = (growth(results, solver, lam, gap, effort) for effort in ("cpu_seconds", "oracle_calls"))
    if time is None or calls is None:
        return "–"
    return f"{said_exponent(time)} / {calls.exponent:.2f}"


def said_exponent(found: Exponent) -> str:
    """An exponent with its error; a star where it is not of all sizes."""
    return f"{found.exponent:.2f} ± {found.error:.2f}{'' if found.whole else ' *'}"


def passes(studies: list[Results], gap: float) -> str:
    """Passes to a gap at lambda = 1/n, for each number of examples."""
    rows = []
    for one in studies:
        for solver in one.solvers:
            took = [one.effort(Cell(solver, n, PER_EXAMPLE), gap) for n in one.sizes]
            if any(took):
                said = ", ".join("–" if found is None else brief(found.passes, 3) for found in took)
                rows.append([f"{one.problem}: {said_sizes(one)}", solver, said])
    return table(("problem: n", "solver", f"passes to {gap:g}"), rows)


def whole(results: Results) -> str:
    """With all examples and lambda = 1/n: passes, seconds and memory to each gap."""
    rows = [
        [solver, *(took(results, Cell(solver, results.sizes[-1], PER_EXAMPLE), gap) for gap in results.gaps)]
        for solver in results.solvers
    ]
    header = ["solver", *(f"to {gap:g}: passes, CPU s, memory" for gap in results.gaps)]
    return table(header, rows)


def took(results: Results, cell: Cell, gap: float) -> str:
    """What a gap took."""
    found = results.effort(cell, gap)
    if found is None:
        return results.seconds_text(cell, gap, seconds)
    return f"{brief(found.passes, 3)}, {seconds(found.cpu_seconds)}, {size(found.memory_bytes)}"


def blocks(studies: list[Results]) -> dict[str, Callable[[], str]]:
    """What may stand between two marks of the page, by name."""
    general: dict[str, Callable[[], str]] = {
        "run": lambda: run(studies),
        "winners": lambda: winners(studies),
        **{f"exponents-{gap:g}": (lambda gap=gap: exponents(studies, gap)) for gap in studies[0].gaps},
        **{f"passes-{gap:g}": (lambda gap=gap: passes(studies, gap)) for gap in studies[0].gaps},
    }
    return {**general, **{f"whole-{one.problem}": (lambda one=one: whole(one)) for one in studies}}


def draw(results: Results) -> None:
    """The pictures of a problem, small enough to be kept with the source."""
    for name, figure in study_figures(results):
        path = DOCS / "images" / f"scaling-{results.problem}-{name}.png"
        save_figure(figure, path)
        with Image.open(path) as image:
            small = image.convert("RGB").resize((image.width * 2 // 3, image.height * 2 // 3), Image.LANCZOS)
        small.quantize(256, method=Image.Quantize.MAXCOVERAGE).save(path, optimize=True)


def main() -> None:
    """Write the page's tables and pictures again."""
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    found = [read_results(path.parent) for path in Path(sys.argv[1]).glob(f"*/{FILE}")]
    if not found:
        sys.exit(
            f"{sys.argv[1]} holds no study: run `structlearn compare scaling --out {sys.argv[1]}` first."
        )
    studies = sorted(found, key=lambda one: ORDER.index(one.problem))
    made = blocks(studies)
    text = MARKED.sub(lambda mark: f"{mark['begin']}{made[mark['name']]()}{mark['end']}", PAGE.read_text())
    PAGE.write_text(text)
    for one in studies:
        draw(one)


if __name__ == "__main__":
    main()
