"""The bytes of a page file: magic numbers, the header, kinds of sections, and where the arrays of a page begin.

All numbers are little-endian. docs/internals/page-file.md describes every byte.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "ALIGN", "COLUMN_TYPES", "DIRECTED", "ENTRY", "FIELDS", "HEADER_BYTES", "LAYOUTS", "LEAST_PAGE",
    "MOST_SECTIONS", "PAGE_ALIGN", "RESERVED", "STRIPE_FIELDS", "STRIPE_MAGIC", "SUM_AT", "TABLE_AT", "VERSION",
    "ColumnInfo", "IdKind", "PageLayout", "Section", "aligned", "page_layout", "page_sizes", "sum_of",
]  # fmt: skip

STRIPE_MAGIC = b"\x89vlstr\r\n"
VERSION = 1

HEADER_BYTES = 4096
PAGE_ALIGN = 4096  # of pages and sections, in the file and in memory: what direct reads need
ALIGN = 64  # of the arrays in a page
LEAST_PAGE = 4096

FIELDS = struct.Struct("<8sIIQQQQQIIqIIQQII16x")
"""magic, version, header bytes, sum, file bytes, n, m, flags, layout, id kind, id base, bits of a vertex number, codec,
page bytes, edges of a segment, stripes, sections."""
SUM_AT = 16
DIRECTED = 1  # of the flags

TABLE_AT = 256
ENTRY = struct.Struct("<IIQQQ")
"""An entry of the table of sections: kind, zero, offset, bytes, sum."""
MOST_SECTIONS = (HEADER_BYTES - TABLE_AT) // ENTRY.size

STRIPE_FIELDS = struct.Struct("<8sIIQQ16sII")
"""The header of a stripe: magic, version, header bytes, sum, file bytes, fingerprint, number of the stripe, stripes."""

LAYOUTS = ("ids", "degree")


class Section(IntEnum):
    """The kinds of sections."""

    DESCRIPTION = 1
    IDS = 2
    ID_BYTES = 3
    ID_ENDS = 4
    PERMUTATION = 5
    IN_DEGREES = 6
    OUT_DEGREES = 7
    IN_DIRECTORY = 8
    OUT_DIRECTORY = 9


RESERVED = {
    32: "vertex columns", 33: "dictionaries of categories and texts", 34: "units of time",
    35: "bitmaps of missing values", 36: "edge numbers", 37: "compressed pages", 38: "vertex numbers of 64 bits",
}  # fmt: skip
"""Kinds of sections that later versions may write."""


class IdKind(IntEnum):
    """What the ids of the vertices are."""

    CONSECUTIVE = 0
    SIGNED = 1
    UNSIGNED = 2
    TEXT = 3


COLUMN_TYPES = {
    name: np.dtype(name).newbyteorder("<")
    for name in ("uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64", "float16", "float32",
                 "float64")
}  # fmt: skip
"""The types of edge columns."""


@dataclass(frozen=True)
class ColumnInfo:
    """An edge column: its dtype and the bounds of its values, (0, 0) without edges, NaN if a value is NaN."""

    dtype: np.dtype[Any]
    least: int | float
    greatest: int | float


@dataclass(frozen=True)
class PageLayout:
    """Where the arrays of a page begin, in bytes.

    Attributes:
        targets: of the neighbours; the offsets begin at 0.
        columns: of each edge column.
        nbytes: of the page, a multiple of PAGE_ALIGN.
    """

    targets: int
    columns: tuple[int, ...]
    nbytes: int


def aligned(size: int, to: int) -> int:
    """`size` rounded up to a multiple of `to`."""
    return -(-size // to) * to


def page_layout(rows: int, edges: int, widths: Sequence[int]) -> PageLayout:
    """The layout of a page.

    Args:
        rows, edges: of the page.
        widths: bytes of a value of each edge column.
    """
    targets = aligned(4 * (rows + 1), ALIGN)
    at = targets + aligned(4 * edges, ALIGN)
    columns = []
    for width in widths:
        columns.append(at)
        at += aligned(width * edges, ALIGN)
    return PageLayout(targets, tuple(columns), aligned(at, PAGE_ALIGN))


def page_sizes(rows: NDArray[np.int64], edges: NDArray[np.int64], widths: Sequence[int]) -> NDArray[np.int64]:
    """The bytes of pages, int64[P]: `page_layout(...).nbytes` of each."""
    total = _up(4 * (rows + 1), ALIGN) + _up(4 * edges, ALIGN)
    for width in widths:
        total += _up(width * edges, ALIGN)
    return _up(total, PAGE_ALIGN)


def _up(sizes: NDArray[np.int64], to: int) -> NDArray[np.int64]:
    return -(-sizes // to) * to


def sum_of(data: NDArray[Any] | bytes) -> int:
    """XXH64 of the bytes of a contiguous array."""
    array = np.frombuffer(data, np.uint8) if isinstance(data, bytes) else data.reshape(-1).view(np.uint8)
    from vlang.runtime.graph.kernels import kernels  # start-up: it is not needed to recognise a file

    if array.ctypes.data % 8:
        array = array.copy()
    whole = array[: len(array) & ~7].view(np.uint64)
    return kernels("page_file")["sum_bytes"](whole, array, len(array)) & (1 << 64) - 1
