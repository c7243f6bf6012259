"""Pushes on one of several GPUs: owned vertices receive contributions from owned vertices and from mirrors.

If the GPUs reach each other, they run supersteps among themselves (peer_front.py). Otherwise the host advances the loop
superstep by superstep (`PartPush`): after a superstep, the queue of the next superstep has only vertices that this GPU
owns. The values of these vertices are written to the outboxes for the GPUs that mirror these vertices. Values from
inboxes make mirrors active (boundary.cuh).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from vlang.options import Options
from vlang.runtime.cluster.local_graph import RECEIVERS
from vlang.runtime.engine.machine import Done, Loop, Start
from vlang.runtime.gpu.kernels.sparse_layout import MAIL, PEER, PEERS, WALKING, desk_bytes
from vlang.runtime.gpu.topology.footprint import Use
from vlang.runtime.gpu.topology.sides import Side
from vlang.runtime.gpu.ways.push_costs import ON_H200
from vlang.runtime.gpu.ways.pushing import PushLoop, PushWay, by_priority, frontier_sizes, is_uniform, pushing_kernels
from vlang.runtime.gpu.ways.way import Key, pushed_use
from vlang.runtime.gpus.exchange import aligned, word_of
from vlang.runtime.graph.graph import Graph
from vlang.runtime.plan.plan import THREADS, LoopSpec, StageSpec, field_of

if TYPE_CHECKING:
    from vlang.runtime.gpu.gpu_machine import GpuMachine
    from vlang.runtime.gpus.part_machine import PartMachine

__all__ = ["PartFront", "PartPush", "PartPushWay", "record_bytes", "room_of", "sent_slots"]

_MOVING = 1024  # blocks of a kernel over a queue or an inbox


def sent_slots(stage: StageSpec) -> list[str]:
    """Return the arrays that a pass both reads at neighbours and changes."""
    return [slot for slot in stage.near if field_of(slot) in stage.written or (field_of(slot) is None
            and not slot.startswith(("degree:", "ids:")))]


class PartPushWay(PushWay):
    """Rule P on several GPUs: each GPU pushes to its own vertices, and sends the values of active vertices to mirrors.

    Args:
        part: the machine of the GPU.
    """

    def __init__(self, part: PartMachine) -> None:
        self._part = part

    def refused(self, loop: LoopSpec, graph: Graph | None, options: Options) -> str:
        """Return the reason why a loop cannot push; "" if it may."""
        why = super().refused(loop, graph, options)
        if why:
            return why
        (stage,) = loop.stages
        slots = sent_slots(stage)
        if "messages" in stage.kernels or len(slots) != 1 or not slots[0].startswith("field:"):
            return "several GPUs send each other one field of active vertices, and it reads other values of neighbours"
        return ""

    def pulls(self, loop: LoopSpec, options: Options) -> bool:
        """Return True, because all GPUs run full passes if one GPU cannot push."""
        return True

    def uses(self, loop: LoopSpec) -> Iterator[tuple[str, str, Use]]:
        """Yield the edges in the order of the senders."""
        (stage,) = loop.stages
        yield _out(stage), pushed_use(stage.name), Use(stage.columns)

    def directions(self, loop: LoopSpec) -> tuple[str, ...]:
        """Return the adjacency directions that supersteps read."""
        (stage,) = loop.stages
        return (_out(stage), stage.domain or "in") if is_uniform(stage) else (_out(stage),)

    def sizes(self, loop: LoopSpec, n: int, sides: Mapping[str, Side]) -> Iterator[Mapping[str, int]]:
        """Yield the sizes in bytes of the frontier and of the boxes."""
        (stage,) = loop.stages
        yield front_sizes(self._part, stage, len(sides[_out(stage)]))

    def kernels(self, loop: LoopSpec, machine: GpuMachine) -> Iterator[Key]:
        """Yield the kernels of supersteps, and the kernels that move the values of active vertices."""
        (stage,) = loop.stages
        assert stage.gpu is not None
        word, _ = word_of(machine.itemsize(sent_slots(stage)[0]))
        if self._part.at_once:
            yield from (key for key in pushing_kernels(stage) if not key[0].startswith("traverse"))
            yield "traverse_peers", stage.gpu.struct, (by_priority(stage), int(word[1:]))
            return
        yield from pushing_kernels(stage)
        yield from (("collect_queue", word, ()), ("adopt_values", word, ()))
        if by_priority(stage):
            yield from (("sift_far", stage.gpu.struct, ()), ("end_sift", "", ()))

    def begin(self, loop: LoopSpec, machine: GpuMachine, bound: int | None, start: Start | None) -> Loop:
        """Raise AssertionError, because `vlang.runtime.gpus.group_push.GroupPush` begins the loop on all GPUs."""
        raise AssertionError("a part does not run a loop alone")


def _out(stage: StageSpec) -> str:
    return f"{RECEIVERS}{stage.domain}"


def _box_sizes(part: PartMachine, slot: str) -> dict[str, int]:
    """Return the sizes in bytes of the boxes for each other GPU."""
    sizes: dict[str, int] = {}
    size = record_bytes(part, slot)
    for rank, wanted in enumerate(part.numbers.wanted):
        first, end = part.numbers.mirrors_of(rank)
        if len(wanted):
            sizes[f"out:{rank}"] = aligned(len(wanted) * size)
        if end > first:
            sizes[f"in:{rank}"] = aligned((end - first) * size)
    return sizes


def record_bytes(part: PartMachine, slot: str) -> int:
    """Return the size in bytes of a value and of the place of its mirror (PLACE_WORDS in boundary.cuh) together."""
    word, _ = word_of(part.itemsize(slot))
    return max(4, int(word[1:]) // 8) + part.itemsize(slot)


def front_sizes(part: PartMachine, stage: StageSpec, edges: int) -> dict[str, int]:
    """Return the size in bytes of each piece of memory of a `PartFront`, by name.

    If the GPUs reach each other, these are also the table of the GPUs, their mail (peers.cuh), and two inboxes for each
    GPU, each with places (u32) and values.
    """
    sizes = frontier_sizes(stage, part.n, edges, paged=False)
    slot, ranks = sent_slots(stage)[0], range(len(part.numbers.wanted))
    if not part.at_once:
        return sizes | _box_sizes(part, slot)
    inboxes = {}
    for rank in ranks:
        first, end = part.numbers.mirrors_of(rank)
        if end > first:
            inboxes[f"in:{rank}"] = 2 * room_of(end - first) * (4 + part.itemsize(slot))
    head = {name: sizes.pop(name) for name in ("table", "control")}
    return {"peers": 8 * (len(PEERS) + len(PEER) * len(ranks)), **head, "mail": 8 * 2 * len(MAIL) * len(ranks),
            **sizes, **inboxes}


def room_of(mirrors: int) -> int:
    """Return the number of values for which an inbox has room."""
    return -(-mirrors // 4) * 4


class PartFront(PushLoop):
    """The frontier of one GPU, with boxes for values of other GPUs.

    Attributes:
        part: the machine of the GPU.
        slot: the array whose values are sent.
        boxes: the memory of the frontier and of the boxes.
    """

    def __init__(self, part: PartMachine, stage: StageSpec) -> None:
        self.part, self.slot = part, sent_slots(stage)[0]
        self._word, self._width = word_of(part.itemsize(self.slot))
        super().__init__(part, stage, ON_H200.on(part.passes.rates), full=False, out=_out(stage), span=part.span)
        self.boxes = self._arena

    def _sizes(self, edges: int, paged: bool) -> dict[str, int]:
        """Return the sizes of the pieces of memory."""
        return front_sizes(self.part, self._stage, edges)

    def _rows(self) -> list[Done]:
        """Return the records of the last launch, after waiting for its end."""
        rows = self._ended()
        for kind, pushed in ((self._out_kind, True), (self._kind, False)):
            edges = sum(row.edges for row in rows if (row.mode == "push") == pushed)
            if edges:
                self.part.read_in_place(kind, self._stage, edges)
        return rows


class PartPush(PartFront):
    """The frontier of one GPU. `GroupPush` advances the frontier superstep by superstep.

    Attributes:
        found: for each GPU that mirrors vertices, the number of values in its outbox.
        received: the number of mirrors that became active after the last superstep.
    """

    def __init__(self, part: PartMachine, stage: StageSpec) -> None:
        super().__init__(part, stage)
        self.found: dict[int, int] = {}
        self.received = 0
        self._stepped = False
        self._counted = dict.fromkeys(part.places, 0)  # all values so far, by the GPU that mirrors them
        self._blocks = max(1, part.resident("traverse", self._gpu.struct, (self._priority,), WALKING, self._shared))

    @property
    def entries(self) -> int:
        """The number of entries for the next superstep: queue entries of owned vertices, plus active mirrors."""
        return int(self._control[f"counts[{self._control['step'] % 3}].entries"]) + self.received

    @property
    def piled(self) -> int:
        """The number of entries of the far pile."""
        return int(self._control[f"piled[{self._control['pile']}]"]) if self._priority else 0

    def word(self, name: str) -> int | float:
        """Return a word of the state of the loop, with its value after the last superstep."""
        found: int | float = self._control[name]
        return found

    # ------------------------------------------------------------------------------------------- queued work
    def open(self) -> None:
        """Queue the first frontier, and the collection of its values."""
        self._begin()
        self._collect()

    def queue_superstep(self) -> None:
        """Queue a superstep, and the collection of the values of the vertices that become active."""
        machine, struct = self.part, self._gpu.struct
        self.received, self._stepped = 0, True
        if not machine.places:  # otherwise `collect_queue` has done so
            self._control.clear("arrived", "arrived")
        machine.launch("traverse", struct, (self._priority,), self._blocks, (machine.frame, self._arena["table"], 1),
                       shared=self._shared, threads=WALKING, cooperative=True)
        self._collect()

    def lift(self, bound: float, delta: float) -> None:
        """Queue a new bound, and move the vertices below this bound from the far pile to the queue."""
        self._control.set("bound", (bound, delta))
        if self.piled:
            self.part.launch("sift_far", self._gpu.struct, (), self._wide(), (self.part.frame, self._arena["table"]),
                             shared=desk_bytes(THREADS))
            self.part.launch("end_sift", "", (), 1, (self._arena["table"],), threads=32)
            self._collect()

    def adopt(self, owner: int, count: int) -> None:
        """Queue the work that takes values from an inbox and makes their mirrors active."""
        part, first = self.part, self.part.numbers.mirrors_of(owner)[0]
        self.received += count
        part.launch("adopt_values", self._word, (), min(_MOVING, -(-count // THREADS)),
                    (self._arena["table"], self.boxes[f"in:{owner}"], count, self._width, part.pointer(self.slot),
                     first), shared=desk_bytes(THREADS))

    def _collect(self) -> None:
        """Queue the collection of the values of queued vertices, for each GPU that mirrors some of these vertices."""
        part, (low, high) = self.part, self.part.span
        for rank, places in part.places.items():  # counts follow the record of the superstep: one copy fetches both
            part.launch("collect_queue", self._word, (), self._wide(),
                        (self._arena["table"], places, low, high, part.pointer(self.slot), self._width,
                         self.boxes[f"out:{rank}"], self._control.records + 8 * (4 + rank), self._counted[rank]))

    # ------------------------------------------------------------------------------------------- results
    def fetch(self) -> Done | None:
        """Wait for the queued work; returns the record of the superstep, or None if no superstep was queued."""
        if self._stepped:
            rows = self._rows()
        else:  # the records belong to an earlier superstep
            self._ended()
            rows = []
        self._stepped = False
        counted = {rank: self._control.spare(4 + rank) for rank in self.part.places}
        self.found = {rank: count - self._counted[rank] for rank, count in counted.items()}
        self._counted = counted
        return rows[-1] if rows else None
