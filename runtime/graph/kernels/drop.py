"""Drops self-loops and parallel edges from adjacency lists: counts the entries to keep, then lists their indices."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

EXPORTS = {
    "count_kept": "void(u64*, u32*, i64, i64, i64, i64, i64, u64*, i64*)",
    "pick_first": "void(u64*, u32*, i64, i64, i64, i64, u64*, i64*)",
    "pick_int": "void(u64*, u32*, i64, i64, i64, i64, u64*, i64*, i64*)",
    "pick_float": "void(u64*, u32*, i64, i64, i64, i64, u64*, i64*, f64*)",
}


@njit
def _run(targets: Any, e: Any, end: Any, parallel: Any) -> Any:
    """The end of the run of parallel edges that starts at e; e + 1 if parallel edges are kept."""
    stop = e + 1
    if parallel != 0:
        while stop < end and targets[stop] == targets[e]:
            stop += 1
    return stop


def count_kept(offsets: Any, targets: Any, first: Any, last: Any, no_loops: Any, no_parallel: Any, directed: Any,
               kept: Any, dropped: Any) -> None:  # fmt: skip
    """Count the entries that each row keeps, and the self-loops and parallel edges that are dropped.

    Args:
        offsets, targets: adjacency lists.
        first, last: the range of rows.
        no_loops, no_parallel: not 0 to drop self-loops, or parallel edges.
        directed: 0 counts each dropped undirected edge once.
        kept: output, u64, one count per row.
        dropped: i64[2], to which the numbers of dropped self-loops and parallel edges are added.
    """
    for row in range(first, last):
        e, end = np.int64(offsets[row]), np.int64(offsets[row + 1])
        count = np.int64(0)
        while e < end:
            stop = _run(targets, e, end, no_parallel)
            target = np.int64(targets[e])
            if no_loops != 0 and target == row:
                dropped[0] += stop - e
            else:
                count += 1
                if directed != 0 or target <= row:
                    dropped[1] += stop - e - 1
            e = stop
        kept[row] = np.uint64(count)


@njit
def _pick(offsets: Any, targets: Any, first: Any, last: Any, no_loops: Any, no_parallel: Any, starts: Any, picks: Any,
          values: Any, compare: Any) -> None:  # fmt: skip
    for row in range(first, last):
        e, end = np.int64(offsets[row]), np.int64(offsets[row + 1])
        to = np.int64(starts[row])
        while e < end:
            stop = _run(targets, e, end, no_parallel)
            if no_loops == 0 or np.int64(targets[e]) != row:
                best = np.int64(e)
                if compare:
                    for i in range(e + 1, stop):
                        # The second condition prefers any number to a NaN.
                        if values[i] < values[best] or (values[best] != values[best] and values[i] == values[i]):
                            best = np.int64(i)
                picks[to] = best
                to += 1
            e = stop


def pick_first(offsets: Any, targets: Any, first: Any, last: Any, no_loops: Any, no_parallel: Any, starts: Any,
               picks: Any) -> None:  # fmt: skip
    """List the entries that each row keeps; the first of parallel edges is kept.

    Args:
        offsets, targets: adjacency lists.
        first, last: the range of rows.
        no_loops, no_parallel: not 0 to drop self-loops, or parallel edges.
        starts: u64, the index in `picks` at which the list of each row begins.
        picks: output, i64, the indices of the kept entries.
    """
    _pick(offsets, targets, first, last, no_loops, no_parallel, starts, picks, picks, False)


def pick_int(offsets: Any, targets: Any, first: Any, last: Any, no_loops: Any, no_parallel: Any, starts: Any,
             picks: Any, values: Any) -> None:  # fmt: skip
    """Like pick_first, but keeps the first parallel edge with the smallest of `values` (i64).
    """
    _pick(offsets, targets, first, last, no_loops, no_parallel, starts, picks, values, True)


def pick_float(offsets: Any, targets: Any, first: Any, last: Any, no_loops: Any, no_parallel: Any, starts: Any,
               picks: Any, values: Any) -> None:  # fmt: skip
    """Like pick_int, for values of type f64."""
    _pick(offsets, targets, first, last, no_loops, no_parallel, starts, picks, values, True)
