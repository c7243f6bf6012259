"""Work that is fused into a full pass, and runs block by block: reductions over vertices, and messages."""

from __future__ import annotations

from collections.abc import Collection
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from vlang.runtime.compile.objects import address_of
from vlang.runtime.cpu.passes.blocking import has_room
from vlang.runtime.engine.state import State
from vlang.runtime.plan.layouts.pass_words import FOLLOW_FRAME, FOLLOW_LEFT, FOLLOW_VERTICES
from vlang.runtime.plan.plan import BLOCK, SLOT_FUSED, SLOT_LISTED, StageSpec

__all__ = ["Ahead"]


class Ahead:
    """The kernels that need not run, because fused work has already computed their results for the current state.

    The arrays of this object are allocated on first use, because most short runs have no fused work.

    Args:
        state: the state of the run.
        low: the first vertex over which passes run.
        high: the last vertex over which passes run, plus 1; None for all vertices.
    """

    def __init__(self, state: State, low: int = 0, high: int | None = None) -> None:
        self._state = state
        self._ready: Collection[str] = ()
        self._moves: dict[tuple[str, bool], NDArray[np.intp]] = {}
        self._low, self._high = low, state.n if high is None else high

    @cached_property
    def frame(self) -> NDArray[np.uint64]:
        """The frame with the state after the current pass."""
        return np.zeros_like(self._state.frame)

    @cached_property
    def _count(self) -> NDArray[np.int64]:
        """For each block, the number of its vertices over which passes run."""
        begins = np.arange(0, self._high, BLOCK)
        count: NDArray[np.int64] = np.minimum(self._high, begins + BLOCK) - np.maximum(self._low, begins)
        return np.maximum(count, 0, dtype=np.int64)

    @cached_property
    def _left(self) -> NDArray[np.int64]:
        """For each block, the number of vertices that the current pass has not processed yet."""
        return self._count.copy()

    @cached_property
    def _control(self) -> NDArray[np.uint64]:
        control = np.zeros(3, dtype=np.uint64)
        control[FOLLOW_FRAME] = self.frame.ctypes.data
        control[FOLLOW_LEFT] = self._left.ctypes.data
        control[FOLLOW_VERTICES] = self._high
        return control

    @cached_property
    def _control_at(self) -> int:
        return address_of(self._control)

    def __contains__(self, kernel: str) -> bool:
        return kernel in self._ready

    def clear(self) -> None:
        """Mark the results of all kernels as outdated, because a pass without fused work has changed the state."""
        self._ready = ()
        self._state.words[SLOT_FUSED] = 0

    def inside(self, stage: StageSpec, later: int) -> bool:
        """Whether the kernels of a pass do its fused work. Its messages then have a second buffer, if that fits.

        Args:
            stage: the pass.
            later: the bytes that the run allocates later.
        """
        assert stage.fused is not None
        arrays, windows = self._state.arrays, self._state.windows
        missing = sum(arrays[_first(name)].nbytes for name in stage.fused.own if not len(arrays[name]))
        return stage.fused.inside and (not missing or windows is not None or has_room(missing, later))

    def aim(self, stage: StageSpec, inside: bool) -> None:
        """Prepare a pass with fused work.

        The fused work runs inside the kernels of the pass, or in one kernel after the pass.

        Args:
            stage: the pass.
            inside: whether the kernels of the pass do the fused work.
        """
        self.clear()
        assert stage.fused is not None
        state = self._state
        moves = self._moves.get((stage.name, inside))
        if moves is None:
            if inside and any(not len(state.arrays[later]) for later in stage.fused.own):
                state.allocate("later", f"later:message.{stage.name}.", state.n)
            moves = self._moves[stage.name, inside] = self._moves_of(stage, inside)
        state.frame.take(moves, out=self.frame, mode="clip")
        self.frame.data[SLOT_LISTED] = 0
        if inside:
            self._left[:] = self._count
            state.words[SLOT_FUSED] = self._control_at

    def _moves_of(self, stage: StageSpec, inside: bool) -> NDArray[np.intp]:
        """For each word of the frame after a pass, the index of the word in the frame before the pass. The two differ
        because a pass swaps buffers. Arguments as for `aim`.
        """
        assert stage.fused is not None
        slots = self._state.plan.slots
        pairs = [(f"field:{name}", f"next:{name}") for name in stage.swaps]
        pairs += [(_first(later), later) for later in stage.fused.own if inside]
        moves = np.arange(len(self._state.frame), dtype=np.intp)
        for one, other in pairs:
            moves[slots[one]], moves[slots[other]] = slots[other], slots[one]
        return moves

    def arrived(self, stage: StageSpec, inside: bool) -> None:
        """Record that a pass and its fused work have ended; arguments as for `aim`."""
        assert stage.fused is not None
        self._state.words[SLOT_FUSED] = 0
        windows, arrays = self._state.windows, self._state.arrays
        for later in stage.fused.own if inside else ():
            if windows is None:
                self._state.exchange(_first(later), later)
            else:  # the messages that a pass reads must be in memory; the new ones are in a file
                windows.put(arrays[_first(later)], arrays[later])
        self._ready = stage.fused.kernels


def _first(later: str) -> str:
    """Map the slot to which a pass writes messages to the slot from which it reads messages."""
    return f"work:{later.partition(':')[2]}"
