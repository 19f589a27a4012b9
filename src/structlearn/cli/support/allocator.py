"""The C library's allocator, told that training asks for the same large arrays again and again.

By default it hands them back to the system at once, which clears every page before it gives them out anew:
with millions of weights that is a tenth of the time of training.
"""

from __future__ import annotations

import ctypes
from contextlib import suppress

#: Parameters of `mallopt` in glibc: when free memory is handed back, how much more than needed is asked for,
#: and from which size on an array has pages of its own (32 MB is the most that it takes).
_SETTINGS = {-1: 1 << 30, -2: 1 << 26, -3: 1 << 25}


def keep_freed_memory() -> None:
    """Let this process use the memory of arrays again; without effect where the C library is not glibc."""
    with suppress(OSError, AttributeError, TypeError):
        library = ctypes.CDLL(None)
        if hasattr(library, "gnu_get_libc_version"):
            for parameter, value in _SETTINGS.items():
                library.mallopt(parameter, value)
