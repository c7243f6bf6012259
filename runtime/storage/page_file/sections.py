"""Reading the sections of a page file and verifying their checksums, and errors that name the file."""

from __future__ import annotations

from collections.abc import Sequence
from io import FileIO
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vlang.errors import DiskError, GraphError
from vlang.runtime.storage.memory import Empty, empty
from vlang.runtime.storage.page_file.form import ColumnInfo, IdKind, Section, sum_of
from vlang.runtime.storage.page_file.header import Header
from vlang.runtime.storage.page_file.named import NAMED

__all__ = [
    "DEGREES", "DIRECTORIES", "Array", "check_sections", "damaged", "fill", "reading", "section_bytes",
    "within_bounds",
]

DEGREES = {"in": Section.IN_DEGREES, "out": Section.OUT_DEGREES}
DIRECTORIES = {"in": Section.IN_DIRECTORY, "out": Section.OUT_DIRECTORY}
"""The section with the directory of each adjacency direction; DEGREES has the section with the degrees."""

Array = NDArray[Any]


class reading:
    """A context that turns OSError into DiskError and ValueError into GraphError, with `path` in the message."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __enter__(self) -> None:
        pass

    def __exit__(self, _kind: object, error: BaseException | None, _at: object) -> None:
        if isinstance(error, (GraphError, DiskError)):
            return
        if isinstance(error, OSError):
            raise DiskError(f"{self._path}: cannot be read: {error.strerror or error}") from error
        if isinstance(error, ValueError):
            raise GraphError(f"{self._path}: {error}") from None


def damaged(what: str) -> str:
    """The message for a damaged file; `what` is the reason."""
    return f"damaged: {what}; convert the graph again"


def within_bounds(values: Array, info: ColumnInfo) -> bool:
    """Return whether all values of a column are within the bounds in `info`; bounds of NaN allow all values."""
    if not len(values) or info.least != info.least:
        return True
    return bool(values.min() >= info.least and values.max() <= info.greatest)


def section_bytes(file: FileIO, header: Header, section: Section, empty: Empty = empty) -> NDArray[np.uint8]:
    """Read a section of a page file and verify its checksum; returns uint8[length of the section].

    Args:
        file: the page file, open for reading.
        header: the checked header of the file: all its sections lie inside the file.
        section: the kind of section to read.
        empty: allocates the returned array.

    Raises ValueError if the section is missing or damaged, and OSError if the file cannot be read.
    """
    place = header.sections.get(section)
    if place is None:
        raise ValueError(damaged(f"the section {section.name.lower()} is missing"))
    data: NDArray[np.uint8] = empty(place.nbytes, np.uint8)
    fill(file, place.offset, data)
    if sum_of(data) != place.sum:
        raise ValueError(damaged(f"the sum of the section {section.name.lower().replace('_', ' ')} is wrong"))
    return data


def fill(file: FileIO, offset: int, target: NDArray[np.uint8]) -> None:
    """Fill `target` with the bytes of the file from `offset` on.

    Raises ValueError if the file ends before `target` is full, and OSError if the file cannot be read.
    """
    file.seek(offset)
    have = 0
    while have < len(target):
        got = file.readinto(target[have:].data)
        if not got:
            raise ValueError(damaged("the file is cut off"))
        have += got


def check_sections(header: Header, kinds: Sequence[str]) -> None:
    """Raise ValueError if a section is missing or not expected, or has a wrong length.

    `kinds` are the stored adjacency directions.
    """
    n, ids = header.n, header.id_kind
    sizes: dict[Section, int | None] = {Section.DESCRIPTION: None}
    if ids == IdKind.TEXT:
        sizes |= {Section.ID_BYTES: None, Section.ID_ENDS: 8 * n}
    elif ids != IdKind.CONSECUTIVE:
        sizes[Section.IDS] = 8 * n
    if header.layout != "ids":
        sizes[Section.PERMUTATION] = 4 * n
    sizes |= {section: None for section in NAMED if section in header.sections}
    for kind in kinds:
        sizes |= {DEGREES[kind]: 2 * n, DIRECTORIES[kind]: None}
    there = header.sections
    for section in {*sizes, *there}:
        name = section.name.lower().replace("_", " ")
        if section not in there or section not in sizes:
            raise ValueError(damaged(f"the section {name} is {'missing' if section in sizes else 'too much'}"))
        size, place = sizes[section], there[section]
        if place.nbytes != size and (size is not None or (place.nbytes % 8 and section in DIRECTORIES.values())):
            raise ValueError(damaged(f"the length of the section {name}"))
