"""Runs over an edge list without adjacency lists (kernel "edge-list", policy wolfgraph) on an emulated GPU."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.cpu.compare import assert_as_interpreted
from tests.cuda.emulation.emulated import needs_compiler
from tests.cuda.runs import emulated, expected, given, least_memory, program, run
from tests.reference.cases import MORE, STDLIB
from tests.sample import EXHAUSTIVE
from vlang import BindError, Graph, OutOfMemory
from vlang.runtime.gpu.ways import listed_passes

pytestmark = needs_compiler

REFUSED = {
    "cdlp": "all contributions", "coloring": "all contributions", "kcore": "all contributions",
    "smooth": "all contributions", "lcc": "intersects", "triangles": "intersects", "matching": "no atomic operation",
    "hyperanf": "more than 8 components", "boruvka": "has no such rows", "louvain": "", "weighted_cdlp": "",
}
CHEAP = ("hits", "betweenness", "scc", "kcore_peel", "mis")  # test_engine.py runs STDLIB with this policy


def _check(name: str, graph: str, seed: int, **options: Any) -> Any:
    result = run(name, graph, seed, ahead=False, policy="wolfgraph", **options)
    case = given(name, graph)
    assert case is not None
    assert_as_interpreted(program(name), case, result, expected(name, graph), same_rounds=False)
    return result


@pytest.mark.parametrize("name", (*STDLIB, *MORE) if EXHAUSTIVE else (*CHEAP, *REFUSED))
def test_every_program_is_run_or_refused(name: str) -> None:
    """Every program gives the right result or is refused, also on graphs with self-loops and parallel edges, and if
    both ends of an edge receive contributions.
    """
    if name in REFUSED:
        with pytest.raises(BindError, match=f"policy='wolfgraph' cannot run {name}: .*{REFUSED[name]}"):
            run(name, "messy", ahead=False, policy="wolfgraph")
        return
    for seed, graph in enumerate(("messy", "grid") if EXHAUSTIVE else ("messy",)):
        if given(name, graph) is not None:
            _check(name, graph, seed)


@pytest.mark.parametrize(("name", "stable"), [("sssp", True), ("pagerank", False), ("bfs", False)])
def test_parts_are_streamed(name: str, stable: bool) -> None:
    """A loop that runs in place repeats each part of the list until the part is stable, and therefore needs fewer
    supersteps.
    """
    whole = _check(name, "wide", 1)
    assert sum(row.pages_copied + row.pages_cached for row in whole.history) == 0
    least = least_memory(name, "wide", page_size=1024, policy="wolfgraph", ahead=False)
    for seed, more in enumerate((0, 4096)):
        options: dict[str, Any] = {"page_size": 1024, "gpu_memory": least + more, "streams": 1 + 2 * seed}
        result = _check(name, "wide", seed, **options)
        assert all(row.pages_copied > 2 for row in result.history)
        assert (result.rounds < whole.rounds) == stable
    with pytest.raises(OutOfMemory, match="two parts of the list of"):
        run(name, "wide", ahead=False, policy="wolfgraph", page_size=1024, gpu_memory=least - 512)


@pytest.mark.parametrize("places", [0, 16])
def test_small_tables(monkeypatch: pytest.MonkeyPatch, places: int) -> None:
    """Contributions to receivers without an entry in the local table are combined in global memory."""
    monkeypatch.setattr(listed_passes, "table_places", lambda cell: places)
    for name in ("sssp_tree", "pagerank"):
        _check(name, "dense", places)


def test_the_edges_are_not_sorted(tmp_path: Path) -> None:
    """The GPU gets the edges in the order of the file. A list that is made from adjacency lists gives the same results
    as a list in the order of the file.
    """
    rng = np.random.default_rng(20261124)
    src, dst = rng.integers(0, 90, (2, 700))
    pairs = {"row": src, "col": dst, "data": np.ones(700, np.int8), "shape": (90, 90), "format": "coo"}
    np.savez(tmp_path / "pairs.npz", **pairs)  # as scipy.sparse.save_npz does
    (tmp_path / "pairs.txt").write_text("".join(f"{u + 5} {v + 5}\n" for u, v in zip(src, dst, strict=True)))
    for file, directed in itertools.product(("pairs.npz", "pairs.txt"), (True, False)):
        graph, built = (Graph.read(tmp_path / file, directed=directed, weights="1..9") for _ in range(2))
        built.adjacency("out")
        for name, arguments in (("sssp", {"source": int(graph.ids[3])}), ("pagerank", {"max_rounds": 6})):
            with emulated() as opened:
                found, other = (program(name)(one, device="emulated", research={"kernel": "edge-list"}, **arguments)
                                for one in (graph, built))
            assert len(opened) == 2
            assert graph.shape().built == frozenset()
            for field in found.fields:
                np.testing.assert_allclose(np.asarray(found[field]), np.asarray(other[field]), rtol=1e-5)


@pytest.mark.parametrize(("options", "message"), [
    ({"deterministic": True}, "kernel='edge-list' cannot run pagerank: pass .* joins sums of floats"),
    ({"mode": "push"}, "kernel='edge-list' reads all edges in every superstep"),
    ({"name": "bfs", "asynchronous": True}, r"no loop of bfs may run in place: line \d+: on a GPU it stops"),
    ({"device": "emulated:0,1"}, "kernel='edge-list' runs on one GPU"),
])
def test_what_excludes_a_list(options: dict[str, Any], message: str) -> None:
    device, name = options.pop("device", "emulated"), options.pop("name", "pagerank")
    source = {"source": 1} if name == "bfs" else {}
    with emulated(), pytest.raises(BindError, match=message):
        program(name)(Graph.read("karate"), **source, device=device, deterministic=options.pop("deterministic", False),
                            research={"kernel": "edge-list", **options})
