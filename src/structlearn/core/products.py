"""A row of numbers times a matrix, with the sums of its columns in vector registers.

The compiler makes slow code of the plain loops: with few labels a loop over them has hardly begun when it
ends, and where features are numbered it gathers their weights by instructions that take longer than the loads
that they replace. Here eight labels (then four, two, one) stay in registers for all features.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from llvmlite import ir
from llvmlite.ir import IRBuilder as Builder
from llvmlite.ir import Value
from numba import types
from numba.core import cgutils
from numba.core.base import BaseContext
from numba.core.errors import TypingError
from numba.core.typing import Signature
from numba.extending import intrinsic

from structlearn.core.words import Intrinsic

_INDEX, _NUMBER = ir.IntType(64), ir.DoubleType()
#: Labels at a time.
WIDTHS = (8, 4, 2, 1)
#: Sums that each of them has: a sum must wait for its last term, but not for the other sums.
SUMS = 4


@intrinsic
def times_matrix(
    typingctx: object,
    values: types.Array,
    indices: types.Type,
    w: types.Array,
    first: types.Integer,
    stride: types.Integer,
    theta: types.Array,
) -> Intrinsic:
    """theta[k] <- sum_p values[p] w[first + j_p stride + k], j_p = indices[p], or p where indices is None.

    No index is checked.
    """
    if any(isinstance(kind, types.Array) and kind.layout != "C" for kind in (values, indices, w, theta)):
        raise TypingError("The vectors of times_matrix must be contiguous.")

    def codegen(context: BaseContext, builder: Builder, signature: Signature, args: list[Value]) -> Value:
        x, numbers, matrix, _, _, out = (_vector(context, builder, *one) for one in zip(signature.args, args))
        row = _Row(builder, x[0], numbers[0], matrix[0], args[3], args[4], x[1])
        many = builder.and_(out[1], _INDEX(-WIDTHS[0]))
        with cgutils.for_range_slice(builder, _INDEX(0), many, _INDEX(WIDTHS[0]), inc=True) as (k, _):
            row.add_up(WIDTHS[0], k, out[0])
        for width in WIDTHS[1:]:
            there = builder.icmp_unsigned("!=", builder.and_(out[1], _INDEX(width)), _INDEX(0))
            with builder.if_then(there):
                row.add_up(width, builder.and_(out[1], _INDEX(-2 * width)), out[0])
        return context.get_dummy_value()

    return types.void(values, indices, w, types.intp, types.intp, theta), codegen


def _vector(context: BaseContext, builder: Builder, kind: types.Type, value: Value) -> tuple[Value, Value]:
    """Return the address of a vector's numbers and their count, which is zero for what is not a vector."""
    if not isinstance(kind, types.Array):
        return None, _INDEX(0)
    from numba.np.arrayobj import make_array  # only what compiles needs it

    array: Any = make_array(kind)(context, builder, value)
    return array.data, cgutils.unpack_tuple(builder, array.shape)[0]


class _Row(NamedTuple):
    """A row of features, and the matrix that it is multiplied by."""

    builder: Builder
    values: Value
    indices: Value | None
    w: Value
    first: Value
    stride: Value
    size: Value

    def add_up(self, width: int, k: Value, theta: Value) -> None:
        """Compute theta[k : k + width]."""
        builder, kind = self.builder, ir.VectorType(_NUMBER, width)
        sums = [cgutils.alloca_once(builder, kind) for _ in range(SUMS)]
        for one in sums:
            builder.store(ir.Constant(kind, [0.0] * width), one)
        whole = builder.and_(self.size, _INDEX(-SUMS))
        with cgutils.for_range_slice(builder, _INDEX(0), whole, _INDEX(SUMS), inc=True) as (p, _):
            for q, one in enumerate(sums):
                self._add(one, builder.add(p, _INDEX(q)), k)
        with cgutils.for_range_slice(builder, whole, self.size, _INDEX(1), inc=True) as (p, _):
            self._add(sums[0], p, k)
        a, b, c, d = map(builder.load, sums)
        total = builder.fadd(builder.fadd(a, b), builder.fadd(c, d))
        builder.store(total, _labels(builder, theta, k, kind), align=8)

    def _add(self, total: Value, p: Value, k: Value) -> None:
        """total <- total + values[p] times the weights of its feature, of labels k, k + 1 ..."""
        builder, kind, feature = self.builder, total.type.pointee, p
        if self.indices is not None:
            feature = builder.zext(builder.load(builder.gep(self.indices, [p])), _INDEX)
        at = builder.add(self.first, builder.mul(feature, self.stride))
        weights = builder.load(_labels(builder, self.w, builder.add(at, k), kind), align=8)
        value = builder.load(builder.gep(self.values, [p]))
        if value.type != _NUMBER:
            value = builder.fpext(value, _NUMBER)
        product = builder.fmul(_everywhere(builder, value, kind), weights, flags=("contract",))
        builder.store(builder.fadd(product, builder.load(total), flags=("contract",)), total)


def _labels(builder: Builder, data: Value, at: Value, kind: ir.VectorType) -> Value:
    return builder.bitcast(builder.gep(data, [at]), kind.as_pointer())


def _everywhere(builder: Builder, value: Value, kind: ir.VectorType) -> Value:
    """Return a register with a number in every place."""
    none, places = ir.Constant(kind, ir.Undefined), ir.VectorType(ir.IntType(32), kind.count)
    first = builder.insert_element(none, value, ir.IntType(32)(0))
    return builder.shuffle_vector(first, none, ir.Constant(places, [0] * kind.count))
