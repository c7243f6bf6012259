"""Pushes with frontiers in bitmaps. The frontiers are queued part by part, since queues for all vertices do not fit
into memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from tests.cuda.emulation.emulated import needs_compiler
from tests.cuda.runs import assert_right, emulated, least_memory, program, run
from tests.paged.stores import opened, store_of, streaming
from tests.sample import sampled
from vlang import Graph
from vlang.runtime.gpu.ways import full_passes
from vlang.runtime.gpu.ways.bitmaps import BitmapLoop, BitmapWay
from vlang.runtime.gpu.ways.gpu_superstep import FullWay

pytestmark = needs_compiler

GRAPHS = ("skewed", "long", "wide", "star", "messy", "no_edges")


@pytest.fixture
def parts(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Make loops push by bitmaps where possible. Return a list to which each superstep appends its number of parts."""
    found: list[int] = []
    ranges = BitmapLoop._parts

    def counted(self: BitmapLoop, active: int, edges: int) -> Iterator[tuple[int, int]]:
        cut = list(ranges(self, active, edges))
        found.append(len(cut))
        return iter(cut)

    monkeypatch.setattr(BitmapLoop, "_parts", counted)
    monkeypatch.setattr(full_passes, "attempts", lambda *_: iter([(BitmapWay(), FullWay())]))
    return found


@pytest.mark.parametrize("name", sampled(["bfs", "sssp", "influence", "bipartite"], ["bfs", "influence", "bipartite"]))
def test_right_with_resident_and_copied_pages(name: str, parts: list[int]) -> None:
    """Results are right for programs with and without messages, early exit and full passes, and for frontiers in one or
    several parts.
    """
    modes = set[str]()
    for seed, graph in enumerate(GRAPHS):
        result = run(name, graph, seed)
        assert_right(name, graph, result)
        modes |= {row.mode for row in result.history}
    assert modes == ({"push", "pull"} if name == "bipartite" else {"push"})
    assert min(parts) == 1
    assert max(parts) > 1 or name == "influence"
    if name in ("bfs", "sssp"):
        for seed, transfer in enumerate(("pages", "auto")):
            options: dict[str, Any] = {"page_size": 256, "transfer": transfer}
            memory = least_memory(name, "skewed", **options)
            assert_right(name, "skewed", run(name, "skewed", seed, gpu_memory=memory, **options))


def test_a_search_reads_the_pages_of_its_frontier(parts: list[int]) -> None:
    graph = Graph.read("grid:120x10")  # the vertices of a frontier are in few pages
    with streaming(2), emulated("bfs"):
        disk = opened(graph, 1024)
        found = program("bfs")(disk, source=0, device="emulated", gpu_memory=54_000)
    assert np.array_equal(found["depth"], program("bfs")(graph, source=0)["depth"])
    assert "GPU memory is short: the loop in line 10 runs by bitmap push, because the frontiers of push take" in \
        found.notes[0]
    used = sum(row.pages_cached + row.pages_copied for row in found.history)
    assert found.read_bytes > 0
    assert used < found.rounds * store_of(disk).cuts("in").count / 4
