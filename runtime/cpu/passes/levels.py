"""A sweep on a CPU: a list of vertices for each level, so that a level costs in proportion to its vertices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vlang.runtime.cpu.passes.lists import Lists
from vlang.runtime.cpu.passes.passes import Passes
from vlang.runtime.engine.nesting import finite
from vlang.runtime.graph.topology.pages import PageCuts
from vlang.runtime.plan.plan import StageSpec, SweepSpec

__all__ = ["LastLevels", "Levels", "ListedSweep"]

_NARROW = 1 << 16  # numpy sorts 16-bit integers by radix: one pass instead of comparisons


@dataclass(frozen=True)
class Levels:
    """Vertices by level.

    values: the level of each list, increasing. order: the vertices, u32, by level, then by number; list k is
    [starts[k], starts[k + 1]).
    """

    values: NDArray[Any]
    order: NDArray[np.uint32]
    starts: NDArray[np.int64]

    @staticmethod
    def of(values: NDArray[Any], chosen: NDArray[np.bool_]) -> Levels:
        """The chosen vertices by their values."""
        vertices = np.flatnonzero(chosen).astype(np.uint32)
        found = values[vertices]
        least = int(found.min()) if len(found) else 0
        if len(found) and int(found.max()) - least < _NARROW:
            order = np.argsort((found - found.dtype.type(least)).astype(np.uint16), kind="stable")
        else:
            order = np.argsort(found, kind="stable")
        ordered = found[order]
        first = np.concatenate([np.ones(min(1, len(ordered)), np.bool_), ordered[1:] != ordered[:-1]])
        begins = np.flatnonzero(first)
        return Levels(ordered[begins], vertices[order], np.append(begins, len(ordered)).astype(np.int64))

    def _among(self, table: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Which entries of `order` are in a table of vertices."""
        marks = np.zeros(max(int(self.order.max(initial=0)), int(table.max(initial=0))) + 1, np.bool_)
        marks[table] = True
        found: NDArray[np.bool_] = marks[self.order]
        return found

    def lists(self, pages: PageCuts | None) -> list[Lists]:
        """The lists, with long vertices apart if pages are given; without pages all vertices count as short."""
        table = np.zeros(0, np.int64) if pages is None else pages.longs[:, 0]
        where = np.flatnonzero(self._among(table)) if len(table) else np.zeros(0, np.int64)
        before = np.searchsorted(where, self.starts)
        short, vertices = (np.delete(self.order, where) if len(where) else self.order), self.order[where]
        long = np.searchsorted(table, vertices).astype(np.uint32)
        found = []
        for k in range(len(self.values)):
            a, b = (int(self.starts[i] - before[i]) for i in (k, k + 1))
            c, d = int(before[k]), int(before[k + 1])
            found.append(Lists(short[a:b], long[c:d], vertices[c:d], b - a, d - c))
        return found


@dataclass(frozen=True)
class LastLevels:
    """The levels of the last sweep over a field: the next sweep often runs in the opposite order.

    Attributes:
        values: of the field then.
        chosen: bool[n], the vertices that took part.
        levels: the vertices of each level.
        lists: for each adjacency direction (see `Levels.lists`), by the identity of its pages.
    """

    values: NDArray[Any]
    chosen: NDArray[np.bool_]
    levels: Levels
    lists: dict[int, list[Lists]] = field(default_factory=dict)

    @staticmethod
    def of(values: NDArray[Any], chosen: NDArray[np.bool_], last: LastLevels | None) -> LastLevels:
        """The levels of the present values; `last` is returned if these have not changed."""
        if last is not None and np.array_equal(last.chosen, chosen) and np.array_equal(last.values, values):
            return last
        return LastLevels(values.copy(), chosen, Levels.of(values, chosen))


class ListedSweep:
    """A sweep whose passes run over the vertices of a level; a `vlang.runtime.engine.machine.Sweep`.

    last: the levels of the last sweep over each field, by name; updated.
    """

    def __init__(self, spec: SweepSpec, passes: Passes, last: dict[str, LastLevels]) -> None:
        arrays = passes.state.arrays
        values = arrays[f"field:{spec.field}"]
        chosen = finite(values)
        if spec.guard is not None:
            chosen &= arrays[spec.guard] != 0
        self._passes, self._up = passes, spec.up
        self._found = last[spec.field] = LastLevels.of(values, chosen, last.get(spec.field))
        self._levels = self._found.levels
        self._sent: dict[str, list[Lists]] = {}  # by pass: the vertices that have a message other than the identity

    @property
    def levels(self) -> Sequence[int]:
        """The values of the field, in the order of the sweep."""
        values: list[int] = self._levels.values.tolist()
        return values if self._up else values[::-1]

    def run_pass(self, stage: StageSpec, level: int) -> int:
        """Run a pass over the vertices of level number `level`; the edges traversed."""
        passes = self._passes
        lists = self._lists_for(stage.domain)
        number = level if self._up else len(lists) - 1 - level
        chosen = lists[number]
        if stage.senders is not None:
            self._send(stage, lists, int(self._levels.values[number]) + stage.senders)
        _, edges = passes.listed(stage, chosen)
        for name in stage.swaps:
            passes.per_field("exchange", name, chosen)
        return edges

    def _lists_for(self, domain: str | None) -> list[Lists]:
        """The lists of vertices, with the long ones of an adjacency direction apart."""
        pages = None if domain is None else self._passes.pages_of(domain)
        lists = self._found.lists
        if id(pages) not in lists:  # pages live as long as the passes
            lists[id(pages)] = self._levels.lists(pages)
        return lists[id(pages)]

    def _send(self, stage: StageSpec, lists: list[Lists], level: int) -> None:
        """Send the messages of the vertices of a level only: reset those that the last run of the pass sent."""
        values = self._levels.values
        at = int(np.searchsorted(values, level))
        senders = [lists[at]] if at < len(values) and values[at] == level else []
        before = self._sent.get(stage.name)
        if before is None:  # messages of earlier sweeps may be left, at unknown vertices
            self._passes.send_all(stage)
        else:
            for one in (*before, *senders):
                self._passes.send(stage, one)
        self._sent[stage.name] = senders
