"""Full passes over edges: the topology that they need, the kernel that pulls each page, and the launches."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from functools import reduce
from typing import TYPE_CHECKING, ClassVar

from vlang.errors import OutOfMemory
from vlang.records import dataclass
from vlang.runtime.gpu.device.device import Buffer, Stream
from vlang.runtime.gpu.kernels.choose_kernel import Choice, choose_kernels, grid
from vlang.runtime.gpu.kernels.entries import cell_count, shared_bytes
from vlang.runtime.gpu.kernels.row_lengths import page_rows, whole_rows
from vlang.runtime.gpu.kernels.sparse_layout import NEVER
from vlang.runtime.gpu.passes.gpu_frontier import Arena
from vlang.runtime.gpu.passes.gpu_pointed import KERNEL, GpuPointed
from vlang.runtime.gpu.passes.gpu_scratch import GpuScratch, whole_name
from vlang.runtime.gpu.passes.rates import REFERENCE, Rates, rates_of
from vlang.runtime.gpu.passes.sparse import OnePage, SparseTopology
from vlang.runtime.gpu.topology.cut import Part, long_rows
from vlang.runtime.gpu.topology.footprint import Use, share_memory
from vlang.runtime.gpu.topology.marking import count_in_place
from vlang.runtime.gpu.topology.resident import Resident
from vlang.runtime.gpu.topology.sides import Side
from vlang.runtime.gpu.topology.slotted_arrivals import layout_notes, slotted_form
from vlang.runtime.gpu.topology.topology import Topology
from vlang.runtime.gpu.topology.transfers import Packing, Transfer, worth_copying
from vlang.runtime.gpu.ways.notifying import lanes_of
from vlang.runtime.gpu.ways.page_choice import PageChoice
from vlang.runtime.gpu.ways.page_uses import use_name, uses_of
from vlang.runtime.gpu.ways.way import Way
from vlang.runtime.gpu.ways.ways import attempts, candidates, read_by, shortfalls
from vlang.runtime.graph.topology.adjacency import Adjacency
from vlang.runtime.graph.topology.pointers import most_segments
from vlang.runtime.plan.gpu_stage import GpuStage
from vlang.runtime.plan.plan import SLOT_LONGS, SLOT_SEGMENTS, LoopSpec, StageSpec, pointer_of
from vlang.runtime.policies.cost_models import StreamedPages
from vlang.runtime.storage.reading.ring import Reading
from vlang.runtime.threads.moved import NOTHING, Moved
from vlang.runtime.threads.pieces import Pieces, completed
from vlang.runtime.threads.processors import available_threads

if TYPE_CHECKING:
    from vlang.runtime.gpu.gpu_machine import GpuMachine

__all__ = ["FullPasses"]

_MOST_BLOCKS = 64  # per multiprocessor; fewer blocks, each for several parts of a page, take less time to start


@dataclass
class FullPasses:
    """The topology of a run, and full passes over it.

    Attributes:
        counts_degrees: whether `open` counts the degrees that the plan reads, because there are no adjacency lists.
        machine: the machine of the run.
        topologies: the topology of each adjacency direction.
        scratch: scratch memory for passes that need all contributions of a vertex at once; None before `open`.
        pointed: the lists over which passes along pointers pull.
        pages: the choices of how pages of a frontier are read.
        rates: the rates of the device.
        moving: if offsets move with windows of vertices, the address of memory for the offsets of one page; otherwise
            0.
    """

    counts_degrees: ClassVar[bool] = False
    machine: GpuMachine
    topologies: dict[str, Topology] = field(default_factory=dict)
    scratch: GpuScratch | None = None
    pointed: GpuPointed = field(init=False)
    pages: PageChoice = field(init=False)
    rates: Rates = REFERENCE
    moving: int = 0
    _parts: Resident | None = None
    _sides: Mapping[str, Side] = field(default_factory=dict)
    _choices: dict[str, Sequence[Choice]] = field(default_factory=dict)
    _beside: Stream | None = None

    def __post_init__(self) -> None:
        self.pointed = GpuPointed(self.machine)
        self.pages = PageChoice(self.machine, self.topologies)

    def open(self) -> None:
        """Create the topology of every adjacency direction in the plan, in the memory that the state leaves free.

        If memory is short, execution ways that need additional memory are not used. Raises OutOfMemory.
        """
        machine = self.machine
        short: OutOfMemory | None = None
        for ways in attempts(machine.known_ways, machine.plan.loops, machine.graph, machine.options):
            machine.ways = ways
            try:
                self._open()
                break
            except OutOfMemory as error:
                short = error
                self.close()
        else:
            assert short is not None
            raise short
        self._load()

    def notes(self) -> tuple[str, ...]:
        """Return sentences about loops that run in a less preferred execution way because device memory is short, and
        about options for pages that the run does not follow.
        """
        machine = self.machine
        short = shortfalls(machine.ways, machine.plan.loops, machine.graph, machine.options, self._sides)
        return (*short, *self.pages.notes(), *layout_notes(machine.options, self.topologies.values()))

    def _open(self) -> None:
        machine, device = self.machine, self.machine.device
        self._parts = Resident(device, machine.graph.device_copies)
        if any(way.measured for way, _ in self.taken()):
            self.rates = rates_of(device, machine.plan.text, machine.graph.m)
        uses = uses_of(machine)
        sides = {kind: machine.side(kind, tuple({name for use in needs.values() for name, _ in use.columns}))
                 for kind, needs in uses.items()}
        for spec in machine.plan.arrays:
            of, _, kind = spec.length.partition(":")
            if of == "segments" and spec.slot not in machine.state.buffers and (kind in sides or pointer_of(kind)):
                most = len(long_rows(sides[kind]).segments) if kind in sides else most_segments(machine.n)
                machine.state.add(spec.slot, spec.dtype, most, spec.width)
        self._sides = {**self._sides, **sides}  # also those of earlier attempts
        self.scratch = GpuScratch(device, machine.plan.stages, sides)
        kept: list[Buffer] = []
        try:
            # Reserve the memory that loops will allocate, and free it again when the edges have been placed.
            pointers = self.pointed.reserve()
            if pointers:
                kept.append(device.allocate(pointers, "the lists of the vertices that point at each vertex"))
            for way, loop in self.taken():
                for sizes in way.sizes(loop, machine.n, sides):
                    kept.append(device.allocate(Arena.bytes(sizes), "the frontiers of loops"))
            self._place(sides, uses)
        finally:
            for buffer in kept:
                device.free(buffer)
        self.scratch.aim(self.topologies)

    def _place(self, sides: Mapping[str, Side], uses: Mapping[str, Mapping[str, Use]]) -> None:
        """Create the topology of each adjacency direction in the free memory.

        Args:
            sides: the edges of each direction.
            uses: the arrays of a page that passes read, by direction and name of the `Use`.
        """
        machine, device = self.machine, self.machine.device
        taken, slotted = device.allocated(), slotted_form(machine.options)
        shares = share_memory(sides, uses, device.budget() - taken, machine.options.page_size, taken,
                              frozenset(uses) - read_by(machine.ways, machine.plan, machine.graph, machine.options),
                              self.moving > 0, slotted)
        for kind, side in sides.items():
            self.topologies[kind] = Topology(
                device, machine.prepare, side, uses[kind], shares[kind], machine.options.page_size,
                machine.options.streams, self.rates.link, resident=self._parts, moving=self.moving, slotted=slotted)

    def taken(self) -> Iterator[tuple[Way, LoopSpec]]:
        """Yield all pairs of a loop of the plan and an execution way in which the loop may run."""
        machine = self.machine
        for loop in machine.plan.loops:
            for way in candidates(machine.ways, loop, machine.graph, machine.options):
                yield way, loop

    def _load(self) -> None:
        """Compile, or load from the cache, the kernels that the passes will launch."""
        machine = self.machine
        if any(topology.arrivals for topology in self.topologies.values()):
            machine.load([("decode_slotted", "", ())])
        for stage in machine.plan.stages:
            if stage.domain and stage.gpu:
                machine.load((c.template, stage.gpu.struct, c.constants) for c in self.choices(stage, stage.gpu))
        for way, loop in self.taken():
            machine.load(way.kernels(loop, machine))

    def choices(self, stage: StageSpec, gpu: GpuStage) -> list[Choice]:
        """Return the kernels of the passes of a stage."""
        if stage.pointer:
            found, long_count = {(KERNEL.template, KERNEL.constants): KERNEL}, most_segments(self.machine.n)
        else:
            topology = self.topologies[stage.domain or "in"]
            found = {(c.template, c.constants): c for c in (self.choice(stage, gpu, part) for part in topology.parts)}
            long_count = topology.long_count
        if long_count:
            names = [whole_name(stage, name) for name in ("segments", "finish")]
            found |= {(name, ()): Choice(name, name, (), "long vertices") for name in names}
        return list(found.values())

    def choice(self, stage: StageSpec, gpu: GpuStage, part: Part) -> Choice:
        """Return the kernel that pulls a page."""
        if stage.pointer:
            return KERNEL
        known = self._choices.get(stage.name)
        if known is None:
            known = self._choices[stage.name] = self._chosen(stage, gpu)
        return known[part.page]

    def _chosen(self, stage: StageSpec, gpu: GpuStage) -> Sequence[Choice]:
        """Return the kernel that pulls each page. The kernels are chosen once for a graph."""
        topology, options = self.topologies[stage.domain or "in"], self.machine.options
        side, cut, shared = topology.side, topology.layout.cut, self.machine.device.info.shared
        # Kernels differ in the last bits of float sums. If these must be reproducible, all pages use one kernel.
        alike = options.deterministic
        pages = [whole_rows(self.machine.whole_side(side.kind))] * cut.pages if alike else page_rows(side, cut.lows)
        if stage.structures:
            return [Choice("whole", "pull_whole", (lanes_of(rows.edges, rows.vertices),),
                           "a group of lanes, or a block, sees all contributions of a vertex (rule R)")
                    for rows in pages]
        sharded = bool(topology.table(stage.name).shards.any())

        def choose() -> list[Choice]:
            found = choose_kernels(gpu, pages, options.kernel, options.deterministic, shared=shared)
            if not sharded and any(choice.template == "pull_shards" for choice in found):
                other = choose_kernels(gpu, pages, "stream", options.deterministic, shared=shared)
                found = [b if a.template == "pull_shards" else a for a, b in zip(found, other)]
            return found

        key = ("kernels", cut.key, gpu, options.kernel, options.deterministic, shared, sharded)
        known: list[Choice] = side.derived(key, choose)
        return known

    # -------------------------------------------------------------------------- passes
    def run(self, stage: StageSpec) -> int:
        """Run a full pass over edges; returns the number of edges.

        The messages of the pass must be up to date.
        """
        return completed(self.pieces(stage))

    def pieces(self, stage: StageSpec) -> Pieces[int]:
        """Queue the work of `run` piece by piece (see `Topology.pieces`)."""
        topology, swept = self._swept(stage)
        yield from swept
        self.finish(stage, 0, topology.long_count)
        return topology.edges

    def sweep(
        self, stage: StageSpec, taken: Iterable[int] | None = None, transfer: Transfer | None = None
    ) -> Topology:
        """Queue the pages of a full pass; returns their topology. The sums of long vertices are not yet finished.

        Args:
            stage: the pass.
            taken, transfer: the pages (see `Topology.sweep`); None for all pages.
        """
        topology, swept = self._swept(stage, taken, transfer)
        completed(swept)
        return topology

    def _swept(
        self, stage: StageSpec, taken: Iterable[int] | None = None, transfer: Transfer | None = None
    ) -> tuple[Topology, Pieces[None]]:
        """Return the topology of `sweep`, and its pages, which are not queued yet."""
        machine, gpu = self.machine, stage.gpu
        assert gpu is not None
        topology = self.pointed.lists(stage) if stage.pointer else self.topologies[stage.domain or "in"]
        machine.state.set_word(SLOT_SEGMENTS, topology.segments)
        machine.state.set_word(SLOT_LONGS, topology.longs)
        frame = machine.frame
        return topology, topology.pieces(
            stage.name, lambda row, part, stream: self._page(stage, gpu, frame, row, part, stream), transfer,
            taken=taken)

    def finish(self, stage: StageSpec, low: int, high: int) -> None:
        """Queue the end of a pass for the long vertices with numbers `low` to `high` - 1, after `sweep`."""
        machine, gpu = self.machine, stage.gpu
        assert gpu is not None
        if high > low:
            if self._beside is not None:  # segments of long vertices run in a separate stream
                machine.device.wait(machine.device.record(self._beside))
            name = whole_name(stage, "finish")
            machine.launch(name, gpu.struct, (), grid(name, (), high - low),
                           (machine.frame, low, high, *self._long_scratch(stage)), shared=shared_bytes(name, gpu))

    def _page(
        self, stage: StageSpec, gpu: GpuStage, frame: int, row: int, part: Part, stream: Stream | None
    ) -> None:
        choice = self.choice(stage, gpu, part)
        low, high, cells = part.low, part.high, 0
        if choice.template == "pull_stream":
            low, high = 0, part.row_blocks
        elif choice.template == "pull_shards":
            table = self.topologies[stage.domain or "in"].table(stage.name)
            low, high = 0, int(table.shards[part.page])
            cells = cell_count(int(table.most_cells[part.page]), 1)
        self._segments(stage, gpu, frame, row, part, stream)
        if high > low:
            most = _MOST_BLOCKS * self.machine.device.info.multiprocessors
            self.machine.launch(
                choice.template, gpu.struct, choice.constants,
                min(most, grid(choice.template, choice.constants, high - low)),
                (frame, row, low, high, *self._block_scratch(stage)),
                shared=shared_bytes(choice.template, gpu, cells=cells), stream=stream)

    def _segments(
        self, stage: StageSpec, gpu: GpuStage, frame: int, row: int, part: Part, stream: Stream | None
    ) -> None:
        """Launch the segments of a page in a second stream, because they are too few to occupy the device alone."""
        count = part.end_segment - part.first_segment
        if not count:
            return
        device = self.machine.device
        if stream is None:
            self._beside = self._beside or device.stream()
            device.wait(device.record(), self._beside)
            stream = self._beside
        name = whole_name(stage, "segments")
        self.machine.launch(name, gpu.struct, (), grid(name, (), count),
                            (frame, row, part.first_segment, part.end_segment, *self._long_scratch(stage)),
                            shared=shared_bytes(name, gpu), stream=stream)

    def _block_scratch(self, stage: StageSpec) -> tuple[int, ...]:
        """Return the kernel argument with block scratch, for passes that need all contributions of a vertex at once."""
        return self.scratch.block_scratch(stage) if self.scratch else ()

    def _long_scratch(self, stage: StageSpec) -> tuple[int, ...]:
        return self.scratch.long_scratch(stage) if self.scratch else ()

    def sparse(self, kind: str, stage: StageSpec | None) -> SparseTopology:
        """Return an adjacency direction with the columns that a stage reads, or no columns if the stage is None."""
        topology, name = self.topologies[kind], use_name(kind, stage)
        reading = self.reading(kind)
        rows = topology.table(name).address if reading == "pages" else topology.rows(name)
        gathers = kind != (stage and stage.domain) and isinstance(topology.side, Adjacency)
        gathers = gathers and self.pages.gathers(self.machine.options.transfer)
        packed = Packing.by(available_threads()) if gathers else None
        leave = worth_copying(topology.edges, topology.n, topology.edge_bytes(name), topology.link, packed,
                              topology.pages)
        counted = (0, 0) if reading == "rows" else (topology.table_at("starts"), topology.table_at("marks"))
        return SparseTopology(
            rows, topology.pages, topology.offsets, topology.edges, topology.segments, topology.segment_count,
            topology.longs, topology.long_count, reading, leave if reading == "either" else NEVER, *counted)

    def reading(self, kind: str) -> str:
        """Return the way in which kernels over frontiers and lists read the pages of a direction (see SparseTopology).
        """
        topology, asked = self.topologies[kind], self.machine.options.transfer
        if topology.resident:
            return "rows"
        if asked in ("pages", "compact") or not topology.readable:
            return "pages"
        return "rows" if asked == "direct" else "either"

    def read_in_place(self, kind: str, stage: StageSpec | None, edges: int) -> None:
        """Count edges that a launch has read through the rows of the pages (see `SparseMachine`)."""
        count_in_place(self.topologies[kind], use_name(kind, stage), edges)

    def moved(self, reading: Reading | None) -> Moved:
        """Return the counts of the edges that were moved in all directions; `reading` counts the pages read from disk.
        """
        found = reduce(Moved.plus, (topology.traffic.moved() for topology in self.topologies.values()), NOTHING)
        if reading is None:
            return found
        return found._replace(bytes_from_disk=reading.nbytes, pages_from_disk=reading.pages)

    def streamed(self) -> dict[str, StreamedPages]:
        """Return the pages that are streamed to the device, by adjacency direction, and the rates of the device."""
        rates, found = self.rates, {}
        for kind, topology in self.topologies.items():
            if topology.pages and not topology.resident:
                nbytes, buffer = topology.layout.slot_bytes, topology.layout.buffer_bytes
                nbytes += buffer - 4 * topology.layout.cut.largest if buffer else 0  # record ids are copied
                found[kind] = StreamedPages(topology.pages, topology.slots, nbytes, topology.edges / topology.pages,
                                            rates.copied, rates.launch, rates.gather)
        return found

    def over_pages(self, kind: str, stage: StageSpec | None, transfer: Transfer, launch: OnePage) -> None:
        """Call `launch` for each page of a transfer. `launch` queues a kernel.

        Args:
            kind: adjacency direction, "in", "out" or "both".
            stage: the stage that reads the pages; None for notifications.
            transfer: the pages.
            launch: queues the kernel of a page.
        """
        self.topologies[kind].sweep(use_name(kind, stage), lambda row, part, stream: launch(row, stream), transfer)

    def close(self) -> None:
        """Free the topology of the run."""
        self.pointed.close()
        self.pages.close()
        for topology in self.topologies.values():
            topology.close()
        self.topologies.clear()
        if self.scratch is not None:
            self.scratch.close()
            self.scratch = None
        if self._parts is not None:
            self._parts.close()
            self._parts = None
