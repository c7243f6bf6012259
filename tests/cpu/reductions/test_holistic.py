"""mode, mex and hindex with every type, direction and mode, together with other gathers, and with rows of any length.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import networkx as nx
import numpy as np
import pytest

from tests.cpu.compare import assert_as_interpreted, assert_cut_free, interpreted
from tests.cpu.reductions.wholes import (
    BESIDE,
    CDLP,
    COLORING,
    KCORE,
    KINDS,
    LONG,
    MEDIANS,
    USUAL_KINDS,
    all_types,
    hubs,
    medians_of,
    params,
    values,
)
from tests.reference.cases import Case
from tests.reference.graph import RefGraph
from tests.reference.graphs import all_families, family
from tests.sample import sampled
from vlang import Graph, Program, compile
from vlang.runtime.cpu.passes.scratch import whole_tasks, words_of
from vlang.runtime.graph.topology.pages import Pages
from vlang.runtime.plan.plan import SEGMENT

CORES = {text.split()[1].partition("(")[0]: compile(text) for text in (CDLP, KCORE, COLORING, BESIDE)}
LONG_CUTS: tuple[dict[str, Any], ...] = (
    {"mode": "pull", "threads": 1},
    {"mode": "notify-pull", "threads": 3, "page_size": 4 * SEGMENT + 4},
    {"mode": "auto", "threads": 2, "page_size": 1 << 14},
)


def case(program: Program, graph: RefGraph, seed: int = 1) -> Case:
    """Return a case of the program on the graph, with random fields."""
    rng = np.random.default_rng(seed)
    fields = {"priority": rng.random(graph.n).astype(np.float32), "x": rng.integers(0, 12, graph.n).astype(np.int32),
              "y": (rng.integers(0, 9, graph.n) / 4).astype(np.float32)}  # fmt: skip
    needed = {f.name for f in program.plan(frozenset(), frozenset(fields)).fields if f.required} & set(fields)
    return Case(graph, params(program.name), {name: fields[name] for name in needed})


def check(program: Program, graph: RefGraph, cuts: tuple[dict[str, Any], ...] | None = None) -> None:
    """Assert that a program gives the interpreter's result for every partition of the work."""
    found = case(program, graph)
    assert_as_interpreted(program, found, assert_cut_free(program, found, cuts), interpreted(program, found))


@pytest.mark.parametrize("name", CORES)
def test_families(name: str) -> None:
    for _, graph in all_families():
        check(CORES[name], graph)


@pytest.mark.parametrize("name", sampled(CORES, ["beside"]))
@pytest.mark.parametrize("shape", LONG)
def test_long_vertices(name: str, shape: str) -> None:
    check(CORES[name], hubs(200, LONG[shape], 7), LONG_CUTS)


@pytest.mark.parametrize("kinds", sampled(KINDS, USUAL_KINDS))
def test_every_type(kinds: tuple[str, ...]) -> None:
    program = compile(all_types(kinds))
    for graph in (family("messy"), family("messy", directed=False), family("no_edges"), hubs(40, {3: 300}, 2, 200)):
        fields = {f"x{k}": values(kind, graph.n, 10 + k) for k, kind in enumerate(kinds)}
        found = Case(graph, {}, fields)
        assert_as_interpreted(program, found, assert_cut_free(program, found), interpreted(program, found))


def test_medians() -> None:
    """Medians of every type are right, including medians of long rows."""
    program = compile(MEDIANS)
    for seed, (_, graph) in enumerate(all_families()[::4]):
        found = Case(graph, {}, medians_of(graph, seed))
        assert_as_interpreted(program, found, assert_cut_free(program, found), interpreted(program, found))
    found = Case(hubs(200, LONG["around a segment"], 7), {}, medians_of(hubs(200, {}, 7), 5))
    assert_as_interpreted(program, found, assert_cut_free(program, found, LONG_CUTS), interpreted(program, found))


def test_the_lower_of_two() -> None:
    graph = Graph.from_edges([1, 2, 3, 4, 1, 2], [0, 0, 0, 0, 5, 5], n=6)
    program = compile("program p\nvertex a: float\nvertex x: float = median(u.a for u -> self, default = -7)\n")
    got = program(graph, a=np.array([0, 9, -3, np.inf, -0.0, 0], np.float32))["x"]
    assert got.tolist() == [0, -7, -7, -7, -7, -3]
    assert not np.signbit(got[0])


def test_ties_none_and_infinity() -> None:
    """`mode` gives the smallest of the most frequent values. In a tie, `none` loses, as it does with `min`."""
    graph = Graph.from_edges([1, 2, 3, 4], [0, 0, 0, 0], n=5)
    program = compile("program p\nvertex a: int\nvertex b: vertex\n"
                      "vertex x: int = mode(u.a for u -> self, default = 5)\n"
                      "vertex y: vertex = mode(u.b for u -> self, default = self)\n"
                      "vertex z: int = mex(u.a for u -> self)\nvertex h: int = hindex(u.a for u -> self)\n")
    top = np.iinfo(np.int32).max
    got = program(graph, a=np.array([0, top, -1, top, -1], np.int32), b=np.array([0, -1, 4, -1, 4]))
    assert (got["x"][0], got["y"][0], got["z"][0], got["h"][0]) == (-1, 4, 0, 2)
    assert (got["x"][1], got["y"][1], got["z"][1], got["h"][1]) == (5, 1, 0, 0)


def test_cores_and_communities_of_a_larger_graph() -> None:
    made = nx.barabasi_albert_graph(2000, 6, seed=3)
    made.add_edges_from((0, v) for v in range(1, 1900))
    ends = np.array(made.edges).T
    graph = Graph.from_edges(ends[0], ends[1], directed=False)
    core = CORES["kcore"](graph)["core"]
    cores = nx.core_number(made)
    assert core.tolist() == [cores[v] for v in range(2000)]
    labels = list(range(2000))
    for _ in range(5):
        tallies = [Counter(labels[u] for u in made[v]) for v in range(2000)]
        labels = [min(t, key=lambda x: (-t[x], x)) for t in tallies]
    assert CORES["cdlp"](graph, iterations=5)["label"].tolist() == labels
    color = CORES["coloring"](graph, priority=np.random.default_rng(4).random(2000).astype(np.float32))["color"]
    assert color.min() == 0
    assert all(color[u] != color[v] for u, v in made.edges)
    assert all(set(range(color[v])) <= {color[u] for u in made[v]} for v in made)


def test_the_longest_come_first() -> None:
    graph = hubs(50, {3: 2 * SEGMENT, 9: 5 * SEGMENT, 20: SEGMENT + 5}, 5)
    pages = Pages.cut(Graph.from_edges(graph.src, graph.dst, n=50).adjacency("in"), 1 << 16)
    tasks = whole_tasks(pages, np.arange(3), pages.tasks)
    assert pages.longs[tasks[:3, 1], 0].tolist() == [9, 3, 20]
    assert tasks[:3, 0].tolist() == [-1] * 3
    assert (tasks[3:, 0] >= 0).all()
    assert whole_tasks(pages, np.array([2]), pages.tasks[:0]).tolist() == [[-1, 2, 3]]


@pytest.mark.parametrize("degree", [1, 2, 3, 63, 64, 65, 1000])
def test_room(degree: int) -> None:
    """Scratch memory is large enough: hash tables are at least half empty, and bitmaps and counts cover every result.
    """
    def room(*names: str, vertices: int = 0) -> int:
        return words_of(names, degree, vertices) - len(names)  # a word for the offset of the direct table of each

    assert 2 * degree <= room("mode32") <= 4 * degree
    assert room("mode64") == 2 * room("mode32")
    assert 64 * room("mex") > degree
    assert room("hindex", "mex") == degree + 1 + room("mex")
    assert room("grouped:2:vertices:2", vertices=999) - room("grouped:2:vertices:2") >= 999 / 2  # words of 64 bits
