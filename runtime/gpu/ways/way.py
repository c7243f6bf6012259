"""The interface of a way to run a loop on a GPU (see `vlang.runtime.gpu.ways.ways`)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Protocol

from vlang.options import Options
from vlang.runtime.engine.machine import Loop, Start
from vlang.runtime.gpu.topology.footprint import Use
from vlang.runtime.gpu.topology.sides import Side
from vlang.runtime.graph.graph import Graph
from vlang.runtime.plan.plan import LoopSpec

if TYPE_CHECKING:
    from vlang.runtime.gpu.gpu_machine import GpuMachine

__all__ = ["NOTIFY", "Key", "Way", "pushed_use"]

Key = tuple[str, str, tuple[int, ...]]
"""A kernel of the plan's text: template, struct, constants."""

NOTIFY = "notify"
"""The use of edges along which changes are notified: only their ends are read."""


def pushed_use(stage_name: str) -> str:
    """The use of edges along which a pass pushes, for a pass that pulls along the other direction."""
    return f"{stage_name}:push"


class Way(Protocol):
    """One way to run the supersteps of a loop on a GPU.

    Attributes:
        name: shown by `vlang explain`.
        given_up: rank in which ways are dropped if memory is short, 1 before 2; 0 for a way that needs no memory
            beyond state and edges.
        sure: whether `begin` never returns None.
        measured: whether the way depends on rates measured on the device.
        modes: the values of the option `mode` that name the way.
    """

    name: str
    given_up: int
    sure: bool
    measured: bool
    modes: tuple[str, ...]

    def refused(self, loop: LoopSpec, graph: Graph | None, options: Options) -> str:
        """Why a loop cannot run this way, whatever its values; "" if it may. graph: None for any graph."""

    def uses(self, loop: LoopSpec) -> Iterator[tuple[str, str, Use]]:
        """Edges that it reads beyond those of full passes: direction, name of the use, columns."""

    def sizes(self, loop: LoopSpec, n: int, sides: Mapping[str, Side]) -> Iterator[Mapping[str, int]]:
        """Device memory that it allocates while the loop runs: for each arena a mapping from name to bytes.

        Args:
            loop: the loop.
            n: vertices of the graph.
            sides: the edges of the run, by direction.
        """

    def kernels(self, loop: LoopSpec, machine: GpuMachine) -> Iterator[Key]:
        """The kernels that the loop is sure to launch beyond those of full passes."""

    def begin(self, loop: LoopSpec, machine: GpuMachine, bound: int | None, start: Start | None) -> Loop | None:
        """Begin the loop; None if its initial values do not allow this way. Raises OutOfMemory.

        Args:
            loop: the loop.
            machine: holds state and edges.
            bound: known limit of supersteps; None for no limit.
            start: state of an earlier run, from which the loop continues; None for a fresh run.
        """
