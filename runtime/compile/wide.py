"""Long vectors of floats in kernels: one value of an LLVM vector type, and intrinsics that operate on all components.

numba types and lowers each line of a kernel in Python. A text with one line for each of 128 components would take
seconds to compile, and LLVM would keep the components in 128 separate variables. With these intrinsics, an operation on
a vector is one line, and LLVM emits SIMD instructions. Each component is computed exactly like a scalar, so the results
have the same bits.

A tuple of components (UniTuple or Tuple) may stand for a vector, and a scalar stands for a vector of equal components.
Kernel texts that use one of these intrinsics import this module.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.datamodel import models, register_default
from numba.core.imputils import lower_builtin
from numba.core.typing import signature
from numba.core.typing.templates import AbstractTemplate, infer
from numba.extending import intrinsic

__all__ = [
    "wide_abs", "wide_add", "wide_differ", "wide_div", "wide_dot", "wide_f32", "wide_f64", "wide_join", "wide_load",
    "wide_max", "wide_min", "wide_mul", "wide_neg", "wide_part", "wide_product", "wide_select", "wide_spread",
    "wide_sqrt", "wide_store", "wide_sub", "wide_sum",
]  # fmt: skip


class Wide(types.Type):
    """The type of a vector of floats in kernels: `size` components of the type `item`."""

    def __init__(self, item: Any, size: int) -> None:
        super().__init__(f"Wide({item}, {size})")
        self.item, self.size = item, size

    def __len__(self) -> int:
        return self.size

    def __iter__(self) -> Iterator[Any]:
        """Iterate over the types of the components, as for a tuple type."""
        return iter([self.item] * self.size)


@register_default(Wide)
class _WideModel(models.PrimitiveModel):
    def __init__(self, manager: Any, type_: Wide) -> None:
        super().__init__(manager, type_, ir.VectorType(_scalar(type_.item), type_.size))


@infer
class _Component(AbstractTemplate):
    """The type of `wide[3]`."""

    key = "static_getitem"

    def generic(self, args: Any, kws: Any) -> Any:
        if isinstance(args[0], Wide) and isinstance(args[1], int):
            return signature(args[0].item, *args)
        return None


@lower_builtin("static_getitem", Wide, types.IntegerLiteral)
def _component(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    return builder.extract_element(args[0], _at(args[1]))


def _scalar(type_: Any) -> Any:
    return ir.FloatType() if type_ == types.float32 else ir.DoubleType()


def _at(number: int) -> Any:
    return ir.IntType(32)(number)


def _gathered(items: list[Any]) -> Any:
    """The type of a value with the given component types: a vector if all are the same float type, otherwise a tuple.
    """
    if items[0] in (types.float32, types.float64) and all(item == items[0] for item in items):
        return Wide(items[0], len(items))
    return types.Tuple(items)


def _components(context: Any, builder: Any, type_: Any, value: Any) -> list[Any]:
    """The components of a vector or tuple."""
    if isinstance(type_, Wide):
        return [builder.extract_element(value, _at(i)) for i in range(type_.size)]
    return [builder.extract_value(value, i) for i in range(len(type_))]


def _made(context: Any, builder: Any, type_: Any, items: list[Any]) -> Any:
    """Make a vector or tuple from its components."""
    if not isinstance(type_, Wide):
        return context.make_tuple(builder, type_, items)
    value = ir.Constant(context.get_value_type(type_), ir.Undefined)
    for i, item in enumerate(items):
        value = builder.insert_element(value, item, _at(i))
    return value


def _spread(builder: Any, value: Any, size: int) -> Any:
    kind = ir.VectorType(value.type, size)
    first = builder.insert_element(ir.Constant(kind, ir.Undefined), value, _at(0))
    return builder.shuffle_vector(first, ir.Constant(kind, ir.Undefined),
                                  ir.Constant(ir.VectorType(ir.IntType(32), size), None))


def _vector(context: Any, builder: Any, type_: Any, value: Any, size: int) -> Any:
    """Convert to a vector: a vector, a tuple of components, or a scalar that stands for equal components."""
    if isinstance(type_, Wide):
        return value
    if isinstance(type_, types.BaseTuple):
        return _made(context, builder, Wide(type_[0], size), _components(context, builder, type_, value))
    return _spread(builder, value, size)


def _item(type_: Any) -> Any:
    return type_.item if isinstance(type_, Wide) else type_[0] if isinstance(type_, types.BaseTuple) else type_


def _elementwise(operate: Callable[..., Any]) -> Any:
    """`f(a, ..., size)`: a vector of `size` components from vectors. `operate` builds the code for LLVM vectors."""

    def result(context: Any, operands: Any) -> Any:
        size = operands[-1].literal_value
        wide = Wide(_item(operands[0]), size)

        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            vectors = [_vector(context, builder, type_, value, size) for type_, value in zip(operands, args[:-1])]
            return operate(builder, *vectors)

        return wide(*operands), generate

    if operate.__code__.co_argcount == 2:
        def one(context: Any, a: Any, size: Any) -> Any:
            return result(context, (a, size))
        return intrinsic(prefer_literal=True)(one)

    def two(context: Any, a: Any, b: Any, size: Any) -> Any:
        return result(context, (a, b, size))

    return intrinsic(prefer_literal=True)(two)


def _library(name: str) -> Callable[[Any, Any], Any]:
    def operate(builder: Any, a: Any) -> Any:
        kind = f"{'f32' if a.type.element == ir.FloatType() else 'f64'}"
        function = cgutils.get_or_insert_function(builder.module, ir.FunctionType(a.type, [a.type]),
                                                  f"llvm.{name}.v{a.type.count}{kind}")
        return builder.call(function, [a])

    return operate


wide_add = _elementwise(lambda builder, a, b: builder.fadd(a, b))
wide_sub = _elementwise(lambda builder, a, b: builder.fsub(a, b))
wide_mul = _elementwise(lambda builder, a, b: builder.fmul(a, b))
wide_div = _elementwise(lambda builder, a, b: builder.fdiv(a, b))
wide_min = _elementwise(lambda builder, a, b: builder.select(builder.fcmp_ordered("<", b, a), b, a))
wide_max = _elementwise(lambda builder, a, b: builder.select(builder.fcmp_ordered(">", b, a), b, a))
wide_neg = _elementwise(lambda builder, a: builder.fneg(a))
wide_abs, wide_sqrt = _elementwise(_library("fabs")), _elementwise(_library("sqrt"))


def _converted(item: Any) -> Any:
    """`f(a, size)`: the vector a with its components converted to another float type."""

    def typing(context: Any, a: Any, size: Any) -> Any:
        count, before = size.literal_value, _item(a)

        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            vector = _vector(context, builder, a, args[0], count)
            kind = ir.VectorType(_scalar(item), count)
            if before == item:
                return vector
            return builder.fpext(vector, kind) if item == types.float64 else builder.fptrunc(vector, kind)

        return Wide(item, count)(a, size), generate

    return intrinsic(prefer_literal=True)(typing)


wide_f32, wide_f64 = _converted(types.float32), _converted(types.float64)


@intrinsic(prefer_literal=True)
def wide_select(context: Any, test: Any, yes: Any, no: Any, size: Any) -> Any:
    """`wide_select(test, a, b, size)`: a if the bool `test` is true, otherwise b."""
    count = size.literal_value

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        a, b = (_vector(context, builder, type_, value, count) for type_, value in ((yes, args[1]), (no, args[2])))
        return builder.select(args[0], a, b)

    return Wide(_item(yes), count)(test, yes, no, size), generate


@intrinsic(prefer_literal=True)
def wide_differ(context: Any, a: Any, b: Any, size: Any) -> Any:
    """`wide_differ(a, b, size)`: whether any components of a and b differ. Two NaN count as equal."""
    count = size.literal_value

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        x, y = (_vector(context, builder, type_, value, count) for type_, value in ((a, args[0]), (b, args[1])))
        numbers = builder.or_(builder.fcmp_ordered("ord", x, x), builder.fcmp_ordered("ord", y, y))
        differ = builder.and_(builder.fcmp_unordered("!=", x, y), numbers)
        word = ir.IntType(count)
        return builder.icmp_unsigned("!=", builder.bitcast(differ, word), word(0))

    return types.boolean(a, b, size), generate


def _fold(takes: int) -> Any:
    """The sum, from left to right, of a vector's components or of the products of two vectors' components."""

    def result(operands: Any) -> Any:
        size = operands[-1].literal_value

        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            vectors = [_vector(context, builder, type_, value, size) for type_, value in zip(operands, args[:takes])]
            terms = vectors[0] if takes == 1 else builder.fmul(*vectors)
            total = builder.extract_element(terms, _at(0))
            for i in range(1, size):
                total = builder.fadd(total, builder.extract_element(terms, _at(i)))
            return total

        return _item(operands[0])(*operands), generate

    if takes == 1:
        return intrinsic(prefer_literal=True)(lambda context, a, size: result((a, size)))
    return intrinsic(prefer_literal=True)(lambda context, a, b, size: result((a, b, size)))


wide_sum, wide_dot = _fold(1), _fold(2)


@intrinsic(prefer_literal=True)
def wide_spread(context: Any, value: Any, size: Any) -> Any:
    """`wide_spread(x, size)`: a vector or tuple of `size` components that all equal x."""
    count = size.literal_value
    kind = _gathered([value] * count)

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return _made(context, builder, kind, [args[0]] * count)

    return kind(value, size), generate


@intrinsic(prefer_literal=True)
def wide_part(context: Any, value: Any, first: Any, size: Any) -> Any:
    """`wide_part(a, first, size)`: `size` consecutive components of a vector or tuple."""
    low, count = first.literal_value, size.literal_value
    kind = _gathered(list(value)[low : low + count])

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        if not isinstance(value, Wide):
            items = [builder.extract_value(args[0], low + i) for i in range(count)]
            return _made(context, builder, kind, items)
        mask = ir.Constant(ir.VectorType(ir.IntType(32), count), [_at(low + i) for i in range(count)])
        return builder.shuffle_vector(args[0], ir.Constant(args[0].type, ir.Undefined), mask)

    return kind(value, first, size), generate


@intrinsic
def wide_join(context: Any, values: Any) -> Any:
    """`wide_join((a, b, ...))`: the components of all vectors, tuples and scalars, one after the other."""
    parts = [list(one) if isinstance(one, (Wide, types.BaseTuple)) else [one] for one in values]
    kind = _gathered([item for part in parts for item in part])

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        items: list[Any] = []
        for i, type_ in enumerate(values):
            value = builder.extract_value(args[0], i)
            joins = isinstance(type_, (Wide, types.BaseTuple))
            items += _components(context, builder, type_, value) if joins else [value]
        return _made(context, builder, kind, items)

    return kind(values), generate


def _address(context: Any, builder: Any, pointer: Any, index: Any, kind: Any) -> Any:
    at = builder.gep(pointer, [context.cast(builder, index, kind, types.intp)])
    return at


@intrinsic(prefer_literal=True)
def wide_load(context: Any, pointer: Any, index: Any, size: Any) -> Any:
    """`wide_load(p, i, size)`: the vector or tuple p[i], p[i + 1], ..."""
    count = size.literal_value
    kind = _gathered([pointer.dtype] * count)
    at_kind = types.unliteral(index)

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        first = _address(context, builder, args[0], args[1], index)
        if not isinstance(kind, Wide):
            return _made(context, builder, kind, [builder.load(builder.gep(first, [_at(i)])) for i in range(count)])
        vector = context.get_value_type(kind)
        return builder.load(builder.bitcast(first, vector.as_pointer()), align=pointer.dtype.bitwidth // 8)

    assert isinstance(at_kind, types.Integer)
    return kind(pointer, index, size), generate


@intrinsic(prefer_literal=True)
def wide_store(context: Any, pointer: Any, index: Any, values: Any, size: Any) -> Any:
    """`wide_store(p, i, a, size)`: store the components of a at p[i], p[i + 1], ..."""
    count = size.literal_value

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        vector = _vector(context, builder, values, args[2], count)
        first = _address(context, builder, args[0], args[1], index)
        builder.store(vector, builder.bitcast(first, vector.type.as_pointer()), align=pointer.dtype.bitwidth // 8)
        return context.get_dummy_value()

    return types.void(pointer, index, values, size), generate


@intrinsic(prefer_literal=True)
def wide_product(context: Any, matrix: Any, values: Any, rows: Any) -> Any:
    """`wide_product(p, x, rows)`: a matrix times a vector. The products of a row are summed from left to right.

    The columns of the matrix are stored one after the other at p, with `rows` entries each. x has an entry for each
    column.
    """
    count, columns = rows.literal_value, len(values)
    kind = Wide(matrix.dtype, count)

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        vector = context.get_value_type(kind)
        x = _vector(context, builder, values, args[1], columns)
        room = cgutils.alloca_once(builder, x.type.element, size=columns)
        builder.store(x, builder.bitcast(room, x.type.as_pointer()), align=matrix.dtype.bitwidth // 8)
        total = cgutils.alloca_once(builder, vector)

        def product(column: Any) -> Any:
            at = builder.gep(args[0], [builder.mul(column, column.type(count))])
            entries = builder.load(builder.bitcast(at, vector.as_pointer()), align=matrix.dtype.bitwidth // 8)
            return builder.fmul(entries, _spread(builder, builder.load(builder.gep(room, [column])), count))

        builder.store(product(ir.IntType(64)(0)), total)
        with cgutils.for_range_slice(builder, ir.IntType(64)(1), ir.IntType(64)(columns), ir.IntType(64)(1)) as (at, _):
            builder.store(builder.fadd(builder.load(total), product(at)), total)
        return builder.load(total)

    return kind(matrix, values, rows), generate
