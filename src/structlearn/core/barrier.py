"""A barrier between threads inside compiled code: for threads that meet thousands of times per second.

Each thread tells in a cell of its own to which meeting it has come, and looks at the others' cells until they
have come, too, giving its processor away in between. If that takes long, the others have no processor to run
on: then it sleeps between two looks, and leaves them its own.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Sequence

import llvmlite.binding as llvm
import numpy as np
from llvmlite import ir
from numba import types
from numba.core.base import BaseContext
from numba.core.typing import Signature
from numba.extending import intrinsic
from numba.np.arrayobj import make_array

from structlearn.core.contract import Array
from structlearn.core.kernels import kernel

#: Numbers between what one thread writes and what another does: on lines of the cache that lie next to each
#: other, writing to one slows down the other.
WORDS_APART = 16
#: Looks before a thread sleeps between them, some tenths of a millisecond, and how long it sleeps then.
MOST_LOOKS = 1000
SLEEP = 1 if os.name == "nt" else 50  # in what the system's call counts by
#: The number of a meeting that never comes.
GONE = np.iinfo(np.int64).max


# the system's calls that let another thread run, and that sleep
_system = ctypes.CDLL("kernel32" if os.name == "nt" else None)
_names = ("SwitchToThread", "Sleep") if os.name == "nt" else ("sched_yield", "usleep")
for _name, _call in zip(("give_way", "sleep"), _names):
    llvm.add_symbol(f"structlearn_{_name}", ctypes.cast(getattr(_system, _call), ctypes.c_void_p).value)
give_way = types.ExternalFunction("structlearn_give_way", types.int32())
sleep = types.ExternalFunction("structlearn_sleep", types.int32(types.uint32))


@intrinsic
def fence(typing_context: object) -> tuple[Signature, Callable[..., ir.Value]]:
    """Let all threads see what was written before, ahead of anything that follows."""

    def generate(context: BaseContext, builder: ir.IRBuilder, *_: object) -> ir.Value:
        builder.fence("seq_cst")
        return context.get_dummy_value()

    return types.void(), generate


@intrinsic
def take_next(typing_context: object, counter: types.Array) -> tuple[Signature, Callable[..., ir.Value]]:
    """Return the first number of an array of integers and increase it by one, in one atomic step."""

    def generate(
        context: BaseContext, builder: ir.IRBuilder, signature: Signature, arguments: Sequence[ir.Value]
    ) -> ir.Value:
        array = make_array(signature.args[0])(context, builder, arguments[0])
        one = context.get_constant(types.int64, 1)
        return builder.atomic_rmw("add", array.data, one, "seq_cst")

    return types.int64(counter), generate


def make_cells(n_threads: int) -> Array:
    """Make one cell for each thread that will meet."""
    return np.zeros((n_threads, WORDS_APART), dtype=np.int64)


@kernel
def meet(cells: Array, k: int, number: int) -> bool:
    """Let thread k come to meeting `number` and wait for all others; return False if one of them is gone."""
    fence()
    cells[k, 0] = max(cells[k, 0], number)
    fence()
    complete = True
    for other in range(cells.shape[0]):
        looks = 0
        while cells[other, 0] < number:
            if looks < MOST_LOOKS:
                give_way()
            else:
                sleep(SLEEP)
            looks += 1
        complete = complete and cells[other, 0] != GONE
    fence()
    return complete
