"""Compiled Python: the one decorator, and how an operation finds the kernel that implements it.

An *operation* (`core.contract`) is a generic function such as `maximize(structure, ...)`. A *kernel* is a
function compiled by Numba. `implements(operation, Record)` registers a kernel for all calls whose first
argument is that NamedTuple; the choice is made at compile time, by type.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from types import FunctionType
from typing import TypeGuard, TypeVar, cast

from numba import types
from numba.core.registry import CPUDispatcher
from numba.core.typing.templates import AbstractTemplate, Signature, infer_global
from numba.extending import register_jitable

from structlearn.core.dispatchers import dispatcher
from structlearn.core.kernel_cache.cache import PackageCache

Function = Callable[..., object]
F = TypeVar("F", bound=Function)

# Reductions may be reordered (so that LLVM vectorises them); NaN and infinities keep their meaning.
FAST_SUMS = {"reassoc", "contract", "nsz", "arcp"}


def kernel(function: F) -> F:
    """Compile `function` on first call; keep the result on disk; release the GIL while it runs."""
    return _compile(function, counts=True)


def leaf(function: F) -> F:
    """Compile as `kernel` does, for a function that makes no array and calls none that does.

    It does not count references to the arrays it is given, which takes longer than a short loop over them.
    """
    return _compile(function, counts=False)


def inline(function: F) -> F:
    """Compile as `leaf` does, for the few lines of an innermost loop: every caller contains a copy of them.

    A call takes longer than they do, since all fields of the records that it is given are arguments of it.
    """
    return _compile(function, counts=False, forceinline=True)


def jitable(function: F) -> F:
    """Leave `function` as it is to Python; inside kernels it is compiled. For what runs once per pass."""
    _JITABLE.add(function)
    return register_jitable(error_model="numpy")(function)


def c_dispatcher(function: Function) -> CPUDispatcher:
    """Return the dispatcher that compiles `function` for callers that know only its C address."""
    return _compile(function, counts=False, no_cpython_wrapper=True)


def _compile(function: F, *, counts: bool, **options: object) -> F:
    return dispatcher(
        function, PackageCache, nogil=True, fastmath=FAST_SUMS, error_model="numpy", _nrt=counts, **options
    )


_KERNELS: dict[tuple[str, type], Function] = {}
_OPERATIONS: set[object] = set()
_JITABLE: set[object] = set()


def operation(name: F) -> F:
    """Make a generic function of a stub: the type of its first argument chooses the kernel.

    In compiled code the choice is made at compile time among those registered with `implements`.
    """

    @wraps(name)
    def call(*args: object) -> object:
        found = _find_kernel(name.__name__, type(args[0]))
        if found is None:
            raise TypeError(f"{type(args[0]).__name__} does not implement {name.__name__}.")
        return found(*args)

    class Choice(AbstractTemplate):
        key = call

        def generic(self, args: tuple[types.Type, ...], kws: dict[str, types.Type]) -> Signature | None:
            record = args[0]
            if not isinstance(record, types.NamedTuple | types.NamedUniTuple):
                return None
            found = _find_kernel(name.__name__, record.instance_class)
            if found is None:
                return None
            self._chosen = self.context.resolve_value_type(found)
            return self._chosen.get_call_type(self.context, args, kws)

        def get_impl_key(self, sig: Signature) -> object:
            return self._chosen.get_impl_key(sig)

    infer_global(call, types.Function(Choice))
    _OPERATIONS.add(call)
    return cast(F, call)


def is_operation(value: object) -> TypeGuard[Function]:
    """Return whether a value is one of the generic functions."""
    return isinstance(value, FunctionType) and value in _OPERATIONS


def is_jitable(value: object) -> TypeGuard[Function]:
    """Return whether a value is a function that `jitable` has seen."""
    return isinstance(value, FunctionType) and value in _JITABLE


def implements(called: Function, *records: type) -> Callable[[F], F]:
    """Register the decorated kernel as the operation on every NamedTuple of one of these classes.

    The class `object` stands for all that have none of their own.
    """

    def register(function: F) -> F:
        _KERNELS.update({(called.__name__, record): function for record in records})
        return function

    return register


def implementation(called: Function, record: object) -> Function | None:
    """Return the kernel that implements an operation on a record; None if there is none."""
    return _find_kernel(called.__name__, type(record))


def is_implemented(called: Function, record: object) -> bool:
    """Return whether there is a kernel for an operation on a record."""
    return implementation(called, record) is not None


def _find_kernel(name: str, record: type) -> Function | None:
    """Return the record's own kernel or, for an operation that has one, the kernel for all other records."""
    return _KERNELS.get((name, record)) or _KERNELS.get((name, object))
