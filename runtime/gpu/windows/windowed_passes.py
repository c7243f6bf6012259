"""Full passes, window by window: the pages of a window run while its vertex arrays are on the device."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from typing import TYPE_CHECKING, cast

from vlang.errors import OutOfMemory
from vlang.records import dataclass
from vlang.runtime.engine.state import DTYPES
from vlang.runtime.gpu.device.arena import in_bytes, rounded
from vlang.runtime.gpu.kernels.choose_kernel import Choice
from vlang.runtime.gpu.passes.gpu_frontier import Arena
from vlang.runtime.gpu.passes.gpu_scratch import least_scratch
from vlang.runtime.gpu.topology.cut import Cut, long_rows
from vlang.runtime.gpu.topology.footprint import share_memory
from vlang.runtime.gpu.topology.slotted_arrivals import slotted_form
from vlang.runtime.gpu.topology.transfers import Transfer
from vlang.runtime.gpu.ways.full_passes import FullPasses
from vlang.runtime.gpu.ways.page_uses import uses_of
from vlang.runtime.gpu.ways.ways import attempts, candidates
from vlang.runtime.gpu.windows.mover import Mover, offsets_bytes
from vlang.runtime.gpu.windows.window import Moves, Window, moves_of, page_windows, vertex_windows
from vlang.runtime.gpu.windows.windowed_push import WindowedPushWay
from vlang.runtime.plan.gpu_stage import GpuStage
from vlang.runtime.plan.plan import BLOCK, ROW_OFFSETS, ROW_WORDS, SLOT_LONGS, SLOT_SEGMENTS, ScalarSpec, StageSpec

if TYPE_CHECKING:
    from vlang.runtime.gpu.windows.windowed_machine import WindowedMachine

__all__ = ["WindowedPasses"]

_SHARES = (4, 16, 64)  # 1 / share of the free memory is for windows; smaller windows if the pages then do not fit


@dataclass
class WindowedPasses(FullPasses):
    """The topology of a run, and full passes over it, with windows of vertex arrays.

    Attributes:
        mover: moves the windows; None before `open`.
        vertices: the windows of passes over vertices.
    """

    mover: Mover | None = None
    vertices: Sequence[Window] = ()
    _pages: dict[str, Sequence[Window]] = field(default_factory=dict)

    @property
    def _mover(self) -> Mover:
        assert self.mover is not None
        return self.mover

    @property
    def windowed(self) -> WindowedMachine:
        """The machine of the run."""
        return cast("WindowedMachine", self.machine)  # the only machine that makes such passes

    def open(self) -> None:
        """Create the window buffers, and the topology in the remaining memory.

        If memory is short, execution ways that need additional memory are not used. Raises OutOfMemory. The message
        says how much memory is needed with the smallest windows.
        """
        machine = self.windowed
        self.mover = Mover(machine.device, machine.windowed_state, machine.set_words)
        refused: list[OutOfMemory] = []
        for ways in attempts(machine.known_ways, machine.plan.loops, machine.graph, machine.options):
            machine.ways = ways
            try:
                self._open_windows()
                self._load()
                return
            except OutOfMemory as error:
                refused.append(error)
                self.close()
        raise min(refused, key=lambda error: error.least)

    def _open_windows(self) -> None:
        """Open the run with the largest windows that leave room for pages. Raises OutOfMemory."""
        device, mover, size = self.machine.device, self._mover, 0
        for share in (*_SHARES, None):
            free = max(0, device.budget() - device.allocated() - self.windowed.windowed_state.lacking)
            size = self._cut(0 if share is None else self._vertices(free // share // 2, True))
            if 2 * size > (free if share is None else free // 2):
                continue
            try:
                mover.open(size)
                self.moving = 0 if self._whole_rows() else mover.memory
                self._open()
                return
            except OutOfMemory:
                self.close()
        raise self._refusal(size)

    def _refusal(self, size: int) -> OutOfMemory:
        """Return the error for a budget that is too small for two buffers of `size` bytes.

        The error names the sum of everything that a run with these buffers allocates.
        """
        machine, uses = self.machine, uses_of(self.machine)
        sides = {kind: machine.side(kind) for kind in uses}
        taken = machine.device.allocated() + self.windowed.windowed_state.lacking + self._mover.bytes_to_open(size)
        for spec in machine.plan.arrays:
            kind = spec.length.partition(":")[2]
            if spec.length.startswith("segments:") and kind in sides:
                taken += rounded(len(long_rows(sides[kind]).segments) * spec.width * DTYPES[spec.dtype].itemsize)
        taken += least_scratch(machine.device, machine.plan.stages, sides)
        taken += sum(rounded(Arena.bytes(sizes)) for way, loop in self.taken()
                     for sizes in way.sizes(loop, machine.n, sides))
        for free in (max(0, machine.device.budget() - taken), 0):
            try:
                share_memory(sides, uses, free, machine.options.page_size, taken, moving=not self._whole_rows(),
                             slotted=slotted_form(machine.options))
            except OutOfMemory as error:
                return error
        raise AssertionError("edges fit into no memory")

    def choices(self, stage: StageSpec, gpu: GpuStage) -> list[Choice]:
        pulled = stage.name in uses_of(self.machine).get(stage.domain or "in", {})
        return super().choices(stage, gpu) if pulled else []

    def _whole_rows(self) -> bool:
        """Return whether the offsets stay on the device, because kernels over whole rows read them at any vertex."""
        return any(stage.structures for stage in self.machine.plan.stages)

    def _moves(self, of_edges: bool) -> list[Moves]:
        plan, moving = self.machine.plan, self.windowed.windowed_state.moving
        found = [moves_of(stage, moving) for stage in plan.stages if of_edges == (stage.domain is not None)]
        if not of_edges:
            found += [self.fold_moves(spec) for spec in plan.values if spec.fold is not None]
            found += [moves_of(stage, moving, sends=True) for stage in plan.stages if "messages" in stage.kernels]
        return found

    def fold_moves(self, spec: ScalarSpec) -> Moves:
        """Return the arrays that a reduction over vertices needs from the host."""
        assert spec.fold is not None
        return Moves(tuple(slot for slot in spec.fold.arrays if slot in self.windowed.windowed_state.moving))

    def _vertices(self, size: int, of_edges: bool) -> int:
        """Return the vertices of a window that fits into `size` bytes, for passes over edges or over vertices."""
        assert self.mover is not None
        bulk = 1 << 16  # vertices: so many that the alignment of arrays hardly matters
        each = self.mover.bytes_for(self._moves(of_edges), bulk, of_edges) / bulk
        return int(size / each) if each else self.machine.n

    def _cut(self, size: int) -> int:
        """Choose windows of at most `size` vertices, if blocks and pages permit; returns the bytes of a buffer."""
        machine, mover = self.machine, self.mover
        assert mover is not None
        edges = max(1, (machine.options.page_size or 0) // 4)
        self._pages = {kind: page_windows(side, Cut.of(side, edges), size)
                       for kind, side in ((kind, machine.side(kind)) for kind in sorted(uses_of(machine)))}
        most = max((one.high - one.low for windows in self._pages.values() for one in windows), default=0)
        buffer = max(mover.bytes_for(self._moves(True), most, not self._whole_rows()), offsets_bytes(BLOCK))
        self.vertices = list(vertex_windows(machine.n, max(size, self._vertices(buffer, False))))
        over = max((one.high - one.low for one in self.vertices), default=0)
        return max(buffer, mover.bytes_for(self._moves(False), over, False))

    def run(self, stage: StageSpec) -> int:
        """Run a full pass over edges, window by window; returns the number of edges."""
        machine, kind = self.windowed, stage.domain or "in"
        topology, mover = self.topologies[kind], self.mover
        assert mover is not None
        rows = topology.table(stage.name)

        def run(window: Window, frame: int, offsets: int) -> None:
            first, end = window.pages
            if offsets:
                words = {ROW_WORDS * page + ROW_OFFSETS: offsets for page in range(first, end)}
                mover.set_words(rows.address, words)
            with machine.in_window(window, frame):
                self.sweep(stage, transfer=Transfer(tuple(range(first, end))))
                self.finish(stage, *window.longs)

        machine.state.set_word(SLOT_SEGMENTS, topology.segments)  # before the frame is copied
        machine.state.set_word(SLOT_LONGS, topology.longs)
        skipped = topology.traffic.skipped
        mover.over(self._pages[kind], moves_of(stage, machine.windowed_state.moving), machine.frame, run,
                   topology.side.offsets if self.moving else None)
        topology.traffic.skipped = skipped  # each window skips the pages of the others, but the pass skips none
        return topology.edges

    def notes(self) -> tuple[str, ...]:
        """See `FullPasses.notes`; also says which arrays move."""
        state, machine = self.windowed.windowed_state, self.machine
        moved = sum(array.nbytes for array in state.hosted.values())
        where = "host memory" if state.room is None else "a file beside the page file"
        windows = max(map(len, (self.vertices, *self._pages.values())))
        lines = [f"the loop in line {loop.line}" for loop in machine.plan.loops
                 if next(candidates(machine.ways, loop, machine.graph, machine.options)).name == WindowedPushWay.name]
        how = f"{' and '.join(lines)} pushes" if lines else "every pass is full"
        return (f"GPU memory is short: {in_bytes(moved)} of vertex arrays are in {where}, and move to the GPU with the "
                f"pages, in {windows} windows; {how}", *self.pages.notes())

    def close(self) -> None:
        """Free the topology and the window buffers of the run."""
        super().close()
        if self.mover is not None:
            self.mover.close()
