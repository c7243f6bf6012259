"""The machine that runs plans on a GPU. The state is in device memory, and kernels come from the plan's CUDA C text."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from vlang.options import Options
from vlang.runtime.engine.machine import Loop, Start, Stats, Values
from vlang.runtime.engine.near_tables import near_tables
from vlang.runtime.engine.nesting import MaskedSweep
from vlang.runtime.engine.state import DTYPES
from vlang.runtime.gpu.device.device import Device, Kernel, Stream
from vlang.runtime.gpu.kernels.choose_kernel import EDGE_LIST, grid
from vlang.runtime.gpu.kernels.entries import entry, shared_bytes
from vlang.runtime.gpu.passes.every_run import every_run
from vlang.runtime.gpu.passes.gpu_copies import GpuCopies
from vlang.runtime.gpu.passes.gpu_saved import GpuSaved
from vlang.runtime.gpu.passes.gpu_state import GpuState
from vlang.runtime.gpu.passes.sparse import Loaded, OnePage, OneSlice, SparseTopology
from vlang.runtime.gpu.topology.resident import Resident
from vlang.runtime.gpu.topology.sides import DiskPages, Side, side_of
from vlang.runtime.gpu.topology.slices import Sliced
from vlang.runtime.gpu.topology.transfers import Marks, Transfer
from vlang.runtime.gpu.ways.full_passes import FullPasses
from vlang.runtime.gpu.ways.listed_passes import ListedPasses
from vlang.runtime.gpu.ways.way import Way
from vlang.runtime.gpu.ways.ways import WAYS, candidates
from vlang.runtime.graph.graph import Graph
from vlang.runtime.plan.plan import BLOCK, THREADS, LoopSpec, Plan, ScalarSpec, StageSpec, SweepSpec
from vlang.runtime.threads.activity import timed
from vlang.runtime.threads.moved import Moved
from vlang.runtime.threads.pieces import Pieces, completed

__all__ = ["GpuMachine"]

_DEGREES = (("in", "in"), ("out", "out"), ("all", "both"))


class GpuMachine(GpuSaved):
    """A machine (see vlang.runtime.engine.machine) with one GPU.

    The constructor copies the state, and the topology that every run of the plan needs, to the device. The constructor
    also compiles, or loads from disk, the kernels that every run launches. Work is queued on the default stream.

    Args:
        device: an open device.
        plan: the compiled program.
        graph: the graph of the run.
        options: the options of the run.
        disk: the pages of a graph whose edges are streamed from disk; None for a graph in memory.

    Attributes:
        folding: the kernels that compute a reduction over vertices.
        held: the copies of vertex arrays on the device.
        known_ways: all execution ways, in order of preference; `ways` has the execution ways for which memory suffices.
        windowed: whether windows of vertex arrays move to the device (`vlang.runtime.gpu.windows`).
        runs_ahead: whether loops may queue a superstep before the last one has ended (`ways/run_ahead.py`).
    """

    folding: tuple[str, ...] = ("fold_scalar",)
    known_ways: Sequence[Way] = WAYS
    windowed: ClassVar[bool] = False
    runs_ahead: ClassVar[bool] = True

    def __init__(
        self, device: Device, plan: Plan, graph: Graph, options: Options, disk: DiskPages | None = None
    ) -> None:
        self.device, self.plan, self.graph, self.options = device, plan, graph, options
        self.n, self._disk = graph.n, disk
        self.ways: Sequence[Way] = self.known_ways
        self._kernels: dict[tuple[str, str, tuple[int, ...]], Kernel] = {}
        self.held = GpuCopies(self)
        self._in_place: dict[str, tuple[str, ...]] = {}
        self.load([("set_words", "", ()), ("row_blocks", "", ()), *every_run(plan, self.folding)])
        self._state = self.new_state()
        self._parts = Resident(device, graph.device_copies)
        self.passes = self.full_passes()
        try:
            with self._parts.opening():
                self._put_tables()
                self.passes.open()
        except BaseException:
            self.passes.close()
            self._parts.close()
            self._state.close()
            raise

    def new_state(self) -> GpuState:
        """Create the arrays of the run at its beginning. Raises OutOfMemory."""
        edges = len(self.side("in")) if self.plan.states else 0
        return GpuState(self.device, self.plan, self.n, self.blocks, self._set_words, edges)

    def full_passes(self) -> FullPasses:
        """Return the object that runs full passes, before it is opened."""
        return (ListedPasses if self.options.kernel == EDGE_LIST else FullPasses)(self)

    def _put_tables(self) -> None:
        """Copy to the device the vertex tables that the plan reads, unless an earlier run left the tables there."""
        plan, graph = self.plan, self.graph
        for kind, rows in _DEGREES:
            if f"degree:{kind}" in plan.slots and not self.passes.counts_degrees:
                self._table(f"degree:{kind}", "u32", graph.n, partial(graph.row_lengths, rows))
        for slot, dtype, length, table in near_tables(plan, graph):
            self._table(slot, dtype, length, table)
        if "ids:base" in plan.slots:
            base, listed = graph.ids.numbers
            self._state.set_word(plan.slots["ids:base"], base)
            if listed is not None:
                self._table("ids:list", "u64", len(listed), lambda: listed)
                self._state.set_word(plan.slots["ids:listed"], 1)
        order = graph.order
        if order is not None and "ids:dense" in plan.slots:
            self._table("ids:dense", "u32", graph.n, lambda: order.dense)
        if order is not None and "ids:internal" in plan.slots:
            self._table("ids:internal", "u32", graph.n, lambda: order.internal)

    # ----------------------------------------------------------------------- vertices
    @property
    def span(self) -> tuple[int, int]:
        """The range of vertices over which passes run: the first vertex, and the last vertex plus 1."""
        return 0, self.n

    @property
    def blocks(self) -> int:
        """The number of partial results of a reduction over all vertices."""
        return -(-self.n // BLOCK)

    def extent(self, slot: str) -> tuple[int, int]:
        """Return the address and the size, in bytes of whole words, of the processed entries of a vertex array."""
        buffer = self.state.buffers[slot]
        return buffer.pointer, buffer.nbytes

    # ------------------------------------------------------------------------ kernels
    def load(self, wanted: Iterable[tuple[str, str, tuple[int, ...]]]) -> None:
        """Compile kernels (template, struct, constants) in one compilation, or load them from the cache."""
        new = {key: entry(key[0], key[1], *key[2]) for key in wanted if key not in self._kernels}
        if new:
            loaded = self.device.load(self.plan.text, dict(new.values()))
            self._kernels.update({key: loaded[name] for key, (name, _) in new.items()})

    def kernel(self, template: str, struct: str, constants: Sequence[int] = ()) -> Kernel:
        """Return a kernel of the plan's text."""
        key = (template, struct, tuple(constants))
        if key not in self._kernels:
            self.load([key])
        return self._kernels[key]

    def launch(
        self, template: str, struct: str, constants: Sequence[int], blocks: int, args: Sequence[int], *,
        shared: int = 0, threads: int = THREADS, cooperative: bool = False, stream: Stream | None = None,
        devices: int = 1,
    ) -> None:
        """Queue a kernel of the plan's text.

        Args:
            template: name of the kernel template.
            struct: struct of the pass; "" for a kernel that is not a template.
            constants: further template arguments.
            blocks: number of blocks.
            args: 64-bit arguments, addresses or integers.
            shared: bytes of dynamic shared memory per block.
            threads: threads per block.
            cooperative, stream, devices: see `Device.launch`.
        """
        if blocks:
            kernel = self.kernel(template, struct, constants)
            self.device.launch(kernel, blocks, threads, args, shared, stream, cooperative, devices)

    def resident(self, template: str, struct: str, constants: Sequence[int], threads: int, shared: int) -> int:
        """Return the number of blocks of a kernel that the device runs at the same time (see `SparseMachine`)."""
        return self.device.resident(self.kernel(template, struct, constants), threads, shared)

    def prepare(self, name: str, blocks: int, args: Sequence[int], stream: Stream | None) -> None:
        """Queue a kernel that prepares topology.

        Args:
            name: the name of the kernel.
            blocks: the number of blocks of the grid.
            args: 64-bit arguments, addresses or integers.
            stream: None for the default stream.
        """
        self.launch(name, "", (), blocks, args, stream=stream)

    def _set_words(self, *args: int) -> None:
        self.launch("set_words", "", (), 1, args, threads=32)

    # -------------------------------------------------------------------------- state
    @property
    def state(self) -> GpuState:
        """The arrays of the run, and the frame."""
        return self._state

    @property
    def frame(self) -> int:
        """The device address of the frame, after pending writes."""
        return self.state.frame

    def pointer(self, slot: str) -> int:
        """Return the device address of a vertex array."""
        return self.state.pointer(slot)

    def itemsize(self, slot: str) -> int:
        """Return the number of bytes per vertex in an array."""
        return self.state.row_bytes(slot)

    def set_scalar(self, name: str, value: bool | int | float) -> None:
        """Store a graph-level value."""
        self.state.set_scalar(name, value)

    def scalar(self, name: str) -> Any:
        """Return a graph-level value."""
        return self.state.scalar(name)

    def give(self, field: str, array: NDArray[Any]) -> None:
        """Store the values of a vertex field, array[n]."""
        self.device.upload(self.pointer(f"field:{field}"), np.ascontiguousarray(array))

    def array(self, slot: str) -> NDArray[Any]:
        """Return a copy of a vertex array in host memory."""
        return self.state.array(slot)

    def _table(self, slot: str, dtype: str, length: int, values: Callable[[], NDArray[Any]]) -> None:
        """Let a slot refer to an array of the graph. The values of the array never change."""
        key, size = ("vertices", slot), length * DTYPES[dtype].itemsize

        def fill(at: int) -> None:
            array = np.ascontiguousarray(values(), dtype=DTYPES[dtype])
            self.device.upload(at, array)
            if length % 4:  # kernels may read the padding
                self.device.fill(at + size, -size % 16, 0)

        at = self._parts.hold(key, -(-size // 16) * 16, slot.replace(":", ": "), fill)
        self.state.lend(slot, dtype, length, at)

    def side(self, kind: str, columns: tuple[str, ...] = ()) -> Side:
        """Return the edges of an adjacency direction, with the given columns."""
        return side_of(self.graph, self._disk, kind, columns)

    def whole_side(self, kind: str) -> Side:
        """Return the edges by which kernels are chosen if the result must not depend on how the graph is divided."""
        return self.side(kind)

    # ------------------------------------------------------------------------- passes
    def evaluate(self, spec: ScalarSpec) -> None:
        """Compute and store a graph-level value."""
        if spec.fold is None or not self.n:
            self.merge(spec)
        else:
            self.launch("fold_scalar", f"v{spec.index}", (), self.blocks, (self.frame, self.n, self.blocks),
                        shared=shared_bytes("fold_scalar"))

    def merge(self, spec: ScalarSpec) -> None:
        """Compute and store a graph-level value, from the partial results of its reductions if it has reductions."""
        threads = THREADS if spec.fold is not None else 32
        self.launch("scalar", f"v{spec.index}", (), 1, (self.frame, self.blocks), shared=shared_bytes("scalar"),
                    threads=threads)

    def run_pass(self, stage: StageSpec) -> int:
        """Run a pass over all vertices. Returns the number of edges traversed."""
        return self.run_full(stage)

    def run_full(self, stage: StageSpec) -> int:
        """Run a pass over all vertices, including its messages; returns the number of edges traversed.

        The two buffers of each field that the pass writes are swapped afterwards, unless the pass runs in place.
        """
        self.send(stage)
        return self.gather(stage)

    def send(self, stage: StageSpec) -> None:
        """Begin a pass over all vertices: update the lists that it reads, clear its counts, compute its messages."""
        self.passes.pointed.follow(stage.pointer)
        if stage.loop_end:
            self.state.clear_stats()
        if stage.domain is not None and "messages" in stage.kernels:
            self.over_vertices("messages", stage)

    def gather(self, stage: StageSpec) -> int:
        """Run the rest of `run_full`, after `send`; returns the number of edges traversed."""
        return completed(self._gathered(stage, False))

    def pieces(self, stage: StageSpec) -> Pieces[int]:
        """Queue the work of `run_full` piece by piece (see `Topology.pieces`)."""
        self.send(stage)
        return (yield from self._gathered(stage, True))

    def _gathered(self, stage: StageSpec, pausing: bool) -> Pieces[int]:
        edges = 0
        if stage.domain is None:
            self.over_vertices("compute", stage)
        else:
            with timed("pass", stage.name, mode="full", over=stage.domain, queued=True) as about:
                edges = about["edges"] = (yield from self.passes.pieces(stage)) if pausing else self.passes.run(stage)
        self.state.turn(() if stage.name in self._in_place else stage.swaps, stage.stores)
        return edges

    def over_vertices(self, template: str, stage: StageSpec) -> None:
        """Launch a kernel over all vertices."""
        assert stage.gpu is not None
        low, high = self.span
        self.launch(template, stage.gpu.struct, (), grid(template, (), high - low) if high > low else 0,
                    (self.frame, low, high), shared=shared_bytes(template, stage.gpu))

    def in_place(self, stage: StageSpec, on: bool) -> None:
        """Make the pass write its fields to the buffers that it reads, or restore separate buffers."""
        if on == (stage.name in self._in_place):
            return
        for name in stage.swaps:
            self.state.point(f"next:{name}", f"field:{name}" if on else f"next:{name}")
        if on:
            self._in_place[stage.name] = stage.swaps
        else:
            del self._in_place[stage.name]

    def counted(self) -> Stats:
        """Return the counts of the last pass, after waiting for the end of the pass."""
        return self.state.counted()

    def sparse_topology(self, kind: str, stage: StageSpec | None) -> SparseTopology:
        """Return the edges of a direction with the columns of `stage`; without columns if `stage` is None."""
        return self.passes.sparse(kind, stage)

    def needed(self, kind: str, stage: StageSpec | None, items: int, count: int, queued: bool) -> Transfer:
        """Return the pages of active vertices, and the transfer of each (see `SparseMachine`); waits for the device."""
        return self.passes.pages.needed(kind, stage, items, count, queued)

    def over_pages(self, kind: str, stage: StageSpec | None, transfer: Transfer, launch: OnePage) -> None:
        """Call `launch`, which queues a kernel, for each page of a transfer (see `SparseMachine`)."""
        self.passes.over_pages(kind, stage, transfer, launch)

    def counted_pages(self, kind: str, stage: StageSpec) -> Marks:
        """Return the active edges of each page in the next superstep (see `SparseMachine`); waits for the device."""
        return self.passes.pages.counted(kind, stage)

    def sorted_queue(
        self, kind: str, stage: StageSpec, queue: int, count: int, target: int, marks: Marks | None = None
    ) -> Sliced:
        """Sort the entries of a queue by page and transfer (see `SparseMachine`)."""
        return self.passes.pages.sorted_queue(kind, stage, queue, count, target, marks)

    def over_slices(
        self, kind: str, stage: StageSpec | None, sliced: Sliced, launch: OneSlice, again: Loaded | None = None
    ) -> None:
        """Call `launch` for each slice of a sorted queue (see `SparseMachine`). `launch` and `again` queue kernels."""
        self.passes.pages.over_slices(kind, stage, sliced, launch, again)

    def loop(self, spec: LoopSpec, bound: int | None, start: Start | None = None) -> Loop:
        """Begin a loop in the first execution way that can run it.

        `bound`, the maximum number of supersteps, and `start`, the state of an earlier run, may be None.
        """
        begun = (way.begin(spec, self, bound, start) for way in candidates(self.ways, spec, self.graph, self.options))
        return next(loop for loop in begun if loop is not None)

    def begin_sweep(self, spec: SweepSpec) -> MaskedSweep:
        """Begin a sweep. The passes of the sweep are full passes with a mask."""
        return MaskedSweep(spec, self)

    # ------------------------------------------------------------------------- copies
    def copy(self, slot: str, source: str) -> None:
        """Copy one vertex array over another."""
        buffers = self.state.buffers
        self.state.flush()
        self.device.copy(buffers[slot].pointer, buffers[source].pointer, buffers[source].nbytes)

    def fill(self, slot: str, byte: int) -> None:
        """Set every byte of a vertex array; its padding stays 0."""
        self.device.fill(self.pointer(slot), self.state.lengths[slot] * self.state.dtypes[slot].itemsize, byte)

    # ---------------------------------------------------------------------------- end
    def moved(self) -> Moved:
        """Return counts of the edges that the run has moved so far: copied, read in place, and read from disk."""
        return self.passes.moved(None if self._disk is None else self._disk.reading)

    def read_in_place(self, kind: str, stage: StageSpec | None, edges: int) -> None:
        """Count edges that a launch has read through the rows of the pages (see `SparseMachine`)."""
        self.passes.read_in_place(kind, stage, edges)

    def synchronize(self) -> None:
        """Wait until all queued kernels and copies have ended."""
        self.device.synchronize()

    def values(self) -> Values:
        """Return the outputs, globals and edge states. The option `device_arrays` keeps the arrays on the device."""
        globals_ = {name: self.state.scalar(name) for name, _ in self.plan.globals}
        fetch = self.state.hand_over if self.options.device_arrays else self.state.array
        return Values({spec.name: fetch(f"field:{spec.name}") for spec in self.plan.fields if spec.output}, globals_,
                      {spec.name: fetch(f"edges:{spec.name}") for spec in self.plan.states})

    def close(self) -> None:
        """Free the memory of the run on the device."""
        self.held.close()
        self.state.close()
        self.passes.close()
        self._parts.close()
