"""Intrinsics for integer arithmetic that saturates to infinity instead of wrapping. Kernel texts import these
intrinsics.

Operands and result have the same type of 8 to 64 bits. The result is the exact value, clamped to the range of the type.
Infinity is stored as the least or the largest number of its type, and the intrinsics treat it as an ordinary number. If
an infinite operand must make the result infinite, the kernel text itself tests the operands.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core.cgutils import get_or_insert_function
from numba.extending import intrinsic

from vlang.runtime.compile.intrinsics import inner

__all__ = ["add_sizes", "saturated_add", "saturated_mul", "saturated_power", "saturated_sub", "sum_of_words"]


def _of_two(write: Any) -> Any:
    """`f(a, b)`: an operation on two integers of one type. `write(builder, type, a, b)` emits its LLVM code."""

    def typing(context: Any, a: Any, b: Any) -> Any:
        if a != b or not isinstance(a, types.Integer):
            return None

        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            return write(builder, a, *args)

        return a(a, b), generate

    return intrinsic(typing)


def _clamping(name: str) -> Any:
    def write(builder: Any, type_: Any, a: Any, b: Any) -> Any:
        full = f"llvm.{'s' if type_.signed else 'u'}{name}.sat.i{type_.bitwidth}"
        return builder.call(get_or_insert_function(builder.module, ir.FunctionType(a.type, [a.type] * 2), full), [a, b])

    return write


def _product(builder: Any, type_: Any, a: Any, b: Any) -> Any:
    pair = builder.smul_with_overflow(a, b) if type_.signed else builder.umul_with_overflow(a, b)
    product, too_large = builder.extract_value(pair, 0), builder.extract_value(pair, 1)
    if not type_.signed:
        return builder.select(too_large, ir.Constant(a.type, -1), product)
    negative = builder.icmp_signed("<", builder.xor(a, b), ir.Constant(a.type, 0))
    far = builder.select(negative, ir.Constant(a.type, type_.minval), ir.Constant(a.type, type_.maxval))
    return builder.select(too_large, far, product)


def _sizes(builder: Any, type_: Any, a: Any, b: Any) -> Any:
    """Add two signed integers >= 0 with saturation.

    The sum is first computed as an unsigned integer, which cannot wrap.
    """
    total, most = builder.add(a, b), ir.Constant(a.type, type_.maxval)
    return builder.select(builder.icmp_unsigned("<", total, most), total, most)


def _of_words(builder: Any, type_: Any, a: Any, b: Any) -> Any:
    """Return a * 2^32 + b, clamped. b is a sum of lower halves of words, so b is not negative."""
    word, half = a.type, ir.Constant(a.type, 32)
    upper = builder.add(a, builder.lshr(b, half))
    value = builder.or_(builder.shl(upper, half), builder.and_(b, ir.Constant(word, 0xFFFFFFFF)))
    if not type_.signed:
        return builder.select(builder.icmp_unsigned(">", upper, ir.Constant(word, 0xFFFFFFFF)),
                              ir.Constant(word, -1), value)
    high, low = ((builder.icmp_signed(sign, upper, ir.Constant(word, end)), ir.Constant(word, far))
                 for sign, end, far in ((">", (1 << 31) - 1, type_.maxval), ("<", -(1 << 31), type_.minval)))
    return builder.select(high[0], high[1], builder.select(low[0], low[1], value))


saturated_add, saturated_sub = _of_two(_clamping("add")), _of_two(_clamping("sub"))
saturated_mul, add_sizes, sum_of_words = _of_two(_product), _of_two(_sizes), _of_two(_of_words)


def _power(a: Any, b: Any, one: Any) -> Any:
    """Return a ** b with saturation, by repeated squaring; 0 for a negative exponent. `one` is 1 in the type of a."""
    result = one
    if b < 0:
        return saturated_sub(one, one)
    base = a
    n = np.uint64(b)
    while n != 0:
        if n & np.uint64(1):
            result = saturated_mul(result, base)
        base = saturated_mul(base, base)
        n = n >> np.uint64(1)
    return result


saturated_power = inner(_power)
