"""Compiled Python: the one decorator, and how an operation finds the kernel that implements it.

An *operation* (`core.contract`) is a generic function such as `maximize(structure, ...)`. A *kernel* is a
function compiled by Numba. `implements(operation, Record)` registers a kernel for all calls whose first
argument is that NamedTuple; the choice is made at compile time, by type.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import wraps
from typing import Any, TypeVar

from numba import types
from numba.core.typing.templates import AbstractTemplate, infer_global

from structlearn.core.dispatchers import dispatcher
from structlearn.core.kernel_cache import PackageCache

F = TypeVar("F", bound=Callable[..., Any])

# Reductions may be reordered (so that LLVM vectorises them); NaN and infinities keep their meaning.
FAST_SUMS = {"reassoc", "contract", "nsz", "arcp"}


def kernel(function: F) -> F:
    """Compile `function` on first call; keep the result on disk; release the GIL while it runs."""
    return _compiled(function, counts=True)


def leaf(function: F) -> F:
    """As `kernel`, for a function that makes no array and calls none that does.

    It does not count references to the arrays it is given, which takes longer than a short loop over them.
    """
    return _compiled(function, counts=False)


def _compiled(function: F, *, counts: bool) -> F:
    compiled = dispatcher(function, nogil=True, fastmath=FAST_SUMS, error_model="numpy", _nrt=counts)
    with suppress(RuntimeError):  # NUMBA_CACHE_LOCATOR_CLASSES asks for what is not there
        compiled._cache = PackageCache(compiled.py_func)
    return compiled


_KERNELS: dict[tuple[str, type], Callable[..., Any]] = {}


def operation(name: F) -> F:
    """Make a generic function of a stub: the type of its first argument chooses the kernel.

    In compiled code the choice is made at compile time among those registered with `implements`. In plain
    Python the same kernel is called or, where the first argument is an ordinary object, its method.
    """
    key = name.__name__

    @wraps(name)
    def call(*args: Any) -> Any:
        own = _KERNELS.get((key, type(args[0])))
        if own is None and hasattr(args[0], key):
            return getattr(args[0], key)(*args[1:])
        found = own or _KERNELS[key, object]
        return found(*args) if isinstance(args[0], tuple) else found.py_func(*args)  # type: ignore[attr-defined]

    class Choice(AbstractTemplate):
        key = call

        def generic(self, args: Any, kws: Any) -> Any:
            record = args[0]
            if not isinstance(record, types.NamedTuple | types.NamedUniTuple):
                return None
            found = _registered(name.__name__, record.instance_class)
            if found is None:
                return None
            self._chosen = found._numba_type_  # type: ignore[attr-defined]
            return self._chosen.get_call_type(self.context, args, kws)

        def get_impl_key(self, sig: Any) -> Any:
            return self._chosen.get_impl_key(sig)

    infer_global(call, types.Function(Choice))
    return call  # type: ignore[return-value]


def implements(called: Callable[..., Any], record: type) -> Callable[[F], F]:
    """Register the decorated kernel as the operation on every NamedTuple of class `record`.

    The class `object` stands for all that have none of their own.
    """

    def register(function: F) -> F:
        _KERNELS[called.__name__, record] = function
        return function

    return register


def is_implemented(called: Callable[..., Any], value: Any) -> bool:
    """Whether there is a kernel for a record, or a method of a plain object."""
    return _registered(called.__name__, type(value)) is not None or hasattr(value, called.__name__)


def _registered(key: str, record: type) -> Callable[..., Any] | None:
    """The record's own kernel or, for an operation that has one, that of all others."""
    return _KERNELS.get((key, record)) or _KERNELS.get((key, object))
