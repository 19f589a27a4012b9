"""`structlearn completion`: the script of a shell, and the words that may come next."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Annotated, Any

import typer

from structlearn.cli.support.errors import handling_errors
from structlearn.cli.support.options import argument
from structlearn.cli.tasks.registry import TASKS
from structlearn.core.registry import located, one_of

#: How each shell asks for the words that may come next; where there are none it offers files.
SCRIPTS = {
    "bash": """\
_structlearn() {
    local IFS=$'\\n'
    COMPREPLY=($(structlearn completion bash -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
}
complete -o default -F _structlearn structlearn
""",
    "zsh": """\
#compdef structlearn
_structlearn() {
    local -a found
    found=("${(@f)$(structlearn completion zsh -- "${(@)words[2,CURRENT]}" 2>/dev/null)}")
    if [[ -n "$found" ]]; then compadd -- "${found[@]}"; else _files; fi
}
compdef _structlearn structlearn
""",
    "fish": """\
function __structlearn
    set -l words (commandline -opc) (commandline -ct)
    structlearn completion fish -- $words[2..-1] 2>/dev/null
end
complete -c structlearn -a '(__structlearn)'
""",
}


@handling_errors()
def completion(
    context: typer.Context,
    shell: Annotated[str, argument("SHELL", "bash, zsh or fish.")],
    words: Annotated[
        list[str] | None, argument("[WORD]...", "What is typed so far; the last is not whole.")
    ] = None,
) -> None:
    """Print a script by which SHELL completes commands, tasks, options and their values.

    With words, print what the last of them may become, one per line.
    """
    script = SCRIPTS[one_of("shell", shell, SCRIPTS)]
    if words is None:
        print(script, end="")
        return
    for word in candidates(context.find_root().command, words):
        print(word)


def candidates(command: Any, words: Sequence[str]) -> Iterator[str]:
    """What the last of the words may become."""
    *before, last = words
    while before and before[0] in getattr(command, "commands", {}):
        command = command.commands[before[0]]
        before = before[1:]
    return (word for word in _following(command, before, last) if word.startswith(last) and word != last)


def _following(command: Any, before: Sequence[str], last: str) -> Iterable[str]:
    """Commands of a group; options, their values, and tasks of a command."""
    if hasattr(command, "commands"):
        return (name for name, one in command.commands.items() if not one.hidden)
    task = next((word for word in before if word in TASKS), None)
    if last.startswith("-"):
        return _options(command, task)
    valued = (one for one in command.params if not getattr(one, "is_flag", True))
    asking = {flag: one for one in valued for flag in one.opts}
    if before and before[-1] in asking:
        done, comma, _ = last.rpartition(",")
        return (f"{done}{comma}{value}" for value in _values(command, asking[before[-1]].name, task))
    first = next((one for one in command.params if one.param_type_name == "argument"), None)
    given = any(not word.startswith("-") and flag not in asking for flag, word in pairwise(["", *before]))
    return _ARGUMENTS.get(first.name, lambda: ())() if first is not None and not given else ()


def _options(command: Any, task: str | None) -> Iterator[str]:
    """The flags of a command; where it has a task, those that the task has."""
    specific = getattr(command, "specific", {})
    for one in command.params:
        has = task is None or one.name not in specific or specific[one.name] in TASKS[task].flags
        if one.param_type_name == "option" and has:
            yield from (flag for flag in one.opts if flag.startswith("--"))
    yield "--help"


def _values(command: Any, name: str, task: str | None) -> Iterable[str]:
    if name == "metric":
        return TASKS[task].metrics if task else ()
    if name == "format" and command.name != "tag":
        return (
            located("structlearn.cli.support.stdin:FORMATS")
            if command.name not in ("apply", "project")
            else ()
        )
    return _VALUES.get(name, lambda: ())()


#: Names of what would take seconds to import; a test compares them.
_RECIPES = ("scene", "letters", "triplets", "alignment")
_TEXT_FORMATS = ("conll", "json", "inline")
#: What the first argument of a command may be, by its name.
_ARGUMENTS: dict[str, Callable[[], Iterable[str]]] = {
    "task": lambda: TASKS,
    "tasks": lambda: [*TASKS, "align"],
    "what": lambda: [*TASKS, *_RECIPES, "scaling"],
    "name": lambda: located("structlearn.data:DATA_SETS"),
    "shell": lambda: SCRIPTS,
}
#: What an option may be, by its name.
_VALUES: dict[str, Callable[[], Iterable[str]]] = {
    "solver": lambda: ["auto", *located("structlearn.solvers.registry:SOLVERS")],
    "solvers": lambda: located("structlearn.solvers.registry:SOLVERS"),
    "loss": lambda: located("structlearn.problem.registry:LOSSES"),
    "penalty": lambda: ("l2", "l1", "elasticnet", "group"),
    "cost": lambda: ("hamming", "count"),
    "edges": lambda: ("all", "tree", "none"),
    "pairs": lambda: ("full", "symmetric", "antisymmetric", "potts"),
    "model": lambda: ("chain", "segments"),
    "connectivity": lambda: ("4", "8"),
    "constraints": lambda: ("bio", "bioes", "bilou", "none"),
    "tokenizer": lambda: located("structlearn.tagging.tokenizers:TOKENIZERS"),
    "format": lambda: _TEXT_FORMATS,
}
