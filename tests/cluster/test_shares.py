"""Ranks read shares of files and generators. Every rank has the same rows as one process, bit for bit."""

from __future__ import annotations

import gzip
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.cluster.test_ranks import assert_same, program
from vlang import Graph, Result
from vlang.runtime.cluster.local_graph import local_graph, rows_of, work_of
from vlang.runtime.cluster.ranges import cut_ranges
from vlang.runtime.cluster.shared_edges import Listed, SharedEdges, shared_rows
from vlang.runtime.cluster.shares.shared_graph import shared_graph
from vlang.runtime.cluster.transports.thread_ranks import run_ranks
from vlang.runtime.cluster.transports.transport import Transport
from vlang.runtime.convert.source import Reading
from vlang.runtime.graph.edges.columns import describe
from vlang.runtime.graph.edges.edge_list import EdgeList, VertexIds

PARTS = 3


def text_of(path: Path, kind: str) -> str:
    """Write a text of 3,000 edges with parallel edges and self-loops; return its path."""
    rng = np.random.default_rng(len(kind))
    ends = rng.integers(0, 400, (3000, 2)) ** 2 - 50
    weights = rng.integers(-3, 9, 3000).astype(str)
    if kind == "floats at the end":
        weights[2900] = "0.1"
    if kind == "undirected":
        ends = np.concatenate([ends, ends[:, ::-1]])
        weights = np.concatenate([weights, weights])
    name = "v{}" if kind == "names" else "{}"
    lines = [f"{name.format(a)}\t{name.format(b)}\t{w}" for (a, b), w in zip(ends.tolist(), weights.tolist())]
    head = {"header": ["source\ttarget\tweight"], "undirected": ["# Undirected graph"]}.get(kind, ["# a comment"])
    if kind in ("files", "compressed files"):
        path.mkdir()
        for number in range(5):
            text = "\n".join([*head, *lines[600 * number : 600 * number + 600]]).encode()
            packed = kind != "files" and number != 3
            (path / f"part-{number}.txt").write_bytes(gzip.compress(text) if packed else text)
    else:
        path.write_text("\n".join([*head, *lines]) + "\n")
    return str(path)


def assert_rows(spec: str, **options: Any) -> None:
    """Assert that ranks which read shares have the rows of one process."""
    given = {"directed": None, "symmetrize": False, "weights": None, "columns": ["weight"], **options}
    want = Graph.read(spec, **given)
    kinds = ("in", "out", "both") if want.directed else ("in",)

    def work(transport: Transport) -> None:
        graph = shared_graph(transport, spec, replace(Reading(), **given), 1)
        assert isinstance(graph, Graph), graph
        assert (graph.n, graph.m, graph.directed, graph.name) == (want.n, want.m, want.directed, want.name)
        assert np.array_equal(graph.ids.values, want.ids.values)
        assert graph.ids.consecutive == want.ids.consecutive
        assert graph.columns == want.columns
        assert graph.notes == want.notes
        for kind in kinds:
            assert np.array_equal(graph.row_lengths(kind), want.row_lengths(kind))
            ranges, names = cut_ranges(work_of(want, [kind]), transport.size), tuple(want.columns)
            found = shared_rows(graph.stored, kind, names, ranges, transport, 1)  # type: ignore[arg-type]
            rows = rows_of(want, kind, names, *ranges.of(transport.rank))
            assert np.array_equal(found.offsets, rows.offsets)
            assert np.array_equal(found.targets, rows.targets)
            for name in names:
                assert np.array_equal(found.columns[name], rows.columns[name]), name

    run_ranks(PARTS, work)


@pytest.mark.parametrize("spec", ["kron:9", "rmat:8,5,weights=1..63", "uniform:8,seed=3", "grid:20x30,directed=true",
                                  "path:50", "star:9", "complete:12"])
def test_generators(spec: str) -> None:
    assert_rows(spec)


@pytest.mark.parametrize("kind", ["plain", "header", "floats at the end", "undirected", "names", "files",
                                  "compressed files"])
def test_texts(tmp_path: Path, kind: str) -> None:
    spec = text_of(tmp_path / "graph.txt", kind)
    assert_rows(spec)
    if kind == "plain":
        assert_rows(spec, symmetrize=True)
        assert_rows(spec, directed=False, weights="1..9", columns=[])


def test_tables(tmp_path: Path) -> None:
    pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    rng = np.random.default_rng(2)
    table = pa.table({"source": rng.integers(-5, 90, 2000), "target": rng.integers(0, 90, 2000),
                      "weight": rng.integers(0, 9, 2000).astype(np.float32)})
    (tmp_path / "edges").mkdir()
    parquet.write_table(table.slice(0, 900), tmp_path / "edges" / "a.parquet", row_group_size=200)
    parquet.write_table(table.slice(900), tmp_path / "edges" / "b.parquet", row_group_size=500)
    assert_rows(str(tmp_path / "edges"))
    with pa.ipc.new_file(str(tmp_path / "edges.arrow"), table.schema) as out:
        out.write_table(table, max_chunksize=300)
    assert_rows(str(tmp_path / "edges.arrow"))


@pytest.mark.parametrize("directed", [True, False])
def test_saved_graphs(tmp_path: Path, directed: bool) -> None:
    """Each rank reads a part of the arrays of an .npz file; parallel edges have different values."""
    rng = np.random.default_rng(3)
    ends, names = rng.integers(0, 90, (2, 3000)), np.array([f"v{i}" for i in range(90)], object)
    graph = Graph.from_edges(*ends, weight=rng.integers(0, 300, 3000), directed=directed)
    path = tmp_path / "graph.npz"
    graph.save(path)
    assert_rows(str(path), columns=None)
    assert_rows(str(path), columns=None, weights="1..9")
    graph.with_rule_weights(1, 5).save(path)
    assert_rows(str(path), columns=None)
    Graph.from_edges(*ends, ids=names, cost=rng.random(3000), directed=directed).save(path)
    assert_rows(str(path), columns=None)
    assert_rows(str(path), columns=None, weights="cost")


def test_damaged_graphs(tmp_path: Path) -> None:
    """No rank reads all bytes of an array, and a changed byte is found from the checksums of all parts."""
    path = tmp_path / "graph.npz"
    graph = Graph.read("kron:9")
    graph.save(path)
    raw = bytearray(path.read_bytes())
    raw[raw.index(graph.built().targets.tobytes()) + 4 * 3000] ^= 1  # another vertex
    path.write_bytes(raw)

    def work(transport: Transport) -> Graph | str:
        return shared_graph(transport, str(path), Reading(), 1)

    assert all(found == "its checksums do not fit" for found in run_ranks(2, work))


@pytest.mark.parametrize(("text", "why"), [
    (1000 * "1 2\n" + "3 x\n", "differ"), (1000 * "1 2\n" + "3 4 5\n", "alone"), ("1 2\n", "alone"),
    ("9 9 5\n1 2 3\n1 3 1\n2 9 1\n3 4 1\n4 5 2\n", "not be what"),
])  # fmt: skip
def test_one_process_reads_what_is_unusual(tmp_path: Path, text: str, why: str) -> None:
    """One process reads a file with unusual content, so that messages name lines of the file."""
    (tmp_path / "graph.txt").write_text(text)

    def work(transport: Transport) -> Graph | str:
        return shared_graph(transport, str(tmp_path / "graph.txt"), Reading(), 1)

    assert all(isinstance(found, str) and why in found for found in run_ranks(2, work))


def _ran(name: str, spec: str, keywords: dict[str, Any], transport: Transport) -> Result:
    graph = shared_graph(transport, spec, Reading(), 1)
    assert isinstance(graph, Graph)
    return program(name)(graph, threads=1, **keywords)


@pytest.mark.parametrize(("name", "keywords"), [
    ("pagerank", {}), ("sssp", {"source": 0}), ("hits", {}), ("components", {}),
])  # fmt: skip
def test_programs(name: str, keywords: dict[str, Any]) -> None:
    """Float sums have the same bits, since the edges of a row have the same order as in one process."""
    spec = "rmat:10,weights=1..9"
    want = program(name)(Graph.read(spec), threads=1, **keywords)
    for found in run_ranks(PARTS, partial(_ran, name, spec, keywords)):
        assert_same(want, found)


@pytest.mark.parametrize(("name", "keywords"), [
    ("pagerank", {}), ("sssp", {"source": 2**33 + 3}), ("hits", {}), ("components", {}), ("bfs", {"source": 2**33}),
])  # fmt: skip
def test_numbers_of_64_bits(name: str, keywords: dict[str, Any]) -> None:
    """Ranks send each other vertex numbers of 64 bits if the graph needs 64 bits. Local vertex numbers have 32 bits."""
    plain, base = Graph.read("rmat:10,weights=1..9").edges(), 2**33
    src, dst = (ends.astype(np.uint64) + np.uint64(base) for ends in (plain.src, plain.dst))
    weight = (plain.src % 9 + 1).astype(np.int8)
    ids, n = VertexIds(base=base, count=1024), 1024
    want = program(name)(Graph(EdgeList(plain.src, plain.dst, ids, {"weight": weight}), name="wide"), **keywords)

    def work(transport: Transport) -> Result:
        cut = slice(*(len(src) * i // transport.size for i in (transport.rank, transport.rank + 1)))
        listed = Listed(src[cut], dst[cut], {"weight": weight[cut]}, mirror=False)
        stored: Any = SharedEdges("wide", n, True, listed, {"weight": describe(weight)}, transport, base)
        graph = Graph.on_pages(stored, VertexIds(base=base, count=n), threads=1)
        plan = program(name).plan(frozenset(["weight"]), renumbered=True)
        mirrors = local_graph(plan, graph, transport).numbers.mirrors
        assert mirrors.dtype == np.uint64
        assert len(mirrors)
        assert mirrors.min() >= base
        return program(name)(graph, threads=1, **keywords)

    for found in run_ranks(PARTS, work):
        assert_same(want, found)
