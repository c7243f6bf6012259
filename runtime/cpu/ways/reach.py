"""Loops with a uniform frontier (rule X2) on the CPU, such as breadth-first search.

The frontier is a bitmap. A superstep over a wide frontier is either a push or a look. In a push (top-down), every
worker thread marks receivers in its own bitmap without atomic operations. After the push, the bitmaps of all workers
are united. In a look (bottom-up), every unreached vertex searches its in-edges for a neighbour in the frontier. While
the frontier is narrow, one call runs many supersteps with queues. The module vlang.runtime.plan.layouts.reach_words
defines the layout of the arrays that workers share.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from vlang.options import Options
from vlang.runtime.compile.objects import address_of
from vlang.runtime.cpu.paged.source import Streamed
from vlang.runtime.cpu.passes.freedoms import Freedoms
from vlang.runtime.cpu.passes.mode import should_look
from vlang.runtime.cpu.passes.passes import Passes
from vlang.runtime.cpu.ways.cpu_way import CpuWay, Running, only_new
from vlang.runtime.cpu.ways.frontier_loop import FrontierLoop
from vlang.runtime.cpu.ways.push import pushed_directions, pushes_refused
from vlang.runtime.cpu.ways.reach_room import ROWS, ReachRoom
from vlang.runtime.engine.machine import Loop, Start
from vlang.runtime.engine.trace import Done, Series
from vlang.runtime.graph.edges.shape import Counts, Shape
from vlang.runtime.plan.layouts.reach_words import (
    REACH_ACTIVE,
    REACH_AHEAD,
    REACH_COMING,
    REACH_CONTROL,
    REACH_CREW,
    REACH_CUT,
    REACH_DESKS,
    REACH_EDGES,
    REACH_FEW,
    REACH_FRONT,
    REACH_LEFT_EDGES,
    REACH_LEFT_OVER,
    REACH_LONG,
    REACH_LOOKED,
    REACH_MARKING,
    REACH_MOST,
    REACH_ONE,
    REACH_ROUNDS,
    REACH_SENDER,
    REACH_SUPERSTEPS,
    REACH_WORDS,
)
from vlang.runtime.plan.plan import LoopSpec, StageSpec
from vlang.types import OPPOSITE

__all__ = ["Reach", "ReachLoop"]

_NARROW = 1 << 14  # edges and vertices of a frontier below which queues are faster than bitmaps
_RUN = 32  # words of a bitmap in a task


class Reach(CpuWay):
    """Runs loops with a uniform frontier: the first active neighbour determines the value of a vertex (rule X2)."""

    name = "reach"
    modes = ("push",)

    def refused(self, loop: LoopSpec, graph: Counts, options: Options) -> str:
        """The reason why the loop cannot run with a uniform frontier; "" if it may."""
        return pushes_refused(loop, options) or (
            "" if "reach" in loop.stages[0].ways else "its frontier is not uniform")

    def roles(self, loop: LoopSpec, stage: StageSpec, options: Options) -> frozenset[str]:
        """The roles of the kernels that every run launches. Further roles depend on the width of the frontier."""
        return frozenset({"start", "narrow"})

    def directions(self, loop: LoopSpec) -> tuple[str, ...]:
        """The directions of the edges along which the frontier pushes, and along which unreached vertices search."""
        return (*super().directions(loop), *pushed_directions(loop))

    def memory(self, loop: LoopSpec, shape: Shape, threads: int) -> int:
        """The bytes of bitmaps. If the edges are in memory, the result includes queues, tables and, with several
        workers, one byte per vertex.
        """
        if shape.streamed:
            return (5 + threads) * shape.n // 8
        crew, narrow = min(threads, REACH_CREW), min(_NARROW + shape.n // 512, shape.n + 2 * shape.m + 1)
        bitmaps = (3 + threads) * shape.n // 8 + 16 * (shape.m // REACH_LONG)
        tables = 8 * (2 * ROWS + REACH_CONTROL + REACH_WORDS)
        return bitmaps + tables + crew * (8 * narrow + 32 * (narrow + REACH_AHEAD)) + (shape.n if crew > 1 else 0)

    def begin(self, loop: LoopSpec, machine: Running, bound: int | None, start: Start | None) -> Loop | None:
        """Begin the loop; returns None if vertices must run without new input, or if the checkpoint has no frontier.

        Without saved flags, the frontier cannot be distinguished from other reached vertices, because all of them have
        values.
        """
        if not only_new(start) or (start is not None and start.flags is None):
            return None
        passes, looks = machine.passes, machine.options.mode == "auto"
        free, flags = passes.freedoms.of(loop, bound), None if start is None else start.flags
        if isinstance(passes.source, Streamed):
            from vlang.runtime.cpu.ways.paged_reach import PagedReachLoop  # start-up

            return PagedReachLoop(loop.stages[0], passes, looks, free, flags)
        return ReachLoop(loop.stages[0], passes, looks, free, flags)

    def said(self, loop: LoopSpec) -> list[str]:
        """A line that says how the frontier reaches other vertices."""
        if loop.nested or not any("reach" in stage.ways for stage in loop.stages):
            return []
        return ["pushes: into bitmaps of the workers, or vertices not reached look for the frontier, whichever reads "
                "less (rule X2)"]


class ReachLoop(FrontierLoop):
    """A loop whose only pass has a uniform frontier; a `vlang.runtime.engine.machine.Loop`.

    Per vertex the loop needs a few bits of memory, and one more bit for each thread.

    Args:
        stage: the pass.
        passes: launches the pass.
        looks: whether unreached vertices may search for a neighbour in the frontier.
        free: the choices of the loop.
        start_flags: uint8[n], bit 0 is set for the vertices of the frontier at the start; None for all vertices with a
            value.
    """

    def __init__(
        self, stage: StageSpec, passes: Passes, looks: bool, free: Freedoms,
        start_flags: NDArray[np.uint8] | None = None,
    ) -> None:
        assert stage.domain is not None
        self._stage, self._passes, self._state = stage, passes, passes.state
        self._looks, self._free, self._start_flags = looks, free, start_flags
        graph, threads = passes.graph, passes.cpu.threads
        self._out, self._into = graph.adjacency(self._receivers(stage.domain)), graph.adjacency(stage.domain)
        self._words = -(-graph.n // 64)
        # No frontier of a small graph has more vertices and edges than the graph.
        self._narrow = min(_NARROW + graph.n // 512, graph.n + len(self._out) + 1)
        self._room = ReachRoom.taken(graph.n, self._out, self._into, threads, self._narrow)
        self._counts = self._room.counts
        self._sizes = self._of_graph(stage.domain)
        self._active, self._edges = self._sizes[0], 0  # vertices and edges of the frontier
        # An upper bound of the number of unreached vertices, and an estimate of the number of their edges.
        self._left, self._left_edges = self._sizes
        self._looked = False
        self._rounds = 0

    def advance(self, room: int | None) -> Sequence[Done]:
        """Run one superstep, or several in one call if few vertices are active."""
        rows: Sequence[Done]
        if self._rounds == 0:
            self._start()
        if self._looks and self._left == 0:
            self._active, rows = 0, [Done(0, "early-exit pull", 0)]
        elif self._active + self._edges < self._narrow and self._free.many():
            rows = self._few(room)
        else:
            rows = [self._look() if self._looks and self._should_look() else self._push()]
        self._rounds += len(rows)
        self._last = rows[-1]
        self._free.took("P" if self._last.mode == "push" else "X2")
        return rows

    def _should_look(self) -> bool:
        """Return whether unreached vertices search for a neighbour in the frontier in the next superstep."""
        looked = self._last.mode == "early-exit pull"
        return self._free.choose("", lambda: should_look(
            self._passes.costs, looked, *self._sizes, self._active, self._edges, self._left, self._left_edges))

    def _receivers(self, domain: str) -> str:
        """The direction of the edges from senders to receivers."""
        return OPPOSITE[domain]

    def _of_graph(self, domain: str) -> tuple[int, int]:
        """The numbers of vertices and of edges of the graph."""
        return self._passes.graph.n, len(self._out)

    # ------------------------------------------------------------------------------------------------ supersteps
    def _start(self) -> None:
        self._free.took("Z")
        self._launch("start", self._words, self._sizes[0], 0)
        if self._start_flags is None:
            self._found()
        else:
            self._front(np.flatnonzero(self._start_flags & 1))

    def _front(self, vertices: NDArray[np.int64]) -> None:
        """Take `vertices`, a part of the vertices with values, as the frontier.

        The rest of the vertices with values have pushed already.
        """
        reached, edges = self._counts[[REACH_ACTIVE, REACH_EDGES]].tolist()
        degrees = np.diff(self._out.offsets.view(np.int64))
        bits = np.zeros(64 * self._words, np.uint8)
        bits[vertices] = 1
        self._room.bits[0][:] = np.packbits(bits, bitorder="little").view(np.uint64)
        parts = [(part << 32) | v for v in vertices[degrees[vertices] > REACH_LONG].tolist()
                 for part in range(-(-int(degrees[v]) // REACH_LONG))]
        self._room.longs[: len(parts)] = parts
        self._counts[REACH_CUT], self._counts[REACH_ONE] = len(parts), vertices[0] if len(vertices) else 0
        self._active, self._edges = len(vertices), int(degrees[vertices].sum())
        self._left -= reached
        self._left_edges -= edges

    def close(self) -> None:
        """Keep the scratch memory for the next run on this graph."""
        self._room.give_back(self._out)

    def sync(self) -> NDArray[np.uint8]:
        """The frontier as flags, uint8[n]. The fields are up to date between supersteps."""
        return np.unpackbits(self._room.bits[0].view(np.uint8), bitorder="little")[: self._passes.graph.n]

    def _few(self, room: int | None) -> Series:
        """Run several narrow supersteps in one call, on one worker or on several workers that synchronise at barriers.
        """
        self._aim()
        cpu, several = self._passes.cpu, self._active + self._edges >= REACH_FEW
        control = self._room.control
        control[REACH_DESKS:] = 0
        control[REACH_ROUNDS] = min(ROWS, room or ROWS)
        control[REACH_MOST] = min(self._narrow, REACH_FEW) if cpu.threads > 1 and not several else self._narrow
        cost = len(self._out) + self._passes.graph.n if several else 0
        cpu.crew(self._passes.kernels[self._stage.kernels["narrow"]], (self._state.frame_address,), control, cost,
                 (self._room.table,), REACH_CREW)
        rows = Series("push", self._room.records[: self._counts[REACH_SUPERSTEPS]])
        self._found()
        self._left -= rows[:-1].active
        self._left_edges -= rows[1:].edges
        return rows

    def _push(self) -> Done:
        """Let workers mark the vertices that the frontier reaches, and then unite their bitmaps."""
        cut, edges = int(self._counts[REACH_CUT]), self._edges
        self._launch("mark", self._words, self._active + edges, cut, cut)
        self._launch("unite", self._words, self._words + min(self._left, edges), int(self._counts[REACH_MARKING]))
        self._swap()
        self._found()
        return Done(self._active, "push", edges)

    def _look(self) -> Done:
        """Let unreached vertices search for a neighbour in the frontier."""
        self._launch("early", self._words, self._words + self._left, int(not self._looked))
        self._looked = True
        self._swap()
        counts = self._found()
        self._left, self._left_edges = counts[[REACH_LEFT_OVER, REACH_LEFT_EDGES]].tolist()
        return Done(self._active, "early-exit pull", int(counts[REACH_LOOKED]))

    def _found(self) -> NDArray[np.int64]:
        """Take the vertices that were reached in this superstep as the next frontier; returns the counts of the
        superstep.
        """
        counts = self._counted()
        self._active, self._edges = counts[[REACH_ACTIVE, REACH_EDGES]].tolist()
        self._left -= self._active
        self._left_edges -= self._edges
        return counts

    def _counted(self) -> NDArray[np.int64]:
        """The counts of a superstep (REACH_COUNTS)."""
        return self._counts

    # ------------------------------------------------------------------------------------------------ launches
    def _launch(self, role: str, entries: int, cost: int, number: int, more: int = 0) -> None:
        """Launch a kernel over the words of bitmaps.

        Args:
            role: the role of the kernel.
            entries: the number of words.
            cost: the approximate number of edges and vertices that the launch processes.
            number: the second word of `tasks`; its meaning depends on the kernel.
            more: the number of additional tasks, which come before the tasks over words.
        """
        self._aim()
        self._room.tasks[:] = _RUN, number
        kernel = self._passes.kernels[self._stage.kernels[role]]
        self._passes.cpu.launch(kernel, (self._state.frame_address,), self._room.tasks, more - (-entries // _RUN), cost,
                                (self._room.table,))

    def _aim(self) -> None:
        """Prepare a launch: store addresses, clear counts, and choose any one vertex of the frontier as the sender.

        All vertices of a uniform frontier send the same value.
        """
        words, bits = self._room.words, self._room.bits
        words[REACH_SENDER] = self._counts.item(REACH_ONE)
        self._counts[:REACH_ONE] = 0
        words[REACH_FRONT], words[REACH_COMING] = address_of(bits[0]), address_of(bits[1])

    def _swap(self) -> None:
        """Let the bitmap that was found be the frontier."""
        bits = self._room.bits
        bits[0], bits[1] = bits[1], bits[0]
