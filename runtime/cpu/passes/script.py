"""A script: a list of the launches over the levels of a sweep. One call of machine code runs the whole list."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vlang.records import dataclass
from vlang.runtime.compile.objects import Kernel, address_of
from vlang.runtime.graph.topology.pages import Pages
from vlang.runtime.kernels import frontier_kernels
from vlang.runtime.plan.layouts.play_words import (
    PLAY_ARGS,
    PLAY_COUNT,
    PLAY_FRAME,
    PLAY_FUNCTION,
    PLAY_HELPERS,
    PLAY_LEVEL,
    PLAY_LIST,
    PLAY_WORDS,
)
from vlang.runtime.plan.plan import SEGMENT

__all__ = ["ManyTasks", "RowKernel", "Script", "level_long_tasks", "level_tasks", "listed_tasks", "row_kernel"]

Int64s = NDArray[np.int64]

_TASK_BYTES = 24


@dataclass(frozen=True)
class ManyTasks:
    """Tasks over several lists.

    Attributes:
        tasks: int64[t, 3], contiguous.
        begins: int64[k], the first task of each list.
        counts: int64[k], the number of tasks of each list.
        costs: int64[k], the approximate number of edges and vertices of each list.
    """

    tasks: Int64s
    begins: Int64s
    counts: Int64s
    costs: Int64s

    def at(self, lists: Int64s) -> ManyTasks:
        """The tasks of the lists with the given numbers; the number -1 stands for an empty list."""
        return ManyTasks(self.tasks, self.begins[lists], np.where(lists < 0, 0, self.counts[lists]), self.costs[lists])


def listed_tasks(starts: Int64s, size: int) -> ManyTasks:
    """Tasks of `size` entries over several lists, where list k has the entries starts[k] to starts[k + 1] - 1."""
    entries = np.diff(starts)
    counts = -(-entries // size)
    begins = np.cumsum(counts) - counts
    owner = np.repeat(np.arange(len(counts)), counts)
    low = starts[owner] + (np.arange(len(owner)) - begins[owner]) * size
    high = np.minimum(low + size, starts[owner + 1])
    return ManyTasks(np.ascontiguousarray(np.stack([np.zeros_like(low), low, high], axis=1)), begins, counts, entries)


def level_tasks(pages: Pages, listed: NDArray[np.uint32], starts: Int64s) -> ManyTasks:
    """Tasks over lists of short vertices. The vertices of a task are all in one page. List k is
    listed[starts[k]:starts[k + 1]].
    """
    levels = len(starts) - 1
    offsets = pages.adjacency.offsets
    entries = int(starts[-1] - starts[0])
    room = min(entries, levels * pages.count + (int(offsets[-1]) + entries) // pages.cost + levels)
    return _made("level_tasks", room, levels, (listed, starts, levels, offsets, pages.firsts, pages.count, pages.cost),
                 np.diff(starts))


def level_long_tasks(pages: Pages, listed: NDArray[np.uint32], starts: Int64s) -> ManyTasks:
    """Tasks over the segments of long vertices. `listed` has indices of the table of long vertices."""
    levels = len(starts) - 1
    each = max(1, pages.cost // SEGMENT)
    return _made("level_long_tasks", len(pages.segments), levels,
                 (listed, starts, levels, pages.longs, pages.segments, pages.segment_pages, each), 0)


def _made(kernel: str, room: int, levels: int, given: tuple[Any, ...], rows: Int64s | int) -> ManyTasks:
    """Run a kernel that creates tasks over lists.

    Args:
        kernel: the name of the kernel.
        room: the maximum number of tasks.
        levels: the number of lists.
        given: the arguments of the kernel before the output arrays.
        rows: for each list, the number of vertices to add to its cost.
    """
    tasks, begins, edges = np.empty((room, 3), np.int64), np.empty(levels + 1, np.int64), np.empty(levels, np.int64)
    frontier_kernels()[kernel](*given, tasks, begins, edges)
    return ManyTasks(tasks, begins[:-1], np.diff(begins), edges + rows)


@dataclass(frozen=True)
class RowKernel:
    """A kernel that swaps or copies the values of listed vertices between two arrays.

    Attributes:
        name: the name of the kernel.
        arrays: the two arrays, viewed as unsigned integers.
        width: the number of these integers per vertex.
    """

    name: str
    arrays: tuple[NDArray[Any], NDArray[Any]]
    width: int


def row_kernel(arrays: Mapping[str, NDArray[Any]], n: int, action: str, field_name: str) -> RowKernel:
    """Return the kernel that swaps or copies the values of listed vertices between the two buffers of a field.

    Args:
        arrays: the vertex arrays of the state, by slot.
        n: the number of vertices.
        action: "exchange" or "copy".
        field_name: the field.
    """
    now, new = arrays[f"field:{field_name}"], arrays[f"next:{field_name}"]
    size = now.nbytes // max(1, n)  # bytes of a vertex's value, which may be a vector
    word = next(bits for bits in (64, 32, 16, 8) if 8 * size % bits == 0)
    return RowKernel(f"{action}_{word}", (new.view(f"uint{word}"), now.view(f"uint{word}")), 8 * size // word)


@dataclass
class Script:
    """A script. Each of several levels has the same launches, in the order in which the launches were added.

    Attributes:
        levels: int64[k], the values of the levels.
        counter: the address of the counter from which kernels take tasks.
        arrays: the arrays that kernels access, kept alive until the script has run.
    """

    levels: Int64s
    counter: int
    arrays: list[NDArray[Any]] = field(default_factory=list)
    _rows: list[Int64s] = field(default_factory=list)
    _costs: list[Int64s] = field(default_factory=list)

    def launch(self, kernel: Kernel, frame: NDArray[np.uint64], listed: NDArray[np.uint32], work: ManyTasks) -> None:
        """Add a launch of a kernel over the tasks of each level.

        Args:
            kernel: a kernel with the arguments frame, tasks, number of tasks, and counter.
            frame: the frame of the launch.
            listed: the list of vertices that the tasks index.
            work: the tasks of each level.
        """
        rows = self._begun(kernel, frame)
        given = kernel.words((frame, work.tasks, 0, self.counter))
        rows[:, PLAY_ARGS : PLAY_ARGS + 4] = [word or 0 for word in given]
        rows[:, PLAY_ARGS + 1] += work.begins * _TASK_BYTES
        rows[:, PLAY_ARGS + 2] = work.counts
        rows[:, PLAY_COUNT] = 4
        rows[:, PLAY_LIST] = address_of(listed)
        rows[:, PLAY_HELPERS] = work.counts - 1
        self._costs.append(np.where(work.counts > 0, work.costs, -1))
        self.arrays += [frame, listed, work.tasks]

    def rows(self, kernel: Kernel, frame: NDArray[np.uint64], action: RowKernel, listed: NDArray[np.uint32],
             starts: Int64s, numbers: Int64s) -> None:
        """Add a launch of a `RowKernel` over the listed vertices of each level, on one thread.

        Args:
            kernel: the kernel that `action` names.
            frame: any frame, because the kernel does not use it.
            action: the arrays and the width, which are arguments of the kernel.
            listed: the vertices of all lists.
            starts: int64[lists + 1]; list k is listed[starts[k]:starts[k + 1]].
            numbers: int64[k], the number of the list of each level.
        """
        counts = (starts[1:] - starts[:-1])[numbers]
        rows = self._begun(kernel, frame)
        given = kernel.words((*action.arrays, listed, 0, action.width))
        rows[:, PLAY_ARGS : PLAY_ARGS + 5] = [word or 0 for word in given]
        rows[:, PLAY_ARGS + 2] += starts[numbers] * listed.itemsize
        rows[:, PLAY_ARGS + 3] = counts
        rows[:, PLAY_COUNT] = 5
        self._costs.append(np.where(counts > 0, 0, -1))
        self.arrays += [*action.arrays, listed]

    def _begun(self, kernel: Kernel, frame: NDArray[np.uint64]) -> Int64s:
        rows = np.zeros((len(self.levels), PLAY_WORDS), np.int64)
        rows[:, PLAY_FUNCTION], rows[:, PLAY_FRAME] = kernel.address, address_of(frame)
        rows[:, PLAY_LEVEL] = self.levels
        self._rows.append(rows)
        return rows

    def made(self) -> tuple[Int64s, Int64s]:
        """The launches level by level, int64[launches, PLAY_WORDS], and the cost of each launch, int64[launches]."""
        rows, costs = np.stack(self._rows, axis=1), np.stack(self._costs, axis=1)
        live = costs >= 0
        return np.ascontiguousarray(rows[live]), costs[live]
