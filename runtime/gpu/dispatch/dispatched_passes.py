"""Full passes whose pages are dispatched to the GPU and the CPU, by alpha or by a recorded split.

Source: Ma et al., "Garaph: efficient GPU-accelerated graph processing on a single machine with balanced replication",
USENIX ATC 2017, sections 4.1 and 5.1. Before a pass, the values that the CPU reads are copied to host memory. The CPU
pulls from the page lists of the graph in host memory, so that the pages of the CPU are not copied. Then the values and
counts of the CPU are merged with the values and counts of the GPU.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import field
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vlang.records import dataclass
from vlang.runtime.cpu.passes.edge_costs import costs_of
from vlang.runtime.engine.machine import Stats
from vlang.runtime.gpu.device.device import Event, Stream
from vlang.runtime.gpu.dispatch.deque import PageDeque, Unit, units_of
from vlang.runtime.gpu.dispatch.rows_machine import RowsMachine
from vlang.runtime.gpu.dispatch.shared_stages import SharedStage, alone, shared_stages
from vlang.runtime.gpu.dispatch.speeds import Speeds, last_units, share_of
from vlang.runtime.gpu.topology.cut import Part, long_rows
from vlang.runtime.gpu.topology.sides import DiskSide
from vlang.runtime.gpu.topology.topology import AUTO_STREAMS, Topology
from vlang.runtime.gpu.ways.full_passes import FullPasses
from vlang.runtime.plan.gpu_stage import GpuStage
from vlang.runtime.plan.plan import Plan, StageSpec
from vlang.runtime.threads.tasks import Task

__all__ = ["DispatchedPasses"]

_NANO = 1e-9


@dataclass
class _Record:
    """The share of the CPU in a pass so far: in each superstep, the CPU took `pages` of the `of` pages."""

    pages: list[int]
    of: int
    alpha: float
    speeds: Speeds


@dataclass
class DispatchedPasses(FullPasses):
    """The topology of a run, and full passes over it, with the CPU as a second device.

    Attributes:
        plan_for: compiles the program for the CPU.
        target: the device address of the array to which a pass writes a field.
        cpu: the arrays and kernels of the CPU; None if the CPU runs no pages in this run.
    """

    plan_for: Callable[[], Plan] = field(kw_only=True)
    target: Callable[[StageSpec, str], int] = field(kw_only=True)
    cpu: RowsMachine | None = None
    _shared: dict[str, SharedStage] = field(default_factory=dict)
    _units: dict[str, list[Unit]] = field(default_factory=dict)
    _fixed: Fraction | None = None  # the share of the pages for the CPU
    _records: dict[str, _Record] = field(default_factory=dict)
    _queued: deque[Event] = field(default_factory=deque)
    _why: dict[str, str] = field(default_factory=dict)  # by pass, why the GPU runs it alone

    def open(self) -> None:
        """Create the topology and, if the CPU may take streamed pages, the arrays of the CPU."""
        super().open()
        machine, asked = self.machine, self.machine.options.dispatch
        if asked != "alpha":
            self._fixed = Fraction(asked)
        for stage in machine.plan.stages:
            if stage.domain is not None:
                self._why[stage.name] = alone(machine.plan, stage) or self._unpaged(self.topologies[stage.domain])
        if all(self._why.values()):
            return
        plan = self.plan_for()
        self._shared = {name: one for name, one in shared_stages(machine.plan, plan).items() if not self._why[name]}
        for name in [name for name, why in self._why.items() if not why and name not in self._shared]:
            self._why[name] = "the CPU computes it from other arrays"
        if not self._shared:
            return
        self.cpu = RowsMachine(plan, machine.graph, machine.options, self._shared)
        for one in self._shared.values():
            for slot in dict.fromkeys((*one.whole, *one.own, *(f"next:{name}" for name in one.stage.swaps))):
                array = self.cpu.state.arrays[slot]
                self.cpu.state.put(slot, machine.device.host(len(array), array.dtype))
            kind = one.stage.domain or "in"
            topology = self.topologies[kind]
            self._units[kind] = units_of(topology.layout.cut, topology.side.offsets.view(np.int64))

    def _unpaged(self, topology: Topology) -> str:
        """Return the reason why there are no pages for the CPU; "" if there are such pages."""
        if topology.resident:
            return "all of its edges are on the GPU"
        return "its edges are on disk" if isinstance(topology.side, DiskSide) else ""

    # -------------------------------------------------------------------------- passes
    def run(self, stage: StageSpec) -> int:
        """Run a full pass over edges on both devices; returns the number of edges."""
        one = self._shared.get(stage.name)
        if one is None or self.cpu is None:
            return super().run(stage)
        topology, units, taken = self.topologies[stage.domain or "in"], self._units[stage.domain or "in"], self._of(one)
        last = self._last(one, units, taken)
        pages = PageDeque(units, topology.order(), last)
        self._copy_scalars()
        begin, work = time.perf_counter(), Task(lambda: self._pull(one, pages))

        def start() -> None:
            self._fetch(one, 0 if last is None else _low(units, last))
            work.begin()

        try:
            self.sweep(stage, self._from_front(pages, start))
            for low, high in _gaps(_ranges(pages.for_cpu), self.machine.n):
                longs = long_rows(topology.side).longs[:, 0]
                self.finish(stage, *np.searchsorted(longs, (low, high)).tolist())
            self.machine.device.synchronize()
        except BaseException:
            pages.stop()
            raise
        finally:
            gpu = time.perf_counter() - begin
            work.wait()
        stats, seconds = work.result()
        self._merge(one, _ranges(pages.for_cpu), stats)
        edges = sum(unit.edges for unit in pages.for_cpu)
        taken.pages.append(sum(unit.end - unit.first for unit in pages.for_cpu))
        taken.speeds.learn(seconds, edges, gpu, topology.edges - edges)
        return topology.edges

    def _of(self, one: SharedStage) -> _Record:
        """Return the record of a pass, with the speeds that earlier runs on the graph have measured."""
        known = self._records.get(one.stage.name)
        if known is None:
            machine, topology = self.machine, self.topologies[one.stage.domain or "in"]
            assert self.cpu is not None
            threads = self.cpu.rows.cpu.threads

            def first() -> Speeds:
                missed = 1 - min(1.0, topology.slots / max(1, topology.pages))
                nbytes = topology.edge_bytes(one.stage.name)
                return Speeds(costs_of(machine.graph.m).pulled * _NANO / threads,
                              nbytes * missed * self.rates.copied + self.rates.gather)

            key = ("speeds", machine.plan.name, one.stage.name, one.stage.columns, machine.device.info.name, threads,
                   topology.slots, topology.pages)
            speeds: Speeds = topology.side.derived(key, first)
            known = self._records[one.stage.name] = _Record([], topology.pages, speeds.alpha, speeds)
        return known

    def _last(self, one: SharedStage, units: Sequence[Unit], taken: _Record) -> int | None:
        """Return the number of units at the end that the CPU takes; None if both devices take units one by one."""
        if one.exact and self.machine.options.dispatch == "alpha":
            return None
        if self._fixed is None:
            if not taken.speeds.measured:
                self._try(one, units[-1], taken)
            self._fixed = share_of(units, last_units(units, Fraction(1 / (1 + taken.alpha))))
        return last_units(units, self._fixed)

    def _try(self, one: SharedStage, unit: Unit, taken: _Record) -> None:
        """Measure the time of a unit on the CPU. The computed values are not used, because the bits of the results
        depend on the split of the pages.
        """
        assert self.cpu is not None
        self._copy_scalars()
        self._fetch(one, unit.low)
        for _ in range(2):  # the first time, memory and caches are cold
            begin = time.perf_counter()
            self.cpu.rows.pull(one.rows, unit.low, unit.high)
            taken.speeds.measured = False
            taken.speeds.learn(time.perf_counter() - begin, unit.edges, 0.0, 0)
        taken.alpha = taken.speeds.alpha

    def _from_front(self, pages: PageDeque, start: Callable[[], None]) -> Iterator[int]:
        """Yield the pages that the GPU takes; waits while enough pages are queued.

        `start` starts the CPU; `start` is called once, when the GPU has enough work.
        """
        device, most, started = self.machine.device, 1 + (self.machine.options.streams or AUTO_STREAMS), False
        self._queued.clear()
        while (unit := pages.front()) is not None:
            yield from range(unit.first, unit.end)
            if len(self._queued) > most and not started:
                started = True
                start()
            while len(self._queued) > most:
                device.reach(self._queued.popleft())
        if not started:
            start()

    def _page(
        self, stage: StageSpec, gpu: GpuStage, frame: int, row: int, part: Part, stream: Stream | None
    ) -> None:
        super()._page(stage, gpu, frame, row, part, stream)
        if stage.name in self._shared:
            self._queued.append(self.machine.device.record(stream))

    # -------------------------------------------------------------------------- the CPU
    def _pull(self, one: SharedStage, pages: PageDeque) -> tuple[Stats, float]:
        """Pull for the vertices of the units that the CPU takes; returns the counts and the seconds."""
        assert self.cpu is not None
        changed = active = 0
        begin = time.perf_counter()
        while units := pages.back():
            for low, high in _ranges(units):
                stats = self.cpu.rows.pull(one.rows, low, high)
                changed, active = changed + stats.changed, active + stats.active
        return Stats(changed, active), time.perf_counter() - begin

    def _copy_scalars(self) -> None:
        """Copy all graph-level values to the CPU; waits for the device."""
        cpu = self.cpu
        assert cpu is not None
        for name, bits in self.machine.state.scalar_bits().items():
            if f"scalar:{name}" in cpu.state.plan.slots:
                cpu.put_scalar_bits(name, bits)

    def _fetch(self, one: SharedStage, low: int) -> None:
        """Copy the arrays that the CPU reads to host memory; arrays that are read only at own vertices are copied from
        vertex `low` to the end.

        During the copy, the GPU may run pages of the pass. These pages write to other arrays, or in place if the order
        of updates does not matter.
        """
        machine = self.machine
        for slots, first in ((one.whole, 0), (one.own, low)):
            for slot in slots:
                at, array = self._rows(slot, machine.pointer(slot), first, machine.n)
                if len(array):
                    machine.device.download(array, at)

    def _merge(self, one: SharedStage, ranges: Sequence[tuple[int, int]], stats: Stats) -> None:
        """Copy the values that the CPU has computed to the device, and add the counts of the CPU."""
        machine = self.machine
        targets = {slot: machine.pointer(slot) for slot in one.back}
        targets |= {f"{'next' if name in one.stage.swaps else 'field'}:{name}": self.target(one.stage, name)
                    for name in one.stage.written}
        for slot, pointer in targets.items():
            for low, high in ranges:
                at, array = self._rows(slot, pointer, low, high)
                if len(array):
                    machine.device.upload(at, array)
        if one.stage.loop_end:
            machine.state.add_stats(stats)

    def _rows(self, slot: str, pointer: int, low: int, high: int) -> tuple[int, NDArray[Any]]:
        """Return the device address and the host array of some vertices.

        Args:
            slot: the array over vertices in host memory.
            pointer: the device address of the array for vertex 0.
            low: the first vertex.
            high: the last vertex plus 1.
        """
        assert self.cpu is not None
        size, array = self.machine.itemsize(slot), self.cpu.state.arrays[slot]
        width = size // array.itemsize
        return pointer + low * size, array[low * width : high * width]

    # -------------------------------------------------------------------------- the result
    def notes(self) -> tuple[str, ...]:
        """See `FullPasses.notes`; also says which pages the CPU took."""
        asked, found = self.machine.options.dispatch, list(super().notes())
        for name, taken in self._records.items():
            few, many = min(taken.pages, default=0), max(taken.pages, default=0)
            pages = f"{few}" if few == many else f"{few} to {many}"
            same = f"; dispatch={few}/{taken.of} gives the same split" if asked == "alpha" and \
                not self._shared[name].exact else ""
            found.append(f"dispatch: the CPU took {pages} of {taken.of} pages in a superstep of pass {name}; alpha was "
                         f"{taken.alpha:.3g} at first, and {taken.speeds.alpha:.3g} at the end{same}")
        for name, why in self._why.items():
            if why:
                found.append(f"dispatch: the GPU ran pass {name} alone: {why}")
            elif name not in self._records:
                found.append(f"dispatch: the GPU ran pass {name} alone: it did not run over all vertices")
        return tuple(found)

    def close(self) -> None:
        """Free the topology of the run, and return the threads of the CPU."""
        if self.cpu is not None:
            self.cpu.close()
            self.cpu = None
        super().close()


def _low(units: Sequence[Unit], last: int) -> int:
    """Return the first vertex of the last units; the end of all vertices if there are none."""
    return units[-last].low if last else units[-1].high


def _ranges(units: Sequence[Unit]) -> list[tuple[int, int]]:
    """Return the vertices of some units, as ranges in increasing order."""
    found: list[tuple[int, int]] = []
    for low, high in sorted((unit.low, unit.high) for unit in units):
        if found and found[-1][1] == low:
            found[-1] = found[-1][0], high
        else:
            found.append((low, high))
    return found


def _gaps(ranges: Sequence[tuple[int, int]], n: int) -> list[tuple[int, int]]:
    """Return the ranges of the vertices from 0 to n - 1 that are in none of the given ranges."""
    ends = [0, *(end for one in ranges for end in one), n]
    return list(zip(ends[::2], ends[1::2]))
