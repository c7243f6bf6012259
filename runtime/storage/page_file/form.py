"""The binary layout of a page file: magic numbers, the header, kinds of sections, and the offsets of a page's arrays.

All numbers are little-endian. Every byte is described in docs/internals/page-file.md.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from enum import IntEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vlang.records import dataclass

__all__ = [
    "ALIGN", "COLUMN_TYPES", "DIRECTED", "ENTRY", "FIELDS", "HEADER_BYTES", "LAYOUTS", "LEAST_PAGE",
    "MOST_SECTIONS", "PAGE_ALIGN", "RESERVED", "STRIPE_FIELDS", "STRIPE_MAGIC", "SUM_AT", "TABLE_AT", "VERSION",
    "ColumnInfo", "IdKind", "PageLayout", "Section", "aligned", "page_layout", "page_sizes", "sum_of",
]  # fmt: skip

STRIPE_MAGIC = b"\x89vlstr\r\n"
VERSION = 1

HEADER_BYTES = 4096
PAGE_ALIGN = 4096  # bytes: alignment of pages and sections, in the file and in memory, as direct reads need it
ALIGN = 64  # bytes: alignment of the arrays in a page
LEAST_PAGE = 4096

FIELDS = struct.Struct("<8sIIQQQQQIIqIIQQII16x")
"""The fields of the header: magic, version, header bytes, checksum, file bytes, n, m, flags, layout, id kind, id base,
bits of a vertex number, codec, page bytes, edges of a segment, number of stripes, number of sections."""
SUM_AT = 16
DIRECTED = 1  # bit in the flags

TABLE_AT = 256
ENTRY = struct.Struct("<IIQQQ")
"""The fields of an entry in the table of sections: kind, zero, offset, bytes, checksum."""
MOST_SECTIONS = (HEADER_BYTES - TABLE_AT) // ENTRY.size

STRIPE_FIELDS = struct.Struct("<8sIIQQ16sII")
"""The fields of the header of a stripe: magic, version, header bytes, checksum, file bytes, fingerprint, index of the
stripe, number of stripes."""

LAYOUTS = ("ids", "degree", "hubs")


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
    DICTIONARIES = 33
    TIME_UNITS = 34


RESERVED = {
    32: "vertex columns",
    35: "bitmaps of missing values", 36: "edge numbers", 37: "compressed pages", 38: "vertex numbers of 64 bits",
}  # fmt: skip
"""Kinds of sections that later versions may write."""


class IdKind(IntEnum):
    """The kinds of vertex ids."""

    CONSECUTIVE = 0
    SIGNED = 1
    UNSIGNED = 2
    TEXT = 3


COLUMN_TYPES = {
    name: np.dtype(name).newbyteorder("<")
    for name in ("uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64", "float16", "float32",
                 "float64")
}  # fmt: skip
"""The dtypes that edge columns may have, by name."""


@dataclass(frozen=True)
class ColumnInfo:
    """An edge column: its dtype, and the least and greatest of its values.

    Both bounds are 0 in a graph without edges, and NaN if a value is NaN.
    """

    dtype: np.dtype[Any]
    least: int | float
    greatest: int | float


@dataclass(frozen=True)
class PageLayout:
    """The byte offsets of the arrays in a page. The first array, the row offsets, begins at 0.

    Attributes:
        targets: the byte offset of the neighbours.
        columns: the byte offset of each edge column.
        nbytes: the size of the page, a multiple of PAGE_ALIGN.
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
        rows, edges: the number of rows and of edges in the page.
        widths: the size of a value of each edge column, in bytes.
    """
    targets = aligned(4 * (rows + 1), ALIGN)
    at = targets + aligned(4 * edges, ALIGN)
    columns = []
    for width in widths:
        columns.append(at)
        at += aligned(width * edges, ALIGN)
    return PageLayout(targets, tuple(columns), aligned(at, PAGE_ALIGN))


def page_sizes(rows: NDArray[np.int64], edges: NDArray[np.int64], widths: Sequence[int]) -> NDArray[np.int64]:
    """The size of each page in bytes, int64[P], as `page_layout(...).nbytes` computes it for one page."""
    total = _up(4 * (rows + 1), ALIGN) + _up(4 * edges, ALIGN)
    for width in widths:
        total += _up(width * edges, ALIGN)
    return _up(total, PAGE_ALIGN)


def _up(sizes: NDArray[np.int64], to: int) -> NDArray[np.int64]:
    return -(-sizes // to) * to


def sum_of(data: NDArray[Any] | bytes) -> int:
    """The checksum of the bytes of a contiguous array, by XXH64."""
    array = np.frombuffer(data, np.uint8) if isinstance(data, bytes) else data.reshape(-1).view(np.uint8)
    from vlang.runtime.graph.kernels import kernels  # start-up: kernels are not needed to recognise a file

    if array.ctypes.data % 8:
        array = array.copy()
    whole = array[: len(array) & ~7].view(np.uint64)
    return kernels("page_file")["sum_bytes"](whole, array, len(array)) & (1 << 64) - 1
