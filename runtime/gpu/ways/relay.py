"""Notify-pull on a GPU with many supersteps of a loop in one launch, without the host in between.

The kernels and lists come from `vlang.runtime.gpu.ways.notifying`. Passes run one after the other, separated by
barriers of the whole grid (vlang/emit/cuda/skeletons/relay.cuh), until no vertex is active or full passes are cheaper.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from vlang.runtime.engine.machine import Done
from vlang.runtime.gpu.kernels.entries import shared_bytes
from vlang.runtime.gpu.kernels.sparse_layout import NEVER, STATION, TOUR, desk_bytes
from vlang.runtime.gpu.passes.gpu_frontier import Arena, Control, table_words
from vlang.runtime.gpu.passes.gpu_scratch import whole_name
from vlang.runtime.gpu.passes.sparse import SparseMachine
from vlang.runtime.gpu.ways.notifying import NotifyPull, lanes_of
from vlang.runtime.plan.plan import SLOT_LONGS, SLOT_SEGMENTS, THREADS, LoopSpec, StageSpec

__all__ = ["Relay", "relay_kernel", "relay_sizes", "relays"]

_ROWS = 4096  # maximum number of supersteps per launch
_BLOCKS = 2  # blocks per multiprocessor; with more blocks, barriers take longer
_WATCHED = 16  # maximum number of supersteps per launch if the engine searches for repeated states
_MOST_MOVES = 32  # maximum number of fields with two buffers plus fields that are copied at the start of a superstep


def relays(spec: LoopSpec) -> bool:
    """Return whether the supersteps of a loop can run without the host in between.

    The result is True if three conditions hold. The loop ends only when no vertex is active. All passes over edges may
    skip vertices, and have the same adjacency direction. A pass over vertices counts active vertices and writes no
    field.
    """
    edges = [stage for stage in spec.stages if stage.domain is not None]
    rest = [stage for stage in spec.stages if stage.domain is None]
    fields = sum(len(stage.swaps) for stage in edges) + len(spec.starts)
    return (
        bool(edges) and len(spec.stages) == len(spec.steps) and fields <= _MOST_MOVES
        and spec.until is None and not spec.reads_iteration and not (spec.exact and spec.limit is not None)
        and all(stage.notify is not None and stage.sole for stage in edges)
        and len({stage.domain for stage in edges}) == 1
        and (not rest or (rest == [spec.stages[-1]] and not rest[0].written)) and spec.stages[-1].loop_end
    )


def relay_kernel(spec: LoopSpec, edges: int, vertices: int) -> tuple[str, str, tuple[int, ...]]:
    """Return the kernel (template, struct, constants) that runs the supersteps of a loop that satisfies `relays`.

    `edges` and `vertices` are the numbers of edges and vertices of the adjacency that the loop reads.
    """
    lanes = lanes_of(edges, vertices)
    phases = [f"Ending<{stage.name}>" if stage.domain is None
              else f"{'Whole' if stage.structures else ''}Phase<{stage.name}, {lanes}>" for stage in spec.stages]
    return "relay", f"Passes<{', '.join(phases)}>", ()


def relay_sizes(spec: LoopSpec) -> dict[str, int]:
    """Return the size in bytes of each piece of memory that a `Relay` allocates in addition to its passes, by name."""
    return {"stations": 8 * len(STATION) * len(spec.stages), "tour": 8 * len(TOUR), "control": Control.bytes(_ROWS),
            "moves": 24 * _MOST_MOVES}


class Relay:
    """Runs supersteps of a loop that satisfies `relays`.

    Args:
        machine: the machine of the run.
        spec: the loop.
        lists: the passes over edges, by name of the stage.
        auto: whether to return to the host when full passes become cheaper.

    Raises:
        OutOfMemory: there is no memory for the tables.
    """

    def __init__(self, machine: SparseMachine, spec: LoopSpec, lists: dict[str, NotifyPull], auto: bool) -> None:
        self._machine, self._spec, self._lists, self._auto = machine, spec, lists, auto
        self._arena = Arena(machine.device, relay_sizes(spec), "the supersteps of one launch")
        self._control = Control(machine.device, self._arena["control"], _ROWS)
        self._control.start({})
        first = next(iter(lists.values()))
        self._kernel = relay_kernel(spec, first.pulls.edges, machine.n)
        self._shared = max(desk_bytes(THREADS), *(self._needs(stage) for stage in spec.stages))
        resident = machine.resident(*self._kernel, THREADS, self._shared)
        self._blocks = max(1, min(resident, _BLOCKS * machine.device.info.multiprocessors))

    @staticmethod
    def _needs(stage: StageSpec) -> int:
        """Return the most bytes of shared memory that any kernel of a pass needs."""
        if stage.domain is None:
            return shared_bytes("compute", stage.gpu)
        pull = whole_name(stage, "pull_list") if stage.structures else "pull_lanes"
        others = (whole_name(stage, "segments"), whole_name(stage, "finish_list"))
        return max(shared_bytes(name, stage.gpu) for name in (pull, *others))

    def room(self, done: int, asked: int | None) -> int:
        """Return the maximum number of supersteps in the next launch, after `done` supersteps.

        If a loop might never end, the engine compares states at intervals to find a repetition (see CycleWatch). The
        engine copies the state after 1, 2, 4, 8, ... supersteps, so a launch ends at the next of these numbers at the
        latest.
        """
        most = min(_ROWS, asked or _ROWS)
        if self._spec.asynchronous or self._spec.limit is not None:
            return most
        return min(most, _WATCHED, (1 << done.bit_length()) - done)

    def run(self, most: int, in_place: bool) -> list[Done]:
        """Run at most `most` supersteps, in place or not, and wait for their end; returns their records."""
        machine, arena, spec = self._machine, self._arena, self._spec
        moves: list[tuple[int, int, int]] = []
        stations: list[dict[str, int]] = []
        for stage in spec.stages:
            stations.append({"vertices": machine.n})
            if stage.domain is not None:
                swaps = () if in_place else stage.swaps
                stations[-1] |= self._lists[stage.name].station(in_place) | {
                    "moves": arena["moves"] + 24 * len(moves), "moved": len(swaps)}
                moves += [(machine.pointer(f"field:{name}"), machine.pointer(f"next:{name}"),
                           machine.itemsize(f"field:{name}")) for name in swaps]
                if not self._auto:
                    stations[-1]["most"] = NEVER
        tour = {"control": self._control.pointer, "records": self._control.records,
                "copies": arena["moves"] + 24 * len(moves), "copied": len(spec.starts)}
        for name in spec.starts:
            words = -(-machine.n * machine.itemsize(f"field:{name}") // 8)
            moves.append((machine.pointer(spec.slot("start", name)), machine.pointer(f"field:{name}"), words))
        self._describe(stations, tour, moves)
        self._control.clear("arrived", "reason")
        self._control.clear("worked", "worked")
        self._longs(spec.stages)
        machine.launch(*self._kernel, self._blocks, (machine.frame, arena["stations"], arena["tour"], most),
                       shared=self._shared, cooperative=True)
        rows = self._control.fetch()
        first = next(stage for stage in spec.stages if stage.domain is not None)
        machine.read_in_place(first.domain or "in", first, int(rows[:, 2].sum()))
        return [Done(active, "notify-pull", edges) for active, _, edges, _ in rows.tolist()]

    def _describe(
        self, stations: Sequence[dict[str, int]], tour: dict[str, int], moves: Sequence[tuple[int, int, int]]
    ) -> None:
        """Write the structs with the addresses of arrays for the kernel."""
        device, arena = self._machine.device, self._arena
        device.upload(arena["stations"], np.concatenate([table_words(words, STATION) for words in stations]))
        device.upload(arena["tour"], table_words(tour, TOUR))
        if moves:
            device.upload(arena["moves"], np.array(moves, dtype=np.uint64))

    def _longs(self, stages: Sequence[StageSpec]) -> None:
        """Write the addresses of the tables of long vertices to the frame."""
        topology = next(self._lists[stage.name].pulls for stage in stages if stage.domain is not None)
        self._machine.state.set_word(SLOT_SEGMENTS, topology.segments)
        self._machine.state.set_word(SLOT_LONGS, topology.longs)

    def close(self) -> None:
        """Free the memory."""
        self._arena.close()
