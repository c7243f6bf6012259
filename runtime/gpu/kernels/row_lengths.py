"""Statistics of the row lengths of a graph, from which the GPU kernel of each page is chosen."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from vlang.records import dataclass
from vlang.runtime.graph.kernels import kernels
from vlang.runtime.plan.plan import SEGMENT
from vlang.runtime.threads.processors import available_threads
from vlang.runtime.threads.workers import on_threads

__all__ = ["LANES", "WIDTHS", "Rows", "page_rows", "whole_rows"]

LANES = (2, 4, 8, 16, 32)
WIDTHS = (1, *LANES)

_PIECE = 1 << 15  # rows that a thread measures at a time, a multiple of the warp size


class _Side(Protocol):
    """An adjacency direction that caches objects derived from its offsets."""

    offsets: NDArray[np.uint64]

    def derived(self, key: Hashable, make: Callable[[], Any]) -> Any:
        """Return the object that `make` creates on the first use of `key`."""


@dataclass(frozen=True)
class Rows:
    """The rows of a page.

    Attributes:
        vertices: the number of rows.
        edges: the number of edges.
        longest: the number of edges of the longest row with at most SEGMENT edges; another kernel processes longer
            rows.
        waste: lane slots per edge with 1, 2, 4, 8, 16 and 32 lanes per row, if a warp waits for its longest row.
    """

    vertices: int
    edges: int
    longest: int
    waste: tuple[float, ...]

    @staticmethod
    def even(vertices: int, edges: int) -> Rows:
        """Return rows of equal length, for a page whose rows have not been measured."""
        longest = min(SEGMENT, -(-edges // max(1, vertices)))
        slots = [-(-longest // lanes) * lanes for lanes in WIDTHS]
        return Rows(vertices, edges, longest, tuple(max(1.0, s * vertices / max(1, edges)) for s in slots))

    @staticmethod
    def measured(offsets: NDArray[Any]) -> Rows:
        """Measure the rows of n vertices from their offsets, n + 1 integers of any type."""
        return _measured(offsets, np.array([0, len(offsets) - 1], dtype=np.int64))[0]


def whole_rows(side: _Side) -> Rows:
    """Return the rows of a complete adjacency direction, measured once."""
    return cast(Rows, side.derived("row lengths", lambda: Rows.measured(side.offsets)))


def page_rows(side: _Side, lows: NDArray[np.int64]) -> list[Rows]:
    """Return the rows of each page of an adjacency direction, measured once. The rows of page p begin at lows[p] and
    end before lows[p + 1].
    """
    if len(lows) == 2 and int(lows[0]) == 0 and int(lows[1]) == len(side.offsets) - 1:
        return [whole_rows(side)]
    return cast("list[Rows]", side.derived(("row lengths", lows.tobytes()), lambda: _measured(side.offsets, lows)))


def _measured(offsets: NDArray[Any], lows: NDArray[np.int64]) -> list[Rows]:
    """Measure the rows of each page from the offsets of the complete adjacency direction."""
    counts = np.maximum(1, -(-np.diff(lows) // _PIECE))
    firsts = np.cumsum(counts) - counts
    pieces = np.empty((int(counts.sum()), 2), dtype=np.int64)
    pieces[:, 0] = np.repeat(lows[:-1] - _PIECE * firsts, counts) + _PIECE * np.arange(len(pieces))
    pieces[:, 1] = np.minimum(pieces[:, 0] + _PIECE, np.repeat(lows[1:], counts))
    wide = offsets.view(np.int64) if offsets.dtype == np.uint64 else offsets.astype(np.int64)
    found = np.empty((len(pieces), 8), dtype=np.int64)
    measure = kernels("lengths")["measure_lengths"]
    step = -(-len(pieces) // (4 * available_threads()))
    on_threads(available_threads(), lambda at: measure(wide, pieces, at, min(at + step, len(pieces)), SEGMENT, found),
               range(0, len(pieces), step))
    longest = np.maximum.reduceat(found[:, 0], firsts).tolist()
    sums = np.add.reduceat(found[:, 1:], firsts, axis=0).tolist()
    edges = np.diff(wide[lows]).tolist()
    return [_page(*page) for page in zip(np.diff(lows).tolist(), edges, longest, sums)]


def _page(vertices: int, edges: int, longest: int, sums: list[int]) -> Rows:
    if not edges or not vertices:
        return Rows.even(vertices, edges)
    inside, *steps = sums
    return Rows(vertices, edges, longest, tuple(max(1.0, 32 * each / max(1, inside)) for each in steps))
