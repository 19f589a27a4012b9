"""The sum instead of the product: structures and scorings behind C addresses, so that a pass compiles once.

A pass calls operations on a structure and a scoring. Compiled for their records it would have to be compiled
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
from typing import Generic, TypeVar

from numba import types
from numba.core.dispatcher import Dispatcher

from structlearn.core.kernels import c_dispatcher, is_operation
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
        """Where its machine code for records of this type is; compiled, or loaded, at first use."""
        if id(kind) not in self._known:  # there is one for each type, and hashing it takes long
            signature = (kind, *self._arguments)
            self._dispatcher.compile(signature)
            found = self._dispatcher.overloads[signature]
            name = found.fndesc.llvm_cfunc_wrapper_name
            self._known[id(kind)] = found.library.get_pointer_to_function(name)
        return self._known[id(kind)]


def c_function(*arguments: types.Type) -> Callable[[Callable[..., object]], CFunction]:
    """The decorated function, of a pointer to a record and its scratch memory and of these arguments."""
    return lambda function: CFunction(function, arguments)


@cache
def operations_of(function: Callable[..., object]) -> frozenset[str]:
    """The operations that a kernel, or one that it calls, names: what must be compiled for it."""
    source, found = unwrap(function), set[str]()
    for value in map(source.__globals__.get, source.__code__.co_names):
        if isinstance(value, Dispatcher) and value is not function:
            found |= operations_of(value)
        elif is_operation(value):
            found.add(unwrap(value).__name__)
    return frozenset(found)


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
        """The record for a call of the kernel `function` in this thread."""
        known: dict[frozenset[str], tuple[Record, object]] = self._own.__dict__  # type: ignore[assignment]
        operations = operations_of(function)
        if operations not in known:
            known[operations] = self._erase(operations)
        return known[operations][0]
