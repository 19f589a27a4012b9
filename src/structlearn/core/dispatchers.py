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

import os
import warnings
from collections.abc import Callable
from contextlib import suppress
from functools import cached_property, update_wrapper
from inspect import CO_VARARGS
from typing import Any

import numba
from numba import types
from numba._dispatcher import Dispatcher as NumbaDispatcher
from numba.core import compiler, event
from numba.core.caching import FunctionCache
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler_lock import global_compiler_lock
from numba.core.dispatcher import OmittedArg, _FunctionCompiler  # type: ignore[attr-defined]
from numba.core.registry import CPUDispatcher
from numba.core.typeconv.rules import default_type_manager

from structlearn.core.garbage import no_collection

Options = dict[str, object]
#: Makes the cache of a function's compiled forms.
CacheOf = Callable[[Callable[..., object]], FunctionCache]

#: Numba's event while a kernel is compiled or read back from a cache.
GETTING_READY = "structlearn:kernel"

#: Minor versions of Numba whose private parts are as this file expects them.
TRIED = ((0, 68),)


def is_lean() -> bool:
    """Return whether kernels compile by `EntryDispatcher` and `InnerDispatcher`."""
    version = tuple(int(part) for part in numba.__version__.split(".")[:2])
    return version in TRIED and not os.environ.get("STRUCTLEARN_PLAIN_NJIT")


def dispatcher(function: Callable[..., object], cache: CacheOf, **options: object) -> CPUDispatcher:
    """Return a dispatcher that compiles `function` at its first call, or loads it from its cache."""
    if not is_lean():
        compiled = numba.njit(**options)(function)
        _give_cache(compiled, cache)
        return compiled
    return EntryDispatcher(function, cache, {"nopython": True, "boundscheck": None, **options})


def _give_cache(compiled: CPUDispatcher, cache: CacheOf) -> None:
    with suppress(RuntimeError):  # NUMBA_CACHE_LOCATOR_CLASSES asks for what is not there
        compiled._cache = cache(compiled.py_func)


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


class EntryDispatcher(CPUDispatcher):
    """The dispatcher that Python calls.

    Most kernels that a process imports are never called in it, and to make two dispatchers and a cache for
    each takes longer than to tag a page. So a dispatcher knows only its function at first; whatever else is
    asked of it, such as the compiler at its first call, is an attribute that it does not have yet.
    """

    def __init__(self, py_func: Callable[..., object], cache: CacheOf, targetoptions: Options) -> None:
        update_wrapper(self, py_func)
        self.py_func = py_func
        self._later: tuple[CacheOf, Options] | None = (cache, targetoptions)
        types_known, code = default_type_manager.get_pointer(), py_func.__code__
        starred = bool(code.co_flags & CO_VARARGS)
        names = code.co_varnames[: code.co_argcount + starred]
        defaults = tuple(map(OmittedArg, py_func.__defaults__ or ()))
        NumbaDispatcher.__init__(self, types_known, len(names), True, names, defaults, False, starred, False)

    def __getattr__(self, name: str) -> Any:
        """Make the rest of the dispatcher, which has the attribute."""
        with global_compiler_lock:
            later = self.__dict__.get("_later")
            if later is None:  # it is there, or another thread has just made it
                return object.__getattribute__(self, name)
            self._later = None
            cache, options = later
            super().__init__(self.py_func, {}, options)
            _give_cache(self, cache)
        return getattr(self, name)

    @cached_property
    def inner(self) -> InnerDispatcher:
        """The dispatcher for compiled code."""
        return InnerDispatcher(self.py_func, dict(self.targetoptions))

    def compile(self, sig: object) -> object:
        with global_compiler_lock, event.trigger_event(GETTING_READY), no_collection():
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
