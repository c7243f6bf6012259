"""The interface between engine and processor: the state of a run, and the operations that change it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from vlang.runtime.engine.trace import Done
from vlang.runtime.plan.plan import LoopSpec, ScalarSpec, StageSpec, SweepSpec

__all__ = ["Done", "Loop", "Machine", "Start", "Stats", "Sweep", "Values"]


@dataclass(frozen=True)
class Stats:
    """The counts of a pass: vertices changed, and vertices active."""

    changed: int = 0
    active: int = 0


@dataclass
class Values:
    """The results of a run: the arrays of the output fields as stored, and the globals."""

    fields: dict[str, Any] = field(default_factory=dict)
    globals: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Start:
    """The initial state of a loop that continues another run (rule I).

    Attributes:
        fields: by name, the arrays of the fields that the loop writes, as stored; a machine may ignore them.
        sent: by field, the value that each vertex last sent to its neighbours, as stored.
        flags: uint8[n], bit 0 for active vertices, bit 1 for vertices that must run again themselves; None: all are
            active, which is always correct.
        placed: fields, values sent and active flags are in their slots already, as they were before a superstep of
            the same loop on the same graph (a checkpoint).
        rounds: the supersteps before that one.
    """

    fields: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    sent: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    flags: NDArray[np.uint8] | None = None
    placed: bool = False
    rounds: int = 0


class Loop(Protocol):
    """A running loop."""

    @property
    def stats(self) -> Stats:
        """The counts of the last superstep."""

    def advance(self, room: int | None) -> Sequence[Done]:
        """Run at least one superstep, and no more than `room`; returns them.

        It may run several only if the end of the loop depends on nothing but the number of active vertices, and each
        superstep but the last left some active. The result is empty for a single superstep that may still be running.
        """

    def last(self) -> Done:
        """The last superstep, which has ended."""

    def close(self) -> None:
        """Release the memory of the loop, which has ended."""


class Sweep(Protocol):
    """A running sweep. levels: in the order in which they run."""

    @property
    def levels(self) -> Sequence[int]:
        """The values of the field, in the order of the sweep."""

    def run_pass(self, stage: StageSpec, level: int) -> int:
        """Run a pass over the vertices of level number `level`; returns the edges traversed."""

    def run_levels(self, first: int) -> tuple[int, int]:
        """Run all passes of levels from number `first` on in one call, after those of the level before.

        Returns how many levels have run, 0 if they must run one pass at a time, and the edges traversed.
        """


class Machine(Protocol):
    """The state of one run on one kind of processor. Every method may raise OutOfMemory or DeviceError."""

    def set_scalar(self, name: str, value: bool | int | float) -> None:
        """Store a graph-level value."""

    def scalar(self, name: str) -> Any:
        """A graph-level value as a Python number."""

    def give(self, field: str, array: NDArray[Any]) -> None:
        """Store the values of a vertex field."""

    def array(self, slot: str) -> NDArray[Any]:
        """The present vertex array, in host memory; read-only."""

    def others(self, slot: str, value: int) -> int:
        """The number of entries of a vertex array of u8 or u32 that differ from `value`."""

    def evaluate(self, spec: ScalarSpec) -> None:
        """Compute a graph-level value into its slot."""

    def run_pass(self, stage: StageSpec) -> int:
        """Run a pass over all vertices; returns the edges traversed."""

    def counted(self) -> Stats:
        """The counts of the last pass that decides activity."""

    def copy(self, slot: str, source: str) -> None:
        """Copy one vertex array over another of the same type."""

    def fill(self, slot: str, byte: int) -> None:
        """Set every byte of a vertex array."""

    def loop(self, spec: LoopSpec, bound: int | None, start: Start | None = None) -> Loop:
        """Begin a loop without blocks inside.

        bound: supersteps at most, None if unknown. start: the state from which it continues another run, if any.
        """

    def begin_sweep(self, spec: SweepSpec) -> Sweep:
        """Begin a sweep over the present values of its field."""

    def keep(self, slots: Sequence[str]) -> object:
        """A copy of vertex arrays, until it is forgotten."""

    def forget(self, kept: object) -> None:
        """Release a copy."""

    def same(self, slots: Sequence[str], kept: object) -> bool:
        """Whether vertex arrays have the same bits as a copy."""

    def synchronize(self) -> None:
        """Wait until all launched work is done."""

    def values(self) -> Values:
        """The results."""

    def close(self) -> None:
        """Release the resources of the run."""
