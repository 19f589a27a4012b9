"""Hash what a value holds: equal values have equal hashes, in every process.

Arrays are hashed by their bytes, containers by their elements, functions by their code and by what they
refer to, objects by their class and their state, as `pickle` would ask for it. What has no such state (an
open file, a lock) is refused, since no hash could tell it from another.
"""

from __future__ import annotations

import copyreg
import hashlib
import sys
from collections.abc import Mapping
from contextlib import suppress
from dis import get_instructions
from operator import itemgetter
from pathlib import PurePath
from types import (
    BuiltinFunctionType,
    CodeType,
    FunctionType,
    GetSetDescriptorType,
    MappingProxyType,
    MemberDescriptorType,
    MethodType,
    ModuleType,
)
from typing import Any

import numpy as np

#: How many bytes of an array are hashed at once, so that a mapped file is not read into memory.
PIECE = 1 << 26


class NoContentError(TypeError):
    """Raised for values whose content cannot be told."""


def content_hash(*values: object) -> str:
    """Return 32 digits that are equal for equal values; NoContentError where there is no telling."""
    found = hashlib.blake2b(digest_size=16)
    add_to_hash(found, values)
    return found.hexdigest()


def add_to_hash(found: hashlib.blake2b, value: object) -> None:
    """Add what a value holds to a hash."""
    _Adding(found).add(value)


class _Adding:
    """One walk over a value. A compound value is hashed by itself, and once; a cycle ends where it began."""

    def __init__(self, found: hashlib.blake2b) -> None:
        self.found = found
        #: hashes of what was met, with the values: an address may otherwise be given to another
        self.known: dict[int, tuple[bytes, object]] = {}
        self.under_way: list[int] = []

    def word(self, *words: object) -> None:
        for one in words:
            text = str(one).encode("utf-8", "surrogatepass")
            self.found.update(b"%d:%s" % (len(text), text))

    def add(self, value: Any) -> None:
        if value is None or isinstance(value, bool | int | float | complex | str | bytes | np.generic):
            self.word(type(value).__name__, repr(value))
        elif isinstance(value, np.ndarray) and value.dtype != object:
            self.array(value)
        elif isinstance(value, ModuleType):
            self.word("module", value.__name__)
        elif id(value) in self.under_way:
            self.word("cycle", len(self.under_way) - self.under_way.index(id(value)))
        else:
            self.found.update(self.known[id(value)][0] if id(value) in self.known else self.alone(value))

    def alone(self, value: Any) -> bytes:
        """Return the hash of a compound value by itself."""
        around, self.found = self.found, hashlib.blake2b(digest_size=16)
        self.under_way.append(id(value))
        try:
            self.compound(value)
            digest = self.found.digest()
        finally:
            self.under_way.pop()
            self.found = around
        self.known[id(value)] = digest, value
        return digest

    def array(self, value: np.ndarray) -> None:
        self.word("array", value.dtype.descr if value.dtype.names else value.dtype.str, value.shape)
        flat = np.ascontiguousarray(value).reshape(-1).view(np.uint8)
        for first in range(0, flat.size, PIECE):
            self.found.update(flat[first : first + PIECE].data)

    def compound(self, value: Any) -> None:
        if isinstance(value, tuple | list | np.ndarray):
            self.word(type(value).__qualname__, len(value))
            for one in value:
                self.add(one)
        elif isinstance(value, Mapping):
            self.word(type(value).__qualname__, len(value))
            for item in _sorted_items(value):
                self.add(item)
        elif isinstance(value, set | frozenset):
            self.word(type(value).__qualname__, *sorted(map(content_hash, value)))
        elif isinstance(value, type):
            self.class_of(value)
        elif isinstance(value, CodeType):
            self.code(value)
        elif isinstance(value, FunctionType):
            self.function(value)
        elif hasattr(value, "py_func"):  # compiled by Numba
            self.word("compiled")
            self.add(value.py_func)
        else:
            self.object(value)

    def class_of(self, kind: type) -> None:
        """Add a class by its name; one of a user by what its methods do, too."""
        self.word("class", kind.__module__, kind.__qualname__)
        if _is_library(kind.__module__):
            return
        for base in kind.__bases__:
            self.add(base)
        for name, one in sorted(vars(kind).items()):
            if _matters(name, one):
                self.word(name)
                self.add(one)

    def code(self, code: CodeType) -> None:
        self.word("code", code.co_code.hex(), code.co_names, code.co_varnames, code.co_freevars)
        for one in code.co_consts:
            self.add(one)

    def function(self, function: FunctionType) -> None:
        """Add a function: its code, defaults, what it closes over, and the globals that it names."""
        if _is_library(function.__module__):
            self.word("function", function.__module__, function.__qualname__)
            return
        self.add(function.__code__)
        self.add(function.__defaults__)
        self.add(function.__kwdefaults__)
        for cell in function.__closure__ or ():
            with suppress(ValueError):  # an empty cell
                self.add(cell.cell_contents)
        for name in sorted(_globals(function.__code__) & function.__globals__.keys()):
            self.word(name)
            self.add(function.__globals__[name])

    def object(self, value: Any) -> None:
        if isinstance(value, MethodType):
            self.add((value.__func__, value.__self__))
        elif isinstance(value, staticmethod | classmethod):
            self.add(value.__func__)
        elif isinstance(value, property):
            self.add((value.fget, value.fset))
        elif isinstance(value, BuiltinFunctionType | np.ufunc):
            self.word("built in", getattr(value, "__module__", ""), value.__name__)
        elif isinstance(value, MappingProxyType):
            self.add(dict(value))
        elif hasattr(value, "__wrapped__"):  # a cache around a function, whose answers are the function's
            self.add(value.__wrapped__)
        else:
            self.state(value)

    def state(self, value: Any) -> None:
        """Add an object as `pickle` would take it apart: its class, the arguments that make it, its state."""
        self.add(type(value))
        try:
            reduced = value.__reduce_ex__(2)
        except Exception as error:
            raise NoContentError(
                f"A {type(value).__name__} has no state that could be compared ({error})."
            ) from error
        if isinstance(reduced, str):
            self.word(reduced)
            return
        make, arguments, *rest = reduced
        if make is not vars(copyreg)["__newobj__"]:
            self.add(make)
        self.add(arguments)
        for one in rest:
            self.add(one if one is None or isinstance(one, tuple | dict) else _as_list(one))


def _matters(name: str, attribute: object) -> bool:
    """Return whether an attribute of a class says what its objects do; slots and notes of Python do not."""
    if isinstance(attribute, GetSetDescriptorType | MemberDescriptorType) or name == "_abc_impl":
        return False
    return callable(attribute) or not (name.startswith("__") and name.endswith("__"))


def _as_list(state: Any) -> object:
    """Return the rest of a reduced object: its items, where it is a list or a mapping."""
    return list(state) if hasattr(state, "__next__") else state


def _sorted_items(mapping: Mapping[Any, Any]) -> list[tuple[Any, Any]]:
    """Return the items of a mapping, by name where keys are names."""
    items = list(mapping.items())
    return sorted(items, key=itemgetter(0)) if all(isinstance(key, str) for key in mapping) else items


def _is_library(module: str | None) -> bool:
    """Return whether a module is a library's, whose names say enough; a user's own code is looked into."""
    root = (module or "").partition(".")[0]
    file = getattr(sys.modules.get(root), "__file__", None) or ""
    installed = {"site-packages", "dist-packages"} & set(PurePath(file).parts)
    return root == "structlearn" or root in sys.stdlib_module_names or bool(installed)


def _globals(code: CodeType) -> set[str]:
    """Return the global names that a function refers to, in the functions inside it too."""
    own = {one.argval for one in get_instructions(code) if one.opname in ("LOAD_GLOBAL", "LOAD_NAME")}
    return own.union(*(_globals(one) for one in code.co_consts if isinstance(one, CodeType)))
