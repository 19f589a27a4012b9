"""Records behind addresses: what compiled code needs to call another function by its C address.

A record (a NamedTuple of numbers, C-contiguous arrays and such records) is written into 64-bit words: a
number as it is, an array as its address and its shape. `Packed(kinds)` is the Numba type of a pointer to
such words, `load` reads the values back, and `call` calls a C function, to which an array is an address and
a size.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from llvmlite import ir
from numba import from_dtype, types
from numba.core import cgutils
from numba.extending import intrinsic, models, register_model

_WORD = ir.IntType(64)


class Packed(types.Type):
    """A pointer to the words of some values."""

    def __init__(self, kinds: tuple[types.Type, ...]) -> None:
        self.types = kinds
        super().__init__(name=f"Packed({', '.join(map(str, kinds))})")

    @property
    def key(self) -> tuple[types.Type, ...]:
        return self.types


@register_model(Packed)
class _PackedModel(models.PrimitiveModel):
    def __init__(self, manager: Any, kind: Packed) -> None:
        super().__init__(manager, kind, _WORD.as_pointer())


class Words:
    """Values as words; they live as long as this does. What is not C-contiguous is copied."""

    def __init__(self, *values: Any) -> None:
        words: list[int] = []
        self._values, keys = zip(*(_write(value, words) for value in values))
        self.kind = _packed(keys)
        self._words = np.array(words or [0], dtype=np.int64)
        self.address = _address(self._words)


def _write(value: Any, words: list[int]) -> tuple[Any, Any]:
    """Append the words of a value; what must live as long, and what tells its type."""
    if isinstance(value, np.ndarray):
        value = np.ascontiguousarray(value)
        words.extend((_address(value), *value.shape))
        return value, (value.dtype, value.ndim)
    if isinstance(value, tuple):
        kept, keys = zip(*(_write(one, words) for one in value)) if value else ((), ())
        return kept, (type(value), keys)
    if isinstance(value, bool | np.bool_):
        words.append(int(value))
        return None, types.boolean
    if isinstance(value, float | np.floating):
        words.append(int(np.float64(value).view(np.int64)))
        return None, types.float64
    words.append(int(value))
    return None, types.int64


def _address(array: Any) -> int:
    return int(array.__array_interface__["data"][0])


@cache
def _packed(keys: tuple[Any, ...]) -> Packed:
    return Packed(tuple(map(_kind, keys)))


def _kind(key: Any) -> types.Type:
    """The type of what `_write` wrote; any array in it may be written to: one type for both."""
    if isinstance(key, types.Type):
        return key
    if isinstance(key[0], np.dtype):
        return types.Array(from_dtype(key[0]), key[1], "C")
    return types.BaseTuple.from_types([_kind(one) for one in key[1]], key[0])


@intrinsic
def load(typingctx: Any, packed: Any) -> Any:
    """The values behind a pointer to their words."""
    result = types.Tuple(packed.types)

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        reader = _Reader(context, builder, args[0])
        return context.make_tuple(builder, result, [reader.read(kind) for kind in result])

    return result(packed), codegen


class _Reader:
    """Reads words one after the other."""

    def __init__(self, context: Any, builder: Any, words: Any) -> None:
        self.context, self.builder, self.words, self.at = context, builder, words, 0

    def _word(self) -> Any:
        found = self.builder.load(cgutils.gep_inbounds(self.builder, self.words, self.at))
        self.at += 1
        return found

    def read(self, kind: Any) -> Any:
        context, builder = self.context, self.builder
        if isinstance(kind, types.BaseTuple):
            return context.make_tuple(builder, kind, [self.read(one) for one in kind])
        if isinstance(kind, types.Array):
            pointer = builder.inttoptr(self._word(), context.get_data_type(kind.dtype).as_pointer())
            return _array(context, builder, kind, pointer, [self._word() for _ in range(kind.ndim)])
        if isinstance(kind, types.Boolean):
            return builder.trunc(self._word(), ir.IntType(1))
        if isinstance(kind, types.Float):
            return builder.bitcast(self._word(), ir.DoubleType())
        return self._word()


def _array(context: Any, builder: Any, kind: Any, pointer: Any, shape: list[Any]) -> Any:
    """An array that nobody owns."""
    from numba.np.arrayobj import make_array, populate_array  # only what compiles needs it

    array = make_array(kind)(context, builder)
    itemsize = context.get_constant(types.intp, context.get_abi_sizeof(context.get_data_type(kind.dtype)))
    strides: list[Any] = []
    step = itemsize
    for extent in reversed(shape):
        strides.insert(0, step)
        step = builder.mul(step, extent)
    populate_array(array, pointer, shape, strides, itemsize, meminfo=None, parent=None)
    return array._getvalue()


@intrinsic
def vector(typingctx: Any, pointer: Any, size: Any) -> Any:
    """The vector at an address."""
    kind = types.Array(pointer.dtype, 1, "C")

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return _array(context, builder, kind, args[0], [args[1]])

    return kind(pointer, size), codegen


@intrinsic
def call(typingctx: Any, address: Any, arguments: Any) -> Any:
    """double f(arguments) at a C address; a vector is passed as its address and its size."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        from numba.np.arrayobj import make_array

        passed = []
        for k, kind in enumerate(signature.args[1]):
            value = builder.extract_value(args[1], k)
            if isinstance(kind, types.Array):
                array = make_array(kind)(context, builder, value)
                passed += [array.data, *cgutils.unpack_tuple(builder, array.shape)]
            else:
                passed.append(value)
        function = ir.FunctionType(ir.DoubleType(), [one.type for one in passed])
        return builder.call(builder.inttoptr(args[0], function.as_pointer()), passed)

    return types.float64(address, arguments), codegen


@intrinsic
def call_with_arrays(typingctx: Any, address: Any, arguments: Any) -> Any:
    """double f(arguments) at the C address of a Numba function, to which an array is what it is to Numba."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        passed = [builder.extract_value(args[1], k) for k in range(len(signature.args[1]))]
        function = ir.FunctionType(ir.DoubleType(), [one.type for one in passed])
        return builder.call(builder.inttoptr(args[0], function.as_pointer()), passed)

    return types.float64(address, arguments), codegen
