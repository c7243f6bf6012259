"""Kernels that count self-loops and targets, and expand adjacency lists to the row of each entry."""

from __future__ import annotations

from typing import Any

import numpy as np

EXPORTS = {
    "count_excess": "void(u64*, u32*, i64, i64, i64, i64*)",
    "count_excess_of_page": "void(u32*, u32*, i64, i64, i64, i64*)",
    "loops": "i64(u32*, u32*, i64, i64)",
    "tally": "void(u32*, i64, i64, u32*)",
    "expand": "void(u64*, i64, i64, u32*)",
    "ordinals": "void(u64*, u32*, i64, i64, u32*)",
}


def loops(rows: Any, others: Any, first: Any, last: Any) -> Any:
    """The number of self-loops, which are the edges e in first..last-1 with rows[e] == others[e]."""
    count = np.int64(0)
    for e in range(first, last):
        count += rows[e] == others[e]
    return count


def tally(targets: Any, first: Any, last: Any, counts: Any) -> None:
    """Add 1 to counts[t] for each t in targets[first:last]."""
    for e in range(first, last):
        counts[np.int64(targets[e])] += np.uint32(1)


def expand(offsets: Any, first: Any, last: Any, rows: Any) -> None:
    """Set rows[e] to the row of entry e, for all entries of the rows first..last-1. `offsets` is u64[n + 1]."""
    for row in range(first, last):
        for e in range(np.int64(offsets[row]), np.int64(offsets[row + 1])):
            rows[e] = np.uint32(row)


def ordinals(offsets: Any, targets: Any, first: Any, last: Any, out: Any) -> None:
    """For entries of the rows first..last-1, set out[e] to the number of equal targets right before entry e in its row.

    `offsets` is u64[n + 1]; `targets` is increasing in each row.
    """
    for row in range(first, last):
        begin = np.int64(offsets[row])
        for e in range(begin, np.int64(offsets[row + 1])):
            again = e > begin and targets[e] == targets[e - 1]
            out[e] = out[e - 1] + np.uint32(1) if again else np.uint32(0)


def count_excess(offsets: Any, targets: Any, first: Any, last: Any, directed: Any, out: Any) -> None:
    """Count the self-loops, and the edges that repeat an earlier edge between the same vertices, self-loops included.

    Args:
        offsets, targets: adjacency lists, each row in increasing order.
        first, last: the range of rows.
        directed: 0 counts each undirected edge once.
        out: output, i64[2], the numbers of self-loops and of parallel edges.
    """
    loops, parallel = np.int64(0), np.int64(0)
    for row in range(first, last):
        before = np.int64(-1)
        for e in range(np.int64(offsets[row]), np.int64(offsets[row + 1])):
            target = np.int64(targets[e])
            if target == row:
                loops += 1
            if target == before and (directed != 0 or target <= row):
                parallel += 1
            before = target
    out[0], out[1] = loops, parallel


def count_excess_of_page(offsets: Any, targets: Any, rows: Any, first: Any, directed: Any, out: Any) -> None:
    """Like count_excess, for a page whose first row may continue a row of the page before.

    Args:
        offsets: u32[rows + 1], relative to the page.
        targets: u32, the neighbours, in increasing order in each row.
        rows: the number of rows.
        first: the number of the first row.
        directed: 0 counts each undirected edge once.
        out: i64[4], the numbers of self-loops and of parallel edges so far, and the row and target of the last edge.
    """
    loops, parallel, last, before = out[0], out[1], out[2], out[3]
    for i in range(rows):
        row = np.int64(first + i)
        for e in range(np.int64(offsets[i]), np.int64(offsets[i + 1])):
            target = np.int64(targets[e])
            if target == row:
                loops += 1
            if row == last and target == before and (directed != 0 or target <= row):
                parallel += 1
            last, before = row, target
    out[0], out[1], out[2], out[3] = loops, parallel, last, before
