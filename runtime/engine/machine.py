"""The interface between the engine and a processor: the state of a run, and the operations that change the state."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from vlang.records import dataclass
from vlang.runtime.engine.trace import Done
from vlang.runtime.plan.plan import LoopSpec, ScalarSpec, StageSpec, SweepSpec
from vlang.runtime.threads.moved import Moved

__all__ = ["Done", "Loop", "Machine", "Start", "Stats", "Sweep", "Values"]


class Stats(NamedTuple):
    """The counts of a pass: the number of changed vertices and of active vertices."""

    changed: int = 0
    active: int = 0


@dataclass
class Values:
    """The results of a run: the arrays of output fields and edge states as stored, and the globals."""

    fields: dict[str, Any] = field(default_factory=dict)
    globals: dict[str, Any] = field(default_factory=dict)
    edges: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Start:
    """The initial state of a loop that continues another run (rule I).

    Attributes:
        fields: the stored arrays of the fields that the loop writes, by name; a machine may ignore them.
        sent: the stored arrays of the values that vertices last sent to their neighbours, by name of the field.
        flags: uint8[n]. Bit 0 marks active vertices, and bit 1 marks vertices that must themselves run again. None
            activates all vertices, which is always correct.
        placed: whether fields, sent values and active flags are already in their slots, because a checkpoint was
            restored. The checkpoint was written before a superstep of the same loop on the same graph.
        rounds: the number of supersteps that the loop has already run.
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
        """Run at least one superstep, and at most `room` supersteps unless `room` is None.

        Returns one record per superstep.

        Several supersteps may run in one call only under two conditions: the end of the loop depends only on the number
        of active vertices, and every superstep except the last leaves active vertices. The result is empty for a single
        superstep that may still be running.
        """

    def last(self) -> Done:
        """The record of the last superstep, which must have ended."""

    def close(self) -> None:
        """Release the memory of the loop when it has ended."""


class Sweep(Protocol):
    """A running sweep."""

    @property
    def levels(self) -> Sequence[int]:
        """The distinct values of the field, in the order of the sweep."""

    def run_pass(self, stage: StageSpec, level: int) -> int:
        """Run a pass over the vertices of level number `level`; returns the number of edges traversed."""

    def run_levels(self, first: int) -> tuple[int, int]:
        """Run all passes of several levels in one call, beginning with level number `first`.

        Returns the number of levels that have run, and the number of edges traversed. If levels must run one pass at a
        time, both numbers are 0.
        """


class Machine(Protocol):
    """The state of one run on one kind of processor. Every method may raise OutOfMemory or DeviceError."""

    def set_scalar(self, name: str, value: bool | int | float) -> None:
        """Store a graph-level value."""

    def scalar(self, name: str) -> Any:
        """A graph-level value as a Python number."""

    def give(self, field: str, array: NDArray[Any]) -> None:
        """Store the values of a vertex field, array[n]."""

    def array(self, slot: str) -> NDArray[Any]:
        """The current values of a vertex array, in host memory and read-only."""

    def others(self, slot: str, value: int) -> int:
        """The number of entries of a u8 or u32 vertex array that differ from `value`."""

    def evaluate(self, spec: ScalarSpec) -> None:
        """Compute a graph-level value and store it in its slot."""

    def run_pass(self, stage: StageSpec) -> int:
        """Run a pass over all vertices; returns the number of edges traversed."""

    def counted(self) -> Stats:
        """The counts of the last pass that ended a superstep. The counts decide which vertices are active."""

    def copy(self, slot: str, source: str) -> None:
        """Copy one vertex array over another of the same type."""

    def fill(self, slot: str, byte: int) -> None:
        """Set every byte of a vertex array."""

    def loop(self, spec: LoopSpec, bound: int | None, start: Start | None = None) -> Loop:
        """Begin an innermost loop.

        Args:
            spec: the loop.
            bound: the maximum number of supersteps; None if unknown.
            start: the state from which the loop continues another run; None for a loop that begins anew.
        """

    def begin_sweep(self, spec: SweepSpec) -> Sweep:
        """Begin a sweep over the current values of its field."""

    def keep(self, slots: Sequence[str]) -> object:
        """Copy vertex arrays. The copy is valid until `forget`."""

    def forget(self, kept: object) -> None:
        """Release a copy."""

    def same(self, slots: Sequence[str], kept: object) -> bool:
        """Return whether vertex arrays have the same bits as the copy `kept`."""

    def moved(self) -> Moved:
        """The counts of the edges that the run has moved so far."""

    def synchronize(self) -> None:
        """Wait until all launched kernels and copies have ended."""

    def values(self) -> Values:
        """The values of the output fields and of the globals."""

    def close(self) -> None:
        """Release the resources of the run."""
