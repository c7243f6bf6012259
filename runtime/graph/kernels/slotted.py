"""Kernels that write and read slotted pages (runtime/graph/topology/slotted.py). All numbers are little-endian."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

EXPORTS = {
    "lay_slotted": "void(u64*, u32*, u32*, i64*, i64, i64, i64, i64, i64, i64, u8*, i64)",
    "read_slotted": "i64(u8*, i64, i64, u32*, i64, i64, i64, u32*)",
}

_SIZE, _SLOT, _VID = 4, 10, 6  # bytes of ADJLIST_SZ, of a slot, and of the VID of a slot


@njit
def _put(page: Any, at: Any, value: Any, count: Any) -> None:
    for k in range(count):
        page[at + k] = np.uint8((value >> (8 * k)) & 255)


@njit
def _get(page: Any, at: Any, count: Any) -> Any:
    value = np.int64(0)
    for k in range(count):
        value |= np.int64(page[at + k]) << (8 * k)
    return value


def lay_slotted(
    offsets: Any, targets: Any, pages: Any, firsts: Any, first: Any, slots: Any, begin: Any, end: Any, p: Any, q: Any,
    page: Any, length: Any,
) -> None:
    """Write a page: a record and a slot for each of its vertices.

    Args:
        offsets, targets: the adjacency lists.
        pages: the page of the slot of each vertex, u32[n].
        firsts: the first vertex of each page.
        first, slots: the first vertex of this page, and the number of its slots.
        begin, end: the first edge of this page, and the end.
        p, q: the bytes of the page number and of the slot number in a record id.
        page: output, u8[length].
        length: the bytes of the page.
    """
    at = np.int64(0)
    for slot in range(slots):
        low = max(np.int64(offsets[first + slot]), begin)
        high = min(np.int64(offsets[first + slot + 1]), end)
        top = length - _SLOT * (slot + 1)
        _put(page, top, first + slot, _VID)
        _put(page, top + _VID, at, _SLOT - _VID)
        _put(page, at, max(high - low, 0), _SIZE)
        at += _SIZE
        for edge in range(low, high):
            there = np.int64(pages[targets[edge]])
            _put(page, at, there, p)
            _put(page, at + p, np.int64(targets[edge]) - firsts[there], q)
            at += p + q


def read_slotted(
    page: Any, length: Any, slots: Any, rvt: Any, p: Any, q: Any, first: Any, out: Any
) -> Any:
    """Write the neighbours of all records of a page to `out`, and return their number; -1 if a slot has a wrong VID.

    Args:
        page: the page, u8[length].
        length: the bytes of the page.
        slots: the number of slots.
        rvt: START_VID and LP_RANGE of each page, u32[pages, 2].
        p, q: the bytes of the page number and of the slot number in a record id.
        first: the first vertex of the page.
        out: output, a u32 for each edge of the page.
    """
    count = np.int64(0)
    for slot in range(slots):
        top = length - _SLOT * (slot + 1)
        if _get(page, top, _VID) != first + slot:
            return np.int64(-1)
        at = _get(page, top + _VID, _SLOT - _VID)
        size = _get(page, at, _SIZE)
        at += _SIZE
        for _ in range(size):
            out[count] = np.uint32(np.int64(rvt[2 * _get(page, at, p)]) + _get(page, at + p, q))
            at += p + q
            count += 1
    return count
