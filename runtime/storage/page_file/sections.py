"""Bytes of a page file: sections with their sums, and errors that name the file."""

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

__all__ = [
    "DEGREES", "DIRECTORIES", "Array", "check_sections", "damaged", "fill", "reading", "section_bytes",
    "within_bounds",
]

DEGREES = {"in": Section.IN_DEGREES, "out": Section.OUT_DEGREES}
DIRECTORIES = {"in": Section.IN_DIRECTORY, "out": Section.OUT_DIRECTORY}
"""The sections of a direction."""

Array = NDArray[Any]


class reading:
    """Turns errors while `path` is read into those of vlang, with its name."""

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
    """The message for a file that is not as it was written."""
    return f"damaged: {what}; convert the graph again"


def within_bounds(values: Array, info: ColumnInfo) -> bool:
    """Whether all values of a column are within the bounds that the header gives."""
    if not len(values) or info.least != info.least:
        return True
    return bool(values.min() >= info.least and values.max() <= info.greatest)


def section_bytes(file: FileIO, header: Header, section: Section, empty: Empty = empty) -> NDArray[np.uint8]:
    """The bytes of a section, whose length `Header` has compared with that of the file.

    Args:
        file: open for reading.
        header: of the file.
        section: which one.
        empty: makes the array.

    Raises ValueError, OSError.
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
    """Fill `target` from the file. Raises ValueError where the file ends, OSError."""
    file.seek(offset)
    have = 0
    while have < len(target):
        got = file.readinto(target[have:].data)
        if not got:
            raise ValueError(damaged("the file is cut off"))
        have += got


def check_sections(header: Header, kinds: Sequence[str]) -> None:
    """Raise ValueError unless exactly the sections of a graph are there, of the lengths that they must have.

    kinds: the stored directions.
    """
    n, ids = header.n, header.id_kind
    sizes: dict[Section, int | None] = {Section.DESCRIPTION: None}
    if ids == IdKind.TEXT:
        sizes |= {Section.ID_BYTES: None, Section.ID_ENDS: 8 * n}
    elif ids != IdKind.CONSECUTIVE:
        sizes[Section.IDS] = 8 * n
    if header.layout == "degree":
        sizes[Section.PERMUTATION] = 4 * n
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
