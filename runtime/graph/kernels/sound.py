"""Validates adjacency lists from a file: sorted rows, and both directions of every undirected edge."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

EXPORTS = {"check_rows": "i64(u64*, u32*, u64*, i64, i64, i64, u64*)"}


@njit
def _mix(key: Any) -> Any:
    """A 64-bit hash finaliser (SplitMix64)."""
    x = key + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def check_rows(offsets: Any, targets: Any, bits: Any, first: Any, last: Any, hashed: Any, out: Any) -> Any:
    """The number of entries in rows first..last-1 that are smaller than the previous entry of the same row.

    Args:
        offsets, targets: adjacency lists.
        bits: u64, the values of the entries from offsets[first] on; unused if `hashed` is not 2.
        first, last: the range of rows.
        hashed: 0 for no hash, 1 for a hash of (row, target), 2 for a hash of (row, target, value).
        out: output, u64[1], the sum of the hashes modulo 2^64. Entries with row < target are added and the others
            subtracted, so the sum over all rows is 0 if both directions of every edge exist.
    """
    wrong = np.int64(0)
    total = np.uint64(0)
    begin = np.int64(offsets[first])
    for row in range(first, last):
        before = np.int64(-1)
        for e in range(np.int64(offsets[row]), np.int64(offsets[row + 1])):
            target = np.int64(targets[e])
            if target < before:
                wrong += 1
            before = target
            if hashed != 0 and target != row:
                low, high = (row, target) if row < target else (target, row)
                code = _mix((np.uint64(low) << np.uint64(32)) | np.uint64(high))
                if hashed == 2:
                    code = _mix(code + bits[e - begin])
                if row < target:
                    total += code
                else:
                    total -= code
    out[0] = total
    return wrong
