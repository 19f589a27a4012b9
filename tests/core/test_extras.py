"""The library without the packages of the extra shell, and what is said where one of them is needed."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

from structlearn.core.extras import EXTRAS

PROJECT = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
#: Distributions whose modules have another name.
MODULES = {"pillow": "PIL"}
#: Imports as they would be if the packages of the extra were not installed.
HIDDEN = f"""
import sys
from importlib.machinery import PathFinder

class Hiding(PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        return None if name.split(".")[0] in {EXTRAS["shell"]!r} else PathFinder.find_spec(name, path, target)

others = [one for one in sys.meta_path if "editable" not in repr(one)]
sys.meta_path[:] = [Hiding if one is PathFinder else one for one in others]
"""
MISSING = "This needs the package {}, which is not installed: pip install 'structlearn[shell]' brings it."


def python(source, *arguments):
    return subprocess.run(
        [sys.executable, "-c", HIDDEN + source, *arguments], capture_output=True, text=True, timeout=300
    )


def test_the_extra_brings_what_is_said_of_it():
    names = [re.split("[><=]", one)[0] for one in PROJECT["optional-dependencies"]["shell"]]
    assert sorted(MODULES.get(name, name) for name in names) == sorted(EXTRAS["shell"])
    assert not {MODULES.get(re.split("[><=]", one)[0]) for one in PROJECT["dependencies"]} & {
        *EXTRAS["shell"]
    }


def test_the_library_works_without_the_shell(tmp_path):
    done = python(
        """
import structlearn
from structlearn import BinaryClassifier

X, y = [[0.0], [1.0]] * 5, [0, 1] * 5
model = BinaryClassifier(random_state=0).fit(X, y)
model.save(sys.argv[1])
assert structlearn.load(sys.argv[1]).score(X, y) == model.score(X, y)
try:
    model.history_.plot()
except ImportError as error:
    print(error)
try:
    import matplotlib
except ImportError as error:  # of others: as Python says it
    print(error)
""",
        str(tmp_path / "model.safetensors"),
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        MISSING.format("matplotlib"),
        "No module named 'matplotlib'",
    ]


def test_the_command_says_which_extra_it_needs():
    done = python("from structlearn.__main__ import main; main()", "--help")
    assert done.returncode == 1
    assert done.stderr == f"Error: {MISSING.format('typer')}\n"
