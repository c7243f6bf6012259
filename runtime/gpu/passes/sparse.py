"""The interface between sparse supersteps (over frontiers and lists) on a GPU and the machine."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from vlang.records import dataclass
from vlang.runtime.engine.machine import Stats
from vlang.runtime.gpu.device.device import Device, Stream
from vlang.runtime.gpu.kernels.sparse_layout import NEVER
from vlang.runtime.gpu.topology.sliced_sweep import Loaded, LoadedTask, OneSlice, SliceWork
from vlang.runtime.gpu.topology.slices import Sliced
from vlang.runtime.gpu.topology.transfers import Marks, Transfer
from vlang.runtime.plan.plan import StageSpec

__all__ = ["Loaded", "LoadedTask", "OnePage", "OneSlice", "SliceWork", "SparseMachine", "SparseState", "SparseTopology"]

OnePage = Callable[[int, Stream | None], None]
"""A function (row, stream) that queues a kernel over one page; `row` is the device address of the page's row."""


@dataclass(frozen=True)
class SparseTopology:
    """The arrays of an adjacency direction for kernels over frontiers. All addresses are device addresses.

    Attributes:
        rows: address of u64[pages, ROW_WORDS], the rows of the pages in edge order, with the columns of the stage. A
            row may point to registered host memory.
        pages: number of pages.
        offsets: address of u64[n + 1].
        edges: number of edges.
        segments: address of the table with the segments of long vertices (see vlang.runtime.plan.plan).
        segment_count: rows of that table.
        longs: address of the table of long vertices.
        long_count: rows of that table.
        reading: "rows" if kernels can read every page through its row at any time; "pages" if a page must be copied
            first (`SparseMachine.over_pages`); "either" if both work.
        leave: if `reading` is "either", the minimum number of frontier edges for which copying pages is cheaper.
        starts: address of u64[pages + 1], the first edge of each page, and the end; 0 if `reading` is "rows".
        marks: address of u64[pages + 1, MARK_WORDS], in which kernels count the entries of the next superstep by page;
            0 if `reading` is "rows".
    """
    rows: int
    pages: int
    offsets: int
    edges: int
    segments: int
    segment_count: int
    longs: int
    long_count: int
    reading: str = "rows"
    leave: int = NEVER
    starts: int = 0
    marks: int = 0


class SparseState(Protocol):
    """The part of the state that sparse passes write."""

    def clear_stats(self) -> None:
        """Reset the counts to zero."""

    def set_word(self, number: int, value: int) -> None:
        """Set a slot of the frame by number."""


class SparseMachine(Protocol):
    """The operations of the machine that sparse supersteps use. All work is queued on the default stream.

    Attributes:
        device: the device.
        n: the number of vertices.
    """

    device: Device
    n: int

    @property
    def state(self) -> SparseState:
        """The state of the run."""

    @property
    def frame(self) -> int:
        """The device address of the frame, after pending values were written."""

    def sparse_topology(self, kind: str, stage: StageSpec | None) -> SparseTopology:
        """Return the topology of an adjacency direction with the columns of `stage`; without columns if `stage` is
        None.
        """

    def launch(
        self, template: str, struct: str, constants: Sequence[int], blocks: int, args: Sequence[int], *,
        shared: int = 0, threads: int = 256, cooperative: bool = False, stream: Stream | None = None,
    ) -> None:
        """Queue a kernel of the plan's text, `entries.entry(template, struct, *constants)`.

        Args:
            template: name of the kernel template.
            struct: struct of the pass; "" for a kernel that is not a template.
            constants: further template arguments.
            blocks: number of blocks.
            args: 64-bit arguments, addresses or integers.
            shared: bytes of dynamic shared memory per block.
            threads: threads per block.
            cooperative: whether all blocks must run at the same time.
            stream: None for the default stream.
        """

    def needed(self, kind: str, stage: StageSpec | None, items: int, count: int, queued: bool) -> Transfer:
        """Return the pages that hold edges of the active vertices, and the cheapest transfer of each page.

        Waits for the device.

        Args:
            kind: adjacency direction, "in", "out" or "both".
            stage: the stage that reads the pages; None for notifications.
            items: device address of the vertices, u32[*count]; if `queued`, of the entries of a queue, u64[*count].
            count: device address of the number of items.
            queued: whether the items are entries of a queue.
        """

    def over_pages(self, kind: str, stage: StageSpec | None, transfer: Transfer, launch: OnePage) -> None:
        """Call `launch` for each page of a transfer, after the copy of the page was queued. `launch` queues a kernel.

        The kernels of several pages may run at the same time. Work that is already on the default stream runs before
        all of these kernels, and later work runs after all of them.

        Args:
            kind: adjacency direction, "in", "out" or "both".
            stage: the stage that reads the pages; None for notifications.
            transfer: the pages.
            launch: queues the kernel of a page.
        """

    def counted_pages(self, kind: str, stage: StageSpec) -> Marks:
        """Return the active edges of each page in the next superstep, as the kernels of this superstep counted them.

        Waits for the device.

        Args:
            kind: adjacency direction, "in", "out" or "both".
            stage: the stage that reads the pages.
        """

    def sorted_queue(
        self, kind: str, stage: StageSpec, queue: int, count: int, target: int, marks: Marks | None = None
    ) -> Sliced:
        """Choose the cheapest transfer of each page. Then sort the entries of a queue by the page of their edges and by
        the transfer of this page.

        Waits for the device if `marks` is None.

        Args:
            kind: adjacency direction, "in", "out" or "both".
            stage: the stage that reads the pages.
            queue: device address of the entries, u64[*count].
            count: device address of the number of entries.
            target: device address of the sorted entries.
            marks: the active edges of each page; None if a kernel must count them first.
        """

    def over_slices(
        self, kind: str, stage: StageSpec | None, sliced: Sliced, launch: OneSlice, again: Loaded | None = None
    ) -> None:
        """Call `launch` for each slice of a sorted queue, as `over_pages` does for pages. `launch` queues a kernel.

        Args:
            kind: adjacency direction, "in", "out" or "both".
            stage: the stage that reads the pages.
            sliced: the sorted queue.
            launch: queues the kernel of a slice.
            again: queues a second round over a task, after its slice; None for one round.
        """

    def read_in_place(self, kind: str, stage: StageSpec | None, edges: int) -> None:
        """Count edges that a launch has read through the rows of the pages, from the device or from host memory.

        Args:
            kind: adjacency direction, "in", "out" or "both".
            stage: the stage that reads the edges; None for notifications.
            edges: the number of edges.
        """

    def resident(self, template: str, struct: str, constants: Sequence[int], threads: int, shared: int) -> int:
        """Return the number of blocks of a kernel that the device runs at the same time.

        Args:
            template: name of the kernel template.
            struct: struct of the pass; "" for a kernel that is not a template.
            constants: further template arguments.
            threads: threads per block.
            shared: bytes of dynamic shared memory per block.
        """

    def pointer(self, slot: str) -> int:
        """Return the device address of a vertex array ("field:x", "work:notify.s1")."""

    def itemsize(self, slot: str) -> int:
        """Return the number of bytes per vertex in an array."""

    def in_place(self, stage: StageSpec, on: bool) -> None:
        """Make the pass write its fields to the buffers that it reads, or restore separate buffers.

        When the pass runs in place, the slot "next:F" refers to the array of "field:F".
        """

    def run_full(self, stage: StageSpec) -> int:
        """Run a pass over all vertices, including its messages. The counts of the pass begin at zero.

        The two buffers of each field that the pass writes are swapped afterwards, unless the pass runs in place.

        Returns:
            The number of edges traversed.
        """

    def counted(self) -> Stats:
        """Return the counts of the last pass, after waiting for the end of the pass."""
