"""The message of a refused run names a memory budget, and the same run succeeds with this budget."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.sample import sampled
from vlang import Graph, load
from vlang.errors import BindError, OutOfMemory
from vlang.options import Options, parse_size
from vlang.runtime.cpu.placement import place
from vlang.runtime.graph.paged.in_memory import save
from vlang.runtime.storage.ledger import budget

SIMPLE = {"self_loops": "drop", "parallel": "drop"}

# With the reason why each run once needed more than the message said.
CASES: tuple[tuple[str, str, dict[str, Any], dict[str, Any]], ...] = (
    ("pagerank", "kron:14", {}, {}),  # a page is read while the adjacency is filled
    ("cdlp", "rmat:15", {}, {}),  # in-edges and out-edges are merged; structures for whole rows
    ("bfs", "rmat:17", {}, {"source": 1}),  # degrees of both directions
    ("kcore", "kron:16", SIMPLE, {}),  # `require simple` counts parallel edges
    ("cdlp", "rmat:18,1", {}, {}),  # more memory is needed to stream few edges; the order of rows moves to a file
    ("hyperanf", "kron:16", SIMPLE, {}),  # 64 values of a vertex are permuted to the order of the ids
    ("pagerank_delta", "rmat:17", {}, {"max_rounds": 3}),  # a result keeps the sent values
    ("sssp", "rmat:18", {"weights": "1..9"}, {"source": 1}),  # in this budget the order of rows is kept in memory
)


@pytest.mark.parametrize(("name", "spec", "reading", "options"), sampled(CASES, CASES[:5]))
def test_the_named_memory_suffices(
    name: str, spec: str, reading: dict[str, Any], options: dict[str, Any], tmp_path: Path
) -> None:
    path, program = tmp_path / "g.vg", load(name)
    Graph.read(spec, **reading).save(path)
    with pytest.raises(OutOfMemory) as refused:
        program(Graph.open(path), memory="64K", **options)
    named = re.search(r'give memory="(\d+M)" \(--memory \1\)', str(refused.value))
    assert named is not None
    print(name, spec, named[1])
    result = program(Graph.open(path), memory=named[1], **options)
    assert result.rounds >= 1
    with budget(parse_size(named[1])):  # like the command, which opens the graph within the budget
        program(Graph.open(path), memory=named[1], **options)
    if parse_size(named[1]) > 1 << 22:
        with pytest.raises(OutOfMemory):  # half of it does not
            program(Graph.open(path), memory=parse_size(named[1]) // 2, **options)


LISTED: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("degree", "rmat:12", {}),  # a column in the order of out-edges, and of both directions, is transposed
    ("bfs", "uniform:14,4", {"source": 1}),  # tables with the supersteps of one call
    ("betweenness", "rmat:14", {"sources": [1, 2, 3]}),  # the levels of the last sweep, during the next search
    ("pagerank", "rmat:14,8", {"tol": 0, "max_rounds": 99, "precision": 64}),  # the copy of the state in superstep 64
    ("pagerank_delta", "rmat:14,8", {"tol": 1e-9}),  # cache blocks before out-edges and the room of pushed sums
    ("boruvka", "rmat:14", {}),  # the lists of pointers are built again after columns were converted
)


@pytest.mark.parametrize(("name", "spec", "options"), sampled(LISTED, LISTED[:5]))
def test_edges_fit_into_the_least_memory_for_them(
    name: str, spec: str, options: dict[str, Any], tmp_path: Path
) -> None:
    """A run succeeds in the smallest budget in which it reads its edges into memory, and in larger budgets."""
    path, program = tmp_path / "g.vg", load(name)
    reading: dict[str, Any] = {"directed": False, **SIMPLE} if name == "boruvka" else {}
    Graph.read(spec, weights="1..9", **reading).save(path)
    graph = Graph.open(path)
    plan = program.plan(frozenset(graph.columns) & {edge.name for edge in program.edges},
                        precision=options.get("precision"))
    needed = place(plan, graph, Options(memory=1 << 40, threads=2)).needed
    for more in (0, needed // 8, needed // 4, needed // 2, needed):
        found = program(Graph.open(path), memory=needed + more, threads=2, **options)
        assert found.placement.startswith("edges in memory")


@pytest.mark.parametrize(("name", "why", "reading"), [
    ("jaccard", r"`common` .* cannot be streamed", SIMPLE),
    ("louvain", r"`c\.total` may be of any vertex .* in the order of their pages", {"directed": False, **SIMPLE}),
    ("walks", "a random number for an edge depends on .* no such counts", {}),
])
def test_the_memory_named_for_edges_in_memory_suffices(
    name: str, why: str, reading: dict[str, Any], tmp_path: Path
) -> None:
    """The run succeeds with the memory that the message names. The message is the same for budgets in which the edges
    could be streamed and for smaller budgets.
    """
    path, program = tmp_path / "g.vg", load(name)
    Graph.read("kron:13", **reading).save(path)
    named = set()
    for memory in ("64K", "1M", "2M"):
        with pytest.raises(BindError, match=rf"line \d+: {why}.* with memory=") as refused:
            program(Graph.open(path), memory=memory)
        named |= set(re.findall(r'memory="(\d+M)"', str(refused.value)))
    for memory in named:
        program(Graph.open(path), memory=memory)


@pytest.mark.parametrize("ending", sampled(["csv", "json", "npz", "parquet", "arrow"], ["csv", "npz", "parquet"]))
def test_results_of_the_least_memory_are_written(ending: str, tmp_path: Path) -> None:
    """Files are written in parts: the ids of all vertices would take more memory than the run."""
    path, program = tmp_path / "g.vg", load("pagerank")
    save(Graph.read("uniform:20,1"), path, page_bytes=1 << 19)
    with pytest.raises(OutOfMemory) as refused:
        program(Graph.open(path), memory="64K", max_rounds=2)
    named = re.search(r'give memory="(\d+M)"', str(refused.value))
    assert named is not None
    with budget(parse_size(named[1])):
        result = program(Graph.open(path), memory=named[1], max_rounds=2)
        result.save(tmp_path / f"r.{ending}")
    assert "move with the pages" in result.placement
    if ending == "npz":
        stored = np.load(tmp_path / "r.npz")
        assert (stored["vertex"].dtype, stored["rank"].dtype) == (np.int64, np.float32)
        assert np.array_equal(stored["vertex"], np.arange(1 << 20))
        assert np.array_equal(stored["rank"], result["rank"])
    if ending == "parquet":
        pq = pytest.importorskip("pyarrow.parquet")
        found = pq.read_table(tmp_path / "r.parquet")
        assert found.equals(result.to_arrow(), check_metadata=True)
