"""The interface of an execution way of loops on a GPU (see `vlang.runtime.gpu.ways.ways`)."""

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
"""The name of the use of edges for notification, which reads neighbours but no columns."""


def pushed_use(stage_name: str) -> str:
    """Return the name of the `Use` for the edges along which a pass pushes; the pass pulls along the opposite
    direction.
    """
    return f"{stage_name}:push"


class Way(Protocol):
    """An execution way: one method of running the supersteps of a loop on a GPU.

    Attributes:
        name: the name that `vlang explain` prints.
        given_up: the order in which execution ways are dropped if memory is short: ways with 1 before ways with 2. 0
            for a way that needs memory only for state and edges.
        spare: whether the way is only a replacement for another way whose memory does not suffice.
        sure: whether `begin` never returns None.
        measured: whether the way uses rates that are measured on the device.
        modes: the values of the option `mode` that select the way.
    """

    name: str
    given_up: int
    spare: bool
    sure: bool
    measured: bool
    modes: tuple[str, ...]

    def refused(self, loop: LoopSpec, graph: Graph | None, options: Options) -> str:
        """Return the reason why a loop can never run this way, whatever its initial values are; "" if it may.

        `graph` is None if the graph is not known yet.
        """

    def pulls(self, loop: LoopSpec, options: Options) -> bool:
        """Return whether the loop may read the edges along which its passes gather, if the values permit this way."""

    def uses(self, loop: LoopSpec) -> Iterator[tuple[str, str, Use]]:
        """Yield the edges that this way reads in addition to the edges of full passes, as triples of direction, name
        and `Use`.
        """

    def sizes(self, loop: LoopSpec, n: int, sides: Mapping[str, Side]) -> Iterator[Mapping[str, int]]:
        """Yield the device memory that the way allocates while the loop runs: for each arena, the bytes by name.

        Args:
            loop: the loop.
            n: the number of vertices of the graph.
            sides: the edges of the run, by adjacency direction.
        """

    def kernels(self, loop: LoopSpec, machine: GpuMachine) -> Iterator[Key]:
        """Yield the kernels that every run of the loop launches in addition to the kernels of full passes."""

    def begin(self, loop: LoopSpec, machine: GpuMachine, bound: int | None, start: Start | None) -> Loop | None:
        """Begin the loop; returns None if its initial values do not permit this way. Raises OutOfMemory.

        Args:
            loop: the loop.
            machine: the machine of the run, with state and edges.
            bound: the maximum number of supersteps; None if unknown.
            start: the state of an earlier run from which the loop continues; None for a loop that begins anew.
        """
