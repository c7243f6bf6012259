"""Page files of graphs in memory are read back unchanged and have the documented pages, directories and checksums."""

from __future__ import annotations

import errno
import fcntl
import math
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.page_file.graphs import drawn_graph, same_graph
from vlang.errors import DiskError, GraphError
from vlang.runtime.graph.graph import Graph
from vlang.runtime.graph.paged.cut import cut_directory
from vlang.runtime.graph.paged.in_memory import save
from vlang.runtime.plan.plan import SEGMENT
from vlang.runtime.storage.page_file import PageFile
from vlang.runtime.storage.page_file.directory import Directory, page_rows
from vlang.runtime.storage.page_file.form import page_layout, page_sizes, sum_of
from vlang.runtime.storage.page_file.header import bounds

GRAPHS = {
    "no vertex": lambda: Graph.from_edges([], []),
    "no edge": lambda: Graph.from_edges([], [], n=3000, weight=[]),
    "a loop": lambda: Graph.from_edges([7], [7], weight=[2.5]),
    "directed": lambda: drawn_graph(700, 9000),
    "undirected": lambda: drawn_graph(700, 9000, directed=False),
    "long vertices": lambda: drawn_graph(40, 100_000),
    "a hub last": lambda: Graph.from_edges(np.arange(40_000) % 5000 + 3, np.full(40_000, 6000), n=9000, directed=False),
    "texts": lambda: Graph.from_edges(["b", "", "ä\U0001f600"], ["", "x" * 5000, "b"]),
    "large ids": lambda: Graph.from_edges(np.array([2**64 - 1, 5], np.uint64), np.array([5, 2**63], np.uint64)),
    "negative ids": lambda: Graph.from_edges([-5, 9], [9, 2**62]),
    "rule": lambda: Graph.read("rmat:7,weights=-7..63"),
    "several columns": lambda: Graph.from_edges([0, 1, 1], [1, 2, 2], a=[1, 2, 3], b=[0.5, np.nan, np.inf],
                                                c=np.array([1, 2, 65504], np.float16), d=[2**64 - 1, 0, 1]),
}  # fmt: skip


@pytest.mark.parametrize("layout", ["ids", "degree", "hubs"])
@pytest.mark.parametrize("name", GRAPHS)
def test_round_trip(name: str, layout: str, tmp_path: Path) -> None:
    graph = GRAPHS[name]()
    disks = [tmp_path / "a", tmp_path / "b", tmp_path / "c"]
    for disk in disks:
        disk.mkdir()
    for page_bytes in (4096, 1 << 16, 4 << 20):
        for where in ((), disks):
            save(graph, tmp_path / "x.vg", layout=layout, disks=where, page_bytes=page_bytes)
            same_graph(Graph.read(tmp_path / "x.vg"), graph)
            file = PageFile.open(tmp_path / "x.vg")
            assert file.layout == layout
            assert file.kinds == (("in", "out") if graph.directed else ("in",))
            assert file.check() > len(file.kinds) * 3
            assert len(file.stripes) == max(1, len(where))
            assert file.nbytes == sum(path.stat().st_size for path in {file.path, *file.stripes})
        assert len(list(tmp_path.glob("?/*"))) == 3, "stripes of earlier files are removed"


@pytest.mark.parametrize(("layout", "edges"), [("degree", 4000), ("hubs", 4000), ("hubs", 30)])
def test_layouts_order_vertices(layout: str, edges: int, tmp_path: Path) -> None:
    """Vertices are in the order of degree; with the layout `hubs`, hubs come first, and the other vertices follow in
    the order of their numbers.

    Hubs are the 8 % of the vertices with the largest product of in-degree and out-degree, if this product is not 0.
    """
    graph = drawn_graph(500, edges)
    save(graph, tmp_path / "x.vg", layout=layout, page_bytes=4096)
    file = PageFile.open(tmp_path / "x.vg")
    order = file.permutation()
    assert order is not None
    product = (graph.in_degree.astype(int) * graph.out_degree).tolist()
    hubs = [v for v in sorted(range(500), key=lambda v: (-product[v], v))[:40] if product[v]]
    degree = graph.degree.astype(int)
    by_degree = sorted(range(500), key=lambda v: (-degree[v], v))
    assert order.tolist() == (by_degree if layout == "degree" else [*hubs, *sorted(set(range(500)) - set(hubs))])
    for kind in file.kinds:
        expected = graph.in_degree if kind == "in" else graph.out_degree
        np.testing.assert_array_equal(file.degrees(kind), expected[order])


@pytest.mark.parametrize("page_bytes", [4096, 1 << 15, 1 << 18])
@pytest.mark.parametrize("name", ["uniform", "power law", "gaps", "one hub", "hubs side by side", "hubs apart",
                                  "empty", "none"])
def test_cutting(name: str, page_bytes: int) -> None:
    rng = np.random.default_rng(7)
    degrees = {
        "uniform": rng.integers(0, 30, 30_000), "power law": (rng.pareto(0.8, 3000) * 4).astype(np.int64) % 200_000,
        "gaps": rng.integers(0, 9, 200_000) * (rng.random(200_000) < 0.01), "one hub": np.array([0, 0, 10**6, 3, 0]),
        "hubs side by side": np.array([SEGMENT, SEGMENT + 1, 5 * SEGMENT, 3 * SEGMENT + 7, 1]),
        "hubs apart": np.where(np.arange(200_000) % 70_000 == 9, 3 * SEGMENT, 2),
        "empty": np.zeros(200_000, np.int64), "none": np.zeros(0, np.int64),
    }[name].astype(np.uint32)  # fmt: skip
    n, m = len(degrees), int(degrees.sum(dtype=np.int64))
    d = cut_directory(degrees, page_bytes, 12)
    again = Directory.from_words(d.to_words(), n, m)
    np.testing.assert_array_equal(again.to_words(), d.to_words())
    offsets = np.append(0, np.cumsum(degrees.astype(np.int64)))
    rows = page_rows(d.firsts, n)
    sizes = page_sizes(rows, np.diff(d.starts), [8])
    assert sizes.tolist() == [page_layout(int(r), int(e), [8]).nbytes for r, e in zip(rows, np.diff(d.starts))]
    for page, (first, size) in enumerate(zip(d.firsts.tolist(), sizes.tolist())):
        inside = d.starts[page] - offsets[first] if n else 0
        assert inside == 0 or (degrees[first] > SEGMENT and inside % SEGMENT == 0), "only long vertices are cut"
        units = int(rows[page]) - (page + 1 < d.count)
        if size > page_bytes and degrees[first : first + 1].sum() <= SEGMENT:
            assert units <= 1, "a page is larger than asked for only if a single row is"
        if page + 1 < d.count:
            assert size + 4 * SEGMENT * 12 + 4096 > page_bytes or degrees[first:].max() > 1000, "pages are full"
    assert sizes.max() <= max(page_bytes, 4096 + 12 * SEGMENT + 4096)
    long = np.flatnonzero(degrees > SEGMENT)
    assert d.longs[:, 0].tolist() == long.tolist()
    begin = d.segments[:, 1] + d.starts[d.segment_pages]
    end = d.segments[:, 2] + d.starts[d.segment_pages]
    for vertex, low, high in d.longs.tolist():
        assert begin[low] == offsets[vertex]
        assert end[high - 1] == offsets[vertex + 1]
    assert (np.diff(d.tasks[:, 1:]) <= d.cost + SEGMENT).all()
    if page_bytes == 1 << 18:
        assert d.count < sizes.sum() / page_bytes * 1.5 + 2


def test_views_are_those_of_the_adjacency(tmp_path: Path) -> None:
    graph = drawn_graph(300, 60_000)
    save(graph, tmp_path / "x.vg", layout="ids", page_bytes=8192)
    file = PageFile.open(tmp_path / "x.vg")
    raw = (tmp_path / "x.vg").read_bytes()
    for kind in file.kinds:
        adjacency, d = graph.adjacency(kind), file.directory(kind)
        for page in range(d.count):
            extent = file.extent(kind, page)
            assert extent.offset % 4096 == extent.nbytes % 4096 == 0
            view = file.view(kind, page, np.frombuffer(raw, np.uint8, extent.nbytes, extent.offset))
            low, high = d.starts[page : page + 2]
            np.testing.assert_array_equal(view.targets, adjacency.targets[low:high])
            np.testing.assert_array_equal(view.columns["weight"], adjacency.stored("weight")[low:high])
            first = d.firsts[page]
            expected = np.clip(adjacency.offsets[first : first + len(view.offsets)].astype(np.int64), low, high) - low
            np.testing.assert_array_equal(view.offsets, expected)
            for array in (view.offsets, view.targets, view.columns["weight"]):
                assert (array.ctypes.data - np.frombuffer(raw, np.uint8, 1, extent.offset).ctypes.data) % 64 == 0


def _xxh64(data: bytes) -> int:
    """Return XXH64 with seed 0, computed in plain Python from its specification."""
    primes = (11400714785074694791, 14029467366897019727, 1609587929392839161, 9650029242287828579,
              2870177450012600261)  # fmt: skip
    p1, p2, p3, p4, p5 = primes
    mask = 2**64 - 1

    def turn(x: int, bits: int) -> int:
        x &= mask
        return (x << bits | x >> (64 - bits)) & mask

    def step(lane: int, word: int) -> int:
        return turn(lane + word * p2, 31) * p1 & mask

    at, total = 0, p5
    if len(data) >= 32:
        lanes = [p1 + p2, p2, 0, -p1]
        while at + 32 <= len(data):
            lanes = [step(lane, int.from_bytes(data[at + 8 * i : at + 8 * i + 8], "little"))
                     for i, lane in enumerate(lanes)]  # fmt: skip
            at += 32
        total = sum(turn(lane, bits) for lane, bits in zip(lanes, (1, 7, 12, 18)))
        for lane in lanes:
            total = (total ^ step(0, lane)) * p1 + p4
    total += len(data)
    while at + 8 <= len(data):
        total = turn(total ^ step(0, int.from_bytes(data[at : at + 8], "little")), 27) * p1 + p4
        at += 8
    if at + 4 <= len(data):
        total = turn(total ^ int.from_bytes(data[at : at + 4], "little") * p1, 23) * p2 + p3
        at += 4
    for byte in data[at:]:
        total = turn(total ^ byte * p5, 11) * p1
    total &= mask
    total = (total ^ total >> 33) * p2 & mask
    total = (total ^ total >> 29) * p3 & mask
    return total ^ total >> 32


def test_sums_are_those_of_the_specification() -> None:
    assert sum_of(b"") == 0xEF46DB3751D8E999, "the published value"
    assert sum_of(b"abc") == 0x44BC2CF5AD770999, "the published value"
    data = np.random.default_rng(3).bytes(300)
    for length in (*range(70), 255, 256, 300):
        assert sum_of(data[:length]) == _xxh64(data[:length])
    assert sum_of(np.frombuffer(data, np.uint8)[1:200]) == _xxh64(data[1:200])


def test_writing_is_atomic(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = drawn_graph(300, 3000)
    disks = [tmp_path / "a", tmp_path / "b"]
    for disk in disks:
        disk.mkdir()
    graph.save(tmp_path / "x.vg", disks=disks)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    real = os.replace
    calls: list[Any] = []

    for last in (1, 2, 3):
        calls.clear()

        def failing(source: Any, target: Any, last: int = last) -> None:
            calls.append(target)
            if len(calls) == last:
                raise OSError(28, "No space left on device")
            real(source, target)

        monkeypatch.setattr(os, "replace", failing)
        with pytest.raises(DiskError, match="the disk is full; the file was left as it was"):
            drawn_graph(400, 3000).save(tmp_path / "x.vg", disks=disks)
        assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before
    monkeypatch.undo()
    same_graph(Graph.read(tmp_path / "x.vg"), graph)
    with pytest.raises(DiskError, match="there is no folder"):
        graph.save(tmp_path / "y.vg", disks=[tmp_path / "a", tmp_path / "none"])
    assert not list(tmp_path.glob("*y.vg*"))
    assert not [path for path in tmp_path.glob("a/*") if "y.vg" in path.name]


@pytest.mark.parametrize("refused", ["not", "when opened", "when tried"])
def test_pages_are_written_past_the_page_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, refused: str
) -> None:
    """If the file system refuses direct writes, at open or at the first write, the file has the same bytes.

    If a write stores only a part of the data, the rest is written by further writes.
    """
    graph = Graph.read("rmat:12,64", weights="1..9")
    save(graph, tmp_path / "whole.vg", page_bytes=1 << 18)
    real_open, real_write, direct = os.open, os.pwrite, []

    def opened(file: Any, flags: int, *more: Any) -> int:
        if flags & os.O_DIRECT and refused == "when opened":
            raise OSError(errno.EINVAL, "Invalid argument")
        return real_open(file, flags, *more)

    def written(file: int, data: Any, offset: int) -> int:
        direct.append(bool(fcntl.fcntl(file, fcntl.F_GETFL) & os.O_DIRECT))
        if direct[-1] and refused == "when tried":
            raise OSError(errno.EINVAL, "Invalid argument")
        return real_write(file, data[:8192], offset)

    monkeypatch.setattr(os, "open", opened)
    monkeypatch.setattr(os, "pwrite", written)
    save(graph, tmp_path / "parts.vg", page_bytes=1 << 18)
    assert (tmp_path / "parts.vg").read_bytes() == (tmp_path / "whole.vg").read_bytes()
    assert len(direct) > 100
    assert all(direct) == (refused == "not")
    assert sum(direct) == (1 if refused == "when tried" else len(direct) * (refused == "not"))


def test_options(tmp_path: Path) -> None:
    graph = drawn_graph(100, 900)
    graph.save(tmp_path / "x.vg")
    for options in ({"symmetrize": True}, {"self_loops": "drop"}, {"parallel": "drop"}, {"weights": "1..9"}):
        graph.save(tmp_path / "x.npz")
        found, expected = (Graph.read(tmp_path / name, **options) for name in ("x.vg", "x.npz"))
        same_graph(found, expected)
    several = GRAPHS["several columns"]()
    several.save(tmp_path / "s.vg")
    assert Graph.read(tmp_path / "s.vg", weights="b").columns["weight"] == np.float64
    with pytest.raises(GraphError, match="the column 'e' to take as weight is not there; its columns are a, b, c, d"):
        Graph.read(tmp_path / "s.vg", weights="e")
    with pytest.raises(GraphError, match="layout='rank': give 'ids' or 'degree'"):
        graph.save(tmp_path / "x.vg", layout="rank")
    with pytest.raises(GraphError, match="`layout` and `disks` are for page files"):
        graph.save(tmp_path / "x.npz", layout="degree")
    with pytest.raises(GraphError, match="pages of 100 bytes are too small"):
        save(graph, tmp_path / "x.vg", page_bytes=100)


def test_bounds_of_two_parts() -> None:
    assert bounds((1, 5), (-2, 3)) == (-2, 5)
    assert bounds((0.5, 1.5), (0.25, 9.0)) == (0.25, 9.0)
    assert all(map(math.isnan, bounds((0.0, 1.0), (math.nan, 2.0))))
