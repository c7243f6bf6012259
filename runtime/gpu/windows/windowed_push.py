"""Runs a loop with a single pass that pushes, in GPU memory that is too small for the offsets of all vertices.

A pass over windows of receivers reads every page in each superstep. A push reads only the pages of its frontier: the
host finds the windows with vertices of the frontier, and the offsets of each of these windows are copied to the device
before its vertices are queued and pushed. The arrays that a push writes stay on the device, because a push writes to
vertices in any order.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar, cast

import numpy as np

from vlang.options import Options
from vlang.runtime.engine.machine import Done, Loop, Start
from vlang.runtime.gpu.kernels.sparse_layout import TABLE
from vlang.runtime.gpu.ways.bitmaps import BitmapLoop, BitmapWay, part_size
from vlang.runtime.gpu.ways.push_costs import ON_H200
from vlang.runtime.gpu.windows.mover import offsets_in
from vlang.runtime.gpu.windows.window import Moves, Window, no_windows
from vlang.runtime.graph.graph import Graph
from vlang.runtime.plan.plan import LoopSpec, Plan, StageSpec
from vlang.types import OPPOSITE

if TYPE_CHECKING:
    from vlang.runtime.gpu.gpu_machine import GpuMachine
    from vlang.runtime.gpu.windows.windowed_machine import WindowedMachine

__all__ = ["WindowedPushWay", "windowed_kinds"]

_PIECE = 1 << 16  # vertices whose bits the host looks at together
_UNTOUCHED = ("part", "kept", "ids", "set", "sorted", "places")  # kinds of slots that never move
_ADDRESS = TABLE.index("offsets")


class WindowedPushWay(BitmapWay):
    """Rule P for windows: like `BitmapWay`, but offsets move with windows of vertices, and supersteps never pull."""

    name = "bitmap push in windows"
    given_up = 1
    measured = False

    def refused(self, loop: LoopSpec, graph: Graph | None, options: Options) -> str:
        """Return the reason why a loop cannot push in windows; "" if it can."""
        options = replace(options, mode="auto") if options.mode == "push" else options
        return super().refused(loop, graph, options) or (
            "a push reads arrays that move with windows" if _moved(loop.stages[0]) else "")

    def pulls(self, loop: LoopSpec, options: Options) -> bool:
        """Return False: supersteps read only the edges along which vertices push."""
        return False

    def begin(self, loop: LoopSpec, machine: GpuMachine, bound: int | None, start: Start | None) -> Loop:
        """Begin the loop. Every vertex is active in the first superstep."""
        return _WindowedPush(cast("WindowedMachine", machine), loop.stages[0])  # no other machine has this way


def windowed_kinds(plan: Plan, graph: Graph, options: Options) -> list[str]:
    """Return the adjacency directions that a run reads whose loops push in windows if they can.

    The result has both directions if no loop can push in windows, or if windows are refused.
    """
    way = WindowedPushWay()
    pushing = [loop for loop in plan.loops if not way.refused(loop, graph, options)]
    if not pushing or no_windows(plan, options):
        return ["in", "out"]
    inside = {stage.name for loop in pushing for stage in loop.stages}
    kinds = {stage.side for stage in plan.stages if stage.side is not None and stage.name not in inside}
    return sorted(kinds | {OPPOSITE[loop.stages[0].domain or "in"] for loop in pushing})


def _moved(stage: StageSpec) -> list[str]:
    """The arrays of a pass that may move with windows, and that a push reads or writes.

    Only a full pass writes the flags of notified vertices.
    """
    stay = {*stage.near, *(f"next:{slot.partition(':')[2]}" for slot in stage.near if slot.startswith("field:"))}
    return [slot for slot in stage.arrays
            if slot not in stay and slot.partition(":")[0] not in _UNTOUCHED and not slot.startswith("work:notify.")]


class _WindowedPush(BitmapLoop):
    """A loop that pushes in windows (see `WindowedPushWay`).

    Args:
        machine: the machine of the run.
        stage: the pass; it pushes directly to the field.

    Raises:
        OutOfMemory: there is no memory for the bitmaps and the queue.
    """

    counts_edges: ClassVar[bool] = False  # kernels have the offsets of a window only

    def __init__(self, machine: WindowedMachine, stage: StageSpec) -> None:
        super().__init__(machine, stage, ON_H200)
        passes = machine.window_passes
        assert passes.mover is not None
        self._mover, self._topology = passes.mover, passes.topologies[self._kind]
        n, size = machine.n, min(part_size(machine.n), offsets_in(passes.mover.size))
        self._windows = [Window(low, min(low + size, n)) for low in range(0, n, size)]
        self._pushed = 0

    def _push(self, active: int, edges: int) -> Done:
        """Push from a frontier of `active` vertices; the windows without a vertex of the frontier are left out."""
        self._pushed = 0

        def run(window: Window, _frame: int, offsets: int) -> None:
            self._topology.moved_offsets = offsets
            self._mover.set_words(self._arena["table"], {_ADDRESS: offsets})
            self._push_part(window.low, window.high)

        self._mover.over(self._occupied(), Moves(()), self._machine.frame, run, self._topology.side.offsets)
        return self._ended(self._pushed)

    def _occupied(self) -> Iterator[Window]:
        """Yield the windows with vertices of the frontier, and count the edges of the frontier."""
        bits = self._arena[f"bits[{self._control['step'] & 1}]"]
        words = np.empty(_PIECE // 32, np.uint32)
        for window in self._windows:
            found = False
            for low in range(window.low, window.high, _PIECE):
                high = min(low + _PIECE, window.high)
                piece = words[: -(-(high - low) // 32)]
                self._machine.device.download(piece, bits + low // 8)
                if piece.any():
                    found = True
                    flags = np.unpackbits(piece.view(np.uint8), bitorder="little")[: high - low]
                    self._pushed += int((np.diff(self._topology.side.offsets[low : high + 1]) * flags).sum())
            if found:
                yield window
