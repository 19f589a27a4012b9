"""A barrier between threads inside compiled code: where threads meet thousands of times a second.

Each thread tells in a cell of its own to which meeting it has come, and looks at the others' cells until they
have come, too, giving its processor away in between.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Sequence
from typing import Any

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

_WORDS_APART = 8  # cells on cache lines of their own: looking at one must not slow down another
#: The number of a meeting that never comes.
GONE = np.iinfo(np.int64).max


# the system's call that lets another thread run
_there = ctypes.CDLL("kernel32").SwitchToThread if os.name == "nt" else ctypes.CDLL(None).sched_yield
llvm.add_symbol("structlearn_give_way", ctypes.cast(_there, ctypes.c_void_p).value)
give_way = types.ExternalFunction("structlearn_give_way", types.int32())


@intrinsic
def fence(typing_context: object) -> tuple[Signature, Callable[..., ir.Value]]:
    """What was written before is there for all before anything that follows."""

    def generate(context: BaseContext, builder: ir.IRBuilder, *_: object) -> ir.Value:
        builder.fence("seq_cst")
        return context.get_dummy_value()

    return types.void(), generate


@intrinsic
def take_next(typing_context: object, counter: types.Array) -> tuple[Signature, Callable[..., ir.Value]]:
    """The first number of an array of integers, which is one more for whoever asks next."""

    def generate(
        context: BaseContext, builder: ir.IRBuilder, signature: Signature, arguments: Sequence[ir.Value]
    ) -> ir.Value:
        array = make_array(signature.args[0])(context, builder, arguments[0])
        one = context.get_constant(types.int64, 1)
        return builder.atomic_rmw("add", array.data, one, "seq_cst")

    return types.int64(counter), generate


def make_cells(n_threads: int) -> Array:
    """A cell for each thread that will meet."""
    return np.zeros((n_threads, _WORDS_APART), dtype=np.int64)


@kernel
def meet(cells: Any, k: Any, number: Any) -> Any:
    """Thread k comes to the meeting of a number, and waits for all; False if one of them is gone."""
    fence()
    cells[k, 0] = max(cells[k, 0], number)
    fence()
    complete = True
    for other in range(cells.shape[0]):
        while cells[other, 0] < number:
            give_way()
        complete = complete and cells[other, 0] != GONE
    fence()
    return complete
