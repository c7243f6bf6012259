"""Slices of a queue of active vertices, which is sorted by page and by transfer; each launch processes one slice.

Each task has its own slice (vlang.runtime.gpu.topology.tasks). All pages that are read in place share one slice. All
pages whose rows the CPU gathers share another slice. The entries without edges form the last slice. In each slice,
heavy entries come before light entries.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vlang.records import dataclass
from vlang.runtime.gpu.topology.tasks import Task
from vlang.runtime.gpu.topology.transfers import Marks, Transfer

__all__ = ["Slice", "Sliced", "cut_slices"]


@dataclass(frozen=True)
class Slice:
    """A part of a sorted queue: consecutive heavy entries and consecutive light entries."""

    first: int = 0
    heavy: int = 0
    light: int = 0

    @property
    def count(self) -> int:
        """The number of entries."""
        return self.heavy + self.light

    def part(self, begin: int, end: int) -> Slice:
        """Return the entries `begin` to `end - 1` of this slice."""
        heavy = max(0, min(end, self.heavy) - begin)
        return Slice(self.first + begin, heavy, end - begin - heavy)


@dataclass(frozen=True)
class Sliced:
    """The slices of a sorted queue.

    Attributes:
        transfer: the transfer of each page.
        marks: the active edges of each page.
        queue: the device address of the sorted entries, u64.
        tasks: the slice of each task.
        ordered: whether the tasks must be processed in their order, before all other slices.
        direct, packed, rest: the slices of all pages read in place, of all pages whose rows are gathered, and of
            entries without edges.
    """

    transfer: Transfer
    marks: Marks
    queue: int
    tasks: Mapping[Task, Slice]
    direct: Slice
    packed: Slice
    rest: Slice
    ordered: bool = False


def cut_slices(
    marks: Marks, transfer: Transfer, queue: int
) -> tuple[Sliced, NDArray[np.uint64]]:
    """Return the slices of a queue, and for each page the positions of the first heavy and light entries, uint64[P + 1,
    2].

    The last row of the positions is for entries without edges.

    Args:
        marks: the active edges.
        transfer: the transfer of each page.
        queue: the device address of the sorted entries.
    """
    tasks = transfer.tasks or tuple((page,) for page in transfer.whole)
    pages = len(marks.vertices)
    light = marks.vertices - marks.heavy
    places = np.zeros((pages + 1, 2), dtype=np.uint64)
    found: list[Slice] = []
    at = 0
    for group in [*map(list, tasks), list(transfer.direct), list(transfer.packed)]:
        found.append(Slice(at, int(marks.heavy[group].sum()), int(light[group].sum())))
        places[group, 0] = _places(at, marks.heavy[group])
        places[group, 1] = _places(at + found[-1].heavy, light[group])
        at += found[-1].count
    places[pages] = at
    return Sliced(transfer, marks, queue, dict(zip(tasks, found)), found[-2], found[-1],
                  Slice(at, 0, marks.rest), transfer.ordered), places


def _places(at: int, counts: NDArray[Any] | Sequence[int]) -> NDArray[np.uint64]:
    counts = np.asarray(counts, dtype=np.int64)
    found: NDArray[np.uint64] = (at + np.cumsum(counts) - counts).astype(np.uint64)
    return found
