"""Reading options: dropping edges, symmetrizing, weights from a rule, and conversion back to an edge list."""

from __future__ import annotations

from itertools import groupby

import numpy as np
import pytest

from tests.graph.oracle import Drawn, draw, lists
from tests.graph.test_build import SEED, graph_of, same
from vlang.errors import GraphError
from vlang.runtime.graph.graph import Graph


def thinned(drawn: Drawn, kind: str, directed: bool, loops: bool, parallel: bool) -> list[tuple[int, int, int]]:
    """Return (row, target, weight) of the edges that are kept.

    Args:
        drawn: the edges.
        kind, directed: the adjacency direction, and whether the graph is directed.
        loops, parallel: whether to drop self-loops, and whether to drop parallel edges.
    """
    offsets, targets, weights = lists(drawn, kind, directed)
    rows = np.repeat(np.arange(drawn.n), np.diff(offsets))
    entries = [e for e in zip(rows.tolist(), targets.tolist(), weights.tolist()) if not (loops and e[0] == e[1])]
    return [min(run, key=lambda e: e[2]) for _, run in groupby(entries, key=lambda e: e[:2])] if parallel else entries


@pytest.mark.parametrize("kind", ["in", "out"])
@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize(("loops", "parallel"), [("drop", "keep"), ("keep", "drop"), ("drop", "drop")])
def test_drop(loops: str, parallel: str, directed: bool, kind: str) -> None:
    for n, edges in ((1, 5), (3, 30), (200, 70_000)):
        drawn = draw(np.random.default_rng([SEED, n]), n, edges)
        graph = graph_of(drawn, directed, self_loops=loops, parallel=parallel)
        expected = thinned(drawn, kind, directed, loops == "drop", parallel == "drop")
        built = graph.adjacency(kind)
        rows = np.repeat(np.arange(n), np.diff(built.offsets).astype(int))
        assert list(zip(rows.tolist(), built.targets.tolist(), built.column("weight").tolist())) == expected
        assert graph.m == len(expected)
        drops = loops == "drop", parallel == "drop"
        stay = [e for e in thinned(drawn, "in", directed, False, False) if directed or e[1] <= e[0]]
        lost = sum(e[0] == e[1] for e in stay) if loops == "drop" else 0
        kept = sum(directed or e[1] <= e[0] for e in thinned(drawn, "in", directed, *drops))
        if loops == "drop":
            assert f"{lost:,} self-loop{'s' * (lost != 1)} dropped." in graph.notes
        if parallel == "drop":
            dropped = len(stay) - lost - kept
            said = f"{dropped:,} parallel edge{'s' * (dropped != 1)} dropped"
            assert any(note.startswith(said) for note in graph.notes)


@pytest.mark.parametrize("values", [[2.5, -1.0, np.nan, 7.0], [np.nan, np.nan, 3.0, -1.0], [-5, 3, -7, 9],
                                    [2**63 + 5, 2**63 + 1, 2**64 - 1, 7]])  # fmt: skip
def test_the_smallest_parallel_edge_stays_for_every_type(values: list[float]) -> None:
    column = np.array(values)
    graph = Graph.from_edges([0] * 4, [1] * 4, parallel="drop", weight=column, place=[0, 1, 2, 3])
    kept = graph.adjacency("out")
    assert kept.column("weight").tolist() == [np.nanmin(column)]
    assert kept.column("place").tolist() == [int(np.nanargmin(column))]


def test_of_equal_parallel_edges_the_first_stays() -> None:
    graph = Graph.from_edges([0, 1, 0], [1, 0, 1], directed=False, parallel="drop", weight=[3, 3, 3], place=[5, 6, 7])
    assert graph.m == 2
    assert graph.adjacency("in").column("place").tolist() == [5, 5]


def test_without_a_column_one_parallel_edge_stays() -> None:
    graph = Graph.from_edges([0, 0, 1], [1, 1, 1], parallel="drop", self_loops="drop")
    assert graph.m == 1
    assert graph.notes[:2] == ("1 self-loop dropped.", "1 parallel edge dropped: one of several stays.")


def test_symmetrize() -> None:
    drawn = draw(np.random.default_rng([SEED, 9]), 90, 3000)
    graph = graph_of(drawn, symmetrize=True)
    assert not graph.directed
    same(graph, drawn, "in")
    assert "Symmetrized: both directions of 3,000 directed edges." in graph.notes


def test_a_wrong_option_says_what_it_may_be() -> None:
    with pytest.raises(GraphError, match="parallel='dropp': give 'keep' or 'drop'"):
        Graph.from_edges([0], [1], parallel="dropp")


@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize(("low", "high"), [(1, 63), (5, 5), (-100, 100), (0, 70_000), (-3, 2**40)])
def test_rule_weights(low: int, high: int, directed: bool) -> None:
    drawn = draw(np.random.default_rng([SEED, 11]), 5000, 80_000)
    u, v = drawn.src.astype(np.int64), drawn.dst.astype(np.int64)
    if not directed:
        u, v = np.minimum(u, v), np.maximum(u, v)
    expected = Drawn(drawn.n, drawn.src, drawn.dst, low + (31 * u + 17 * v) % (high - low + 1))
    fresh = graph_of(drawn, directed).with_rule_weights(low, high)
    built = graph_of(drawn, directed)
    built.adjacency("out", ["weight"])
    for graph in (fresh, built.with_rule_weights(low, high)):
        for kind in ("in", "out", "both"):
            same(graph, expected, kind)
        assert graph.column_range("weight") == (low, high)
    same(built, drawn, "in")
    assert fresh.columns["weight"] == (np.uint8 if (low, high) == (1, 63) else fresh.columns["weight"])


def test_rule_weights_leave_other_columns() -> None:
    graph = Graph.from_edges([0, 1], [1, 0], weight=[9, 9], length=[3, 4]).with_rule_weights(1, 1)
    assert graph.adjacency("in", ["length"]).column("length").tolist() == [4, 3]
    assert graph.adjacency("in").column("weight").tolist() == [1, 1]
    assert set(graph.columns) == {"weight", "length"}


def test_a_rule_that_makes_no_sense_is_refused() -> None:
    with pytest.raises(GraphError, match=r"weights 5\.\.1: the first must not be larger"):
        Graph.read("path:3").with_rule_weights(5, 1)


@pytest.mark.parametrize("directed", [True, False])
def test_edges_taken_apart_make_the_same_graph(directed: bool) -> None:
    drawn = draw(np.random.default_rng([SEED, 12]), 40, 2000)
    for first in ("in", "out"):
        graph = graph_of(drawn, directed)
        graph.adjacency(first)
        again = Graph(graph.edges())
        assert again.m == graph.m
        for kind in ("in", "out", "both"):
            a, b = graph.adjacency(kind), again.adjacency(kind)
            np.testing.assert_array_equal(a.targets, b.targets)
            np.testing.assert_array_equal(a.column("weight"), b.column("weight"))
