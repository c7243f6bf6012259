"""Graphs that are written to a file of each format and read again have the same vertices, edges, columns and direction.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.sample import EXHAUSTIVE
from vlang import Graph
from vlang.errors import GraphError
from vlang.runtime.graph.formats.saving import SUFFIXES

pytest.importorskip("networkx")
pytest.importorskip("pyarrow")

EXAMPLES = 100 if EXHAUSTIVE else 8
EVERY = (*SUFFIXES, ".npz", ".vg")
THROUGH_NETWORKX = {".graphml", ".gexf", ".gml", ".net"}
KEEPS_DIRECTION = {".txt", ".mtx", ".graph", ".sg", ".wsg", ".gr", *THROUGH_NETWORKX, ".npz", ".vg"}
KEEPS_VERTICES = {".e", *KEEPS_DIRECTION} - {".txt"}
KEEPS_IDS = {".txt", ".e", ".csv", ".tsv", ".jsonl", ".ndjson", ".parquet", ".arrow", ".feather", *THROUGH_NETWORKX,
             ".npz", ".vg"}
ONE_WEIGHT = {".e", ".mtx", ".graph", ".wsg", ".gr", ".net"}

TEXTS = st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Cs", "Cn", "Zl", "Zp")), min_size=1, max_size=6)
IDS = {
    "numbers": st.integers(-(2**62), 2**62), "small numbers": st.integers(0, 9),
    "texts": st.one_of(TEXTS, st.sampled_from(["#a", "a b", '"', "a,b", "%", "//x", "1", "-", "NA", "'", "(1", " x "])),
}  # fmt: skip
WEIGHTS = {
    "none": None, "small": st.integers(0, 5), "wide": st.integers(0, 2**31 - 1),
    "floats": st.floats(allow_nan=False, allow_infinity=False), "names": st.sampled_from(["road", "a, b", "é", "x<y"]),
}  # fmt: skip


@st.composite
def graphs(draw: st.DrawFn) -> Graph:
    """Draw small graphs with isolated vertices, self-loops, parallel edges and at most one column."""
    kind = draw(st.sampled_from(sorted(IDS)))
    ids: list[Any] = draw(st.lists(IDS[kind], min_size=1, max_size=8, unique=True))
    if kind == "texts":
        ids = sorted({*ids, "z"})
    count = draw(st.integers(1, 12))
    ends = [draw(st.lists(st.integers(0, len(ids) - 1), min_size=count, max_size=count)) for _ in range(2)]
    weight = WEIGHTS[draw(st.sampled_from(sorted(WEIGHTS)))]
    columns: dict[str, Any] = {}
    if weight is not None:
        columns["weight"] = np.array(draw(st.lists(weight, min_size=count, max_size=count)))
    return Graph.from_edges(*ends, ids=np.array(ids, dtype=object), directed=draw(st.booleans()), **columns)


def edges_of(graph: Graph, ids: bool) -> Counter[tuple[Any, ...]]:
    """Return every edge with its values, by the ids or the ranks of its ends. Undirected edges have sorted ends."""
    found = graph.edges()
    label = [str(one) for one in graph.ids.tolist()] if ids else list(map(str, range(graph.n)))
    frame = [graph.kinds[name].names if name in graph.kinds else None for name in found.columns]  # type: ignore[union-attr]
    rows = zip(found.src.tolist(), found.dst.tolist(), *(values.tolist() for values in found.columns.values()))
    return Counter(
        ((label[u], label[v]) if graph.directed else tuple(sorted((label[u], label[v]))),
         *(names[value] if names else value for names, value in zip(frame, values)))
        for u, v, *values in rows
    )  # fmt: skip


def refused(graph: Graph, suffix: str) -> bool:
    """Return whether a format cannot hold the graph."""
    values = graph.edges().columns.get("weight")
    if suffix in ONE_WEIGHT and "weight" in graph.kinds:
        return True
    if suffix == ".e":
        return graph.ids.text
    if suffix == ".graph":
        return graph.directed or any(graph.excess()) or (values is not None and values.dtype.kind == "f")
    if suffix == ".gr":
        return graph.directed if values is None else values.dtype.kind == "f"
    if suffix == ".wsg":
        whole = values is not None and bool((np.abs(values.astype(np.float64)) < 2**31).all()
                                            and (values == np.trunc(values)).all())  # fmt: skip
        return not whole
    return False


@given(graphs())
@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@pytest.mark.parametrize("suffix", EVERY)
def test_every_format_reads_what_it_wrote(suffix: str, tmp_path: Path, graph: Graph) -> None:
    path = tmp_path / f"graph{suffix}"
    if refused(graph, suffix):
        with pytest.raises(GraphError):
            graph.save(path)
        return
    path.with_suffix(".v").unlink(missing_ok=True)  # of the example before
    notes = graph.save(path)
    again = Graph.read(path, directed=None if suffix in KEEPS_DIRECTION else graph.directed,
                       columns={"weight": "category"} if "weight" in graph.kinds else None,
                       vertices=path.with_suffix(".v") if suffix == ".e" else None)
    assert again.directed == graph.directed
    if suffix in KEEPS_VERTICES:
        assert again.n == graph.n
    else:
        assert (again.n == graph.n) != any("vertices without edges" in note for note in notes)
    lost = suffix not in KEEPS_IDS and again.ids.tolist() != graph.ids.tolist()
    assert any("ids" in note for note in notes) == (lost or (graph.ids.text and not again.ids.text))
    if suffix == ".sg" and graph.columns:
        assert notes[0] == "Not written: weight."
        graph = Graph.from_edges(graph.edges().src, graph.edges().dst, n=graph.n, directed=graph.directed)
    if suffix in KEEPS_IDS:
        assert edges_of(again, True) == edges_of(graph, True)
    else:
        assert edges_of(again, False) == edges_of(graph, False)


@pytest.mark.parametrize("suffix", [".parquet", ".arrow", ".csv"])
def test_a_table_without_edges_keeps_its_types(suffix: str, tmp_path: Path) -> None:
    graph = Graph.from_edges(["a"], ["b"], kind=["road"], weight=[1]).subgraph(["a"])
    graph.save(tmp_path / f"g{suffix}")
    again = Graph.read(tmp_path / f"g{suffix}", vertices=["a"], columns={"weight": "number", "kind": "category"})
    assert (again.ids.tolist(), again.m, sorted(again.columns)) == (["a"], 0, ["kind", "weight"])


def test_a_suffix_of_no_format_is_refused(tmp_path: Path) -> None:
    with pytest.raises(GraphError, match=r"graphs are saved as \.vg, \.npz, "):
        Graph.from_edges([0], [1]).save(tmp_path / "graph.xyz")
    assert not any(tmp_path.iterdir())


def test_a_list_of_vertices_replaces_no_file(tmp_path: Path) -> None:
    (tmp_path / "g.v").write_text("id,age\n0,30\n")
    with pytest.raises(GraphError, match=r"the list of vertices would replace .*g\.v; remove that file"):
        Graph.from_edges([0], [1]).save(tmp_path / "g.e")
    assert [one.name for one in tmp_path.iterdir()] == ["g.v"]
    assert (tmp_path / "g.v").read_text() == "id,age\n0,30\n"


@pytest.mark.parametrize("weight", [1.5, 2.0**31])
def test_weights_that_are_no_integers_of_32_bits_are_refused(weight: float, tmp_path: Path) -> None:
    with pytest.raises(GraphError, match=r"a \.wsg has weights that are integers of 32 bits"):
        Graph.from_edges([0, 1], [1, 2], weight=[1.0, weight]).save(tmp_path / "g.wsg")
