"""Cache blocks: each edge of a short vertex occurs once, rows keep their order, rows of similar length are together."""

from __future__ import annotations

import numpy as np
import pytest

from vlang import Graph
from vlang.runtime.graph.topology.blocks import Blocks, _lay_out
from vlang.runtime.graph.topology.pages import Pages
from vlang.runtime.plan.plan import BLOCK_GROUP, BLOCK_MOST, SEGMENT

GRAPHS = ("kron:12", "uniform:16", "star:40000", "grid:300x300", "path:70000")


def blocks_of(spec: str, threads: int = 2) -> tuple[Graph, Blocks]:
    graph = Graph.read(spec)
    return graph, Blocks.cut(Pages.cut(graph.adjacency("in"), 1 << 20), threads)


def short_degrees(graph: Graph) -> np.ndarray:
    degrees = np.diff(graph.adjacency("in").offsets.astype(np.int64))
    return np.where(degrees > SEGMENT, 0, degrees)


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("spec", GRAPHS)
def test_each_row_keeps_its_edges_and_their_order(spec: str, threads: int) -> None:
    graph, blocks = blocks_of(spec, threads)
    adjacency, degrees = graph.adjacency("in"), short_degrees(graph)
    end = 0
    edges = np.arange(len(adjacency), dtype=np.uint64)
    numbers = _lay_out(adjacency, edges, blocks.blocks, threads)
    for block in blocks.blocks:
        low, high = block.low, block.high
        assert low == end
        assert high - low <= BLOCK_MOST
        end = high
        rows: list[list[np.ndarray]] = [[] for _ in range(high - low)]
        k = block.start
        for first, places, take in block.runs.tolist():
            assert 1 <= take <= BLOCK_GROUP
            for place in range(first, first + places):
                rows[place].append(numbers[k : k + take])
                k += take
        assert k == block.end
        assert np.array_equal(block.order[block.places], np.arange(high - low))
        for place, v in enumerate(block.order.tolist()):
            begin = int(adjacency.offsets[low + v])
            want = edges[begin : begin + degrees[low + v]]
            assert np.array_equal(np.concatenate([want[:0], *rows[place]]), want)
    assert np.array_equal(blocks.senders, adjacency.targets[numbers.astype(np.int64)])
    assert end == graph.n


@pytest.mark.parametrize("spec", GRAPHS)
def test_rows_stand_by_length_and_ties_by_number(spec: str) -> None:
    graph, blocks = blocks_of(spec)
    degrees = short_degrees(graph)
    for block in blocks.blocks:
        order = block.order.astype(np.int64)
        steps = np.diff(degrees[block.low + order])
        assert (steps <= 0).all()
        assert (np.diff(order)[steps == 0] > 0).all()


def test_runs_are_few() -> None:
    """On a graph with enough edges, runs are long enough to pay for the three numbers that describe each."""
    _, blocks = blocks_of("uniform:16")
    assert sum(len(one.runs) for one in blocks.blocks) < blocks.nbytes // 4 // 100
