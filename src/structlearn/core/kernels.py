"""Compiled Python: the one decorator, and how a question finds its compiled answer.

A *question* (`core.contract`) is a generic function such as `corner(structure, ...)`. A *kernel* is a
function compiled by Numba. `answer(question, Record)` registers a kernel as the answer of every problem whose
first argument is that NamedTuple; the choice is made at compile time, by type.
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


_ANSWERS: dict[tuple[str, type], Callable[..., Any]] = {}


def question(name: F) -> F:
    """Make a generic function of a stub: the type of its first argument chooses who answers.

    In compiled code the choice is made at compile time among the kernels registered with `answer`. In plain
    Python the same kernel is called or, where the first argument is an ordinary object, its method.
    """
    key = name.__name__

    @wraps(name)
    def ask(*args: Any) -> Any:
        own = _ANSWERS.get((key, type(args[0])))
        if own is None and hasattr(args[0], key):
            return getattr(args[0], key)(*args[1:])
        found = own or _ANSWERS[key, object]
        return found(*args) if isinstance(args[0], tuple) else found.py_func(*args)  # type: ignore[attr-defined]

    class Choice(AbstractTemplate):
        key = ask

        def generic(self, args: Any, kws: Any) -> Any:
            asked = args[0]
            if not isinstance(asked, types.NamedTuple | types.NamedUniTuple):
                return None
            found = _registered(name.__name__, asked.instance_class)
            if found is None:
                return None
            self._chosen = found._numba_type_  # type: ignore[attr-defined]
            return self._chosen.get_call_type(self.context, args, kws)

        def get_impl_key(self, sig: Any) -> Any:
            return self._chosen.get_impl_key(sig)

    infer_global(ask, types.Function(Choice))
    return ask  # type: ignore[return-value]


def answer(asked: Callable[..., Any], record: type) -> Callable[[F], F]:
    """Register the decorated kernel as the answer of every NamedTuple of class `record` to a question.

    The class `object` stands for all that have no answer of their own.
    """

    def register(function: F) -> F:
        _ANSWERS[asked.__name__, record] = function
        return function

    return register


def is_answered(asked: Callable[..., Any], value: Any) -> bool:
    """Whether a record, or a plain object, answers a question."""
    return _registered(asked.__name__, type(value)) is not None or hasattr(value, asked.__name__)


def _registered(key: str, record: type) -> Callable[..., Any] | None:
    """The record's own answer or, for a question that has one, the answer of all others."""
    return _ANSWERS.get((key, record)) or _ANSWERS.get((key, object))
