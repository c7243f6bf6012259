"""On a GPU, loops that copy values over a symmetric relation also run as a search for connected components (rule K)."""

from __future__ import annotations

import numpy as np
import pytest

from tests.cpu.rules.copying import CASES, DOMAINS, assert_same, connected, copying, values
from tests.cuda.emulation.emulated import needs_compiler
from tests.cuda.runs import emulated
from tests.reference.graphs import all_families, to_graph
from tests.sample import sampled
from tests.spelled import spelled
from vlang import Graph, Result, compile, load
from vlang.runtime.gpus import group_connect

pytestmark = needs_compiler


def on_gpu(result: Result, other: Result) -> None:
    """Assert that a result equals the result of the CPU, and that rule K was used."""
    assert connected(result)
    assert_same(result, other)


@pytest.mark.parametrize(("reduction", "type_"), sampled(CASES, CASES[::3]))
def test_families(reduction: str, type_: str) -> None:
    program = copying(reduction, type_)
    with emulated():
        for seed, (name, graph) in enumerate(all_families()):
            if name.endswith("float") or not graph.n:
                continue
            x, stored = values(type_, graph.n, np.random.default_rng(seed)), to_graph(graph)
            on_gpu(program(stored, x=x, device="emulated"), program(stored, x=x, research={"mode": "pull"}))


@pytest.mark.parametrize("pages", [None, 4096])
@pytest.mark.parametrize("seed", range(3))
def test_random_graphs(seed: int, pages: int | None) -> None:
    """Results are right on graphs with many components and a hub, both with resident edges and page by page."""
    print(f"seed {seed}")
    rng = np.random.default_rng(seed)
    n = 5_000
    count = int(n * (0.3, 0.55, 4)[seed])
    src, dst = rng.integers(0, n, count), np.where(rng.random(count) < 0.05, n // 3, rng.integers(0, n, count))
    graph, program, x = Graph.from_edges(src, dst, n=n), copying("min", "i8"), values("i8", n, rng)
    with emulated(seed=seed) as opened:
        budget = {} if pages is None else {"gpu_memory": 120_000, "page_size": pages}
        first = program(graph, x=x, device="emulated", **spelled(**budget))
        on_gpu(first, program(graph, x=x, research={"mode": "pull"}))
        edges = len(graph.adjacency("both"))
        streamed = pages is not None and 4 * edges > budget["gpu_memory"]
        assert first.history[0].edges == edges if streamed else first.history[0].edges <= edges + 2 * n
        assert opened[0].most <= opened[0].budget()


@pytest.mark.parametrize("spec", ["path:9000", "star:40000", "grid:60x70", "kron:11"])
def test_shapes(spec: str) -> None:
    """Results are right for long chains of parents, for a vertex with several segments, and for ordinary graphs."""
    graph, program = Graph.read(spec), load("components")
    with emulated("components"):
        result = program(graph, device="emulated")
    on_gpu_labels, on_cpu = np.asarray(result["label"]), np.asarray(program(graph)["label"])
    assert connected(result)
    assert np.array_equal(on_gpu_labels, on_cpu)


@pytest.mark.parametrize("domain", DOMAINS)
def test_directions(domain: str) -> None:
    """A gather over one direction permits rule K only in an undirected graph."""
    program, rng = copying("max", "i32", domain), np.random.default_rng(5)
    with emulated():
        for directed in (False, True):
            graph = Graph.from_edges(rng.integers(0, 60, 80), rng.integers(0, 60, 80), n=60, directed=directed)
            x = values("i32", 60, rng)
            result = program(graph, x=x, device="emulated")
            assert connected(result) == (domain == "u -- self" or not directed)
            assert_same(result, program(graph, x=x, research={"mode": "pull"}))


@pytest.mark.parametrize("bad", [np.nan, -0.0])
def test_floats_whose_order_matters(bad: float) -> None:
    graph, program = Graph.from_edges([0, 1], [1, 2], n=4, directed=False), copying("min", "f64")
    with emulated():
        for x, joined in (([1, bad, 0, 3], False), ([1, 0, 0, 3], True)):
            assert connected(program(graph, x=np.array(x, np.float64), device="emulated")) == joined


AFTER = compile("""program after

vertex x: int
vertex near: int = 0

repeat:
    gather least = min(u.x for u -- self)
    apply  x = min(x, least)

gather all  = sum(u.x for u -- self)
apply  near = all
""")
"""A pass after the search reads values at neighbours, which other GPUs may own."""


@pytest.mark.parametrize("seed", range(3))
def test_several_gpus(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first GPU joins the trees of all GPUs, sent in parts, and edges that are streamed are copied once."""
    monkeypatch.setattr(group_connect, "_AT_ONCE", (1 << 22, 700, 900)[seed])
    rng = np.random.default_rng(seed)
    n, count = ((2_000, 1_100), (1_000, 20_000), (150, 120))[seed]
    graph, streams = Graph.from_edges(*rng.integers(0, n, (2, count)), n=n), seed == 1
    asked = spelled(gpu_memory=200_000, page_size=4096) if streams else {}
    with emulated(seed=seed, several=True) as opened:
        for program, kind in ((AFTER, "i32"), (copying("max", "f64"), "f64"), (copying("min", "i8"), "i8")):
            x = values(kind, n, rng)
            result = program(graph, x=x, device=("emulated:0,1,2", "emulated:0,1")[seed % 2], **asked)
            expected = program(graph, x=x, research={"mode": "pull"})
            assert [row.mode for row in result.history] == ["connect"]
            assert_same(result, expected)
            assert result.history[0].edges == len(graph.adjacency("both"))
            assert (result.history[0].pages_copied > 0) == streams
    assert all(device.most <= device.budget() for device in opened)


def test_floats_whose_order_matters_on_several_gpus() -> None:
    graph, program = Graph.from_edges([0, 1, 70], [1, 2, 71], n=72, directed=False), copying("min", "f64")
    with emulated(several=True):
        for x in (np.zeros(72), np.where(np.arange(72) == 71, -0.0, 1.0)):
            assert connected(program(graph, x=x, device="emulated:0,1")) == (x[71] == 0 and not np.signbit(x[71]))


def test_supersteps_on_request() -> None:
    graph, program = Graph.read("grid:5x5"), load("components")
    with emulated("components"):
        assert program(graph, device="emulated", max_rounds=3).rounds == 3
        assert {row.mode for row in program(graph, device="emulated", research={"mode": "pull"}).history} == {"pull"}
