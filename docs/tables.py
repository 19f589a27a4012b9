"""The tables of the docs, made of the registries: `python docs/tables.py` writes them between their marks."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from pathlib import Path

import structlearn.estimators.row_maps
import structlearn.structures  # noqa: F401  (classes of both register themselves)
from structlearn.cli.tasks.registry import TASKS
from structlearn.estimators.row_maps.base import ROW_MAPS
from structlearn.problem.registry import LOSSES
from structlearn.solvers.needs import NEEDS
from structlearn.solvers.registry import SOLVERS
from structlearn.structures.registry import STRUCTURES
from structlearn.tables.readings import KINDS

DOCS = Path(__file__).parent
MARKED = re.compile(r"(?P<begin><!-- table: (?P<name>\w+) -->\n).*?(?P<end><!-- end -->)", re.DOTALL)
OUTPUTS = {
    "binary": "two classes",
    "classes": "several classes",
    "decisions": "decisions",
    "structures": "structures",
}


def table(header: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """A table of Markdown."""
    lines = [list(header), *map(list, rows)]
    lines.insert(1, ["---"] * len(lines[0]))
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def losses() -> str:
    """The losses, and what outputs have them."""
    rows = (
        (f'`"{one.name}"`', one.what, ", ".join(OUTPUTS[kind] for kind in one.outputs))
        for one in LOSSES.values()
    )
    return table(("loss", "what it is", "outputs"), rows)


def solvers() -> str:
    """The solvers, and when to use them."""
    rows = (
        (
            f'`"{one.name}"`'
            + (f', `"{one.short}"`' if one.short else "")
            + (f" (the default for {one.default})" if one.default else ""),
            ", ".join(one.trains),
            one.when,
            one.step,
            "; ".join(NEEDS[need].what for need in sorted(one.needs)),
        )
        for one in SOLVERS.values()
    )
    return table(("solver", "losses", "when", "step", "needs"), rows)


def options() -> str:
    """The options of each solver."""
    lines = []
    for one in SOLVERS.values():
        if one.options:
            lines.append(f"- `{one.name}`:\n")
            lines += [f"  - `{name}`: {what}\n" for name, what in one.options.items()]
    return "".join(lines)


def tasks() -> str:
    """The tasks of the shell."""
    rows = ((f"`{one.name}`", one.what, f"`{one.estimator}`", one.formats) for one in TASKS.values())
    return table(("task", "what is predicted", "estimator", "files"), rows)


def known_structures() -> str:
    """The structures that model files hold."""
    rows = (
        (f"`{one.name}`", one.what, ", ".join(f"`{name.rstrip('?')}`" for name in one.arguments))
        for _, one in sorted(STRUCTURES.items())
    )
    return table(("structure", "outputs", "arguments"), rows)


def row_maps() -> str:
    """The transformers of rows that model files hold."""
    rows = ((f"`{one.name}`", one.what) for one in ROW_MAPS.values())
    return table(("row_transformer", "what it does"), rows)


def column_kinds() -> str:
    """The kinds of columns of tables, and what each becomes."""
    return table(("a column of", "becomes"), [(kind.plural, kind.becomes) for kind in KINDS.values()])


TABLES: dict[str, Callable[[], str]] = {
    "losses": losses,
    "solvers": solvers,
    "options": options,
    "tasks": tasks,
    "structures": known_structures,
    "row_maps": row_maps,
    "column_kinds": column_kinds,
}


def updated(text: str) -> str:
    """A page with its tables as the registries have them."""
    return MARKED.sub(lambda mark: f"{mark['begin']}{TABLES[mark['name']]()}{mark['end']}", text)


def main() -> None:
    """Write all pages again."""
    for page in sorted(DOCS.glob("*.md")):
        page.write_text(updated(page.read_text()))


if __name__ == "__main__":
    main()
