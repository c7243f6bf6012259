"""Runs on page files: the same bits as runs in memory, the pages read, failing files, and the command."""

from __future__ import annotations

import errno
import fcntl
import itertools
import os
import re
import time
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.cpu.compare import same_bits
from tests.paged.stores import streaming
from tests.sample import sampled
from vlang import Graph, Result, compile, load
from vlang.cli import main
from vlang.errors import BindError, DiskError, GraphError, OutOfMemory
from vlang.runtime.graph.paged.in_memory import save
from vlang.runtime.graph.paged.merged import MergedPages
from vlang.runtime.storage.page_file import PageFile
from vlang.runtime.storage.reading import direct
from vlang.runtime.storage.reading.direct import DirectFiles

PAGERANK, SSSP = load("pagerank"), load("sssp")


@pytest.fixture(scope="module")
def graph() -> Graph:
    """Return a graph of 4,096 vertices with weights."""
    return Graph.read("rmat:12,20", weights="1..9")


@pytest.fixture(scope="module")
def path(graph: Graph, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the page file of `graph`, with over 100 pages per direction.

    The rows of the file are in the order of the ids, as in memory.
    """
    made = tmp_path_factory.mktemp("pages") / "r.vg"
    save(graph, made, layout="ids", page_bytes=4096)
    assert PageFile.open(made).directory("in").count > 100
    return made


def assert_same(one: Result, other: Result) -> None:
    for name in one.fields:
        assert same_bits(np.asarray(one[name]), np.asarray(other[name])), name


def test_every_budget_and_number_of_threads(graph: Graph, path: Path) -> None:
    disk = Graph.open(path)
    for program, options in ((PAGERANK, {}), (SSSP, {"source": 0})):
        want = program(graph, **options)
        for memory in ("260K", "400K", "1G"):
            for threads in (1, 3):
                found = program(disk, memory=memory, threads=threads, **options)
                assert_same(want, found)
                assert bool(found.read_bytes) == (memory != "1G")


def test_page_sizes_and_stripes_change_no_bit(graph: Graph, tmp_path: Path) -> None:
    want = PAGERANK(graph)
    disks = [tmp_path / name for name in ("a", "b", "c")]
    for disk in disks:
        disk.mkdir()
    for number, (size, folders) in enumerate(((1 << 14, []), (1 << 13, disks))):
        file = tmp_path / f"{number}.vg"
        save(graph, file, layout="ids", page_bytes=size, disks=folders)
        found = PAGERANK(Graph.open(file), memory="260K")
        assert found.read_bytes > 0
        assert_same(want, found)


def test_undirected_rows_of_many_pages(tmp_path: Path) -> None:
    """Results are right if the rows of two hubs with 100,000 edges take several pages, and each page has some of the
    segments.
    """
    at = np.arange(200_000)
    hubs = Graph.from_edges(at % 4_000, np.where(at < 100_000, 4_001, 4_005), directed=False)
    save(hubs, tmp_path / "h.vg", layout="ids", page_bytes=1 << 16)
    want = PAGERANK(hubs)
    found = PAGERANK(Graph.open(tmp_path / "h.vg"), memory="1M")
    assert found.read_bytes > 0
    assert_same(want, found)


@pytest.mark.parametrize("name", ["components", "bipartite", "mis", "cdlp"])
def test_both_directions_are_merged(graph: Graph, path: Path, name: str) -> None:
    """Programs over `--` need the in-edges and out-edges of a vertex together. No page of the file contains both kinds
    of edges, so pages are merged.
    """
    program = load(name)
    found = program(Graph.open(path), memory="1M", threads=2)
    assert found.read_bytes > 0
    assert_same(program(graph), found)


def test_degrees_of_both_directions_that_no_page_could_hold() -> None:
    file: Any = SimpleNamespace(columns={}, degrees=lambda kind: np.array([1, 1 << 31], np.uint32))
    with pytest.raises(GraphError, match=r"a vertex has 2\^32 edges or more"):
        MergedPages(file, read=lambda *_: pytest.fail("no page is read"))


def test_components_read_each_edge_once(graph: Graph, path: Path) -> None:
    """Connected components read each edge once, and need no memory to merge the two directions. Other execution ways of
    the same loop need memory to merge.
    """
    file, components = PageFile.open(path), load("components")
    found = components(Graph.open(path), memory="230K")
    assert {row.mode for row in found.history} == {"connect"}
    assert found.read_bytes == sum(file.extent("in", page).nbytes for page in range(file.directory("in").count))
    for more in ({"max_rounds": 2}, {"research": {"mode": "pull"}}):
        with pytest.raises(OutOfMemory, match="merge"):
            components(Graph.open(path), memory="230K", **more)


def test_values_whose_order_matters_are_copied_in_passes(graph: Graph, path: Path) -> None:
    """Floats with a NaN are copied in passes. A NaN is found only when the loop begins, so that floats always need
    memory to merge the directions.
    """
    program = compile("program copies\nvertex x: float\nrepeat:\n    gather a = min(u.x for u -- self)\n"
                      "    apply x = min(x, a)\n")
    values = np.arange(graph.n, dtype=np.float32)
    for nan, modes in ((False, {"connect"}), (True, {"pull", "notify-pull", "push"})):
        values[7] = np.nan if nan else 7
        found = program(Graph.open(path), x=values, memory="800K")
        assert found.read_bytes > 0
        assert {row.mode for row in found.history} <= modes
        assert_same(program(graph, x=values), found)


def test_searches_read_the_pages_of_the_frontier_or_of_the_rest(graph: Graph, path: Path, tmp_path: Path) -> None:
    """Searches read fewer bytes than full passes. On a grid, a search reads each page about once in the whole run."""
    bfs, disk = load("bfs"), Graph.open(path)
    found = bfs(disk, source=0, memory="400K")
    assert {row.mode for row in found.history} == {"push", "early-exit pull"}
    assert_same(bfs(graph, source=0), found)
    pulled = bfs(disk, source=0, memory="400K", research={"mode": "pull"})
    assert_same(pulled, found)
    assert found.read_bytes < 0.7 * pulled.read_bytes
    grid = Graph.read("grid:100x100")
    save(grid, tmp_path / "g.vg", layout="ids", page_bytes=4096)
    file, found = PageFile.open(tmp_path / "g.vg"), bfs(Graph.open(tmp_path / "g.vg"), source=0, memory="500K")
    assert_same(bfs(grid, source=0), found)
    pages = sum(file.extent("in", page).nbytes for page in range(file.directory("in").count))
    print(found.read_bytes / pages, found.rounds)
    assert 0 < found.read_bytes < 3 * pages


def test_pushes_read_the_pages_of_active_vertices(graph: Graph, path: Path) -> None:
    """Pushes read the pages of active vertices with their weights, and only the edges of these vertices are traversed.
    A full pass runs only if it reads no more bytes.
    """
    disk = Graph.open(path)
    found = SSSP(disk, source=127, memory="400K")
    pulled = SSSP(disk, source=127, memory="400K", research={"mode": "pull"})
    assert_same(pulled, found)
    pushed = SSSP(graph, source=127, research={"mode": "push"})
    history = [(row.mode, row.active, row.edges) for row in found.history]
    assert history == [(row.mode, row.active, row.edges) for row in pushed.history]
    assert found.read_bytes < 0.7 * pulled.read_bytes


def test_a_pass_over_merged_pages_reads_each_page_once(graph: Graph, path: Path) -> None:
    program, file = load("degree"), PageFile.open(path)
    found = program(Graph.open(path), memory="700K")
    assert_same(program(graph), found)
    pages = sum(file.extent(kind, page).nbytes for kind in file.kinds for page in range(file.directory(kind).count))
    assert pages <= found.read_bytes <= 1.25 * pages, "two threads read, and the last few pages are kept"


def test_what_a_graph_on_disk_knows_without_its_edges(graph: Graph, path: Path) -> None:
    disk = Graph.open(path)
    assert (disk.n, disk.m, disk.directed, dict(disk.columns)) == (graph.n, graph.m, True, dict(graph.columns))
    assert disk.column_range("weight") == graph.column_range("weight")
    assert np.array_equal(disk.in_degree, graph.in_degree)
    assert np.array_equal(disk.degree, graph.degree)
    assert disk.find(7) == graph.find(7)
    with pytest.raises(GraphError, match="are on disk"):
        disk.adjacency("in")
    assert np.array_equal(disk.loaded().adjacency("in").targets, graph.adjacency("in").targets)


def test_a_file_system_that_refuses_direct_reads(
    graph: Graph, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If the file system refuses direct reads, at open or at the first read, reads are buffered, and the run reports
    the buffered reads.
    """
    want, real_open, real_read = PAGERANK(graph), os.open, os.preadv

    def refused(file: Any, flags: int, *more: Any) -> int:
        if flags & os.O_DIRECT:
            raise OSError(errno.EINVAL, "Invalid argument")
        return real_open(file, flags, *more)

    def tried(file: int, buffers: Sequence[Any], offset: int) -> int:
        if os.readlink(f"/proc/self/fd/{file}") and fcntl_direct(file):
            raise OSError(errno.EINVAL, "Invalid argument")
        return real_read(file, buffers, offset)

    def fcntl_direct(file: int) -> bool:
        return bool(fcntl.fcntl(file, fcntl.F_GETFL) & os.O_DIRECT)

    with monkeypatch.context() as patch:
        patch.setattr(os, "open", refused)
        disk = Graph.open(path)
        found = PAGERANK(disk, memory="260K")
        assert "refuses direct reads" in found.placement
        assert_same(want, found)
    with monkeypatch.context() as patch:
        patch.setattr(os, "preadv", tried)
        assert_same(want, PAGERANK(Graph.open(path), memory="260K"))


def test_short_reads_are_continued(graph: Graph, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real_read = os.preadv

    def short(file: int, buffers: Sequence[Any], offset: int) -> int:
        return real_read(file, [buffers[0][:4096]], offset)

    monkeypatch.setattr(os, "preadv", short)
    assert_same(PAGERANK(graph), PAGERANK(Graph.open(path), memory="260K"))


def test_a_file_that_changes_after_it_was_opened(graph: Graph, tmp_path: Path) -> None:
    """If a file is truncated or a byte of a page changes after the file was opened, one message names the file."""
    file = tmp_path / "x.vg"
    save(graph, file, page_bytes=4096)
    disk, size = Graph.open(file), file.stat().st_size
    with file.open("r+b") as opened:
        opened.seek(20 * 4096 + 77)
        byte = opened.read(1)
        opened.seek(-1, os.SEEK_CUR)
        opened.write(bytes([byte[0] ^ 4]))
    with pytest.raises(GraphError, match=r"x\.vg: damaged: page \d+ of the in-edges: its sum is wrong"):
        PAGERANK(disk, memory="260K")
    os.truncate(file, size // 4)
    with pytest.raises((DiskError, GraphError), match=r"x\.vg: (cut off|damaged)"):
        PAGERANK(disk, memory="260K")


def test_the_least_that_would_do(path: Path) -> None:
    with pytest.raises(OutOfMemory, match=r"to stream them .*, and the budget is 50\.0 kB: give memory=.1M"):
        PAGERANK(Graph.open(path), memory="50K")


NAMES = ("pagerank", "pagerank_delta", "betweenness", "components", "cdlp", "coloring", "mis")


@pytest.mark.parametrize(("name", "precision"), sampled(
    itertools.product(NAMES, (32, 64)), [*((name, 32) for name in NAMES), ("pagerank", 64)]))
def test_rows_in_order_of_degree(tmp_path: Path, name: str, precision: int) -> None:
    """Streamed runs have the same bits as a run in memory on the same file.

    Float sums may be rounded differently than on the original graph, unless the rows are in the order of the ids.
    """
    graph = Graph.read("rmat:9", weights="1..9")
    program, options = load(name, precision), {"sources": [0, 7]} if name == "betweenness" else {}
    file, by_id = tmp_path / "d.vg", tmp_path / "i.vg"
    save(graph, file, page_bytes=4096)
    save(graph, by_id, layout="ids", page_bytes=4096)
    want, here = program(graph, **options), program(Graph.read(file), **options)
    with streaming(3):
        assert_same(want, program(Graph.open(by_id), **options))
    with streaming(3):
        found = program(Graph.open(file), **options)
    assert found.read_bytes > 0
    assert_same(here, found)
    for field in want.fields:
        if want[field].dtype.kind == "f":
            np.testing.assert_allclose(found[field], want[field], rtol=2e-4 if precision == 32 else 1e-9, atol=1e-7)
        else:
            assert np.array_equal(found[field], want[field])


def test_what_pages_do_not_have(path: Path) -> None:
    disk = Graph.open(path)
    with pytest.raises(BindError, match="page_size cuts adjacency lists in memory"):
        PAGERANK(disk, memory="260K", research={"page_size": 4096})


def test_the_rate_is_that_of_later_reads(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first read includes the start of the threads. A small file is measured only if memory for reads is small."""
    seconds, sizes = [0.0], set[int]()

    def read(_files: DirectFiles, _number: int, _offset: int, buffer: NDArray[np.uint8]) -> None:
        seconds[0] += 0.001 if sizes else 1.0
        sizes.add(len(buffer))

    monkeypatch.setattr(DirectFiles, "read", read)
    monkeypatch.setattr(direct, "_TOGETHER", 1)
    monkeypatch.setattr(time, "perf_counter", lambda: seconds[0])
    most = path.stat().st_size // 20 // 4096 * 4096
    assert DirectFiles([path]).rate(2 * most) == pytest.approx(most / 0.001)
    assert sizes == {most}
    assert DirectFiles([path]).rate(1 << 24) == np.inf


def test_the_command(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "pagerank", str(path), "--memory", "260K", "--verify", "--top", "2"]) == 0
    said = capsys.readouterr().err
    assert "edges streamed from r.vg" in said
    found = re.search(r"; a full sweep reads (\d+\.\d) kB, (\S+) s at (\d+\.\d) ([MG])B/s\n", said)
    assert found is not None
    file = PageFile.open(path)
    pages = sum(file.extent("in", page).nbytes for page in range(file.directory("in").count))
    assert 0.5 * pages < float(found[1]) * 1024 < pages, "the pages that stay are not read again"
    rate = float(found[3]) * 2**(20 if found[4] == "M" else 30)
    assert float(found[2]) == pytest.approx(float(found[1]) * 1024 / rate, rel=0.06)
    assert "verified: the same bits with" in said
    assert main(["run", "pagerank", str(path)]) == 0
    assert "edges in memory" in capsys.readouterr().err
    assert main(["run", "pagerank", str(path), "--memory", "10K"]) == 1
    said = capsys.readouterr().err
    assert "(--memory 1M)" in said
    assert "Traceback" not in said
