"""The command line: parse, call, print.

Only typer is imported here; each command imports what it needs when it runs, so that `--help` is quick.
"""

from __future__ import annotations

import atexit
import gc
import signal
import sys
from collections.abc import Sequence
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

import structlearn
from structlearn.cli.commands.alignment import (  # noqa: F401  (they add their commands to `align`)
    model,
    pipeline,
    project,
    words,
)
from structlearn.cli.commands.alignment.group import align
from structlearn.cli.commands.calibrate import calibrate, conformalize
from structlearn.cli.commands.compare import CompareGroup
from structlearn.cli.commands.completion import completion
from structlearn.cli.commands.data import data
from structlearn.cli.commands.demo import demo
from structlearn.cli.commands.example import example
from structlearn.cli.commands.exchange import export_model, import_model
from structlearn.cli.commands.info import info
from structlearn.cli.commands.predict import evaluate_model, predict, show
from structlearn.cli.commands.solve import solve
from structlearn.cli.commands.tag import tag
from structlearn.cli.commands.train import TrainGroup
from structlearn.cli.commands.tune import TuneGroup
from structlearn.cli.commands.warm import warm
from structlearn.cli.commands.weights import weights
from structlearn.cli.support.errors import (
    INTERRUPTED,
    MISUSE,
    STOPPED,
    again_soon,
    hear,
    say,
    stop_listening,
    tell_interruption,
)
from structlearn.cli.support.help_json import asks_for_json, described_command
from structlearn.cli.support.outputs import print_json
from structlearn.cli.support.stdin import check_one_stdin
from structlearn.cli.support.texts import Command
from structlearn.cli.support.usage import usage_sentence
from structlearn.core.kernel_cache.compilation import announce_compilation


class Commands(TyperGroup):
    """All commands. What is wrong with their arguments is told without what would act on a terminal."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the commands in the order of `_COMMANDS`, then the others."""
        first = [name for name, *_ in _COMMANDS]
        return sorted(super().list_commands(ctx), key=[*first, *super().list_commands(ctx)].index)

    def main(self, args: Sequence[str] | None = None, standalone_mode: bool = True, **extra: Any) -> object:  # type: ignore[override]
        if not standalone_mode:
            return super().main(args, standalone_mode=False, **extra)
        given = sys.argv[1:] if args is None else args
        if asks_for_json(given):
            print_json(described_command(self, "structlearn", given))
            sys.exit()
        try:
            check_one_stdin(given)
        except ValueError as error:
            say(f"Error: {error}")
            sys.exit(MISUSE)
        try:
            code = super().main(args, standalone_mode=False, **extra)
        except Exception as error:
            if not hasattr(error, "format_message"):  # a usage error of typer's, whichever click it has
                raise
            say(f"Error: {usage_sentence(error, sys.argv[1:] if args is None else args)}")
            sys.exit(MISUSE)
        if code == INTERRUPTED:  # typer makes an exit code of a Ctrl-C that comes before a command begins
            stop_listening()
            tell_interruption()
        sys.exit(code if isinstance(code, int) else 0)


app = typer.Typer(
    cls=Commands,
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
    epilog="Add --json to --help for a description that programs can read. Data goes to stdout, talk to "
    "stderr. Exit 0: done; 2: misuse or bad input; 1: failure, such as a full disk; 130: interrupted with "
    "nothing to keep.",
)
def root(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Structured prediction with a certificate, for sequences, trees, links, graphs, sets and tables."""
    context.with_resource(announce_compilation())
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


#: Groups of tasks, and what their help says first.
_GROUPS = {"train": TrainGroup, "tune": TuneGroup, "compare": CompareGroup}
_TALES = {
    "train": "Train a model, write it to MODEL, and print the certificate: how far from optimal it is at "
    "most. `structlearn train TASK --help` shows the options of a task, and `structlearn example TASK` "
    "writes data to try it on.",
    "tune": "Choose lambda by cross-validation, train on all data with it, and write the model to MODEL. "
    "`structlearn tune TASK --help` shows the options of a task.",
    "compare": "Run several solvers on the same problem, and write a report with curves and tables to DIR. "
    "`structlearn compare TASK --help` shows the options of a task or recipe.",
}
#: Commands in the order of the help: name, function (None for a group of tasks), summary, example.
_COMMANDS: tuple[tuple[str, Any, str, str], ...] = (
    ("demo", demo, "Try the library on data that comes with it.", "Example: structlearn demo"),
    (
        "example",
        example,
        "Write a small example of a task, and commands to try on it.",
        "Example: structlearn example ner --out names",
    ),
    (
        "train",
        None,
        "Train a model and print its certificate.",
        "Example: structlearn train tag train.txt --out tagger.safetensors --regularization 0.001",
    ),
    (
        "tune",
        None,
        "Choose lambda by cross-validation, then train.",
        "Example: structlearn tune chunk train.txt --loss hinge,softmax --out chunker.safetensors",
    ),
    (
        "predict",
        predict,
        "Write a model's answers, one line per input.",
        "Example: structlearn predict tagger.safetensors new.txt --out labels.txt",
    ),
    (
        "tag",
        tag,
        "Label the words of raw text.",
        "Example: echo 'Acme hired her.' | structlearn tag ner.safetensors --format inline",
    ),
    (
        "evaluate",
        evaluate_model,
        "Compare a model's answers with the labels of a file.",
        "Example: structlearn evaluate tagger.safetensors test.txt",
    ),
    (
        "calibrate",
        calibrate,
        "Make a model's probabilities mean what they say.",
        "Example: structlearn calibrate tagger.safetensors held-out.txt --out calibrated.safetensors",
    ),
    (
        "conformalize",
        conformalize,
        "Let a model answer with sets of guaranteed coverage.",
        "Example: structlearn conformalize tagger.safetensors other.txt --out sets.safetensors",
    ),
    (
        "show",
        show,
        "Write a page that draws a model's answers.",
        "Example: structlearn show parser.safetensors test.conllu --out page.html",
    ),
    (
        "compare",
        None,
        "Run several solvers on the same problem and write a report.",
        "Examples: structlearn compare letters --out report; structlearn compare tag train.txt "
        "--test test.txt --solvers bcfw,fw --out report; structlearn compare scaling --problem digits "
        "--out study",
    ),
    (
        "weights",
        weights,
        "Print the largest weights of a model with the names of their features.",
        "Example: structlearn weights tagger.safetensors --top 5 --label B-NP",
    ),
    (
        "export",
        export_model,
        "Write a tagger as a model file of CRFsuite or Wapiti.",
        "Example: structlearn export tagger.safetensors --format crfsuite --out tagger.crfsuite",
    ),
    (
        "import",
        import_model,
        "Read a model file of CRFsuite or Wapiti.",
        "Example: structlearn import model.wapiti --out tagger.safetensors",
    ),
    (
        "info",
        info,
        "Describe the installation or a model file.",
        "Example: structlearn info tagger.safetensors",
    ),
    (
        "solve",
        solve,
        "Find the best labelling of a Markov random field in a file.",
        "Example: structlearn solve grid.uai --out grid.MAP --seconds 10",
    ),
    ("warm", warm, "Compile what tasks need, before their first use.", "Example: structlearn warm tag parse"),
    (
        "completion",
        completion,
        "Print a script by which a shell completes commands.",
        "Examples: source <(structlearn completion bash), in ~/.bashrc; source <(structlearn completion "
        "zsh), in ~/.zshrc; structlearn completion fish | source, in ~/.config/fish/config.fish",
    ),
)


def _tasks(name: str) -> typer.Typer:
    """Make a group of commands, one per task."""
    group = typer.Typer(
        cls=_GROUPS[name],
        rich_markup_mode=None,
        help=_TALES[name],
        subcommand_metavar="TASK DATA [OPTIONS]",
    )
    group.callback()(lambda: None)
    return group


for _name, _command, _summary, _example in _COMMANDS:
    if _command is None:
        app.add_typer(_tasks(_name), name=_name, short_help=_summary, epilog=_example)
    else:
        app.command(_name, cls=Command, short_help=_summary, epilog=_example)(_command)
app.add_typer(align, name="align", short_help="Word alignment: train, apply, project, phrases and more.")
app.add_typer(
    data,
    name="data",
    short_help="List public data sets, download them, and say where they are.",
    epilog="Example: structlearn data fetch letters",
)


def main() -> None:
    """Run the command line as a process of its own; Ctrl-C, however often, ends it in order."""
    try:  # pressed again, it may come while the one before is being answered
        try:
            try:
                _run()
            except KeyboardInterrupt:
                _stop()
        except KeyboardInterrupt:
            _stop()
    except KeyboardInterrupt:
        _stop()


#: New objects before garbage is first looked for: most of what a short command makes are modules, which stay.
_OBJECTS = 300_000


def _run() -> None:
    sys.unraisablehook = _unraisable
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # not where a shell has it ignored
        signal.signal(signal.SIGINT, hear)
    _collect_later()
    atexit.register(gc.freeze)  # the interpreter's last searches would go through all modules
    try:
        app(prog_name="structlearn")
    finally:
        stop_listening()


def _collect_later() -> None:
    """Put off the first search for garbage until the modules are there, which later ones leave out."""
    usual = gc.get_threshold()

    def after(phase: str, info: object) -> None:
        if phase == "stop" and after in gc.callbacks:
            gc.callbacks.remove(after)
            gc.freeze()
            gc.set_threshold(*usual)

    gc.callbacks.append(after)
    gc.set_threshold(_OBJECTS)


def _stop() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # also where it came before `hear` was in place
    say(STOPPED)
    sys.exit(INTERRUPTED)


def _unraisable(unraisable: sys.UnraisableHookArgs) -> None:
    """Let a Ctrl-C where nothing can be raised (in a callback, a finaliser) come again a little later."""
    if not isinstance(unraisable.exc_value, KeyboardInterrupt):
        sys.__unraisablehook__(unraisable)
    elif signal.getsignal(signal.SIGINT) is hear:
        again_soon()
