"""Cache blocks: every edge of a short vertex once, in the order of its senders; as many blocks as senders ask for."""

from __future__ import annotations

import numpy as np
import pytest

from vlang import Graph
from vlang.runtime.graph.blocks import Blocks
from vlang.runtime.graph.pages import Pages
from vlang.runtime.kernelset import BLOCK_HIGH, BLOCK_LOW, PLACE_BITS


def blocks_of(spec: str, threads: int = 2) -> tuple[Graph, Blocks]:
    graph = Graph.read(spec)
    return graph, Blocks.cut(Pages.cut(graph.adjacency("in"), 1 << 20), threads)


@pytest.mark.parametrize(("spec", "blocks"), [("uniform:16", 128), ("kron:16", 64)])
def test_smaller_blocks_where_senders_are_hardly_shared(spec: str, blocks: int) -> None:
    """As many as the least number of edges of a block allows, or 64."""
    assert blocks <= len(blocks_of(spec)[1].table) <= blocks + 8


@pytest.mark.parametrize("spec", ["kron:12", "uniform:16", "star:40000"])
def test_every_edge_of_short_vertices_once(spec: str) -> None:
    graph, blocks = blocks_of(spec)
    adjacency = graph.adjacency("in")
    pairs = []
    for row, (places, senders) in zip(blocks.table, blocks.arrays):
        sender = senders[np.cumsum(places >> PLACE_BITS) - 1] if len(places) else senders[:0]
        receiver = int(row[BLOCK_LOW]) + (places & ((1 << PLACE_BITS) - 1)).astype(np.int64)
        assert (np.diff(sender.astype(np.int64)) >= 0).all()
        assert not len(receiver) or receiver.max() < int(row[BLOCK_HIGH])
        pairs.append(receiver * graph.n + sender)
    degrees = np.diff(adjacency.offsets.astype(np.int64))
    rows = np.repeat(np.arange(graph.n), degrees)
    short = degrees[rows] <= 16384
    want = rows[short] * graph.n + adjacency.targets[short]
    assert np.array_equal(np.sort(np.concatenate(pairs)), np.sort(want))
