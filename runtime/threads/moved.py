"""The edges that a run moved: bytes by the way they took, and pages by the place where they were found."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

__all__ = ["NOTHING", "Moved"]


class Moved(NamedTuple):
    """Bytes and pages of edges that were moved. `Round` has a field of the same name for each of these counts.

    Pages count once for each pass that uses them. Edges that stay in memory, or on the device, are in no page here.

    Attributes:
        bytes_copied: bytes copied to a device: whole pages, rows that the CPU gathered, and edges that stay there.
        bytes_in_place: bytes of the rows that kernels read directly from host memory. If one launch ran many
            supersteps, this is the share of rows outside of the cached pages, with rows spread evenly over pages.
        bytes_from_disk: bytes read from disk.
        pages_cached: pages found in the cache: on a device for runs on a GPU, otherwise in memory.
        pages_copied: pages copied to a device whole.
        pages_packed: pages whose active rows the CPU gathered.
        pages_in_place: pages whose rows kernels read from host memory; a launch of many supersteps counts none.
        pages_from_disk: pages read from disk.
    """

    bytes_copied: int = 0
    bytes_in_place: int = 0
    bytes_from_disk: int = 0
    pages_cached: int = 0
    pages_copied: int = 0
    pages_packed: int = 0
    pages_in_place: int = 0
    pages_from_disk: int = 0

    def text(self) -> str:
        """The counts that are not 0, as a sentence without its end."""
        bytes_ = [f"{count / 1e6:,.4g} MB {name}" for count, name in zip(self, ("copied", "read in place", "from disk"))
                  if count]
        pages = [f"{count:,} {name.removeprefix('pages_').replace('_', ' ')}" for name, count in self._asdict().items()
                 if count and name.startswith("pages_")]
        return f"edges moved: {', '.join(bytes_) or '0 MB'}" + (f"; pages: {', '.join(pages)}" if pages else "")

    def plus(self, other: Moved) -> Moved:
        """The sums of the counts."""
        return Moved(*(mine + its for mine, its in zip(self, other)))

    def minus(self, other: Moved) -> Moved:
        """The differences of the counts."""
        return Moved(*(mine - its for mine, its in zip(self, other)))

    def over(self, edges: Sequence[int]) -> Iterator[Moved]:
        """The counts of supersteps that ran in one launch, of which this object has the sum.

        Bytes read in place are divided by the traversed `edges` of the supersteps. The first superstep has all else,
        as pages are moved before a launch.
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
