"""Conversion of the headers of a page file and its stripes to bytes, and reading and checking of untrusted bytes."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import field
from typing import Any, cast

import numpy as np

from vlang.records import dataclass
from vlang.runtime.plan.plan import SEGMENT
from vlang.runtime.storage.magic import MAGIC
from vlang.runtime.storage.page_file.form import (
    COLUMN_TYPES,
    DIRECTED,
    ENTRY,
    FIELDS,
    HEADER_BYTES,
    LAYOUTS,
    LEAST_PAGE,
    MOST_SECTIONS,
    PAGE_ALIGN,
    RESERVED,
    STRIPE_FIELDS,
    STRIPE_MAGIC,
    SUM_AT,
    TABLE_AT,
    VERSION,
    ColumnInfo,
    IdKind,
    Section,
    sum_of,
)

__all__ = ["Description", "Header", "Place", "bounds", "fingerprint_of", "stripe_from_bytes", "stripe_to_bytes"]

_MOST_VERTICES = 2**32 - 2
_AGAIN = "convert the graph again"


@dataclass(frozen=True)
class Place:
    """A section of the file: its first byte, its length in bytes, and its checksum."""

    offset: int
    nbytes: int
    sum: int


@dataclass(frozen=True)
class Header:
    """The contents of the header, which takes the first 4096 bytes of a page file.

    Attributes:
        file_bytes: the length of the file.
        n, m: the number of vertices, and of stored edges.
        directed: False if every edge is stored in both directions.
        layout: one of LAYOUTS.
        id_kind, id_base: the kind of the ids, and the id of vertex 0 if the ids are consecutive.
        page_bytes: the writer begins a new page when a page has reached this size.
        stripes: the number of stripes; 0 if this file holds the pages.
        sections: the place of each section.
    """

    file_bytes: int
    n: int
    m: int
    directed: bool
    layout: str
    id_kind: IdKind
    id_base: int
    page_bytes: int
    stripes: int
    sections: Mapping[Section, Place]

    def to_bytes(self) -> bytes:
        """The header as it is stored in the file."""
        data = bytearray(HEADER_BYTES)
        FIELDS.pack_into(
            data, 0, MAGIC, VERSION, HEADER_BYTES, 0, self.file_bytes, self.n, self.m, DIRECTED * self.directed,
            LAYOUTS.index(self.layout), self.id_kind, self.id_base, 32, 0, self.page_bytes, SEGMENT, self.stripes,
            len(self.sections),
        )  # fmt: skip
        for number, (kind, place) in enumerate(self.sections.items()):
            ENTRY.pack_into(data, TABLE_AT + number * ENTRY.size, kind, 0, place.offset, place.nbytes, place.sum)
        return _summed(data)

    @staticmethod
    def from_bytes(data: bytes, size: int) -> Header:
        """Read and check the header in the first bytes of a file of `size` bytes.

        Raises ValueError. The message has no subject, because callers put the path before the message.
        """
        _magic(data, MAGIC, FIELDS, "a page file of vlang")
        _check_sum(data, "header")
        (_, _, _, _, file_bytes, n, m, flags, layout, id_kind, base, bits, codec, page_bytes, segment, stripes,
         count) = FIELDS.unpack_from(data)  # fmt: skip
        if file_bytes != size:
            raise ValueError(f"cut off or grown: it has {size:,} bytes, and its header says {file_bytes:,}; {_AGAIN}")
        _known(bits == 32, f"vertex numbers of {bits} bits")
        _known(codec == 0, f"pages compressed by codec {codec}")
        _known(segment == SEGMENT, f"segments of {segment} edges")
        _known(flags & ~DIRECTED == 0, f"flags 0x{flags:x}")
        _known(layout < len(LAYOUTS), f"layout {layout}")
        _known(id_kind < len(IdKind), f"ids of kind {id_kind}")
        _sound(n <= _MOST_VERTICES and m < 2**63 and (m == 0 or n > 0), "the numbers of vertices and edges")
        _sound(page_bytes >= LEAST_PAGE and base >= -(2**63) and base + n <= 2**64, "page size or ids")
        sections = _sections(data, count, size)
        used = TABLE_AT + count * ENTRY.size
        _sound(not any(data[FIELDS.size : TABLE_AT]) and not any(data[used:]), "bytes that must be zero are not")
        return Header(file_bytes, n, m, bool(flags & DIRECTED), LAYOUTS[layout], IdKind(id_kind), base, page_bytes,
                      stripes, sections)  # fmt: skip


def _sections(data: bytes, count: int, size: int) -> dict[Section, Place]:
    _sound(count <= MOST_SECTIONS, "the number of sections")
    known = {int(kind) for kind in Section}
    found: dict[Section, Place] = {}
    for number in range(count):
        kind, zero, offset, nbytes, total = ENTRY.unpack_from(data, TABLE_AT + number * ENTRY.size)
        if kind not in known:
            what = RESERVED.get(kind)
            _known(False, f"{what} (section {kind})" if what else f"sections of kind {kind}")
        _sound(zero == 0 and Section(kind) not in found, "the table of sections")
        _sound(offset % PAGE_ALIGN == 0 and offset >= HEADER_BYTES and nbytes <= size - offset,
               f"the section {Section(kind).name.lower()} lies outside of the file")  # fmt: skip
        found[Section(kind)] = Place(offset, nbytes, total)
    return found


def fingerprint_of(header: bytes) -> bytes:
    """The identity of a page file: a digest of its header, which contains the checksums of all other parts."""
    return hashlib.blake2b(header, digest_size=16).digest()


def stripe_to_bytes(size: int, fingerprint: bytes, number: int, stripes: int) -> bytes:
    """The header of a stripe.

    Args:
        size: the size of the stripe in bytes.
        fingerprint: the fingerprint of the page file that the stripe belongs to.
        number: the index of the stripe, from 0.
        stripes: the number of stripes of the page file.
    """
    data = bytearray(HEADER_BYTES)
    STRIPE_FIELDS.pack_into(data, 0, STRIPE_MAGIC, VERSION, HEADER_BYTES, 0, size, fingerprint, number, stripes)
    return _summed(data)


def stripe_from_bytes(data: bytes, size: int, fingerprint: bytes, number: int, stripes: int) -> None:
    """Check the header of a stripe. Raises ValueError if the header differs from the arguments.

    Args:
        data: the first bytes of the stripe.
        size: the expected size of the stripe in bytes.
        fingerprint: the fingerprint of the page file that the stripe belongs to.
        number: the index of the stripe, from 0.
        stripes: the number of stripes of the page file.
    """
    _magic(data, STRIPE_MAGIC, STRIPE_FIELDS, "a stripe of a page file")
    _check_sum(data, "header")
    _, _, _, _, file_bytes, of, mine, count = STRIPE_FIELDS.unpack_from(data)
    if of != fingerprint:
        raise ValueError("a stripe of another page file")
    if (mine, count) != (number, stripes):
        raise ValueError(f"stripe {mine + 1} of {count}, where stripe {number + 1} of {stripes} belongs")
    if file_bytes != size:
        raise ValueError(f"cut off or grown: it has {size:,} bytes, and its header says {file_bytes:,}; {_AGAIN}")
    _sound(not any(data[STRIPE_FIELDS.size :]), "bytes that must be zero are not")


def _summed(data: bytearray) -> bytes:
    data[SUM_AT : SUM_AT + 8] = sum_of(bytes(data)).to_bytes(8, "little")
    return bytes(data)


def _magic(data: bytes, magic: bytes, fields: Any, what: str) -> None:
    if not data.startswith(magic):
        raise ValueError(f"not {what}")
    if len(data) < HEADER_BYTES:
        raise ValueError(f"cut off: it ends inside of its header; {_AGAIN}")
    version, length = fields.unpack_from(data)[1:3]
    if version != VERSION:
        raise ValueError(f"version {version} of page files; this version of vlang reads version {VERSION}")
    _sound(length == HEADER_BYTES, "the length of the header")


def _check_sum(data: bytes, what: str) -> None:
    stored = int.from_bytes(data[SUM_AT : SUM_AT + 8], "little")
    _sound(sum_of(data[:SUM_AT] + bytes(8) + data[SUM_AT + 8 :]) == stored, f"the sum of the {what} is wrong")


def _known(fine: bool, what: str) -> None:
    if not fine:
        raise ValueError(f"the file has {what}, which this version of vlang does not read")


def _sound(fine: bool, what: str) -> None:
    if not fine:
        raise ValueError(f"damaged: {what}; {_AGAIN}")


# ------------------------------------------------------------------ the description


@dataclass(frozen=True)
class Description:
    """The contents of the section `description`, which is stored as JSON.

    Attributes:
        columns: the edge columns by name.
        notes: sentences about the source of the graph.
        left_out: columns of the source that could not be read: name, reason, and whether some cells are numbers.
        facts: values that `vlang info` prints: first and last id, largest degrees, number of isolated vertices.
        file: the name that the page file had when it was written; "" if it has no stripes.
        disks: the folder of each stripe.
    """

    columns: Mapping[str, ColumnInfo]
    notes: tuple[str, ...] = ()
    left_out: tuple[tuple[str, str, bool], ...] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)
    file: str = ""
    disks: tuple[str, ...] = ()

    def to_bytes(self) -> bytes:
        """The description as it is stored in the file."""
        columns = [[name, c.dtype.name, _text(c.least), _text(c.greatest)] for name, c in self.columns.items()]
        whole = {"columns": columns, "notes": self.notes, "left_out": self.left_out, "facts": dict(self.facts),
                 "file": self.file, "disks": self.disks}  # fmt: skip
        return json.dumps(whole, ensure_ascii=True, separators=(",", ":")).encode("ascii")

    @staticmethod
    def from_bytes(data: bytes) -> Description:
        """Read and check a description.

        Raises ValueError. The message has no subject, because callers put the path before the message.
        """
        try:
            whole = json.loads(data)
            columns = {str(name): _column(name, *rest) for name, *rest in whole["columns"]}
            left_out = tuple((str(name), str(why), bool(numbers)) for name, why, numbers in whole["left_out"])
            notes, disks = (tuple(map(str, cast("list[Any]", whole[key]))) for key in ("notes", "disks"))
            found = Description(columns, notes, left_out, dict(whole["facts"]), str(whole["file"]), disks)
            fine = len(columns) == len(whole["columns"])
        except _Unknown as unknown:
            raise ValueError(str(unknown)) from None
        except (ValueError, TypeError, KeyError, RecursionError):
            fine = False
        _sound(fine, "its description")
        return found


class _Unknown(Exception):
    """A column type that this version does not know."""


def _column(name: object, dtype: str, least: str, greatest: str) -> ColumnInfo:
    if dtype not in COLUMN_TYPES:
        raise _Unknown(f"the edge column {name!r} has the type {dtype!r}, which this version of vlang does not read")
    read = float.fromhex if COLUMN_TYPES[dtype].kind == "f" else int
    return ColumnInfo(COLUMN_TYPES[dtype], read(least), read(greatest))


def _text(value: float) -> str:
    """Format a bound as text that converts back to exactly the same value."""
    return value.hex() if isinstance(value, (float, np.floating)) else str(int(value))


def bounds(one: tuple[float, float], other: tuple[float, float]) -> tuple[float, float]:
    """The (least, greatest) bounds of two joined parts of a column; NaN if either part has a NaN."""
    if any(map(math.isnan, (*one, *other))):
        return math.nan, math.nan
    return min(one[0], other[0]), max(one[1], other[1])
