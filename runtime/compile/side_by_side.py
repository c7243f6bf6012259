"""Intrinsics for the sums of several runs side by side. Kernel texts import these intrinsics.

A *row* holds one value of each of WIDTH runs, one after the other, so that one vector instruction adds a value to the
sum of every run. Sums have 64 bits.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core.cgutils import alloca_once, for_range_slice
from numba.extending import intrinsic

from vlang.runtime.plan.layouts.together_words import WIDTH

__all__ = ["row_of_sums", "sum_rows"]

_ROW = ir.VectorType(ir.DoubleType(), WIDTH)


def _row_of_sums(context: Any) -> Any:
    """`row_of_sums()`: a pointer to stack memory for one row of sums."""
    result = types.CPointer(types.float64)

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.bitcast(alloca_once(builder, _ROW), context.get_value_type(result))

    return result(), generate


def _sum_rows(context: Any, sums: Any, values: Any, neighbours: Any, begin: Any, end: Any) -> Any:
    """`sum_rows(sums, values, neighbours, begin, end)`: store the sum of rows of `values`, added up in order.

    Entries `begin` to `end` of `neighbours`, u32, are the numbers of these rows. `values` are floats of 32 or 64 bits.
    The sums stay in registers until the last row, as nothing else has their address.
    """

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        narrow = values.dtype == types.float32
        row, word = ir.VectorType(context.get_value_type(values.dtype), WIDTH), ir.IntType(64)
        kept = alloca_once(builder, _ROW)
        builder.store(ir.Constant(_ROW, [0.0] * WIDTH), kept)
        first, last = (context.cast(builder, args[at], kind, types.intp) for at, kind in ((3, begin), (4, end)))
        with for_range_slice(builder, first, last, ir.Constant(word, 1), word) as (index, _):
            number = builder.zext(builder.load(builder.gep(args[2], [index])), word)
            at = builder.gep(args[1], [builder.mul(number, ir.Constant(word, WIDTH))])
            read = builder.load(builder.bitcast(at, row.as_pointer()), align=4 if narrow else 8)
            builder.store(builder.fadd(builder.load(kept), builder.fpext(read, _ROW) if narrow else read), kept)
        builder.store(builder.load(kept), builder.bitcast(args[0], _ROW.as_pointer()), align=8)
        return context.get_dummy_value()

    pointer = types.CPointer(types.uint32)
    return types.void(types.CPointer(types.float64), values, pointer, begin, end), generate


row_of_sums, sum_rows = intrinsic(_row_of_sums), intrinsic(_sum_rows)
