"""Counts self-loops and parallel edges in adjacency lists."""

from __future__ import annotations

from typing import Any

import numpy as np

EXPORTS = {"count_excess": "void(u64*, u32*, i64, i64, i64, i64*)"}


def count_excess(offsets: Any, targets: Any, first: Any, last: Any, directed: Any, out: Any) -> None:
    """Count the self-loops, and the edges that repeat an earlier edge between the same vertices.

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
            elif target == before and (directed != 0 or target < row):
                parallel += 1
            before = target
    out[0], out[1] = loops, parallel
