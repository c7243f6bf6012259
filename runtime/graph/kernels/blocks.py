"""The edges of a run of rows in the order of their neighbours."""

from __future__ import annotations

from typing import Any

import numpy as np

EXPORTS = {
    "sort_block": "i64(u64*, u32*, i64, i64, i64, i64, u64*, u64*, i64*, u32*, u16*)",
}

DIGIT = 11


def sort_block(
    offsets: Any, targets: Any, low: Any, high: Any, longest: Any, bits: Any, keys: Any, others: Any, counts: Any,
    senders: Any, out: Any,
) -> Any:
    """Sort the edges of rows low..high-1 that have at most `longest` edges by neighbour, stable (radix sort).

    bits: of the largest neighbour. keys, others: room for all these edges, each as neighbour << 16 | (row - low);
    counts: room for 2**DIGIT a digit. Leaves the distinct neighbours in `senders` and, in `out`, each edge's row minus
    low, with bit 15 set where the next neighbour begins. Returns the number of distinct neighbours.
    """
    digits = (bits + DIGIT - 1) // DIGIT
    mask = np.uint64((1 << DIGIT) - 1)
    for i in range(digits << DIGIT):
        counts[i] = 0
    total = np.int64(0)
    for v in range(low, high):
        begin, end = np.int64(offsets[v]), np.int64(offsets[v + 1])
        if end - begin <= longest:
            for k in range(begin, end):
                target = np.uint64(targets[k])
                keys[total] = (target << np.uint64(16)) | np.uint64(v - low)
                total += 1
                for d in range(digits):
                    counts[(d << DIGIT) + np.int64((target >> np.uint64(DIGIT * d)) & mask)] += 1
    a, b = keys, others
    for d in range(digits):
        base = d << DIGIT
        at = np.int64(0)
        for digit in range(1 << DIGIT):
            here = counts[base + digit]
            counts[base + digit] = at
            at += here
        shift = np.uint64(16 + DIGIT * d)
        for k in range(total):
            key = a[k]
            place = base + np.int64((key >> shift) & mask)
            b[counts[place]] = key
            counts[place] += 1
        a, b = b, a
    found = np.int64(0)
    last = np.int64(-1)
    for k in range(total):
        sender = np.int64(a[k] >> np.uint64(16))
        mark = np.int64(0)
        if sender != last:
            mark = np.int64(1 << 15)
            senders[found] = sender
            found += 1
            last = sender
        out[k] = np.int64(a[k] & np.uint64(0x7FFF)) | mark
    return found
