"""Runs a loop with a single pass that pushes: many supersteps per launch, and full passes if these are cheaper."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from vlang.options import Options
from vlang.runtime.engine.machine import Done, Loop, Start, Stats
from vlang.runtime.gpu.kernels.sparse_layout import (
    CLUSTER,
    CLUSTER_THREADS,
    ENDED_FEW,
    ENDED_LARGE,
    FROM_NOTIFY,
    FROM_START,
    MARK_WORDS,
    MODES,
    NEVER,
    RULES,
    TABLE,
    WALKING,
    desk_bytes,
    traverse_bytes,
)
from vlang.runtime.gpu.passes.gpu_frontier import Arena, Control, entries_of, table_words
from vlang.runtime.gpu.passes.sparse import SparseMachine, SparseTopology
from vlang.runtime.gpu.topology.footprint import Use
from vlang.runtime.gpu.topology.sides import Side
from vlang.runtime.gpu.ways.counted_loop import CountedLoop
from vlang.runtime.gpu.ways.paged import PagedPush, chosen_kernels, in_place, paged_kernels
from vlang.runtime.gpu.ways.push_costs import ON_H200, Costs, few_bytes, keeps_queues, kept_entries
from vlang.runtime.gpu.ways.way import Key, pushed_use
from vlang.runtime.graph.graph import Graph
from vlang.runtime.plan.plan import THREADS, LoopSpec, StageSpec
from vlang.types import OPPOSITE

if TYPE_CHECKING:
    from vlang.runtime.gpu.gpu_machine import GpuMachine

__all__ = ["PushLoop", "PushWay", "by_priority", "frontier_sizes", "is_uniform", "pushing_kernels"]

_EDGES = 8  # edges per entry, in the largest frontier that one block processes with queues in global memory
_HELD_EDGES = 4  # the same with queues in shared memory
_ROWS = 4096  # maximum number of supersteps per launch
_BEGINNING = 8  # blocks per multiprocessor for kernels over all vertices


class PushWay:
    """Rule P: a superstep follows the edges of the active vertices. One launch runs many supersteps."""

    name = "push"
    given_up = 1
    spare = False
    sure = True
    measured = True
    modes: tuple[str, ...] = ("push",)

    def refused(self, loop: LoopSpec, graph: Graph | None, options: Options) -> str:
        """Return the reason why a loop cannot push; "" if it may.

        If the caller limits the number of supersteps, a loop that pushes in place is refused: its state could be ahead
        of the state after this number of supersteps.
        """
        stage = _push_stage(loop)
        if stage is None or stage.gpu is None:
            reasons = [one.gpu.push_reason for one in loop.stages if one.gpu is not None and one.gpu.push_reason]
            return reasons[0] if len(loop.stages) == len(reasons) == 1 else "its only step is not a pass that pushes"
        if options.mode in self.modes:
            return ""
        if options.mode != "auto":
            return "another mode was requested"
        ahead = stage.gpu.push == "direct" and stage.gpu.early != "frontier"
        return "supersteps are limited, and a push in place may be ahead of the count" \
            if options.max_rounds is not None and ahead else ""

    def pulls(self, loop: LoopSpec, options: Options) -> bool:
        """Return whether a superstep may be a full pass, or may let unreached vertices search for a neighbour in the
        frontier.

        Supersteps in priority order are never full passes. But a loop does not run in priority order if whole pages
        must be copied (option `transfer`).
        """
        (stage,) = loop.stages
        return is_uniform(stage) or not by_priority(stage) or options.transfer in ("pages", "compact")

    def uses(self, loop: LoopSpec) -> Iterator[tuple[str, str, Use]]:
        """Yield the edges of the opposite direction, along which vertices push; nothing if the relation is symmetric.
        """
        (stage,) = loop.stages
        against = OPPOSITE[stage.domain or "in"]
        if against != stage.domain:
            yield against, pushed_use(stage.name), Use(stage.columns)

    def sizes(self, loop: LoopSpec, n: int, sides: Mapping[str, Side]) -> Iterator[Mapping[str, int]]:
        """Yield the sizes in bytes of the memory for the frontier."""
        (stage,) = loop.stages
        yield frontier_sizes(stage, n, len(sides[OPPOSITE[stage.domain or "in"]]))

    def kernels(self, loop: LoopSpec, machine: GpuMachine) -> Iterator[Key]:
        """Yield the kernels for the method by which the loop reads pages."""
        (stage,) = loop.stages
        reading = machine.passes.reading(OPPOSITE[stage.domain or "in"])
        yield from pushing_kernels(stage, reading)
        if reading == "rows" and keeps_queues(stage, by_priority(stage)) and machine.device.info.clusters:
            yield "traverse_few", stage.gpu.struct if stage.gpu else "", ()
        if reading != "rows":
            yield from chosen_kernels(stage, 0 if reading == "pages" else by_priority(stage), machine.options)

    def begin(self, loop: LoopSpec, machine: GpuMachine, bound: int | None, start: Start | None) -> Loop:
        """Begin the loop.

        Every vertex is active in its first superstep, even if `start` marks only some vertices as active.
        """
        costs = ON_H200.on(machine.passes.rates)
        return PushLoop(machine, loop.stages[0], costs, full=machine.options.mode == "auto",
                        twice=machine.options.loaded == "twice")


def _push_stage(spec: LoopSpec) -> StageSpec | None:
    """Return the only step of a loop if it is a pass that may push; otherwise None."""
    if len(spec.steps) != 1 or not isinstance(spec.steps[0], StageSpec) or spec.starts or spec.sent:
        return None
    stage = spec.steps[0]
    return stage if stage.gpu is not None and stage.gpu.push and stage.loop_end else None


def pushing_kernels(stage: StageSpec, reading: str = "rows") -> list[Key]:
    """Return the kernels (template, struct, constants) that a `PushLoop` launches.

    `reading` says how kernels read pages (see SparseTopology).
    """
    gpu = stage.gpu
    assert gpu is not None
    priority = 0 if reading == "pages" else by_priority(stage)
    found: list[Key] = [("begin_frontier", gpu.struct, (FROM_START, priority))]
    if reading != "pages":
        found.append(("traverse", gpu.struct, (priority,)))
    if reading == "pages" or (reading == "either" and not is_uniform(stage)):
        found += paged_kernels(stage, priority)
    if stage.notify is not None and not priority and not is_uniform(stage):
        found.append(("begin_frontier", gpu.struct, (FROM_NOTIFY, 0)))
    if gpu.push == "cells":
        found.append(("open_cells", gpu.struct, ()))
    return found


def is_uniform(stage: StageSpec) -> bool:
    """Return whether unreached vertices may scan their neighbours, and stop at the first neighbour in the frontier."""
    return stage.gpu is not None and stage.gpu.push == "direct" and stage.gpu.early == "frontier"


def by_priority(stage: StageSpec) -> int:
    """Return 1 if the loop runs in priority order, otherwise 0."""
    gpu = stage.gpu
    return int(gpu is not None and gpu.push == "direct" and gpu.priority != "" and not is_uniform(stage))


def frontier_sizes(stage: StageSpec, n: int, edges: int, paged: bool = True) -> dict[str, int]:
    """Return the size in bytes of each piece of memory that a `PushLoop` allocates, by name.

    Args:
        stage: the pass.
        n: the number of vertices.
        edges: the number of edges along which the pass pushes.
        paged: whether supersteps may run over pages.
    """
    assert stage.gpu is not None
    bits = 4 * -(-n // 32)
    queue = 8 * entries_of(n, edges)
    sizes = {"table": 8 * len(TABLE), "control": Control.bytes(_ROWS), "bits[0]": bits, "bits[1]": bits}
    sizes |= {"touched_bits": bits} if stage.gpu.push == "cells" else {}
    sizes |= {"far_bits": bits} if by_priority(stage) else {}
    sizes |= {"queues[0]": queue, "queues[1]": queue}  # all pieces before the queues are set in two operations
    if paged:
        sizes["sorted"] = queue
    if stage.gpu.push == "cells":
        sizes |= {"touched": 4 * n}
    if by_priority(stage):
        sizes |= {"far[0]": 4 * n, "far[1]": 4 * n}
    return sizes


class PushLoop(CountedLoop):
    """A loop with a single pass that pushes (see `PushWay`). Implements `vlang.runtime.engine.machine.Loop`.

    Direct pushes update values in place, except with a uniform frontier (rule X2). Updates in place lead to the same
    final state, but after k supersteps the state may be ahead of k synchronous supersteps. At the start every vertex
    counts as active.

    If pages must be copied, the host runs one superstep at a time (vlang.runtime.gpu.ways.paged). A superstep over
    pages does not use early exit, because early exit would not reduce the number of pages to copy. A superstep over
    pages does not use priorities either, because all active vertices should use a page while the page is on the device.
    If kernels can also read pages in host memory, a launch returns to the host when the frontier has many edges, and
    the host runs a superstep over pages.

    Args:
        machine: the machine of the run.
        stage: the pass.
        costs: the costs that decide the mode of a superstep.
        full: whether supersteps may be full passes if full passes are cheaper.
        out: the adjacency direction along which vertices push; None for the opposite of the direction of the pass.
        span: the vertices that may become active, as the first vertex and the last vertex plus 1; None for all.
        twice: whether supersteps over pages process a page twice if the pass pushes in place (option `loaded`).

    Raises:
        OutOfMemory: there is no memory for the frontier.
    """

    def __init__(
        self, machine: SparseMachine, stage: StageSpec, costs: Costs = ON_H200, full: bool = True,
        out: str | None = None, span: tuple[int, int] | None = None, twice: bool = False,
    ) -> None:
        gpu = stage.gpu
        assert gpu is not None
        assert stage.domain is not None
        self._machine, self._stage, self._gpu, self._costs = machine, stage, gpu, costs
        self._kind, self._out_kind = stage.domain, out or OPPOSITE[stage.domain]
        self._span = span or (0, machine.n)
        self._uniform = is_uniform(stage)
        sent = machine.sparse_topology(self._out_kind, stage)
        pull = machine.sparse_topology(stage.domain, stage) if self._uniform else None
        ways = {sent.reading} | ({pull.reading} if pull is not None else set())
        self._paged_only = "pages" in ways
        self._priority = 0 if self._paged_only else by_priority(stage)
        sizes = self._sizes(sent.edges, ways != {"rows"})
        self._arena = Arena(machine.device, sizes, f"the frontier of {machine.n:,} vertices")
        self._control = Control(machine.device, self._arena["control"], _ROWS)
        returns = full and stage.notify is not None and not self._priority and not self._uniform
        self._full_from = sent.edges * costs.full // costs.push + 1 if returns else NEVER  # edges of a frontier
        self._few, self._held = kept_entries(costs, machine.device.info, sent.pages == 1) \
            if keeps_queues(stage, self._priority) else (0, 0)
        self._leave = min(self._full_from, NEVER if self._uniform else sent.leave)
        self._words = table_words(self._table(sent, pull))
        self._paged = PagedPush(machine, stage, self._out_kind,
                                {name: self._arena[name] for name in ("table", "queues[0]", "queues[1]", "sorted")},
                                self._control, self._priority, twice and in_place(stage),
                                (sent.marks, 8 * MARK_WORDS * (sent.pages + 1) if sent.marks else 0))
        self._shared = traverse_bytes(WALKING, self._held)
        self._begun = self._met = False  # `_met`: whether blocks have met at the barrier of an earlier launch
        self._large = self._paged_only  # whether the host must run the next superstep
        machine.in_place(stage, True)

    def _sizes(self, edges: int, paged: bool) -> dict[str, int]:
        return frontier_sizes(self._stage, self._machine.n, edges, paged)

    def _table(self, out: SparseTopology, pull: SparseTopology | None) -> dict[str, int]:
        """Return the words of the loop's table.

        Args:
            out: the edges along which vertices push.
            pull: the edges along which unreached vertices search; None if they do not search.
        """
        machine, arena, costs = self._machine, self._arena, self._costs
        words = {"vertices": machine.n, "low": self._span[0], "high": self._span[1], "rows": out.rows,
                 "pages": out.pages, "offsets": out.offsets, "edges": out.edges, "starts": out.starts,
                 "marks": out.marks}
        if pull is not None:
            words |= {"pull_rows": pull.rows, "pull_pages": pull.pages, "pull_offsets": pull.offsets,
                      "segments": pull.segments, "segment_count": pull.segment_count}
        words |= {name: arena[name] for name in TABLE if arena[name]}
        solo, edges = (self._held, _HELD_EDGES) if self._held else (costs.solo, _EDGES)
        return words | {"records": self._control.records, "solo": solo, "solo_edges": edges * solo,
                        "held": self._held, "few": self._few, "few_edges": _HELD_EDGES * self._few,
                        "leave": self._leave, "rule": RULES[costs.rule], "push_cost": costs.push,
                        "pull_cost": costs.pull, "scan_cost": costs.scan}

    def advance(self, room: int | None) -> Sequence[Done]:
        """Run supersteps until no vertex is active, until `room` supersteps have run, or until the limit of one launch
        is reached.
        """
        if not self._begun:
            self._begin()
        rows: list[Done] = []
        more = self._some(room)
        while more:
            rows += more
            if rows[-1].active or not self._waiting() or len(rows) == room:
                break
            more = self._some(None if room is None else room - len(rows))
        if not rows:  # the first frontier was empty
            self._stats = Stats()
            rows = [Done(0, MODES[0], 0)]
        if rows[-1].active == 0 and self._waiting():  # the far pile still has vertices
            self._stats = Stats(self._stats.changed, self._waiting())
            rows[-1] = rows[-1]._replace(active=self._stats.active)
        self._done = rows[-1]
        return rows

    def close(self) -> None:
        """Free the memory, and restore the second buffers of the fields."""
        self._machine.in_place(self._stage, False)
        self._arena.close()

    # --------------------------------------------------------------------------------------------------- launches
    def _some(self, room: int | None) -> list[Done]:
        """Run between one and `room` supersteps, or no superstep if the frontier is empty."""
        rows = [] if self._large else self._walk(min(_ROWS, room or _ROWS))
        return rows or (self._one() if self._large else [])

    def _waiting(self) -> int:
        """Return the number of vertices that are on the far pile, or that left the far pile after the last superstep.
        """
        control = self._control
        if not self._priority:
            return 0
        return int(control[f"piled[{control['pile']}]"] + control[f"counts[{control['step'] % 3}].entries"])

    def _begin(self) -> None:
        """Build the first frontier: all vertices with a value to push."""
        self._begun = True
        self._control.start({"least[0]": NEVER, "least[1]": NEVER, "start": NEVER, "bound": float("-inf")},
                            self._before(), self._arena["queues[0]"])
        self._open()
        self._paged.begin()
        self._frontier(FROM_START, self._priority)
        if self._large:
            self._paged.find()
            self._control.fetch()

    def _before(self) -> NDArray[np.uint64]:
        return np.resize(self._words, (self._control.pointer - self._arena["table"]) // 8)

    def _open(self) -> None:
        if self._gpu.push == "cells":
            machine = self._machine
            machine.launch("open_cells", self._gpu.struct, (), self._wide(), (machine.frame, machine.n))

    def _wide(self) -> int:
        """Return the number of blocks for a kernel over all vertices."""
        most = _BEGINNING * self._machine.device.info.multiprocessors
        return max(1, min(most, -(-self._machine.n // THREADS)))

    def _frontier(self, origin: int, priority: int) -> None:
        self._machine.launch("begin_frontier", self._gpu.struct, (origin, priority), self._wide(),
                             (self._machine.frame, self._arena["table"]), shared=desk_bytes(THREADS))

    def _walk(self, most: int) -> list[Done]:
        machine, struct, self._paged.marks = self._machine, self._gpu.struct, None
        arguments = machine.frame, self._arena["table"], most
        if self._control["reason"] == ENDED_FEW:
            machine.launch("traverse_few", struct, (), CLUSTER, arguments, shared=few_bytes(self._few),
                           threads=CLUSTER_THREADS)
        else:
            if self._met:
                self._control.clear("arrived", "arrived")
            self._met = True
            blocks = max(1, machine.resident("traverse", struct, (self._priority,), WALKING, self._shared))
            machine.launch("traverse", struct, (self._priority,), blocks, arguments, shared=self._shared,
                           threads=WALKING, cooperative=True)
        rows = self._ended()
        self._large = self._control["reason"] == ENDED_LARGE
        for kind, pushed in ((self._out_kind, True), (self._kind, False)):
            edges = sum(row.edges for row in rows if (row.mode == MODES[0]) == pushed)
            if edges:
                machine.read_in_place(kind, self._stage, edges)
        return rows

    def _one(self) -> list[Done]:
        """Run a full pass, or a superstep over the pages of the frontier; does nothing if the frontier is empty."""
        step = self._control["step"]
        coming = f"counts[{step % 3}]"
        if self._control[f"{coming}.entries"] == 0:
            return []
        if self._control[f"{coming}.edges"] >= self._full_from:
            return [self._full()]
        self._paged.superstep(step)
        rows = self._ended()
        self._large = self._paged_only or self._control[f"counts[{(step + 1) % 3}].edges"] >= self._leave
        return rows

    def _ended(self) -> list[Done]:
        """Return the records of the supersteps of the last launch."""
        rows: NDArray[Any] = self._control.fetch()
        if len(rows):
            self._stats = Stats(int(rows[-1, 1]), int(rows[-1, 0]))
        return [Done(active, MODES[mode], edges) for active, _, edges, mode in rows.tolist()]

    def _full(self) -> Done:
        """Run a full pass; the vertices that change become the next frontier."""
        machine = self._machine
        in_place = self._gpu.push == "direct"
        machine.in_place(self._stage, in_place)
        edges = machine.run_full(self._stage)
        self._stats = machine.counted()
        machine.in_place(self._stage, True)
        self._open()
        self._control.clear("counts[0].entries", "counts[2].touched")
        self._arena.fill("bits[0]")
        self._arena.fill("bits[1]")
        self._paged.begin()
        self._frontier(FROM_NOTIFY, 0)
        self._large = self._paged_only
        if self._large:
            self._paged.find()
            self._control.fetch()
        return Done(self._stats.active, "pull", edges)
