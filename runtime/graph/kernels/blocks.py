"""The edges of a run of rows in the order of their neighbours."""

from __future__ import annotations

from typing import Any

import numpy as np

EXPORTS = {
    "sort_block": "i64(u64*, u32*, i64, i64, i64, i64, u32*, u16*, u32*, u16*, i64*, u16*)",
}

DIGIT = 11


def sort_block(
    offsets: Any, targets: Any, low: Any, high: Any, longest: Any, bits: Any, senders: Any, places: Any,
    other_senders: Any, other_places: Any, counts: Any, out: Any,
) -> Any:
    """Sort the edges of rows low..high-1 that have at most `longest` edges by neighbour, stable (radix sort).

    bits: of the largest neighbour. senders, places, other_senders, other_places: room for all these edges; counts for
    2**DIGIT. Leaves the distinct neighbours in `senders` and, in `out`, each edge's row minus low, with bit 15 set
    where the next neighbour begins. Returns the number of distinct neighbours.
    """
    total = np.int64(0)
    for v in range(low, high):
        begin, end = np.int64(offsets[v]), np.int64(offsets[v + 1])
        if end - begin <= longest:
            for k in range(begin, end):
                senders[total] = targets[k]
                places[total] = v - low
                total += 1
    a, pa, b, pb = senders, places, other_senders, other_places
    for shift in range(0, bits, DIGIT):
        for digit in range(1 << DIGIT):
            counts[digit] = 0
        for k in range(total):
            counts[(np.int64(a[k]) >> shift) & ((1 << DIGIT) - 1)] += 1
        at = np.int64(0)
        for digit in range(1 << DIGIT):
            here = counts[digit]
            counts[digit] = at
            at += here
        for k in range(total):
            here = (np.int64(a[k]) >> shift) & ((1 << DIGIT) - 1)
            b[counts[here]] = a[k]
            pb[counts[here]] = pa[k]
            counts[here] += 1
        a, pa, b, pb = b, pb, a, pa
    found = 0
    last = np.int64(-1)
    for k in range(total):
        sender = np.int64(a[k])
        mark = 0
        if sender != last:
            mark = 1 << 15
            senders[found] = sender
            found += 1
            last = sender
        out[k] = np.int64(pa[k]) | mark
    return found
