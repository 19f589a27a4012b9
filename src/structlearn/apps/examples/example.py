"""What an example is, and how it is written into a folder."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from tempfile import TemporaryDirectory

from structlearn.storage.atomic import make_folder

#: What the texts and the annotations of this package are licensed under.
OWN_LICENCE = "BSD 3-Clause, as the library"


@dataclass(frozen=True)
class TaskExample:
    """Data to try a task on.

    Attributes
    ----------
    what : what the data is, as a phrase
    licence : where it comes from, and its licence
    write : writes its files into an empty folder
    commands : what to try on them, in this folder
    """

    what: str
    licence: str
    write: Callable[[Path], None]
    commands: tuple[str, ...]


def try_commands(
    task: str, ending: str, *, train: str = "", predict: str = "", show: bool = True
) -> tuple[str, ...]:
    """Return the commands that train, evaluate, predict and show.

    Parameters
    ----------
    task : str
    ending : str
        The data are train and test with this behind them, such as ".csv".
    train, predict : str
        Options of these commands.
    show : bool
        Whether `show` draws models of the task.
    """
    model, test = "model.safetensors", f"test{ending}"
    commands = [
        f"structlearn train {task} train{ending} {train} --out {model}".replace("  ", " "),
        f"structlearn evaluate {model} {test}",
        f"structlearn predict {model} {test} {predict}".rstrip(),
    ]
    return (*commands, *[f"structlearn show {model} {test} --out page.html"] * show)


def write_example(example: TaskExample, folder: Path) -> list[str]:
    """Write the files of an example into a folder, which is made; return their names, in order.

    FileExistsError if the folder has another file of such a name: a user's own file is not overwritten.
    """
    with TemporaryDirectory() as made:
        example.write(Path(made))
        found = sorted(_files(Path(made)))
        contents = {path.relative_to(made): path.read_bytes() for path in found}
    for name, content in contents.items():
        there = folder / name
        if there.exists() and (not there.is_file() or there.read_bytes() != content):
            raise FileExistsError(
                f"Cannot write {there}: another file has this name already. Choose another folder with --out."
            )
    for name, content in contents.items():
        make_folder((folder / name).parent)
        (folder / name).write_bytes(content)
    tops = dict.fromkeys(f"{name.parts[0]}{'/' * (len(name.parts) > 1)}" for name in contents)
    return sorted(tops, key=lambda name: (not name.startswith("train"), name))


def _files(folder: Path) -> Iterator[Path]:
    return (path for path in folder.rglob("*") if path.is_file())


def shipped(name: str) -> bytes:
    """Return a file of this package."""
    return (files("structlearn.apps.examples") / name).read_bytes()
