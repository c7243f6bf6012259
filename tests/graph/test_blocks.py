"""2-D cache blocks: each edge of a short vertex occurs once, rows keep their order, batches have rows of one length."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from vlang import Graph
from vlang.runtime.graph.topology.blocks import Blocks, Cuts
from vlang.runtime.graph.topology.pages import Pages
from vlang.runtime.plan.plan import BLOCK_MOST, BLOCK_SINGLE, SEGMENT

GRAPHS = ("kron:12", "uniform:17,2", "star:140000", "grid:300x300", "path:70000", "complete:400", "path:0", "path:1")


def blocks_of(spec: str, threads: int = 2) -> tuple[Graph, Blocks]:
    graph = Graph.read(spec)
    return graph, Blocks.lay_out(Cuts.of(Pages.cut(graph.adjacency("in"), 1 << 20), threads))


def short_degrees(graph: Graph) -> np.ndarray:
    degrees = np.diff(graph.adjacency("in").offsets.astype(np.int64))
    return np.where(degrees > SEGMENT, 0, degrees)


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("spec", GRAPHS)
def test_each_row_keeps_its_edges_and_their_order(spec: str, threads: int) -> None:
    """The edge numbers of a row, in the order in which a worker meets them, are those of the adjacency."""
    graph, blocks = blocks_of(spec, threads)
    adjacency, degrees = graph.adjacency("in"), short_degrees(graph)
    numbers = blocks.laid_out(np.arange(len(adjacency), dtype=np.uint64))
    k = place = 0
    for (low, high), batches in zip(pairwise(blocks.cuts.rows.tolist()), blocks.batches):
        assert 0 < high - low <= BLOCK_MOST
        rows: list[list[Any]] = [[] for _ in range(high - low)]
        before = (-1, 0)
        for part, count, take in batches.tolist():
            assert count == 1 or take <= BLOCK_SINGLE
            assert take > BLOCK_SINGLE or (part, -take) > before, "ranges of senders increase, lengths decrease"
            before = (part, -min(take, BLOCK_SINGLE + 1))
            here = blocks.rows[place : place + count]
            assert (np.diff(here.astype(np.int64)) > 0).all()
            for row in here.tolist():
                senders = part * BLOCK_MOST + blocks.senders[k : k + take].astype(np.int64)
                assert np.array_equal(senders, adjacency.targets[numbers[k : k + take].astype(np.int64)])
                rows[row].append(numbers[k : k + take])
                k += take
            place += count
        for v, found in enumerate(rows, low):
            begin = int(adjacency.offsets[v])
            want = np.arange(begin, begin + degrees[v], dtype=np.uint64)
            assert np.array_equal(np.concatenate([want[:0], *found]), want)
    assert (k, place) == (len(blocks.senders), len(blocks.rows)) == (degrees.sum(), blocks.cuts.pairs.sum())
    assert blocks.cuts.rows[-1] == graph.n


def test_batches_are_few() -> None:
    """On a graph with enough edges, batches are long enough to pay for the three numbers that describe each."""
    _, blocks = blocks_of("uniform:16")
    assert sum(map(len, blocks.batches)) < blocks.nbytes // 4 // 100
