"""An emulated GPU whose memory is smaller than the vertex arrays: windows of these arrays move with the pages."""

from __future__ import annotations

import gc
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.checkpoints.test_points import Stopped, stopped_after, written_at_once
from tests.cpu.compare import engine_run, same_bits
from tests.cuda.emulation.emulated import EmulatedDevice, needs_compiler
from tests.cuda.runs import emulated, program
from tests.gpu.compare import assert_equal
from tests.paged.stores import opened, streaming
from tests.reference.cases import Case, case
from tests.reference.graph import RefGraph
from tests.reference.graphs import to_graph
from tests.sample import sampled
from vlang import Graph, OutOfMemory, Result
from vlang.options import parse_size
from vlang.runtime.engine import cycle
from vlang.runtime.gpu.topology.cut import Cut, long_rows
from vlang.runtime.gpu.windows.window import page_windows
from vlang.runtime.graph.paged.in_memory import save
from vlang.runtime.storage.ledger import budget, ledger

pytestmark = needs_compiler

PAGE = 4096  # bytes of neighbours
PROGRAMS = sampled(["pagerank", "bfs", "cdlp", "katz", "sssp_tree", "coloring"], ["pagerank", "bfs"])
SHORT = "GPU memory is short: "


def drawn(n: int = 13_000) -> RefGraph:
    """Return a skewed graph with a vertex in the middle whose in-edges take several pages."""
    rng = np.random.default_rng(3)
    src, dst = (n * rng.random((2, 12_000)) ** 1.5).astype(np.int64)
    src, dst = np.append(src, rng.integers(0, n, 17_000)), np.append(dst, np.full(17_000, n // 2))
    return RefGraph(n, src, dst, {"weight": ((src + 3 * dst) % 9 + 1).astype(np.float32) / 2}, True)


GRAPH = drawn()


def given(name: str) -> Case:
    found = case(name, GRAPH)
    assert found is not None
    return found


def run(name: str, memory: int | None, seed: int = 0, **options: Any) -> tuple[Result, EmulatedDevice]:
    """Run a program on pages from a disk without files; kernels are deterministic."""
    with streaming(2), emulated(name, seed) as devices:
        found = engine_run(program(name), given(name), opened(to_graph(GRAPH), PAGE), device="emulated",
                           gpu_memory=memory, deterministic=True, max_rounds=3, **options)
    assert devices[0].most <= devices[0].budget()
    return found, devices[0]


def named(refused: OutOfMemory) -> int:
    """Return the bytes that an error names as sufficient."""
    return int(str(refused).split("allow at least ")[1].split()[0])


def least(name: str) -> int:
    with pytest.raises(OutOfMemory) as refused:
        run(name, 125_000)
    return named(refused.value)


@pytest.mark.parametrize("name", PROGRAMS)
def test_every_size_of_windows(name: str) -> None:
    """With windows of every size, results have the bits of a run with all arrays on the GPU. The memory that the error
    names suffices, and is less than the arrays and offsets take.
    """
    want, device = run(name, None, mode="pull")
    assert not want.notes
    few, most = least(name), device.most
    numbers = set()
    for seed, memory in enumerate((few, (few + most) // 2)):
        found, _ = run(name, memory, seed)
        assert found.notes[0].startswith(SHORT), memory
        numbers.add(found.notes[0].split(" windows")[0].rsplit(" ", 1)[1])
        assert found.rounds == want.rounds
        for field in want.fields:
            assert same_bits(np.asarray(found[field]), np.asarray(want[field])), (field, memory)
    assert len(numbers) > 1
    if name == "pagerank":
        with pytest.raises(OutOfMemory) as refused:
            run(name, 300_000, device_arrays=True)
        assert few < named(refused.value) - 8 * GRAPH.n, "12 bytes of arrays and 8 bytes of offsets a vertex move"
    with pytest.raises(OutOfMemory):
        run(name, few - 10_000)


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_named_memory_suffices(name: str) -> None:
    """The error names the same memory for every smaller budget, even if the arrays that stay on the GPU do not fit. A
    run with this memory succeeds, and a run with 10 % less memory is refused.

    Arrays that are not allocated count in units of 512 bytes, but the emulated GPU allocates single bytes.
    """
    few = least(name)
    for memory in (8_000, 30_000, few * 9 // 10):
        with pytest.raises(OutOfMemory) as refused:
            run(name, memory)
        assert few <= named(refused.value) < 1.01 * few, memory
    found, _ = run(name, named(refused.value))
    assert found.notes[0].startswith(SHORT)


def one_way(rows: int, columns: int) -> Graph:
    """A grid whose edges lead right and down."""
    ids = np.arange(rows * columns).reshape(rows, columns)
    src, dst = np.append(ids[:, :-1], ids[:-1]), np.append(ids[:, 1:], ids[1:])
    return Graph.from_edges(src, dst, directed=True)


@pytest.mark.parametrize("directed", [False, True])
def test_a_search_reads_the_pages_of_its_frontier(tmp_path: Path, directed: bool) -> None:
    """A search along a long graph reads few pages in each superstep, although offsets move in windows."""
    graph = one_way(1500, 8) if directed else Graph.read("grid:1500x8")
    path, gpu_memory = tmp_path / "long.vg", 265_000
    save(graph, path, page_bytes=1 << 13)
    options: dict[str, Any] = {"source": 0, "max_rounds": 120}
    want = program("bfs")(graph, **options)
    disk = Graph.open(path)
    assert disk.stored is not None
    one = sum(disk.stored.nbytes("in", page) for page in range(disk.stored.cuts("in").count))
    with emulated("bfs") as devices:
        found = program("bfs")(disk, device="emulated", memory="700K", gpu_memory=gpu_memory, **options)
    assert devices[0].most <= gpu_memory
    assert "the loop in line 10 pushes" in found.notes[0]
    assert found.rounds == want.rounds == 120
    assert same_bits(np.asarray(found["depth"]), np.asarray(want["depth"]))
    assert [(row.active, row.edges) for row in found.history] == [(row.active, row.edges) for row in want.history]
    print(found.read_bytes, one, found.notes[0])
    assert 0 < found.read_bytes < 2 * one, "full passes would read 120 times"


def test_windows_end_between_rows() -> None:
    """Windows cover all pages and vertices in order, and the pages of a row are in one window."""
    side = to_graph(GRAPH).adjacency("in")
    cut, longs = Cut.of(side, PAGE // 4), long_rows(side).longs[:, 0]
    assert len(longs) == 1
    for size in (1, 500, 4_000, 1 << 30):
        windows = page_windows(side, cut, size)
        assert [one.low for one in windows] == [0, *(one.high for one in windows[:-1])]
        assert [one.pages[0] for one in windows] == [0, *(one.pages[1] for one in windows[:-1])]
        assert (windows[-1].high, windows[-1].pages[1]) == (GRAPH.n, cut.pages)
        for one in windows:
            assert (side.offsets[one.low], side.offsets[one.high]) == tuple(cut.starts[list(one.pages)])
            assert one.longs == (0, 1) if one.low <= longs[0] < one.high else one.longs[0] == one.longs[1]


def test_what_needs_all_arrays_is_refused() -> None:
    """The error says why vertex arrays cannot move. A run that needs less memory without windows is not refused for
    windows.
    """
    for name, options, why in (
        ("pagerank", {"device_arrays": True}, "device_arrays leaves the results there"),
        ("bfs", {"mode": "push"}, "mode=push reads vertices in any order"),
        ("betweenness", {}, "a sweep lists vertices"),
    ):
        with pytest.raises(OutOfMemory, match=f"cannot move to the GPU in windows, because {why}"):
            run(name, 125_000, **options)


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("pages") / "w.vg"
    save(Graph.read("rmat:15,3"), made, page_bytes=1 << 14)
    return made


def from_file(path: Path, memory: str | None, gpu_memory: int | None, **options: Any) -> tuple[Result, int]:
    """Run PageRank on a page file within both budgets; return the result and the peak of the ledger in bytes."""
    gc.collect()
    with emulated("pagerank") as devices, budget(None if memory is None else parse_size(memory)):
        before = ledger.used
        found = program("pagerank")(Graph.open(path), device="emulated", memory=memory, gpu_memory=gpu_memory,
                                    deterministic=True, tol=0.0,
                                    max_rounds=5, **options)
        counted = ledger.peak - before
    assert devices[0].most <= devices[0].budget()
    return found, counted


def test_a_state_file(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Under both budgets the arrays are in a file. A stopped run resumes from its checkpoint with fewer windows, and
    its result has the same bits.
    """
    want, _ = from_file(path, None, None)
    found, counted = from_file(path, "1300K", 640_000)
    assert "a file beside the page file" in found.notes[0]
    assert counted < parse_size("1300K")
    assert same_bits(np.asarray(found["rank"]), np.asarray(want["rank"]))
    assert_equal(found, program("pagerank")(Graph.read(path), tol=0.0, max_rounds=5), "w.vg")

    written_at_once(monkeypatch)
    monkeypatch.setattr(cycle, "WATCHED_FROM", 2)
    saved: dict[str, Any] = {"checkpoint": tmp_path / "saved", "every": 0}
    with pytest.raises(Stopped):
        from_file(path, "1600K", 640_000, progress=stopped_after(3), **saved)
    said = list[str]()
    found, _ = from_file(path, "1600K", 700_000, notices=said.append, **saved)
    assert said[0].startswith("goes on before superstep 3")
    assert same_bits(np.asarray(found["rank"]), np.asarray(want["rank"]))


def test_tables_of_other_ways_do_not_fit(path: Path) -> None:
    """If host memory is too small for the tables of both directions, a search pushes in windows. If GPU memory is too
    small for the frontier, it runs by full passes.
    """
    texts = {}
    for memory, gpu_memory in (("3M", 1 << 20), ("1100K", 1 << 20), ("1100K", 540_000)):
        with emulated("bfs"):
            found = program("bfs")(Graph.open(path), device="emulated", memory=memory, source=0, gpu_memory=gpu_memory)
        texts[memory, gpu_memory] = found.placement, found.notes, {row.mode for row in found.history}
        assert_equal(found, program("bfs")(Graph.read(path), source=0), memory)
    (first, *_), (second, notes, modes), (_, full_notes, full_modes) = texts.values()
    assert "because the tables" not in first
    assert "searches push in windows of the vertices, because the tables of more edges do not fit" in second
    assert "the loop in line 10 pushes" in notes[0]
    assert modes == {"push"}
    assert "every pass is full" in full_notes[0]
    assert full_modes == {"pull"}
