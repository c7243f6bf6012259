"""A graph of more than 2^32 edges with known results: a ring in which every vertex is adjacent to the nearest few
thousand vertices.

The same code runs a small ring on the CPU and on the emulated GPU. The large ring needs a GPU, 24 GiB of host memory
and 24 GiB of device memory; otherwise its tests are skipped with a reason.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.cuda.emulation.emulated import needs_compiler
from tests.cuda.runs import emulated
from tests.gpu.compare import needs_gpu
from tests.spelled import spelled
from vlang import Graph, compile, load
from vlang.runtime.gpu.device.gpus import gpus
from vlang.runtime.graph.edges.edge_list import VertexIds
from vlang.runtime.graph.topology.build import Rows

NEIGHBOURS = """
program neighbours

vertex below: int    = 0
vertex first: vertex = self
vertex last:  vertex = self

gather smaller = count(u < self for u -- self)
gather lowest  = min(u for u -- self)
gather highest = max(u for u -- self)
apply  below = smaller
apply  first = lowest
apply  last  = highest
"""


@dataclass(frozen=True)
class Ring:
    """A ring of n vertices. Two vertices are neighbours if they are at most `reach` apart, so that there are
    `2 * n * reach` entries.
    """

    n: int
    reach: int

    @property
    def entries(self) -> int:
        """The number of entries of the adjacency lists."""
        return 2 * self.n * self.reach

    def graph(self) -> Graph:
        """Return the graph of the ring. The adjacency lists of the graph are written directly, part by part, without a
        list of edges or a second copy.
        """
        n, reach = self.n, self.reach
        steps = np.concatenate([np.arange(-reach, 0), np.arange(1, reach + 1)])
        targets = np.empty((n, 2 * reach), dtype=np.uint32)
        each = max(1, (1 << 24) // (2 * reach))
        for low in range(0, n, each):
            rows = np.arange(low, min(low + each, n))
            targets[rows[0] : rows[-1] + 1] = (rows[:, None] + steps) % n
        for ends in (slice(0, reach), slice(n - reach, n)):
            targets[ends].sort(axis=1)
        offsets = np.arange(n + 1, dtype=np.uint64) * np.uint64(2 * reach)
        lists = Rows(offsets, targets.reshape(-1), {})
        return Graph.from_rows("in", lists, VertexIds(base=0, count=n), directed=False, name="ring")


SMALL, LARGE = Ring(4003, 33), Ring((1 << 20) + 3, 2049)


def _lacking() -> str:
    """Return the reason why the large ring cannot run on this machine; "" if it can run."""
    need = 24 << 30
    text = Path("/proc/meminfo").read_text(encoding="ascii") if Path("/proc/meminfo").exists() else "MemAvailable: 0"
    free = next(int(line.split()[1]) << 10 for line in text.splitlines() if line.startswith("MemAvailable"))
    if free < need:
        return f"needs 24 GiB of host memory, and {free >> 30} GiB are available"
    if gpus()[0].free < need:
        return f"needs 24 GiB of GPU memory, and {gpus()[0].free >> 30} GiB are free"
    return ""


@pytest.fixture(scope="module")
def large() -> Graph:
    """Return the large ring, built once."""
    lacking = _lacking()
    if lacking:
        pytest.skip(lacking)
    return LARGE.graph()


@pytest.fixture(scope="module")
def small() -> Graph:
    """Return the graph of `SMALL`."""
    return SMALL.graph()


def assert_right(ring: Ring, graph: Graph, **options: Any) -> None:
    """Assert that programs give the known results for every vertex of a ring."""
    n, reach, v = ring.n, ring.reach, np.arange(ring.n, dtype=np.int64)
    assert graph.m == ring.entries
    got = compile(NEIGHBOURS)(graph, **spelled(**options))
    wraps, above = np.maximum(0, v + reach - (n - 1)), np.minimum(v, reach)
    assert np.array_equal(got["below"], above + wraps)
    assert np.array_equal(got["first"], np.where(wraps > 0, 0, np.where(v == 0, 1, np.maximum(0, v - reach))))
    last = np.where(v < reach, n - 1, np.minimum(v + reach, n - 1))
    assert np.array_equal(got["last"], np.where(v == n - 1, n - 2, last))
    source = n // 3
    apart = np.minimum((v - source) % n, (source - v) % n)
    assert np.array_equal(load("bfs")(graph, source=source, **spelled(**options))["depth"], -(-apart // reach))
    assert not np.asarray(load("components")(graph, **spelled(**options))["label"]).any()
    rank = np.asarray(load("pagerank")(graph, **spelled(**options))["rank"], dtype=np.float64)
    np.testing.assert_allclose(rank, 1 / n, rtol=1e-5)


def quarter(ring: Ring, beside: int) -> int:
    """Return a budget in bytes: the sum of `beside` and a quarter of the edges."""
    return ring.entries + beside


def test_more_than_32_bits() -> None:
    assert LARGE.entries > 1 << 32
    assert LARGE.entries * 4 < 18 << 30


def test_on_the_cpu(small: Graph) -> None:
    assert_right(SMALL, small)


@needs_compiler
@pytest.mark.parametrize("where", ["resident", "a quarter of the edges"])
def test_emulated(small: Graph, where: str) -> None:
    options: dict[str, Any] = {"page_size": 1 << 15}
    if where != "resident":
        options["gpu_memory"] = quarter(SMALL, 600_000)
        assert options["gpu_memory"] < 4 * SMALL.entries
    with emulated():
        assert_right(SMALL, small, device="emulated", **options)


@needs_gpu
@pytest.mark.parametrize("transfer", ["auto", "pages", "direct"])
def test_small_on_a_gpu(small: Graph, transfer: str) -> None:
    assert_right(SMALL, small, device="gpu", transfer=transfer, page_size=1 << 15, gpu_memory=quarter(SMALL, 600_000))


@needs_gpu
@pytest.mark.parametrize("where", ["resident", "a quarter of the edges"])
def test_large_on_a_gpu(large: Graph, where: str) -> None:
    options = {} if where == "resident" else {"gpu_memory": quarter(LARGE, 1 << 30)}
    assert_right(LARGE, large, device="gpu", **options)
