"""`structlearn completion`: the script of a shell, and the words that may come next, as click finds them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib import import_module
from typing import Annotated, Any

import typer

from structlearn.cli.support.errors import handling_errors
from structlearn.cli.support.options import argument
from structlearn.core.registry import one_of

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
    shell: Annotated[str, argument("SHELL", "bash, zsh or fish.", lambda: SCRIPTS)],
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
    """Yield what the last of the words may become; names of files are left to the shell."""
    *before, last = words
    bases = (one.__module__ for one in type(command).__mro__)
    click = next(name for name in bases if name.endswith("click.core")).removesuffix(".core")  # typer's own
    asking = import_module(f"{click}.shell_completion").ShellComplete
    of_shells = dict.fromkeys(("format_completion", "get_completion_args", "source_vars"))  # not asked for
    asked = type("Words", (asking,), of_shells)(command, {}, "structlearn", "")
    for item in asked.get_completions(before, last):
        if item.type == "plain" and item.value.startswith(last) and item.value != last:
            yield item.value
