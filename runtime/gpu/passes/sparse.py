"""Sparse supersteps on a GPU: what they ask of the machine."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from vlang.runtime.engine.machine import Stats
from vlang.runtime.gpu.device.device import Device, Stream
from vlang.runtime.gpu.kernels.sparse_layout import NEVER
from vlang.runtime.gpu.topology.transfers import Transfer
from vlang.runtime.plan.plan import StageSpec

__all__ = ["OnePage", "SparseMachine", "SparseState", "SparseTopology"]

OnePage = Callable[[int, Stream | None], None]
"""Queues a kernel that reads one page: the address of its row, the stream."""


@dataclass(frozen=True)
class SparseTopology:
    """One orientation of the graph as kernels over frontiers see it. All addresses are those of the device.

    rows: `pages` rows of ROW_WORDS words in the order of their edges, with the columns of the stage; a row may point
    into registered host memory. offsets: u64[n + 1]. segments, longs: the tables of long vertices (see
    vlang.runtime.plan.plan), `segment_count` and `long_count` rows.

    reading: "rows" if kernels can read every page through its row at any time, "pages" if a page must be brought first
    (`SparseMachine.over_pages`), "either" if both work: then pages are cheaper where vertices with `leave` edges or
    more are at work.
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


class SparseState(Protocol):
    """The part of the state that sparse passes set."""

    def clear_stats(self) -> None:
        """Count from zero."""

    def set_word(self, number: int, value: int) -> None:
        """A slot of the frame by number."""


class SparseMachine(Protocol):
    """What sparse supersteps need of the machine. Everything runs on the default stream.

    n: vertices. page columns of a topology are those of the stage, in the order of that orientation.
    """

    device: Device
    n: int

    @property
    def state(self) -> SparseState:
        """The state of the run."""

    @property
    def frame(self) -> int:
        """The address of the frame, up to date."""

    def sparse_topology(self, kind: str, stage: StageSpec | None) -> SparseTopology:
        """An orientation ("in", "out", "both") with the columns of a stage, or without columns."""

    def launch(
        self, template: str, struct: str, constants: Sequence[int], blocks: int, args: Sequence[int], *,
        shared: int = 0, threads: int = 256, cooperative: bool = False, stream: Stream | None = None,
    ) -> None:
        """Queue a kernel of the plan's text (`entries.entry(template, struct, *constants)`), or one that is no template
        if `struct` is empty."""

    def needed(self, kind: str, stage: StageSpec | None, items: int, count: int, queued: bool) -> Transfer:
        """The pages that hold edges of the vertices at work, and how each had best be read; waits for what the device
        marks. items, count: device u32[*count], vertices, or if `queued` u64[*count], entries of a queue."""

    def over_pages(self, kind: str, stage: StageSpec | None, transfer: Transfer, launch: OnePage) -> None:
        """Let `launch` queue a kernel for each page of a transfer, as the page arrives; kernels of several pages may
        run at the same time. Work queued on the default stream comes before, or after, all of them."""

    def resident(self, template: str, struct: str, constants: Sequence[int], threads: int, shared: int) -> int:
        """Blocks of a kernel that run at the same time on the device."""

    def pointer(self, slot: str) -> int:
        """The address of a vertex array ("field:x", "work:heard.s1")."""

    def itemsize(self, slot: str) -> int:
        """Bytes of what a vertex has in an array."""

    def in_place(self, stage: StageSpec, on: bool) -> None:
        """Let the pass write its fields where it reads them ("next:F" stands for the array of "field:F"), or give the
        second buffers back."""

    def run_full(self, stage: StageSpec) -> int:
        """Run a pass over all vertices, messages included; its buffers are exchanged afterwards unless it runs in
        place. Counts begin at zero. The edges traversed."""

    def counted(self) -> Stats:
        """What the last pass counted; waits for it."""
