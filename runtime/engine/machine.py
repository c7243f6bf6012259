"""What the engine runs a plan on: the state of a run, and the kernels that change it, on one kind of processor."""

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
    """What a pass counted: vertices changed, and vertices active."""

    changed: int = 0
    active: int = 0


@dataclass
class Values:
    """What a run left: the arrays of the output fields as stored, and the globals."""

    fields: dict[str, Any] = field(default_factory=dict)
    globals: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Start:
    """How a loop begins that goes on from what another run left (rule I).

    fields: what the loop finds in fields that it writes, as stored; a machine need not look at them. told: by field,
    what each vertex has told its neighbours, as stored. heard: uint8[n], bit 0 for vertices that are active, bit 1 for
    those that must run again themselves; None: all are active, which is always right.
    """

    fields: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    told: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    heard: NDArray[np.uint8] | None = None


class Loop(Protocol):
    """A loop under way."""

    @property
    def stats(self) -> Stats:
        """What the last superstep counted."""

    def advance(self, room: int | None) -> Sequence[Done]:
        """Run at least one superstep, and no more than `room`.

        More than one only where nothing but the number of active vertices decides whether the next one runs, and all
        but the last left some active. Nothing is returned for a single superstep that may still be running.
        """

    def last(self) -> Done:
        """The last superstep, which has ended."""

    def close(self) -> None:
        """The loop has ended."""


class Sweep(Protocol):
    """A sweep under way. levels: in the order in which they are run."""

    @property
    def levels(self) -> Sequence[int]:
        """The values of the field, in the order of the sweep."""

    def run_pass(self, stage: StageSpec, level: int) -> int:
        """Run a pass over the vertices of level number `level`; the edges traversed."""


class Machine(Protocol):
    """The state of one run on one kind of processor. Everything raises OutOfMemory or DeviceError as it must."""

    def set_scalar(self, name: str, value: bool | int | float) -> None:
        """Store a graph-level value."""

    def scalar(self, name: str) -> Any:
        """A graph-level value as a Python number."""

    def give(self, field: str, array: NDArray[Any]) -> None:
        """The values of a vertex field."""

    def array(self, slot: str) -> NDArray[Any]:
        """A vertex array as it is now, in host memory; to be read only."""

    def others(self, slot: str, value: int) -> int:
        """How many entries of a vertex array of u8 or u32 are not `value`."""

    def evaluate(self, spec: ScalarSpec) -> None:
        """Compute a graph-level value into its slot."""

    def run_pass(self, stage: StageSpec) -> int:
        """Run a pass over all vertices; the edges traversed."""

    def counted(self) -> Stats:
        """What the last pass that decides activity counted."""

    def copy(self, slot: str, source: str) -> None:
        """Copy one vertex array over another of the same type."""

    def fill(self, slot: str, byte: int) -> None:
        """Set every byte of a vertex array."""

    def loop(self, spec: LoopSpec, bound: int | None, start: Start | None = None) -> Loop:
        """Begin a loop without blocks inside. bound: supersteps at most, as far as is known. start: how it goes on."""

    def begin_sweep(self, spec: SweepSpec) -> Sweep:
        """Begin a sweep: its levels are those of now."""

    def keep(self, slots: Sequence[str]) -> object:
        """A copy of vertex arrays, until it is forgotten."""

    def forget(self, kept: object) -> None:
        """Give back a copy."""

    def same(self, slots: Sequence[str], kept: object) -> bool:
        """Whether vertex arrays have the same bits as a copy."""

    def settle(self) -> None:
        """Wait until everything asked for has been done."""

    def values(self) -> Values:
        """The results."""

    def close(self) -> None:
        """Give back what the run needed."""
