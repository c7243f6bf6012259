"""Programs of the library run on several ranks, which are threads here. The results have the same bits as on one rank.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.cpu.compare import engine_run, same_bits
from tests.cpu.reductions.test_pointing import EVERY_WAY, IN_BLOCKS, LONG, long_case
from tests.reference.cases import MORE, STDLIB, Case, case
from tests.reference.graph import RefGraph
from tests.reference.graphs import family, random_graph, to_graph
from tests.sample import EACH_KIND, EXHAUSTIVE, sampled
from vlang import BindError, Graph, OutOfMemory, Program, Result, compile, load
from vlang.cli import main
from vlang.errors import ClusterError
from vlang.runtime.cluster.cluster_machine import ClusterMachine
from vlang.runtime.cluster.local_graph import _PARTS, LocalGraph, local_graph
from vlang.runtime.cluster.rank_memory import rank_memory
from vlang.runtime.cluster.rank_priority import deals
from vlang.runtime.cluster.transports.thread_ranks import run_ranks
from vlang.runtime.cluster.transports.transport import Transport
from vlang.runtime.cpu.passes import passes
from vlang.runtime.cpu.passes.scratch import Scratch
from vlang.runtime.graph.paged.in_memory import save
from vlang.runtime.plan.plan import BLOCK
from vlang.runtime.storage.ledger import ledger

REFUSED = {
    "adamic_adar": "line 18", "boruvka": "line 26", "components_jump": "line 14", "jaccard": "line 19",
    "lcc": "line 16", "lcc_directed": "line 16", "lcc_weighted": "line 25", "louvain": "line 23",
    "matching": "line 21", "triangles": "line 15", "walks": "line 17",
}
ALLOWED = [name for name in (*STDLIB, *MORE) if name not in REFUSED]
GRAPHS: list[RefGraph] = [
    family("empty"), family("one_loop"), family("path"), family("star_out", False, "float"), family("rmat"),
    family("rmat", False), family("messy", True, "float"), family("two_components", False), random_graph(1),
]
SIZES = (1, 2, 3, 4, 7)


@cache
def program(name: str) -> Program:
    """Return a program of the library, compiled once."""
    return load(name)


def assert_same(want: Result, found: Result) -> None:
    """Assert that a run on ranks has the same bits, rounds and reason as a run on one machine."""
    for name in want.fields:
        assert same_bits(np.asarray(want[name]), np.asarray(found[name])), name
    for name, value in want.globals.items():
        assert np.array_equal(np.asarray(value), np.asarray(found.globals[name]), equal_nan=True), name
    assert want.converged == found.converged
    if not {row.mode for row in want.history} & {"connect", "priority"}:  # under rules K and O, rounds differ
        assert want.rounds == found.rounds
        assert [row.active for row in want.history] == [row.active for row in found.history]


def on_ranks(size: int, name: str, graph: Graph, keywords: Mapping[str, Any]) -> list[Result]:
    """Return the results of all ranks of a run."""
    return run_ranks(size, lambda transport: program(name)(graph, **{"threads": 1, **keywords}))


def run_case(name: str, some: Case, graph: Graph, number: int) -> None:
    """Assert that a case has the same result on several ranks. `number` determines the number of ranks and the mode."""
    size, mode = SIZES[number % len(SIZES)], ("auto", "notify-pull", "pull")[number % 3]
    want, options = engine_run(program(name), some, graph, threads=1), {"mode": mode, "threads": 1}
    if number % 2:
        options["blocking"] = "always"
    for found in run_ranks(size, lambda transport: engine_run(program(name), some, graph, **options)):
        assert_same(want, found)


@pytest.mark.parametrize("name", sampled(ALLOWED, [name for name in EACH_KIND if name in ALLOWED][::2]))
def test_same_bits(name: str) -> None:
    """Run each program on every second graph, and about half of the programs with cache blocks. With VLANG_EXHAUSTIVE,
    run each program on all graphs.
    """
    first = sum(map(ord, name))
    graphs, step = (GRAPHS, 1) if EXHAUSTIVE else (GRAPHS[first // 2 % 2 :: 2], 2)
    for number, graph in enumerate(graphs):
        some = case(name, graph)
        if some is not None:
            run_case(name, some, to_graph(some.graph), first + step * number)


def skewed(directed: bool) -> Graph:
    """Return a graph of 13,000 vertices. The first vertices have most edges, so that the ranges of ranks end inside of
    blocks.
    """
    rng = np.random.default_rng(5)
    ends = (13_000 * rng.random((2, 60_000)) ** 5).astype(np.int64)
    hub = np.stack([np.arange(0, 13_000, 250), np.full(52, 1)])
    edges = np.concatenate([ends, hub, np.stack([np.full(20_000, 7), rng.integers(0, 13_000, 20_000)])], axis=1)
    weight = (edges.sum(axis=0) % 9 + 1).astype(np.float32)
    return Graph.from_edges(*edges, directed=directed, n=13_000, columns={"weight": weight})


@pytest.mark.parametrize(("name", "directed", "keywords"), [
    ("pagerank", True, {}), ("katz", False, {"alpha": 1e-4}), ("hits", True, {}), ("sssp", True, {"source": 7}),
    ("bfs", False, {"source": 3}), ("cdlp", True, {}), ("betweenness", False, {"sources": [1, 9]}),
    ("components", True, {}), ("pagerank_delta", True, {}),
])  # fmt: skip
def test_blocks_that_ranges_cut(name: str, directed: bool, keywords: dict[str, object]) -> None:
    graph = skewed(directed)
    want = program(name)(graph, threads=1, **keywords)
    for size in (2, 5):
        for found in on_ranks(size, name, graph, keywords):
            assert_same(want, found)
            ways = {"connect", "priority"}  # the loops of one process run as such on ranks, too
            assert ways & {row.mode for row in want.history} == ways & {row.mode for row in found.history}


def test_cache_blocks() -> None:
    """Results are right with cache blocks if a rank has several ranges of senders, before, among and after its own
    vertices, and with several threads in a rank.

    Ranges end inside of blocks of folds.
    """
    rng = np.random.default_rng(11)
    ends = (180_000 * rng.random((2, 500_000)) ** 1.5).astype(np.int64)
    graph = Graph.from_edges(*ends, directed=True, n=180_000)
    want = program("pagerank")(graph, threads=1, max_rounds=3, research={"blocking": "never"})
    for research in ({"blocking": "always"}, {"blocking": "never"}):
        for found in on_ranks(3, "pagerank", graph, {"max_rounds": 3, "research": research, "threads": 2}):
            assert_same(want, found)


def test_tables_of_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    """The tables of groups on a rank have an entry for each vertex of the whole graph, since keys are numbers of the
    whole graph. If the tables had an entry for each local vertex only, kernels would write past their end.
    """
    found: set[int] = set()

    class Seen(Scratch):
        def _direct(self, structures: tuple[str, ...], words: int, vertices: int) -> None:
            found.add(vertices)
            super()._direct(structures, words, vertices)

    monkeypatch.setattr(passes, "Scratch", Seen)
    graph = skewed(False)
    on_ranks(3, "weighted_cdlp", graph, {"max_rounds": 2})
    assert found == {graph.n}


def test_old_values_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """Array entries that belong to no vertex contain old values from memory. The old values must not enter buckets."""
    passes_over = ClusterMachine.passes_over

    def dirty(self: ClusterMachine, *words: Any) -> Any:
        for array in self.state.arrays.values():
            if array.dtype == np.float32:
                array[:] = 10.0 ** np.random.default_rng(3).uniform(-30, 6, len(array))
        return passes_over(self, *words)

    monkeypatch.setattr(ClusterMachine, "passes_over", dirty)
    graph = Graph.from_edges([0, 1, 2, 3], [1, 2, 0, 0], columns={"weight": np.array([2, 3, 1, 5])})
    want = program("sssp")(graph, source=3)
    for found in on_ranks(3, "sssp", graph, {"source": 3}):
        assert_same(want, found)
        assert found.rounds < 20


def test_costs_of_one_rank_only() -> None:
    """If one rank has lost the costs of an edge, as after an interrupt, all ranks exchange them again."""
    graph = skewed(False)
    want = on_ranks(2, "bfs", graph, {"source": 3})[0]
    (part,) = [part for part in _PARTS[graph].values() if part.numbers.rank == 1]
    assert part.costs is not None
    part.costs = None
    for found in on_ranks(2, "bfs", graph, {"source": 3}):
        assert_same(want, found)
    assert part.costs is not None


def random_path(n: int) -> Graph:
    """Return a path with random vertex numbers, so that every rank has many trees."""
    order = np.random.default_rng(n).permutation(n)
    return Graph.from_edges(order[:-1], order[1:], directed=False, n=n)


def skipped_bridge(n: int) -> Graph:
    """Return two large trees that only one edge links. Two ranks skip this edge at first, since both of its ends have
    other neighbours.

    Vertex 2 is the hub of the lower half, and vertex n / 2 the hub of the upper half. The last vertex is adjacent to 0,
    1, 2 and n / 2 + 1. Vertex n / 2 + 1 is adjacent to the upper hub.
    """
    half = n // 2
    low, high = np.arange(3, half), np.arange(half + 2, n - 1)
    tails = np.concatenate([np.full(len(low), 2), low[:-1], np.full(len(high), half), high[:-1], [half, half + 1],
                            np.arange(3)])
    heads = np.concatenate([low, low[1:], high, high[1:], [half + 1, n - 1], np.full(3, n - 1)])
    return Graph.from_edges(tails, heads, directed=False, n=n)


@pytest.mark.parametrize("graph", [random_path(3000), skipped_bridge(3000)], ids=["path", "bridge"])
def test_components_of_all_ranks(graph: Graph) -> None:
    """With rule K, several ranks give the same values as one process, in one superstep."""
    want = program("components")(graph, threads=1)
    assert {row.mode for row in want.history} == {"connect"}
    for size in (1, 2, 5):
        for found in on_ranks(size, "components", graph, {}):
            assert_same(want, found)
            assert {row.mode for row in found.history} == {"connect"}


def hubs(first: int, groups: int) -> Graph:
    """Return a graph in which most vertices are neighbours of 80 hubs, so that one rank has little more than hubs.

    The hubs are the vertices from `first` on. They are in `groups` groups without a path between them. Of the other
    vertices, some are on paths that begin at a neighbour of a hub, and some have no edges.
    """
    rng, hub, others = np.random.default_rng(first), np.arange(first, first + 80), np.arange(6000)
    others = others[(others < first) | (others >= first + 80)]
    near, path = others[::2], others[1:3600:2]
    tails, heads = (one.reshape(-1) for one in np.meshgrid(hub, near))
    kept = ((tails - heads // 2) % groups == 0) & (rng.random(len(tails)) < 0.8)
    along = path[:-1] // 2 % groups == path[1:] // 2 % groups
    return Graph.from_edges(np.concatenate([tails[kept], path[:-1][along], path[::9]]),
                            np.concatenate([heads[kept], path[1:][along], path[::9] - 1]), directed=False, n=6000)


@pytest.mark.parametrize(("first", "groups"), [(0, 1), (5920, 1), (0, 2)], ids=["first", "last", "apart"])
def test_components_of_hubs(first: int, groups: int) -> None:
    """If one rank has the hubs, in one tree, the others do not read the edges of the hubs' neighbours."""
    graph = hubs(first, groups)
    want = program("components")(graph, threads=1)
    for size in (2, 4):
        for found in on_ranks(size, "components", graph, {}):
            assert_same(want, found)
            assert (found.history[0].edges < want.history[0].edges) == (groups == 1)


def test_local_numbers() -> None:
    """Local vertex numbers are in the order of the graph, and pads begin at a multiple of BLOCK."""
    def work(transport: Transport) -> LocalGraph:
        return local_graph(program("pagerank").lower().plan, graph, transport)

    graph = skewed(True)
    for local in run_ranks(5, work):
        numbers, rows = local.numbers, local.adjacency("in")
        known = numbers.local(np.arange(graph.n))
        lows, pads = known[: numbers.lower], numbers.ranges.pads(numbers.rank)
        assert (np.diff(known[numbers.low :]) > 0).all()
        assert (np.diff(lows) > 0).all()
        assert (lows < numbers.ranges.of(numbers.rank)[0]).all()
        assert (numbers.low - pads) % BLOCK == 0
        inside = np.ones(len(rows), np.bool_)
        inside[rows.offsets[:-1][np.diff(rows.offsets) > 0].astype(np.int64)] = False
        assert (np.diff(rows.targets.astype(np.int64))[inside[1:]] >= 0).all()
        own = known[numbers.low : numbers.high]
        begin, end = (int(graph.adjacency("in").offsets[v]) for v in (own[0], own[-1] + 1))
        assert np.array_equal(known[rows.targets], graph.adjacency("in").targets[begin:end])


@pytest.mark.parametrize(("name", "keywords"), [("pagerank", {}), ("sssp", {"source": 7})])
def test_memory_of_a_rank(name: str, keywords: dict[str, object]) -> None:
    """The memory estimate covers the rows of every rank, and is at most twice the rows of the largest rank."""
    graph = skewed(True)
    plan = program(name).plan(frozenset(graph.columns), renumbered=True)

    def work(transport: Transport) -> int:
        program(name)(graph, threads=1, **keywords)
        rows = local_graph(plan, graph, transport, deal=deals(plan))._rows.values()
        return sum(one.offsets.nbytes + one.targets.nbytes + sum(one.stored(column).nbytes for column in one.columns
                                                                 if one.holds(column)) for one in rows)

    for size in (1, 4):
        found, said = max(run_ranks(size, work)), rank_memory(plan, graph, size)
        assert found <= said.rows <= 2 * found + 3 * 8 * 2 * BLOCK
        assert said.values > 0 < said.results


@pytest.mark.parametrize(("name", "keywords"), [("pagerank", {}), ("sssp", {"source": 7})])
def test_budget_of_ranks(tmp_path: Path, name: str, keywords: dict[str, object]) -> None:
    """Ranks take at most the memory that was estimated for them. A budget that gives a rank less is refused before
    edges are read.
    """
    save(skewed(True), tmp_path / "g.vg", layout="degree", page_bytes=4096)
    plan, size = program(name).plan(frozenset(skewed(True).columns), renumbered=True), 3
    said = rank_memory(plan, Graph.open(tmp_path / "g.vg"), size).peak

    def work(transport: Transport, budget: int) -> int:
        program(name)(Graph.open(tmp_path / "g.vg"), threads=1, memory=budget, **keywords)
        return ledger.peak

    peak = max(run_ranks(size, partial(work, budget=size * size * said)))  # the ledger counts all ranks of a process
    assert said / 2 < peak <= size * said
    with pytest.raises(OutOfMemory, match=r"its part of the budget .* 3 ranks .* give memory="):
        run_ranks(size, partial(work, budget=size * said - size))


def test_explained() -> None:
    """`explain` names the loops that ranks run in another way than one process."""
    assert "on several ranks: full passes or notify-pull" in program("pagerank_delta").explain("plan")
    for name in ("bfs", "sssp", "components", "pagerank"):
        assert "on several ranks" not in program(name).explain("plan")


@pytest.mark.parametrize("layout", ["degree", "ids"])
def test_page_files(tmp_path: Path, layout: str) -> None:
    """Each rank reads its own rows of a page file, with edge columns and in both directions."""
    save(skewed(True), tmp_path / "g.vg", layout=layout, page_bytes=4096)
    calls: list[tuple[str, dict[str, object]]] = [("sssp", {"source": 0}), ("hits", {}), ("degree", {})]
    for name, keywords in calls:
        want = program(name)(Graph.open(tmp_path / "g.vg"), threads=1, **keywords)
        for found in on_ranks(3, name, Graph.open(tmp_path / "g.vg"), keywords):
            assert_same(want, found)


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Programs are refused with the line and the reason. The command refuses them before it reads the graph, which does
    not exist here, and before it starts Ray; test_json_and_errors does the same under mpiexec.
    """
    text = f"{name}, {REFUSED[name]}: .* cannot run on a cluster"
    with pytest.raises(BindError, match=text):
        on_ranks(2, name, Graph.from_edges([0, 1], [1, 2], directed=False), {})
    assert main(["run", name, "nothing.txt", "--cluster", "ray:2"]) == 1
    assert re.fullmatch(f"error: {text}.*\n", capsys.readouterr().err)


def test_dealt_vertices(tmp_path: Path) -> None:
    """If all loops run in priority order, every rank has vertices of all degrees, and rows from memory and from a page
    file are the same.
    """
    Graph.read("kron:10", weights="1..9").save(tmp_path / "g.vg", layout="degree")
    plan = load("sssp").plan(frozenset({"weight"}), renumbered=True)
    assert deals(plan)
    assert not any(deals(load(name).plan(frozenset({"weight"}), renumbered=True)) for name in ("bfs", "astar", "lcc"))

    def work(loaded: bool, transport: Transport) -> tuple[np.ndarray[Any, Any], ...]:
        graph = Graph.open(tmp_path / "g.vg")
        local = local_graph(plan, graph.loaded() if loaded else graph, transport, deal=True)
        rows, numbers = local.adjacency("in"), local.numbers
        lengths = np.diff(rows.offsets.astype(np.int64))
        assert np.array_equal(lengths[numbers.low : numbers.high], numbers.own(local.row_lengths("in")))
        every = np.arange(numbers.ranges.n)
        assert np.array_equal(local.restored(local.arranged(every)), every)
        dense = local.order.dense if local.order is not None else every
        return numbers.own(dense), lengths, dense[rows.targets], rows.stored("weight")

    parts = run_ranks(3, partial(work, True))
    for one, other in zip(parts, run_ranks(3, partial(work, False)), strict=True):
        assert all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))
    counts = [len(part[0]) for part in parts]
    assert np.array_equal(np.sort(np.concatenate([part[0] for part in parts])), np.arange(sum(counts)))
    assert max(counts) < 2 * min(counts)


def test_number_of_programs() -> None:
    """At least 35 programs of the library run on several ranks, and the documentation states how many. The tests above
    run or refuse each program.
    """
    root = Path(__file__).parents[2]
    library = {path.stem for path in (root / "stdlib").glob("*.vp")}
    text = (root / "docs" / "cluster.md").read_text()
    assert library == {*STDLIB, *MORE}
    assert len(ALLOWED) >= 35
    assert f"{len(ALLOWED)} of the {len(library)} programs" in text
    assert all(f"`{name}`" in text for name in REFUSED)


def _ran(one: Program, graph: Graph, transport: object) -> Result:
    return one(graph, threads=1)


def _case_ran(some: Case, graph: Graph, transport: object) -> Result:
    return engine_run(LONG, some, graph, threads=1)


@pytest.mark.parametrize("one", [EVERY_WAY, IN_BLOCKS], ids=lambda one: one.name)
def test_pointers(one: Program) -> None:
    """Reductions over pointing vertices are right in passes, sweeps and blocks. The pointing vertices may be on any
    rank.
    """
    for number, case_graph in enumerate([family("one_vertex"), family("messy"), family("rmat", False)]):
        graph = to_graph(case_graph)
        want = one(graph, threads=1)
        for found in run_ranks(SIZES[number + 1], partial(_ran, one, graph)):
            assert_same(want, found)


def test_many_pointers_to_one() -> None:
    """Results are right if one row has several segments, and more entries than its rank has vertices. The rows are in
    the order of the vertices, or in another order.
    """
    some = long_case()
    graph = to_graph(some.graph)
    dense = np.random.default_rng(5).permutation(graph.n).astype(np.uint32)
    for ordered in (graph, graph.ordered(dense)):
        want = engine_run(LONG, some, ordered, threads=1)
        for found in run_ranks(3, partial(_case_ran, some, ordered)):
            assert_same(want, found)


def test_groups_by_far_fields() -> None:
    """The key of a group may be any vertex, but the fields of that vertex may be on another rank."""
    graph = to_graph(family("messy", False))
    key = "program key\nvertex c: vertex = self\nvertex x: int = max(k.degree for u -- self by k = u.c)\n"
    with pytest.raises(BindError, match=r"key, line 3: .* need not be a neighbour"):
        run_ranks(2, partial(_ran, compile(key), graph))


@pytest.mark.parametrize("name", ["target", "research"])
def test_refused_options(name: str, tmp_path: Path) -> None:
    graph = Graph.from_edges([0, 1], [1, 2])
    options = {"target": 1, "research": {"mode": "push"}}
    with pytest.raises(BindError, match=f"cluster.*{'mode' if name == 'research' else name}"):
        on_ranks(2, "sssp", graph, {"source": 0, name: options[name]})
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize(("name", "kind", "keywords", "text"), [
    ("bfs", "path", {"source": 1}, r"the value of `source` differs \(1; rank 0: 0\); all ranks must call"),
    ("bfs", "path", {"source": 0, "max_rounds": 2}, "the option `max_rounds` differs"),
    ("components", "path", {}, r"the program differs \(components; rank 0: bfs\)"),
    ("bfs", "rmat", {"source": 0}, "the graph differs")])
def test_different_calls(name: str, kind: str, keywords: dict[str, Any], text: str) -> None:
    """If the ranks of a job make different runs, all of them get an error that names the difference, even where the
    exchanges would fit together.
    """
    calls = [partial(program("bfs"), to_graph(family("path")), source=0),
             partial(program(name), to_graph(family(kind)), **keywords)]
    with pytest.raises(ClusterError, match=f"rank 1 and rank 0 make different runs: {text}"):
        run_ranks(2, lambda transport: calls[transport.rank](threads=1))
