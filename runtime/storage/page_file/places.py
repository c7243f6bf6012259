"""The place of a page in the files of a graph, the names of these files, and the arrays of a page."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from vlang.records import dataclass
from vlang.runtime.storage.page_file.sections import Array

__all__ = ["Extent", "PageView", "stripe_name"]


@dataclass(frozen=True)
class Extent:
    """The place of a page: the index of its file in `stripes`, its first byte and its length in bytes.

    Both the first byte and the length are multiples of 4096.
    """

    stripe: int
    offset: int
    nbytes: int


@dataclass(frozen=True)
class PageView:
    """The arrays of a page, as views of the buffer that the page was read into.

    Attributes:
        offsets: uint32[rows + 1], the first edge of each row, relative to the page, and the number of edges.
        targets: uint32[edges], the neighbours.
        columns: the values of each edge column by name, array[edges].
    """

    offsets: NDArray[np.uint32]
    targets: NDArray[np.uint32]
    columns: dict[str, Array]


def stripe_name(file: str, fingerprint: bytes, number: int) -> str:
    """The file name of a stripe, with a part of the fingerprint so that new files do not replace old stripes."""
    return f"{file}.{fingerprint.hex()[:8]}.{number + 1}"
