"""Passes over the graph. A stage is launched over all vertices, or over lists of the vertices that must run again."""

from __future__ import annotations

from dataclasses import field
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vlang.records import dataclass
from vlang.runtime.compile.objects import Kernels, address_of
from vlang.runtime.cpu.crew.launch import Cpu
from vlang.runtime.cpu.paged.source import PageSource, Streamed
from vlang.runtime.cpu.paged.work import Tasks, by_page, by_row, in_windows, release, works_ahead
from vlang.runtime.cpu.passes.blocking import Blocked, Trial, blocks_fit, choose_blocks, never_blocks, nothing_later
from vlang.runtime.cpu.passes.edge_costs import Costs, costs_of
from vlang.runtime.cpu.passes.freedoms import PLAIN, Freedoms
from vlang.runtime.cpu.passes.fused_work import Ahead
from vlang.runtime.cpu.passes.lists import Lists, long_tasks, one_each, short_tasks, split_flags
from vlang.runtime.cpu.passes.pointed import Pointed
from vlang.runtime.cpu.passes.receivers import Receivers
from vlang.runtime.cpu.passes.scratch import Scratch, whole_tasks
from vlang.runtime.cpu.passes.script import row_kernel
from vlang.runtime.cpu.passes.traced import traced
from vlang.runtime.engine.machine import Stats
from vlang.runtime.engine.state import DTYPES, State
from vlang.runtime.graph.graph import Graph
from vlang.runtime.graph.topology.blocks import Blocks
from vlang.runtime.graph.topology.pages import PageCuts, Pages, vertex_tasks
from vlang.runtime.kernels import frontier_kernels
from vlang.runtime.plan.layouts.pass_words import STATS_WORKERS
from vlang.runtime.plan.plan import (
    BLOCK,
    BLOCK_MOST,
    SLOT_LIST,
    SLOT_LISTED,
    SLOT_LONGS,
    SLOT_PAGES,
    SLOT_SCRATCH,
    SLOT_SEGMENTS,
    SLOT_STATS,
    Fold,
    StageSpec,
    pointer_of,
)

__all__ = ["Passes"]


@dataclass
class Passes:
    """Launches stages on one graph, over batches of pages that are in memory at the same time.

    Attributes:
        graph: the graph.
        state: the arrays of the run.
        kernels: the kernels of the plan.
        cpu: launches kernels on all threads.
        source: the source of the pages.
        tables: the page tables that kernels read, by name of a stage or adjacency direction.
        blocks: the cache blocks of each stage that runs over cache blocks, by name of the stage.
        scratch: scratch memory of the workers, by name of the stage.
        switching: "measured" or "published" costs, as in Options.
        freedoms: the choices of the run.
    """

    graph: Graph
    state: State
    kernels: Kernels
    cpu: Cpu
    source: PageSource
    tables: dict[str, NDArray[np.uint64]] = field(default_factory=dict)
    blocks: dict[str, Blocked] = field(default_factory=dict)
    scratch: dict[str, Scratch] = field(default_factory=dict)
    switching: str = "measured"
    freedoms: Freedoms = PLAIN

    def __post_init__(self) -> None:
        self.pointed = Pointed(self.graph, self.state, self.cpu.threads)
        self._stats, self._total = np.zeros(3, np.int64), np.zeros(1, np.int64)
        self.counts_at = address_of(self._stats)
        self.by_vertex = vertex_tasks(self.graph.n, 4 * BLOCK)
        self._aims: dict[str, tuple[NDArray[np.uint64], PageCuts, tuple[int, int, int]]] = {}
        self.vertices = 0, self.graph.n  # the first vertex over which passes run, and the last one plus 1
        self.bound = self.graph.n  # all values of type vertex are less than this number
        self.ahead, self.later = Ahead(self.state), nothing_later

    @cached_property
    def by_block(self) -> NDArray[np.int64]:
        """The tasks of folds and of fused work: one task per block of vertices."""
        return vertex_tasks(self.graph.n, BLOCK)

    @cached_property
    def costs(self) -> Costs | None:
        """The edge costs that loops compare (vlang.runtime.cpu.passes.mode); None for the published rules."""
        return None if self.switching == "published" else costs_of(self.graph.m)

    def pages_of(self, kind: str) -> PageCuts:
        """The pages of an adjacency direction, or the pages of the lists of vertices that point at each vertex."""
        return self._source_of(kind).pages(kind)

    def _source_of(self, kind: str) -> PageSource:
        return self.pointed if pointer_of(kind) else self.source

    def use_blocks(self, stage: StageSpec, asked: str, coming: int | None) -> None:
        """Run full passes of a stage over cache blocks from now on, if blocks are faster and fit in memory."""
        asked = self.freedoms.blocking(asked)
        if asked == "never":
            self.by_rows(stage)
        if "blocked" not in stage.kernels or stage.name in self.blocks or stage.domain is None:
            return
        pages = self.pages_of(stage.domain)
        if not isinstance(pages, Pages) or never_blocks(asked, pages.edges):  # the edges may not be in memory
            return
        swept: list[int] = pages.adjacency.derived("sweeps", lambda: [0])  # counted over all runs
        there = pages.adjacency.made("blocks")
        room = blocks_fit(stage, pages, self.state.plan, self.cpu.threads, there, self.later)
        if choose_blocks(asked, pages.edges, there, swept[0], coming) and room:
            made: Blocks = pages.adjacency.derived("blocks", lambda: Blocks.cut(pages, self.cpu.threads, self.vertices))
            adjacency = self.graph.adjacency(stage.domain, tuple(name for name, _ in stage.columns))
            columns = [made.column(adjacency, name, DTYPES[dtype]) for name, dtype in stage.columns]
            key = ("trial", asked, stage.name, hash(self.state.plan.text), self.cpu.threads)
            trial: Trial = pages.adjacency.derived(key, lambda: Trial(asked))
            self.blocks[stage.name] = Blocked(made.table(columns), made.tasks, columns, trial)
            self.state.allocate("blocked", f"kept:{stage.name}.", BLOCK_MOST * self.cpu.threads)
        swept[0] += 1

    def by_rows(self, stage: StageSpec) -> None:
        """Run the full passes of a stage over rows from now on."""
        self.blocks.pop(stage.name, None)

    def _table(self, stage: StageSpec) -> NDArray[np.uint64]:
        """The page table of a stage, with the columns that the stage reads."""
        if stage.pointer:
            return self.pointed.table(stage.domain or "", ())
        if stage.name not in self.tables:
            self.tables[stage.name] = self.source.table(stage.domain or "in", stage.columns)
        return self.tables[stage.name]

    # ------------------------------------------------------------------ full passes
    @traced("full")
    def full(self, stage: StageSpec, fused: bool = False) -> tuple[Stats, int]:
        """Run a stage over all vertices, with its fused work if `fused` is true.

        Returns the counts and the number of edges traversed.
        """
        self.pointed.follow(stage.pointer)
        if stage.domain is not None and stage.name not in self.blocks and not stage.stores and self.freedoms.as_list():
            return self.some(stage, every := np.arange(self.graph.n), every)
        self.state.words[SLOT_LISTED], self.state.words[SLOT_STATS] = 0, self.counts_at
        self._stats.fill(0)
        self.send_all(stage)
        if not fused or stage.fused is None:
            self.ahead.clear()
            return self._counted(self._everywhere(stage))
        inside = self.ahead.inside(stage, self.later)
        self.ahead.aim(stage, inside)
        edges = self._everywhere(stage)
        if not inside:
            self.run_fused(stage, self.ahead.frame)
        self.ahead.arrived(stage, inside)
        return self._counted(edges)

    def run_fused(self, stage: StageSpec, frame: NDArray[np.uint64]) -> None:
        """Run the kernel with the fused work after a stage. The frame of this kernel has the state after the stage."""
        assert stage.fused is not None
        self._in_windows(stage.fused.kernel, self.by_block, frame)

    def begin(self, stage: StageSpec) -> None:
        """Run the kernel with the fused work of a stage before the first superstep, as if the stage had just run."""
        if stage.fused is not None:
            self.run_fused(stage, self.state.frame)
            self.ahead.arrived(stage, False)

    def _everywhere(self, stage: StageSpec) -> int:
        """Launch a stage over all vertices; returns the number of edges traversed. The messages must be up to date."""
        if stage.domain is None:
            self._in_windows(stage.kernels["compute"], self.by_vertex)
            return 0
        edges = (pages := self.pages_of(stage.domain)).edges
        self.aim(stage, pages)
        if stage.structures:
            self._whole(stage, pages, np.arange(len(pages.longs)), pages.tasks, edges + self.graph.n)
            self.state.turn(stage.stores)
            return edges
        blocks = self.blocks.get(stage.name)
        if blocks is None:
            self._by_page(stage, stage.kernels["pull"], pages.tasks, pages.segment_tasks, edges + self.graph.n)
        else:
            with blocks.trial.sweep() as by_blocks:
                tasks = blocks.tasks if by_blocks else pages.tasks
                if by_blocks:
                    self.state.point(SLOT_PAGES, blocks.table)
                self._launch(stage.kernels["blocked" if by_blocks else "pull"], tasks, len(tasks), edges + self.graph.n)
            self.aim(stage, pages)
            self._by_page(stage, "", pages.tasks[:0], pages.segment_tasks, edges)
        if len(pages.longs):
            tasks = vertex_tasks(len(pages.longs), 64)
            self._launch(stage.kernels["finish"], tasks, len(tasks), len(pages.segments))
        self.state.turn(stage.stores)
        return edges

    def _by_page(self, stage: StageSpec, kernel: str, tasks: Tasks, segments: Tasks, cost: int) -> None:
        """Launch `kernel` over `tasks`, and the kernel for segments over `segments`, one batch of pages at a time."""
        assert stage.domain is not None
        source = self.pointed if stage.pointer else self.source
        if not isinstance(source, Streamed) and self.state.windows is None and not len(segments):
            if len(tasks):
                self._launch(kernel, tasks, len(tasks), cost)
            return
        every, table = max(1, len(tasks) + len(segments)), self._table(stage)
        ahead = works_ahead(source, stage.columns, self.state.windows, self.cpu.threads)
        try:
            for short, long in by_page(source, stage.domain, stage.columns, table, tasks, segments, ahead=ahead):
                self.cpu.complete()
                part = cost * (len(short) + len(long)) // every
                if len(long):
                    self._launch(stage.kernels["segments"], long, len(long), part)
                if len(short):
                    self._launch(kernel, short, len(short), part, ahead=ahead)
                release(self.state.windows, short)
        finally:
            self.cpu.complete()

    def _whole(self, stage: StageSpec, pages: PageCuts, longs: NDArray[np.int64], tasks: Tasks, cost: int) -> None:
        """Run a pass whose reduction cannot be split: one worker processes all contributions of a vertex.

        `longs` has the indices of the long vertices in increasing order. `tasks` cover the short vertices.
        """
        assert stage.domain is not None
        scratch = self.scratch.get(stage.name)
        if scratch is None:
            longest, n = int(self.degrees(stage.domain).max(initial=0)), self.bound if isinstance(pages, Pages) else 0
            scratch = self.scratch[stage.name] = Scratch(stage.structures, pages, longest, n, self.cpu.threads)
        self.state.point(SLOT_SCRATCH, scratch.header)
        for some, short in by_row(self.source, stage.domain, stage.columns, self._table(stage), longs, tasks):
            self._stats[STATS_WORKERS] = 0
            chosen = whole_tasks(pages, some, short)
            self._launch(stage.kernels["pull"], chosen, len(chosen), cost)

    def degrees(self, kind: str) -> NDArray[Any]:
        """The lengths of the rows of an adjacency direction."""
        cuts = self.pages_of(kind)
        return np.asarray(np.diff(cuts.adjacency.offsets) if isinstance(cuts, Pages) else self.graph.row_lengths(kind))

    def receivers(self, kind: str) -> Receivers | None:
        """The rows of a direction in classes of length; None if this process does not hold all rows of the graph."""
        rows = self.graph.row_lengths
        found: Receivers = self.graph.adjacency(kind).derived("receivers", lambda: Receivers.of(rows(kind)))
        return found

    def _degrees_of(self, kind: str, vertices: NDArray[np.int64]) -> NDArray[Any]:
        """The lengths of the rows of some vertices in an adjacency direction."""
        if not isinstance(pages := self.pages_of(kind), Pages):
            return np.asarray(self.graph.row_lengths(kind)[vertices])
        return pages.adjacency.offsets[vertices + 1] - pages.adjacency.offsets[vertices]

    def aim(self, stage: StageSpec, pages: PageCuts) -> tuple[int, int, int]:
        """Store the addresses of a stage's page table, segments and long vertices in the frame; returns them."""
        table, words, known = self._table(stage), self.state.words, self._aims.get(stage.name)
        if known is None or known[0] is not table or known[1] is not pages:
            addresses = address_of(table), address_of(pages.segments), address_of(pages.longs)
            known = self._aims[stage.name] = table, pages, addresses
        words[SLOT_PAGES], words[SLOT_SEGMENTS], words[SLOT_LONGS] = known[2]
        return known[2]

    def _in_windows(self, kernel: str, tasks: Tasks, frame: NDArray[np.uint64] | None = None) -> None:
        """Launch a kernel over all vertices, in the order of `tasks`, with the frame of the state by default."""
        for part, cost in in_windows(self.state.windows, tasks, self.graph.n):
            self._launch(kernel, part, len(part), cost, frame)

    def _launch(self, kernel: str, tasks: Tasks, count: int, cost: int,
                frame: NDArray[np.uint64] | None = None, ahead: bool = False) -> None:
        run = self.cpu.begin if ahead else self.cpu.launch
        run(self.kernels[kernel], (self.state.frame_address if frame is None else frame,),
            self.freedoms.tasks(tasks, count), count, cost)

    def _counted(self, edges: int) -> tuple[Stats, int]:
        return Stats(*self._stats.tolist()[:2]), edges

    def fold(self, fold: Fold) -> None:
        """Reduce over vertices to one partial result per block, unless fused work has already run the reduction."""
        if fold.kernel not in self.ahead:
            self._in_windows(fold.kernel, self.by_block)

    # --------------------------------------------------------------- listed passes
    def some(self, stage: StageSpec, vertices: NDArray[Any], fresh: NDArray[Any]) -> tuple[Stats, int]:
        """Update the messages of `fresh`, and run the stage over `vertices`; returns the counts and number of edges."""
        self.pointed.follow(stage.pointer)
        if "messages" in stage.kernels:
            self.send(stage, Lists(fresh.astype(np.uint32), *(np.zeros(0, np.uint32),) * 2, shorts=len(fresh)))
        table = np.zeros(0, np.int64) if stage.domain is None else self.pages_of(stage.domain).longs[:, 0]
        far = np.isin(vertices, table)
        short, long = vertices[~far].astype(np.uint32), vertices[far]
        return self.listed(stage, Lists(short, np.searchsorted(table, long).astype(np.uint32), long.astype(np.uint32),
                                        len(short), len(long)))

    def aimed(self, stage: StageSpec) -> NDArray[np.uint64]:
        """Return a separate frame for launches of a stage over lists; the counts of these launches are not read."""
        self.ahead.clear()
        self.state.point(SLOT_STATS, self._stats)
        if stage.domain is not None:
            self.aim(stage, self.pages_of(stage.domain))
        frame = self.state.frame.copy()
        frame[SLOT_LISTED] = 1
        return frame

    @traced("listed")
    def listed(self, stage: StageSpec, lists: Lists) -> tuple[Stats, int]:
        """Run the stage over listed vertices with up-to-date messages; returns the counts and the number of edges."""
        self.ahead.clear()
        self.pointed.follow(stage.pointer)
        self._stats[:] = 0
        self.state.point(SLOT_STATS, self._stats)
        self.state.frame[SLOT_LISTED] = 1
        if stage.domain is None:
            return self._listed_vertices(stage, lists)
        pages = self.pages_of(stage.domain)
        self.aim(stage, pages)
        tasks, edges = self._short_tasks(stage.domain, lists)
        self.state.point(SLOT_LIST, lists.short)
        if stage.structures:
            longs = lists.long[: lists.longs].astype(np.int64)
            edges += int(self._degrees_of(stage.domain, pages.longs[longs, 0]).sum())
            self._whole(stage, pages, longs, tasks, edges + lists.shorts)
            return self._counted(edges)
        segments, long_edges = long_tasks(pages, lists)
        kernel = stage.kernels.get("listed", stage.kernels["pull"])
        self._by_page(stage, kernel, tasks, segments, edges + lists.shorts + long_edges)
        if lists.longs:
            self.state.point(SLOT_LIST, lists.long)
            finish = vertex_tasks(lists.longs, 64)
            self._launch(stage.kernels["finish"], finish, len(finish), lists.longs)
        return self._counted(edges + long_edges)

    def _listed_vertices(self, stage: StageSpec, lists: Lists) -> tuple[Stats, int]:
        """Run a stage that reads no edges over listed vertices. All listed vertices are in the list `short`."""
        self.state.point(SLOT_LIST, lists.short)
        self._launch(stage.kernels["compute"], tasks := vertex_tasks(lists.shorts, 4 * BLOCK), len(tasks), lists.shorts)
        return self._counted(0)

    def _short_tasks(self, kind: str, lists: Lists) -> tuple[Tasks, int]:
        """Tasks over the listed vertices with short rows, and the number of their edges."""
        pages = self.pages_of(kind)
        if self.freedoms.reordered(lists.short[: lists.shorts]):
            vertices = lists.short[: lists.shorts].astype(np.int64)
            return one_each(pages, vertices), int(self._degrees_of(kind, vertices).sum())
        return short_tasks(pages, lists, partial(self.graph.row_lengths, kind), self._total)

    def send_all(self, stage: StageSpec) -> None:
        """Compute the messages of all vertices, unless fused work has already computed them."""
        if "messages" in stage.kernels and stage.kernels["messages"] not in self.ahead:
            self.state.frame[SLOT_LISTED] = 0
            self._in_windows(stage.kernels["messages"], self.by_vertex)

    def send(self, stage: StageSpec, lists: Lists) -> None:
        """Compute the messages of listed vertices."""
        if "messages" not in stage.kernels:
            return
        self.state.frame[SLOT_LISTED] = 1
        for vertices, count in ((lists.short, lists.shorts), (lists.long_vertices, lists.longs)):
            tasks = vertex_tasks(count, 4 * BLOCK)
            self.state.point(SLOT_LIST, vertices)
            self._launch(stage.kernels["messages"], tasks, len(tasks), count)

    def reached(self, flags: NDArray[np.uint8], kind: str) -> int:
        """The number of edges, in one adjacency direction, of the vertices with bit 0 in their flags."""
        return frontier_kernels()["reached"](flags, self.graph.n, self.graph.row_lengths(kind))

    def split(
        self, flags: NDArray[np.uint8], bit: int, pages: PageCuts, lists: Lists, marks: NDArray[np.uint8]
    ) -> None:
        """Write flagged vertices to lists; arguments as for `split_flags`."""
        split_flags(flags, bit, pages, lists, marks)

    def notify(self, kind: str, lists: Lists, marks: NDArray[np.uint8]) -> int:
        """Mark the neighbours of listed vertices in one adjacency direction; returns the number of edges traversed."""
        pages, kernels = self.pages_of(kind), frontier_kernels()
        table = self.tables.get(kind)
        if table is None:
            table = self.tables[kind] = self.source.table(kind, ())
        tasks, edges = self._short_tasks(kind, lists)
        segments, more = long_tasks(pages, lists)
        cost = edges + lists.shorts + more
        for short, long in by_page(self.source, kind, (), table, tasks, segments):
            self.cpu.launch(kernels["notify_vertices"], (table, lists.short), short, len(short), cost, (marks,))
            if len(long):
                self.cpu.launch(kernels["notify_segments"], (table, pages.segments), long, len(long), cost, (marks,))
        edges += more
        self.freedoms.notify(marks[: self.graph.n])
        return edges

    def per_field(self, action: str, field_name: str, lists: Lists) -> None:
        """Swap or copy the values of listed vertices between the buffers of a field (action "exchange" or "copy")."""
        made = row_kernel(self.state.arrays, self.graph.n, action, field_name)
        kernel = frontier_kernels()[made.name]
        for vertices, count in ((lists.short, lists.shorts), (lists.long_vertices, lists.longs)):
            kernel(*made.arrays, vertices, count, made.width)
