"""Sweeps over levels on a CPU.

Each level has a list of its vertices, so the cost of a level is proportional to the number of its vertices.

If the sweep consists of passes over edges in memory, one call runs many levels (see script.py). A level with few
vertices then costs a microsecond.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vlang.records import dataclass
from vlang.runtime.cpu.crew.launch import Cpu
from vlang.runtime.cpu.passes.level_sort import sort_by_level
from vlang.runtime.cpu.passes.lists import Lists
from vlang.runtime.cpu.passes.passes import Passes
from vlang.runtime.cpu.passes.script import ManyTasks, Script, level_long_tasks, level_tasks, listed_tasks, row_kernel
from vlang.runtime.engine.nesting import finite
from vlang.runtime.graph.topology.pages import PageCuts, Pages
from vlang.runtime.kernels import frontier_kernels
from vlang.runtime.plan.plan import BLOCK, StageSpec, Step, SweepSpec, pointer_of

__all__ = ["LastLevels", "LevelLists", "Levels", "ListedSweep"]

_MOST_LEVELS = 1024  # the maximum number of levels in one call, as a call cannot be interrupted
_MOST_VERTICES = 1 << 20  # the maximum number of vertices in one call, unless its first level has more


@dataclass(frozen=True)
class Levels:
    """Vertices sorted by level.

    Attributes:
        values: array[k], the distinct levels in increasing order.
        order: uint32, the vertices, sorted by level and then by number.
        starts: int64[k + 1]; level k has the vertices order[starts[k]:starts[k + 1]].
    """

    values: NDArray[Any]
    order: NDArray[np.uint32]
    starts: NDArray[np.int64]

    def _where(self, table: NDArray[np.int64]) -> NDArray[np.int64]:
        """The indices of the entries of `order` that are in `table`, an increasing list of vertices."""
        if len(self.values) * len(table) > len(self.order):  # more searches than entries
            marks = np.zeros(max(int(self.order.max(initial=0)), int(table.max(initial=0))) + 1, np.bool_)
            marks[table] = True
            return np.flatnonzero(marks[self.order])
        found = []
        for begin, end in pairwise(self.starts.tolist()):
            level = self.order[begin:end]
            at = np.searchsorted(level, table.astype(np.uint32))
            there = at < len(level)
            there[there] = level[at[there]] == table[there]
            found.append(begin + at[there])
        return np.concatenate(found) if found else np.zeros(0, np.int64)

    def lists(self, pages: PageCuts | None) -> LevelLists:
        """The lists of all levels, with separate lists for vertices that are long in `pages`.

        If `pages` is None, all vertices count as short.
        """
        table = np.zeros(0, np.int64) if pages is None else pages.longs[:, 0]
        where = self._where(table) if len(table) else np.zeros(0, np.int64)
        before = np.searchsorted(where, self.starts)
        short, vertices = (np.delete(self.order, where) if len(where) else self.order), self.order[where]
        long = np.searchsorted(table, vertices).astype(np.uint32)
        return LevelLists(short, self.starts - before, long, vertices, before)


@dataclass(frozen=True)
class LevelLists:
    """The vertices of all levels, in separate lists for the short and the long vertices of an adjacency direction.

    A vertex is long if its row is cut into segments.

    Attributes:
        short: uint32, the short vertices, sorted by level.
        starts: int64[k + 1]; level k has the vertices short[starts[k]:starts[k + 1]].
        long: uint32, the indices of the long vertices in the table of long vertices, sorted by level.
        long_vertices: uint32, the numbers of the same vertices.
        long_starts: int64[k + 1]; level k has the entries long_starts[k] to long_starts[k + 1] - 1 of `long` and of
            `long_vertices`.
    """

    short: NDArray[np.uint32]
    starts: NDArray[np.int64]
    long: NDArray[np.uint32]
    long_vertices: NDArray[np.uint32]
    long_starts: NDArray[np.int64]

    def level(self, k: int) -> Lists:
        """The vertices of one level."""
        a, b, c, d = (int(x) for x in (*self.starts[k : k + 2], *self.long_starts[k : k + 2]))
        return Lists(self.short[a:b], self.long[c:d], self.long_vertices[c:d], b - a, d - c)

    @cached_property
    def short_tasks(self) -> ManyTasks:
        """Tasks over the short vertices for kernels that read no edges."""
        return listed_tasks(self.starts, 4 * BLOCK)

    @cached_property
    def long_tasks(self) -> ManyTasks:
        """Tasks over the long vertices for kernels that read no edges."""
        return listed_tasks(self.long_starts, 4 * BLOCK)


@dataclass(frozen=True)
class LastLevels:
    """The levels of the last sweep over a field. The next sweep often uses the same levels in the opposite order.

    Attributes:
        values: array[n], the values of the field during that sweep.
        chosen: bool[n], the vertices that took part.
        levels: the vertices of each level.
        lists: the result of `Levels.lists` for each adjacency direction, by the id() of the pages of the direction.
    """

    values: NDArray[Any]
    chosen: NDArray[np.bool_]
    levels: Levels
    lists: dict[int, LevelLists] = field(default_factory=dict)

    @staticmethod
    def of(values: NDArray[Any], chosen: NDArray[np.bool_], last: LastLevels | None, cpu: Cpu) -> LastLevels:
        """Return the levels of the current values.

        Args:
            values: array[n], the current values of the field.
            chosen: bool[n], the vertices that take part.
            last: the levels of the last sweep, which are returned if values and chosen vertices have not changed.
            cpu: sorts the vertices.
        """
        if last is not None and np.array_equal(last.chosen, chosen) and np.array_equal(last.values, values):
            return last
        return LastLevels(values.copy(), chosen, Levels(*sort_by_level(values, chosen, cpu)))


class ListedSweep:
    """A sweep whose passes run over lists of the vertices of a level; a `vlang.runtime.engine.machine.Sweep`.

    Args:
        spec: the sweep.
        passes: runs the passes.
        last: the levels of the last sweep over each field, by name of the field. The sweep updates this dict.
    """

    def __init__(self, spec: SweepSpec, passes: Passes, last: dict[str, LastLevels]) -> None:
        arrays = passes.state.arrays
        values = arrays[f"field:{spec.field}"]
        chosen = finite(values)
        if spec.guard is not None:
            chosen &= arrays[spec.guard] != 0
        self._passes, self._spec = passes, spec
        self._found = last[spec.field] = self.found(values, chosen, last.get(spec.field))
        self._levels = self._found.levels
        count = len(self._levels.values)
        self._numbers = np.arange(count) if spec.up else np.arange(count)[::-1]  # list numbers in running order
        self._sent: dict[str, int] = {}  # by pass, the list that has messages other than the identity; or -1
        self._together = all(self._plain(step) for step in spec.steps) and passes.freedoms.levels_together()

    def found(self, values: NDArray[Any], chosen: NDArray[np.bool_], last: LastLevels | None) -> LastLevels:
        """The levels of the current values; see `LastLevels.of`."""
        return LastLevels.of(values, chosen, last, self._passes.cpu)

    @property
    def levels(self) -> Sequence[int]:
        """The distinct values of the field, in the order of the sweep."""
        values: list[int] = self._levels.values[self._numbers].tolist()
        return values

    def run_pass(self, stage: StageSpec, level: int) -> int:
        """Run a pass over the vertices of level number `level`; returns the number of edges traversed."""
        passes, number = self._passes, self._numbers[level : level + 1]
        passes.pointed.follow(stage.pointer)
        lists = self._lists_for(stage.domain)
        chosen = lists.level(int(number[0]))
        if stage.senders is not None:
            sender = int(self._senders(stage, number)[0])
            before = self._sent.get(stage.name)
            if before is None:  # unknown vertices may still have messages of earlier sweeps
                passes.send_all(stage)
            else:
                for one in (before, sender):
                    if one >= 0:
                        passes.send(stage, lists.level(one))
            self._sent[stage.name] = sender
        _, edges = passes.listed(stage, chosen)
        for name in stage.swaps:
            passes.per_field("exchange", name, chosen)
        return edges

    def run_levels(self, first: int) -> tuple[int, int]:
        """Run several levels in one call, beginning with level number `first`, if the sweep permits this.

        Returns the number of levels that ran (possibly 0), and the number of edges traversed.
        """
        numbers = self._numbers[first : first + _MOST_LEVELS]
        if not self._together or not len(numbers):
            return 0, 0
        sizes = np.diff(self._levels.starts)[numbers]
        numbers = numbers[: max(1, int(np.searchsorted(np.cumsum(sizes), _MOST_VERTICES)))]
        script = Script(self._levels.values[numbers].astype(np.int64), self._passes.cpu.counter)
        edges = 0
        for stage in self._spec.steps:
            assert isinstance(stage, StageSpec)
            edges += self._write(script, stage, numbers)
        slot = self._passes.state.plan.slots[f"scalar:{self._spec.level}"]
        self._passes.cpu.play(*script.made(), slot)
        return len(numbers), edges

    def _plain(self, step: Step) -> bool:
        """Return whether a step is a pass over edges in memory, so that its launches are known before it runs."""
        return isinstance(step, StageSpec) and not step.structures and not step.pointer and \
            (step.domain is None or isinstance(self._passes.pages_of(step.domain), Pages))

    def _lists_for(self, domain: str | None) -> LevelLists:
        """The lists of vertices, separate for short and long vertices of an adjacency direction."""
        pages = None if domain is None else self._passes.pages_of(domain)
        lists = self._found.lists
        if pointer_of(domain):  # these pages change while the sweep runs
            return self._levels.lists(pages)
        if id(pages) not in lists:  # id() is a valid key, as the passes keep the pages alive
            lists[id(pages)] = self._levels.lists(pages)
        return lists[id(pages)]

    def _senders(self, stage: StageSpec, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        """For each list in `numbers`, the number of the list whose vertices send to it; -1 if there is none."""
        values = self._levels.values
        wanted = values[numbers].astype(np.int64) + (stage.senders or 0)
        at = np.searchsorted(values, wanted)
        there = at < len(values)
        there[there] = values[at[there]] == wanted[there]
        return np.where(there, at, -1)

    # -------------------------------------------------------------------------------------------------- scripts
    def _write(self, script: Script, stage: StageSpec, numbers: NDArray[np.int64]) -> int:
        """Add the launches of a pass over some lists to a script; returns the number of edges that it will traverse."""
        passes, lists, frame = self._passes, self._lists_for(stage.domain), self._passes.aimed(stage)
        if stage.senders is not None and "messages" in stage.kernels:
            senders = self._senders(stage, numbers)
            kernel = passes.kernels[stage.kernels["messages"]]
            for sent in (np.append(self._sent[stage.name], senders[:-1]), senders):
                script.launch(kernel, frame, lists.short, lists.short_tasks.at(sent))
                script.launch(kernel, frame, lists.long_vertices, lists.long_tasks.at(sent))
            self._sent[stage.name] = int(senders[-1])
        if stage.domain is None:
            script.launch(passes.kernels[stage.kernels["compute"]], frame, lists.short, lists.short_tasks.at(numbers))
            edges = 0
        else:
            edges = self._write_edges(script, stage, numbers, frame)
        for name in stage.swaps:
            action = row_kernel(passes.state.arrays, passes.graph.n, "exchange", name)
            kernel = frontier_kernels()[action.name]
            script.rows(kernel, frame, action, lists.short, lists.starts, numbers)
            script.rows(kernel, frame, action, lists.long_vertices, lists.long_starts, numbers)
        return edges

    def _write_edges(self, script: Script, stage: StageSpec, numbers: NDArray[np.int64],
                     frame: NDArray[np.uint64]) -> int:
        """Add the launches of a pass over edges to a script; returns the number of edges that the pass will traverse.
        """
        assert stage.domain is not None
        passes, lists, pages = self._passes, self._lists_for(stage.domain), self._passes.pages_of(stage.domain)
        assert isinstance(pages, Pages)
        low, high = int(numbers.min()), int(numbers.max()) + 1
        short = level_tasks(pages, lists.short, lists.starts[low : high + 1]).at(numbers - low)
        kernel = stage.kernels.get("listed", stage.kernels["pull"])
        script.launch(passes.kernels[kernel], frame, lists.short, short)
        edges = int((short.costs - np.diff(lists.starts)[numbers]).sum())
        if lists.long_starts[high] > lists.long_starts[low]:
            long = level_long_tasks(pages, lists.long, lists.long_starts[low : high + 1]).at(numbers - low)
            finish = listed_tasks(lists.long_starts, 64).at(numbers)
            script.launch(passes.kernels[stage.kernels["segments"]], frame, lists.long, long)
            script.launch(passes.kernels[stage.kernels["finish"]], frame, lists.long, finish)
            edges += int(long.costs.sum())
        return edges
