"""Records behind addresses: what compiled code needs to call another function by its C address.

A record (a NamedTuple of numbers, C-contiguous arrays and such records) is written into 64-bit words: a
number as it is, an array as its address and its shape. `PackedWords(kinds)` is the Numba type of a pointer to
such words, `load_words` reads the values back, and `call` calls a C function, to which an array is an address
and a size.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import SupportsInt, cast

import numpy as np
from llvmlite import ir
from llvmlite.ir import IRBuilder as Builder
from llvmlite.ir import Value
from numba import from_dtype, types
from numba.core import cgutils
from numba.core.base import BaseContext
from numba.core.datamodel import DataModelManager
from numba.core.typing import Signature
from numba.extending import intrinsic, models, register_model

_WORD = ir.IntType(64)
#: The signature of an intrinsic, and what generates its code.
Intrinsic = tuple[Signature, Callable[[BaseContext, Builder, Signature, list[Value]], Value]]


class PackedWords(types.Type):
    """A pointer to the words of some values."""

    def __init__(self, kinds: tuple[types.Type, ...]) -> None:
        self.types = kinds
        super().__init__(name=f"Packed({', '.join(map(str, kinds))})")

    @property
    def key(self) -> tuple[types.Type, ...]:
        return self.types


@register_model(PackedWords)
class _PackedModel(models.PrimitiveModel):
    def __init__(self, manager: DataModelManager, kind: PackedWords) -> None:
        super().__init__(manager, kind, _WORD.as_pointer())


class Words:
    """Values as words; they live as long as this does. What is not C-contiguous is copied."""

    def __init__(self, *values: object) -> None:
        words: list[int] = []
        self._values, keys = zip(*(_write(value, words) for value in values))
        self.kind = _pack_keys(keys)
        self._words = np.array(words or [0], dtype=np.int64)
        self.address = _address(self._words)


def _write(value: object, words: list[int]) -> tuple[object, object]:
    """Append the words of a value; return what must live as long, and what tells its type."""
    if isinstance(value, np.ndarray):
        value = np.ascontiguousarray(value)
        words.extend((_address(value), *value.shape))
        return value, (value.dtype, value.ndim)
    if isinstance(value, tuple):
        kept, keys = zip(*(_write(one, words) for one in value)) if value else ((), ())
        return kept, (type(value), keys)
    if isinstance(value, float | np.floating):
        words.append(int(np.float64(value).view(np.int64)))
        return None, types.float64
    words.append(int(cast(SupportsInt, value)))
    return None, types.boolean if isinstance(value, bool | np.bool_) else types.int64


def _address(array: np.ndarray) -> int:
    return int(array.__array_interface__["data"][0])


@cache
def _pack_keys(keys: tuple[object, ...]) -> PackedWords:
    return PackedWords(tuple(map(_kind, keys)))


def _kind(key: object) -> types.Type:
    """Return the type of what `_write` wrote; arrays count as writable, so that one type serves both."""
    if not isinstance(key, tuple):
        return key
    first, rest = key
    if isinstance(first, np.dtype):
        return types.Array(from_dtype(first), rest, "C")
    return types.BaseTuple.from_types([_kind(one) for one in rest], first)


@intrinsic
def load_words(typingctx: object, packed: PackedWords) -> Intrinsic:
    """Return the values behind a pointer to their words."""
    result = types.Tuple(packed.types)

    def codegen(context: BaseContext, builder: Builder, signature: Signature, args: list[Value]) -> Value:
        reader = _Reader(context, builder, args[0])
        return context.make_tuple(builder, result, [reader.read(kind) for kind in result])

    return result(packed), codegen


class _Reader:
    """Reads words one after the other."""

    def __init__(self, context: BaseContext, builder: Builder, words: Value) -> None:
        self.context, self.builder, self.words, self.at = context, builder, words, 0

    def _word(self) -> Value:
        found = self.builder.load(cgutils.gep_inbounds(self.builder, self.words, self.at))
        self.at += 1
        return found

    def read(self, kind: types.Type) -> Value:
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


def _array(
    context: BaseContext, builder: Builder, kind: types.Array, pointer: Value, shape: Sequence[Value]
) -> Value:
    """Return an array that nobody owns."""
    from numba.np.arrayobj import make_array, populate_array  # only what compiles needs it

    array = make_array(kind)(context, builder)
    itemsize = context.get_constant(types.intp, context.get_abi_sizeof(context.get_data_type(kind.dtype)))
    strides: list[Value] = []
    step = itemsize
    for extent in reversed(shape):
        strides.insert(0, step)
        step = builder.mul(step, extent)
    populate_array(array, pointer, shape, strides, itemsize, meminfo=None, parent=None)
    return array._getvalue()


@intrinsic
def vector(typingctx: object, pointer: types.CPointer, size: types.Integer) -> Intrinsic:
    """Return the vector at an address."""
    kind = types.Array(pointer.dtype, 1, "C")

    def codegen(context: BaseContext, builder: Builder, signature: Signature, args: list[Value]) -> Value:
        return _array(context, builder, kind, args[0], [args[1]])

    return kind(pointer, size), codegen


@intrinsic
def call(typingctx: object, address: types.Integer, arguments: types.BaseTuple) -> Intrinsic:
    """Call double f(arguments) at a C address; a vector is passed as its address and its size."""

    def codegen(context: BaseContext, builder: Builder, signature: Signature, args: list[Value]) -> Value:
        from numba.np.arrayobj import make_array

        passed = []
        for kind, value in zip(signature.args[1], cgutils.unpack_tuple(builder, args[1])):
            if isinstance(kind, types.Array):
                array = make_array(kind)(context, builder, value)
                passed += [array.data, *cgutils.unpack_tuple(builder, array.shape)]
            else:
                passed.append(value)
        return _call(builder, args[0], passed)

    return types.float64(address, arguments), codegen


@intrinsic
def call_numba(typingctx: object, address: types.Integer, arguments: types.BaseTuple) -> Intrinsic:
    """Call a Numba function at an address as Numba does; return its number, or NaN where it raises."""

    def codegen(context: BaseContext, builder: Builder, signature: Signature, args: list[Value]) -> Value:
        kinds, convention = tuple(signature.args[1]), context.call_conv
        kind = convention.get_function_type(types.float64, kinds)
        function = builder.inttoptr(args[0], kind.as_pointer())
        passed = cgutils.unpack_tuple(builder, args[1])
        status, value = convention.call_function(builder, function, types.float64, kinds, passed)
        return builder.select(status.is_ok, value, ir.Constant(ir.DoubleType(), float("nan")))

    return types.float64(address, arguments), codegen


def _call(builder: Builder, address: Value, arguments: Sequence[Value]) -> Value:
    function = ir.FunctionType(ir.DoubleType(), [one.type for one in arguments])
    return builder.call(builder.inttoptr(address, function.as_pointer()), arguments)
