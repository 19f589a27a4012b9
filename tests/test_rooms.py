"""Imports run one way, from cli down to core; and a name of a class says which one is meant."""

import ast
import re
import subprocess
import sys
from collections import Counter
from graphlib import TopologicalSorter
from importlib import import_module
from pathlib import Path

import pytest

import structlearn

PACKAGE = Path(structlearn.__file__).parent
ROOMS = {path.stem for path in PACKAGE.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()}
_PROBLEMS = {"core", "structures", "scoring", "problem"}
_TRAINING = _PROBLEMS | {"solvers", "storage"}
_MODELS = _TRAINING | {"metrics", "distributed", "estimators", "data", "reports", "tables"}
_APPLICATIONS = {"tagging", "parsing", "alignment"}
#: What each room may import of the package, beside itself. The package's own `__init__` leads to all of them.
MAY_IMPORT = {
    "core": set(),
    "storage": {"core"},
    "metrics": {"core"},
    "structures": {"core"},
    "scoring": {"core"},
    "problem": {"core", "structures", "scoring"},
    "constraints": {"structures"},
    "losses": {"problem"},
    "objective": {"problem"},
    "torch": {"core", "structures", "problem"},
    "jax": {"core", "structures", "problem"},
    "runtime": set(),  # it is copied alone
    "spacy": {"tagging", "estimators"},
    "onnx": {"core", "structures", "estimators", "storage", "tables"},
    "solvers": _PROBLEMS | {"storage"},
    "tables": {"core", "storage"},
    "data": {"core", "storage", "structures", "tables"},  # the feasible decisions of generated problems
    "distributed": _TRAINING | {"data", "tables"},
    "estimators": _TRAINING | {"metrics", "distributed", "tables"},
    "reports": _TRAINING | {"metrics", "estimators", "data"},
    "tagging": _MODELS,
    "parsing": _MODELS,
    "alignment": _MODELS,
    "neural": _MODELS | {"tagging", "parsing", "torch"},
    "apps": _MODELS | _APPLICATIONS | {"neural"},
    "cli": _MODELS | _APPLICATIONS | {"apps", "neural", "onnx"},
    "__main__": {"cli", "core"},
    "__init__": ROOMS - {"__init__", "__main__"},
}
#: What a string that is a place to import from looks like: "structlearn.room.module" or "...:Name".
PLACE = re.compile(r"(structlearn(?:\.\w+)+)(?::\w+)?")


def names_in(source):
    """Dotted names of the package that source imports, wherever it does and whatever for.

    An import inside a function counts, one for types alone (TYPE_CHECKING) does, a place that is named by a
    string (`import_module`, the entries of registries) and a lazy attribute of the package.
    """
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Import():
                yield from (alias.name for alias in node.names)
            case ast.ImportFrom(module="structlearn"):
                yield from (f"structlearn.{alias.name}" for alias in node.names)
            case ast.ImportFrom(level=0):
                yield node.module
            case ast.ImportFrom():
                yield "structlearn.relative"  # nobody's room: absolute imports say where they lead
            case ast.Attribute(value=ast.Name(id="structlearn")):
                yield f"structlearn.{node.attr}"
            case ast.JoinedStr(values=[ast.Constant(value=str(begin)), *_]) if PLACE.match(begin + "x"):
                yield "structlearn.computed"  # likewise
            case ast.Constant(value=str(text)) if found := PLACE.fullmatch(text):
                yield found[1]


def rooms_in(source):
    """The rooms that source imports from."""
    names = {name.split(".")[1] for name in names_in(source) if name.startswith("structlearn.")}
    homes = {name: home.split(".")[1] for name, home in structlearn._HOMES.items()}
    return {homes.get(name, name) for name in names - {"__version__"}}


@pytest.mark.parametrize(
    "source",
    [
        "import structlearn.cli.tasks.flat",
        "from structlearn import cli",
        "def run():\n    from structlearn.cli.tasks.flat import Classify",
        "if TYPE_CHECKING:\n    from structlearn.cli import flat",
        "import_module('structlearn.cli.tasks.flat')",
        "TaskEntry(made='structlearn.cli.tasks.flat:Classify')",
        "structlearn.cli.main()",
    ],
)
def test_every_kind_of_import_is_seen(source):
    assert rooms_in(source) == {"cli"}


def test_lazy_names_lead_to_their_homes_and_what_cannot_be_told_is_nobodys():
    assert rooms_in("structlearn.load(path), structlearn.__version__") == {"apps"}
    assert rooms_in("import_module(f'structlearn.{room}')") == {"computed"}
    assert rooms_in("from . import flat") == {"relative"}


@pytest.mark.parametrize("room", sorted(ROOMS))
def test_rooms_import_only_what_is_below_them(room):
    alone = PACKAGE / f"{room}.py"
    allowed = MAY_IMPORT[room] | {room} | ({"computed"} if room == "__init__" else set())
    for path in [alone] if alone.exists() else (PACKAGE / room).rglob("*.py"):
        assert rooms_in(path.read_text()) <= allowed, path.relative_to(PACKAGE)


def test_imports_run_one_way():
    assert MAY_IMPORT.keys() == ROOMS
    TopologicalSorter(MAY_IMPORT).prepare()  # raises where rooms import each other in a circle


def imported_by(code):
    """The modules that a process has imported after this code."""
    program = f"{code}\nimport sys; print(*sys.modules)"
    return set(
        subprocess.run(
            [sys.executable, "-c", program], capture_output=True, text=True, check=True
        ).stdout.split()
    )


def test_importing_the_package_is_light():
    loaded = imported_by("import structlearn")
    assert not {"numba", "numpy", "scipy", "sklearn", "matplotlib", "pandas"} & loaded


def test_importing_an_estimator_imports_what_it_uses():
    loaded = imported_by("import structlearn; structlearn.ChainClassifier")
    assert not {"matplotlib", "rich", "pooch", "typer", "distributed"} & loaded
    others = {
        "data",
        "distributed",
        "reports",
        "cli",
        "estimators.tree_parser",
        "estimators.regression.ridge",
        "structures.decisions",
    }
    assert not {f"structlearn.{name}" for name in others} & loaded


def test_scikit_learn_has_one_door():
    """Prediction does without: at the top of a file of estimators and applications it would come in."""
    paths = [
        path for room in ("estimators", "apps", *_APPLICATIONS) for path in (PACKAGE / room).rglob("*.py")
    ]
    found = {
        path.name
        for path in paths
        for node in ast.parse(path.read_text()).body
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("sklearn")
    }
    assert found == {"path.py"}  # clones, for regularization_path


def test_the_public_names_can_be_imported():
    for name in structlearn.__all__:
        assert getattr(structlearn, name) is not None
    assert set(structlearn.__all__) <= set(dir(structlearn))
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = structlearn.nonsense


@pytest.mark.parametrize(
    "name", [*structlearn._ROOMS, "distributed", "apps.alignment", "apps.parsing", "apps.tagging"]
)
def test_public_modules_show_public_names_alone(name):
    module = import_module(f"structlearn.{name}")
    assert dir(module) == sorted(module.__all__)
    for public in module.__all__:
        assert not public.startswith("_")
        assert getattr(module, public) is not None


def test_public_class_names_are_unique():
    counts = Counter(
        node.name
        for path in PACKAGE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    )
    assert [name for name, count in counts.items() if count > 1] == []


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("apps.tagging", "tagging"),
        ("apps.tagging.tagger", "tagging.tagger"),
        ("apps.text", "tagging.features"),
        ("apps.alignment.aligner", "alignment.aligner"),
        ("apps.alignment.page", "alignment.uses.page"),
        ("estimators.top_weights", "estimators.weights.top_weights"),
    ],
)
def test_modules_that_have_moved_are_found_by_their_old_names(old, new):
    """In a process of its own, which imports the old name first: it is the module itself, not a copy."""
    check = (
        f"import sys, structlearn.{old}; old = sys.modules['structlearn.{old}']; import structlearn.{new}; "
        f"new = sys.modules['structlearn.{new}']; assert old is new; "
        f"assert new.__spec__.name == 'structlearn.{new}', new.__spec__"
    )
    subprocess.run([sys.executable, "-c", check], check=True, capture_output=True)
