"""Runs kernels over the slices of a sorted queue, while the edges of other slices are on their way to the device."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from vlang.runtime.gpu.device.device import Event, Stream
from vlang.runtime.gpu.topology.cut import Part
from vlang.runtime.gpu.topology.packer import Packer
from vlang.runtime.gpu.topology.slices import Slice, Sliced
from vlang.runtime.gpu.topology.topology import Topology
from vlang.runtime.gpu.topology.transfers import Transfer

__all__ = ["Loaded", "LoadedTask", "OneSlice", "SliceWork", "sweep_slices"]


class SliceWork(NamedTuple):
    """The arguments of a kernel over a slice; all addresses are device addresses.

    Attributes:
        rows: address of the rows of the pages that hold the edges of the slice.
        pages: the number of these page rows.
        entries: address of the entries, u64[heavy + light].
        heavy, light: the numbers of heavy and of light entries.
        packed: address of the position of each entry's first edge, u32[heavy + light], if rows were gathered; otherwise
            0.
    """

    rows: int
    pages: int
    entries: int
    heavy: int
    light: int
    packed: int


OneSlice = Callable[[SliceWork, Stream | None], None]
"""A function (work, stream) that queues a kernel over one slice."""


class LoadedTask(NamedTuple):
    """A task whose pages are on the device; all addresses are device addresses.

    Attributes:
        rows: address of the rows of the task's pages.
        pages: the number of pages of the task.
        low, high: the range of the vertices whose rows may be in the task's pages.
        begin, end: the range of the task's edges.
        counter: address of a word that is 0, u64.
    """

    rows: int
    pages: int
    low: int
    high: int
    begin: int
    end: int
    counter: int


Loaded = Callable[[LoadedTask, Stream | None], None]
"""A function (task, stream) that queues a second round over the pages of a task."""


def sweep_slices(
    topology: Topology, name: str, sliced: Sliced, launch: OneSlice, packer: Packer | None,
    again: Loaded | None = None,
) -> None:
    """Call `launch` for every slice. Later work on the default stream waits for all slices.

    The kernels that read rows in place need no copies, and are launched first, unless tasks have an order. The
    remaining pages are copied while the CPU gathers rows.

    Args:
        topology: the adjacency, which may be resident even though another direction that the loop reads is streamed.
        name: the name of the `Use`.
        sliced: the slices.
        launch: queues the kernel of a slice.
        packer: gathers rows; may be None if no page is packed.
        again: queues a second round over a task after its slice; None for one round.
    """
    device, traffic = topology.device, topology.traffic
    used = sum(map(len, (sliced.transfer.whole, sliced.transfer.direct, sliced.transfer.packed)))
    skipped = traffic.skipped + topology.pages - used
    ends: list[Event] = []
    stands = bool(sliced.direct.count or sliced.rest.count)  # whether a slice needs no copies
    every = topology.rows(name) if stands else 0
    begin = device.record()
    counts, tasks = topology.table_at("sorting"), {task[0]: task for task in sliced.tasks}

    def work(piece: Slice, rows: int, pages: int, packed: int = 0) -> SliceWork:
        return SliceWork(rows, pages, sliced.queue + 8 * piece.first, piece.heavy, piece.light, packed)

    def in_place() -> None:
        stream = topology.beside
        device.wait(begin, stream)
        for piece in (sliced.direct, sliced.rest):
            if piece.count:
                launch(work(piece, every, topology.pages), stream)
        ends.append(device.record(stream))

    def one_task(row: int, part: Part, stream: Stream | None) -> None:
        task = tasks[part.page]
        launch(work(sliced.tasks[task], row, len(task)), stream)
        if again is not None:
            last = topology.parts[task[-1]]
            again(LoadedTask(row, len(task), part.low, last.high, part.begin, last.end, counts + 8 * part.page), stream)

    if stands and not sliced.ordered:
        in_place()
    if tasks:
        if again is not None:  # the positions that were in this table have been used
            device.fill(counts, 8 * topology.pages, 0)
        topology.sweep(name, one_task, Transfer(sliced.transfer.whole, (), (), tuple(sliced.tasks), sliced.ordered))
    if stands and sliced.ordered:
        in_place()
    traffic.skipped = skipped
    if sliced.packed.count:
        assert packer is not None
        _packed(topology, sliced, launch, packer, begin, ends)
    for event in ends:
        device.wait(event)


def _packed(
    topology: Topology, sliced: Sliced, launch: OneSlice, packer: Packer, begin: Event,
    ends: list[Event],
) -> None:
    """Gather the rows of the packed slice in batches, and queue their copies and kernels."""
    device, whole = topology.device, sliced.packed
    entries = np.empty(whole.count, dtype=np.uint64)
    device.download(entries, sliced.queue + 8 * whole.first)
    for batch in packer.batches(entries):
        slot, stream = topology.borrow(batch.turn)
        device.wait(begin, stream)  # earlier kernels may read any slot
        packer.aim(batch, slot.address)
        device.upload(slot.address, batch.memory, stream)
        packer.copied(batch, device.record(stream))
        topology.traffic.copied += len(batch.memory)
        piece = whole.part(batch.begin, batch.end)
        launch(SliceWork(slot.address, 1, sliced.queue + 8 * piece.first, piece.heavy, piece.light,
                         slot.address + batch.places), stream)
        slot.used = device.record(stream)
        ends.append(slot.used)
    topology.refresh(None)
