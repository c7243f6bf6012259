"""Passes over the vertices of one rank. Before a pass, ranks exchange the values that it reads."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import astuple, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vlang.records import dataclass
from vlang.runtime.cluster.exchange import Exchange, Unread
from vlang.runtime.cluster.local_graph import RECEIVERS, LocalGraph
from vlang.runtime.cluster.rank_pointed import RankPointed, within
from vlang.runtime.cluster.transports.transport import Transport, gathered, summed
from vlang.runtime.cpu.crew.launch import Cpu
from vlang.runtime.cpu.paged.source import InMemory
from vlang.runtime.cpu.passes.edge_costs import Costs, costs_of
from vlang.runtime.cpu.passes.freedoms import Freedoms
from vlang.runtime.cpu.passes.fused_work import Ahead
from vlang.runtime.cpu.passes.lists import Lists
from vlang.runtime.cpu.passes.passes import Passes
from vlang.runtime.engine.machine import Stats
from vlang.runtime.engine.state import DTYPES
from vlang.runtime.engine.state import flags as new_flags
from vlang.runtime.graph.topology.pages import PageCuts, Pages, vertex_tasks
from vlang.runtime.plan.plan import BLOCK, Fold, StageSpec, field_of
from vlang.runtime.threads.processors import available_threads

__all__ = ["ClusterPasses", "LocalPages", "RankFreedoms"]


class RankFreedoms(Freedoms):
    """The run-time choices of a rank. A choice that affects an exchange depends only on values known to all ranks.

    Args:
        beside: the number of ranks on this machine. The ranks on one machine share its processors.
        blocks: whether the neighbours in rows have increasing local numbers, as cache blocks require.
    """

    def __init__(self, beside: int, blocks: bool = True) -> None:
        self._beside, self._blocks = beside, blocks

    def blocking(self, asked: str) -> str:
        """Return whether full passes run over cache blocks."""
        return asked if self._blocks else "never"

    def cpu(self, threads: int | None) -> Cpu:
        """Return a `Cpu` with an equal share of the processors, unless an option sets the number of threads."""
        return Cpu(threads or max(1, available_threads() // self._beside))

    def levels_together(self) -> bool:
        """Return False, because the ranks exchange values after each level."""
        return False


class LocalPages(InMemory):
    """The pages of a rank. The tasks over the pages cover only vertices that the rank owns."""

    def __init__(self, graph: LocalGraph, page_size: int) -> None:
        super().__init__(graph, page_size)
        self._owned = graph.numbers.low, graph.numbers.high

    def pages(self, kind: str) -> Pages:
        """Return the pages of an adjacency direction."""
        if kind not in self._known:
            made = super().pages(kind)
            if not kind.startswith(RECEIVERS):
                made = replace(made, tasks=within(made.tasks, *self._owned))
            self._known[kind] = made
        return self._known[kind]


@dataclass(frozen=True)
class _Split:
    """The arguments of `Passes.split` for the flags of changed vertices."""

    flags: NDArray[np.uint8]
    bit: int
    pages: PageCuts
    marks: NDArray[np.uint8]


@dataclass
class ClusterPasses(Passes):
    """The passes of one rank.

    A pass first updates the mirrors that it reads, and then runs over the vertices of the rank.

    Attributes:
        transport: the transport of the rank.
        folds: the reductions over vertices of the plan, by kernel.
        senders: the passes that use messages, by the name of the kernel that computes the messages.
        parts: the partial results of the blocks of the whole graph, by slot.
    """

    transport: Transport = field(kw_only=True)
    folds: Mapping[str, Fold] = field(kw_only=True)
    senders: Mapping[str, StageSpec] = field(kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        assert isinstance(self.graph, LocalGraph)
        self.local, self.numbers = self.graph, self.graph.numbers
        low, high = self.vertices = self.numbers.low, self.numbers.high
        self.bound = self.numbers.ranges.n  # values are numbers of the whole graph, rows have local numbers
        self.by_vertex = within(vertex_tasks(high, 4 * BLOCK), low, high)
        self.by_block = vertex_tasks(high, BLOCK)[low // BLOCK :]
        self.ahead = Ahead(self.state, low, high)
        self.exchange = Exchange(self.numbers, self.transport, self.state)
        self.pointed: RankPointed = RankPointed(self.local, self.state, self.cpu.threads, self.transport)
        self._fresh: set[str] = set()  # arrays whose mirrors are up to date
        self._next_reached: int | None = None  # what `reached` will return, summed with the counts of the last pass
        self._unsent: _Split | None = None  # flags that are sent together with the values of the vertices
        self._place_parts()

    @property
    def costs(self) -> Costs | None:
        """The costs per edge measured on rank 0. All ranks use these costs, so that all ranks make the same choices."""
        if self.switching == "published":
            return None
        if self.local.costs is None:
            mine = np.array(astuple(costs_of(self.graph.m)))
            self.local.costs = Costs(*gathered(self.transport, mine, "the costs of an edge")[0].tolist())
        return self.local.costs

    # ------------------------------------------------------------------------------------------------ the exchange
    def _near(self, stage: StageSpec) -> list[str]:
        """Return the arrays that a pass reads at mirrors and whose values at mirrors may be out of date."""
        if stage.pointer:
            return []  # such a pass reads guests
        return [slot for slot in stage.near if slot not in self._fresh and not slot.startswith("degree:")]

    def refresh(self, stage: StageSpec, but: Container[str] = ()) -> None:
        """Update the mirrors that a pass reads, except for the arrays `but`."""
        self.renew([slot for slot in self._near(stage) if slot not in but], f"pass {stage.name}")

    def renew(self, slots: Sequence[str], where: str) -> None:
        """Update the mirrors of arrays that may be out of date."""
        slots = [slot for slot in slots if slot not in self._fresh]
        if slots:
            self.exchange.update(slots, (), None, where)
            self._renewed(slots)

    def _renewed(self, slots: Iterable[str]) -> None:
        """Record that the mirrors of some arrays are up to date.

        Arrays `start:F` are not recorded, because each superstep overwrites these arrays.
        """
        self._fresh.update(slot for slot in slots if not slot.startswith("start"))

    def changed(self) -> None:
        """Note that the state has changed outside of a pass."""
        self._fresh.clear()
        self._next_reached = None

    def forget(self, slot: str) -> None:
        """Note that mirrors of an array were overwritten on all ranks."""
        self.changed()
        self.exchange.forget(slot)

    # ------------------------------------------------------------------------------------------------ passes
    def begin(self, stage: StageSpec) -> None:
        """Do nothing: reductions and messages are computed when they are first needed."""
        self._next_reached = None

    def _everywhere(self, stage: StageSpec) -> int:
        self.refresh(stage)
        with self.pointed.guests(stage):
            edges = super()._everywhere(stage)
        self._fresh.clear()
        return edges

    def listed(self, stage: StageSpec, lists: Lists) -> tuple[Stats, int]:
        """See `Passes.listed`. The lists contain only vertices that this rank owns."""
        self.refresh(stage)
        with self.pointed.guests(stage):
            counted = super().listed(stage, lists)
        self._fresh.clear()
        return counted

    def send_all(self, stage: StageSpec) -> None:
        """Do the same as `Passes.send_all`, but only for vertices that this rank owns."""
        if "messages" in stage.kernels and stage.kernels["messages"] not in self.ahead:
            self._fresh -= set(stage.near)
        super().send_all(stage)

    def send(self, stage: StageSpec, lists: Lists) -> None:
        """Do the same as `Passes.send`, but only for the listed vertices that this rank owns.

        If the lists contain the changed vertices, one exchange then sends the flags and values of these vertices to
        their mirrors. The mirrors that have changed are added to the lists.
        """
        self._fresh -= set(stage.near)
        short, long = (np.searchsorted(vertices, self.vertices).tolist() for vertices in
                       (lists.short[: lists.shorts], lists.long_vertices[: lists.longs]))
        super().send(stage, replace(
            lists, short=lists.short[slice(*short)], long_vertices=lists.long_vertices[slice(*long)],
            shorts=short[1] - short[0], longs=long[1] - long[0]))
        if self._unsent is not None:
            split, self._unsent = self._unsent, None
            slots = [slot for slot in self._near(stage) if not slot.startswith("start")]
            self.exchange.update(slots, (), split.flags, f"changed vertices before pass {stage.name}")
            self._renewed(slots)
            super().split(split.flags, split.bit, split.pages, lists, split.marks)

    def split(
        self, flags: NDArray[np.uint8], bit: int, pages: PageCuts, lists: Lists, marks: NDArray[np.uint8]
    ) -> None:
        """See `Passes.split`.

        The flags of changed vertices are kept for the following call of `send`. Only owned vertices keep their marks.
        """
        if flags is marks:
            marks[: self.numbers.low] = marks[self.numbers.high :] = 0
        else:
            kept = new_flags(len(flags))
            np.copyto(kept, flags)
            self._unsent = _Split(kept, bit, pages, marks)
        super().split(flags, bit, pages, lists, marks)

    def reached(self, flags: NDArray[np.uint8], kind: str) -> int:
        """Return the result of `Passes.reached`, summed over all ranks."""
        found, self._next_reached = self._next_reached, None
        if found is not None:
            return found
        return summed(self.transport, [super().reached(flags, kind)], "edges of changed vertices")[0]

    def receivers(self, kind: str) -> None:
        """Return None: each rank knows only the rows of its own vertices, but all ranks must make the same choice."""

    def agreed(
        self, stage: StageSpec, way: str, stats: Stats, edges: int, flags: NDArray[np.uint8] | None = None
    ) -> tuple[Stats, int]:
        """Return the counts of a pass, summed over all ranks, and the number of edges that all ranks traversed.

        This method also merges the partial results of reductions that were fused into the pass.

        Args:
            stage: the pass. The two buffers of each field that the pass writes must already be swapped.
            way: the mode of the pass; "pull" for a full pass.
            stats, edges: the counts of this rank.
            flags: the flags of changed vertices if the next step needs the number of their edges; otherwise None.
        """
        self._next_reached = None
        folds = [fold for kernel, fold in self.folds.items() if kernel in self.ahead]
        unread = self._fold_first(folds) if folds and self.exchange.padded else None
        if way == "pull":
            whole = self.pointed.entries(stage.pointer) if stage.pointer else \
                0 if stage.domain is None else self.local.entries(stage.domain)
            if not (stage.loop_end or folds):
                return stats, whole
        assert flags is None or stage.notify is not None
        ahead = 0 if flags is None else super().reached(flags, str(stage.notify))
        changed, active, total, ahead = self._merge(
            folds, (stats.changed, stats.active, edges, ahead), f"pass {stage.name}")
        if unread is not None:  # only now, so that no other rank waits while this rank stores many values
            self.exchange.store(unread)
        self._next_reached = None if flags is None else ahead
        return Stats(changed, active), whole if way == "pull" else total

    # ------------------------------------------------------------------------------------------------ reductions
    def fold(self, fold: Fold) -> None:
        """Reduce over all vertices, to one partial result per block, unless a pass has already run the reduction."""
        if fold.kernel in self.ahead:
            return
        if self.exchange.padded:
            self.exchange.update((), self._read_by([fold]), None, f"pads of {fold.kernel}")
        super().fold(fold)
        self._merge([fold], (), fold.kernel)

    def _fold_first(self, folds: Sequence[Fold]) -> Unread:
        """Reduce the first block of this rank again, after the values of the pads have arrived.

        Returns the values of mirrors that have arrived in the same exchange.
        """
        sends = [slot for kernel, stage in self.senders.items() if kernel in self.ahead for slot in self._near(stage)
                 if slot.startswith("work:")]
        unread = self.exchange.receive(sends, self._read_by(folds), None, "values and pads")
        self._renewed(sends)
        if self.numbers.ranges.padded(self.transport.rank) != (0, 0):
            for fold in folds:
                self._launch(fold.kernel, self.by_block[:1], 1, BLOCK)
        return unread

    def _read_by(self, folds: Sequence[Fold]) -> list[str]:
        """Return the arrays over vertices that reductions read, excluding degrees."""
        arrays = {spec.slot for spec in self.state.plan.arrays if spec.length == "vertices"}
        read = dict.fromkeys(slot for fold in folds for slot in fold.arrays)
        return [slot for slot in read if (field_of(slot) is not None or slot in arrays) and slot in self.state.arrays]

    def _place_parts(self) -> None:
        """Allocate space for the partial results of all blocks of the graph.

        The kernels of a rank write the results of the rank's own blocks.
        """
        self.parts: dict[str, NDArray[Any]] = {}
        blocks, first = -(-self.numbers.ranges.n // BLOCK), self.numbers.ranges.blocks(self.transport.rank)[0]
        shift = first - self.numbers.low // BLOCK  # -1 at least, as there are at most as many mirrors as lower vertices
        self._widths: dict[str, int] = {}
        for spec in self.state.plan.arrays:
            if spec.length == "blocks":
                array = np.zeros((blocks + 2) * spec.width, DTYPES[spec.dtype])
                self.parts[spec.slot], self._widths[spec.slot] = array[spec.width :], spec.width
                self.state.put(spec.slot, array[(1 + shift) * spec.width :])

    def _merge(self, folds: Sequence[Fold], numbers: Sequence[int], where: str) -> list[int]:
        """Exchange the partial results of reductions, and return `numbers` summed over all ranks."""
        slots = [slot for fold in folds for slot in fold.arrays if slot in self.parts]
        low, high = self.numbers.ranges.blocks(self.transport.rank)
        mine = [np.array(numbers, np.int64).view(np.uint8)]
        mine += [self._part(slot, low, high).view(np.uint8) for slot in slots]
        found = gathered(self.transport, np.concatenate(mine), where)
        totals = [0] * len(numbers)
        for rank, message in enumerate(found):
            counts = message[: 8 * len(numbers)].copy().view(np.int64).tolist()
            totals = [total + count for total, count in zip(totals, counts)]
            at, (low, high) = 8 * len(numbers), self.numbers.ranges.blocks(rank)
            for slot in slots if rank != self.transport.rank else ():
                target = self._part(slot, low, high)
                target.view(np.uint8)[:] = message[at : at + target.nbytes]
                at += target.nbytes
        return totals

    def _part(self, slot: str, low: int, high: int) -> NDArray[Any]:
        width = self._widths[slot]
        return self.parts[slot][low * width : high * width]

