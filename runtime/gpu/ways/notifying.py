"""Notify-pull on a GPU: a pass over edges that skips vertices without changed inputs (rule N)."""

from __future__ import annotations

import numpy as np

from vlang.runtime.cpu.passes.mode import should_notify
from vlang.runtime.gpu.device.device import Stream
from vlang.runtime.gpu.kernels.entries import shared_bytes
from vlang.runtime.gpu.kernels.sparse_layout import INSIDE, LISTS, TABLE, WITHOUT_EDGES, desk_bytes
from vlang.runtime.gpu.passes.gpu_frontier import Arena, Control, entries_of, table_words
from vlang.runtime.gpu.passes.gpu_scratch import GpuScratch, whole_name
from vlang.runtime.gpu.passes.sparse import SparseMachine, SparseTopology
from vlang.runtime.plan.plan import SLOT_LONGS, SLOT_SEGMENTS, THREADS, StageSpec

__all__ = ["NotifyPull", "lanes_of", "notify_sizes", "notifying_kernels"]

_BLOCKS = 8  # blocks per multiprocessor, if the host does not know the amount of work
_PLAIN = ("count_flagged", "queue_flagged", "notify", "list_marked", "move_values")
_PAGED = ("notify_page", "mark_queue", "mark_pages")
_COUNTS = 8  # words: number of vertices that notify, and of their edges; edges pulled; lengths of the lists


def lanes_of(edges: int, vertices: int) -> int:
    """Return the number of lanes for a listed vertex, chosen so that each lane processes about four edges."""
    lanes = 2
    while lanes < 32 and 4 * lanes * vertices < edges:
        lanes *= 2
    return lanes


def notifying_kernels(
    stage: StageSpec, edges: int, vertices: int, paged: bool = False
) -> list[tuple[str, str, tuple[int, ...]]]:
    """Return the kernels (template, struct, constants) that `NotifyPull` launches.

    Args:
        stage: the pass.
        edges: the number of edges of the adjacency that the pass reads.
        vertices: the number of vertices of the graph.
        paged: whether pages are streamed.
    """
    assert stage.gpu is not None
    struct = stage.gpu.struct
    plain = (*_PLAIN, *(_PAGED if paged else ()))
    found: list[tuple[str, str, tuple[int, ...]]] = [(name, "", ()) for name in plain]
    names = [whole_name(stage, name) for name in ("pull_list", "segments_list", "finish_list")]
    found += [(names[0], struct, (lanes_of(edges, vertices),)), (names[1], struct, ()), (names[2], struct, ())]
    return [*found, ("send_queue", struct, ())] if "messages" in stage.kernels else found


def notify_sizes(n: int, edges: int, longs: int, segments: int) -> dict[str, int]:
    """Return the size in bytes of each piece of memory that a `NotifyPull` allocates, by name.

    Args:
        n: the number of vertices of the graph.
        edges: the number of edges of the adjacency along which changed vertices notify.
        longs: the number of long vertices of the adjacency along which the pass pulls.
        segments: the number of segments of these vertices.
    """
    return {"queues[0]": 8 * entries_of(n, edges), "marks": 8 * -(-n // 8), "all": 4 * n, "longs": 4 * longs,
            "segments": 4 * segments, "counts": 8 * _COUNTS, "control": Control.bytes(0), "table": 8 * len(TABLE),
            "lists": 8 * len(LISTS)}


class NotifyPull:
    """A pass over edges that may run as notify-pull. For a CPU, see vlang.runtime.cpu.ways.superstep.

    Args:
        machine: the machine of the run.
        stage: the pass.
        active: the slot with flags of vertices that must run again, because the result of `activate when` may change;
            "" if there is no such slot.
        scratch: scratch memory for a pass that needs all contributions of a vertex at once; None for other passes.

    Raises:
        OutOfMemory: there is no memory for the lists.
    """

    def __init__(
        self, machine: SparseMachine, stage: StageSpec, active: str, scratch: GpuScratch | None = None
    ) -> None:
        assert stage.notify is not None
        assert stage.domain is not None
        assert stage.gpu is not None
        self._machine, self._stage, self._active, self._scratch = machine, stage, active, scratch
        self._struct = stage.gpu.struct
        self._sparse = machine.sparse_topology(stage.domain, stage)
        self._against = machine.sparse_topology(stage.notify, None)
        n = machine.n
        self._flag_words = -(-n // 8)
        sizes = notify_sizes(n, self._against.edges, self._sparse.long_count, self._sparse.segment_count)
        self._arena = Arena(machine.device, sizes, f"the lists of {n:,} vertices")
        self._control = Control(machine.device, self._arena["control"], 0)
        self._control.start({})
        self._arena.fill("marks")
        self._describe()
        self._blocks = _BLOCKS * machine.device.info.multiprocessors
        self._lanes = lanes_of(self._sparse.edges, n)
        self._listed = False  # whether the list `all` has the vertices of the previous superstep
        self._reached = 0  # the last count of edges out of changed vertices
        self._by_rows = False, False  # whether the last pull, and the last notification, read pages through their rows

    def _describe(self) -> None:
        """Write the structs in which kernels find the addresses of the lists."""
        arena, out, sparse = self._arena, self._against, self._sparse
        self._counts, self._edges, self._lengths = (arena["counts"] + 8 * k for k in (0, 2, 3))
        table = {"vertices": self._machine.n, "rows": out.rows, "pages": out.pages, "offsets": out.offsets,
                 "edges": out.edges, "queues[0]": arena["queues[0]"], "control": self._control.pointer}
        lists = {"all": arena["all"], "longs": arena["longs"], "segments": arena["segments"],
                 "counts": self._lengths, "long_rows": sparse.longs, "long_count": sparse.long_count}
        self._machine.device.upload(arena["table"], table_words(table))
        self._machine.device.upload(arena["lists"], table_words(lists, LISTS))

    @property
    def pulls(self) -> SparseTopology:
        """The adjacency along which the pass gathers."""
        return self._sparse

    @property
    def in_rows(self) -> bool:
        """Return whether kernels can read every page at any time."""
        return self._sparse.reading == self._against.reading == "rows"

    def station(self, in_place: bool) -> dict[str, int]:
        """Prepare the pass to run over lists inside of the kernel `relay`.

        The two buffers of each field that the pass writes are made equal, unless the pass runs in place.

        Returns:
            The values of the members of the struct STATION.
        """
        arena, sparse = self._arena, self._sparse
        if not in_place:
            self._catch_up()
        self._listed = True
        self._reached = 0
        self._control.clear("counts[0].entries", "counts[0].touched")
        pool = self._scratch.block_scratch(self._stage) if self._scratch else ()
        return {
            "table": arena["table"], "lists": arena["lists"], "flags": self._flags, "marks": arena["marks"],
            "also": self._machine.pointer(self._active) if self._active else 0, "words": self._flag_words,
            "rows": sparse.rows, "pages": sparse.pages, "offsets": sparse.offsets, "segments": sparse.segments,
            "long_count": sparse.long_count, "pulled": self._edges, "block_scratch": sum(pool),
            "long_scratch": sum(self._long_scratch()), "most": self._against.edges // 2 + 1,
        }

    @property
    def _flags(self) -> int:
        return self._machine.pointer(f"work:notify.{self._stage.name}")

    def chosen(self, asked: str) -> bool:
        """Return whether to run as notify-pull.

        If the option `mode` is "auto" or "dual", `should_notify` decides. For its decision, this method counts the
        out-edges of changed vertices on the device, and waits for the result.
        """
        if asked not in ("auto", "dual"):
            return asked == "notify-pull"
        machine = self._machine
        machine.device.fill(self._counts, 16, 0)
        self._plain("count_flagged", self._flags, self._flag_words, self._against.offsets, self._counts)
        counts = np.zeros(2, dtype=np.uint64)
        machine.device.download(counts, self._counts)
        self._reached = int(counts[1])
        return should_notify(None, self._reached, self._against.edges)

    def run(self, in_place: bool) -> None:
        """Notify the receivers of changed vertices, and let them pull (Garaph, USENIX ATC'17, section 4.2).

        `in_place` says whether the pass writes to the buffers that it reads.
        """
        machine, stage, arena = self._machine, self._stage, self._arena
        self._by_rows = not self._by_pages(self._sparse), not self._by_pages(self._against)
        self._control.clear("counts[0].entries", "counts[0].touched")
        self._plain("queue_flagged", arena["table"], self._flags, self._flag_words, arena["marks"], desk=True)
        if "messages" in stage.kernels:
            self._launch("send_queue", (machine.frame, arena["table"]))
        self._notify()
        if not in_place:
            self._catch_up()
        machine.device.fill(self._edges, 8 * (_COUNTS - 2), 0)
        also = machine.pointer(self._active) if self._active else 0
        self._plain("list_marked", arena["lists"], arena["marks"], also, self._flag_words, self._sparse.offsets)
        machine.state.set_word(SLOT_SEGMENTS, self._sparse.segments)
        machine.state.set_word(SLOT_LONGS, self._sparse.longs)
        if stage.loop_end:
            machine.state.clear_stats()
        self._pull()
        if not in_place:
            self._move(exchange=True)
        self._listed = True
        self._reached = 0

    def ran_full(self) -> None:
        """Record that the pass has run over all vertices since the last `run`."""
        self._listed = False

    def edges(self) -> int:
        """Return the number of edges that the last `run` traversed, including notifications; waits for the device."""
        counts = np.zeros(1, dtype=np.uint64)
        machine, kind, against = self._machine, self._stage.domain, self._stage.notify
        machine.device.download(counts, self._edges)
        pulled, notified = int(counts[0]), self._notified()
        for one, stage, edges, by_rows in ((kind, self._stage, pulled, self._by_rows[0]),
                                           (against, None, notified, self._by_rows[1])):
            if one is not None and by_rows:
                machine.read_in_place(one, stage, edges)
        self._by_rows = False, False
        return pulled + notified

    def _notified(self) -> int:
        self._control.fetch()
        return int(self._control["counts[0].edges"])

    def close(self) -> None:
        """Free the memory."""
        self._arena.close()

    # --------------------------------------------------------------------------------------------------- launches
    def _plain(self, name: str, *args: int, desk: bool = False, stream: Stream | None = None) -> None:
        shared = desk_bytes(THREADS) if desk else 0
        self._machine.launch(name, "", (), self._blocks, args, shared=shared, stream=stream)

    def _launch(
        self, template: str, args: tuple[int, ...], constants: tuple[int, ...] = (), shared: int = 0,
        stream: Stream | None = None,
    ) -> None:
        self._machine.launch(template, self._struct, constants, self._blocks, args, shared=shared, stream=stream)

    def _by_pages(self, topology: SparseTopology) -> bool:
        """Return whether to copy pages to the device; otherwise kernels read rows in host memory."""
        return topology.reading == "pages" or self._reached >= topology.leave

    def _notify(self) -> None:
        """Mark the neighbours of the vertices in the queue."""
        machine, arena, kind = self._machine, self._arena, self._stage.notify
        if kind is None or not self._by_pages(self._against):
            self._plain("notify", arena["table"], arena["marks"], desk=True)
            return
        entries = self._control.at("counts[0].entries")
        needed = machine.needed(kind, None, arena["queues[0]"], entries, True)
        machine.over_pages(kind, None, needed, lambda row, stream: self._plain(
            "notify_page", arena["table"], arena["marks"], row, desk=True, stream=stream))

    def _pull(self) -> None:
        """Run the pass over the lists."""
        machine, arena, sparse, kind = self._machine, self._arena, self._sparse, self._stage.domain
        assert kind is not None
        frame = machine.frame
        if self._by_pages(sparse):
            self._rows(frame, sparse.rows, WITHOUT_EDGES, None)
            needed = machine.needed(kind, self._stage, arena["all"], self._lengths, False)
            machine.over_pages(kind, self._stage, needed,
                               lambda row, stream: self._rows(frame, row, INSIDE, stream))
        else:
            self._rows(frame, sparse.rows, sparse.pages, None)
        if sparse.long_count:
            finish = whole_name(self._stage, "finish_list")
            self._launch(finish, (frame, arena["longs"], self._lengths + 8, *self._long_scratch()),
                         shared=shared_bytes(finish, self._stage.gpu))

    def _rows(self, frame: int, rows: int, pages: int, stream: Stream | None) -> None:
        """Launch the kernels that pull listed vertices with edges in the given pages, and segments of long vertices.

        Args:
            frame: the device address of the frame.
            rows: the device address of the rows of the pages.
            pages: the number of pages, INSIDE for a single page, or WITHOUT_EDGES for vertices without edges.
            stream: the stream; None for the default stream.
        """
        arena, sparse, gpu = self._arena, self._sparse, self._stage.gpu
        pull, segments = (whole_name(self._stage, f"{name}_list") for name in ("pull", "segments"))
        block_scratch = self._scratch.block_scratch(self._stage) if self._scratch else ()
        self._launch(pull, (frame, rows, pages, arena["all"], self._lengths, self._edges, *block_scratch),
                     (self._lanes,), shared_bytes(pull if self._stage.structures else "pull_lanes", gpu), stream)
        if sparse.long_count and pages != WITHOUT_EDGES:
            self._launch(segments, (frame, rows, pages, sparse.segments, arena["segments"], self._lengths + 16,
                                    *self._long_scratch()),
                         shared=shared_bytes(whole_name(self._stage, "segments"), gpu), stream=stream)

    def _long_scratch(self) -> tuple[int, ...]:
        return self._scratch.long_scratch(self._stage) if self._scratch else ()

    def _catch_up(self) -> None:
        """Make both buffers of each field equal, because a pass over lists writes only the listed vertices."""
        machine = self._machine
        if self._listed and self._stage.sole:
            self._move(exchange=False)
            return
        for name in self._stage.swaps:
            size = machine.n * machine.itemsize(f"field:{name}")
            machine.device.copy(machine.pointer(f"next:{name}"), machine.pointer(f"field:{name}"), size)

    def _move(self, exchange: bool) -> None:
        """For the listed vertices, swap the two buffers of each field, or copy the current buffer to the next one."""
        machine = self._machine
        for name in self._stage.swaps:
            self._plain("move_values", machine.pointer(f"next:{name}"), machine.pointer(f"field:{name}"),
                        machine.itemsize(f"field:{name}"), self._arena["all"], self._lengths, int(exchange))
