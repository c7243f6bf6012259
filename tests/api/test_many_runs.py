"""Vertex lists that a text describes, and `Program.map`, whose runs share their reads of edges."""

from __future__ import annotations

import gc
import re
from bisect import bisect_left
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import vlang
from tests.paged.stores import opened, store_of
from vlang import BindError, Graph, Options, Program, Result
from vlang.api.arguments.vertex_lists import described_list
from vlang.api.running import together
from vlang.errors import OutOfMemory, VlangError
from vlang.runtime.cpu.placement import Placement
from vlang.runtime.cpu.together import searches, woven_pass
from vlang.runtime.cpu.together.group import LEAST
from vlang.runtime.cpu.together.searches import SEARCHES
from vlang.runtime.cpu.together.sharing import Sharing
from vlang.runtime.cpu.ways import reach
from vlang.runtime.plan.plan import SEGMENT

KARATE = Graph.read("karate")
LISTED = vlang.compile("program p(S: vertices)\nvertex at: int = position(self, S)\nglobal k: int = len(S)\n")
SEED = 20261127
TWO_THREADS = Options(threads=2)
SHARED = 4  # two passes in each of two supersteps; then fewer runs than LEAST are at a pass
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


MIXED = """program mixed(source: vertex, cut: float = 2, rounds = 3)

edge   weight: float = 1
vertex near:   float = 0 if self == source else 9
vertex kept:   int   = 1 if self == source else 2

repeat rounds times:
    gather close = min(u.near + weight for u -> self)
    gather pair  = max((u.kept, u.near) for u -> self if weight > cut, default = (0, 1.0))
    gather many  = sum(u.kept for u -> self)
    apply  (kept, near) = pair
    apply  kept  = 1 + (many + kept) % 1000
    apply  near  = min(close / 2 + near, 100)
"""


def test_all_and_random_lists() -> None:
    assert LISTED(KARATE, S="all").at.tolist() == list(range(34))
    drawn = described_list("S", KARATE, "random:8")
    assert drawn.tolist() == sorted(set(drawn.tolist()))
    assert drawn.tolist() == np.flatnonzero(LISTED(KARATE, S="random:8").at >= 0).tolist()
    assert drawn.tolist() == described_list("S", KARATE, "random:8,seed=1").tolist()
    assert drawn.tolist() != described_list("S", KARATE, "random:8,seed=2").tolist()
    assert len(described_list("S", KARATE, "random:34")) == 34
    often = np.bincount(np.concatenate([described_list("S", KARATE, f"random:17,seed={s}") for s in range(400)]))
    assert often.min() > 150  # of 400; the expected number is 200, with a standard deviation of 10
    assert often.max() < 250


@pytest.mark.parametrize(("text", "message"), [
    ("random:35", "`S`: random:35 is more than the 34 vertices of the graph; write S=all"),
    ("random:0", "`S` is a list of vertices, not 'random:0'"), ("every", "`S` is a list of vertices, not 'every'"),
])
def test_texts_that_are_no_lists(text: str, message: str) -> None:
    with pytest.raises(BindError, match=re.escape(message)):
        LISTED(KARATE, S=text)


def test_map_equals_calls() -> None:
    rwr, sources = vlang.load("rwr"), np.array([1, 34, 5])
    found = list(rwr.map(KARATE, source=sources, restart=[0.2, 0.3, 0.4], threads=1))
    for source, restart, result in zip(sources, [0.2, 0.3, 0.4], found, strict=True):
        assert result.p.tobytes() == rwr(KARATE, source=source, restart=restart).p.tobytes()
    lists = LISTED.map(KARATE, S=[[1, 2], "all", [34]])
    assert [result.globals["k"] for result in lists] == [2, 34, 1]
    drawn_once = (vertex for vertex in (1, 34))
    assert [result.rounds for result in vlang.load("bfs").map(KARATE, source=drawn_once)] == [4, 5]


@pytest.mark.parametrize(("given", "message"), [
    ({"source": 1}, "no parameter is given as a list of values; the parameters are: `source`, `restart`, `tol`"),
    ({"source": [1, 2], "tol": [0.1]}, "need the same length: `source` has 2, `tol` has 1"),
    ({"sorce": [1, 2]}, "rwr has no parameter, field or run option `sorce`; did you mean `source`?"),
    ({"seeds": [1, 2]}, "list of values; `seeds` takes a list itself: seeds=[[...], [...]]"),
])
def test_map_refuses(given: dict[str, Any], message: str) -> None:
    with pytest.raises(BindError, match=re.escape(message)):
        vlang.load("ppr" if "seeds" in given else "rwr").map(KARATE, **given)


@pytest.mark.parametrize(("given", "message"), [
    ({"source": [1, 2]}, "`source` takes one vertex, not a list; `program.map(graph, source=[...])` runs"),
    ({"source": np.array([1])}, "`source` takes one vertex, not a list"),
    ({"source": 1, "tol": (0.1, 0.2)}, "`tol` takes one value (f32), not a list; `program.map(graph, tol=[...])`"),
])
def test_a_list_where_a_run_takes_one_value(given: dict[str, Any], message: str) -> None:
    with pytest.raises(BindError, match=re.escape(message)):
        vlang.load("rwr")(KARATE, **given)


@pytest.fixture
def every_graph(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let runs share their reads of edges on small graphs, too."""
    monkeypatch.setattr(together, "_FEWEST", 0)
    monkeypatch.setattr(together, "_FEWEST_SEARCHED", 0)
    monkeypatch.setattr(together, "_DENSE", 0)


def drawn(n: int, m: int, hub: int) -> Graph:
    """Return random edges, including parallel edges and loops, and `hub` edges to vertex 3. Most vertices with numbers
    above n - 9 have no edges.
    """
    rng = np.random.default_rng(SEED)
    source, target = rng.integers(0, n - 9, m + hub), rng.integers(0, n - 9, m + hub)
    target[:hub] = 3
    return Graph.from_edges(source, target, vertices=np.arange(n))


def same(found: Result, alone: Result, search: bool = False) -> None:
    """Assert that two results have the same bits and ended in the same way. A search that runs alone reads other edges
    than a search that runs with others.
    """
    for info in alone.fields:
        assert found[info].tobytes() == alone[info].tobytes(), (SEED, info)
    assert (found.rounds, found.converged, found.reason, found.globals, found.warnings) == \
        (alone.rounds, alone.converged, alone.reason, alone.globals, alone.warnings)
    assert search or found.edges == alone.edges
    assert [one.active for one in found.history] == [one.active for one in alone.history]


def compared(
    program: Program, graph: Graph, search: bool = False, options: Options = TWO_THREADS, **series: Any
) -> list[Result]:
    """Return the results of `map`; each was compared with the result of a call."""
    found = list(program.map(graph, **series, options=options))
    for row, result in zip(zip(*series.values()), found, strict=True):
        same(result, program(graph, **dict(zip(series, row)), options=options), search)
    return found


@pytest.mark.usefixtures("every_graph")
def test_shared_sums_have_the_same_bits() -> None:
    """The graph has a long row, which is cut into three segments; runs end after different numbers of supersteps."""
    graph = drawn(700, 5000, 2 * SEGMENT + 5)
    seeds = [[int(v)] for v in np.random.default_rng(SEED).integers(0, 700, 19)]
    found = compared(vlang.load("ppr"), graph, seeds=seeds, tol=[10.0 ** -(2 + k % 5) for k in range(19)])
    assert len({one.rounds for one in found}) > 3
    assert found[0].together.startswith("16 runs went together: they shared ")
    assert "fewer than" in found[18].together
    assert "shared 0 " not in found[0].together


@pytest.mark.usefixtures("every_graph")
def test_sharing_is_compared_with_passes_by_each_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """On larger graphs, passes are shared at first, then not, then in the faster way; the bits are the same. The graph
    keeps the times, and not the arrays of the runs.
    """
    monkeypatch.setattr(woven_pass, "_TRIED", 0)
    graph = drawn(300, 900, 0)
    found = compared(vlang.load("ppr"), graph, seeds=[[k] for k in range(LEAST)])
    assert re.fullmatch(rf"{LEAST} runs went together: they shared \d+ traversals of the edges; \d+ by themselves, to "
                        "compare, or since that is faster", found[0].together)
    gc.collect()
    kept = [one for one in gc.get_objects() if isinstance(one, woven_pass.TogetherPasses)]
    assert kept == [], f"{graph.name} keeps the arrays of a run that has ended"
    sharing, group, run = Sharing(), object(), object()
    moments = iter([0.0, 8, 16, 24, 30, *(30.0 + 2 * k for k in range(1, 17)), 99])
    monkeypatch.setattr("time.perf_counter", lambda: next(moments))
    for _ in range(4):
        assert sharing.pays
        sharing.ended(True, group, 8)
    for _ in range(17):
        assert not sharing.pays
        sharing.ended(False, run, 1)
    assert sharing.pays  # 1 second for each run, and 2 alone


@pytest.mark.usefixtures("every_graph")
def test_several_passes_directions_and_types() -> None:
    program, graph = vlang.compile(SEVERAL), drawn(300, 900, 0)
    found = compared(program, graph, source=list(range(LEAST + 2)), rounds=[0, 1, 2, 6, 6, 6, 6, 9])
    assert found[0].together == f"{LEAST + 2} runs went together: they shared {SHARED} traversals of the edges"
    undirected = Graph.read("karate")
    assert compared(program, undirected, source=list(range(1, 7)))[0].together.startswith("6 runs")


@pytest.mark.usefixtures("every_graph")
def test_other_reductions_and_edge_columns() -> None:
    """Runs share traversals if they have the same value of a parameter that contributions read."""
    program, graph = vlang.compile(MIXED), drawn(300, 1500, SEGMENT + 3).with_rule_weights(1, 4)
    cuts = [1.0] * LEAST + [2.0] * LEAST + [3.0]
    found = compared(program, graph, source=list(range(len(cuts))), cut=cuts)
    assert found[0].together.endswith("they shared 6 traversals of the edges")  # two in each of three supersteps


@pytest.mark.usefixtures("every_graph")
@pytest.mark.parametrize("price", [0.0, 1e-3, 1e9])
def test_searches_are_shared_as_bits(price: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Searches share wide supersteps always, sometimes or never, depending on `price`."""
    monkeypatch.setattr(reach, "_NARROW", 0)
    monkeypatch.setattr(searches, "_WORD", price)
    graph = drawn(700, 1400, 0)
    sources = np.random.default_rng(SEED).integers(0, 700, SEARCHES + LEAST).tolist()
    found = compared(vlang.load("bfs"), graph, True, source=sources)
    assert found[0].together.startswith(f"{SEARCHES} runs went together: they shared ")
    assert found[SEARCHES].together.startswith(f"{LEAST} runs went together: they shared ")
    assert ("shared 0 " in found[0].together) == (price == 1e9)
    assert len({one.rounds for one in found}) > 2


@pytest.mark.usefixtures("every_graph")
def test_runs_that_fit_into_memory_go_together(monkeypatch: pytest.MonkeyPatch) -> None:
    ppr, graph, seeds = vlang.load("ppr"), drawn(300, 900, 0), [[k] for k in range(16)]
    monkeypatch.setattr(together, "default_budget", lambda: 1)
    assert "memory has no room" in next(ppr.map(graph, seeds=seeds, threads=1)).together
    call = ppr.bound(graph, None, {"seeds": [0], "threads": 1})
    mosts = [together.most_together(*call)]
    for free in (1 << 18, 1 << 30):
        monkeypatch.setattr(together, "default_budget", lambda: free)  # noqa: B023
        mosts.append(together.most_together(*call))
    assert mosts[0] == 1 < mosts[1] <= mosts[2] == 16


@pytest.mark.usefixtures("every_graph")
def test_runs_share_the_pages_of_a_file() -> None:
    """Runs with a small budget read each page once for all runs. With a large budget, they read the edges first."""
    ppr, graph = vlang.load("ppr"), drawn(1_000, 300_000, 2 * SEGMENT + 5)
    stored, seeds = opened(graph, 1 << 13), [[v] for v in range(8)]
    store_of(stored).cuts("in")  # cutting pages takes memory, which would count
    store_of(stored).cuts("out")
    plain = [ppr(stored, seeds=one, max_rounds=3, memory="300K") for one in seeds]
    found = list(ppr.map(stored, seeds=seeds, max_rounds=3, memory="600K"))
    for alone, result in zip(plain, found, strict=True):
        same(result, alone)
    assert found[0].together.startswith("8 runs went together: they shared ")
    assert "shared 0 " not in found[0].together
    assert "streamed" in found[0].placement
    assert "from disk in all" in found[0].together
    assert 0 < found[0].read_bytes <= plain[0].read_bytes
    little = list(ppr.map(stored, seeds=seeds, max_rounds=3, memory="300K"))
    assert "memory has no room" in little[0].together
    loaded = list(ppr.map(stored, seeds=seeds, max_rounds=3))
    assert loaded[0].together.startswith("8 runs went together")
    assert "edges in memory" in loaded[0].placement
    same(loaded[7], plain[7])


def test_the_arrays_of_other_runs_count_when_edges_are_placed() -> None:
    """A budget holds the arrays of all runs: edges that one run has in memory are streamed for several, the pages that
    stay become fewer, and the smallest budget becomes larger.
    """
    ppr, stored = vlang.load("ppr"), opened(drawn(1_000, 300_000, 0), 1 << 13)

    def placed(memory: int, runs: int) -> Placement:
        return together._placement(ppr, ppr.bound(stored, Options(memory=memory, threads=2), {"seeds": [0]})[1], runs)

    whole, others = placed(1 << 24, 1), placed(1 << 24, 8)
    beside = others.needed - whole.needed
    assert 7 * 2 * 4 * stored.n <= beside <= 64 * 8 * stored.n  # at least two fields of floats for each other run
    assert not placed(whole.needed, 1).streams
    assert placed(whole.needed, 8).streams
    assert not placed(whole.needed + beside, 8).streams
    tight = whole.needed * 3 // 4
    assert placed(tight, 1).pages - placed(tight, 8).pages == beside

    def least(runs: int) -> int:
        return bisect_left(range(tight), True, key=lambda memory: fits(memory, runs))

    def fits(memory: int, runs: int) -> bool:
        try:
            return placed(memory, runs).windows is None
        except OutOfMemory:
            return False

    assert least(8) - least(1) == beside


@pytest.mark.usefixtures("every_graph")
def test_searches_share_the_pages_of_a_file() -> None:
    """Each page that a search needs is read once for all searches. The last searches of a graph with a long tail read
    by themselves.
    """
    bfs, rng = vlang.load("bfs"), np.random.default_rng(SEED)
    source, target = rng.integers(0, 1_000, (2, 300_000))
    tail = np.arange(1_000, 1_040)
    graph = Graph.from_edges(np.concatenate([source, [7], tail[:-1]]), np.concatenate([target, tail]), n=1_040)
    stored, sources = opened(graph, 1 << 13), [*range(9), 1_005, 1_020]
    store_of(stored).cuts("in")
    store_of(stored).cuts("out")
    plain = [bfs(stored, source=one, memory="300K") for one in sources]
    found = list(bfs.map(stored, source=sources, memory="600K"))
    for alone, result in zip(plain, found, strict=True):
        same(result, alone, True)
    assert found[0].together.startswith("11 runs went together: they shared ")
    assert "shared 0 " not in found[0].together
    assert "streamed" in found[0].placement
    assert len({one.rounds for one in found}) > 3
    assert 0 < found[0].read_bytes <= sum(one.read_bytes for one in plain) / 3


@pytest.mark.usefixtures("every_graph")
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


@pytest.mark.usefixtures("every_graph")
@pytest.mark.parametrize(("name", "given", "why"), [
    ("sssp", {"source": list(range(8))}, "its active vertices push"),
    ("cdlp", {"iterations": [1] * 8}, "a vertex takes all that its neighbours contribute at once"),
    ("ppr", {"seeds": [[1], [2]]}, "fewer than 6 runs"),
    ("ppr", {"seeds": [[k] for k in range(8)], "memory": "60K"}, "memory has no room for more at a time"),
])
def test_other_runs_say_why_they_read_by_themselves(name: str, given: dict[str, Any], why: str) -> None:
    result = next(iter(vlang.load(name).map(drawn(300, 900, 0), **given)))
    assert result.together.startswith("each run read the edges by itself: ")
    assert why in result.together


def test_an_interrupt_ends_every_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that is interrupted between two passes ends, and the other runs end, too."""
    from vlang.runtime.threads.tasks import Task

    def interrupted(self: Task[Any]) -> Iterator[None]:
        monkeypatch.undo()
        raise KeyboardInterrupt

    monkeypatch.setattr(Task, "wait", interrupted)
    monkeypatch.setattr(together, "alone_because", lambda *_: "")
    with pytest.raises(KeyboardInterrupt):
        list(vlang.load("ppr").map(drawn(300, 900, 0), seeds=[[k] for k in range(8)]))
