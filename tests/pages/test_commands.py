"""Every command that a page names has the options that stand behind it, whether the page runs it or not."""

import re

import pytest
import typer
from blocks import ROOT

from structlearn.cli import app

PAGES = [*sorted((ROOT / "docs").glob("*.md")), *(ROOT / f"{name}.md" for name in ("README", "CONTRIBUTING"))]
NAMED = re.compile(r"`(structlearn [^`]+)`|^\s*(?:.*\| )?(structlearn (?:[^|#>\n\\]|\\\n)+)", re.MULTILINE)
ROOT_COMMAND = typer.main.get_command(app)


def commands_of(text):
    """What stands behind `structlearn` wherever a page names a command."""
    for found in NAMED.finditer(text):
        yield re.sub(r"\\\n\s*", " ", found[1] or found[2]).split()[1:]


def options_of(words):
    """The options of the command that words begin with; of all its commands where one is left open (TASK)."""
    command = ROOT_COMMAND
    context = command.context_class(command)
    for word in words:
        found = command.get_command(context, word) if hasattr(command, "get_command") else None
        if found is None:
            break
        command, context = found, found.context_class(found, info_name=word, parent=context)
    some = [(command, context)]
    if hasattr(command, "get_command") and any(word.isupper() for word in words):
        inside = [command.get_command(context, name) for name in command.list_commands(context)]
        some += [(one, one.context_class(one, parent=context)) for one in inside]
    params = [one for command, context in some for one in command.get_params(context)]
    return {name for one in params for name in (*one.opts, *one.secondary_opts)}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_named_commands_have_their_options(page):
    wrong = []
    for words in commands_of(page.read_text()):
        asked = {re.match(r"-{1,2}[\w-]+", word)[0] for word in words if re.match(r"-{1,2}[a-z]", word)}
        missing = asked - options_of(words)
        if missing:
            wrong.append(f"structlearn {' '.join(words)}: {', '.join(sorted(missing))}")
    assert wrong == []


def test_an_option_of_another_task_is_none_of_this_one():
    assert "--columns" in options_of(["train", "tag", "a.txt"])
    assert "--columns" not in options_of(["train", "classify", "a.csv"])
    assert list(commands_of("as `structlearn train tag x \\\n  --out y`")) == [
        ["train", "tag", "x", "--out", "y"]
    ]
