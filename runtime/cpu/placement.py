"""Where the edges of a run are: read into memory if they fit into its budget, else streamed from disk."""

from __future__ import annotations

import gc
import math
import os
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from vlang.errors import OutOfMemory
from vlang.options import Options
from vlang.runtime.cpu.need import Need, need_of, windowed_need
from vlang.runtime.cpu.paged.source import CONVERTED, converted
from vlang.runtime.cpu.passes.scratch import words_of
from vlang.runtime.cpu.ways.superstep import Supersteps
from vlang.runtime.cpu.ways.ways import WAYS
from vlang.runtime.engine.way import way_of
from vlang.runtime.graph.edges.shape import Shape
from vlang.runtime.graph.graph import Graph
from vlang.runtime.graph.topology.stored import StoredEdges
from vlang.runtime.plan.plan import SEGMENT, ForVerticesSpec, Plan, SweepSpec, every_step
from vlang.runtime.storage.available import default_budget, in_bytes, size_option
from vlang.runtime.storage.ledger import ledger
from vlang.runtime.storage.page_reader import PageReader
from vlang.runtime.storage.ring import LEAST_BUFFERS, Ring
from vlang.runtime.storage.windows import Windows
from vlang.runtime.threads.processors import available_threads

__all__ = ["Placement", "page_sizes", "place"]

_PLENTY = 1 << 62  # bytes, on a system that does not say what it has free
_MERGING = 14  # bytes a vertex, while pages of both directions are cut
_CUT = 48  # bytes a vertex of the part that is cut, beside them
_SPARE = 64 << 10  # bytes of small arrays of a run


@dataclass(frozen=True)
class Placement:
    """Where the edges of a run are.

    Attributes:
        streams: whether they are read from disk as the run needs them.
        pages: bytes for pages, where they are streamed.
        largest: bytes of the largest page.
        limit: bytes of the budget that decided.
        needed: bytes with which the edges would be in memory.
        text: one sentence about it.
        buffers: buffers of the ring at most; None for as many as are useful.
        windows: the folder in which arrays over vertices are in a file; None for memory.
    """

    streams: bool
    pages: int
    largest: int
    limit: int
    needed: int
    text: str
    buffers: int | None = None
    windows: Path | None = None

    def ring(self, reader: PageReader) -> Ring:
        """The ring that delivers the pages. Raises OutOfMemory."""
        return Ring(reader, self.largest, self.pages, buffers=self.buffers)

    def held(self, n: int) -> Windows | None:
        """Holds the arrays over n vertices that move with the pages; None if all are in memory."""
        return None if self.windows is None else Windows(self.windows, n)


def page_sizes(plan: Plan, stored: StoredEdges) -> list[int]:
    """Bytes of every page that a plan may read."""
    return [0, *(stored.nbytes(kind, page) for kind in _kinds(plan, stored) for page in range(stored.cuts(kind).count))]


def _kinds(plan: Plan, stored: StoredEdges) -> set[str]:
    """The adjacency directions that a plan may read."""
    kinds = {kind for stage in plan.stages for kind in (stage.domain, stage.notify) if kind is not None}
    return kinds if stored.directed or not kinds else {"in"}


def place(plan: Plan, graph: Graph, options: Options) -> Placement:
    """Decide where the edges of a run are, from the header of the page file alone.

    Args:
        plan: the program.
        graph: a graph on disk.
        options: of the run; without `memory` and another budget in force, 80 % of what is free may be taken.

    Raises OutOfMemory if not even a stream of pages fits, with the least that would do.
    """
    stored = graph.stored
    assert stored is not None
    limit = min((limit for limit in (options.memory, ledger.limit) if limit is not None), default=None)
    limit = limit or default_budget() or _PLENTY
    here = graph.shape()
    both = stored.directed and "both" in _kinds(plan, stored)
    merging = _MERGING * here.n + _CUT * min(here.n, 1 << 16) if both else 0
    if merging > _free(limit, here):
        raise OutOfMemory(f"{plan.name} on {stored.name} needs {in_bytes(merging)} of memory to merge in-edges and "
                          f"out-edges, and the budget is {in_bytes(limit)}: give memory="
                          f"{size_option(merging + limit - _free(limit, here))}")
    sizes = page_sizes(plan, stored)
    largest, streamed = max(sizes), _need(plan, here, options)
    whole = _need(plan, replace(here, streamed=False, built=frozenset({"in"}), reading=largest), options).peak
    if whole <= _free(limit, graph.in_memory.shape()):
        text = f"edges in memory: {in_bytes(whole)} are needed"
        return Placement(False, 0, largest, limit, whole, text)
    asked = f"{plan.name} on {stored.name} needs {in_bytes(whole)} of memory with its edges, "
    spare = max((stored.spare(kind) for kind in _kinds(plan, stored)), default=0)
    state = streamed.peak + _SPARE + spare + _converted(plan, stored)
    state += _scratch(plan, stored, options.threads or available_threads())
    least = state + LEAST_BUFFERS * largest
    graph.unload()
    if _free(limit, here) < limit:
        gc.collect()  # adjacency lists refer to each other, and would stay for a while
    free, windows, moved = _free(limit, here), None, 0
    if free < least:
        refused = _no_windows(plan, stored, here, options)
        in_windows = state if refused else state - streamed.peak + windowed_need(plan, here)
        if not refused and in_windows < state:
            windows, moved = Path(stored.path).parent, state - in_windows
            state, least = in_windows, in_windows + LEAST_BUFFERS * largest
    if free < least:
        others = limit - free
        taken = f", of which other arrays take {in_bytes(others)}" if others else ""
        raise OutOfMemory(f"{asked}{in_bytes(least)} to stream them ({in_bytes(state)} for vertices), and the budget "
                          f"is {in_bytes(limit)}{taken}: give memory={size_option(min(least, whole) + others)}")
    pages = min(free - state, sum(sizes) + LEAST_BUFFERS * largest)
    lists = 28 * here.n if any(stage.notify is not None for stage in plan.stages) else 0
    if pages - lists >= 8 * largest:
        pages -= lists  # of passes over few vertices, which read fewer pages
    stays = min(1.0, pages / max(1, sum(sizes)))
    text = (f"edges streamed from {stored.name}: {in_bytes(whole)} would be needed in memory, and the budget is "
            f"{in_bytes(limit)}; {in_bytes(pages)} for pages, so that {stays:.0%} of them stay there"
            f"{_sweep(plan, stored, pages)}")
    if windows is not None:
        text += f"; {in_bytes(moved)} for vertices are in a file in {windows}, and move with the pages"
    return Placement(True, pages, largest, limit, whole, text + (f"; {stored.note}" if stored.note else ""),
                     windows=windows)


def _no_windows(plan: Plan, stored: StoredEdges, shape: Shape, options: Options) -> str:
    """Why arrays over vertices cannot be in a file that moves with the pages; "" if they can.

    Only full passes read and write receivers in the order of the pages.
    """
    if options.mode not in ("auto", "pull") or options.asynchronous:
        return "how supersteps run was asked for"
    if options.checkpoint is not None:
        return "a checkpoint copies the state"
    if any(isinstance(step, (SweepSpec, ForVerticesSpec)) for step in every_step(plan.steps)):
        return "a sweep lists vertices"
    if any(way_of(WAYS, loop, shape, options).name != Supersteps.name for loop in plan.loops):
        return "a loop reads vertices in any order"
    folder = os.path.dirname(stored.path)
    return "" if folder and os.access(folder, os.W_OK) else "the folder of the page file cannot be written"


def _sweep(plan: Plan, stored: StoredEdges, pages: int) -> str:
    """How long a superstep of full passes takes at the rate of the disk, in the longest loop; "" if it is not known.

    pages: bytes that stay in memory.
    """
    loops = [loop.stages for loop in plan.loops] or [plan.stages]
    sizes = [sum(_sizes(stored, stage.domain) for stage in stages if stage.domain is not None) for stages in loops]
    nbytes, rate = max(sizes, default=0), stored.rate(pages)
    if not nbytes or math.isinf(rate):
        return ""
    read = max(0, nbytes - pages)
    return f"; a full sweep reads {in_bytes(read)}, {read / rate:.2g} s at {in_bytes(int(rate))}/s"


def _sizes(stored: StoredEdges, kind: str) -> int:
    """Bytes of all pages of an adjacency direction, as they are on the disk."""
    kinds = stored.kinds() if kind == "both" or not stored.directed else (kind,)
    return sum(stored.nbytes(one, page) for one in kinds for page in range(stored.cuts(one).count))


def _converted(plan: Plan, stored: StoredEdges) -> int:
    """Bytes of the columns of the pages that a pass converts at the same time."""
    most = 0
    for stage in plan.stages:
        width = converted(stored, stage.columns)
        if width and stage.domain is not None:
            cuts = stored.cuts(stage.domain if stored.directed else "in")
            together = CONVERTED
            if stage.structures and len(cuts.longs):
                last = cuts.segment_pages[cuts.longs[:, 2] - 1]
                together += int((last - cuts.segment_pages[cuts.longs[:, 1]]).max()) + 1
            most = max(most, width * together * int(np.diff(cuts.starts).max(initial=0)))
    return most


def _scratch(plan: Plan, stored: StoredEdges, threads: int) -> int:
    """Bytes of the structures that hold all contributions of one vertex, for each worker."""
    total = 0
    for stage in plan.stages:
        if stage.structures and stage.domain is not None:
            cuts = stored.cuts(stage.domain if stored.directed else "in")
            longest = SEGMENT * int((cuts.longs[:, 2] - cuts.longs[:, 1]).max(initial=1))
            total += 8 * threads * words_of(stage.structures, longest)
    return total


def _free(limit: int, held: Shape) -> int:
    """Bytes of a budget that a run may take, with what its graph holds; results of earlier runs are no part of it."""
    return limit if ledger.left is None else min(limit, ledger.left + held.held)


def _need(plan: Plan, shape: Shape, options: Options) -> Need:
    return need_of(plan, shape, options.threads or available_threads(),
                   lambda loop: way_of(WAYS, loop, shape, options), options.checkpoint is not None)
