"""Imports run one way: cli, apps, estimators, solvers, objective, scoring and structures, contract."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import structlearn

PACKAGE = Path(structlearn.__file__).parent
#: What each room may import of the package, beside itself.
MAY_IMPORT = {
    "core": set(),
    "storage": {"core"},
    "metrics": {"core"},
    "structures": {"core"},
    "scoring": {"core"},
    "problem": {"core", "structures", "scoring"},
    "losses": {"problem"},
    "objective": {"problem"},
    "torch": {"core", "structures", "problem"},
    "solvers": {"core", "structures", "scoring", "problem", "storage"},
    "data": {"core", "storage"},
    "distributed": {"core", "structures", "scoring", "problem", "solvers", "storage", "data"},
    "estimators": {
        "core",
        "structures",
        "scoring",
        "problem",
        "solvers",
        "storage",
        "metrics",
        "distributed",
    },
    "reports": {
        "core",
        "structures",
        "scoring",
        "problem",
        "solvers",
        "storage",
        "metrics",
        "estimators",
        "data",
    },
}


def imported_rooms(path):
    """Rooms of the package that a file imports, at its top or inside a function."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        if isinstance(node, ast.ImportFrom) and node.module == "structlearn":
            names = [f"structlearn.{alias.name}" for alias in node.names]
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        found |= {name.split(".")[1] for name in names if name.startswith("structlearn.")}
    return found - {"__version__"}


@pytest.mark.parametrize("room", MAY_IMPORT)
def test_rooms_import_only_what_is_below_them(room):
    files = [PACKAGE / f"{room}.py"] if (PACKAGE / f"{room}.py").exists() else (PACKAGE / room).rglob("*.py")
    for path in files:
        assert imported_rooms(path) - {room} <= MAY_IMPORT[room], path.name


def test_every_room_has_its_rule():
    rooms = {
        path.stem for path in PACKAGE.glob("*") if path.suffix == ".py" or (path / "__init__.py").exists()
    }
    assert rooms - set(MAY_IMPORT) <= {"__init__", "__main__", "cli", "apps"}


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
    others = {"data", "distributed", "reports", "cli", "estimators.tree_parser", "estimators.ridge"}
    assert not {f"structlearn.{name}" for name in others} & loaded


def test_scikit_learn_has_one_door():
    """Prediction does without: at the top of a file of estimators and applications it would come in."""
    paths = [path for room in ("estimators", "apps") for path in (PACKAGE / room).rglob("*.py")]
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
