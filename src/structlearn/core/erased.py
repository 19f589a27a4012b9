"""Structures and scorings behind C addresses, so that a pass compiles once and not for every pair of them.

A pass calls operations on a structure and a scoring. For the records themselves it would have to be compiled
for every pair of them. Instead each operation of a record is compiled alone, as a C function, and a pass is
compiled for two records of addresses, `structures.erased.ErasedStructure` and `scoring.erased.ErasedScoring`,
which implement the same operations. A user's own oracle is compiled by itself, and no pass with it.

Scratch memory is made by Python, for each thread its own, and lies beside the record.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import cache
from inspect import unwrap
from types import CodeType, ModuleType
from typing import Any, Generic, TypeVar, cast

from numba import types
from numba.core.dispatcher import Dispatcher

from structlearn.core.kernels import c_dispatcher, is_jitable, is_operation
from structlearn.core.words import PackedWords

INT, FLOAT = types.int64, types.float64
#: A vector, as its address and its size.
NUMBERS = (types.CPointer(types.float64), INT)
MASK = (types.CPointer(types.boolean), INT)

Record = TypeVar("Record")


class CFunction:
    """A function of a record and of C arguments, which returns a number; compiled for each type of record."""

    def __init__(self, function: Callable[..., object], arguments: tuple[types.Type, ...]) -> None:
        self._dispatcher = c_dispatcher(function)
        self._arguments = arguments
        self._known: dict[int, int] = {}

    def address(self, kind: PackedWords) -> int:
        """Return the address of its machine code for this type of record; compiled or loaded at first use."""
        if id(kind) not in self._known:  # there is one for each type, and hashing it takes long
            signature = (kind, *self._arguments)
            self._dispatcher.compile(signature)
            found = self._dispatcher.overloads[signature]
            name = found.fndesc.llvm_cfunc_wrapper_name
            self._known[id(kind)] = found.library.get_pointer_to_function(name)
        return self._known[id(kind)]


def c_function(*arguments: types.Type) -> Callable[[Callable[..., object]], CFunction]:
    """Make a C function of a pointer to a record and its scratch memory, and of these arguments."""
    return lambda function: CFunction(function, arguments)


@cache
def operations_of(function: Callable[..., object]) -> frozenset[str]:
    """Return the operations that a kernel, or one that it calls, names: these must be compiled for it."""
    reached, waiting = {function}, [function]
    for one in waiting:  # which grows
        for value in _values_of_names(one):
            if (isinstance(value, Dispatcher) or is_jitable(value)) and value not in reached:
                reached.add(value)
                waiting.append(value)
    named = (value for one in reached for value in _values_of_names(one) if is_operation(value))
    return frozenset(unwrap(value).__name__ for value in named)


@cache
def _values_of_names(function: Callable[..., object]) -> list[Any]:
    """Return the values of the names in a function, of attributes of modules and of enclosing variables."""
    source: Any = unwrap(function)
    names = {name for code in _codes(source.__code__) for name in code.co_names}
    cells = (cell.cell_contents for cell in source.__closure__ or () if _is_filled(cell))
    values = [*map(source.__globals__.get, names), *cells]
    modules = set[ModuleType]()
    for value in values:  # which grows
        if isinstance(value, ModuleType) and value not in modules:
            modules.add(value)
            values += map(vars(value).get, names)
    return values


def _codes(code: CodeType) -> list[CodeType]:
    """Return the code of a function and of the functions inside it, such as comprehensions."""
    inside = (_codes(one) for one in code.co_consts if isinstance(one, CodeType))
    return [code, *(one for found in inside for one in found)]


def _is_filled(cell: Any) -> bool:
    try:
        cell.cell_contents  # noqa: B018
    except ValueError:
        return False
    return True


class Erased(Generic[Record]):
    """A record behind addresses, with scratch memory of its own in each thread.

    Parameters
    ----------
    erase : function
        From the names of operations to the record that holds their addresses, and what must live as long.
    """

    def __init__(self, erase: Callable[[frozenset[str]], tuple[Record, object]]) -> None:
        self._erase = erase
        self._own = threading.local()

    def record(self, function: Callable[..., object]) -> Record:
        """Return the record for a call of the kernel `function` in this thread."""
        known = cast(dict[frozenset[str], tuple[Record, object]], self._own.__dict__)
        operations = operations_of(function)
        if operations not in known:
            known[operations] = self._erase(operations)
        return known[operations][0]
