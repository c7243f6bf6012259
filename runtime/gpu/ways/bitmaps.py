"""Runs a loop with a single pass that pushes. Bitmaps replace the queues, which do not fit into memory.

The current frontier and the next frontier are bitmaps of n bits each. A queue has room for one part of a frontier. The
vertices of a part are queued, sorted by page, and pushed before the next part is queued. A superstep therefore reads
only the pages of its frontier. `PushLoop` reads the same pages, but needs three queues of n entries.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from vlang.options import Options
from vlang.runtime.engine.machine import Done, Loop, Start, Stats
from vlang.runtime.gpu.device.device import Stream
from vlang.runtime.gpu.kernels.sparse_layout import CHUNK, FROM_NOTIFY, FROM_START, MODES, NEVER, TABLE, desk_bytes
from vlang.runtime.gpu.passes.gpu_frontier import Arena, Control, table_words
from vlang.runtime.gpu.passes.sparse import SliceWork, SparseMachine
from vlang.runtime.gpu.topology.sides import Side
from vlang.runtime.gpu.ways.counted_loop import CountedLoop
from vlang.runtime.gpu.ways.push_costs import ON_H200, Costs
from vlang.runtime.gpu.ways.pushing import PushWay, is_uniform
from vlang.runtime.gpu.ways.way import Key
from vlang.runtime.graph.graph import Graph
from vlang.runtime.plan.plan import THREADS, LoopSpec, StageSpec
from vlang.types import OPPOSITE

if TYPE_CHECKING:
    from vlang.runtime.gpu.gpu_machine import GpuMachine

__all__ = ["BitmapLoop", "BitmapWay", "bitmap_kernels", "part_size"]

_PARTS = 16  # parts of the vertices; a queue for one part takes about 1/16 of the memory of a queue for all vertices
_BLOCKS = 8  # blocks per multiprocessor


class BitmapWay(PushWay):
    """Rule P for short memory: a superstep follows the edges of the active vertices, which are marked in a bitmap."""

    name = "bitmap push"
    given_up = 3
    spare = True
    modes: tuple[str, ...] = ()

    def refused(self, loop: LoopSpec, graph: Graph | None, options: Options) -> str:
        """Return the reason why a loop cannot push with bitmaps; "" if it can."""
        if options.mode != "auto":
            return "another mode was requested"
        (stage, *others) = loop.stages
        cells = not others and stage.gpu is not None and stage.gpu.push == "cells"
        return super().refused(loop, graph, options) or ("contributions are pushed to cells" if cells else "")

    def pulls(self, loop: LoopSpec, options: Options) -> bool:
        """Return whether supersteps may be full passes."""
        return True

    def sizes(self, loop: LoopSpec, n: int, sides: Mapping[str, Side]) -> Iterator[Mapping[str, int]]:
        """Yield the sizes in bytes of the bitmaps and of the queue of a part."""
        (stage,) = loop.stages
        yield _sizes(n, len(sides[OPPOSITE[stage.domain or "in"]]))

    def kernels(self, loop: LoopSpec, machine: GpuMachine) -> Iterator[Key]:
        """Yield the kernels of the loop."""
        yield from bitmap_kernels(loop.stages[0])

    def begin(self, loop: LoopSpec, machine: GpuMachine, bound: int | None, start: Start | None) -> Loop:
        """Begin the loop. Every vertex is active in the first superstep."""
        return BitmapLoop(machine, loop.stages[0], ON_H200.on(machine.passes.rates))


def bitmap_kernels(stage: StageSpec) -> list[Key]:
    """Return the kernels (template, struct, constants) that a `BitmapLoop` launches."""
    gpu = stage.gpu
    assert gpu is not None
    found: list[Key] = [("queue_bits", "", ()), ("mark_queue", "", ()), ("sort_queue", "", ()),
                        ("end_superstep", "", ()), ("begin_bits", gpu.struct, (FROM_START,)),
                        ("push_part", gpu.struct, ())]
    if stage.notify is not None and not is_uniform(stage):
        found.append(("begin_bits", gpu.struct, (FROM_NOTIFY,)))
    return [*found, ("send_part", gpu.struct, ())] if "messages" in stage.kernels else found


def part_size(n: int) -> int:
    """Return the number of vertices of a part, a multiple of 32."""
    return 32 * max(1, -(-n // (32 * _PARTS)))


def _room(n: int, edges: int) -> int:
    """Return the capacity of the queue in entries, which suffices for any `part_size(n)` vertices."""
    return part_size(n) + edges // CHUNK


def _sizes(n: int, edges: int) -> dict[str, int]:
    """Return the size in bytes of each piece of memory that a `BitmapLoop` allocates for n vertices, by name.

    `edges` is the number of edges along which the pass pushes.
    """
    bits, queue = 4 * -(-n // 32), 8 * _room(n, edges)
    return {"bits[0]": bits, "bits[1]": bits, "queue": queue, "sorted": queue, "entries": 8,
            "control": Control.bytes(1), "table": 8 * len(TABLE)}


class BitmapLoop(CountedLoop):
    """A loop with a single pass that pushes (see `BitmapWay`). Implements `vlang.runtime.engine.machine.Loop`.

    The host runs one superstep at a time, without priorities and without early exit. A superstep is a full pass if a
    full pass is cheaper and records which vertices it changes.

    Attributes:
        counts_edges: whether kernels count the edges of frontiers; full passes require this count.

    Args:
        machine: the machine of the run.
        stage: the pass; it pushes directly to the field.
        costs: the costs that decide when a full pass is cheaper.

    Raises:
        OutOfMemory: there is no memory for the bitmaps and the queue.
    """

    counts_edges: ClassVar[bool] = True

    def __init__(self, machine: SparseMachine, stage: StageSpec, costs: Costs) -> None:
        assert stage.gpu is not None
        assert stage.domain is not None
        self._machine, self._stage, self._struct = machine, stage, stage.gpu.struct
        self._kind = OPPOSITE[stage.domain]
        self._out = out = machine.sparse_topology(self._kind, stage)
        returns = stage.notify is not None and not is_uniform(stage) and self.counts_edges
        self._full_from = out.edges * costs.full // costs.push + 1 if returns else NEVER  # edges of a frontier
        n = machine.n
        self._arena = Arena(machine.device, _sizes(n, out.edges), f"the bitmaps of {n:,} vertices")
        self._control = Control(machine.device, self._arena["control"], 1)
        words = {"vertices": n, "rows": out.rows, "pages": out.pages, "offsets": out.offsets,
                 "edges": out.edges if self.counts_edges else 0, "records": self._control.records}
        words |= {name: self._arena[name] for name in ("bits[0]", "bits[1]", "control")}
        machine.device.upload(self._arena["table"], table_words(words))
        self._blocks = _BLOCKS * machine.device.info.multiprocessors
        self._begun = False
        machine.in_place(stage, True)

    def advance(self, room: int | None) -> Sequence[Done]:
        """Run one superstep."""
        if not self._begun:
            self._begun = True
            self._control.start({})
            self._frontier(FROM_START)
        now = f"counts[{self._control['step'] % 3}]"
        active, edges = int(self._control[f"{now}.active"]), int(self._control[f"{now}.edges"])
        if not active:
            self._stats, self._done = Stats(), Done(0, MODES[0], 0)
        else:
            self._done = self._full() if edges >= self._full_from else self._push(active, edges)
        return [self._done]

    def close(self) -> None:
        """Free the memory, and restore the second buffers of the fields."""
        self._machine.in_place(self._stage, False)
        self._arena.close()

    # --------------------------------------------------------------------------------------------------- launches
    def _launch(
        self, template: str, struct: str, constants: tuple[int, ...], args: tuple[int, ...],
        stream: Stream | None = None, warps: int | None = None,
    ) -> None:
        blocks = self._blocks if warps is None else max(1, min(self._blocks, -(-32 * warps // THREADS)))
        self._machine.launch(template, struct, constants, blocks, args, shared=desk_bytes(THREADS), stream=stream)

    def _frontier(self, origin: int) -> None:
        """Write the bitmap of the next superstep, and fetch the numbers of its vertices and edges."""
        self._arena.fill("bits[0]")
        self._arena.fill("bits[1]")
        self._launch("begin_bits", self._struct, (origin,), (self._machine.frame, self._arena["table"]))
        self._control.fetch()

    def _parts(self, active: int, edges: int) -> Iterator[tuple[int, int]]:
        """Yield the ranges (first, end) of vertices that are queued together; one range if the queue has room for all
        vertices.
        """
        n = self._machine.n
        size = n if active + edges // CHUNK <= _room(n, self._out.edges) else part_size(n)
        return ((first, min(first + size, n)) for first in range(0, n, size))

    def _push(self, active: int, edges: int) -> Done:
        """Push from a frontier of `active` vertices, which have `edges` edges."""
        for first, end in self._parts(active, edges):
            self._push_part(first, end)
        return self._ended(edges)

    def _push_part(self, first: int, end: int) -> None:
        """Push from the vertices `first` to `end` - 1 of the frontier; `first` is a multiple of 32, and `end` is a
        multiple of 32 or the number of vertices.
        """
        arena = self._arena
        queue, entries = arena["queue"], arena["entries"]
        arena.fill("entries")
        self._launch("queue_bits", "", (), (arena["table"], first, end, queue, entries))
        if "messages" in self._stage.kernels:
            self._launch("send_part", self._struct, (), (self._machine.frame, queue, entries))
        self._push_queue()

    def _ended(self, edges: int) -> Done:
        """End a superstep. `edges` is the number of edges of its frontier, unless kernels count these edges."""
        machine = self._machine
        machine.launch("end_superstep", "", (), 1, (self._arena["table"],), threads=32)
        (active, changed, counted, _), = self._control.fetch().tolist()
        self._stats = Stats(changed, active)
        edges = counted if self.counts_edges else edges
        if self._out.reading == "rows":
            machine.read_in_place(self._kind, self._stage, edges)
        return Done(active, MODES[0], edges)

    def _push_queue(self) -> None:
        """Push from the entries of the queue."""
        machine, out, queue, entries = self._machine, self._out, self._arena["queue"], self._arena["entries"]

        def push(work: SliceWork, stream: Stream | None) -> None:
            self._launch("push_part", self._struct, (), (machine.frame, self._arena["table"], *work), stream,
                         work.heavy + work.light)

        if out.reading == "rows":
            count = np.zeros(1, dtype=np.uint64)
            machine.device.download(count, entries)
            if count[0]:
                push(SliceWork(out.rows, out.pages, queue, 0, int(count[0]), 0), None)
            return
        sliced = machine.sorted_queue(self._kind, self._stage, queue, entries, self._arena["sorted"])
        if sliced.marks.vertices.any() or sliced.marks.rest:
            machine.over_slices(self._kind, self._stage, sliced, push)

    def _full(self) -> Done:
        """Run a full pass; the vertices that change become the next frontier."""
        machine = self._machine
        edges = machine.run_full(self._stage)
        self._stats = machine.counted()
        self._control.clear("counts[0].entries", "counts[2].touched")
        self._frontier(FROM_NOTIFY)
        return Done(self._stats.active, "pull", edges)
