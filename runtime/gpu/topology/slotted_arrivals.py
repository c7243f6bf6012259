"""Slotted pages (`vlang.runtime.graph.topology.slotted`) that are decoded on the device when they arrive."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from vlang.errors import BindError
from vlang.options import Options
from vlang.runtime.gpu.device.device import Device, Stream
from vlang.runtime.gpu.topology.cut import Part
from vlang.runtime.gpu.topology.footprint import Footprint, Slotted
from vlang.runtime.gpu.topology.resident import Resident
from vlang.runtime.gpu.topology.resident_edges import Prepare
from vlang.runtime.graph.topology.adjacency import Adjacency
from vlang.runtime.graph.topology.slotted import record_ids
from vlang.runtime.plan.plan import THREADS
from vlang.runtime.threads.activity import timed
from vlang.runtime.threads.processors import available_threads

if TYPE_CHECKING:
    from vlang.runtime.gpu.topology.topology import Topology

__all__ = ["AUTO_STREAMS", "SlottedArrivals", "layout_notes", "slotted_form"]

AUTO_STREAMS = 2  # one copies while the kernels of the other run; more gain nothing (docs/internals/gpu-performance.md)

_RUN = 1024  # SLOTTED_RUN: edges that a warp decodes after one search


def slotted_form(options: Options) -> Slotted | None:
    """Return the form of slotted pages that the option `layout` asks for; None for parts of the adjacency lists."""
    if options.layout == "csr":
        return None
    return Slotted(record_ids(options.layout), options.streams or AUTO_STREAMS)


def layout_notes(options: Options, topologies: Iterable[Topology]) -> Iterator[str]:
    """Yield a sentence if no pages of the run have the form that the option `layout` asks for."""
    if options.layout == "csr" or any(topology.arrivals is not None for topology in topologies):
        return
    why = "all edges fit into GPU memory" if all(topology.resident for topology in topologies) else \
        "the pages are those of a page file"
    yield f"layout={options.layout}: not followed, as {why}"


class SlottedArrivals:
    """Copies slotted pages to the device, and decodes each into the neighbours that kernels read.

    A page is copied into the buffer of its stream, and decoded in this stream, so that the slots of the page cache have
    decoded pages only.

    Args:
        device: the device.
        prepare: queues kernels.
        parts: page-locks arrays of the graph.
        side: the adjacency lists.
        form: the form of the pages.
        layout: the layout of the device memory.
        rvt: the device address for the table RVT.
        buffers: the device address of the buffers.

    Raises:
        BindError: the requested record ids cannot address all pages and slots, or there is no host memory for the
            pages.
    """

    def __init__(
        self, device: Device, prepare: Prepare, parts: Resident, side: Adjacency, form: Slotted,
        layout: Footprint, rvt: int, buffers: int,
    ) -> None:
        self._device, self._prepare, self._rvt, self._buffers = device, prepare, rvt, buffers
        self._each, cut = layout.buffer_bytes, layout.cut
        self._pages = pages = form.pages(side, cut)
        pages.check()
        try:
            self._data: NDArray[np.uint8] = side.derived(("slotted bytes", cut.key, pages.ids),
                                      lambda: pages.written(side.offsets, side.targets, available_threads()))
        except MemoryError:
            raise BindError(f"layout='slotted': there are not {int(pages.begins[-1]):,} bytes of host memory for the "
                            "pages; ask for layout='csr'") from None
        if self._data.nbytes:
            self._locked = parts.lock((side.kind, "slotted", cut.key, pages.ids), f"slotted pages of {side.kind}-edges",
                                      self._data)
        device.upload(rvt, pages.rvt)

    def bring(self, part: Part, place: int, buffer: int, stream: Stream) -> int:
        """Queue the copy and the decoding of a page; returns the bytes copied.

        Args:
            part: the page.
            place: the device address of the decoded neighbours.
            buffer: the number of the buffer that belongs to the stream.
            stream: the stream.
        """
        pages, at = self._pages, self._buffers + buffer * self._each
        piece = self._data[int(pages.begins[part.page]) : int(pages.begins[part.page + 1])]
        with timed("copy", f"page {part.page}", array="slotted", bytes=piece.nbytes, queued=True):
            self._device.upload(at, piece, stream)
        blocks = -(-part.edges // (_RUN * THREADS // 32))
        self._prepare("decode_slotted", min(blocks, 32 * self._device.info.multiprocessors),
                      (at, piece.nbytes, int(pages.slots[part.page]), part.edges, part.page,
                       pages.ids.p << 8 | pages.ids.q, self._rvt, place), stream)
        return piece.nbytes

    def close(self) -> None:
        """Unlock the pages, after all queued work has ended."""
        self._device.drain()
        if self._data.nbytes and self._locked:
            self._device.unregister(self._data)
