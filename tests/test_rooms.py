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
    "data": {"core", "storage", "structures"},
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


def test_importing_the_package_is_light():
    code = "import structlearn, sys; print(*sys.modules)"
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()
    assert not {"numba", "numpy", "scipy", "sklearn", "matplotlib", "pandas"} & set(loaded)


def test_the_public_names_can_be_imported():
    for name in structlearn.__all__:
        assert getattr(structlearn, name) is not None
    assert set(structlearn.__all__) <= set(dir(structlearn))
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = structlearn.nonsense
