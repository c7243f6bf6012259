"""Kernels that count self-loops and targets, and expand adjacency lists to the row of each entry."""

from __future__ import annotations

from typing import Any

import numpy as np

EXPORTS = {
    "loops": "i64(u32*, u32*, i64, i64)",
    "tally": "void(u32*, i64, i64, u32*)",
    "expand": "void(u64*, i64, i64, u32*)",
}


def loops(rows: Any, others: Any, first: Any, last: Any) -> Any:
    """The number of self-loops: of e in first..last-1 with rows[e] == others[e]."""
    count = np.int64(0)
    for e in range(first, last):
        count += rows[e] == others[e]
    return count


def tally(targets: Any, first: Any, last: Any, counts: Any) -> None:
    """counts[t] += 1 for each t in targets[first:last]."""
    for e in range(first, last):
        counts[np.int64(targets[e])] += np.uint32(1)


def expand(offsets: Any, first: Any, last: Any, rows: Any) -> None:
    """Set rows[e] to the row of entry e, for all entries of the rows first..last-1. offsets: u64[n + 1]."""
    for row in range(first, last):
        for e in range(np.int64(offsets[row]), np.int64(offsets[row + 1])):
            rows[e] = np.uint32(row)
