"""Runs of `Program.map` that share their reads of the edges have the bits of runs by themselves."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import vlang
from vlang import Graph, Program, Result
from vlang.api.running import together
from vlang.errors import VlangError
from vlang.runtime.cpu.together import LEAST
from vlang.runtime.plan.plan import SEGMENT

SEED = 20261127
SHARED = 5  # two passes in each of two supersteps; then one run ends, for which five wait at the next pass
SEVERAL = """program several(source: vertex, damping = 0.5, rounds = 6)

vertex hot:  f64   = 1 if self == source else 0.25
vertex cold: float = 1 if self == source else 0.5

repeat rounds times:
    gather came = sum(u.hot / max(u.outdegree, 1) for self -> u)
    apply  hot  = damping * came + random(1, self)
    let    most = max(v.hot for v in vertices)
    gather near = sum(u.cold for u -- self)
    apply  cold = near / float(1 + most)
"""


@pytest.fixture(autouse=True)
def every_graph(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let runs on small graphs go together, too."""
    monkeypatch.setattr(together, "_FEWEST", 0)
    monkeypatch.setattr(together, "_DENSE", 0)


def drawn(n: int, m: int, hub: int) -> Graph:
    """Random edges, some parallel and some loops, and `hub` edges to vertex 3; most vertices above n - 9 have none."""
    rng = np.random.default_rng(SEED)
    source, target = rng.integers(0, n - 9, m + hub), rng.integers(0, n - 9, m + hub)
    target[:hub] = 3
    return Graph.from_edges(source, target, vertices=np.arange(n))


def same(found: Result, alone: Result) -> None:
    """Assert that two results have the same bits and ended alike."""
    for info in alone.fields:
        assert found[info].tobytes() == alone[info].tobytes(), (SEED, info)
    assert (found.rounds, found.converged, found.reason, found.globals, found.warnings, found.edges) == \
        (alone.rounds, alone.converged, alone.reason, alone.globals, alone.warnings, alone.edges)
    assert [one.active for one in found.history] == [one.active for one in alone.history]


def compared(program: Program, graph: Graph, **series: Any) -> list[Result]:
    """Results of `map`, each compared with that of a call."""
    threads = {"threads": 2}
    found = list(program.map(graph, **series, **threads))
    for row, result in zip(zip(*series.values()), found, strict=True):
        same(result, program(graph, **dict(zip(series, row)), **threads))
    return found


def test_shared_sums_have_the_same_bits() -> None:
    """The graph has a long row, which is cut into three segments; runs end after different numbers of supersteps."""
    graph = drawn(700, 5000, 2 * SEGMENT + 5)
    seeds = [[int(v)] for v in np.random.default_rng(SEED).integers(0, 700, 19)]
    found = compared(vlang.load("ppr"), graph, seeds=seeds, tol=[10.0 ** -(2 + k % 5) for k in range(19)])
    assert len({one.rounds for one in found}) > 3
    assert found[0].together.startswith("16 runs went together: they shared ")
    assert "fewer than" in found[18].together
    assert "shared 0 " not in found[0].together


def test_several_passes_directions_and_types() -> None:
    program, graph = vlang.compile(SEVERAL), drawn(300, 900, 0)
    found = compared(program, graph, source=list(range(LEAST + 2)), rounds=[0, 1, 2, 6, 6, 6, 6, 9])
    assert found[0].together == f"{LEAST + 2} runs went together: they shared {SHARED} traversals of the edges"
    undirected = Graph.read("karate")
    assert compared(program, undirected, source=list(range(1, 7)))[0].together.startswith("6 runs")


def test_an_error_comes_in_its_place() -> None:
    graph, seeds = drawn(300, 900, 0), [[k] for k in range(8)]
    results = vlang.load("ppr").map(graph, seeds=seeds, damping=[0.5, 0.5, 1.5, *[0.5] * 5])
    same(next(results), vlang.load("ppr")(graph, seeds=[0], damping=0.5))
    next(results)
    with pytest.raises(VlangError, match="damping < 1"):
        next(results)
    wrong = vlang.load("ppr").map(graph, seeds=[*seeds, [999]])
    assert len([next(wrong) for _ in seeds]) == 8
    with pytest.raises(VlangError, match="999"):
        next(wrong)


@pytest.mark.parametrize(("name", "given", "why"), [
    ("bfs", {"source": list(range(8))}, "no loop of the program runs by full passes"),
    ("php", {"source": list(range(8))}, "is neither a field of its neighbour nor a message"),
    ("ppr", {"seeds": [[1], [2]]}, "fewer than 6 runs"),
    ("ppr", {"seeds": [[k] for k in range(8)], "memory": "1G"}, "without a memory budget"),
])
def test_other_runs_say_why_they_read_by_themselves(name: str, given: dict[str, Any], why: str) -> None:
    result = next(iter(vlang.load(name).map(drawn(300, 900, 0), **given)))
    assert result.together.startswith("each run read the edges by itself: ")
    assert why in result.together


def test_an_interrupt_ends_every_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that is interrupted between two passes ends, and so do the others."""
    from vlang.runtime.threads.tasks import Task

    def interrupted(self: Task[Any]) -> Iterator[None]:
        monkeypatch.undo()
        raise KeyboardInterrupt

    monkeypatch.setattr(Task, "wait", interrupted)
    monkeypatch.setattr(together, "alone_because", lambda *_: "")
    with pytest.raises(KeyboardInterrupt):
        list(vlang.load("ppr").map(drawn(300, 900, 0), seeds=[[k] for k in range(8)]))
