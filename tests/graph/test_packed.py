"""The target and the weight of an edge are packed into one word."""

from __future__ import annotations

import numpy as np
import pytest

from vlang import Graph
from vlang.runtime.graph.topology.packed import packed_edges


def _graph(values: np.ndarray, n: int = 5) -> Graph:
    return Graph.from_edges(np.arange(len(values)) % n, (3 * np.arange(len(values)) + 1) % n, n=n, weight=values)


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.int32, np.float32])
def test_words_hold_both(dtype: type) -> None:
    graph = _graph(np.array([0, 7, 100, 3, 3, 64, 1], dtype))
    out = graph.adjacency("out")
    made = packed_edges(out, "weight", *graph.column_range("weight"))
    assert made is not None
    assert np.array_equal(made.words & ((1 << made.shift) - 1), out.targets)
    assert np.array_equal(made.words >> made.shift, out.column("weight"))
    assert packed_edges(out, "weight", *graph.column_range("weight")) is made


@pytest.mark.parametrize("values", [[1.0, 0.5], [1.0, -1.0], [1.0, np.inf], [1.0, np.nan], [1.0, 2.0**24]])
def test_other_values_stay_apart(values: list[float]) -> None:
    graph = _graph(np.array(values, np.float32))
    assert packed_edges(graph.adjacency("out"), "weight", *graph.column_range("weight")) is None


def test_what_does_not_fit_beside_the_vertex() -> None:
    for n, most, fits in ((1 << 16, 65535, True), (1 << 16, 65536, False), ((1 << 16) + 1, 65535, False), (1, 9, True)):
        graph = _graph(np.array([1, most], np.uint32), n)
        made = packed_edges(graph.adjacency("out"), "weight", *graph.column_range("weight"))
        assert (made is not None) == fits, (n, most)
