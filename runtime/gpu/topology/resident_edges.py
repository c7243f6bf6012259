"""Copies the tables and edges of one direction to a device, unless an earlier run left them there."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from contextlib import closing
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vlang.runtime.gpu.device.device import Device, Stream
from vlang.runtime.gpu.topology.cut import Part, long_rows
from vlang.runtime.gpu.topology.footprint import Footprint, Stored, Use
from vlang.runtime.gpu.topology.page_rows import Table
from vlang.runtime.gpu.topology.resident import Resident
from vlang.runtime.gpu.topology.sides import DiskSide, Side
from vlang.runtime.plan.plan import THREADS

__all__ = ["Prepare", "ResidentEdges", "hold_own", "make_own", "upload_own", "upload_tables"]

Prepare = Callable[[str, int, Sequence[int], Stream | None], None]
"""A function (name, blocks, arguments, stream) that queues a kernel that is not a template."""


def upload_tables(
    device: Device, prepare: Prepare, side: Side, layout: Footprint, parts: Sequence[Part], moving: int, at: int
) -> None:
    """Write the tables that depend only on the graph and the cut.

    Args:
        device: the device.
        prepare: queues kernels.
        side: the edges.
        layout: the layout of the tables.
        parts: the pages.
        moving: the device address to which the offsets of each page are copied temporarily if offsets are not among the
            tables.
        at: the device address of the tables.
    """
    rows = long_rows(side)
    tables: dict[str, NDArray[Any]] = {"offsets": side.offsets, "segments": rows.segments, "longs": rows.longs,
                                       "starts": layout.cut.starts}
    for name, values in tables.items():
        if len(values) and name in layout.tables:
            device.upload(at + layout.tables[name], values)
    offsets, blocks = at + layout.tables.get("offsets", 0), at + layout.tables["blocks"]
    for part in parts:
        count = part.row_blocks
        if "offsets" not in layout.tables:
            device.upload(moving, side.offsets[part.low : part.high + 1])
            offsets = (moving - side.offsets.itemsize * part.low) % (1 << 64)
        prepare("row_blocks", 1 + (count + 1) // THREADS, (offsets, blocks, part.low, part.high, count), None)
        blocks += 4 * (count + 1)


def upload_own(device: Device, at: int, layout: Footprint, tables: Mapping[str, Table]) -> None:
    """Write the tables of a run in one copy.

    Args:
        device: the device.
        at: the device address of the tables.
        layout: the layout of the tables.
        tables: the page rows of each `Use`, by name.
    """
    values: dict[str, NDArray[Any]] = {}
    for name, shards in layout.shards.items():
        values |= {f"bounds:{name}": shards.bounds, f"replicas:{name}": shards.replicas}
    for name, table in tables.items():
        values |= {f"rows:{name}": table.words, f"layout:{name}": table.layout}
    block = np.zeros(layout.own["marks"], dtype=np.uint8)  # kernels write the tables from `marks` on
    for name, array in values.items():
        block[layout.own[name] :][: array.nbytes] = array.reshape(-1).view(np.uint8)
    if len(block):
        device.upload(at, block)


def make_own(
    device: Device, at: int, layout: Footprint, make: Callable[[int], Mapping[str, Table]]
) -> tuple[int, Mapping[str, Table]]:
    """Make the tables of a run and write them to a device address; returns the address and the tables.

    Args:
        device: the device.
        at: the device address.
        layout: the layout of the tables.
        make: makes the tables for their device address.
    """
    tables = make(at)
    upload_own(device, at, layout, tables)
    return at, tables


def hold_own(
    device: Device, parts: Resident, side: Side, uses: Mapping[str, Use], layout: Footprint,
    addresses: tuple[Hashable, ...], what: str, make: Callable[[int], Mapping[str, Table]],
) -> tuple[int, Mapping[str, Table]] | None:
    """Find the tables of a run that an earlier run left on the device, or write them.

    Kernels only read these tables if all edges are on the device, so runs share them.

    Args:
        device: the device.
        parts: the parts of the graph that the run uses on the device.
        side: the edges; the host also keeps the tables with the edges.
        uses: the arrays that passes read, by name of the `Use`.
        layout: the layout of the tables.
        addresses: the device addresses that the tables contain, except addresses of the tables themselves.
        what: the name of the tables.
        make: makes the tables for their device address.

    Returns:
        The device address, and the tables by name of the `Use`. None if edges are streamed, if the offsets move, or if
        the shards of a `Use` are not cached.
    """
    rules = [use.sharding.key for use in uses.values() if use.sharding]
    if None in rules or not layout.resident or "offsets" not in layout.tables:
        return None
    key = (side.kind, "rows", layout.cut.key, *addresses, *rules,
           *((name, use.columns, use.sharding is not None) for name, use in uses.items()))
    at = parts.hold(key, layout.own_bytes, what, None)
    known: dict[int, Mapping[str, Table]] = side.derived(("rows", key), dict)
    if at not in known:
        known.clear()  # the tables at another address were freed, or are on another device
        known[at] = make(at)
    tables = known[at]
    if parts.missing(key):
        upload_own(device, at, layout, tables)
        parts.filled(key)
    return at, tables


class ResidentEdges:
    """The arrays over all edges of a direction on a device.

    Args:
        device: the device.
        side: the edges.
        arrays: the arrays by key.
        parts: the parts of the graph that the run uses on the device.

    Attributes:
        at: the device address of each array by key.
        missing: the keys of the arrays whose values are not on the device yet.
    """

    def __init__(self, device: Device, side: Side, arrays: Mapping[str, Stored], parts: Resident) -> None:
        self._device, self._side, self._arrays, self._parts = device, side, arrays, parts
        self._keys: dict[str, Hashable] = {}
        self.at: dict[str, int] = {}
        self.missing: list[str] = []

    def hold(self, uses: Mapping[str, Use], cut: bytes) -> None:
        """Find the arrays, or allocate memory for them. `cut` identifies the pages. Raises OutOfMemory."""
        for key, array in self._arrays.items():
            self._keys[key] = self._side.kind, key
            if not array.copied:  # places in the shards of a use
                sharding = uses[key.removeprefix("places:")].sharding
                rule = None if sharding is None else sharding.key
                self._keys[key] = self._side.kind, "places", cut, object() if rule is None else rule
            what = f"{self._side.kind}-edges: {key.partition(':')[0]}"
            self.at[key] = self._parts.hold(self._keys[key], array.itemsize * len(self._side), what, None)
        self.missing = [key for key, known in self._keys.items() if self._parts.missing(known)]

    def copy(self) -> tuple[Sequence[str], int]:
        """Copy the missing values to the device.

        Returns:
            The keys of the arrays that were missing, and the number of bytes copied. Some of the missing arrays are not
            copied but computed by kernels.
        """
        missing = [self._arrays[key] for key in self.missing]
        for array in missing:
            if array.source is not None and array.source.nbytes:
                self._device.upload(self.at[array.key], array.source)
        if isinstance(self._side, DiskSide) and len(self._side):
            self._copy_from_disk(self._side, missing)
        return self.missing, len(self._side) * sum(array.itemsize for array in missing if array.copied)

    def filled(self) -> None:
        """Record that the work that writes all values is queued.

        Edges read from disk can then be kept for later runs.
        """
        for key in self.missing:
            self._parts.filled(self._keys[key])
        self.missing = []
        if isinstance(self._side, DiskSide):
            with self._parts.opening():
                pass

    def _copy_from_disk(self, side: DiskSide, arrays: Sequence[Stored]) -> None:
        starts = side.starts.tolist()
        with closing(side.batches(range(len(starts) - 1))) as batches:
            for page, views in (one for batch in batches for one in batch):
                for array in arrays:
                    if array.read is not None and starts[page] < starts[page + 1]:
                        place = self.at[array.key] + array.itemsize * starts[page]
                        self._device.upload(place, array.read(views))
                self._device.reach(self._device.record())
