"""Measures row lengths, and the number of steps that warps of a GPU need for rows of these lengths
(vlang/runtime/gpu/kernels/row_lengths.py).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

EXPORTS = {"measure_lengths": "void(i64*, i64*, i64, i64, i64, i64*)"}


@njit
def _length(offsets: Any, row: Any, last: Any, most: Any) -> Any:
    """The length of a row; 0 for a row from `last` on, and for a row of more than `most` edges."""
    if row >= last:
        return np.int64(0)
    length = offsets[row + 1] - offsets[row]
    return length if length <= most else np.int64(0)


def measure_lengths(offsets: Any, pieces: Any, begin: Any, end: Any, most: Any, out: Any) -> None:
    """Measure pieces begin..end-1 of the rows.

    If L lanes process a row, a warp processes 32 / L rows at the same time, until the longest of these rows has ended.
    The length of this row determines the number of steps of the warp.

    Args:
        offsets: row r has offsets[r + 1] - offsets[r] edges.
        pieces: [P, 2], the first row of each piece and the end. A piece is cut into warps from its first row on.
        begin, end: the range of pieces.
        most: rows of more edges are treated as empty.
        out: output, [P, 8]: the longest row, the total length, and the steps with 1, 2, 4, 8, 16 and 32 lanes for each
            row.
    """
    for piece in range(begin, end):
        first, last = pieces[2 * piece], pieces[2 * piece + 1]
        longest = total = s1 = s2 = s4 = s8 = s16 = s32 = np.int64(0)
        for row in range(first, last, 32):
            in32 = np.int64(0)
            for r16 in range(row, row + 32, 16):
                in16 = np.int64(0)
                for r8 in range(r16, r16 + 16, 8):
                    in8 = np.int64(0)
                    for r4 in range(r8, r8 + 8, 4):
                        in4 = np.int64(0)
                        for r2 in range(r4, r4 + 4, 2):
                            a = _length(offsets, r2, last, most)
                            b = _length(offsets, r2 + 1, last, most)
                            total += a + b
                            s32 += ((a + 31) >> 5) + ((b + 31) >> 5)
                            in2 = max(a, b)
                            s16 += (in2 + 15) >> 4
                            in4 = max(in4, in2)
                        s8 += (in4 + 7) >> 3
                        in8 = max(in8, in4)
                    s4 += (in8 + 3) >> 2
                    in16 = max(in16, in8)
                s2 += (in16 + 1) >> 1
                in32 = max(in32, in16)
            s1 += in32
            longest = max(longest, in32)
        at = 8 * piece
        out[at], out[at + 1], out[at + 2], out[at + 3] = longest, total, s1, s2
        out[at + 4], out[at + 5], out[at + 6], out[at + 7] = s4, s8, s16, s32
