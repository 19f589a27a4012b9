"""Options that several commands share, and how options are written down."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer.models import ArgumentInfo, OptionInfo

if TYPE_CHECKING:
    from structlearn.solvers import Checkpoint


def argument(metavar: str, help: str) -> ArgumentInfo:
    """What is given without a flag."""
    return typer.Argument(metavar=metavar, help=help, show_default=False)


def option(metavar: str, help: str, *flags: str, min: float | None = None) -> OptionInfo:
    """An option that takes a value."""
    return typer.Option(*flags, metavar=metavar, help=help, min=min)


def number_or_auto(text: str) -> float | str:
    """A number, or "auto", which stands for one that follows from the data."""
    try:
        return text if text == "auto" else float(text)
    except ValueError:
        raise typer.BadParameter(f"{text!r} is not a number, nor auto.") from None


def lambda_option(help: str) -> OptionInfo:
    """The option of lambda."""
    return typer.Option(metavar="X", help=help, parser=number_or_auto)


def switch(flag: str, help: str) -> OptionInfo:
    """An option that is there or not."""
    return typer.Option(flag, help=help)


TaskName = Annotated[str, argument("TASK", "{tasks}.")]
ModelOut = Annotated[Path, option("MODEL", "Model file to write.")]
PageOut = Annotated[Path, option("PAGE.html", "Page to write.")]
FolderOut = Annotated[Path, option("DIR", "Folder to make.")]
Loss = Annotated[
    str | None,
    option(
        "L",
        "{losses}  [default: hinge; classify, tag, chunk, ner: softmax, or hinge with --cost count or a "
        "--solver that trains nothing else; multilabel: softmax with --edges tree or none, else hinge]",
    ),
]
Penalty = Annotated[
    str | None,
    option(
        "P",
        "classify: l2, or, with a smooth loss, l1 (few weights) or group (few features); regress: "
        "l2, l1, elasticnet (both) or group (few groups of features); tag, chunk, ner: l2, elasticnet "
        "(few weights) or, with softmax, l1.  [default: l2]",
    ),
]
L1Ratio = Annotated[
    float | None,
    option(
        "X",
        "With --penalty elasticnet: lambda times this weighs ||w||_1, the rest ||w||^2/2.  [default: 0.5]",
    ),
]
Cost = Annotated[
    str | None,
    option(
        "C",
        "With the hinge: hamming (mistakes over length) or count.  [default: hamming; tag, chunk, "
        "ner, parse: count]",
    ),
]
NoIntercept = Annotated[bool, switch("--no-intercept", "Add no constant feature.")]
Json = Annotated[bool, switch("--json", "Print JSON, for programs.")]
Resume = Annotated[
    bool, switch("--resume", "Go on from the checkpoint in DIR; from the beginning if there is none.")
]
Seed = Annotated[int, option("N", "Seed of all random choices.")]
Jobs = Annotated[int, option("N", "Threads; -1 for all cores.")]
Target = Annotated[
    str | None,
    option(
        "NAME[,NAME]",
        "classify, multilabel, regress: target column(s) of a table; tag, chunk, ner: the same as "
        "--label.  [default: the last column]",
    ),
]
Edges = Annotated[
    str | None, option("E", "multilabel: pairs with weights: all, tree or none.  [default: all]")
]
Boundaries = Annotated[
    bool, switch("--boundaries", "tag, chunk, ner: weights for the first and last label of a sequence.")
]


def chosen_checkpoint(folder: Path | None, seconds: float, *, resume: bool) -> Checkpoint | None:
    """What --checkpoint and --resume stand for; ValueError for the second without the first."""
    if folder is None:
        if resume:
            raise ValueError("--resume goes on from a checkpoint: say where it is with --checkpoint DIR.")
        return None
    from structlearn.estimators.choices import check_number
    from structlearn.solvers import Checkpoint

    return Checkpoint(folder, check_number("checkpoint-seconds", seconds), resume)
