"""Vertices with more edges than a segment have correct results, with the same bits for every partition of the work."""

from __future__ import annotations

import secrets
from typing import Any

import numpy as np
import pytest

from tests.cpu.compare import assert_as_interpreted, assert_cut_free, engine_run, interpreted, same_bits
from tests.reference.cases import Case
from tests.reference.graph import RefGraph
from tests.spelled import spelled
from vlang import Graph, compile
from vlang.runtime.plan.plan import SEGMENT

HUBS: dict[str, dict[int, int]] = {  # vertex -> its in-edges, in graphs of 30 vertices
    "around a segment": {3: SEGMENT - 1, 7: SEGMENT, 11: SEGMENT + 1, 19: 2 * SEGMENT + 1},
    "side by side": {10: 2 * SEGMENT, 11: SEGMENT + 500, 12: SEGMENT + 1},
    "first and last": {0: 2 * SEGMENT + 1000, 29: SEGMENT + 2},
    "alone": {29: 4 * SEGMENT + 1},
}
CUTS: tuple[dict[str, Any], ...] = (
    {"mode": "pull", "threads": 1},
    {"mode": "pull", "threads": 4, "page_size": 64},
    {"mode": "notify-pull", "threads": 2, "page_size": 64},
    {"mode": "notify-pull", "threads": 3, "page_size": 4 * SEGMENT + 4},
    {"mode": "auto", "threads": 4, "page_size": 8 * SEGMENT},
    {"mode": "auto", "threads": 2, "page_size": 1 << 30},
    {"blocking": "always", "threads": 2},
    {"blocking": "never", "threads": 3},
)
TEXT = """program hubs
edge   weight: float = 1
vertex x: float = 1.0 / (1 + indegree % 7)
vertex s, p, m: float = 0
vertex d: int = 0 if outdegree == 0 or indegree == 0 else inf
vertex from_: vertex = none
vertex n, b: int = 0
vertex half: f16 = 0
repeat 2 times:
    gather total = sum(u.x * weight for u -> self)
    gather average = mean(u.x for u -> self, default = -1)
    gather many = count(u.x > x for u -> self)
    gather bits = bitxor(u.n + many for u -> self if u.n >= 0)
    apply (s, m, n, b) = (total, average, many, bits)
    gather back = sum(s * u.x for self -> u)
    gather product = prod(1 + u.x / 1000 for self -> u)
    apply (p, x) = (product, tanh(back + x / 3))
    gather all_round = max(u.x - x for u -- self, default = 0)
    apply half = all_round
repeat:
    gather near = min((u.d + 1, u) for u -- self)
    apply (d, from_) = min((d, from_), near)
repeat:
    gather far = max(u.n for self -> u)
    apply n = max(n, far)
    activate when changed(n)
global everything = sum(v.x for v in vertices)
"""


def hub_graph(hubs: dict[int, int], directed: bool) -> RefGraph:
    """Return a graph of hubs with the given numbers of in-edges, and a ring over the first 25 vertices so that changes
    propagate.
    """
    rng = np.random.default_rng(sum(hubs))
    ring = [(k, (k + 1) % 25) for k in range(25) if (k + 1) % 25 not in hubs]
    sources = [rng.integers(0, 30, count) for count in hubs.values()]
    src = np.concatenate([*sources, [k for k, _ in ring]]).astype(np.int64)
    dst = np.concatenate([np.full(count, hub) for hub, count in hubs.items()] + [[k for _, k in ring]]).astype(np.int64)
    weight = (rng.integers(1, 30, len(src)) / 7).astype(np.float32)
    if directed:
        return RefGraph(30, src, dst, {"weight": weight})
    back = np.flatnonzero(src != dst)
    return RefGraph(30, np.concatenate([src, dst[back]]), np.concatenate([dst, src[back]]),
                    {"weight": np.concatenate([weight, weight[back]])}, directed=False)  # fmt: skip


@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("name", HUBS)
def test_hubs(name: str, directed: bool) -> None:
    graph = hub_graph(HUBS[name], directed)
    if directed:
        assert all(graph.indegree[hub] == count for hub, count in HUBS[name].items())
    program = compile(TEXT)
    case = Case(graph)
    result = assert_cut_free(program, case, CUTS)
    assert_as_interpreted(program, case, result, interpreted(program, case))


@pytest.mark.parametrize("size", [SEGMENT, SEGMENT + 1, 3 * SEGMENT])
def test_stars(size: int) -> None:
    """Searches of stars from the hub or from a spoke are right. Each superstep of these searches reads or writes one
    long row.
    """
    program = compile("program search(source: vertex)\nvertex d: int = 0 if self == source else inf\n"
                      "repeat:\n    gather near = min(u.d + 1 for u -> self)\n    apply d = min(d, near)\n")
    spokes = np.arange(1, size + 1)
    hub = np.zeros(size, np.int64)
    for graph, source in ((RefGraph(size + 1, hub, spokes), 0), (RefGraph(size + 1, spokes, hub), size),
                          (RefGraph(size + 1, np.append(hub, spokes), np.append(spokes, hub)), 5)):  # fmt: skip
        case = Case(graph, {"source": source})
        result = assert_cut_free(program, case, CUTS)
        assert_as_interpreted(program, case, result, interpreted(program, case))


def test_larger_random_graphs() -> None:
    """Runs with many tasks and several threads give the same bits as a run with one thread and one page."""
    seed = secrets.randbits(32)
    print(f"seed {seed}")
    rng = np.random.default_rng(seed)
    n = 150_000
    src = rng.integers(0, n, 600_000)
    dst = np.where(rng.random(600_000) < 0.2, rng.integers(0, 3, 600_000), rng.integers(0, n, 600_000))
    graph = Graph.from_edges(src, dst, n=n, weight=rng.random(600_000).astype(np.float32))
    program = compile(TEXT)
    cuts = (CUTS[0], {**CUTS[1], "page_size": 1 << 16}, *CUTS[3:])
    results = [program(graph, max_rounds=6, **spelled(**cut)) for cut in cuts]
    for other in results[1:]:
        for name in results[0].fields:
            assert same_bits(np.asarray(results[0][name]), np.asarray(other[name])), name
        assert results[0].globals == other.globals
    indegree = np.bincount(dst, minlength=n)
    assert np.array_equal(results[0].d == 0, (indegree == 0) | (np.bincount(src, minlength=n) == 0))


def test_options_hold_for_the_run_they_are_given_to() -> None:
    """Options hold only for their own run. Successive runs divide a graph into pages of one size, of another size, and
    of the first size again.
    """
    program, graph = compile(TEXT), hub_graph(HUBS["alone"], True)
    case = Case(graph)
    first = engine_run(program, case, page_size=64)
    again = [engine_run(program, case, page_size=size) for size in (4096, 64)]
    assert all(same_bits(first.x, r.x) for r in again)
