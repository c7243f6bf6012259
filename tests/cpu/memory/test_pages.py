"""Pages and tasks, checked by brute force: every edge is in exactly one page and one task, for all sizes."""

from __future__ import annotations

import ctypes
import secrets
import threading

import numpy as np
import pytest
from numpy.typing import NDArray

from vlang.runtime.graph.topology.adjacency import Adjacency
from vlang.runtime.graph.topology.build import Rows
from vlang.runtime.graph.topology.pages import Pages, vertex_tasks
from vlang.runtime.plan.plan import PAGE_COLUMNS, PAGE_FIRST, PAGE_OFFSETS, PAGE_TARGETS, SEGMENT

DEGREES: dict[str, list[int]] = {
    "empty": [],
    "no edges": [0, 0, 0],
    "one": [1],
    "ones": [1] * 50,
    "exact": [SEGMENT - 1, SEGMENT, SEGMENT + 1, 2 * SEGMENT, 2 * SEGMENT + 1],
    "long ends": [3 * SEGMENT, 1, 0, 5 * SEGMENT + 7],
    "long only": [5000],
    "side by side": [2000, 2000, 2000],
    "zeros at ends": [0, 0, 16, 0, 0, 0, 16, 0, 3000, 0, 0, 0, 1, 0],
    "zeros around a hub": [0] * 20 + [1025] + [0] * 20,
}
SIZES = (1, 4, 64, 100, 4096, 4 * SEGMENT, 4 * SEGMENT + 4, 1 << 25)


def made(offsets: NDArray[np.uint64], targets: NDArray[np.uint32]) -> Adjacency:
    """Return an adjacency without columns."""
    return Adjacency("in", Rows(offsets, targets, {}), {}, lambda name: targets, threading.RLock())


def adjacency(degrees: list[int]) -> Adjacency:
    """Return an adjacency in which edge e leads to vertex e, so that the target identifies the edge."""
    offsets = np.concatenate([[0], np.cumsum(degrees)]).astype(np.uint64)
    return made(offsets, np.arange(int(offsets[-1]), dtype=np.uint32))


def check(degrees: list[int], size: int) -> Pages:
    """Cut rows into pages, and follow every task through the tables as a kernel does."""
    cut = Pages.cut(adjacency(degrees), size)
    offsets, n = cut.adjacency.offsets.astype(np.int64), len(degrees)
    total = int(offsets[-1])
    assert cut.starts[0] == 0
    assert cut.starts[-1] == total
    sizes = np.diff(cut.starts)
    assert (sizes > 0).all() or (total == 0 and cut.count == 1)
    assert (sizes <= max(size // 4, SEGMENT)).all()
    seen = np.zeros(total, dtype=np.int64)
    done = np.zeros(n, dtype=np.int64)
    table = cut.table([cut.adjacency.targets])

    def edge_of(page: int, local: int, word: int) -> int:
        return int(ctypes.c_uint32.from_address(int(table[page, word]) + 4 * local).value)

    for page, low, high in cut.tasks.tolist():
        assert low < high
        assert 0 <= page < cut.count
        for v in range(low, high):
            assert degrees[v] <= SEGMENT
            done[v] += 1
            row = v - int(table[page, PAGE_FIRST])
            assert row >= 0
            begin, end = edge_of(page, row, PAGE_OFFSETS), edge_of(page, row + 1, PAGE_OFFSETS)
            edges = [edge_of(page, k, PAGE_TARGETS) for k in range(begin, end)]
            assert edges == list(range(int(offsets[v]), int(offsets[v + 1]))), (v, page)
            assert edges == [edge_of(page, k, PAGE_COLUMNS) for k in range(begin, end)]
            seen[edges] += 1
    for page, low, high in cut.segment_tasks.tolist():
        assert low < high
        for s in range(low, high):
            v, begin, end = cut.segments[s].tolist()
            assert cut.segment_pages[s] == page
            assert 0 < end - begin <= SEGMENT
            edges = [edge_of(page, k, PAGE_TARGETS) for k in range(begin, end)]
            assert edges == list(range(edges[0], edges[0] + len(edges)))
            assert offsets[v] <= edges[0]
            assert edges[-1] < offsets[v + 1]
            assert (edges[0] - offsets[v]) % SEGMENT == 0
            assert edges[-1] < cut.starts[page + 1]
            assert edges[0] >= cut.starts[page]
            seen[edges] += 1
    for v, first, end in cut.longs.tolist():
        assert degrees[v] > SEGMENT
        done[v] += 1
        assert (cut.segments[first:end, 0] == v).all()
        assert end - first == -(-degrees[v] // SEGMENT)
    assert (seen == 1).all()
    assert (done == 1).all()
    return cut


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", DEGREES)
def test_cut(name: str, size: int) -> None:
    check(DEGREES[name], size)


def test_random_cuts() -> None:
    seed = secrets.randbits(32)
    print(f"seed {seed}")
    rng = np.random.default_rng(seed)
    for _ in range(60):
        n = int(rng.integers(0, 40))
        degrees = np.where(rng.random(n) < 0.1, rng.integers(900, 3200, n), rng.integers(0, 9, n))
        degrees = degrees * (rng.random(n) < 0.7)
        check(degrees.tolist(), int(rng.choice(SIZES)))


def test_large_graphs_are_cut_into_even_tasks() -> None:
    """Tasks have about the requested cost, no task is much larger, and pages have about the requested size."""
    degrees = np.random.default_rng(5).integers(0, 40, 200_000)
    offsets = np.concatenate([[0], np.cumsum(degrees)]).astype(np.uint64)
    cut = Pages.cut(made(offsets, np.zeros(int(offsets[-1]), np.uint32)), 1 << 20)
    assert cut.count == -(-int(offsets[-1]) // (1 << 18)) or cut.count == 1 + int(offsets[-1]) // (1 << 18)
    costs = [int(offsets[high] - offsets[low]) + high - low for _, low, high in cut.tasks.tolist()]
    assert max(costs) <= cut.cost + 41
    assert cut.tasks[0, 1] == 0
    assert cut.tasks[-1, 2] == len(degrees)
    assert (cut.tasks[1:, 1] == cut.tasks[:-1, 2]).all()


def test_a_page_never_holds_more_edges_than_its_offsets_can_count() -> None:
    """A page holds at most as many edges as its offsets can count. The test has offsets only, since 5e9 edges do not
    fit in memory.
    """
    offsets = np.arange(5_000_001, dtype=np.uint64) * 1000
    cut = Pages.cut(made(offsets, np.zeros(0, np.uint32)), 1 << 60)
    assert cut.count == 2
    assert (np.diff(cut.starts) < 1 << 32).all()
    assert cut.offsets[cut.offset_starts[1] - 1] == cut.starts[1]


def test_vertex_tasks() -> None:
    assert vertex_tasks(0, 4).shape == (0, 3)
    assert vertex_tasks(9, 4).tolist() == [[0, 0, 4], [0, 4, 8], [0, 8, 9]]
