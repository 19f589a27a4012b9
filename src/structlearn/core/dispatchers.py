"""Numba's dispatchers, arranged so that what a kernel calls is optimised once, inside the kernel.

Numba gives every compiled function wrappers for Python and C, optimises it and turns it into machine code by
itself, and then optimises it again inside each of its callers. Here a function has two dispatchers: an
`EntryDispatcher`, called by Python, and its `InnerDispatcher`, called by compiled code, which has no wrappers
and stays as it was written until the entry that it ends up in is optimised as a whole. That halves the time
of a first use.

It rests on private parts of Numba, so that it is used with the versions that it was tried with; with others
(and where STRUCTLEARN_PLAIN_NJIT is set) kernels are plain `njit` functions, which compile longer.
"""

from __future__ import annotations

import gc
import os
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numba
from numba import types
from numba.core import compiler, event
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler_lock import global_compiler_lock
from numba.core.dispatcher import _FunctionCompiler  # type: ignore[attr-defined]
from numba.core.registry import CPUDispatcher

Options = dict[str, object]

#: Numba's event while a kernel is compiled or read back from a cache.
GETTING_READY = "structlearn:kernel"

#: Minor versions of Numba whose private parts are as this file expects them.
TRIED = ((0, 68),)


def is_lean() -> bool:
    """Return whether kernels compile by `EntryDispatcher` and `InnerDispatcher`."""
    version = tuple(int(part) for part in numba.__version__.split(".")[:2])
    return version in TRIED and not os.environ.get("STRUCTLEARN_PLAIN_NJIT")


def dispatcher(function: Callable[..., object], **options: object) -> CPUDispatcher:
    """Return a dispatcher that compiles `function` at its first call."""
    if not is_lean():
        return numba.njit(**options)(function)
    return EntryDispatcher(function, targetoptions={"nopython": True, "boundscheck": None, **options})


def _turn_on() -> None:
    """Switch Numba on: kernels call one another by addresses that plain Python functions do not have."""
    if numba.config.DISABLE_JIT:
        numba.config.DISABLE_JIT = 0
        warnings.warn(
            "NUMBA_DISABLE_JIT is set, but structlearn does not run without compiled kernels: from here on "
            "Numba compiles in this process.",
            stacklevel=2,
        )


_turn_on()


@contextmanager
def _no_collection() -> Iterator[None]:
    """Suspend the garbage collector, which would go through all that Numba holds, over and over.

    It is made up for at the end, not in the middle of training. One thread at a time: others wait for Numba's
    lock.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
            gc.collect(0)


class EntryDispatcher(CPUDispatcher):
    """The dispatcher that Python calls."""

    def __init__(self, py_func: Callable[..., object], targetoptions: Options) -> None:
        super().__init__(py_func, {}, targetoptions)
        self.inner = InnerDispatcher(py_func, dict(targetoptions))

    def compile(self, sig: object) -> object:
        with global_compiler_lock, event.trigger_event(GETTING_READY), _no_collection():
            return super().compile(sig)

    @property
    def _numba_type_(self) -> types.Dispatcher:
        return types.Dispatcher(self.inner)


class InnerDispatcher(CPUDispatcher):
    """The dispatcher that compiled code calls; it yields bitcode."""

    def __init__(self, py_func: Callable[..., object], targetoptions: Options) -> None:
        super().__init__(py_func, {}, targetoptions)
        self._compiler = _InnerCompiler(
            py_func, self.targetdescr, self.targetoptions, self.locals, compiler.Compiler
        )

    def add_overload(self, cres: compiler.CompileResult) -> None:
        self.overloads[tuple(cres.signature.args)] = cres


class _InnerCompiler(_FunctionCompiler):
    def _compile_core(
        self, args: tuple[types.Type, ...], return_type: types.Type | None
    ) -> compiler.CompileResult:
        flags = compiler.Flags()
        self.targetdescr.options.parse_as_flags(flags, self.targetoptions)
        flags.no_cpython_wrapper = True
        flags.no_cfunc_wrapper = True
        flags.no_compile = True
        target = self.targetdescr.target_context
        found = compiler.compile_extra(
            self.targetdescr.typing_context,
            target,
            self.py_func,
            args=args,
            return_type=return_type,
            flags=flags,
            locals=self.locals,
            library=_Bitcode(target.codegen(), self.py_func.__qualname__),
            pipeline_class=self.pipeline_class,
        )
        if found.typing_error is not None:
            raise found.typing_error
        found = found._replace(entry_point=_Key())
        target.insert_user_function(found.entry_point, found.fndesc, [found.library])
        return found


class _Key:
    """The name of a compiled function for Numba's linker."""


class _Bitcode(JITCodeLibrary):
    """A library that only ever becomes part of another: neither optimised nor compiled by itself."""

    def finalize(self) -> None:
        self._raise_if_finalized()
        for library in dict.fromkeys(self._linking_libraries):
            self._reload_init.update(library._reload_init)
            self._final_module.link_in(library._get_module_for_linking(), preserve=True)
        self._finalized = True
