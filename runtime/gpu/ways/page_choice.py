"""Chooses how supersteps over few vertices read pages: the transfer of each page, the tasks of a push, and the order of
tasks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from vlang.errors import BindError
from vlang.runtime.gpu.passes.sparse import Loaded, OneSlice
from vlang.runtime.gpu.topology.engines import choose_on_device
from vlang.runtime.gpu.topology.marking import Choosing, choose_pages, mark_items, read_marks, sort_items
from vlang.runtime.gpu.topology.packer import Packer
from vlang.runtime.gpu.topology.sides import DiskSide
from vlang.runtime.gpu.topology.sliced_sweep import sweep_slices
from vlang.runtime.gpu.topology.slices import Sliced, cut_slices
from vlang.runtime.gpu.topology.tasks import hub_scores, tasks_of
from vlang.runtime.gpu.topology.topology import Topology
from vlang.runtime.gpu.topology.transfers import Marks, Transfer
from vlang.runtime.gpu.ways.page_uses import use_name
from vlang.runtime.graph.topology.adjacency import Adjacency
from vlang.runtime.plan.plan import StageSpec
from vlang.types import OPPOSITE

if TYPE_CHECKING:
    from vlang.runtime.gpu.gpu_machine import GpuMachine

__all__ = ["PageChoice"]


class PageChoice:
    """Chooses how the pages of a frontier reach the kernels, by the research options of the run.

    Args:
        machine: the machine of the run.
        topologies: the edges on the device, by adjacency direction.
    """

    def __init__(self, machine: GpuMachine, topologies: dict[str, Topology]) -> None:
        self._machine, self._topologies = machine, topologies
        self._packers: dict[tuple[str, str], Packer | None] = {}
        self._hubs: dict[str, NDArray[np.float64]] = {}

    def needed(self, kind: str, stage: StageSpec | None, items: int, count: int, queued: bool) -> Transfer:
        """Return the pages that hold edges of the active vertices, and the cheapest transfer of each page.

        Args:
            kind: adjacency direction, "in", "out" or "both".
            stage: the stage that reads the pages; None for notifications.
            items: device address of the vertices, u32[*count]; if `queued`, of the entries of a queue, u64[*count].
            count: device address of the number of items.
            queued: whether the items are entries of a queue.
        """
        topology, options = self._topologies[kind], self._machine.options
        asked = "auto" if options.transfer == "compact" else options.transfer
        marks = mark_items(topology, items, count, queued=queued)
        return choose_pages(topology, use_name(kind, stage), marks, asked, options.switching == "published")

    def counted(self, kind: str, stage: StageSpec) -> Marks:
        """Return the active edges of each page in the next superstep, as the kernels of the last superstep counted them
        (see `SparseMachine`).
        """
        return read_marks(self._topologies[kind], self._choosing(kind, use_name(kind, stage)))

    def sorted_queue(
        self, kind: str, stage: StageSpec, queue: int, count: int, target: int, marks: Marks | None = None
    ) -> Sliced:
        """Sort the entries of a queue by the page of their edges, and by the transfer of this page (see
        `SparseMachine`).
        """
        topology, options, name = self._topologies[kind], self._machine.options, use_name(kind, stage)
        packer, published = self._packer(kind, name), options.switching == "published"
        packing = None if packer is None else packer.packing
        if marks is None:
            marks = mark_items(topology, queue, count, queued=True, choosing=self._choosing(kind, name))
        transfer = choose_pages(topology, name, marks, options.transfer, published, packing)
        if not topology.resident and not isinstance(topology.side, DiskSide):  # pages from disk arrive in any order
            most = max(1, min(int(options.combine), topology.slots // 2))  # one task is copied, one is processed
            ranks = self._ranks(kind, stage, queue, count)
            tasks = tasks_of(transfer.whole, topology.cached(), most, ranks)
            transfer = Transfer(transfer.whole, transfer.direct, transfer.packed, tasks, ranks is not None)
        sliced, places = cut_slices(marks, transfer, target)
        sort_items(topology, queue, count, places, target)
        return sliced

    def over_slices(
        self, kind: str, stage: StageSpec | None, sliced: Sliced, launch: OneSlice, again: Loaded | None = None
    ) -> None:
        """Call `launch` for each slice of a sorted queue (see `SparseMachine`). `launch` and `again` queue kernels."""
        name = use_name(kind, stage)
        sweep_slices(self._topologies[kind], name, sliced, launch, self._packer(kind, name), again)

    def gathers(self, asked: str) -> bool:
        """Return whether pushes may gather rows: an option requests gathering, or selects the published formulas."""
        return asked == "compact" or (asked == "auto" and self._machine.options.switching == "published")

    def notes(self) -> tuple[str, ...]:
        """Return sentences about options for pages that the run does not follow."""
        options = self._machine.options
        asked = [text for text, on in ((f"combine={options.combine}", options.combine != "1"),
                                       (f"page_order={options.page_order}", options.page_order != "auto")) if on]
        streamed = any(isinstance(one.side, DiskSide) and not one.resident for one in self._topologies.values())
        if not (asked and streamed):
            return ()
        return (f"{' and '.join(asked)}: not followed, as pages are processed one by one as they arrive from disk",)

    def close(self) -> None:
        """End the threads that gather rows."""
        for packer in self._packers.values():
            if packer is not None:
                packer.close()
        self._packers.clear()

    def _choosing(self, kind: str, name: str) -> Choosing | None:
        """Return the kernel that chooses the transfer of each page, and its arguments; None if the host chooses."""
        topology, options = self._topologies[kind], self._machine.options
        if options.chooser != "gpu" or options.transfer != "auto" or topology.resident:
            return None
        packer = self._packer(kind, name)
        return choose_on_device(topology.edge_bytes(name), topology.link, topology.readable,
                                None if packer is None else packer.packing, options.switching == "published")

    def _ranks(self, kind: str, stage: StageSpec, queue: int, count: int) -> NDArray[np.float64] | None:
        """Return the rank of each page in the order of the option `page_order` (see `tasks_of`); None without an order.
        """
        machine, topology, gpu = self._machine, self._topologies[kind], stage.gpu
        asked = machine.options.page_order
        assert gpu is not None
        if asked == "auto" or gpu.push != "direct" or gpu.early == "frontier":  # the order would change nothing
            return None
        if asked == "hubs":
            if kind not in self._hubs:
                graph, lows = machine.graph, topology.layout.cut.lows
                self._hubs[kind] = -hub_scores(graph.row_lengths(kind), graph.row_lengths(OPPOSITE[kind]), lows)
            return self._hubs[kind]
        if not gpu.priority:
            return None
        best, at = np.empty(topology.pages, dtype=np.uint64), topology.table_at("sorting")
        machine.device.fill(at, best.nbytes, 255)
        machine.launch("mark_values", gpu.struct, (), 4 * machine.device.info.multiprocessors,
                       (machine.frame, topology.offsets, topology.table_at("starts"), topology.pages, queue, count, at))
        machine.device.download(best, at)
        return best.astype(np.float64)

    def _packer(self, kind: str, name: str) -> Packer | None:
        """Return the packer that gathers rows on the CPU, or None.

        Raises BindError if the option `transfer` requires a packer that cannot be created.
        """
        topology, asked = self._topologies[kind], self._machine.options.transfer
        if not self.gathers(asked):
            return None
        if (kind, name) not in self._packers:
            arrays = topology.arrays_of(name)
            why = "the edges are on disk" if not isinstance(topology.side, Adjacency) else \
                "a page is too small for a row" if not Packer.fits(arrays, topology.layout.slot_bytes) else ""
            try:
                self._packers[kind, name] = None if why else \
                    Packer(self._machine.device, topology.side.offsets, arrays, topology.layout.slot_bytes)
            except MemoryError:
                self._packers[kind, name], why = None, "there is no host memory for its buffers"
            if why and asked == "compact":
                raise BindError(f"transfer='compact' cannot gather rows: {why}; leave it out")
        return self._packers[kind, name]
