"""Supersteps of a push loop over streamed pages. A superstep reads only the pages with edges of the frontier.

The kernels that find the vertices of a superstep also count its edges by page, and the host reads the counts when the
superstep before ends. Only after a launch that does not count, a pass over the queue counts. The host chooses the
cheapest transfer for each page (vlang.runtime.gpu.topology.engines), and a kernel sorts the queue by page and transfer.
Each launch then processes one slice of the queue (vlang.runtime.gpu.topology.slices). The vertices push along the edges
of one page while other pages are copied. All edges of an entry of the queue are in one page, so the result equals the
result of a superstep over all pages at once.
"""

from __future__ import annotations

from collections.abc import Mapping

from vlang.options import Options
from vlang.records import dataclass
from vlang.runtime.gpu.device.device import Stream
from vlang.runtime.gpu.kernels.sparse_layout import CHUNK, desk_bytes
from vlang.runtime.gpu.passes.gpu_frontier import Control
from vlang.runtime.gpu.passes.sparse import LoadedTask, SliceWork, SparseMachine
from vlang.runtime.gpu.topology.transfers import Marks
from vlang.runtime.gpu.ways.way import Key
from vlang.runtime.plan.plan import THREADS, StageSpec

__all__ = ["PagedPush", "chosen_kernels", "in_place", "paged_kernels"]

_BLOCKS = 8  # blocks per multiprocessor


def paged_kernels(stage: StageSpec, priority: int) -> list[Key]:
    """Return the kernels (template, struct, constants) that supersteps over pages launch."""
    gpu = stage.gpu
    assert gpu is not None
    found: list[Key] = [("mark_queue", "", ()), ("sort_queue", "", ()), ("end_superstep", "", ()),
                        ("push_slice", gpu.struct, (priority,))]
    if gpu.push == "cells":
        found.append(("apply_pushed", gpu.struct, ()))
    if "messages" in stage.kernels:
        found.append(("send_frontier", gpu.struct, ()))
    return found


def chosen_kernels(stage: StageSpec, priority: int, options: Options) -> list[Key]:
    """Return the kernels that supersteps over pages launch because of research options, besides `paged_kernels`."""
    gpu = stage.gpu
    assert gpu is not None
    found: list[Key] = []
    if options.chooser == "gpu":
        found.append((f"choose_{options.switching}", "", ()))
    if options.page_order == "values" and gpu.priority:
        found.append(("mark_values", gpu.struct, ()))
    if options.loaded == "twice" and in_place(stage):
        found += [("claim_found", "", ()), ("queue_found", "", ()), ("push_marked", gpu.struct, (priority,)),
                  ("push_found", gpu.struct, (priority,))]
        found += [("send_part", gpu.struct, ())] if "messages" in stage.kernels else []
    return found


def in_place(stage: StageSpec) -> bool:
    """Return whether vertices push values that the current superstep has updated. If so, the order of pages matters."""
    return stage.gpu is not None and stage.gpu.push == "direct" and stage.gpu.early != "frontier"


@dataclass
class PagedPush:
    """Runs supersteps one at a time.

    Attributes:
        machine: the machine of the run.
        stage: the pass.
        kind: the adjacency direction along which vertices push.
        tables: the device addresses of the structs and queues of the loop, by name.
        control: the state of the loop.
        priority: 1 if the loop runs in priority order and so has far piles, otherwise 0.
        twice: whether the vertices that a task has activated also push along the edges of the task's pages while these
            pages are on the device (HyTGraph, VI-A).
        counts: the device address and the size in bytes of the counts by page; (0, 0) if kernels do not count.
        marks: the active edges of each page in the next superstep; None if they are not known.
    """

    machine: SparseMachine
    stage: StageSpec
    kind: str
    tables: Mapping[str, int]
    control: Control
    priority: int
    twice: bool = False
    counts: tuple[int, int] = (0, 0)
    marks: Marks | None = None

    def begin(self) -> None:
        """Queue the clearing of the counts, before kernels count the first frontier."""
        if self.counts[0]:
            self.machine.device.fill(*self.counts, 0)

    def find(self) -> None:
        """Read the counts of the next superstep, after all kernels that find its vertices; waits for the device."""
        self.marks = self.machine.counted_pages(self.kind, self.stage) if self.counts[0] else None

    def superstep(self, step: int) -> None:
        """Queue superstep number `step` of the loop, counted from 0.

        After the superstep, `control` has only the record of this superstep. The caller must set `marks` to None before
        the next call if another kernel has changed the queue since then.
        """
        machine, gpu, table, frame = self.machine, self.stage.gpu, self.tables["table"], self.machine.frame
        assert gpu is not None
        if "messages" in self.stage.kernels:
            self._launch("send_frontier", gpu.struct, (), (frame, table))
        entries = self.control.at(f"counts[{step % 3}].entries")
        sliced = machine.sorted_queue(self.kind, self.stage, self.tables[f"queues[{step % 2}]"], entries,
                                      self.tables["sorted"], self.marks)
        self.begin()
        template = "push_marked" if self.twice else "push_slice"

        def push(work: SliceWork, stream: Stream | None) -> None:
            self._launch(template, gpu.struct, (self.priority,), (frame, table, *work), stream, work.heavy + work.light)

        def again(task: LoadedTask, stream: Stream | None) -> None:
            queue = self.tables[f"queues[{1 - step % 2}]"] + 8 * (task.low + task.begin // CHUNK)  # not in use yet
            self._launch("claim_found", "", (), (table, *task[2:6], queue, task.counter), stream)
            if "messages" in self.stage.kernels:
                self._launch("send_part", gpu.struct, (), (frame, queue, task.counter), stream)
            self._launch("push_found", gpu.struct, (self.priority,),
                         (frame, table, task.rows, task.pages, queue, task.counter), stream)

        machine.over_slices(self.kind, self.stage, sliced, push, again if self.twice else None)
        if self.twice:
            self._launch("queue_found", "", (), (table,))
        if gpu.push == "cells":
            self._launch("apply_pushed", gpu.struct, (), (frame, table))
        machine.launch("end_superstep", "", (), 1, (table,), threads=32)
        self.find()

    def _launch(
        self, template: str, struct: str, constants: tuple[int, ...], args: tuple[int, ...],
        stream: Stream | None = None, warps: int | None = None,
    ) -> None:
        blocks = _BLOCKS * self.machine.device.info.multiprocessors
        if warps is not None:  # an entry occupies one warp at most
            blocks = max(1, min(blocks, -(-32 * warps // THREADS)))
        self.machine.launch(template, struct, constants, blocks, args, shared=desk_bytes(THREADS), stream=stream)
