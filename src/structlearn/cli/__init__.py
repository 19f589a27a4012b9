"""The command line: parse, call, print.

Only typer is imported here; each command imports what it needs when it runs, so that `--help` is quick.
"""

from __future__ import annotations

from typing import Annotated

import typer

import structlearn
from structlearn.cli import aligner as aligner  # adds train, apply and show to `align`
from structlearn.cli.alignment import align
from structlearn.cli.comparing import compare
from structlearn.cli.datasets import data
from structlearn.cli.demonstration import demo
from structlearn.cli.information import info
from structlearn.cli.prediction import evaluate, predict
from structlearn.cli.showing import show
from structlearn.cli.training import train
from structlearn.compilation import announced

app = typer.Typer(
    add_completion=False,
    rich_markup_mode=None,  # plain help: quick, and the same on every terminal
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"structlearn {structlearn.__version__}")
        raise typer.Exit


@app.callback(
    invoke_without_command=True,
    epilog="Data goes to stdout, talk to stderr. Exit 0: done; 2: misuse or bad input; 1: failure, such as "
    "a full disk; 130: interrupted with nothing to keep.",
)
def root(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Structured prediction with a certificate: train, apply and judge models of label sequences and sets."""
    context.with_resource(announced())
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


app.command(short_help="Try the library on data that comes with it.", epilog="Example: structlearn demo")(
    demo
)
app.command(
    short_help="Train a model and print its certificate.",
    epilog="Example: structlearn train tag train.txt --out tagger.safetensors --regularization 0.001",
)(train)
app.command(
    short_help="Write a model's answers, one line an input.",
    epilog="Example: structlearn predict tagger.safetensors new.txt --out labels.txt",
)(predict)
app.command(
    short_help="Compare a model's answers with the labels of a file.",
    epilog="Example: structlearn evaluate tagger.safetensors test.txt",
)(evaluate)
app.command(
    short_help="Write a page that draws a model's answers.",
    epilog="Example: structlearn show parser.safetensors test.conllu --out page.html",
)(show)
app.add_typer(align, name="align", short_help="Word alignment: train, apply, show, evaluate, clean.")
app.command(
    short_help="Run several solvers on the same problem and write a report.",
    epilog="Examples: structlearn compare letters --out report; structlearn compare tag train.txt "
    "--test test.txt --solvers bcfw,fw --out report",
)(compare)
app.add_typer(
    data,
    name="data",
    short_help="List public data sets, download them, and say where they are.",
    help="Public data sets, which the recipes of compare use.",
    epilog="Example: structlearn data fetch letters",
)
app.command(
    short_help="Describe the installation or a model file.",
    epilog="Example: structlearn info tagger.safetensors",
)(info)


def main() -> None:
    """Run the command line."""
    app(prog_name="structlearn")
