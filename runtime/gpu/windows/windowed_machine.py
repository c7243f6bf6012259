"""The machine of a GPU whose memory is too small for the vertex arrays of a run.

Source: Kim et al., "GTS: a fast and scalable graph processing method based on streaming topology to GPUs", SIGMOD 2016.
Attributes that kernels only read at the vertices of a page move with the page. In this module written attributes move
as well, because a full pull writes only the vertices of its pages.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar

from numpy.typing import NDArray

from vlang.options import Options
from vlang.records import dataclass
from vlang.runtime.engine.state import DTYPES
from vlang.runtime.gpu.device.device import Device
from vlang.runtime.gpu.gpu_machine import GpuMachine
from vlang.runtime.gpu.kernels.entries import shared_bytes
from vlang.runtime.gpu.topology.sides import DiskPages
from vlang.runtime.gpu.ways.gpu_superstep import FullWay
from vlang.runtime.gpu.ways.way import Way
from vlang.runtime.gpu.windows.window import Moves, Window, moves_of
from vlang.runtime.gpu.windows.windowed_passes import WindowedPasses
from vlang.runtime.gpu.windows.windowed_push import WindowedPushWay
from vlang.runtime.gpu.windows.windowed_state import WindowedState
from vlang.runtime.graph.graph import Graph
from vlang.runtime.plan.plan import BLOCK, Plan, ScalarSpec, StageSpec
from vlang.runtime.storage.state.remote import Remote, in_memory
from vlang.runtime.storage.state.windows import Windows
from vlang.runtime.threads.moved import Moved

__all__ = ["WindowedMachine"]

_PAGE = 4 << 20  # bytes of neighbours in a page of edges in memory, as pages are the units of windows


@dataclass(frozen=True)
class _Kept:
    """Copies of vertex arrays: the copies in host memory by slot, and one copy of all other arrays on the device."""

    slots: tuple[str, ...]
    hosted: dict[str, NDArray[Any]]
    device: object


class WindowedMachine(GpuMachine):
    """A `GpuMachine` that keeps on the device only the arrays that passes read at neighbours.

    Args:
        device: an open device.
        plan: the compiled program.
        graph: the graph of the run.
        options: the options of the run.
        disk: the pages of a graph whose edges are streamed from disk; None for a graph in memory.
        room: keeps the other arrays in files; None for arrays in host memory.
    """

    folding = ("fold", "scalar")  # two kernels: partial results of all windows are merged at the end
    known_ways: Sequence[Way] = (WindowedPushWay(), FullWay())
    windowed: ClassVar[bool] = True
    runs_ahead: ClassVar[bool] = False

    def __init__(self, device: Device, plan: Plan, graph: Graph, options: Options, disk: DiskPages | None,
                 room: Windows | None) -> None:
        self._room = room
        self._window: tuple[Window, int] | None = None
        options = replace(options, page_size=options.page_size or _PAGE)
        super().__init__(device, plan, graph, options, disk)

    def new_state(self) -> WindowedState:
        """See `GpuMachine.new_state`."""
        return WindowedState(self.device, self.plan, self.n, self.blocks, self._set_words, self._room)

    def full_passes(self) -> WindowedPasses:
        """See `GpuMachine.full_passes`."""
        return WindowedPasses(self)

    @property
    def windowed_state(self) -> WindowedState:
        """The arrays of the run."""
        assert isinstance(self._state, WindowedState)
        return self._state

    @property
    def window_passes(self) -> WindowedPasses:
        """The full passes of the run, and its windows."""
        assert isinstance(self.passes, WindowedPasses)
        return self.passes

    @property
    def windows(self) -> Windows | None:
        """The object that keeps vertex arrays in files; None if all arrays are in memory."""
        return self._room

    def set_words(self, *args: int) -> None:
        """Launch the kernel `set_words` (see `Mover`)."""
        self._set_words(*args)

    # ------------------------------------------------------------------------ windows
    @contextmanager
    def in_window(self, window: Window, frame: int) -> Iterator[None]:
        """A context in which kernels are launched over the vertices of a window, with the frame of the window."""
        self._window = window, frame
        try:
            yield
        finally:
            self._window = None

    @property
    def frame(self) -> int:
        """The device address of the frame (in a window, of the window's frame), after pending writes."""
        return super().frame if self._window is None else self._window[1]

    @property
    def span(self) -> tuple[int, int]:
        """The vertices over which passes run: the vertices of the window, or all vertices."""
        return super().span if self._window is None else (self._window[0].low, self._window[0].high)

    def _over(self, moves: Moves, launch: Callable[[], None]) -> None:
        """Call `launch` in each window of vertices."""
        assert self.window_passes.mover is not None

        def run(window: Window, frame: int, _offsets: int) -> None:
            with self.in_window(window, frame):
                launch()

        self.window_passes.mover.over(self.window_passes.vertices, moves, self.frame, run)

    def over_vertices(self, template: str, stage: StageSpec) -> None:
        """Launch a kernel over all vertices, window by window."""
        moves = moves_of(stage, self.windowed_state.moving, sends=template == "messages")
        self._over(moves, lambda: super(WindowedMachine, self).over_vertices(template, stage))

    def evaluate(self, spec: ScalarSpec) -> None:
        """Compute and store a graph-level value; reductions over vertices run window by window."""
        if spec.fold is not None and self.n:
            self._over(self.window_passes.fold_moves(spec), lambda: self._fold(spec))
        self.merge(spec)

    def _fold(self, spec: ScalarSpec) -> None:
        low, high = self.span
        self.launch("fold", f"v{spec.index}", (), -(-(high - low) // BLOCK), (self.frame, low, high, low // BLOCK),
                    shared=shared_bytes("fold"))

    def in_place(self, stage: StageSpec, on: bool) -> None:
        """See `GpuMachine.in_place`."""
        state, mover = self.windowed_state, self.window_passes.mover
        assert mover is not None
        here = tuple(name for name in stage.swaps if f"field:{name}" in state.hosted)
        for name in here:
            if on:
                mover.aliases[f"next:{name}"] = f"field:{name}"
            else:
                mover.aliases.pop(f"next:{name}", None)
        super().in_place(replace(stage, swaps=tuple(name for name in stage.swaps if name not in here)), on)

    # -------------------------------------------------------------------------- state
    def _table(self, slot: str, dtype: str, length: int, values: Callable[[], NDArray[Any]]) -> None:
        if slot in self.windowed_state.moving:
            self.windowed_state.host(slot, dtype, values())
        else:
            self.windowed_state.place(length * DTYPES[dtype].itemsize,
                                      partial(super()._table, slot, dtype, length, values))

    def give(self, field: str, array: NDArray[Any]) -> None:
        """Store the values of a vertex field, array[n]."""
        self.put(f"field:{field}", array)

    def copy(self, slot: str, source: str) -> None:
        """Copy one vertex array over another."""
        state = self.windowed_state
        if slot in state.hosted or source in state.hosted:
            state.flush()
            self.device.synchronize()
            state.copy(slot, source)
        else:
            super().copy(slot, source)

    def fill(self, slot: str, byte: int) -> None:
        """Set every byte of a vertex array."""
        if slot in self.windowed_state.hosted:
            self.windowed_state.fill(slot, byte)
        else:
            super().fill(slot, byte)

    def share(self, slot: str) -> NDArray[Any] | Remote:
        """Return the values of a vertex array that this process saves."""
        hosted = self.windowed_state.hosted
        return hosted[slot] if slot in hosted else super().share(slot)

    def put(self, slot: str, array: NDArray[Any] | Remote) -> None:
        """Store the values of a vertex array."""
        if slot in self.windowed_state.hosted:
            self.windowed_state.store(slot, in_memory(array))
        else:
            super().put(slot, array)

    def keep(self, slots: Sequence[str]) -> object:
        """Copy vertex arrays. Returns the copy, which `forget` frees, or None if there is no memory for the copy."""
        state = self.windowed_state
        device = self.held.keep([slot for slot in slots if slot not in state.hosted])
        if device is None:
            return None
        return _Kept(tuple(slots), {slot: state.copied(state.hosted[slot]) for slot in slots if slot in state.hosted},
                     device)

    def copies(self, kept: object) -> Sequence[NDArray[Any] | Remote]:
        """Return the arrays of a copy that `keep` returned."""
        assert isinstance(kept, _Kept)
        remote = iter(self.held.remote(kept.device))
        return [kept.hosted[slot] if slot in kept.hosted else next(remote) for slot in kept.slots]

    def forget(self, kept: object) -> None:
        """Free a copy."""
        assert isinstance(kept, _Kept)
        self.held.forget(kept.device)
        kept.hosted.clear()

    def same(self, slots: Sequence[str], kept: object) -> bool:
        """Return whether vertex arrays are equal, bit for bit, to a copy."""
        assert isinstance(kept, _Kept)
        others = [slot for slot in slots if slot not in kept.hosted]
        return all(self.windowed_state.same(slot, array) for slot, array in kept.hosted.items()) and (
            not others or self.held.same(others, kept.device))

    def others(self, slot: str, value: int) -> int:
        """Return the number of entries of a u8 or u32 vertex array that differ from `value`."""
        state = self.windowed_state
        return state.others(slot, value) if slot in state.hosted else super().others(slot, value)

    # ---------------------------------------------------------------------------- end
    def moved(self) -> Moved:
        """Return the counts of the edges that the run has moved so far; the bytes copied include copies of windows."""
        found, mover = super().moved(), self.window_passes.mover
        return found if mover is None else found._replace(bytes_copied=found.bytes_copied + mover.copied)
