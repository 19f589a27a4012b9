"""Damaged files of every format through the command line: no crash, no traceback, no flood, no hang.

`run(seed)` chooses a valid file (`bases`), damages it (`mutations`) and runs a command that reads it, in a
process that is forked from this one, where all is imported and compiled: it may crash or take all memory.
"""

import random
import shutil
import tempfile
import unicodedata
from functools import cache
from pathlib import Path

from torture import bases
from torture.cases import CASES
from torture.children import in_a_child

#: what a command may take beyond the start of the process and the compilation of kernels
SECONDS, BYTES = 2.0, 500 << 20
#: characters of a line on stderr
LONGEST = 500
#: talk that is no complaint
_TALK = (
    "--regularization auto stands for ",
    "Left out ",
    "Read ",
    "Wrote ",
    "Packed ",
    "Split ",
    "Mapped ",
    "Warning: ",
    "Note: ",
    "structlearn: compiling",
    "On its training data, ",
    "Its objective, ",
    "Next: ",
)


def run(seed):
    """A damaged file through a command: a label, and what is wrong with what it did (None if nothing is)."""
    _warm()
    work = Path(tempfile.mkdtemp(prefix="f"))
    try:
        label, command = placed(seed, work)
        before = _listing(work)
        found = in_a_child(command)
        return label, _judged(found, _listing(work) - before)
    finally:
        shutil.rmtree(work, ignore_errors=True)


def placed(seed, work):
    """Write the damaged file of a seed into the folder `work`: its label, and the command that reads it."""
    rng = random.Random(seed)
    case = rng.choice(CASES)
    path = case.place(rng, work)
    command = rng.choice(case.commands).format(f=path, w=work, b=bases.folder()).split()
    name = " ".join(word for word in command[:2] if word.isalpha())
    return f"{case.label} / {name}", command


@cache
def _warm():
    """Import and compile what the commands need: each of them once, on the valid file."""
    for case in CASES:
        for command in case.commands:
            work = Path(tempfile.mkdtemp(prefix="f"))
            whole = bases.folder() / case.name
            (shutil.copytree if whole.is_dir() else shutil.copy)(whole, work / case.name)
            bases.invoke(command.format(f=work / case.name, w=work, b=bases.folder()).split())
            shutil.rmtree(work)


def _listing(work):
    return {str(path.relative_to(work)) for path in work.rglob("*")}


# ---- the verdict -----------------------------------------------------------------------------------


def _judged(found, left):
    """What breaks the rules, in words; None if nothing does."""
    if "died" in found:
        return f"the process died {found['died']}"
    wrong = _complaints(found) or _ill_mannered(found)
    if wrong is None and found["code"] and left:
        wrong = f"left {sorted(left)} behind"
    if wrong is None and found["seconds"] > SECONDS:
        wrong = f"took {found['seconds']:.1f} s"
    if wrong is None and found["bytes"] > BYTES:
        wrong = f"took {found['bytes'] >> 20} MB"
    return None if wrong is None else f"{wrong} | exit {found['code']} | {found['stderr'][-300:]!r}"


def _complaints(found):
    """Exceptions that got through, exit codes that mean nothing, memory that ran out."""
    if found["error"]:
        return f"traceback {found['error']}"
    if found["code"] not in (0, 1, 2):
        return "unknown exit code"
    return "out of memory" if "Out of memory" in found["stderr"] else None


def _ill_mannered(found):
    """More than one sentence on stderr, a long one, or one with control characters."""
    lines = found["stderr"].split("\n")[:-1]
    errors = [line for line in lines if line.startswith("Error: ")]
    other = [line for line in lines if not line.startswith(("Error: ", *_TALK))]
    if other:
        return f"stray words {other[0][:200]!r}"
    if len(errors) != (found["code"] != 0):
        return f"{len(errors)} errors"
    if any(len(line) > LONGEST for line in lines):
        return f"a line of {max(map(len, lines))} characters"
    text = "".join(lines) + found["stdout"].replace("\n", "")
    marks = [one for one in text if unicodedata.category(one) in ("Cc", "Cf", "Cs", "Zl", "Zp")]
    return f"control character {marks[0]!r}" if marks else None
