"""Rule K on a GPU: a loop that copies values over a symmetric relation runs as a search for connected components.

If all edges are on the device, the algorithm is Afforest, as on the CPU (vlang.runtime.cpu.ways.components). Afforest
hooks a few edges of every vertex, and then all edges of the vertices outside the largest tree. If edges are streamed,
every page is streamed once, and all of its edges are hooked, because the transfer takes longer than the hooking.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from vlang.options import Options
from vlang.runtime.engine.machine import Done, Loop, Start, Stats
from vlang.runtime.gpu.device.device import Stream
from vlang.runtime.gpu.passes.gpu_frontier import Arena
from vlang.runtime.gpu.topology.cut import Part
from vlang.runtime.gpu.topology.footprint import Use
from vlang.runtime.gpu.topology.sides import Side
from vlang.runtime.gpu.topology.topology import Topology
from vlang.runtime.gpu.ways.way import Key
from vlang.runtime.graph.graph import Graph
from vlang.runtime.plan.plan import THREADS, CopySpec, LoopSpec, Plan, StageSpec

if TYPE_CHECKING:
    from vlang.runtime.gpu.gpu_machine import GpuMachine

__all__ = ["NO_TREE", "ComponentsWay", "ConnectLoop", "connect_kernels", "count_of", "joining", "type_of"]

_BLOCKS = 16  # blocks per multiprocessor of kernels that count
_PROBED = 4 * 1024 + 16  # bytes of shared memory for the search of the largest tree
NO_TREE = 0xFF  # every byte of NO_TREE
_SAMPLED = 1  # neighbours of every vertex that are hooked in addition to the first


def _sizes(n: int) -> dict[str, int]:
    """Return the size in bytes of each piece of memory that the loop allocates for n vertices, by name."""
    return {"parents": 4 * n, "chosen": 4}


def connect_kernels(plan: Plan, copied: CopySpec) -> list[Key]:
    """Return the kernels (template, struct, constants) that a `ConnectLoop` launches."""
    names = ["plant_single", "plant", "graft", "compress", "elect", "count_outside", "hook_rows", "hook_segments"]
    dtype = type_of(plan, copied)
    names += [f"count_unordered_{dtype[1:]}"] if dtype[0] == "f" else []
    return [*((name, "", ()) for name in names),
            *((name, joining(copied, dtype), ()) for name in ("join_trees", "spread_values"))]


def type_of(plan: Plan, copied: CopySpec) -> str:
    """Return the type of the values that a loop copies."""
    return next(field.dtype for field in plan.fields if field.name == copied.field)


def joining(copied: CopySpec, dtype: str) -> str:
    """Return the C++ type that defines how values are combined."""
    return f"Joining<JOIN_{copied.join.upper()}, {dtype}>"


class ComponentsWay:
    """Rule K: an algorithm for connected components in place of supersteps."""

    name = "connected components"
    given_up = 2
    spare = False
    sure = False  # min and max of floats depend on the order of NaNs, and of +0 and -0
    measured = False
    modes: tuple[str, ...] = ()

    def refused(self, loop: LoopSpec, graph: Graph | None, options: Options) -> str:
        """Return the reason why a loop cannot run by connected components; "" if it can."""
        if loop.copied is None:
            return "it does not copy values over a symmetric relation (rule K)"
        if options.mode != "auto" or options.max_rounds is not None or options.asynchronous:
            return "supersteps were requested"
        directed = graph is not None and graph.directed
        return "the graph is directed" if directed and loop.copied.domain != "both" else ""

    def pulls(self, loop: LoopSpec, options: Options) -> bool:
        """Return True, because the loop may read the edges along which its passes gather."""
        return True

    def uses(self, loop: LoopSpec) -> Iterator[tuple[str, str, Use]]:
        """Yield nothing, because this execution way reads only the edges that full passes read."""
        return iter(())

    def sizes(self, loop: LoopSpec, n: int, sides: Mapping[str, Side]) -> Iterator[Mapping[str, int]]:
        """Yield the sizes in bytes of the trees."""
        yield _sizes(n)

    def kernels(self, loop: LoopSpec, machine: GpuMachine) -> Iterator[Key]:
        """Yield all kernels of the loop."""
        assert loop.copied is not None
        yield from connect_kernels(machine.plan, loop.copied)

    def begin(self, loop: LoopSpec, machine: GpuMachine, bound: int | None, start: Start | None) -> Loop | None:
        """Begin the loop; returns None if supersteps are bounded or the order of operands matters (NaN, -0)."""
        copied = loop.copied
        assert copied is not None
        dtype = type_of(machine.plan, copied)
        if bound is not None or (dtype[0] == "f" and _unordered(machine, copied.field, dtype)):
            return None
        return ConnectLoop(machine, loop.stages[0], copied, dtype)


class ConnectLoop:
    """Runs a loop as one superstep of the mode "connect". Implements `vlang.runtime.engine.machine.Loop`."""

    def __init__(self, machine: GpuMachine, stage: StageSpec, copied: CopySpec, dtype: str) -> None:
        self.stats = Stats()
        self._machine, self._stage, self._n = machine, stage, machine.n
        self._values = machine.pointer(f"field:{copied.field}")
        self._join = joining(copied, dtype)
        self._edges = 0
        # One vertex per thread. Blocks start in order, so that the lower vertices of a chain are in progress or done.
        self._blocks = -(-machine.n // THREADS)
        self._arena = Arena(machine.device, _sizes(machine.n), "the trees of connected components")
        self._topology: Topology = machine.passes.topologies[copied.domain]

    def advance(self, room: int | None) -> Sequence[Done]:
        """Run the only superstep: every vertex gets the combined value of its component."""
        if self._n:
            self._arena.fill("chosen", NO_TREE)
            if self._topology.resident:
                self._sample()
            else:
                self._launch("plant_single", self._parents, self._n)
                self._edges = self._topology.edges
            self._topology.sweep(self._stage.name, self._hook)
            for template in ("join_trees", "spread_values"):
                self._machine.launch(template, self._join, (), self._blocks, (self._parents, self._values, self._n))
        return (self.last(),)

    def last(self) -> Done:
        """Return the record of the only superstep, after which no vertex is active."""
        return Done(0, "connect", self._edges)

    def close(self) -> None:
        """Free the trees, after the queued work has ended."""
        self._arena.close()

    @property
    def _parents(self) -> int:
        return self._arena["parents"]

    def _launch(self, name: str, *args: int, stream: Stream | None = None) -> None:
        self._machine.launch(name, "", (), self._blocks, args, stream=stream)

    def _sample(self) -> None:
        """Build trees from the first edges of every vertex, and count the edges outside the largest tree."""
        machine, parents, chosen, n = self._machine, self._parents, self._arena["chosen"], self._n
        row = self._topology.rows(self._stage.name)  # the row of the only page
        self._launch("plant", row, n, parents)
        for rank in range(1, 1 + _SAMPLED):
            self._launch("compress", parents, n)
            self._launch("graft", row, n, rank, parents)
        self._launch("compress", parents, n)
        machine.launch("elect", "", (), 1, (parents, n, chosen), shared=_PROBED)
        self._edges = (1 + _SAMPLED) * n + count_of(machine, "count_outside", row, n, parents, chosen)

    def _hook(self, row: int, part: Part, stream: Stream | None) -> None:
        """Hook the edges of a page. If pages are streamed, also compress the trees."""
        chosen = self._arena["chosen"]
        if part.high > part.low:
            self._launch("hook_rows", row, part.low, part.high, self._parents, chosen, stream=stream)
        if part.end_segment > part.first_segment:
            self._launch("hook_segments", row, self._topology.segments, part.first_segment, part.end_segment,
                         self._parents, chosen, stream=stream)
        if not self._topology.resident:
            self._launch("compress", self._parents, self._n, stream=stream)


def _unordered(machine: GpuMachine, field: str, dtype: str) -> bool:
    """Return whether the min or the max of the values of a field depends on the order of the operands."""
    return machine.n > 0 and count_of(machine, f"count_unordered_{dtype[1:]}", machine.pointer(f"field:{field}"),
                                    machine.n) > 0


def count_of(machine: GpuMachine, name: str, *args: int) -> int:
    """Launch a kernel whose last argument is a counter, wait until the kernel has ended, and return the counter."""
    machine.state.clear_stats()
    machine.state.flush()
    blocks = min(_BLOCKS * machine.device.info.multiprocessors, -(-machine.n // THREADS))
    machine.launch(name, "", (), blocks, (*args, machine.state.stats))
    _ = machine.frame  # marks the host's copy of the frame and the counts as stale
    return machine.counted().changed
