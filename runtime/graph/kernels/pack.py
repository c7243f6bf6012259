"""Copies rows of edges one after the other, for a list of rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

EXPORTS = {
    "spans": "void(u64*, i64, i64, u64*, i64, i64*)",
    "starts": "void(u64*, i64, i64, i64, u32*)",
    "pack8": "void(u64*, i64, i64, i64, u8*, u8*)",
    "pack16": "void(u64*, i64, i64, i64, u16*, u16*)",
    "pack32": "void(u64*, i64, i64, i64, u32*, u32*)",
    "pack64": "void(u64*, i64, i64, i64, u64*, u64*)",
}

_CHUNK = 512  # edges of an entry at most (CHUNK of the queues of a GPU)
_BITS = 10  # of a length


def spans(entries: Any, first: Any, last: Any, offsets: Any, each: Any, sums: Any) -> None:
    """Replace the entries first..last-1 of a queue by the spans of their edges, and add up the lengths.

    An entry is a vertex (low 32 bits) and a chunk of 512 edges (high 32 bits); a span is the number of the first edge,
    shifted left by 10 bits, plus the number of edges, at most 512.

    Args:
        entries: u64, input and output.
        first, last: the range; first is a multiple of `each`.
        offsets: u64[n + 1].
        each: the number of entries in a group.
        sums: i64, output: for each group of `each` entries, the number of their edges.
    """
    for group in range(first // each, (last + each - 1) // each):
        total = np.int64(0)
        for i in range(group * each, min(last, (group + 1) * each)):
            v = np.int64(entries[i] & np.uint64(0xFFFFFFFF))
            begin = np.int64(offsets[v]) + np.int64(entries[i] >> np.uint64(32)) * _CHUNK
            length = np.int64(offsets[v + 1]) - begin
            if length > _CHUNK:
                length = np.int64(_CHUNK)
            entries[i] = np.uint64((begin << _BITS) + length)
            total += length
        sums[group] = total


def starts(found: Any, first: Any, last: Any, at: Any, out: Any) -> None:
    """Set out[i - first] to the number of edges before span i, plus `at`.

    Args:
        found: u64, spans.
        first, last: the range of spans.
        at: the number for the first span.
        out: u32, output.
    """
    for i in range(first, last):
        out[i - first] = at
        at += np.int64(found[i]) & ((1 << _BITS) - 1)


@njit
def _pack(found: Any, first: Any, last: Any, at: Any, source: Any, out: Any) -> None:
    for i in range(first, last):
        begin = np.int64(found[i] >> np.uint64(_BITS))
        length = np.int64(found[i]) & ((1 << _BITS) - 1)
        for k in range(length):
            out[at + k] = source[begin + k]
        at += length


def pack8(found: Any, first: Any, last: Any, at: Any, source: Any, out: Any) -> None:
    """Copy the values of spans to out[at...], for values of 8 bits.

    Args:
        found: u64, spans.
        first, last: the range of spans.
        at: the position of the first value in `out`.
        source: values of all edges.
        out: output.
    """
    _pack(found, first, last, at, source, out)


def pack16(found: Any, first: Any, last: Any, at: Any, source: Any, out: Any) -> None:
    """Like pack8, for values of 16 bits."""
    _pack(found, first, last, at, source, out)


def pack32(found: Any, first: Any, last: Any, at: Any, source: Any, out: Any) -> None:
    """Like pack8, for values of 32 bits."""
    _pack(found, first, last, at, source, out)


def pack64(found: Any, first: Any, last: Any, at: Any, source: Any, out: Any) -> None:
    """Like pack8, for values of 64 bits."""
    _pack(found, first, last, at, source, out)
