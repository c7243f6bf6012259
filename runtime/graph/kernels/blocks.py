"""Kernels that lay out a cache block: rows of similar length are interleaved."""

from __future__ import annotations

from typing import Any

import numpy as np

EXPORTS = {
    "jag": "i64(u64*, i64, i64, i64, i64, i64*, u16*, u16*, u32*)",
    "lay": "void(u64*, key*, i64, u16*, u32*, i64, u32*, key*)",
}


def jag(
    offsets: Any, low: Any, high: Any, longest: Any, group: Any, counts: Any, order: Any, places: Any, runs: Any,
) -> Any:
    """Order the rows low..high-1 of a block by length, the longest first (see runtime/graph/topology/blocks.py).

    Args:
        offsets: offsets of the adjacency, u64[n + 1].
        low, high: the first row of the block, and the end.
        longest: the maximum number of edges of a row in a block; a row with more edges counts as empty.
        group: edges of one row that are stored consecutively.
        counts: scratch, longest + 2 entries.
        order: output, for each place in the order by length, the row minus `low`.
        places: output, for each row, its place in the order.
        runs: output, three numbers per run: the first place, the number of places, and the edges per place.

    Returns:
        The number of runs.
    """
    for i in range(longest + 2):
        counts[i] = 0
    for v in range(low, high):
        length = np.int64(offsets[v + 1] - offsets[v])
        counts[length if length <= longest else 0] += 1
    at = np.int64(0)
    for i in range(longest, -1, -1):
        here = counts[i]
        counts[i] = at
        at += here
    for v in range(low, high):
        length = np.int64(offsets[v + 1] - offsets[v])
        row = length if length <= longest else np.int64(0)
        order[counts[row]] = v - low
        places[v - low] = counts[row]
        counts[row] += 1
    made, begin, filled = np.int64(0), np.int64(0), counts[1]  # counts[1] is the number of rows with edges
    while begin < filled:
        v = low + np.int64(order[begin])
        most = np.int64(offsets[v + 1] - offsets[v])
        end = counts[(most + 1) >> 1]  # rows at least half as long are interleaved with row v
        for done in range(0, most, group):
            place = begin
            while place < end:
                v = low + np.int64(order[place])
                length = np.int64(offsets[v + 1] - offsets[v])
                if length <= done:
                    break
                take = min(group, length - done)
                stop = counts[length] if take < group else min(end, counts[done + group])
                runs[3 * made], runs[3 * made + 1], runs[3 * made + 2] = place, stop - place, take
                made += 1
                place = stop
        begin = end
    return made


def lay(offsets: Any, values: Any, low: Any, order: Any, runs: Any, made: Any, done: Any, out: Any) -> None:
    """Copy the edge values of a block into the order of the runs.

    Args:
        offsets: offsets of the adjacency, u64[n + 1].
        values: one value per edge of the adjacency.
        low: first row of the block.
        order, runs: as written by `jag`.
        made: the number of runs.
        done: scratch, one element per row, all 0 at the call.
        out: output, one value per edge of the block.
    """
    k = np.int64(0)
    for r in range(made):
        begin, take = np.int64(runs[3 * r]), np.int64(runs[3 * r + 2])
        for place in range(begin, begin + np.int64(runs[3 * r + 1])):
            first = np.int64(offsets[low + np.int64(order[place])]) + np.int64(done[place])
            for j in range(take):
                out[k] = values[first + j]
                k += 1
            done[place] += take
