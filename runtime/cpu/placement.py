"""The placement of the edges of a run: in memory if the edges fit into the budget, otherwise streamed from disk."""

from __future__ import annotations

import gc
import math
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

import numpy as np

from vlang.errors import OutOfMemory
from vlang.options import Options
from vlang.records import dataclass
from vlang.runtime.cpu.need import Need, need_of, watched_bytes, windowed_need
from vlang.runtime.cpu.paged.source import CONVERTED, converted
from vlang.runtime.cpu.passes.scratch import words_of
from vlang.runtime.cpu.ways.superstep import Supersteps
from vlang.runtime.cpu.ways.ways import WAYS
from vlang.runtime.engine.way import way_of
from vlang.runtime.graph.edges.shape import Shape
from vlang.runtime.graph.graph import Graph
from vlang.runtime.graph.topology.stored import StoredEdges
from vlang.runtime.plan.plan import SEGMENT, ForVerticesSpec, Plan, SweepSpec, every_step
from vlang.runtime.storage.available import default_budget, in_bytes, memory_option
from vlang.runtime.storage.ledger import ledger
from vlang.runtime.storage.memory import PAGE
from vlang.runtime.storage.reading.page_reader import PageReader
from vlang.runtime.storage.reading.ring import LEAST_BUFFERS, Ring
from vlang.runtime.storage.state.windows import Windows, writable_folder
from vlang.runtime.threads.processors import available_threads

__all__ = ["Placement", "directions", "page_sizes", "place"]

_PLENTY = 1 << 62  # bytes: the budget if the system does not report free memory
_MERGING = 14  # bytes per vertex, while in-edges and out-edges are merged to pages of both directions
_CUT = 48  # additional bytes per vertex of the part that is being merged
_SPARE = 64 << 10  # bytes of the small arrays of a run
_FEW_THREADS = 4  # with which kernels use all processors, while a disk of some GB/s delivers the next page


@dataclass(frozen=True)
class Placement:
    """The placement of the edges of a run.

    Attributes:
        streams: whether edges are streamed from disk; otherwise they are read into memory before the run.
        pages: bytes for buffers and cached pages if edges are streamed.
        largest: the size of the largest page in bytes.
        limit: the memory budget in bytes by which the placement was chosen.
        needed: the minimum budget in bytes for which the edges are placed in memory.
        text: one sentence about the placement, for the user.
        buffers: the maximum number of buffers in the ring; None for as many as are useful.
        windows: the folder with the files of arrays over vertices; None if these arrays are in memory.
        full: for a GPU, whether all loops run by full passes, because the tables of other ways do not fit.
        pushes: for a GPU, whether loops push in windows if possible, because the tables of other ways do not fit.
        own: whether a run that works ahead checks its pages itself (see `Ring`).
    """

    streams: bool
    pages: int
    largest: int
    limit: int
    needed: int
    text: str
    buffers: int | None = None
    windows: Path | None = None
    full: bool = False
    pushes: bool = False
    own: bool = True

    def ring(self, reader: PageReader) -> Ring:
        """Create the ring of buffers that delivers the pages. Raises OutOfMemory."""
        return Ring(reader, self.largest, self.pages, buffers=self.buffers, own=self.own)

    def held(self, n: int) -> Windows | None:
        """Create the windows for arrays over n vertices; returns None if these arrays are in memory."""
        return None if self.windows is None else Windows(self.windows, n)


def page_sizes(stored: StoredEdges, kinds: Iterable[str]) -> list[int]:
    """Return a list with the sizes in bytes of all pages of some directions. A final 0 keeps the list from being empty.
    """
    return [0, *(stored.nbytes(kind, page) for kind in kinds for page in range(stored.cuts(kind).count))]


def directions(plan: Plan, stored: StoredEdges, shape: Shape, options: Options) -> set[str]:
    """The adjacency directions whose pages a run may read.

    Args:
        plan: the program.
        stored: the edges.
        shape: the counts of the graph.
        options: the options of the run.
    """
    kinds, inside = set[str](), set[int]()
    for loop in plan.loops:
        kinds |= way_of(WAYS, loop, shape, options).streamed(loop, plan, options)
        inside |= {id(stage) for stage in loop.stages}
    kinds |= {kind for stage in plan.stages if id(stage) not in inside
              for kind in (stage.side, stage.notify) if kind is not None}
    return kinds if stored.directed or not kinds else {"in"}


def place(plan: Plan, graph: Graph, options: Options, beside: int = 0) -> Placement:
    """Choose the placement of the edges of a run. Only the header and the directories of the page file are read.

    Args:
        plan: the program.
        graph: a graph on disk.
        options: the options of the run. Without the option `memory`, and without another memory budget, the budget is
            80 % of the free memory.
        beside: bytes of the budget that arrays of other runs take at the same time.

    Raises OutOfMemory if the budget is too small even for streaming. The message contains the smallest sufficient
    budget.
    """
    stored = graph.stored
    assert stored is not None
    limit = min((limit for limit in (options.memory, ledger.limit) if limit is not None), default=None)
    limit = limit or default_budget() or _PLENTY
    here = graph.shape()
    kinds = directions(plan, stored, here, options)
    both = stored.directed and "both" in kinds
    merging = _MERGING * here.n + _CUT * min(here.n, 1 << 16) if both else 0
    threads = options.threads or available_threads()
    streamed, reading = _need(plan, here, options), max(page_sizes(stored, ("in",)))
    whole = _need(plan, replace(here, streamed=False, built=frozenset({"in"}), reading=reading), options).peak
    whole += _scratch(plan, _bounded_rows(stored), threads, here.n) + _SPARE + beside
    if _fits(whole, limit, graph):
        return Placement(False, 0, 0, limit, whole, f"edges in memory: {in_bytes(whole)} are needed")
    if merging > _free(limit, here):
        graph.order_to_file()
    if merging > _free(limit, here):  # the sizes of merged pages are not known before the merge
        most = streamed.peak + _SPARE + _merged_bytes(stored) + _scratch(plan, _bounded_rows(stored), threads) + beside
        others = limit - _free(limit, here)
        error = OutOfMemory(f"{plan.name} on {stored.name} needs {in_bytes(merging)} of memory to merge in-edges and "
                            f"out-edges, more to run, and the budget is {in_bytes(limit)}: give "
                            f"{memory_option(min(whole, max(merging, most)) + others)}")
        error.in_memory = whole + others
        raise error
    sizes = page_sizes(stored, kinds)
    largest = max(sizes)
    asked = f"{plan.name} on {stored.name} needs {in_bytes(whole)} of memory with its edges, "
    spare = max((stored.spare(kind) for kind in kinds), default=0)
    state = streamed.peak + _SPARE + spare + _converted(plan, stored) + beside
    state += _scratch(plan, lambda kind: _longest(stored, kind), threads)
    least = state + LEAST_BUFFERS * largest
    graph.unload()
    if _free(limit, here) < limit:
        gc.collect()  # adjacencies refer to each other, and would otherwise be freed late
    if _free(limit, here) < least:
        graph.order_to_file()
    free, windows, moved, refused = _free(limit, here), None, 0, ""
    if free < least:
        refused = _no_windows(plan, stored, here, options)
        in_windows = state if refused else state - streamed.peak + windowed_need(plan, here)
        if not refused and in_windows < state:
            windows, moved = Path(stored.path).parent, state - in_windows
            state, least = in_windows, in_windows + LEAST_BUFFERS * largest
    if free < least:
        others = limit - free
        taken = f", of which other arrays take {in_bytes(others)}" if others >= _SPARE else ""
        inside = f", in memory because {refused}" if refused else ""
        error = OutOfMemory(
            f"{asked}{in_bytes(least)} to stream them ({in_bytes(state)} for vertices{inside}), and the budget is "
            f"{in_bytes(limit)}{taken}: give {memory_option(min(least, whole) + others)}")
        error.in_memory = whole + others
        raise error
    pages = min(free - state, sum(sizes) + LEAST_BUFFERS * largest)
    lists = 28 * here.n if any(stage.notify is not None for stage in plan.stages) else 0
    if pages - lists >= 8 * largest:
        pages -= lists  # lists of vertices, with which passes over few vertices read fewer pages
    copies = 0 if windows is not None else watched_bytes(plan, here.n)
    if pages - copies >= 8 * largest:
        pages -= copies  # copies of the state, by which loops that repeat for ever are found
    stays = min(1.0, pages / max(1, sum(sizes)))
    text = (f"edges streamed from {stored.name}: {in_bytes(whole)} would be needed in memory, and the budget is "
            f"{in_bytes(limit)}; {in_bytes(pages)} for pages, so that {stays:.0%} of them stay there"
            f"{_sweep(plan, stored, pages)}")
    if windows is not None:
        text += f"; {in_bytes(moved)} for vertices are in a file in {windows}, and move with the pages"
    return Placement(True, pages, largest, limit, whole, text + (f"; {stored.note}" if stored.note else ""),
                     windows=windows, own=threads <= _FEW_THREADS)


def _no_windows(plan: Plan, stored: StoredEdges, shape: Shape, options: Options) -> str:
    """The reason why arrays over vertices cannot be kept in files (windows); "" if they can.

    Windows require full passes, because only full passes access the receivers in the order of the pages.
    """
    if options.mode not in ("auto", "pull") or options.asynchronous:
        return "how supersteps run was asked for"
    if any(isinstance(step, (SweepSpec, ForVerticesSpec)) for step in every_step(plan.steps)):
        return "a sweep lists vertices"
    if any(way_of(WAYS, loop, shape, options).name != Supersteps.name for loop in plan.loops):
        return "a loop reads vertices in any order"
    return "" if writable_folder(stored.path) else "the folder of the page file cannot be written"


def _sweep(plan: Plan, stored: StoredEdges, pages: int) -> str:
    """Return a clause for a message: how long a superstep of full passes in the longest loop reads from disk.

    The clause is "" if the read rate of the disk is unknown. `pages` is the size in bytes of the pages that stay in
    memory.
    """
    loops = [loop.stages for loop in plan.loops] or [plan.stages]
    sizes = [sum(_sizes(stored, stage.side) for stage in stages if stage.side is not None) for stages in loops]
    nbytes, rate = max(sizes, default=0), stored.rate(pages)
    if not nbytes or math.isinf(rate):
        return ""
    read = max(0, nbytes - pages)
    return f"; a full sweep reads {in_bytes(read)}, {read / rate:.2g} s at {in_bytes(int(rate))}/s"


def _sizes(stored: StoredEdges, kind: str) -> int:
    """The total size in bytes of all stored pages of an adjacency direction."""
    kinds = stored.kinds() if kind == "both" or not stored.directed else (kind,)
    return sum(stored.nbytes(one, page) for one in kinds for page in range(stored.cuts(one).count))


def _converted(plan: Plan, stored: StoredEdges) -> int:
    """The bytes of the converted columns of all pages that a pass converts at the same time."""
    most = 0
    for stage in plan.stages:
        width = converted(stored, stage.columns)
        if width and stage.side is not None:
            cuts = stored.cuts(stage.side if stored.directed else "in")
            together = CONVERTED
            if stage.structures and len(cuts.longs):
                last = cuts.segment_pages[cuts.longs[:, 2] - 1]
                together += int((last - cuts.segment_pages[cuts.longs[:, 1]]).max()) + 1
            most = max(most, width * together * int(np.diff(cuts.starts).max(initial=0)))
    return most


def _scratch(plan: Plan, longest: Callable[[str], int], threads: int, vertices: int = 0) -> int:
    """The bytes of the structures that hold all contributions of a vertex: one set of structures per worker.

    Args:
        plan: the program.
        longest: takes an adjacency direction, and returns the number of edges in its longest row.
        threads: the number of workers.
        vertices: the number of vertices if edges are in memory; 0 for streamed edges, which have no direct tables.
    """
    sides = [(stage.structures, stage.side) for stage in plan.stages if stage.structures and stage.side is not None]
    return sum(8 * threads * words_of(structures, longest(side), vertices) for structures, side in sides)


def _longest(stored: StoredEdges, kind: str) -> int:
    """Return an upper bound on the length of the longest row of an adjacency direction, derived from its pages."""
    cuts = stored.cuts(kind if stored.directed else "in")
    return SEGMENT * int((cuts.longs[:, 2] - cuts.longs[:, 1]).max(initial=1))


def _bounded_rows(stored: StoredEdges) -> Callable[[str], int]:
    """Like `_longest`, for each adjacency direction, without merging in-edges and out-edges."""
    def longest(kind: str) -> int:
        kinds = stored.kinds() if kind == "both" else (kind,)
        return sum(min(_longest(stored, one), int(stored.cuts(one).starts[-1])) for one in kinds)

    return longest


def _merged_bytes(stored: StoredEdges) -> int:
    """An upper bound on the bytes of a ring of merged pages, and of the buffers for merging single pages.

    A merged page is complete when it reaches the size of a page of the file, and always ends with a whole row.
    """
    largest = [max(page_sizes(stored, (kind,))) for kind in stored.kinds()]
    row = _bounded_rows(stored)("both") * (4 + sum(column.dtype.itemsize for column in stored.columns.values()))
    merged = sum(largest) + row
    offsets = 8 * min(stored.n + 1, merged // 4)
    return LEAST_BUFFERS * merged + 4 * (max(largest) + PAGE) + 4 * (merged + 2 * offsets)


def _fits(whole: int, limit: int, graph: Graph) -> bool:
    """Whether a run with its edges in memory fits into the budget. What can leave memory does so only if it must."""
    for leave in (gc.collect, graph.order_to_file):  # adjacencies refer to each other, and would be freed late
        if not _free(limit, graph.in_memory.shape()) < whole <= limit:
            break
        leave()
    return whole <= _free(limit, graph.in_memory.shape())


def _free(limit: int, held: Shape) -> int:
    """The bytes of a budget that are free or that this graph uses. Results of earlier runs may use the rest."""
    return limit if ledger.left is None else min(limit, ledger.left + held.held)


def _need(plan: Plan, shape: Shape, options: Options) -> Need:
    return need_of(plan, shape, options.threads or available_threads(),
                   lambda loop: way_of(WAYS, loop, shape, options), options.checkpoint is not None)
