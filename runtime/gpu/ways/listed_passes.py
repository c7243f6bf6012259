"""Full passes over an unsorted list of edges in place of adjacency lists, as in WolfGraph: the kernel "edge-list".

Source: Zhu et al., "WolfGraph: the edge-centric graph processing on GPU", FGCS 2019. A pass clears the cells of all
vertices, joins the contribution of each edge into the cell of its receiver, and then applies the writes of all vertices
(listed.cuh). If rules A and P hold for a loop (updates may be repeated, in any order), the parts on the device are
processed repeatedly while the next part is copied. The repetition ends when no vertex changes.
"""

from __future__ import annotations

from dataclasses import field
from typing import ClassVar

from vlang.records import dataclass
from vlang.runtime.gpu.device.device import Buffer, Stream
from vlang.runtime.gpu.kernels.choose_kernel import grid
from vlang.runtime.gpu.kernels.entries import cell_count, shared_bytes
from vlang.runtime.gpu.topology.listed_edges import EDGE_BLOCK, ListedEdges
from vlang.runtime.gpu.topology.resident import Resident
from vlang.runtime.gpu.ways.full_passes import FullPasses
from vlang.runtime.gpu.ways.gpu_superstep import in_place
from vlang.runtime.plan.gpu_stage import GpuStage
from vlang.runtime.plan.plan import THREADS, StageSpec
from vlang.runtime.policies.cost_models import StreamedPages
from vlang.runtime.storage.reading.ring import Reading
from vlang.runtime.threads.moved import NOTHING, Moved

__all__ = ["TABLE_BYTES", "ListedPasses"]

TABLE_BYTES = 24 << 10  # shared memory of a local vertex table: more would leave too few blocks on a multiprocessor

_MOST_PLACES = 2048  # one for each edge of an edge block
_MOST_BLOCKS = 2**31 - 1
_ROWS = {"in": "in", "out": "out", "all": "both"}  # the adjacency direction whose rows a degree counts


@dataclass
class ListedPasses(FullPasses):
    """The edge list of a run, and full passes over it."""

    counts_degrees: ClassVar[bool] = True
    _mirrored: bool = False
    _edges: ListedEdges | None = None
    _cells: Buffer | None = None
    _repeated: set[str] = field(default_factory=set)

    def open(self) -> None:
        """Place the edges in the memory that the state and the cells leave free, and count the degrees.

        Raises OutOfMemory.
        """
        self._parts = Resident(self.machine.device, self.machine.graph.device_copies)
        with self._parts.opening():
            self._open_list(self._parts)

    def _open_list(self, parts: Resident) -> None:
        machine, device = self.machine, self.machine.device
        stages = [stage for stage in machine.plan.stages if stage.domain is not None and stage.gpu is not None]
        listing = machine.graph.listing()
        self._mirrored = listing.mirrored
        tables = {name: self._degree_table(parts, name) for name in _ROWS if f"degree:{name}" in machine.plan.slots}
        cells = max((stage.gpu.cell for stage in stages if stage.gpu is not None), default=0)
        self._cells = device.allocate(max(16, cell_count(machine.n, 1) * cells), "the accumulators of all vertices")
        self._edges = ListedEdges(device, listing, stages, parts, machine.options.page_size,
                                  machine.options.streams)
        for loop in machine.plan.loops:
            if not loop.nested and len(loop.plain) == 1 and in_place(loop, machine.options):
                self._repeated |= {stage.name for stage in loop.stages if _repeatable(stage)}
        missing = {name: at for name, at in tables.items() if parts.missing(_degree_key(name))}
        machine.load([("count_listed", "", ()), *((template, stage.gpu.struct, constants) for stage in stages
                      if stage.gpu is not None for template, constants in (
                          ("clear_listed", ()), ("join_listed", (self._ends(stage.domain or "in"),)),
                          ("apply_listed", ())))])
        for name, at in missing.items():
            self._count(_ROWS[name], at)
            parts.filled(_degree_key(name))

    def _degree_table(self, parts: Resident, name: str) -> int:
        """Allocate a table of degrees, unless an earlier run left it on the device; returns its address."""
        machine, size = self.machine, -(-4 * self.machine.n // 16) * 16
        at = parts.hold(_degree_key(name), size, f"degree: {name}", None)
        machine.state.lend(f"degree:{name}", "u32", machine.n, at)
        return at

    def _count(self, kind: str, at: int) -> None:
        """Count the edges of each vertex in an adjacency direction, u32[n] at the device address `at`."""
        machine, ends = self.machine, self._ends(kind)
        machine.device.fill(at, -(-4 * machine.n // 16) * 16, 0)

        def launch(slot: int, count: int, stream: Stream | None) -> None:
            assert self._edges is not None
            tails, heads = self._edges.ends(slot)
            rows, others = (tails, heads) if kind == "out" else (heads, tails)
            blocks = min(_MOST_BLOCKS, -(-count // THREADS))
            machine.launch("count_listed", "", (), blocks, (rows, others, count, ends, at), stream=stream)

        assert self._edges is not None
        self._edges.sweep(launch)

    def _ends(self, kind: str) -> int:
        """Return which ends of an edge receive in a pass along an adjacency direction (see listed.cuh)."""
        if not self.machine.graph.directed:
            return int(self._mirrored)
        return 2 if kind == "both" else 0

    # -------------------------------------------------------------------------- passes
    def run(self, stage: StageSpec) -> int:
        """Run a full pass over edges; returns the number of edges. The messages of the pass must be up to date."""
        gpu, edges = stage.gpu, self._edges
        assert gpu is not None
        assert edges is not None
        if stage.name in self._repeated and not edges.resident:
            return self._repeating(stage, gpu, edges)
        self._clear(gpu)
        edges.sweep(lambda slot, count, stream: self._join(stage, gpu, slot, count, stream))
        self._apply(gpu)
        return self._entries(stage)

    def _entries(self, stage: StageSpec) -> int:
        """Return the number of contributions of a full pass."""
        return self.machine.graph.m * (2 if self._ends(stage.domain or "in") == 2 else 1)

    def _repeating(self, stage: StageSpec, gpu: GpuStage, edges: ListedEdges) -> int:
        """Process each part. While the next part is copied, process the current part and earlier parts on the device
        again.

        The repetition ends when no vertex changes.
        """
        machine, joined, changed = self.machine, 0, 0
        for slots, arrived in edges.one_by_one():
            some = slots[:1]
            while True:
                self._clear(gpu)
                for slot, count in some:
                    self._join(stage, gpu, slot, count, None)
                    joined += count
                self._apply(gpu)
                before, changed = changed, machine.counted().changed
                if changed == before or arrived is None or machine.device.ended(arrived):
                    break
                some = slots
        return self._entries(stage) * joined // edges.count

    def _clear(self, gpu: GpuStage) -> None:
        machine = self.machine
        assert self._cells is not None
        blocks = grid("clear_listed", (), machine.n) if machine.n else 0
        machine.launch("clear_listed", gpu.struct, (), blocks, (machine.frame, self._cells.pointer, machine.n))

    def _join(self, stage: StageSpec, gpu: GpuStage, slot: int, count: int, stream: Stream | None) -> None:
        machine, places = self.machine, table_places(gpu.cell)
        assert self._edges is not None
        assert self._cells is not None
        blocks = min(_MOST_BLOCKS, -(-count // EDGE_BLOCK))
        machine.launch(
            "join_listed", gpu.struct, (self._ends(stage.domain or "in"),), blocks,
            (machine.frame, self._edges.row(stage, slot), count, self._cells.pointer, machine.n, places),
            shared=shared_bytes("join_listed", gpu, cells=places), stream=stream)

    def _apply(self, gpu: GpuStage) -> None:
        machine = self.machine
        assert self._cells is not None
        low, high = machine.span
        blocks = grid("apply_listed", (), high - low) if high > low else 0
        machine.launch("apply_listed", gpu.struct, (), blocks,
                       (machine.frame, low, high, self._cells.pointer, machine.n),
                       shared=shared_bytes("apply_listed", gpu))

    # ----------------------------------------------------------------------------- end
    def moved(self, reading: Reading | None) -> Moved:
        """Return the edges that were moved; `reading` is None, as the list is never on disk."""
        return NOTHING if self._edges is None else self._edges.traffic.moved()

    def streamed(self) -> dict[str, StreamedPages]:
        """Return no pages, because the cost models of GTS apply only to pages of adjacency lists."""
        return {}

    def close(self) -> None:
        """Free the edges and the cells of the run."""
        if self._edges is not None:
            self._edges.close()
        if self._cells is not None:
            self.machine.device.free(self._cells)
        self._edges = self._cells = None
        super().close()


def table_places(cell: int) -> int:
    """Return the number of entries of a local vertex table whose cells have `cell` bytes; 0 for no table."""
    most = min(_MOST_PLACES, TABLE_BYTES // (4 + cell))
    return 1 << most.bit_length() - 1 if most >= 16 else 0


def _repeatable(stage: StageSpec) -> bool:
    """Return whether a vertex may apply only some of its contributions, and may apply a contribution several times
    (rule P, direct pushes).
    """
    return stage.gpu is not None and stage.gpu.push == "direct" and stage.loop_end


def _degree_key(name: str) -> tuple[str, str]:
    """Return the key under which `GpuMachine` keeps a table of degrees on the device."""
    return "vertices", f"degree:{name}"
