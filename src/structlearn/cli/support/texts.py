"""Help that is made of the registries, when it is shown."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from typer.core import TyperCommand

from structlearn.cli.tasks.registry import TASKS, TaskEntry
from structlearn.core.registry import either, resolve_name
from structlearn.problem.registry import CLASSES, DECISIONS, LOSSES, STRUCTURES, losses_of
from structlearn.solvers.registry import HINGE, PERCEPTRON, SMOOTH, SQUARES, solvers_for

_NUMBERS = ("none", "one", "two", "three", "four", "five")


def _losses_said(entry: TaskEntry) -> str:
    """Return the losses of a task, those without probabilities first."""
    if entry.name == "decide":
        return f"{either(losses_of(DECISIONS))}."
    known = losses_of(CLASSES if entry.name == "classify" else STRUCTURES)
    names = sorted(known, key=lambda name: LOSSES[name].smooth)
    n = sum(not LOSSES[name].smooth for name in names)
    return f"{either(names)}. All but the first {_NUMBERS[n]} give probabilities."


def _solvers_said(entry: TaskEntry) -> str:
    """Return the solvers of a task by what they train."""
    picks = "auto picks a quick one that can do it"
    if "loss" not in entry.flags:
        return f"{picks}; {either(solvers_for(SQUARES))}."
    families = {"hinge": HINGE, "smooth losses": SMOOTH, "perceptron": PERCEPTRON}
    if entry.name == "decide":
        families = {"spo+, imitation, perturbed": HINGE, "sparsemax": SMOOTH}
    said = "; ".join(f"{what}: {either(solvers_for(family))}" for what, family in families.items())
    return f"{picks}; {said}."


def _entries_said(where: str) -> str:
    """Return the entries of a registry, which is imported now, each with what it is."""
    return "; ".join(f"{entry.name}: {entry.what}" for entry in resolve_name(where).values())


#: What stands for such a text in the help of a command or an option.
TEXTS: dict[str, Callable[[], str]] = {
    "{tasks}": lambda: either(TASKS),
    "{formats}": lambda: ", ".join(resolve_name("structlearn.data.file_formats:FILE_FORMATS")),
    "{aligned_tokenizers}": lambda: _entries_said("structlearn.alignment.text.tokenizers:TOKENIZERS"),
    "{tokenizers}": lambda: _entries_said("structlearn.tagging.tokenizers:TOKENIZERS"),
    "{text_formats}": lambda: _entries_said("structlearn.tagging.written:TEXT_FORMATS"),
    "{figures}": lambda: " ".join(entry.figures for entry in TASKS.values() if entry.figures),
}
#: Likewise in the help of a task.
OF_TASK: dict[str, Callable[[TaskEntry], str]] = {
    "{losses}": _losses_said,
    "{solvers}": _solvers_said,
    "{files}": lambda entry: entry.reads,
    "{metrics}": lambda entry: either(entry.metrics),
}
#: What a task's options say unless it says otherwise (`TaskOptions.says`).
_USUALLY = {
    "{loss}": "hinge",
    "{cost}": "hamming",
    "{regularization}": "0.01",
    "{tol}": "0.001",
    "{tolerance}": "in proportion to the objective at zero where that is far from 1",
    "{target}": "Target column of a table.  [default: the last column]",
}


def fill_in(text: str | None, entry: TaskEntry | None = None) -> str:
    """Fill in what is made of the registries, and, of a task, what holds for it."""
    text = text or ""
    for place, said in TEXTS.items():
        if place in text:
            text = text.replace(place, said())
    if entry is None or "{" not in text:
        return text
    for place, of_task in OF_TASK.items():
        if place in text:
            text = text.replace(place, of_task(entry))
    own = {f"{{{name}}}": said for name, said in entry.options_class.says.items()}
    for place, word in (_USUALLY | own).items():
        text = text.replace(place, word)
    return text


class Command(TyperCommand):
    """A command whose help, and that of its options, is filled in when it is shown."""

    #: the task that the command is for, where it is for one
    entry: TaskEntry | None = None

    def format_help(self, ctx: Any, formatter: Any) -> None:
        self.help = fill_in(self.help, self.entry)
        parameters: list[Any] = list(self.params)
        for parameter in parameters:
            if getattr(parameter, "help", None):
                parameter.help = fill_in(parameter.help, self.entry)
        super().format_help(ctx, formatter)
