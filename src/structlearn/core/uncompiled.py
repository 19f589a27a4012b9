"""In the place of an operation that was not compiled: a C function that notes that it was called.

A kernel that could raise where it calls an address would count references around every call; one that calls
this function ends as any other, with NaN, and Python raises after it.
"""

from __future__ import annotations

import ctypes
import math
import threading

_called = threading.local()


@ctypes.CFUNCTYPE(ctypes.c_double)
def _note() -> float:
    """Take any arguments: by C's convention whoever calls removes them."""
    _called.here = True
    return math.nan


#: Its address.
UNCOMPILED: int = ctypes.cast(_note, ctypes.c_void_p).value or 0


def raise_uncompiled() -> None:
    """RuntimeError if a kernel has called such an operation in this thread."""
    if getattr(_called, "here", False):
        _called.here = False
        raise RuntimeError(
            "A kernel calls an operation that was not compiled for it; call it by its name inside the "
            "kernel, or inside another kernel that it calls."
        )
