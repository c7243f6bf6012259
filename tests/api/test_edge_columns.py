"""Edge fields and columns of graphs: errors, and columns that are ignored because a field has a default."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

import vlang

ROUTES = "source,target,amount,name\n1,2,5,a\n2,3,7,b\n"
SPENT = """program spent

edge cost: float = 2
edge weight: float = 1 + 1
vertex x: float = 0
gather total = sum(cost * weight for u -> self)
apply x = total
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def graph(text: str, weights: str | None = None, missing: str = "error") -> vlang.Graph:
    Path("g.csv").write_text(text)
    return vlang.Graph.read("g.csv", weights=weights, missing=missing)


def test_a_column_that_is_no_number_is_refused_where_it_is_read(here: Path) -> None:
    for cell, what in (("NA", "column 3 (cost) has no number, only 'NA'"),
                       ("x", "'x' in column 3 (cost) is not a number")):  # fmt: skip
        given = graph(f"source,target,cost\n1,2,4\n2,3,{cell}\n")
        assert vlang.load("bfs")(given, source=1)["depth"].tolist() == [0, 1, 2]
        with pytest.raises(vlang.GraphError) as caught:
            vlang.compile(SPENT)(given)
        lines = str(caught.value).splitlines()
        assert lines[:3] == ["spent reads the edge field `cost`, and that column could not be read",
                             f"g.csv, line 3: {what}", f"  found:    2,3,{cell}"]  # fmt: skip
    assert vlang.compile(SPENT)(graph("source,target,cost\n1,2,4\n2,3,NA\n", missing="1"))["x"].tolist() == [0, 8, 2]


def test_labels_that_would_be_weights_are_refused(here: Path) -> None:
    given = graph("1,2,friend\n2,3,foe\n")
    with pytest.raises(vlang.GraphError, match="sssp reads the edge field `weight`"):
        vlang.load("sssp")(given, source=1)
    networkx = pytest.importorskip("networkx")
    given = vlang.Graph.from_networkx(networkx.Graph([(1, 2, {"weight": "x"})]))
    with pytest.raises(vlang.BindError, match="as f32, and that column holds names of categories"):
        vlang.load("sssp")(given, source=1)


def test_a_default_that_hides_a_column_is_a_warning(here: Path) -> None:
    sssp = vlang.load("sssp")
    found = sssp(graph(ROUTES), source=1)
    assert found["dist"].tolist() == [0, 1, 2]
    text = 'edge field `weight`: default 1; the graph has `amount`: read it with weights="amount", or name it `weight`'
    assert found.warnings == (text,)
    assert found.summary_dict()["warnings"] == [text]
    assert pickle.loads(pickle.dumps(found)).warnings == (text,)
    found = sssp(graph(ROUTES, weights="amount"), source=1)
    assert (found["dist"].tolist(), found.warnings) == ([0, 5, 12], ())
    assert found.summary_dict()["warnings"] == []


def test_columns_that_could_not_be_read_are_hidden_too(here: Path) -> None:
    found = vlang.load("sssp")(graph('source,target,amount\n1,2,"1,5"\n2,3,"2,5"\n'), source=1)
    assert len(found.warnings) == 1
    found = vlang.load("sssp")(graph("source,target,name\n1,2,a\n2,3,b\n"), source=1)
    assert found.warnings == ()


def test_every_edge_field_with_a_default_is_named(here: Path) -> None:
    spent = vlang.compile(SPENT)
    assert spent(vlang.Graph.from_edges([1], [2], a=[3], b=[4])).warnings == (
        "edge field `cost`: default 2; the graph has `a`, `b`: name the column `cost` to have it read",
        'edge field `weight`: default 1 + 1; the graph has `a`, `b`: read one of them with weights="a", or name it '
        "`weight`",
    )
    assert spent(vlang.Graph.from_edges([1], [2], cost=[3])).warnings == ()
    assert spent(vlang.Graph.from_edges([1], [2])).warnings == ()
    assert vlang.load("bfs")(vlang.Graph.from_edges([1], [2], a=[3]), source=1).warnings == ()


def test_nan_on_edges_makes_a_warning() -> None:
    graph = vlang.Graph.from_edges([1, 2], [2, 3], weight=[1.0, float("nan")])
    warnings = vlang.compile(SPENT)(graph).warnings
    assert "edge field `weight` is NaN on some edges; results that depend on these are NaN or skip them" in warnings
    assert vlang.load("bfs")(graph, source=1).warnings == ()


@pytest.mark.parametrize(("type_", "cell", "name"), [("int", 2147483647, "inf"), ("int", -2147483648, "-inf"),
                                                     ("i8", 127, "inf"), ("i64", 2147483647, ""), ("u8", 127, "")])
def test_a_number_that_is_an_infinity_in_its_type_is_noted(here: Path, type_: str, cell: int, name: str) -> None:
    program = vlang.compile(f"program p\nedge w: {type_}\nvertex x: i64 = 0\n")
    result = program(graph(f"source,target,w\n1,2,{cell}\n2,3,5\n"))
    inner = {"int": "i32"}.get(type_, type_)
    assert result.warnings == ((f"edge field `w` holds {cell} on some edges, which is `{name}` in {inner}; declare a "
                                "wider type if it is a number",) if name else ())
