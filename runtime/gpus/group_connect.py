"""Rule K on several GPUs: a loop that copies values over a symmetric relation is a search for connected components.

Each GPU builds trees over its local vertices from its own rows; local numbers have the order of the numbers in the
graph, so that every edge is followed on the GPU that owns its larger end. The first GPU then joins the trees of all
GPUs, combines the values of all vertices over them, and sends the values back. Edges are read once, also if they are
streamed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from vlang.runtime.engine.machine import Done, Loop, Start
from vlang.runtime.gpu.device.device import Stream
from vlang.runtime.gpu.passes.gpu_frontier import Arena
from vlang.runtime.gpu.topology.cut import Part
from vlang.runtime.gpu.topology.sides import Side
from vlang.runtime.gpu.ways.counted_loop import CountedLoop
from vlang.runtime.gpu.ways.gpu_components import NO_TREE, ComponentsWay, count_of, joining, type_of
from vlang.runtime.gpu.ways.way import Key
from vlang.runtime.gpus.traffic import Move
from vlang.runtime.plan.plan import THREADS, LoopSpec, Plan

if TYPE_CHECKING:
    from vlang.runtime.gpu.gpu_machine import GpuMachine
    from vlang.runtime.gpus.group_machine import GroupMachine
    from vlang.runtime.gpus.part_machine import PartMachine

__all__ = ["GroupConnect", "PartConnectWay"]

_AT_ONCE = 1 << 22  # local vertices whose trees are sent to the first GPU by one copy


class PartConnectWay(ComponentsWay):
    """Rule K on several GPUs. `GroupConnect` begins the loop on all GPUs.

    Args:
        part: the machine of the GPU.
    """

    def __init__(self, part: PartMachine) -> None:
        self._part = part

    def sizes(self, loop: LoopSpec, n: int, sides: Mapping[str, Side]) -> Iterator[Mapping[str, int]]:
        """Yield the sizes in bytes of the trees; the first GPU has those of the whole graph, too."""
        yield _sizes(self._part, self._part.plan, loop)

    def kernels(self, loop: LoopSpec, machine: GpuMachine) -> Iterator[Key]:
        """Yield all kernels of the loop."""
        yield from super().kernels(loop, machine)
        yield from (("rename_parents", "", ()), ("hook_pairs", "", ()))

    def begin(self, loop: LoopSpec, machine: GpuMachine, bound: int | None, start: Start | None) -> Loop | None:
        """Raise AssertionError, because `GroupConnect` begins the loop on all GPUs."""
        raise AssertionError("a part does not run a loop alone")


def _sizes(part: PartMachine, plan: Plan, loop: LoopSpec) -> dict[str, int]:
    """Return the size in bytes of each piece of memory that the loop allocates on a GPU, by name."""
    assert loop.copied is not None
    sizes = {"parents": 4 * part.n, "chosen": 4}
    if part.numbers.rank == 0:
        n = part.numbers.ranges.n
        value, sent = int(type_of(plan, loop.copied)[1:]) // 8, 4 * min(_AT_ONCE, n)
        sizes |= {"trees": 4 * n, "values": value * n, "vertices": sent, "above": sent}
    return sizes


class GroupConnect(CountedLoop):
    """Runs a loop as one superstep of the mode "connect"; a `vlang.runtime.engine.machine.Loop`.

    Args:
        machine: the machine of all GPUs.
        parts: the machines of the GPUs.
        loop: the loop, which copies values over a symmetric relation.

    Raises:
        OutOfMemory: a GPU has no memory for its trees.
    """

    def __init__(self, machine: GroupMachine, parts: Sequence[PartMachine], loop: LoopSpec) -> None:
        assert loop.copied is not None
        self._machine, self._parts, self._stage, self._copied = machine, parts, loop.stages[0], loop.copied
        self._n = parts[0].numbers.ranges.n
        self._join = joining(loop.copied, type_of(machine.plan, loop.copied))
        self._slot = f"field:{loop.copied.field}"
        self._arenas: list[Arena] = []
        try:
            for part in parts:
                self._arenas.append(Arena(part.device, _sizes(part, machine.plan, loop), "the trees of components"))
        except BaseException:
            self.close()
            raise

    @staticmethod
    def suits(parts: Sequence[PartMachine], loop: LoopSpec) -> bool:
        """Return whether values can be combined in any order: there are no NaN and -0, for which min and max depend on
        it.
        """
        assert loop.copied is not None
        dtype, slot = type_of(parts[0].plan, loop.copied), f"field:{loop.copied.field}"
        return dtype[0] != "f" or not any(
            count_of(part, f"count_unordered_{dtype[1:]}", part.extent(slot)[0], part.span[1] - part.span[0])
            for part in parts if part.span[1] > part.span[0])

    def advance(self, room: int | None) -> Sequence[Done]:
        """Run the only superstep: every vertex gets the combined value of its component."""
        for part, arena in zip(self._parts, self._arenas):
            self._hook(part, arena)
        if self._n:
            self._combine()
        edges = sum(part.passes.topologies[self._copied.domain].edges for part in self._parts)
        self._done = Done(0, "connect", edges)
        return (self._done,)

    def close(self) -> None:
        """Free the trees, after the queued work has ended."""
        self._machine.mirrors.ran(self._stage)
        for arena in self._arenas:
            arena.close()

    def _hook(self, part: PartMachine, arena: Arena) -> None:
        """Queue the trees of a GPU, over the numbers of the whole graph."""
        topology, parents, chosen = part.passes.topologies[self._copied.domain], arena["parents"], arena["chosen"]
        if not part.n:
            return

        def over_all(name: str, *args: int, stream: Stream | None = None) -> None:
            part.launch(name, "", (), -(-part.n // THREADS), args, stream=stream)

        def hook(row: int, page: Part, stream: Stream | None) -> None:
            if page.high > page.low:
                over_all("hook_rows", row, page.low, page.high, parents, chosen, stream=stream)
            if page.end_segment > page.first_segment:
                over_all("hook_segments", row, topology.segments, page.first_segment, page.end_segment, parents, chosen,
                         stream=stream)
            if not topology.resident:
                over_all("compress", parents, part.n, stream=stream)

        arena.fill("chosen", NO_TREE)
        if topology.resident:
            over_all("plant", topology.rows(self._stage.name), part.n, parents)
            over_all("compress", parents, part.n)
        else:
            over_all("plant_single", parents, part.n)
        topology.sweep(self._stage.name, hook)
        over_all("compress", parents, part.n)
        over_all("rename_parents", part.globals, part.n, parents)

    def _combine(self) -> None:
        """Queue the work of the first GPU: the trees of the whole graph, and the values of their vertices."""
        first, arena, n = self._parts[0], self._arenas[0], self._n
        trees, values, blocks = arena["trees"], arena["values"], -(-n // THREADS)
        first.launch("plant_single", "", (), blocks, (trees, n))
        for rank, part in enumerate(self._parts):
            at = 0
            while at < part.n:
                count = min(_AT_ONCE, n, part.n - at)
                vertices, above = self._sent(rank, at, count)
                first.launch("hook_pairs", "", (), -(-count // THREADS), (vertices, above, count, trees))
                at += count
        self._values(values, to_first=True)
        for template in ("join_trees", "spread_values"):
            first.launch(template, self._join, (), blocks, (trees, values, n))
        self._values(values, to_first=False)

    def _sent(self, rank: int, at: int, count: int) -> tuple[int, int]:
        """Queue copies of some local vertices of a GPU and of their roots to the first GPU; returns their addresses."""
        sources = self._parts[rank].globals + 4 * at, self._arenas[rank]["parents"] + 4 * at
        if rank == 0:
            return sources
        vertices, above = self._arenas[0]["vertices"], self._arenas[0]["above"]
        self._machine.traffic.move(Move(rank, source, 0, target, 4 * count)
                                   for source, target in zip(sources, (vertices, above)))
        return vertices, above

    def _values(self, values: int, to_first: bool) -> None:
        """Queue copies of the values of all vertices to the first GPU, or back to their owners."""
        moves = []
        for rank, part in enumerate(self._parts):
            begin, end = part.numbers.ranges.of(rank)
            size = part.itemsize(self._slot)
            there, here, nbytes = part.extent(self._slot)[0], values + begin * size, (end - begin) * size
            if rank == 0 and nbytes:
                part.device.copy(*((here, there) if to_first else (there, here)), nbytes)
            elif rank:
                moves.append(Move(rank, there, 0, here, nbytes) if to_first else Move(0, here, rank, there, nbytes))
        self._machine.traffic.move(moves)
