"""If one call runs several levels of a sweep, bits and counts are the same as with one call per pass."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tests.cpu.compare import case_of, engine_run, same_bits
from tests.reference.graph import RefGraph
from tests.reference.graphs import ref_graph
from vlang import Program, Result, compile, load
from vlang.runtime.cpu.crew.launch import Cpu
from vlang.runtime.cpu.passes import level_sort, levels
from vlang.runtime.cpu.passes.freedoms import Freedoms

# Passes whose senders are the vertices of another level, or all vertices; fields of several widths with two buffers.
TEXTS = {
    "sends": """
vertex f: int = depth * 7 % 40 if depth < inf else inf
vertex x: int = 1
vertex y: i64 = 0
vertex z: u8 = 1
sweep f up:
    gather a = sum(u.x for u -> self if u.f == f - 1)
    apply  x = (x + a) % 1000
sweep f down:
    gather b = max(u.x + u.y % 9 for self -> u if u.f == f + 1)
    apply  y = x + max(b, 0)
    apply  z = z + 1
""",
    "buffers": """
vertex x: int = 1
vertex v: float[3] = 1.5
vertex h: f16 = 1
sweep depth down:
    gather a = sum(u.x for u -- self)
    gather s = sum(u.v for u -> self)
    apply  (x, h) = ((x + a) % 100, x % 7 + 1)
    gather m = min((u.h, u) for u -- self)
    apply  v = 0.25 * s + m[0]
""",
    "vertices": """
vertex x: int = 1
sweep depth down:
    apply x = x + depth
    apply x = x * 3 % 1001
""",
}
FIRST = """program a
vertex depth: int = 0 if indegree == 0 and outdegree == 2 else inf
repeat:
    gather near  = min(u.depth + 1 for u -> self)
    apply  depth = min(depth, near)
"""


def graph() -> RefGraph:
    """Return a graph of paths of several lengths with wide and narrow levels, and two hubs whose rows are cut into
    segments.
    """
    rng = np.random.default_rng(11)
    paths = [(k, k + 1) for k in range(80)] + [(k, k + 100) for k in range(0, 80, 3)]
    paths += [(40, k) for k in range(200, 900)]
    hubs = [(int(u), 300 + k % 2) for k, u in enumerate(rng.integers(200, 900, 40_000))] + [(300, 1000), (1000, 1001)]
    back = [(int(u), int(v)) for u, v in rng.integers(0, 1002, (3000, 2)) if u > v > 81]
    return ref_graph(1002, [*paths, *hubs, *back], True)


def run(program: Program, threads: int) -> Result:
    return engine_run(program, case_of(graph()), threads=threads)


@pytest.mark.parametrize("name", TEXTS)
def test_levels_in_one_call(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    program = compile(FIRST + TEXTS[name])
    with monkeypatch.context() as patch:
        patch.setattr(Freedoms, "levels_together", lambda self: False)
        apart = run(program, 1)
    assert len(np.unique(np.asarray(apart["depth"]))) > 30
    for most, vertices, threads in ((1, 1, 1), (3, 1 << 20, 2), (1024, 100, 3), (1024, 1 << 20, 2)):
        monkeypatch.setattr(levels, "_MOST_LEVELS", most)
        monkeypatch.setattr(levels, "_MOST_VERTICES", vertices)
        together = run(program, threads)
        for field in apart.fields:
            assert same_bits(np.asarray(apart[field]), np.asarray(together[field])), (field, most, vertices, threads)
        assert [row.edges for row in apart.history] == [row.edges for row in together.history]


def test_a_sweep_takes_few_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a path, with one level per vertex, nearly all passes of a sweep run without a return to Python."""
    calls: list[int] = []
    plain = levels.ListedSweep.run_pass
    monkeypatch.setattr(levels.ListedSweep, "run_pass",
                        lambda self, stage, level: calls.append(level) or plain(self, stage, level))  # type: ignore[func-returns-value]
    path = ref_graph(3000, [(k, k + 1) for k in range(2999)], True)
    result = engine_run(load("betweenness"), case_of(path, sources=np.array([0], np.uint32)))
    assert np.asarray(result["score"]).tolist() == [0.0, *(float(2999 - k) for k in range(1, 2999)), 0.0]
    assert sorted(calls) == sorted([0, 1025, 2050] * 2)


@pytest.mark.parametrize("seed", range(4))
def test_the_threads_sort_as_numpy_does(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(seed)
    n, lowest = 70_000, (0, -3, 5, np.iinfo(np.int32).min + 1)[seed]
    values = (lowest + rng.integers(0, (7, 300, 1, 40)[seed], n)).astype(np.int32)
    chosen = rng.random(n) < (1.0, 0.5, 0.01, 0.0)[seed]
    by_threads = [level_sort.sort_by_level(values, chosen, Cpu(threads)) for threads in (1, 3)]
    monkeypatch.setattr(level_sort, "_LARGE", n + 1)
    for found, wanted in zip(by_threads, [level_sort.sort_by_level(values, chosen, Cpu(1))] * 2):
        for k, one in enumerate(found):
            assert one.dtype == wanted[k].dtype
            assert one.tolist() == wanted[k].tolist()


def test_the_entries_of_long_vertices() -> None:
    rng = np.random.default_rng(9)
    values, table = rng.integers(0, 5, 1000), np.array([0, 7, 400, 999])
    made = levels.Levels(*level_sort.sort_by_level(values, rng.random(1000) < 0.7, Cpu(1)))
    for some in (table, np.arange(1000)):  # few searches, and marks
        wanted = np.flatnonzero(np.isin(made.order, some))
        cuts: Any = SimpleNamespace(longs=np.stack([some, some], axis=1))
        assert made.lists(cuts).long_vertices.tolist() == made.order[wanted].tolist()
        assert made.lists(cuts).short.tolist() == np.delete(made.order, wanted).tolist()
