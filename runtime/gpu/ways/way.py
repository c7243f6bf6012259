"""What a way of running a loop on a GPU says of itself (see `vlang.runtime.gpu.ways.ways`)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Protocol

from vlang.options import Options
from vlang.runtime.engine.machine import Loop, Start
from vlang.runtime.gpu.topology.footprint import Use
from vlang.runtime.graph.graph import Graph
from vlang.runtime.graph.topology.adjacency import Adjacency
from vlang.runtime.plan.plan import LoopSpec

if TYPE_CHECKING:
    from vlang.runtime.gpu.gpu_machine import GpuMachine

__all__ = ["NOTIFY", "Key", "Way", "pushed_use"]

Key = tuple[str, str, tuple[int, ...]]
"""A kernel of the plan's text: template, struct, constants."""

NOTIFY = "notify"
"""The use of edges along which receivers of changes are found: nothing but their ends is read."""


def pushed_use(stage_name: str) -> str:
    """The use of edges along which a pass pushes that pulls along the others."""
    return f"{stage_name}:push"


class Way(Protocol):
    """One way of running the supersteps of a loop on a GPU.

    name: in `vlang explain`. given_up: where memory is short, ways are given up in this order, 1 before 2; 0 for one
    that needs nothing beside state and edges. sure: `begin` never answers None. measured: what it does next depends on
    rates measured on the device.
    """

    name: str
    given_up: int
    sure: bool
    measured: bool

    def refused(self, loop: LoopSpec, graph: Graph, options: Options) -> str:
        """Why a loop does not run this way, whatever its values are; "" if it may."""

    def uses(self, loop: LoopSpec) -> Iterator[tuple[str, str, Use]]:
        """What it reads of edges beside what full passes read: direction, name of the use, columns."""

    def sizes(self, loop: LoopSpec, n: int, sides: Mapping[str, Adjacency]) -> Iterator[Mapping[str, int]]:
        """The device memory, bytes by name, that it allocates while the loop runs: a mapping an arena.

        Args:
            loop: of the plan.
            n: vertices of the graph.
            sides: the adjacencies of the run, by direction.
        """

    def kernels(self, loop: LoopSpec, machine: GpuMachine) -> Iterator[Key]:
        """The kernels that the loop is sure to launch beside those of full passes."""

    def begin(self, loop: LoopSpec, machine: GpuMachine, bound: int | None, start: Start | None) -> Loop | None:
        """The loop under way; None where the values that it begins with do not allow it. Raises OutOfMemory.

        Args:
            loop: of the plan.
            machine: holds state and edges.
            bound: supersteps at most, as far as is known; None for no bound.
            start: how the loop goes on from another run; None at a beginning.
        """
