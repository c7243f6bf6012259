"""2-D cache blocks: each edge of a short vertex occurs once, rows keep their order, and a batch has rows of one length.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from vlang import Graph
from vlang.runtime.graph.topology.blocks import Blocks
from vlang.runtime.graph.topology.pages import Pages
from vlang.runtime.plan.plan import BLOCK_MOST, BLOCK_SINGLE, SEGMENT

GRAPHS = ("kron:12", "uniform:17,2", "star:140000", "grid:300x300", "path:70000", "complete:400", "path:0", "path:1")


def blocks_of(spec: str, threads: int = 2) -> tuple[Graph, Blocks]:
    graph = Graph.read(spec)
    return graph, Blocks.cut(Pages.cut(graph.adjacency("in"), 1 << 20), threads)


def short_degrees(graph: Graph) -> np.ndarray:
    degrees = np.diff(graph.adjacency("in").offsets.astype(np.int64))
    return np.where(degrees > SEGMENT, 0, degrees)


@pytest.mark.parametrize(("spec", "threads"), [(spec, 3 - at % 2 * 2) for at, spec in enumerate(GRAPHS)])
def test_each_row_keeps_its_edges_and_their_order(spec: str, threads: int) -> None:
    """In a block, the edges of a row have the same order as in the adjacency."""
    graph, blocks = blocks_of(spec, threads)
    adjacency, degrees = graph.adjacency("in"), short_degrees(graph)
    numbers = blocks.laid_out(adjacency, np.arange(len(adjacency), dtype=np.uint64)).astype(np.int64)
    end = 0
    for strip in blocks.strips:
        assert end == strip.low < strip.high <= strip.low + BLOCK_MOST
        end = strip.high
        rows: list[list[Any]] = [[] for _ in range(strip.high - strip.low)]
        before, k, place = (-1, 0), strip.start, 0
        for sender, count, take in strip.batches.tolist():
            assert sender % (1 << blocks.shift) == 0
            assert count == 1 or take <= BLOCK_SINGLE
            assert take > BLOCK_SINGLE or (sender, -take) > before, "ranges of senders increase, lengths decrease"
            before = (sender, -min(take, BLOCK_SINGLE + 1))
            here = strip.rows[place : place + count]
            assert (np.diff(here.astype(np.int64)) > 0).all()
            for row in here.tolist():
                senders = sender + blocks.senders[k : k + take].astype(np.int64)
                assert np.array_equal(senders, adjacency.targets[numbers[k : k + take]])
                rows[row].append(numbers[k : k + take])
                k += take
            place += count
        assert (k, place) == (strip.end, len(strip.rows))
        for v, found in enumerate(rows, strip.low):
            begin = int(adjacency.offsets[v])
            want = np.arange(begin, begin + degrees[v])
            assert np.array_equal(np.concatenate([want[:0], *found]), want)
    assert end == graph.n
    assert len(blocks.senders) == degrees.sum()


def test_batches_are_few() -> None:
    """On a graph with enough edges, batches are long enough to make up for the three numbers that describe each batch.
    """
    _, blocks = blocks_of("uniform:16")
    assert sum(len(strip.batches) for strip in blocks.strips) < blocks.nbytes // 4 // 100
