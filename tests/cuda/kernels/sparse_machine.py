"""A machine with one hand-written pass on an emulated device, for tests of sparse supersteps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.cuda.emulation.emulated import EmulatedDevice
from vlang.emit.cuda.cuda_target import CudaTarget
from vlang.runtime.engine.machine import Stats
from vlang.runtime.gpu.device.device import Buffer, Device, Kernel, Stream
from vlang.runtime.gpu.kernels.entries import entry, shared_bytes
from vlang.runtime.gpu.kernels.sparse_layout import MARK_WORDS, NEVER, SPARSE_PREPARATIONS
from vlang.runtime.gpu.passes.sparse import Loaded, OnePage, OneSlice, SliceWork, SparseState, SparseTopology
from vlang.runtime.gpu.topology.slices import Sliced, cut_slices
from vlang.runtime.gpu.topology.transfers import Marks, Transfer
from vlang.runtime.plan.gpu_stage import GpuStage
from vlang.runtime.plan.plan import (
    ROW_BEGIN,
    ROW_COLUMNS,
    ROW_END,
    ROW_OFFSETS,
    ROW_TARGETS,
    ROW_WORDS,
    SEGMENT,
    SLOT_STATS,
    StageSpec,
)

__all__ = ["Arcs", "SampleMachine", "sample_text"]

_SLOTS = {"field:x": 8, "next:x": 9, "work:notify.s": 10, "work:sent": 11, "work:push": 12, "part:s": 13,
          "work:active": 14}
_STATS, _WORDS = 32, 40

KERNELS: tuple[tuple[str, str, tuple[int, ...]], ...] = (
    ("traverse", "bfs", (0,)), ("begin_frontier", "bfs", (0, 0)), ("traverse_few", "bfs", ()),
    ("traverse_few", "sssp", ()),
    ("traverse", "least", (0,)), ("begin_frontier", "least", (0, 0)), ("begin_frontier", "least", (1, 0)),
    ("traverse", "sssp", (0,)), ("begin_frontier", "sssp", (0, 0)), ("begin_frontier", "sssp", (1, 0)),
    ("traverse", "sssp", (1,)), ("begin_frontier", "sssp", (0, 1)),
    ("traverse", "tree", (0,)), ("begin_frontier", "tree", (0, 0)), ("begin_frontier", "tree", (1, 0)),
    ("open_cells", "tree", ()), ("send_queue", "tree", ()), ("send_frontier", "tree", ()), ("apply_pushed", "tree", ()),
    *(("push_slice", struct, (0,)) for struct in ("bfs", "least", "sssp", "tree")), ("push_slice", "sssp", (1,)),
    ("pull_thread", "least", ()), ("pull_thread", "sssp", ()),
    ("pull_thread", "tree", ()), ("messages", "tree", ()),
    *((name, struct, ()) for name in ("segments", "finish", "segments_list", "finish_list")
      for struct in ("least", "sssp", "tree")),
    *(("pull_list", struct, (lanes,)) for struct in ("least", "sssp", "tree") for lanes in (2, 4, 16)),
)


@cache
def sample_text() -> str:
    """Return the text of the skeletons, followed by the samples."""
    samples = (Path(__file__).parent / "sparse_samples.cuh").read_text()
    return CudaTarget().module((), (), (), {}).text + samples


@dataclass(frozen=True)
class Arcs:
    """An adjacency: offsets int64[n + 1], targets uint32[m], weights f32[m]."""

    offsets: NDArray[np.int64]
    targets: NDArray[np.uint32]
    weights: NDArray[np.float32]

    @staticmethod
    def of(n: int, tails: NDArray[Any], heads: NDArray[Any], weights: NDArray[Any]) -> Arcs:
        """Return the adjacency of the arcs from tails to heads, with rows by tail."""
        order = np.argsort(tails, kind="stable")
        offsets = np.zeros(n + 1, dtype=np.int64)
        np.cumsum(np.bincount(tails, minlength=n), out=offsets[1:])
        return Arcs(offsets, heads[order].astype(np.uint32), weights[order].astype(np.float32))

    @property
    def tails(self) -> NDArray[np.int64]:
        """The tail of each arc."""
        return np.repeat(np.arange(len(self.offsets) - 1), np.diff(self.offsets))

    def turned(self) -> Arcs:
        """Return the adjacency of the reversed arcs."""
        return Arcs.of(len(self.offsets) - 1, self.targets.astype(np.int64), self.tails, self.weights)


class SampleMachine:
    """A `vlang.runtime.gpu.passes.sparse.SparseMachine`.

    Args:
        device: an emulated device.
        arcs: the arcs of each adjacency direction.
        field: initial values of the field.
        pages: number of pages.
        parts: the number of partial results of a pass.
        reading: how kernels read pages (see SparseTopology).
        leave: see SparseTopology.
    """

    def __init__(
        self, device: EmulatedDevice, arcs: Mapping[str, Arcs], field: NDArray[Any], pages: int = 1,
        parts: int = 8, reading: str = "rows", leave: int = NEVER,
    ) -> None:
        self.device: Device = device
        self.state: SparseState = self
        self.n = len(field)
        self.reading, self.leave = reading, leave
        entries = [entry(*key[:2], *key[2]) for key in KERNELS] + [entry(name) for name in SPARSE_PREPARATIONS]
        loaded = device.load(sample_text(), dict(entries))
        keys = [*KERNELS, *((name, "", ()) for name in SPARSE_PREPARATIONS)]
        self._kernels: dict[tuple[str, str, tuple[int, ...]], Kernel] = {
            key: loaded[name] for key, (name, _) in zip(keys, entries)}
        self._buffers: list[Buffer] = []
        self._size = field.itemsize
        self._words = np.zeros(_WORDS, dtype=np.uint64)
        padded = -(-self.n // 16) * 16 + 16
        sizes = {"field:x": field.itemsize, "next:x": field.itemsize, "work:notify.s": 1, "work:sent": 4,
                 "work:push": 8, "work:active": 1}
        self._pointers = {slot: self._zeroed(padded * size) for slot, size in sizes.items()}
        self._starts: dict[str, int] = {}
        self.topologies = {kind: self._topology(kind, one, pages) for kind, one in arcs.items()}
        self._pointers["part:s"] = self._zeroed(16 * max(1, *(t.segment_count for t in self.topologies.values())))
        device.upload(self._pointers["field:x"], field)
        device.upload(self._pointers["next:x"], field)
        for slot, number in _SLOTS.items():
            self._words[number] = self._pointers[slot]
        self._frame = self._zeroed(8 * _WORDS)
        self._words[SLOT_STATS] = self._frame + 8 * _STATS
        self._in_place = False
        self.compared = 0
        self._dtype = field.dtype

    def _zeroed(self, nbytes: int) -> int:
        self._buffers.append(self.device.allocate(max(1, nbytes), "a test"))
        self.device.fill(self._buffers[-1].pointer, max(1, nbytes), 0)
        return self._buffers[-1].pointer

    def _upload(self, array: NDArray[Any]) -> int:
        pointer = self._zeroed(array.nbytes)
        if array.nbytes:
            self.device.upload(pointer, np.ascontiguousarray(array))
        return pointer

    def _topology(self, kind: str, arcs: Arcs, pages: int) -> SparseTopology:
        """Divide the arcs into pages with about the same number of vertices."""
        cuts = arcs.offsets[np.linspace(0, self.n, pages + 1).astype(np.int64)]
        offsets = self._upload(arcs.offsets.astype(np.uint64))
        rows = np.zeros((pages, ROW_WORDS), dtype=np.uint64)
        for page, (begin, end) in enumerate(zip(cuts[:-1].tolist(), cuts[1:].tolist())):
            rows[page, ROW_OFFSETS], rows[page, ROW_BEGIN], rows[page, ROW_END] = offsets, begin, end
            rows[page, ROW_TARGETS] = self._upload(arcs.targets[begin:end]) - 4 * begin
            rows[page, ROW_COLUMNS] = self._upload(arcs.weights[begin:end]) - 4 * begin
        segments: list[tuple[int, int, int]] = []
        longs: list[tuple[int, int, int]] = []
        for v in np.flatnonzero(np.diff(arcs.offsets) > SEGMENT).tolist():
            starts = range(int(arcs.offsets[v]), int(arcs.offsets[v + 1]), SEGMENT)
            longs.append((v, len(segments), len(segments) + len(starts)))
            segments += [(v, s, min(s + SEGMENT, int(arcs.offsets[v + 1]))) for s in starts]
        table = np.array(segments, dtype=np.int64).reshape(-1, 3)
        long_rows = np.array(longs, dtype=np.int64).reshape(-1, 3)
        self._starts[kind] = self._upload(cuts.astype(np.uint64))
        marks = self._zeroed(8 * MARK_WORDS * (pages + 1)) if self.reading != "rows" else 0
        return SparseTopology(self._upload(rows), pages, offsets, len(arcs.targets), self._upload(table), len(table),
                              self._upload(long_rows), len(long_rows), self.reading, self.leave, self._starts[kind],
                              marks)

    # ------------------------------------------------------------------------------- the interface that loops use
    @property
    def frame(self) -> int:
        """The address of the frame. Reading this property does not change the counts."""
        self.device.upload(self._frame, self._words[:_STATS])
        return self._frame

    def sparse_topology(self, kind: str, stage: StageSpec | None) -> SparseTopology:
        """Return the topology of an adjacency direction."""
        return self.topologies[kind]

    def launch(
        self, template: str, struct: str, constants: Sequence[int], blocks: int, args: Sequence[int], *,
        shared: int = 0, threads: int = 256, cooperative: bool = False, stream: Stream | None = None,
    ) -> None:
        """Queue a kernel."""
        kernel = self._kernels[template, struct, tuple(constants)]
        self.device.launch(kernel, blocks, threads, args, shared, stream, cooperative)

    def needed(self, kind: str, stage: StageSpec | None, items: int, count: int, queued: bool) -> Transfer:
        """Return all pages."""
        return Transfer(tuple(range(self.topologies[kind].pages)))

    def over_pages(self, kind: str, stage: StageSpec | None, transfer: Transfer, launch: OnePage) -> None:
        """Launch a kernel once per page. Every launch has a separate stream."""
        begin = self.device.record()
        for page in transfer.whole:
            stream = self.device.stream()
            self.device.wait(begin, stream)
            launch(self.topologies[kind].rows + 8 * ROW_WORDS * page, stream)
            self.device.wait(self.device.record(stream))

    def counted_pages(self, kind: str, stage: StageSpec) -> Marks:
        """Return the counts of the kernels that have found the vertices of the next superstep."""
        marks = np.zeros((self.topologies[kind].pages + 1, MARK_WORDS), dtype=np.int64)
        self.device.download(marks, self.topologies[kind].marks)
        self.compared += 1
        return Marks.of(marks)

    def sorted_queue(
        self, kind: str, stage: StageSpec, queue: int, count: int, target: int, marks: Marks | None = None
    ) -> Sliced:
        """Return all pages with active edges, to be copied whole. Known counts must equal those of a separate pass."""
        pages, starts = self.topologies[kind].pages, self._starts[kind]
        counts = np.zeros((pages + 1, MARK_WORDS), dtype=np.int64)
        at = self._upload(counts)
        self.launch("mark_queue", "", (), 2, (self.topologies[kind].offsets, starts, pages, queue, count, at))
        self.device.download(counts, at)
        found = Marks.of(counts)
        if marks is not None:
            assert marks.rest == found.rest
            for name in ("vertices", "edges", "heavy", "lines"):
                assert np.array_equal(getattr(marks, name), getattr(found, name)), name
        sliced, places = cut_slices(found, Transfer(tuple(np.flatnonzero(found.edges).tolist())), target)
        self.launch("sort_queue", "", (), 2, (self.topologies[kind].offsets, starts, pages, queue, count,
                                              self._upload(places), target))
        return sliced

    def over_slices(
        self, kind: str, stage: StageSpec | None, sliced: Sliced, launch: OneSlice, again: Loaded | None = None
    ) -> None:
        """Launch a kernel once per page. Every launch has a separate stream."""
        assert again is None
        rows, begin = self.topologies[kind].rows, self.device.record()
        for (page, *_), piece in [*sliced.tasks.items(), ((0,), sliced.rest)]:
            stream = self.device.stream()
            self.device.wait(begin, stream)
            if piece.count:
                launch(SliceWork(rows + 8 * ROW_WORDS * page, 1, sliced.queue + 8 * piece.first, piece.heavy,
                                 piece.light, 0), stream)
            self.device.wait(self.device.record(stream))

    def read_in_place(self, kind: str, stage: StageSpec | None, edges: int) -> None:
        """Do nothing, since all edges are in one memory."""

    def resident(self, template: str, struct: str, constants: Sequence[int], threads: int, shared: int) -> int:
        """Return the number of blocks that run at the same time."""
        return self.device.resident(self._kernels[template, struct, tuple(constants)], threads, shared)

    def pointer(self, slot: str) -> int:
        """Return the address of an array."""
        return self._pointers[slot]

    def itemsize(self, slot: str) -> int:
        """Return the bytes of a value."""
        return self._size

    def in_place(self, stage: StageSpec, on: bool) -> None:
        """Make next:x an alias of field:x, so that updates are in place."""
        self._in_place = on
        self._words[_SLOTS["next:x"]] = self._pointers["field:x" if on else "next:x"]

    def run_full(self, stage: StageSpec) -> int:
        """Run a pull over all vertices."""
        assert stage.gpu is not None
        assert stage.domain is not None
        gpu, topology = stage.gpu, self.topologies[stage.domain]
        self.clear_stats()
        if "messages" in stage.kernels:
            self.launch("messages", gpu.struct, (), 2, (self.frame, 0, self.n), shared=64)
        self.set_word(3, topology.segments)
        self.set_word(4, topology.longs)
        bounds = np.linspace(0, self.n, topology.pages + 1).astype(np.int64).tolist()
        for page in range(topology.pages):
            row = topology.rows + 8 * ROW_WORDS * page
            self.launch("pull_thread", gpu.struct, (), 2, (self.frame, row, bounds[page], bounds[page + 1]), shared=64)
        if topology.segment_count:
            assert topology.pages == 1
            self.launch("segments", gpu.struct, (), 2, (self.frame, topology.rows, 0, topology.segment_count),
                        shared=shared_bytes("segments", gpu))
            self.launch("finish", gpu.struct, (), 2, (self.frame, 0, topology.long_count), shared=64)
        if not self._in_place:
            self.swap()
        return topology.edges

    def swap(self) -> None:
        """Exchange the buffers of the field."""
        pointers = self._pointers
        pointers["field:x"], pointers["next:x"] = pointers["next:x"], pointers["field:x"]
        self.set_word(_SLOTS["field:x"], pointers["field:x"])
        self.set_word(_SLOTS["next:x"], pointers["next:x"])

    def counted(self) -> Stats:
        """Return the counts of the last pass."""
        counts = np.zeros(2, dtype=np.uint64)
        self.device.download(counts, self._frame + 8 * _STATS)
        return Stats(*counts.tolist())

    def clear_stats(self) -> None:
        """Reset the counts to zero."""
        self.device.fill(self._frame + 8 * _STATS, 32, 0)

    def set_word(self, number: int, value: int) -> None:
        """Set a word of the frame."""
        self._words[number] = value

    def field(self) -> NDArray[Any]:
        """Return the values of the field."""
        values = np.zeros(self.n, dtype=self._dtype)
        self.device.download(values, self._pointers["field:x"])
        return values

    def set_active(self, active: NDArray[np.uint8]) -> None:
        """Set the vertices that are active under `activate when`."""
        self.device.upload(self._pointers["work:active"], active)


def stage_of(struct: str, domain: str = "in", push: str = "direct", early: str = "", priority: str = "",
             messages: bool = False) -> StageSpec:
    """Return the stage (the code of one pass) of a sample."""
    kernels = {"pull": "pull"} | ({"messages": "messages"} if messages else {})
    gpu = GpuStage(struct, item=8, accumulator=8, push=push, early=early, priority=priority)
    against = {"in": "out", "out": "in", "both": "both"}[domain]
    return StageSpec("s", domain, kernels, (), ("x",), ("x",), True, against, True, gpu)
