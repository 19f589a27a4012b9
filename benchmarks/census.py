"""The size of the source: lines, long files, and how often a type is `Any`.

python benchmarks/census.py

Signatures of compiled kernels do not count: Numba infers their types.
"""

from __future__ import annotations

import ast
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[1] / "src"
COMPILED = {"kernel", "leaf", "jitable", "c_function"}
LONGEST = 400


def names(tree):
    """How often a piece of source names `Any`; imports are no types."""
    return sum(isinstance(node, ast.Name) and node.id == "Any" for node in ast.walk(tree))


def is_compiled(function):
    decorators = [getattr(one, "func", one) for one in function.decorator_list]
    return any(isinstance(one, ast.Name) and one.id in COMPILED for one in decorators)


def anys(tree):
    """`names`, without the signatures of compiled kernels."""
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and is_compiled(node)]
    signatures = [part for one in functions for part in (one.args, one.returns) if part is not None]
    return names(tree) - sum(map(names, signatures))


def main():
    files = {path: path.read_text() for path in sorted(SOURCE.rglob("*.py"))}
    lengths = {path: len(text.splitlines()) for path, text in files.items()}
    counts = {path: anys(ast.parse(text)) for path, text in files.items()}
    print(f"{len(files)} files, {sum(lengths.values())} lines, {sum(counts.values())} times Any")
    for path, length in lengths.items():
        if length > LONGEST:
            print(f"{path.relative_to(SOURCE)}: {length} lines")
    rooms = {}
    for path, count in counts.items():
        room = rooms.setdefault(path.relative_to(SOURCE).parts[1], [0, 0])
        room[0] += lengths[path]
        room[1] += count
    for room, (length, count) in sorted(rooms.items()):
        print(f"{room:16s} {length:6d} lines {count:5d} Any")


if __name__ == "__main__":
    main()
