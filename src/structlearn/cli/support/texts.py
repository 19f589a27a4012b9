"""Help that is made of the registries, when it is shown."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from typer.core import TyperCommand

from structlearn.cli.tasks.registry import TASKS
from structlearn.core.registry import either, located
from structlearn.problem.registry import CLASSES, LOSSES, STRUCTURES, losses_of
from structlearn.solvers.registry import HINGE, PERCEPTRON, SMOOTH, SQUARES, solvers_for

_NUMBERS = ("none", "one", "two", "three", "four", "five")


def losses_said() -> str:
    """The losses of all tasks, those without probabilities first; then those of classify alone."""
    shared = losses_of(STRUCTURES)
    names = sorted(shared, key=lambda name: LOSSES[name].smooth)
    n = sum(not LOSSES[name].smooth for name in names)
    others = [name for name in losses_of(CLASSES) if name not in shared]
    more = f"; classify: also {either(others)}" if others else ""
    return f"{either(names)}{more}. All but the first {_NUMBERS[n]} give probabilities."


def solvers_said() -> str:
    """The solvers by what they train."""
    families = {"hinge": HINGE, "smooth losses": SMOOTH, "perceptron": PERCEPTRON, "regress": SQUARES}
    said = "; ".join(f"{what}: {either(solvers_for(family))}" for what, family in families.items())
    return f"auto picks a quick one that can do it; {said}."


def _entries_said(where: str) -> str:
    """The entries of a registry, which is imported now, each with what it is."""
    return "; ".join(f"{entry.name}: {entry.what}" for entry in located(where).values())


#: What stands for such a text in the help of a command or an option.
TEXTS: dict[str, Callable[[], str]] = {
    "{tasks}": lambda: either(TASKS),
    "{losses}": losses_said,
    "{solvers}": solvers_said,
    "{files}": lambda: " ".join(entry.reads for entry in TASKS.values() if entry.reads),
    "{tokenizers}": lambda: _entries_said("structlearn.tagging.tokenizers:TOKENIZERS"),
    "{text_formats}": lambda: _entries_said("structlearn.tagging.written:TEXT_FORMATS"),
    "{metrics}": lambda: "; ".join(f"{entry.name}: {', '.join(entry.metrics)}" for entry in TASKS.values()),
    "{figures}": lambda: " ".join(entry.figures for entry in TASKS.values() if entry.figures),
}


def filled(text: str | None) -> str:
    """The text with what is made of the registries in its places."""
    text = text or ""
    for place, said in TEXTS.items():
        if place in text:
            text = text.replace(place, said())
    return text


class Command(TyperCommand):
    """A command whose help, and that of its options, is filled in when it is shown."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        self.help = filled(self.help)
        for parameter in self.params:
            if getattr(parameter, "help", None):
                parameter.help = filled(parameter.help)  # type: ignore[attr-defined]
        super().format_help(ctx, formatter)
