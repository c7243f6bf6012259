"""Graphs for tests of page files, and their comparison."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.graph.oracle import draw
from vlang.runtime.graph.graph import Graph

__all__ = ["drawn_graph", "same_graph"]


def drawn_graph(n: int, edges: int, seed: int = 1, **options: Any) -> Graph:
    """Return a random multigraph with an edge column that distinguishes the edges."""
    drawn = draw(np.random.default_rng([26, seed]), n, edges)
    return Graph.from_edges(drawn.src, drawn.dst, n=n, weight=drawn.weight, **options)


def same_graph(found: Graph, expected: Graph) -> None:
    """Assert that two graphs are equal, except for the order of their rows.

    The function compares ids, notes, columns with types and bounds, and the rows of both directions in the order of the
    ids.
    """
    found, expected = found.plain(), expected.plain()
    assert (found.n, found.m, found.directed) == (expected.n, expected.m, expected.directed)
    assert found.ids.values.tolist() == expected.ids.values.tolist()
    assert found.ids.consecutive == expected.ids.consecutive
    assert dict(found.columns) == dict(expected.columns)
    for kind in ("in", "out"):
        a, b = found.adjacency(kind), expected.adjacency(kind)
        np.testing.assert_array_equal(a.offsets, b.offsets)
        np.testing.assert_array_equal(a.targets, b.targets)
        for name in expected.columns:
            np.testing.assert_array_equal(a.stored(name), b.stored(name))
    for name in expected.columns if expected.rule is None else ():
        assert repr(found.column_range(name)) == repr(expected.column_range(name))
    assert found.notes == expected.notes
    assert dict(found.left_out) == dict(expected.left_out)
