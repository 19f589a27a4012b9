"""Asking the processor for memory before it is needed: a pass in random order waits for it otherwise."""

from __future__ import annotations

from collections.abc import Callable

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.base import BaseContext
from numba.core.typing import Signature
from numba.extending import intrinsic

#: Bytes that one request brings.
CACHE_LINE = 64


@intrinsic
def prefetch_line(
    typing_context: object, array: types.Array, index: types.Integer
) -> tuple[Signature, Callable[..., ir.Value]]:
    """Bring `array[index]` of a one-dimensional array near. Changes nothing; may be out of bounds."""

    def generate(
        context: BaseContext, builder: ir.IRBuilder, signature: Signature, arguments: list[ir.Value]
    ) -> ir.Value:
        kind = signature.args[0]
        held = context.make_array(kind)(context, builder, arguments[0])
        item = cgutils.get_item_pointer(context, builder, kind, held, [arguments[1]], wraparound=False)
        address = builder.bitcast(item, ir.IntType(8).as_pointer())
        word = ir.IntType(32)
        shape = ir.FunctionType(ir.VoidType(), [address.type, word, word, word])
        request = cgutils.get_or_insert_function(builder.module, shape, "llvm.prefetch.p0")
        builder.call(request, [address, word(0), word(3), word(1)])  # to read, to keep, data
        return context.get_dummy_value()

    return types.void(array, types.intp), generate
