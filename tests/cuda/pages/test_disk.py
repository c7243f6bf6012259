"""An emulated GPU gets pages from disk. Results equal the results of runs in memory, and no kernel reads a damaged
page.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.cpu.compare import engine_run, same_bits
from tests.cuda.emulation.emulated import EmulatedDevice, needs_compiler
from tests.cuda.runs import emulated, program
from tests.gpu.compare import assert_equal
from tests.paged.stores import opened, store_of, streaming
from tests.reference.cases import MORE, STDLIB, Case, case
from tests.reference.graph import RefGraph
from tests.reference.graphs import to_graph
from tests.sample import EXHAUSTIVE, sampled
from vlang import BindError, Graph, OutOfMemory, Result
from vlang.errors import DiskError, GraphError
from vlang.runtime.gpu.device.choose import stand_in
from vlang.runtime.graph.paged.in_memory import save
from vlang.runtime.storage.page_file import PageFile

pytestmark = needs_compiler

PAGE = 256  # bytes of neighbours
IN_MEMORY_ONLY = ("lcc", "triangles")  # they call `common`
PROGRAMS = sampled([*STDLIB, *MORE], [
    "betweenness", "bfs", "cdlp", "components", "katz", "kcore_peel", "scc", "sssp_tree"])


def drawn(n: int = 260, edges: int = 7_000, seed: int = 5) -> RefGraph:
    """Return a skewed directed graph of over 100 pages in each direction."""
    rng = np.random.default_rng(seed)
    src, dst = (n * rng.random((2, edges)) ** 1.5).astype(np.int64)
    return RefGraph(n, src, dst, {"weight": ((src + 3 * dst) % 9 + 1).astype(np.float32) / 2}, True)


GRAPH = drawn()


def given_of(name: str) -> Case:
    found = case(name, GRAPH)
    assert found is not None
    return found


def in_memory(name: str, **options: Any) -> tuple[Result, int]:
    """Run a program with all edges on the device; return the result and the peak of device memory in bytes."""
    with emulated(name) as devices:
        result = engine_run(program(name), given_of(name), device="emulated", **options)
    return result, devices[0].most


def on_disk(
    name: str, memory: int | None, buffers: int = 2, kept: float = 0.0, seed: int = 0, **options: Any
) -> Result:
    """Run a program on pages from disk.

    Args:
        memory: bytes on the device; if they are too few, the least possible memory is used.
    """
    with streaming(buffers, kept), emulated(name, seed) as devices:
        graph = opened(to_graph(given_of(name).graph), PAGE, 0.0002 * (seed % 2))
        try:
            result = engine_run(program(name), given_of(name), graph, device="emulated", gpu_memory=memory, **options)
        except OutOfMemory as refused:
            devices.clear()
            result = engine_run(program(name), given_of(name), graph, device="emulated",
                                gpu_memory=int(str(refused).split("allow at least ")[1].split()[0]), **options)
        assert devices[0].most <= devices[0].budget()
    return result


def pages_of(kind: str = "in") -> int:
    return store_of(opened(to_graph(GRAPH), PAGE)).cuts(kind).count


@pytest.mark.parametrize("name", [name for name in PROGRAMS if name not in IN_MEMORY_ONLY])
def test_every_program(name: str) -> None:
    """Every program runs with half of the edges on the device, and with all edges on the device. With all edges, each
    page is read from disk once.
    """
    limits: dict[str, Any] = {"max_rounds": 6} if name in ("circuit", "heat", "neural") else {}
    want, most = in_memory(name, **limits)
    edges = 8 * len(GRAPH.src)
    for seed, memory in enumerate((most - edges // 2, None)):
        if not EXHAUSTIVE and seed != PROGRAMS.index(name) % 3 % 2:
            continue
        found = on_disk(name, memory, 2 + seed, (0.0, 0.4)[seed], seed, **limits)
        assert found.read_bytes > 0
        assert_equal(found, want, (name, memory))
    assert pages_of() > 100


@pytest.mark.parametrize(("name", "mode"), [
    ("bfs", "push"), ("sssp_tree", "push"), ("components", "push"), ("bfs", "notify-pull"), ("pagerank", "pull"),
])
def test_every_way(name: str, mode: str) -> None:
    """Supersteps over few vertices read only the pages of these vertices."""
    want, most = in_memory(name, mode=mode)
    found = on_disk(name, most - 4 * len(GRAPH.src), mode=mode)
    assert_equal(found, want, (name, mode))
    modes = {row.mode for row in found.history}
    assert mode in modes or mode == "pull"
    file = store_of(opened(to_graph(GRAPH), PAGE))
    whole = sum(file.nbytes("in", page) for page in range(pages_of()))
    assert 0 < found.read_bytes <= 2 * whole * found.rounds


def test_a_search_along_a_path_reads_each_page_about_once() -> None:
    """A page stays on the device until another page is needed. Along a path, the next vertex is nearly always in the
    same page.
    """
    graph, more = Graph.read("path:3000"), {"source": 0, "device": "emulated", "research": {"mode": "push"}}
    with emulated("bfs_tree") as devices:
        program("bfs_tree")(graph, max_rounds=1, **more)
    disk = opened(graph, 4 * PAGE)
    with streaming(2), emulated("bfs_tree"):
        found = program("bfs_tree")(disk, gpu_memory=devices[0].most - 2 * graph.m, max_rounds=30, **more)
    assert np.array_equal(found["depth"][:30], np.arange(30))
    reads, pages = store_of(disk).reads, store_of(disk).cuts("out").count
    assert pages > 10
    assert {kind for kind, _ in reads} == {"out"}, "the in-edges are not needed"
    assert 0 < len(reads) <= 2, "a page has the edges of 256 vertices"


@pytest.mark.parametrize("name", ["pagerank", "sssp"] if EXHAUSTIVE else ["katz"])
def test_the_same_bits_for_every_ring(name: str) -> None:
    """With deterministic kernels, the result has the same bits for every number of buffers, and for every number of
    pages in host memory and in device memory.
    """
    want, most = in_memory(name, deterministic=True, max_rounds=3)
    for seed, (memory, buffers, kept) in enumerate(((most - 28_000, 2, 0.0), (most - 9_000, 3, 0.5), (None, 2, 2.0))):
        found = on_disk(name, memory, buffers, kept, seed, deterministic=True, max_rounds=3)
        for field in want.fields:
            assert same_bits(np.asarray(found[field]), np.asarray(want[field])), (name, seed)


def test_what_stays_is_not_read_again() -> None:
    """No page is both on the device and in host memory. A pass therefore reads only the remaining pages from disk."""
    file = store_of(opened(to_graph(GRAPH), PAGE))
    whole = sum(file.nbytes("in", page) for page in range(pages_of()))
    with streaming(2, 0.5), emulated("spmv"):
        found = on_disk("pagerank", 60_000, 2, 0.5, mode="pull", max_rounds=6)
    assert found.read_bytes <= whole + 5 * 0.55 * whole
    found = on_disk("pagerank", None, max_rounds=6)
    assert found.read_bytes == whole, "all pages are on the device after the first pass"


# ------------------------------------------------------------------------------------------------------- page files
@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a page file of over 100 pages in each direction, with weights."""
    made = tmp_path_factory.mktemp("disk") / "r.vg"
    save(Graph.read("rmat:12,20", weights="1..9"), made, page_bytes=4096)
    assert PageFile.open(made).directory("out").count > 100
    return made


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a page file of few pages."""
    made = tmp_path_factory.mktemp("disk") / "s.vg"
    save(Graph.read("rmat:9,8", weights="1..9"), made, page_bytes=4096)
    return made


def run_file(file: Path, name: str = "pagerank", memory: str | None = "450K", gpu_memory: int | None = 600_000,
             **options: Any) -> Result:
    with emulated(name) as devices:
        found = program(name)(Graph.open(file), device="emulated", memory=memory, gpu_memory=gpu_memory, **options)
        assert devices[0].most <= devices[0].budget()
    return found


def test_a_file_within_both_budgets(path: Path) -> None:
    """A file is streamed although its edges are far larger than host memory and device memory. The ledger refuses
    nothing.
    """
    want = program("pagerank")(Graph.read(path), max_rounds=2)
    found = run_file(path, max_rounds=2)
    assert found.read_bytes > 0
    assert found.device == "emulated:0"
    assert found.placement.startswith("edges streamed from r.vg to the GPU: ")
    assert_equal(found, want, "r.vg")


@pytest.mark.parametrize("name", ["bfs", "sssp", "degree"])
def test_files(small: Path, name: str) -> None:
    """The results are right for files with separate or merged directions, and with weights narrower than the weight
    type of the program.
    """
    given = {} if name == "degree" else {"source": 0}
    with streaming(2):
        found = run_file(small, name, None, 40_000, **given)
    assert found.read_bytes > 0
    assert_equal(found, program(name)(Graph.read(small), **given), name)


def test_rows_in_order_of_degree(tmp_path: Path) -> None:
    """The results are right for rows in the order of degree, where the row of a hub takes several pages."""
    at = np.arange(30_000)
    hubs = Graph.from_edges(at % 900, np.where(at < 25_000, 101, at % 777), directed=False)
    save(hubs, tmp_path / "h.vg", layout="degree", page_bytes=1 << 14)
    for name in ("pagerank", "components"):
        with streaming(2):
            found = run_file(tmp_path / "h.vg", name, None, 300_000, max_rounds=2)
        assert found.read_bytes > 0
        assert_equal(found, program(name)(hubs, max_rounds=2), name)


def flip(file: Path, at: int) -> None:
    with file.open("r+b") as opened:
        opened.seek(at)
        byte = opened.read(1)
        opened.seek(at)
        opened.write(bytes([byte[0] ^ 4]))


def test_a_damaged_page_reaches_no_kernel(small: Path, tmp_path: Path) -> None:
    """A damaged page gives one error that names the file and the page. A truncated file also gives an error that names
    the file.
    """
    file = tmp_path / "x.vg"
    file.write_bytes(small.read_bytes())
    disk = Graph.open(file)
    flip(file, 3 * 4096 + 77)
    for _ in range(2):
        with streaming(2), emulated("pagerank") as devices, \
                pytest.raises(GraphError, match=r"x\.vg: damaged: page \d+ of the in-edges: its sum is wrong"):
            program("pagerank")(disk, device="emulated")
        assert not devices[0]._buffers, "everything is freed"
    os.truncate(file, file.stat().st_size // 4)
    with streaming(2), emulated("pagerank"), \
            pytest.raises((DiskError, GraphError), match=r"x\.vg: (cut off|damaged)"):
        program("pagerank")(disk, device="emulated")


def test_a_page_with_other_rows_than_the_tables(small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No kernel reads a page whose checksum is right but whose degrees differ from the tables of the file."""
    real = PageFile.degrees

    def changed(self: PageFile, kind: str, *more: Any) -> Any:
        degrees = real(self, kind, *more)
        rows = np.flatnonzero(degrees > 1)
        degrees[rows[3]] += 1
        degrees[rows[4]] -= 1
        return degrees

    monkeypatch.setattr(PageFile, "degrees", changed)
    with pytest.raises(GraphError, match=r"its rows have other lengths than the table|does not fit the table"), \
            streaming(2):
        run_file(small, max_rounds=2)


def test_short_reads_are_continued(small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    want, real = program("pagerank")(Graph.read(small), max_rounds=2), os.preadv

    def short(file: int, buffers: Any, offset: int) -> int:
        return real(file, [buffers[0][: max(4096, buffers[0].nbytes // 2 // 4096 * 4096)]], offset)

    monkeypatch.setattr(os, "preadv", short)
    with streaming(2):
        assert_equal(run_file(small, max_rounds=2), want, "short reads")


def test_a_page_that_cannot_be_read() -> None:
    """If the read of a page fails, the run raises one error and releases every buffer."""
    for kind, page in (("in", 0), ("in", 77)):
        with streaming(2), emulated("pagerank") as devices:
            graph = opened(to_graph(GRAPH), PAGE, 0.0, (kind, page))
            with pytest.raises(DiskError, match=f"page {page} cannot be read"):
                program("pagerank")(graph, device="emulated", gpu_memory=60_000)
            assert not devices[0]._buffers
            assert not devices[0]._registered


def test_memory_that_cannot_be_locked(small: Path) -> None:
    """If buffers cannot be page-locked, the results are the same, since copies then read the buffers immediately."""
    class Refused(EmulatedDevice):
        def register(self, array: Any) -> int:
            return 0

    with streaming(2), stand_in("refused", lambda _, memory: Refused(memory=memory or 1 << 28, flags=("-O0",))):
        found = program("bfs")(Graph.open(small), source=0, device="refused", gpu_memory=40_000)
    assert found.read_bytes > 0
    assert_equal(found, program("bfs")(Graph.read(small), source=0), "unlocked")


def test_what_pages_from_disk_do_not_have(path: Path) -> None:
    for name, options, message in (
        ("triangles", {"memory": "800K"}, r"triangles, line 15: `common` intersects .* cannot be streamed"),
        ("pagerank", {"research": {"transfer": "direct"}}, 'transfer="direct" reads edges where they lie'),
        ("pagerank", {"research": {"page_size": 4096}}, "page_size cuts adjacency lists in memory"),
    ):
        with pytest.raises(BindError, match=message):
            run_file(path, name, **options)


def test_the_least_that_would_do(path: Path) -> None:
    """The error message names the least host memory or device memory, and a run with this memory succeeds."""
    with pytest.raises(OutOfMemory, match=r"to stream them to a GPU .* budget is 50\.0 kB: give memory=") as refused:
        run_file(path, memory="50K")
    enough = re.search(r"--memory (\w+)", str(refused.value))
    assert enough
    assert run_file(path, memory=enough[1], max_rounds=2).rounds == 2
    with pytest.raises(OutOfMemory, match=r"allow at least \d+ bytes") as short:
        run_file(path, gpu_memory=150_000)
    least = re.search(r"allow at least (\d+) bytes", str(short.value))
    assert least
    assert run_file(path, gpu_memory=int(least[1]), max_rounds=2).read_bytes > 0


def test_what_fits_is_read_into_memory(path: Path) -> None:
    found = run_file(path, memory="1G", gpu_memory=None, max_rounds=2)
    assert found.placement.startswith("edges in memory")
    assert found.read_bytes == 0


def test_auto_streams_on_the_cpu(path: Path) -> None:
    found = program("bfs")(Graph.open(path), source=0, device="auto", memory="400K")
    assert found.device == "cpu"
    assert "a GPU streams them if it is asked for by name" in found.device_reason
