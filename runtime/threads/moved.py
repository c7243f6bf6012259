"""Counts of the data that a run moved: edges in bytes and in pages, and vertex values between devices in bytes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

__all__ = ["NOTHING", "Moved"]


class Moved(NamedTuple):
    """Counts of the edges that were moved, in bytes and in pages, and of values in bytes.

    `Round` has fields with the same names. A page is counted once for each pass that uses the page. Edges that stay in
    memory or on the device are not counted in pages.

    Attributes:
        bytes_copied: bytes copied to a device: whole pages, rows that the CPU gathered, and edges that stay on the
            device.
        bytes_in_place: bytes of the rows that kernels read directly from host memory. For a launch of many supersteps,
            the number is an estimate: rows are assumed to be spread evenly over pages, and rows of cached pages are not
            counted.
        bytes_from_disk: bytes read from disk.
        pages_cached: pages found in the cache: on a device for runs on a GPU, otherwise in memory.
        pages_copied: pages copied to a device whole.
        pages_packed: pages whose active rows the CPU gathered.
        pages_in_place: pages whose rows kernels read from host memory; a launch of many supersteps adds 0.
        pages_from_disk: pages read from disk.
        bytes_between: bytes of vertex values copied between devices.
    """

    bytes_copied: int = 0
    bytes_in_place: int = 0
    bytes_from_disk: int = 0
    pages_cached: int = 0
    pages_copied: int = 0
    pages_packed: int = 0
    pages_in_place: int = 0
    pages_from_disk: int = 0
    bytes_between: int = 0

    def text(self) -> str:
        """The counts that are not 0, as a sentence without a full stop."""
        bytes_ = [f"{count / 1e6:,.4g} MB {name}" for count, name in zip(self, ("copied", "read in place", "from disk"))
                  if count]
        pages = [f"{count:,} {name.removeprefix('pages_').replace('_', ' ')}" for name, count in self._asdict().items()
                 if count and name.startswith("pages_")]
        parts = [f"edges moved: {', '.join(bytes_) or '0 MB'}", f"pages: {', '.join(pages)}" if pages else "",
                 f"vertex values: {self.bytes_between / 1e6:,.4g} MB between devices" if self.bytes_between else ""]
        return "; ".join(part for part in parts if part)

    def plus(self, other: Moved) -> Moved:
        """Add the counts of `other` to the counts of this object."""
        if self is NOTHING or other is NOTHING:
            return other if self is NOTHING else self
        return Moved(*(mine + its for mine, its in zip(self, other)))

    def minus(self, other: Moved) -> Moved:
        """Subtract the counts of `other` from the counts of this object."""
        return self if other is NOTHING else Moved(*(mine - its for mine, its in zip(self, other)))

    def over(self, edges: Sequence[int]) -> Iterator[Moved]:
        """Divide the counts of one launch, which this object contains, among the supersteps of the launch.

        Bytes read in place are divided in proportion to `edges`, the traversed edges of each superstep. All other
        counts belong to the first superstep, because pages are moved before a launch.
        """
        if not any(self):
            yield from (NOTHING for _ in edges)
            return
        total, before, done = sum(edges), 0, 0
        for number, one in enumerate(edges):
            done += one
            share = self.bytes_in_place * done // total if total else self.bytes_in_place
            yield (NOTHING if number else self)._replace(bytes_in_place=share - before)
            before = share


NOTHING = Moved()
"""The counts of a run that moves no edges."""
