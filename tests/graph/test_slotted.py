"""Slotted pages hold the edges of an adjacency, whatever the lengths of its rows and the bytes of record ids."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from vlang import BindError
from vlang.runtime.graph.topology.pages import cut_segments
from vlang.runtime.graph.topology.slotted import RecordIds, SlottedPages, record_ids, slotted_starts
from vlang.runtime.plan.plan import SEGMENT

SMALL = 0xFFFFFFFF

DEGREES = {
    "short": [3, 0, 5, 1, 0, 0, 7],
    "large": [0, 0, 3 * SEGMENT + 5, 0, 2, 0, 2 * SEGMENT, SEGMENT + 1, 0, 0, 4, 0],
    "large first and last": [2 * SEGMENT, 0, 1, 2 * SEGMENT + 9],
    "no edges": [0, 0, 0],
    "no vertices": [],
    "one": [1],
    "mirrors first": [0] * 700 + [2, 1, 0, 5],
}


def _offsets(degrees: list[int]) -> NDArray[np.uint64]:
    return np.concatenate([[0], np.cumsum(degrees)]).astype(np.uint64)


@pytest.mark.parametrize("name", DEGREES)
def test_pages_hold_the_edges(name: str) -> None:
    rng = np.random.default_rng(15)
    degrees = DEGREES[name] if name != "short" else rng.integers(0, 9, 500).tolist()
    offsets, n = _offsets(degrees), len(degrees)
    targets = rng.integers(0, max(n, 1), int(offsets[-1])).astype(np.uint32)
    ends = offsets.view(np.int64)
    segments = cut_segments(ends, np.diff(ends))[1]
    for edges, asked in ((1, None), (40, RecordIds(3, 3)), (SEGMENT, RecordIds(2, 2)), (1 << 30, RecordIds(1, 4))):
        starts = slotted_starts(ends, segments, edges)
        pages = SlottedPages.of(offsets, starts, asked)
        pages.check()
        data = pages.written(offsets, targets, 2)
        assert len(data) == pages.begins[-1]
        read = [pages.read(page, data) for page in range(len(starts) - 1)]
        assert np.array_equal(np.concatenate(read), targets)
        places = pages.places()
        assert np.array_equal(pages.rvt[places, 0] <= np.arange(n), np.ones(n, bool))
        assert (np.arange(n) - pages.rvt[places, 0] < np.append(pages.numbers, pages.heads)[places]).all()
        assert pages.begins[-1] <= 18 * (n - pages.heads) + 6 * len(targets) + 16 * len(starts) + 18 * (len(starts) - 2)
        _check_large(pages, ends, edges)


def _check_large(pages: SlottedPages, offsets: NDArray[np.int64], edges: int) -> None:
    """Check that only vertices with large pages are in several pages, and that no other edges are in these pages."""
    for page, (start, ranged) in enumerate(pages.rvt[: len(pages.firsts)].tolist()):
        begin, end = pages.starts[page : page + 2].tolist()
        if ranged == SMALL:
            assert end == begin or (offsets[start] >= begin)
            continue
        assert offsets[start] <= begin
        assert end <= offsets[start + 1]
        assert offsets[start + 1] - offsets[start] > edges
        last = page + ranged
        assert pages.starts[last + 1] == offsets[start + 1]
        assert pages.rvt[last, 1] == 0


def test_record_ids() -> None:
    assert record_ids("slotted") is None
    assert record_ids("slotted-2-3") == RecordIds(2, 3)
    for text in ("slotted-5-1", "slotted-0-2", "slotted-2", "slot"):
        with pytest.raises(BindError, match="layout is 'csr', 'slotted', or 'slotted-P-Q'"):
            record_ids(text)
    offsets = np.arange(601, dtype=np.uint64)
    pages = SlottedPages.of(offsets, np.arange(601), RecordIds(1, 1))
    with pytest.raises(BindError, match="600 pages of at most 1 slots need record ids of 2 and 1 bytes or more; ask "
                       "for 'slotted-2-1', or for 'slotted'"):
        pages.check()
    assert SlottedPages.of(offsets, np.arange(601), None).ids == RecordIds(2, 1)


def test_a_damaged_page_is_found() -> None:
    offsets = np.array([0, 2, 3], np.uint64)
    pages = SlottedPages.of(offsets, np.array([0, 3]), None)
    data = pages.written(offsets, np.array([1, 0, 1], np.uint32), 1)
    data[pages.begins[1] - 10] ^= 1
    with pytest.raises(ValueError, match="page 0 is damaged"):
        pages.read(0, data)
