"""Merges the in-edges and out-edges of each vertex into one list."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

EXPORTS = {
    "merge8": "void(u64*, u32*, u64*, u32*, i64, i64, u8*, u8*, u8*)",
    "merge16": "void(u64*, u32*, u64*, u32*, i64, i64, u16*, u16*, u16*)",
    "merge32": "void(u64*, u32*, u64*, u32*, i64, i64, u32*, u32*, u32*)",
    "merge64": "void(u64*, u32*, u64*, u32*, i64, i64, u64*, u64*, u64*)",
}


@njit
def _merge(in_offsets: Any, in_targets: Any, out_offsets: Any, out_targets: Any, first: Any, last: Any, in_values: Any,
           out_values: Any, values: Any) -> None:  # fmt: skip
    for row in range(first, last):
        i, in_end = np.int64(in_offsets[row]), np.int64(in_offsets[row + 1])
        j, out_end = np.int64(out_offsets[row]), np.int64(out_offsets[row + 1])
        to = i + j
        while i < in_end or j < out_end:
            if j >= out_end or (i < in_end and in_targets[i] <= out_targets[j]):
                values[to] = in_values[i]
                i += 1
            else:
                values[to] = out_values[j]
                j += 1
            to += 1


def merge8(in_offsets: Any, in_targets: Any, out_offsets: Any, out_targets: Any, first: Any, last: Any,
           in_values: Any, out_values: Any, values: Any) -> None:  # fmt: skip
    """Merge 8-bit values of in-edges and out-edges into the order by neighbour, in-edges first if equal.

    Args:
        in_offsets, in_targets, in_values: the in-edges.
        out_offsets, out_targets, out_values: the out-edges.
        first, last: the range of rows.
        values: output, one value per merged entry.
    """
    _merge(in_offsets, in_targets, out_offsets, out_targets, first, last, in_values, out_values, values)


def merge16(in_offsets: Any, in_targets: Any, out_offsets: Any, out_targets: Any, first: Any, last: Any,
            in_values: Any, out_values: Any, values: Any) -> None:  # fmt: skip
    """Like merge8, for values of 16 bits."""
    _merge(in_offsets, in_targets, out_offsets, out_targets, first, last, in_values, out_values, values)


def merge32(in_offsets: Any, in_targets: Any, out_offsets: Any, out_targets: Any, first: Any, last: Any,
            in_values: Any, out_values: Any, values: Any) -> None:  # fmt: skip
    """Like merge8, for values of 32 bits."""
    _merge(in_offsets, in_targets, out_offsets, out_targets, first, last, in_values, out_values, values)


def merge64(in_offsets: Any, in_targets: Any, out_offsets: Any, out_targets: Any, first: Any, last: Any,
            in_values: Any, out_values: Any, values: Any) -> None:  # fmt: skip
    """Like merge8, for values of 64 bits."""
    _merge(in_offsets, in_targets, out_offsets, out_targets, first, last, in_values, out_values, values)
