"""Counts the active vertices of each page, and sorts a queue of active vertices, on the device."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from vlang.runtime.gpu.kernels.sparse_layout import MARK_WORDS
from vlang.runtime.gpu.topology.engines import choose_transfer
from vlang.runtime.gpu.topology.topology import Topology
from vlang.runtime.gpu.topology.transfers import Marks, Packing, Transfer

__all__ = ["Choosing", "choose_pages", "count_in_place", "mark_items", "read_marks", "sort_items"]

Choosing = tuple[str, tuple[int, ...]]


def mark_items(
    topology: Topology, items: int, count: int, queued: bool = False,
    choosing: Choosing | None = None,
) -> Marks:
    """Count the listed vertices, and their edges, in each page; waits for the device.

    Args:
        topology: the adjacency.
        items: device address of the vertices, u32[*count]; if `queued`, of the entries of a queue, u64[*count].
        count: device address of the number of items.
        queued: whether the items are entries of a queue.
        choosing: the kernel that chooses the transfer of each page, and its arguments after the marks, the starts of
            pages and their number (see `choose_on_device`); None if the host chooses.
    """
    at = topology.table_at("marks")
    topology.device.fill(at, 8 * MARK_WORDS * (topology.pages + 1), 0)
    topology.over_few("mark_queue" if queued else "mark_pages", "offsets", "starts", topology.pages, items, count, at)
    return read_marks(topology, choosing)


def read_marks(topology: Topology, choosing: Choosing | None = None) -> Marks:
    """Return the counts that kernels have added to the table of marks; waits for the device.

    Args:
        topology: the adjacency.
        choosing: see `mark_items`.
    """
    marks, at = np.empty((topology.pages + 1, MARK_WORDS), dtype=np.int64), topology.table_at("marks")
    if choosing is not None:
        name, more = choosing
        topology.over_few(name, at, "starts", topology.pages, *more)
    topology.device.download(marks, at)
    return Marks.of(marks, choosing is not None)


def choose_pages(
    topology: Topology, name: str, marks: Marks, asked: str = "auto", published: bool = False,
    packing: Packing | None = None,
) -> Transfer:
    """Choose the transfer of each page with edges of marked vertices, and update the traffic counters.

    Args:
        topology: the adjacency.
        name: the name of the `Use`.
        marks: the active edges.
        asked: the option `transfer`.
        published: whether to choose by the published formulas of HyTGraph.
        packing: the speed at which the CPU gathers rows; None if it does not gather rows.
    """
    if topology.resident:
        return Transfer(tuple(np.flatnonzero(marks.edges > 0).tolist()))
    edge_bytes, traffic = topology.edge_bytes(name), topology.traffic
    chosen = choose_transfer(marks, np.diff(topology.layout.cut.starts), edge_bytes, topology.cached(), topology.link,
                             topology.readable, packing, asked, published)
    traffic.direct += edge_bytes * int(marks.edges[list(chosen.direct)].sum())
    traffic.read += len(chosen.direct)
    traffic.packed += len(chosen.packed)
    return chosen


def count_in_place(topology: Topology, name: str, edges: int) -> None:
    """Count edges that a launch has read through `Topology.rows`. Edges of pages without a slot count as read in place.

    The edges are assumed to be spread evenly over all pages.

    Args:
        topology: the adjacency.
        name: the name of the use.
        edges: the number of edges.
    """
    if not topology.resident and topology.edges:
        outside = sum(part.edges for part, cached in zip(topology.parts, topology.cached()) if not cached)
        topology.traffic.direct += topology.edge_bytes(name) * (edges * outside // topology.edges)


def sort_items(topology: Topology, queue: int, count: int, places: NDArray[np.uint64], target: int) -> None:
    """Sort a queue of entries by page and by weight (heavy or light).

    Args:
        topology: the adjacency.
        queue: device address of the entries, u64[*count].
        count: device address of the number of entries.
        places: uint64[P + 1, 2], the positions at which the heavy and the light entries of each page begin; the last
            row is for entries without edges.
        target: device address of the sorted entries.
    """
    at = topology.table_at("sorting")
    topology.device.upload(at, places)
    topology.over_few("sort_queue", "offsets", "starts", topology.pages, queue, count, at, target)
