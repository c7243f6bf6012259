"""Edge weights computed from the two ends of an edge."""

from __future__ import annotations

from typing import Any

import numpy as np

EXPORTS = {
    "rule": "void(u64*, u32*, i64, i64, i64, i64, i64, i64, i64*)",
}


def rule(offsets: Any, targets: Any, first: Any, last: Any, row: Any, order: Any, low: Any, span: Any,
         out: Any) -> None:  # fmt: skip
    """Set out[e - first] to low + (31 u + 17 v) % span for the entries e in first..last-1.

    Args:
        offsets, targets: adjacency lists.
        first, last: the range of entries.
        row: a row that is not after the row of the entry `first`.
        order: 0 if u is the row and v the target, 1 for the opposite, 2 if u is the smaller of the two.
        low, span: the constants of the rule.
        out: i64[last - first].
    """
    end = np.int64(offsets[row + 1])
    for e in range(first, last):
        while e >= end:
            row += 1
            end = np.int64(offsets[row + 1])
        target = np.int64(targets[e])
        u = row if order == 0 else target if order == 1 else min(row, target)
        out[e - first] = low + (31 * u + 17 * (row + target - u)) % span
