"""The kernels of one pass over streamed pages, in the order in which the pages are queued."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field
from typing import Protocol

from vlang.records import dataclass
from vlang.runtime.gpu.device.device import Device, Event, Stream
from vlang.runtime.gpu.topology.cut import Part
from vlang.runtime.gpu.topology.page_rows import Table
from vlang.runtime.gpu.topology.slots import Slot, Slots
from vlang.runtime.gpu.topology.tasks import Task
from vlang.runtime.storage.reading.page_reader import PageViews

__all__ = ["Launch", "PageSweep"]

Launch = Callable[[int, Part, Stream | None], None]
"""A function (row, page, stream) that queues the kernels of a pass for one page; `row` is the address of its row."""


class _Bring(Protocol):
    def __call__(
        self, table: Table, part: Part, awaited: dict[int, int], begin: Event, views: PageViews | None,
        work: Stream | None,
    ) -> tuple[Slot, Stream]: ...


@dataclass
class PageSweep:
    """The pages of one pass.

    Attributes:
        device: the device.
        slots: the slots of the pages.
        table: the rows of the pages.
        parts: the pages.
        launch: queues the kernels of a page.
        begin: an event after the earlier work of the caller.
        bring: finds or fills the slot of a page; returns the slot and the stream of its last copy.
    """

    device: Device
    slots: Slots
    table: Table
    parts: Sequence[Part]
    launch: Launch
    begin: Event
    bring: _Bring
    _ends: dict[int, tuple[Stream, Event]] = field(default_factory=dict)

    def run(self, task: Task, awaited: dict[int, int], views: PageViews | None = None) -> None:
        """Queue the copies of a task, and the kernels with the row of its first page.

        Args:
            task: the pages.
            awaited: see `Slots.take`.
            views: the only page of the task if it was read from disk; None for pages in host memory.
        """
        work = None
        for page in task:
            _, work = self.bring(self.table, self.parts[page], awaited, self.begin, views, work)
        assert work is not None
        self.slots.done(task, self._launched(task[0], work), awaited)

    def in_place(self, page: int, work: Stream) -> None:
        """Queue the kernels of a page in host memory."""
        self.device.wait(self.begin, work)
        self._launched(page, work)

    def wait(self) -> None:
        """Let later work on the default stream wait for all kernels."""
        for _, event in self._ends.values():
            self.device.wait(event)

    def _launched(self, page: int, work: Stream) -> Event:
        self.launch(self.table.row(page), self.parts[page], work)
        event = self.device.record(work)
        self._ends[id(work)] = work, event
        return event
