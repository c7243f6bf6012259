"""The edges of one direction on a GPU: resident if they fit, otherwise streamed page by page while kernels run.

Tables (offsets, long vertices, row blocks, shards, rows) stay on the device. Edges stay on the device, too, if all
edges fit. If the edges do not fit, device memory is divided into slots of one page each. Pages are copied into slots
from page-locked host memory, and stay there until they are evicted. Kernels over few vertices may read other pages
directly from host memory. Edges on disk are read into page-locked buffers (`vlang.runtime.gpu.topology.sides`), and
copied page by page as they arrive.

Work that the caller queued on its stream before a call of `sweep` or `rows` runs before the kernels of the call. Work
that the caller queues later runs after these kernels. Only copies of pages may start earlier, when their slot is free.
A slot is overwritten only after the last work on this slot has ended. The row of a page changes only when the page
moves. The change runs in the stream of the kernel that reads the row next.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import closing
from functools import partial

import numpy as np
from numpy.typing import NDArray

from vlang.runtime.gpu.device.device import Buffer, Device, Event, Stream
from vlang.runtime.gpu.topology.cut import Part, long_rows
from vlang.runtime.gpu.topology.footprint import TARGETS, Slotted, Stored, Use, footprint, stored_arrays
from vlang.runtime.gpu.topology.page_rows import Table, make_table
from vlang.runtime.gpu.topology.page_sweep import Launch, PageSweep
from vlang.runtime.gpu.topology.resident import Resident
from vlang.runtime.gpu.topology.resident_edges import Prepare, ResidentEdges, hold_own, make_own, upload_tables
from vlang.runtime.gpu.topology.sides import DiskSide, Side, arriving_pages
from vlang.runtime.gpu.topology.slots import Slot, Slots
from vlang.runtime.gpu.topology.slotted_arrivals import AUTO_STREAMS, SlottedArrivals
from vlang.runtime.gpu.topology.transfers import Link, Traffic, Transfer
from vlang.runtime.graph.topology.adjacency import Adjacency
from vlang.runtime.storage.reading.page_reader import PageViews
from vlang.runtime.threads.activity import timed
from vlang.runtime.threads.pieces import Pieces, completed

__all__ = ["AUTO_STREAMS", "Launch", "Prepare", "Topology"]

_CACHED = 3  # streams for cached pages, so that the few segments of long vertices do not delay the next page

class Topology:
    """The edges of one direction on a device.

    Args:
        device: the device.
        prepare: queues kernels that prepare the topology.
        side: the edges.
        uses: the arrays of a page that passes read, by name of the `Use`.
        memory: the bytes that the topology may use; None for the unused part of the budget.
        page_size: bytes of neighbours in a page; None for one page if all edges fit, otherwise 8 to 16 MiB.
        streams: the number of streams for copies and kernels; 0 for the best number.
        link: the cost of moving edges; None for the default.
        resident: the parts of the graph that the run uses on the device; None for a topology that leaves no part on the
            device.
        moving: the address of memory for the offsets of one page if offsets move with windows of vertices; otherwise 0.
        slotted: the form of streamed pages that are decoded when they arrive; None for parts of the adjacency lists.

    Attributes:
        offsets: device address of u64[n + 1].
        segments: device address of int64[segment_count, 3].
        longs: device address of int64[long_count, 3].
        parts, pages, slots: the pages, their number, and the number of slots if not all pages are resident.
        resident: whether all edges are on the device.
        readable: whether kernels can read every page through its row at all times.
        link: cost of moving edges.
        traffic: bytes and pages moved so far.
        arrivals: decodes slotted pages when they arrive; None without slotted pages.
        moved_offsets: if offsets move, the address for vertex 0 in the window; the caller sets it.

    Raises:
        OutOfMemory: there is no memory for two pages in addition to the tables.
        GraphError: a column does not fit its type.
    """

    def __init__(
        self, device: Device, prepare: Prepare, side: Side, uses: Mapping[str, Use],
        memory: int | None = None, page_size: int | None = None, streams: int = 0,
        link: Link | None = None, resident: Resident | None = None, moving: int = 0, slotted: Slotted | None = None,
    ) -> None:
        self.device, self.side, self._prepare, self.link = device, side, prepare, link or Link()
        self.kind, self.n, self.edges = side.kind, len(side.offsets) - 1, len(side)
        self.traffic = Traffic()
        arrays = stored_arrays(side, uses, slotted)
        taken = device.allocated()
        free = device.budget() - taken
        free = free if memory is None else min(free, memory)
        self.layout = footprint(side, uses, arrays, free, page_size, taken, moving > 0)
        arrays = stored_arrays(side, uses) if self.layout.resident else arrays  # resident edges are adjacency lists
        self._arrays = {array.key: array for array in arrays}
        self.arrivals: SlottedArrivals | None = None
        self.parts, self.pages = self.layout.cut.parts(), self.layout.cut.pages
        self.resident, self.slots = self.layout.resident, self.layout.slots
        self._parts = Resident(device) if resident is None else resident
        self._alone, self._moving, self.moved_offsets = resident is None, moving, 0
        self._what = f"the {self.kind}-neighbours of {self.n:,} vertices"
        self._buffers: list[Buffer] = []
        self._addresses: dict[str, int] = {}  # of page-locked arrays
        self._edges = ResidentEdges(device, side, self._arrays, self._parts)
        self._streams: list[Stream] = []
        self._copied: list[Event] = []  # events after the queued copies of pages from disk
        self._cached: list[Stream] = []  # for kernels over cached pages
        self._turns = [0, 0]  # pages that were cached, and pages that were copied
        self._shown: set[str] = set()  # tables with rows that kernels read outside of sweeps
        try:
            with self._parts.opening():
                self._open(uses, streams or AUTO_STREAMS)
        except BaseException:
            self.close()
            raise

    @property
    def offsets(self) -> int:
        """The device address of the offsets."""
        return self.table_at("offsets")

    @property
    def readable(self) -> bool:
        """Return whether kernels can read every page through its row, from device or host memory."""
        return self.resident or (self.arrivals is None and all(
            self._addresses.get(key) for key, a in self._arrays.items()
            if a.read is not None or (a.source is not None and a.source.nbytes)))

    def table(self, name: str) -> Table:
        """Return the table of the `Use` called `name`."""
        return self._tables[name]

    def table_at(self, name: str) -> int:
        """Return the device address of a table."""
        layout = self.layout
        own = self.moved_offsets if name == "offsets" and self._moving else self._own_at + layout.own.get(name, 0)
        return self._tables_at + layout.tables[name] if name in layout.tables else own

    # ------------------------------------------------------------------------------ opening
    def _open(self, uses: Mapping[str, Use], streams: int) -> None:
        """Find or copy the tables. Allocate memory for resident edges; create slots and streams for streamed edges."""
        layout, rows = self.layout, long_rows(self.side)
        self.segment_count, self.long_count = len(rows.segments), len(rows.longs)
        self._tables_at = self._parts.hold(
            (self.kind, "tables", layout.cut.key, *layout.tables), layout.shared_bytes, f"tables of {self._what}",
            partial(upload_tables, self.device, self._prepare, self.side, layout, self.parts, self._moving))
        if self.resident:
            self._edges.hold(uses, layout.cut.key)
        self._open_slots(streams)
        def make(own: int) -> Mapping[str, Table]:
            self._own_at = own
            return {name: make_table(name, use, layout, self._arrays, self.table_at, self._edges.at, self._addresses)
                    for name, use in uses.items()}

        what, addresses = f"rows of {self._what}", (self._tables_at, *self._edges.at.items())
        held = hold_own(self.device, self._parts, self.side, uses, layout, addresses, what, make)
        if held is None:
            self._buffers.append(self.device.allocate(layout.own_bytes, what))
            held = make_own(self.device, self._buffers[-1].pointer, layout, make)
        self._own_at, self._tables = held
        self.segments, self.longs = self.table_at("segments"), self.table_at("longs")
        slotted = self._arrays[TARGETS].slotted
        if slotted is not None and isinstance(self.side, Adjacency):
            self.arrivals = SlottedArrivals(self.device, self._prepare, self._parts, self.side, slotted, layout,
                                            self.table_at("rvt"), self._arriving)
        if not self.resident:
            self.device.synchronize()  # copies of pages do not wait for earlier work, so the host waits here
        elif isinstance(self.side, Adjacency):
            self._fill()

    def _open_slots(self, streams: int) -> None:
        """Create slots and streams. Cached pages have their own streams, so their kernels do not wait for copies."""
        memory, layout = 0, self.layout
        if not self.resident:
            slots, buffers = layout.slot_bytes * layout.slots, layout.buffer_bytes * layout.buffers
            self._buffers.append(self.device.allocate(slots + buffers, self._what))
            memory = self._buffers[-1].pointer
            self._arriving = memory + slots
        self._slots = Slots([memory + k * layout.slot_bytes for k in range(layout.slots)])
        if not self.resident:
            count = max(1, min(streams, len(self._slots)))
            self._streams = [self.device.stream() for _ in range(count)]
            more = 1 if layout.buffers else _CACHED  # a slotted page arrives in the buffer of its stream
            self._cached = [self.device.stream() for _ in range(more)] if count > 1 else self._streams
            for key, array in self._arrays.items():
                if array.source is not None and array.source.nbytes:
                    what = f"{self.kind}-edges: {key.partition(':')[0]}, page-locked in host memory"
                    self._addresses[key] = self._parts.lock((self.kind, key), what, array.source)

    def _fill(self) -> None:
        """Copy resident edges that are not on the device yet; called before each pass."""
        if not self._edges.missing:
            return
        made, copied = self._edges.copy()
        self.traffic.copied += copied
        for name, table in self._tables.items():
            for part in self.parts if f"places:{name}" in made else ():
                self._make_places(table, part, self._edges.at[f"places:{name}"], None)
        self._edges.filled()

    def _make_places(self, table: Table, part: Part, places: int, stream: Stream | None) -> None:
        """Compute the index of each edge's cell in its shard for a page; `places` is the address for edge 0."""
        if count := int(table.shards[part.page]):
            args = self.offsets, table.bounds(part.page), places % (1 << 64), 0, count
            self._prepare("places", count, args, stream)

    # ---------------------------------------------------------------------------------- passes
    def order(self) -> list[int]:
        """Return all pages in the order in which a sweep processes them if the edges are not resident."""
        return [page for page, in self._slots.order([(page,) for page in range(self.pages)], len(self._streams))]

    def sweep(self, name: str, launch: Launch, transfer: Transfer | None = None) -> None:
        """Call `launch` for every page, or for the pages of a transfer (see `pieces`)."""
        completed(self.pieces(name, launch, transfer))

    def pieces(
        self, name: str, launch: Launch, transfer: Transfer | None = None, taken: Iterable[int] | None = None
    ) -> Pieces[None]:
        """Call `launch` for every page, or for the pages of a transfer; yields after each task of streamed pages.

        The order of pages is not fixed, unless `transfer` sets it. A page, or a task of `transfer` with the row of its
        first page, runs in the stream of its copies. Resident pages run in the caller's stream, which then waits. If
        the generator is closed before its end, the caller's stream waits for the tasks that were queued.

        Args:
            name: the name of the `Use`.
            launch: queues the kernels of a page.
            transfer: the pages; None for all.
            taken: yields the pages of this sweep in the order of `order` (for streamed edges in host memory). The next
                page is requested when the work on the previous page is queued. None for the pages of `transfer`.
        """
        table, device = self._tables[name], self.device
        self._fill()
        transfer = transfer or Transfer(tuple(range(self.pages)))
        if self.resident:
            for first, *_ in transfer.tasks or ((page,) for page in transfer.whole):
                launch(table.row(first), self.parts[first], None)
            return
        direct = [page for page in transfer.direct if not self._slots.find(page)]
        whole = [*transfer.whole, *(page for page in transfer.direct if page not in direct)]
        if direct:
            self.rows(name)
        sweep = PageSweep(device, self._slots, table, self.parts, launch, device.record(), self._bring)
        try:
            for page in direct:
                sweep.in_place(page, self._cached[0])
            tasks = transfer.tasks or [(page,) for page in whole]
            missing = [page for page in whole if not self._slots.find(page)] if isinstance(self.side, DiskSide) else []
            order, awaited = self._slots.plan(tasks, set(missing), 0 if transfer.ordered else len(self._streams))
            for number, task in enumerate(order if taken is None else ((page,) for page in taken)):
                awaited.update(dict.fromkeys(task, number))  # no page of the task replaces another one
                sweep.run(task, awaited)
                yield
            with closing(arriving_pages(device, self.side, missing, self._copied)) as arriving:
                for page, views in arriving:
                    sweep.run((page,), awaited, views)
            self.traffic.skipped += self.pages - len(whole) - len(direct)
        finally:
            sweep.wait()
            self.refresh(None)

    def _bring(
        self, table: Table, part: Part, awaited: dict[int, int], begin: Event, views: PageViews | None,
        work: Stream | None,
    ) -> tuple[Slot, Stream]:
        """Find or fill the slot of a page. Return the slot, and the stream to which its latest copy was issued.

        `views` holds the page if it was read from disk. All arrays of such a page are copied, so that another `Use`
        does not read the page again. `work` is the stream of the earlier pages of the same task.
        """
        slot = self._slots.find(part.page)
        missing = [key for key in table.keys if slot is None or key not in slot.held]
        if views is not None:
            missing = list(dict.fromkeys([*missing, *(key for key, a in self._arrays.items() if a.read is not None)]))
        if work is None:
            copied = slot is None or any(self._arrays[key].copied for key in missing)
            streams = self._streams if copied else self._cached
            work = streams[self._turns[copied] % len(streams)]
            self._turns[copied] += 1
        if self._shown:  # kernels on the caller's stream may read any slot
            self.device.wait(begin, work)
        if slot is None:
            slot = self._slots.take(part.page, awaited)
            self.traffic.copies += 1
        else:
            self.traffic.hits += 1
        self._slots.touch(slot)
        if slot.used is not None:
            self.device.wait(slot.used, work)
        for key in missing:
            self._load(table, self._arrays[key], part, slot, work, views)
        if views is not None:
            self._copied.append(self.device.record(work))
        self.device.wait(begin, work)  # unlike the copies, the kernels must wait for earlier work of the caller
        if table.at[part.page] != slot.address:
            self._aim(table, part.page, slot.address, work)
        return slot, work

    def _load(
        self, table: Table, array: Stored, part: Part, slot: Slot, work: Stream, views: PageViews | None
    ) -> None:
        place = slot.address + self.layout.places[array.key]
        slot.held.add(array.key)
        if not array.copied:
            self._make_places(table, part, place - array.itemsize * part.begin, work)
        elif part.edges and array.slotted is not None and self.arrivals is not None:
            self.traffic.copied += self.arrivals.bring(part, place, (*self._streams, *self._cached).index(work), work)
        elif part.edges:
            piece = array.piece(part, views)
            with timed("copy", f"page {part.page}", array=array.key, bytes=piece.nbytes, queued=True):
                self.device.upload(place, piece, work)
            self.traffic.copied += piece.nbytes

    def _aim(self, table: Table, page: int, slot: int, work: Stream) -> None:
        """Let the row of a page point to the slot with address `slot`."""
        table.at[page] = slot
        self._prepare("aim_row", 1, (table.row(page), slot, table.layout_address), work)

    # ---------------------------------------------------------------------- passes over few vertices
    def rows(self, name: str, stream: Stream | None = None) -> int:
        """Return the address of the page rows, for kernels on `stream` that may read any page. `readable` must be true.

        Rows of cached pages point to device memory, and other rows to host memory. After a call of this function, every
        sweep updates the rows.
        """
        self._fill()
        self._shown.add(name)
        self.refresh(stream)
        return self._tables[name].address

    def refresh(self, stream: Stream | None) -> None:
        """Update the tables of rows that `rows` has returned, because pages may have left their slots."""
        for table in [self._tables[name] for name in self._shown] if not self.resident else ():
            slots = [self._slots.find(page) for page in range(self.pages)]
            now = [slot.address if slot and slot.held.issuperset(table.keys) else 0 for slot in slots]
            if now != table.at:
                table.at = now
                self.device.upload(table.address, table.pointing(), stream)

    def over_few(self, name: str, *args: int | str) -> None:
        """Queue a kernel over active vertices. The kernel is not a template.

        An argument that is a string stands for the address of a table.
        """
        self._prepare(name, 4 * self.device.info.multiprocessors,
                      [self.table_at(arg) if isinstance(arg, str) else arg for arg in args], None)

    @property
    def beside(self) -> Stream | None:
        """The stream of kernels over pages without copies; None (the default stream) if all pages are resident."""
        return None if self.resident else self._cached[0]

    def borrow(self, number: int) -> tuple[Slot, Stream]:
        """Take slot `number` for data other than a page; returns the slot and its stream.

        The caller must call `refresh` later.
        """
        stream = self._streams[number % len(self._streams)]
        slot = self._slots.find(-1 - number) or self._slots.take(-1 - number, {})
        self._slots.touch(slot)
        if slot.used is not None:
            self.device.wait(slot.used, stream)
        return slot, stream

    def arrays_of(self, name: str) -> list[Stored]:
        """Return the arrays over edges that are copied from the host for a `Use`."""
        return [self._arrays[key] for key in self._tables[name].keys if self._arrays[key].copied]

    def edge_bytes(self, name: str) -> int:
        """Return the bytes per edge that are copied from the host for a `Use`; those of record ids are not counted."""
        return sum(array.itemsize for array in self.arrays_of(name))

    def cached(self) -> NDArray[np.bool_]:
        """Return bool[P]: whether each page is in a slot."""
        return np.array([self._slots.find(page) is not None for page in range(self.pages)])

    def close(self) -> None:
        """Free all memory after the queued work has ended. A second call does nothing."""
        if self._addresses:
            self.device.drain()
            sources = (self._arrays[key].source for key in self._addresses)
            for source in [source for source in sources if source is not None]:
                self.device.unregister(source)
            self._addresses.clear()
        if self.arrivals is not None:
            self.arrivals.close()
            self.arrivals = None
        for buffer in self._buffers:
            self.device.free(buffer)
        self._buffers.clear()
        if self._alone:
            self._parts.close()
