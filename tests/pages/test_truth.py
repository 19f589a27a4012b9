"""Papers say what the code does: the walk of a fit, rooms, Numba's insides, results, names in help texts."""

import ast
import importlib
import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
from blocks import ROOT

import structlearn
from structlearn import ChainClassifier

PACKAGE = Path(structlearn.__file__).parent
ARCHITECTURE = (ROOT / "docs" / "architecture.md").read_text()
LINKED = re.compile(r"\(\.\./src/structlearn/([\w/]+\.py)\)")
MOST_HOPS = 12


def section(page, title):
    """The text below a heading."""
    return page.partition(f"## {title}\n")[2].partition("\n## ")[0]


def stack_of_pass():
    """Files on the stack when the default `ChainClassifier.fit` calls its compiled pass, and the hops."""
    rng = np.random.default_rng(0)
    X = [rng.normal(size=(3, 4)) for _ in range(6)]
    y = [x[:, :2].argmax(axis=1) for x in X]
    model = ChainClassifier(regularization=0.01, tol=0.05, random_state=0).fit(X, y)  # imports and compiles
    found = []

    def look(frame, event, _):
        if event == "call" and frame.f_code.co_name == "step" and not found:
            steps.append(frame)
        if event == "call" and steps and frame.f_code is run and not found:
            kernel = frame.f_locals["function"]
            found.extend([*files_of(frame), Path(kernel.py_func.__code__.co_filename)])

    steps, run = [], structlearn.problem.oracle.Oracle.run.__code__
    sys.setprofile(look)
    try:
        model.fit(X, y)
    finally:
        sys.setprofile(None)
    names = [path.relative_to(PACKAGE).as_posix() for path in found]
    return list(dict.fromkeys(names)), len(names) - 1


def files_of(frame):
    """Files of the package on the stack of a frame, outermost first."""
    found = []
    while frame is not None:
        path = Path(frame.f_code.co_filename)
        if path.is_relative_to(PACKAGE):
            found.append(path)
        frame = frame.f_back
    return found[::-1]


def test_the_walk_of_the_architecture_is_the_stack_of_a_fit():
    files, hops = stack_of_pass()
    rows = [line for line in section(ARCHITECTURE, "Down").splitlines() if re.match(r"\| \d+ \|", line)]
    assert [LINKED.search(row)[1] for row in rows] == files
    assert hops <= MOST_HOPS


def test_every_room_is_named():
    shown = set(re.findall(r"`([\w/]+)/`", section(ARCHITECTURE, "Rooms")))
    rooms = {path.parent for path in PACKAGE.rglob("*.py")} - {PACKAGE}
    several = {room for room in rooms if len(list(room.glob("*.py"))) > 1}
    assert {room.relative_to(PACKAGE).as_posix() for room in several} - shown == set()
    assert {name for name in shown if not (PACKAGE / name / "__init__.py").exists()} == set()


def test_numbas_insides_are_listed():
    page = (ROOT / "docs" / "numba-releases.md").read_text()
    inside = re.compile(r"^\s*(?:from|import) (?:numba\.(?:core|np|cpython)\b|llvmlite)", re.MULTILINE)
    resting = {path for path in PACKAGE.rglob("*.py") if inside.search(path.read_text())}
    listed = set(re.findall(r"^\| `([\w/]+\.py)` \|", page, re.MULTILINE))
    assert {path.relative_to(PACKAGE).as_posix() for path in resting} == listed


def test_public_modules_are_in_the_reference():
    page = "".join((ROOT / "docs" / f"{name}.md").read_text() for name in ("reference", "reference-torch"))
    rooms = ("data", "metrics", "reports", "constraints", "losses", "structures", "scoring", "objective")
    rooms += ("solvers", "tagging", "parsing", "alignment", "torch", "distributed")
    listed = re.findall(r"^   (structlearn(?:\.\w+)?)$", page, re.MULTILINE)
    assert sorted(listed) == sorted(["structlearn", *(f"structlearn.{room}" for room in rooms)])


# ---- results --------------------------------------------------------------------------------------------


def test_tables_of_results_are_those_of_the_files():
    script = ROOT / "benchmarks" / "report.py"
    done = subprocess.run(
        [sys.executable, str(script), "--check"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"run python benchmarks/report.py: {done.stdout}{done.stderr}"


def test_results_say_where_they_are_from():
    files = sorted((ROOT / "benchmarks" / "results").rglob("*.json"))
    assert files
    for path in files:
        found = json.loads(path.read_text())
        assert {"name", "commit", "date", "machine", "versions", "command", "peers"} <= set(found)
        assert found["name"] == path.stem
        assert "figures" in found or found["recorded"] == "by hand from the journal"
    assert len((ROOT / "benchmarks" / "RESULTS.md").read_text().splitlines()) <= 200


# ---- names in help texts --------------------------------------------------------------------------------

#: Names of other libraries, and words that are written as classes are.
OTHERS = {"distributed.Client"}
LIBRARIES = ("sklearn.base", "sklearn.preprocessing", "sklearn.kernel_approximation", "numpy", "builtins")


def defined():
    """Every name that the package defines, with that of its module and of its class before it, or without."""
    found = set()
    for path in PACKAGE.rglob("*.py"):
        parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
        modules = parts[:-1] if parts[-1] == "__init__" else parts
        found.update(".".join(modules[k:]) for k in range(len(modules)))
        for name in names_of(ast.parse(path.read_text())):
            found.update({name, *(".".join([*modules[k:], name]) for k in range(len(modules)))})
    return found


def names_of(tree, before=""):
    """Names that a module or a class binds, fields and attributes of self among them."""
    for node in ast.iter_child_nodes(tree):
        match node:
            case ast.ClassDef(name=name) | ast.FunctionDef(name=name):
                yield before + name
                yield from (f"{before}{name}.{one}" for one in names_of(node))
                yield from names_of(node)
            case ast.Import(names=names) | ast.ImportFrom(names=names):
                yield from (alias.asname or alias.name for alias in names)
            case ast.Assign(targets=targets):
                yield from (one.id for one in targets if isinstance(one, ast.Name))
                yield from (one.attr for one in targets if isinstance(one, ast.Attribute))
            case ast.AnnAssign(target=ast.Name(id=name)) | ast.AnnAssign(target=ast.Attribute(attr=name)):
                yield name
            case _:
                yield from names_of(node)


def help_texts():
    """Help texts of modules, classes and functions, with where they stand."""
    for path in sorted(PACKAGE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
                text = ast.get_docstring(node)
                if text:
                    yield f"{path.relative_to(PACKAGE)}: {getattr(node, 'name', '')}", text


def looks_like_ours(name):
    """A class, or a path of modules that begins with the package or one of its rooms."""
    rooms = {path.name for path in PACKAGE.iterdir() if path.is_dir()}
    first = name.split(".")[0]
    return re.fullmatch(r"[A-Z][a-z]\w*[a-z](\.\w+)*", name) or (
        "." in name and (first == "structlearn" or first in rooms)
    )


def test_names_in_help_texts_exist():
    known, missing = defined() | OTHERS, []
    for place, text in help_texts():
        for name in re.findall(r"(?<!`)`([A-Za-z_][\w.]*)(?:\(\))?`(?!`)", text):
            if looks_like_ours(name) and name not in known and not elsewhere(name):
                missing.append(f"{place}: `{name}`")
    assert missing == [], "\n".join(missing)


def elsewhere(name):
    """Whether scikit-learn, NumPy or SciPy has a class of that name."""
    return any(
        hasattr(importlib.import_module(module), name)
        for module in (
            "sklearn.base",
            "sklearn.preprocessing",
            "sklearn.kernel_approximation",
            "numpy",
            "builtins",
        )
    )
