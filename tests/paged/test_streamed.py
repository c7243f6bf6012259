"""Programs on streamed pages have the same bits as in memory, for all programs, page sizes, rings and thread counts."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.cpu.both import long_graph
from tests.cpu.compare import same_bits
from tests.cpu.rules.copying import connected, copying, values
from tests.paged.stores import opened, store_of, streaming
from tests.reference.cases import MORE, STDLIB, Case, case
from tests.reference.graphs import all_families, to_graph
from tests.sample import EACH_KIND, sampled
from tests.spelled import spelled
from vlang import Graph, Program, Result, load
from vlang.errors import BindError, DiskError, GraphError, OutOfMemory
from vlang.runtime.cpu.crew import launch
from vlang.runtime.storage.state import windows

FAMILIES = dict(all_families())
IN_MEMORY_ONLY = ("adamic_adar", "jaccard", "lcc", "lcc_directed", "lcc_weighted", "triangles")  # they call `common`


@functools.cache
def program(name: str) -> Program:
    """Return a program of the library, compiled once."""
    return load(name)


def assert_same(one: Result, other: Result) -> None:
    """Assert that all outputs of two results have the same bits."""
    for name in one.fields:
        assert same_bits(np.asarray(one[name]), np.asarray(other[name])), (one.program, name)
    assert str(one.globals) == str(other.globals), one.program
    assert one.converged == other.converged, one.program


def run(name: str, given: Case, graph: Graph, **options: Any) -> Result:
    return program(name)(graph, **given.params, **given.fields, **spelled(**options))


@pytest.mark.parametrize("family", ["rmat-directed-int", "messy-undirected-float", "empty-directed-int"])
@pytest.mark.parametrize("name", sampled(sorted(STDLIB + MORE), {*EACH_KIND, *IN_MEMORY_ONLY}))
def test_every_program(name: str, family: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every program has the same bits, also with vertex arrays in a file. The error of a refused program names the line
    and the reason.
    """
    given = case(name, FAMILIES[family])
    if given is None:
        pytest.skip("a program with a source needs a vertex")
    graph = to_graph(given.graph)
    with streaming(3, 0.3):
        if name in IN_MEMORY_ONLY or name == "louvain" or (name == "walks" and graph.m):
            whys = {"walks": "a random number for an edge depends on", "louvain": r"`c\.total` may be of any vertex"}
            why = whys.get(name, "`common` .* cannot be streamed")
            with pytest.raises(BindError, match=rf"line \d+: {why}"):
                run(name, given, opened(graph, 64))
        else:
            want = run(name, given, graph)
            assert_same(want, run(name, given, opened(graph, 64), threads=2))
            monkeypatch.setattr(windows, "WINDOW", 64)
            with streaming(3, 0.3, tmp_path):
                assert_same(want, run(name, given, opened(graph, 64), threads=2, mode="pull"))


@pytest.mark.parametrize("name", ["pagerank", "components", "sssp", "bfs", "pagerank_delta", "betweenness", "kcore"])
def test_rings_pages_threads_and_late_pages(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also if all threads run the kernels of every batch, while the thread of the run requests the next batch."""
    monkeypatch.setattr(launch, "_SMALL", 1)
    given = case(name, FAMILIES["rmat-undirected-int"])
    assert given is not None
    graph = to_graph(given.graph)
    want = run(name, given, graph)
    for page_size, buffers, kept, threads, late in ((64, 2, 0.0, 1, 0.0), (256, 3, 0.5, 3, 0.0005),
                                                    (4096, 2, 0.0, 2, 0.0), (128, 5, 2.0, 2, 0.0005)):
        with streaming(buffers, kept):
            assert_same(want, run(name, given, opened(graph, page_size, late), threads=threads))


@pytest.mark.parametrize(("reduction", "type_"), [("max", "i32"), ("min", "f64"), ("any", "bool"), ("min", "vertex")])
def test_copied_values(reduction: str, type_: str) -> None:
    """If the copied values are not the numbers of vertices, connected components build a forest in a separate array."""
    copied, graph = copying(reduction, type_), to_graph(FAMILIES["rmat-undirected-int"])
    x = values(type_, graph.n, np.random.default_rng(7))
    with streaming(3, 0.3):
        result = copied(opened(graph, 64), x=x, threads=2)
    assert connected(result)
    assert_same(copied(graph, x=x), result)


@pytest.mark.parametrize("mode", ["pull", "notify-pull"])
@pytest.mark.parametrize("name", ["cdlp", "kcore", "smooth", "pagerank", "mis"])
def test_rows_in_several_pages(name: str, mode: str) -> None:
    """The segments of a row of 17,000 edges are processed one by one, or together if the program needs all of them at
    once.
    """
    given = case(name, long_graph())
    assert given is not None
    graph = to_graph(given.graph)
    want = run(name, given, graph, mode=mode, threads=1)
    for page_size in (1 << 14, 1 << 16, 1 << 20):
        with streaming(7):
            assert_same(want, run(name, given, opened(graph, page_size), mode=mode, threads=2))


def test_a_row_of_more_pages_than_the_memory_holds() -> None:
    graph = Graph.from_edges(np.arange(60_000) % 90, np.full(60_000, 7), n=90)
    with streaming(2), pytest.raises(OutOfMemory, match=r"one row needs \d+ pages .* more memory"):
        program("cdlp")(opened(graph, 1 << 14))


@pytest.mark.parametrize("least", [1, 1 << 15])
def test_the_error_of_a_page_ends_the_run(least: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The launch of the batch before ends first (`least`: the edges of a launch on several threads)."""
    monkeypatch.setattr(launch, "_SMALL", least)
    graph = to_graph(FAMILIES["rmat-directed-int"])
    for page in (5, 12):
        with streaming(3), pytest.raises(DiskError, match=f"page {page} cannot be read"):
            program("pagerank")(opened(graph, 64, 0.0005, ("in", page)), threads=3)


def test_a_graph_that_fits_is_read_once() -> None:
    graph = Graph.read("rmat:8", weights="1..9")
    disk = opened(graph, 256)
    want = program("sssp")(graph, source=0)
    found = program("sssp")(disk, source=0)
    assert_same(want, found)
    assert found.placement.startswith("edges in memory")
    assert found.read_bytes == 0
    whole = disk.loaded()
    assert_same(want, program("sssp")(disk, source=0))
    assert disk.loaded() is whole


def test_memory_decides() -> None:
    """The budget decides whether a graph of 100 pages is in memory, partly streamed, or refused."""
    graph = Graph.read("rmat:12")
    disk, want = opened(graph, 2600), program("pagerank")(graph)
    count = store_of(disk).cuts("in").count
    assert count > 100
    found = program("pagerank")(disk, memory="250K")
    assert_same(want, found)
    assert found.placement.startswith("edges streamed from rmat:12")
    pages = sum(store_of(disk).nbytes("in", page) for page in range(count))
    assert pages < found.read_bytes < pages * want.rounds
    assert found.summary_dict()["read_bytes"] == found.read_bytes
    with pytest.raises(OutOfMemory, match=r"needs .* to stream them .* give memory=.1M"):
        program("pagerank")(disk, memory="20K")


def test_what_needs_lists_says_so() -> None:
    disk = opened(Graph.read("rmat:6"), 256)
    for act in (lambda: disk.adjacency("in"), disk.built, disk.neighbours, disk.edges,
                lambda: disk.thinned("drop"), lambda: disk.changed(removed=[(0, 1)]),
                lambda: disk.with_rule_weights(1, 2)):
        with pytest.raises(GraphError, match="are on disk, and this needs them in memory: read the graph"):
            act()
    assert np.array_equal(disk.degree, Graph.read("rmat:6").degree)


def test_explain_says_which_ways_do_not_stream() -> None:
    graph = Graph.read("rmat:6", weights="1..9")
    for name, line in (
        ("sssp", "streamed from disk: no priority (the edges are on disk, and every bucket would read its pages anew)"),
        ("pagerank_delta", "streamed from disk: no sums (the edges are on disk, and their pages arrive in any order, "
                           "while sums keep that of the senders)"),
    ):
        text = program(name).lower(opened(graph, 256)).text("plan")
        assert f"    {line}\n" in text
        assert "streamed from disk" not in program(name).lower(graph).text("plan")
    assert "streamed from disk" not in program("pagerank").lower(opened(graph, 256)).text("plan")


def test_options_that_streamed_pages_do_not_have() -> None:
    disk = opened(Graph.read("rmat:6", weights="1..9"), 256)
    with streaming(3):
        with pytest.raises(BindError, match="cannot run in order of priority: the edges are on disk"):
            program("sssp")(disk, source=0, research={"schedule": "priority"})
        with pytest.raises(BindError, match="cannot run in order of priority: the edges are on disk"):
            program("sssp")(disk, source=0, target=3)
        with pytest.raises(BindError, match="chaos takes the edges of every vertex in random order"):
            program("bfs")(disk, source=0, chaos=1)
