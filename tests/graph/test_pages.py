"""Pages: each edge is in one page, and each short vertex and each segment is in one task, for any page size."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from vlang import Graph
from vlang.runtime.graph.topology.pages import Pages
from vlang.runtime.plan.plan import SEGMENT

SPECS = ("path:0", "path:1", "karate", "star:40000", "kron:10", "rmat:12,40", "uniform:9", "rmat:6,0")


def greedy(offsets: NDArray[np.int64], ends: NDArray[np.int64], edges: int) -> list[int]:
    """Return the starts of pages by their definition: a page holds as many whole vertices and segments as fit, and at
    least one.
    """
    stops = sorted({*offsets[1:].tolist(), *ends.tolist()})
    starts = [0]
    while starts[-1] < int(offsets[-1]):
        coming = [stop for stop in stops if stop > starts[-1]]
        starts.append(max([stop for stop in coming if stop <= starts[-1] + edges], default=coming[0]))
    return starts if len(starts) > 1 else [0, 0]


@pytest.mark.parametrize("spec", SPECS)
@pytest.mark.parametrize("page_size", [1, 4096, 32 << 20])
def test_pages_cover_the_edges(spec: str, page_size: int) -> None:
    adjacency = Graph.read(spec, threads=1).adjacency("in")
    offsets = adjacency.offsets.astype(np.int64)
    if page_size == 1 and len(adjacency) > 1000:
        page_size = 64
    pages = Pages.cut(adjacency, page_size)
    degrees = np.diff(offsets)
    begins = pages.starts[pages.segment_pages]
    ends = begins + pages.segments[:, 2]
    if len(adjacency) < 5000 or page_size > 64:
        assert pages.starts.tolist() == greedy(offsets, ends, max(1, page_size // 4))

    assert pages.longs[:, 0].tolist() == np.flatnonzero(degrees > SEGMENT).tolist()
    for vertex, first, last in pages.longs.tolist():  # replace the edges of a long vertex by its segments
        assert (begins + pages.segments[:, 1])[first] == offsets[vertex]
        assert ends[last - 1] == offsets[vertex + 1]
        assert np.array_equal(ends[first : last - 1], (begins + pages.segments[:, 1])[first + 1 : last])

    done = np.zeros(len(degrees), dtype=int)
    for page, low, high in pages.tasks.tolist():
        done[low:high] += 1
        local = pages.offsets[pages.offset_starts[page] + low - pages.firsts[page] :][: high - low + 1]
        assert np.array_equal(local + pages.starts[page], offsets[low : high + 1])
    assert np.array_equal(done, degrees <= SEGMENT)

    taken = [at for page, low, high in pages.segment_tasks.tolist() for at in range(low, high)
             if pages.segment_pages[at] == page]  # fmt: skip
    assert taken == list(range(len(pages.segments)))
