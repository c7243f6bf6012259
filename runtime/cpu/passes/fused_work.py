"""Work that is fused into a full pass, and runs block by block: reductions over vertices, and messages."""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from vlang.runtime.compile.objects import address_of
from vlang.runtime.cpu.passes.blocking import has_room
from vlang.runtime.engine.state import State
from vlang.runtime.plan.layouts.brief_words import BRIEF_AHEAD, BRIEF_PUT, BRIEF_REFILL
from vlang.runtime.plan.layouts.pass_words import FOLLOW_FRAME, FOLLOW_LEFT, FOLLOW_VERTICES
from vlang.runtime.plan.plan import BLOCK, SLOT_FUSED, SLOT_LISTED, StageSpec

__all__ = ["Ahead", "sent_ahead"]


class Ahead:
    """The kernels that need not run, because fused work has already computed their results for the current state.

    The arrays of this object are allocated on first use, because most short runs have no fused work.

    Args:
        state: the state of the run.
        low: the first vertex over which passes run.
        high: the last vertex over which passes run, plus 1; None for all vertices.

    Attributes:
        ready: the names of these kernels.
    """

    def __init__(self, state: State, low: int = 0, high: int | None = None) -> None:
        self._state = state
        self.ready: Collection[str] = ()
        self._moves: dict[tuple[str, bool], NDArray[np.intp]] = {}
        self._low, self._high = low, state.n if high is None else high

    @cached_property
    def frame(self) -> NDArray[np.uint64]:
        """The frame with the state after the current pass."""
        return np.zeros_like(self._state.frame)

    @cached_property
    def _count(self) -> NDArray[np.int64]:
        """For each block, the number of its vertices over which passes run."""
        return _sizes(self._low, self._high)

    @cached_property
    def _left(self) -> NDArray[np.int64]:
        """For each block, the number of vertices that the current pass has not processed yet."""
        return self._count.copy()

    @cached_property
    def _control(self) -> NDArray[np.uint64]:
        control = np.zeros(3, dtype=np.uint64)
        control[FOLLOW_FRAME] = address_of(self.frame)
        control[FOLLOW_LEFT] = address_of(self._left)
        control[FOLLOW_VERTICES] = self._high
        return control

    @cached_property
    def _control_at(self) -> int:
        return address_of(self._control)

    def __contains__(self, kernel: str) -> bool:
        return kernel in self.ready

    def clear(self) -> None:
        """Mark the results of all kernels as outdated, because a pass without fused work has changed the state."""
        self.ready = ()
        self._state.words[SLOT_FUSED] = 0

    def inside(self, stage: StageSpec, later: Callable[[], int]) -> bool:
        """Whether the kernels of a pass do its fused work. Its messages then have a second buffer, if that fits.

        Args:
            stage: the pass.
            later: returns the bytes that the run allocates later.
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
        self._state.frame.take(self._moves_of(stage, inside), out=self.frame, mode="clip")
        self.frame.data[SLOT_LISTED] = 0
        if inside:
            self._left[:] = self._count
            self._state.words[SLOT_FUSED] = self._control_at

    def operations(self, stage: StageSpec, inside: bool) -> list[tuple[int, ...]]:
        """What `aim` does, as operations of a script (brief_words.py), except that results are not cleared; arguments
        as for `aim`.
        """
        moves = self._moves_of(stage, inside)
        found: list[tuple[int, ...]] = [(BRIEF_AHEAD, address_of(self.frame), address_of(moves), len(moves))]
        if inside:
            found.append((BRIEF_REFILL, address_of(self._left), address_of(self._count), len(self._count)))
            found.append((BRIEF_PUT, SLOT_FUSED, self._control_at))
        return found

    def _moves_of(self, stage: StageSpec, inside: bool) -> NDArray[np.intp]:
        """See `_moved`. If the pass does its fused work itself, its messages get a second buffer."""
        assert stage.fused is not None
        moves = self._moves.get((stage.name, inside))
        if moves is None:
            if inside and any(not len(self._state.arrays[later]) for later in stage.fused.own):
                self._state.allocate("later", f"later:message.{stage.name}.", self._state.n)
            moves = self._moves[stage.name, inside] = self._moved(stage, inside)
        return moves

    def _moved(self, stage: StageSpec, inside: bool) -> NDArray[np.intp]:
        """For each word of the frame after a pass, the index of the word in the frame before the pass. The two differ
        because a pass swaps buffers. Arguments as for `aim`.
        """
        assert stage.fused is not None
        slots = self._state.plan.slots
        pairs = [*((f"field:{name}", f"next:{name}") for name in stage.swaps), *sent_ahead(stage, inside)]
        moves = np.arange(len(self._state.frame), dtype=np.intp)
        for one, other in pairs:
            moves[slots[one]], moves[slots[other]] = slots[other], slots[one]
        return moves

    def arrived(self, stage: StageSpec, inside: bool) -> None:
        """Record that a pass and its fused work have ended; arguments as for `aim`."""
        assert stage.fused is not None
        self._state.words[SLOT_FUSED] = 0
        windows, arrays = self._state.windows, self._state.arrays
        for first, later in sent_ahead(stage, inside):
            if windows is None:
                self._state.exchange(first, later)
            else:  # the messages that a pass reads must be in memory; the new ones are in a file
                windows.put(arrays[first], arrays[later])
        self.ready = stage.fused.kernels


@lru_cache(maxsize=64)
def _sizes(low: int, high: int) -> NDArray[np.int64]:
    """The number of vertices low..high - 1 in each block. The result is kept, so it must not be changed."""
    begins = np.arange(0, high, BLOCK)
    count: NDArray[np.int64] = np.minimum(high, begins + BLOCK) - np.maximum(low, begins)
    return np.maximum(count, 0, dtype=np.int64)


def sent_ahead(stage: StageSpec, inside: bool) -> list[tuple[str, str]]:
    """The slots of the messages that a pass reads, and of the ones that it writes; arguments as for `Ahead.aim`."""
    return [(_first(later), later) for later in stage.fused.own] if inside and stage.fused is not None else []


def _first(later: str) -> str:
    """Map the slot to which a pass writes messages to the slot from which it reads messages."""
    return f"work:{later.partition(':')[2]}"
