"""The measures of the house: what the source looks like, beside what it looked like at 0.2.0 and the aim.

python benchmarks/census.py [--source SRC] [--names] [--papers]

All is read off the source by its syntax; nothing of it is run but the registry of the shell's tasks.
`--names` lists what was counted, `--papers` runs the tests that compare the docs with the code.

*Past participles* are a rule of thumb: names of one word that ends in -ed or is in a list of irregular ones,
each counted once. *Kernels* are functions under `kernel`, `leaf`, `jitable`, `c_function` or `implements`.
*Private names used across modules* do not count the API of others: the methods of named tuples (`_replace`,
`_fields` ...), `os._exit` and scikit-learn's `_get_param_names`.
*Public functions of one name* do not count the operations that `core/contract.py` declares: these are one
name on purpose, for all that implement them.
Figures of 0.2.0 are those of a reading by hand and, in brackets, what this script counts there.
"""

from __future__ import annotations

import argparse
import ast
import os
import re
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).resolve().parents[1]
COMPILED = {"kernel", "leaf", "jitable", "c_function", "implements"}
IRREGULAR = re.compile(
    r"told|kept|made|given|known|shown|taken|drawn|written|said|held|led|lent|sent|begun|bound|built|bought|"
    r"caught|chosen|done|dealt|felt|forgotten|gone|grown|hidden|laid|lost|met|paid|seen|sold|spent|spun|stood|"
    r"struck|sunk|taught|thought|thrown|torn|understood|won|woken|worn|wound"
)
#: Words in -ed that are no participles.
NOT_PARTICIPLES = {"seed", "need", "feed", "speed", "exceed", "proceed", "embed"}
LONGEST = 400
#: Names with an underscore that the standard library and scikit-learn offer to everyone.
OTHERS_API = {"_replace", "_fields", "_asdict", "_make", "_field_defaults", "_exit", "_get_param_names"}


class Measure(NamedTuple):
    """A line of the table."""

    what: str
    before: str
    aim: str
    now: str
    counted: list[str]


class Source:
    """The package's files, parsed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "structlearn"
        self.texts = {path: path.read_text() for path in sorted(self.folder.rglob("*.py"))}
        self.trees = {path: ast.parse(text) for path, text in self.texts.items()}

    def name(self, path: Path) -> str:
        return path.relative_to(self.folder).as_posix()

    def functions(self) -> Iterator[tuple[Path, ast.FunctionDef]]:
        for path, tree in self.trees.items():
            yield from ((path, node) for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))


# ---- one option, one class ------------------------------------------------------------------------------


def names_option(tree: ast.AST, option: str) -> bool:
    """Whether code names an option; a text about it, and an import of a module called so, do not count."""
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name) | ast.Attribute(attr=name) | ast.arg(arg=name) | ast.keyword(arg=name):
                found = name == option
            case ast.Constant(value=str() as text):
                found = text.strip("-").replace("-", "_") == option
            case _:
                found = False
        if found:
            return True
    return False


def option_files(source: Source) -> Measure:
    found = [source.name(path) for path, tree in source.trees.items() if names_option(tree, "span_lexicon")]
    return Measure(
        "files that name one option of `ner` (`span_lexicon`)", "8 (7)", "2", str(len(found)), found
    )


def train_options() -> Measure:
    """Count the options of `train`: a task's own, and those of all."""
    from dataclasses import fields

    from structlearn.cli.tasks.options import DataOptions, ProblemOptions, TalkOptions
    from structlearn.cli.tasks.registry import TASKS

    shared = 1 + sum(len(fields(one)) for one in (ProblemOptions, DataOptions, TalkOptions))
    own = {name: len(entry.flags) for name, entry in TASKS.items()}
    now = f"{min(own.values())} to {max(own.values())} own, {shared} shared"
    listed = [f"{name} {count}" for name, count in own.items()]
    return Measure("options of `train`", "52 on one command", "own and at most 15 shared", now, listed)


class Defined(NamedTuple):
    """A class, where it stands, and the names of its bases."""

    path: Path
    node: ast.ClassDef
    bases: list[str]


def classes_of(source: Source) -> dict[str, Defined]:
    """All classes by name, which are unique but for what stands in for scikit-learn's."""
    return {
        node.name: Defined(path, node, [base_name(one) for one in node.bases])
        for path, tree in source.trees.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef) and path.stem != "scikit_bases"
    }


def base_name(base: ast.expr) -> str:
    while isinstance(base, ast.Subscript):
        base = base.value
    return base.attr if isinstance(base, ast.Attribute) else base.id if isinstance(base, ast.Name) else ""


def ancestors(name: str, known: dict[str, Defined]) -> list[str]:
    """A class and all that it derives from, each once."""
    found = [name]
    for one in found:
        found += [base for base in known[one].bases if base in known and base not in found]
    return found


def class_size(source: Source, name: str = "ChainClassifier") -> Measure:
    known = classes_of(source)
    own = ancestors(name, known)
    methods = sum(isinstance(node, ast.FunctionDef) for one in own for node in known[one].node.body)
    files = {known[one].path for one in own}
    now = f"{len(own)} / {methods} / {len(files)}"
    return Measure(f"own classes / methods / files behind `{name}`", "14 / 108 / 12", "5 / 60 / 5", now, own)


# ---- private names --------------------------------------------------------------------------------------


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__")


def private_definitions(tree: ast.AST) -> set[str]:
    """Private names that a module binds: functions, classes, variables, attributes of self."""
    found = set()
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                found.add(name)
            case ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()):
                found.add(name)
    return {name for name in found if is_private(name)}


def private_uses(tree: ast.AST) -> set[str]:
    """Private attributes of something other than self and cls."""
    return {
        node.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute)
        and is_private(node.attr)
        and not (isinstance(node.value, ast.Name) and node.value.id in ("self", "cls"))
        and not (isinstance(node.value, ast.Call) and getattr(node.value.func, "id", "") == "super")
    }


def private_across(source: Source) -> Measure:
    defined = {path: private_definitions(tree) for path, tree in source.trees.items()}
    anywhere = set().union(*defined.values())
    found = {
        f"{name} ({source.name(path)})": name
        for path, tree in source.trees.items()
        for name in private_uses(tree) & (anywhere - defined[path] - OTHERS_API)
    }
    what = "private names used across modules (`estimator._x`)"
    return Measure(what, "42 (31)", "under 10", str(len(set(found.values()))), sorted(found))


def repeated_methods(source: Source) -> Measure:
    """The most definitions of one private method in estimators whose signatures differ."""
    signatures = defaultdict(list)
    for path, function in source.functions():
        if is_private(function.name) and source.name(path).startswith("estimators/"):
            arguments = ast.unparse(function.args).partition(",")[2]
            if function.args.args[:1] and function.args.args[0].arg in ("self", "cls"):
                signatures[function.name].append(arguments)
    differing = {name: len(found) for name, found in signatures.items() if len(set(found)) > 1}
    most = sorted(differing.items(), key=lambda one: -one[1])
    what = "most definitions of one private method in estimators, signatures differing"
    listed = [f"{name} {count}, {len(set(signatures[name]))} signatures" for name, count in most]
    return Measure(what, "7 (7)", "1", str(most[0][1] if most else 1), listed)


# ---- folders, functions, kernels ------------------------------------------------------------------------


def fullest_folder(source: Source) -> Measure:
    sizes = Counter(path.parent for path in source.texts).most_common()
    listed = [f"{source.name(folder)} {count}" for folder, count in sizes[:5]]
    return Measure("most files in one folder", "65 (65)", "25", str(sizes[0][1]), listed)


def is_compiled(function: ast.FunctionDef) -> bool:
    decorators = [getattr(one, "func", one) for one in function.decorator_list]
    return any(getattr(one, "id", getattr(one, "attr", "")) in COMPILED for one in decorators)


def operations(source: Source) -> set[str]:
    """Return the names of the operations that `core/contract.py` declares."""
    tree = source.trees.get(source.folder / "core" / "contract.py", ast.Module([], []))
    return {
        node.name
        for node in tree.body
        if isinstance(node, ast.FunctionDef)
        and any(getattr(one, "id", "") == "operation" for one in node.decorator_list)
    }


def shared_names(source: Source) -> Measure:
    """Count the names under which several modules define a public function."""
    places = defaultdict(set)
    for path, tree in source.trees.items():
        for node in tree.body:
            if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
                places[node.name].add(source.name(path))
    for name in operations(source):
        places.pop(name, None)
    found = sorted(f"{name} ({len(where)})" for name, where in places.items() if len(where) > 1)
    what = "public functions of one name in several modules"
    return Measure(what, "64 (64)", "under 20", str(len(found)), found)


def anys(tree: ast.AST | None) -> int:
    """How often a piece of source names `Any`; imports are no types."""
    if tree is None:
        return 0
    return sum(isinstance(node, ast.Name) and node.id == "Any" for node in ast.walk(tree))


def kernel_anys(source: Source) -> Measure:
    counts: Counter[str] = Counter()
    for path, function in source.functions():
        if is_compiled(function):
            counts[source.name(path)] += anys(function.args) + anys(function.returns)
    listed = [f"{name} {count}" for name, count in counts.most_common() if count]
    return Measure(
        "`Any` in kernels' signatures", "2,693 (2,625)", "under 300", f"{sum(counts.values()):,}", listed
    )


def is_participle(name: str) -> bool:
    word = name.strip("_")
    return bool(IRREGULAR.fullmatch(word)) or bool(
        re.fullmatch(r"[a-z]+ed", word) and word not in NOT_PARTICIPLES
    )


def participles(source: Source) -> Measure:
    counts = Counter(one.name.strip("_") for _, one in source.functions() if is_participle(one.name))
    listed = [f"{name} {count}" for name, count in counts.most_common()]
    what = "function names that are past participles"
    return Measure(what, "129 (143)", "under 30", str(len(counts)), listed)


def papers(run: bool) -> Measure:
    """Count the tests that find the docs at odds with the code."""
    what = "statements of the docs that the code contradicts"
    if not run:
        return Measure(what, "6", "0, tested", "`--papers` tells", [])
    command = [sys.executable, "-m", "pytest", "-q", "-n", "0", "tests/pages/test_truth.py"]
    environment = {**os.environ, "PYTHONPATH": str(HERE / "src")}
    done = subprocess.run(command, cwd=HERE, env=environment, capture_output=True, text=True, check=False)
    failed = re.findall(r"^FAILED (\S+)", done.stdout, re.MULTILINE)
    return Measure(what, "6", "0, tested", str(len(failed)), failed)


# ---- all of it ------------------------------------------------------------------------------------------


def sizes(source: Source) -> Iterator[str]:
    """Write files and lines, those that are too long, and rooms."""
    lengths = {path: len(text.splitlines()) for path, text in source.texts.items()}
    in_kernels: Counter[Path] = Counter()
    for path, function in source.functions():
        if is_compiled(function):
            in_kernels[path] += anys(function.args) + anys(function.returns)
    elsewhere = {path: anys(tree) - in_kernels[path] for path, tree in source.trees.items()}
    total = sum(elsewhere.values())
    yield f"{len(lengths)} files, {sum(lengths.values())} lines, {total} times Any outside of kernels"
    yield from (f"{source.name(path)}: {n} lines" for path, n in lengths.items() if n > LONGEST)
    rooms: defaultdict[str, list[int]] = defaultdict(lambda: [0, 0, 0])
    for path, length in lengths.items():
        room = rooms[path.relative_to(source.folder).parts[0]]
        room[0], room[1], room[2] = room[0] + 1, room[1] + length, room[2] + elsewhere[path]
    for room_name, (files, length, count) in sorted(rooms.items()):
        yield f"{room_name:16s} {files:4d} files {length:6d} lines {count:5d} Any"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--source", type=Path, default=HERE / "src", help="the folder src of another checkout"
    )
    parser.add_argument("--names", action="store_true", help="list what was counted")
    parser.add_argument("--papers", action="store_true", help="run the tests of the docs")
    asked = parser.parse_args()
    sys.path.insert(0, str(asked.source))
    source = Source(asked.source)
    measures = [option_files(source)]
    if (source.folder / "cli" / "tasks" / "options.py").exists():
        measures.append(train_options())
    for measure in (class_size, private_across, repeated_methods, fullest_folder, shared_names, kernel_anys):
        measures.append(measure(source))
    measures += [participles(source), papers(asked.papers)]
    print("| measure | 0.2.0 | now | aim |\n|---|---|---|---|")
    for one in measures:
        print(f"| {one.what} | {one.before} | {one.now} | {one.aim} |")
    print("", *sizes(source), sep="\n")
    if asked.names:
        for one in measures:
            print("", f"{one.what}:", *(f"  {name}" for name in one.counted), sep="\n")


if __name__ == "__main__":
    main()
