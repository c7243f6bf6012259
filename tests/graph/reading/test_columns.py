"""The columns that are read as numbers, and the treatment of cells that are not numbers."""

from __future__ import annotations

import gzip
import math
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.graph.reading import read_edges
from vlang.errors import GraphError
from vlang.runtime.graph.edges.building.space import Space
from vlang.runtime.graph.graph import Graph
from vlang.runtime.graph.read.asked import MISSING, parse_missing

HEAD = "source,target,weight\n"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def refused(text: str, **options: Any) -> str:
    """Return the first line of the error message, without the name of the file."""
    Path("g").write_text(text)
    with pytest.raises(GraphError) as caught:
        read_edges("g", threads=2, **options)
    return str(caught.value).splitlines()[0].removeprefix("g, ")


def columns(text: str, **options: Any) -> dict[str, list[float]]:
    """Return the columns that are read, by name."""
    Path("g").write_text(text)
    return {name: values.tolist() for name, values in read_edges("g", threads=2, **options).columns.items()}


WRONG = {
    "NA first": (HEAD + "1,2,NA\n2,3,5\n", "line 2: column 3 (weight) has no number, only 'NA'"),
    "NA later": (HEAD + "1,2,5\n2,3,NA\n", "line 3: column 3 (weight) has no number, only 'NA'"),
    "NA only": (HEAD + "1,2,NA\n", "line 2: column 3 (weight) has no number, only 'NA'"),
    "empty first": (HEAD + "1,2,\n2,3,5\n", "line 2: column 3 (weight) is empty"),
    "empty only": (HEAD + "1,2,\n2,3,\n", "line 2: column 3 (weight) is empty"),
    "empty in quotes": (HEAD + '1,2,""\n2,3,5\n', "line 2: column 3 (weight) is empty"),
    "empty between tabs": ("source\ttarget\tweight\n1\t2\t\n2\t3\t7\n", "line 2: column 3 (weight) is empty"),
    "among others": ("id,to,from,weight\n8,1,2,-\n9,2,3,5\n", "line 2: column 4 (weight) has no number, only '-'"),
    "decimal comma": (HEAD + '1,2,"1,5"\n2,3,5\n', "line 2: '1,5' in column 3 (weight) is not a number"),
    "decimal comma later": (HEAD + '1,2,5\n2,3,"1,5"\n', "line 3: '1,5' in column 3 (weight) is not a number"),
    "behind semicolons": ("source;target;weight\n1;2;1,5\n", "line 2: '1,5' in column 3 (weight) is not a number"),
    "without a header": ("1;2;1,5\n2;3;2,5\n", "line 1: '1,5' in column 3 is not a number"),
    "between blanks": ("1 2 1,5\n2 3 4\n", "line 1: '1,5' in column 3 is not a number"),
    "between tabs": ("1\t2\t1,5\n2\t3\t4\n", "line 1: '1,5' in column 3 is not a number"),
    "thousands": (HEAD + '1,2,"1,234.5"\n', "line 2: '1,234.5' in column 3 (weight) is not a number"),
    "NA without a header": ("1 2 NA\n2 3 4\n", "line 1: column 3 has no number, only 'NA'"),
    "text after numbers": (HEAD + "1,2,5\n" * 300 + "2,3,x\n", "line 302: 'x' in column 3 (weight) is not a number"),
    "text before numbers": (HEAD + "1,2,x\n2,3,5\n", "line 2: 'x' in column 3 (weight) is not a number"),
    "text only": (HEAD + "1,2,x\n", "line 2: 'x' in column 3 (weight) is not a number"),
    "in quotes, with a comma before": (
        HEAD + '"a, b",c,"x"\n', "line 2: 'x' in column 3 (weight) is not a number"
    ),
    "too few cells": (HEAD + "1,2,5\n2,3\n", "line 3: a column is missing"),
    "too many cells": (HEAD + "1,2,5\n2,3,5,6\n", "line 3: there is more on this line than there should be"),
}  # fmt: skip


@pytest.mark.parametrize("packed", [False, True], ids=["plain", "gzip"])
@pytest.mark.parametrize("name", WRONG)
def test_a_weight_that_is_no_number_is_an_error(name: str, packed: bool, here: Path) -> None:
    text, expected = WRONG[name]
    wanted = frozenset(["weight"])
    if packed:
        (here / "g").write_bytes(gzip.compress(text.encode()))
        with pytest.raises(GraphError) as caught:
            read_edges("g", columns=wanted)
        assert str(caught.value).startswith(f"g, {expected}\n  found:    ")
    else:
        assert refused(text, columns=wanted) == expected
        if name != "without a header":  # without a header, the third column may be anything
            assert refused(text) == expected


def test_gzip_members_and_padding_may_end_anywhere(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A gzip file is read correctly, wherever its members and its padding end within the pieces that are read."""
    (here / "g").write_bytes(gzip.compress(b"1 2\n") + b"\0" * 5 + gzip.compress(b"2 3\n") + gzip.compress(b"3 4\n"))
    for piece in range(1, 12):
        monkeypatch.setattr("vlang.runtime.graph.read.source._PIECE", piece)
        assert Graph.read("g").n == 4, piece


def test_messages_say_what_to_write(here: Path) -> None:
    (here / "g").write_text(HEAD + '1,2,"1,5"\n')
    with pytest.raises(GraphError, match=r'found:    1,2,"1,5"\n  expected: a decimal point and no commas, such as'):
        Graph.read("g")
    (here / "g").write_text(HEAD + "1,2,NA\n")
    with pytest.raises(GraphError, match=r'found:    1,2,NA\n  expected: a number; or --missing drop \(missing="drop"'):
        Graph.read("g")


def test_every_row_decides_the_type(here: Path) -> None:
    rows = "source,target,a,b,c\n" + "1,2,1,NA,1\n" * 250
    read = columns(rows + "1,2,0.5,7,1\n", columns=["a"])
    assert read == {"a": [1.0] * 250 + [0.5], "c": [1] * 251}
    assert refused(rows, columns=["b"]) == "line 2: column 4 (b) has no number, only 'NA'"
    assert refused(rows + "1,2,1,1,x\n", columns=["c"]) == "line 252: 'x' in column 5 (c) is not a number"


def test_what_nothing_needs_is_left_out_with_a_reason(here: Path) -> None:
    (here / "g").write_text("source,target,cost,name,late\n1,2,NA,ann,1\n2,3,4,bob,2\n2,3,4,bob,x\n")
    read = read_edges("g")
    assert list(read.columns) == []
    assert {name: (why.reason.splitlines()[0], why.numbers) for name, why in read.left_out.items()} == {
        "name": ("g, line 2: 'ann' in column 4 (name) is not a number", False),
        "cost": ("g, line 2: column 3 (cost) has no number, only 'NA'", True),
        "late": ("g, line 4: 'x' in column 5 (late) is not a number", True),
    }
    assert read.notes[3:] == [
        "No edge columns.",
        "Not numbers, so left out: column 4 (name).",
        "Left out for line 4: 'x' in column 5 (late) is not a number.",
        "Left out for line 2: column 3 (cost) has no number, only 'NA'.",
    ]


def test_labels_in_a_third_column_without_a_name_are_no_weights(here: Path) -> None:
    (here / "g").write_text("1 2 friend\n2 3 foe\n")
    assert list(read_edges("g").left_out) == ["weight"]
    assert refused("1 2 friend\n2 3 5\n") == "line 1: 'friend' in column 3 is not a number"


def test_a_row_with_a_missing_cell_is_no_header(here: Path) -> None:
    for cell in ("NA", "-", '"1,5"', "null"):
        assert refused(f"a,b,{cell}\nc,d,3\n", columns=["weight"]).startswith("line 1: ")


def test_names_of_columns_stay_apart(here: Path) -> None:
    assert columns("source,target,column4,column4\n1,2,3,4\n") == {"column4": [3], "column4_": [4]}
    assert columns("source,target,weight,cost\n1,2,NA,4\n", weights="cost") == {"weight": [4]}


DROPS = HEAD + "1,2,5\n2,3,NA\n3,4,\n9,9,NULL\n4,1,7\n"


def test_rows_are_dropped(here: Path) -> None:
    (here / "g").write_text(DROPS)
    read = read_edges("g", missing="drop")
    assert read.columns["weight"].tolist() == [5, 7]
    assert read.columns["weight"].dtype == np.int32
    assert read.ids.values.tolist() == [1, 2, 4]
    assert "Missing cells: 3 rows of 5 dropped." in read.notes
    (here / "g").write_text(HEAD + "7,2,\n3,4,1\n4,5,1\n")
    read = read_edges("g", missing="drop")
    assert read.ids.consecutive
    assert read.ids.values.tolist() == [3, 4, 5]
    assert refused(HEAD + "1,2,\n", missing="drop") == "g: the file has no edges: every row has a missing cell"


def test_rows_are_dropped_for_columns_that_are_needed_only(here: Path) -> None:
    text = "source,target,weight,cost\n1,2,5,\n2,3,,6\n"
    assert columns(text, missing="drop") == {"weight": [5]}
    assert columns(text, missing="drop", columns=["cost"]) == {"cost": [6]}
    assert columns(text, missing="drop", weights="cost") == {"weight": [6]}
    (here / "g").write_text(text)
    assert "rows are dropped for the columns" in read_edges("g", missing="drop").left_out["cost"].reason


def test_a_number_stands_for_missing_cells(here: Path) -> None:
    (here / "g").write_text(DROPS)
    read = read_edges("g", missing=1)
    assert read.columns["weight"].tolist() == [5, 1, 1, 1, 7]
    assert read.columns["weight"].dtype == np.int32
    assert "Missing cells: 3 cells taken as 1." in read.notes
    assert columns(DROPS, missing="0.5") == {"weight": [5, 0.5, 0.5, 0.5, 7]}
    assert columns(DROPS, missing=math.inf) == {"weight": [5, math.inf, math.inf, math.inf, 7]}
    large = HEAD + "1,2,9007199254740993\n2,3,NA\n"  # not exact as a float
    assert columns(large, missing=2) == {"weight": [9007199254740993, 2]}
    assert columns(large, missing="drop") == {"weight": [9007199254740993]}


def test_every_spelling_of_a_missing_cell(here: Path) -> None:
    names = [spelled for name in sorted(MISSING) for spelled in (name, name.upper())]
    text = HEAD + "".join(f"{i},0,{name}\n{i},0,1.5\n" for i, name in enumerate(names))
    assert columns(text, missing=4) == {"weight": [4.0, 1.5] * len(names)}


def test_missing_cells_of_other_formats(here: Path) -> None:
    matrix = "%%MatrixMarket matrix coordinate real general\n3 3 2\n1 2 nan\n2 3 4\n"
    assert refused(matrix) == "line 3: column 3 has no number, only 'nan'"
    assert columns(matrix, missing="drop") == {"weight": [4.0]}
    assert columns(matrix, missing=2) == {"weight": [2.0, 4.0]}
    assert columns(matrix, columns=[]) == {}
    assert columns("p sp 3 2\na 1 2 NA\na 2 3 4\n", missing=2) == {"weight": [2, 4]}


@pytest.mark.parametrize("value", ["nan", "1,5", "", "rows", True, math.nan, None, [1]])
def test_a_wrong_word_for_missing(value: object) -> None:
    with pytest.raises(GraphError, match="write 'error', 'drop' or a number"):
        parse_missing(value)


def test_numbers_for_missing() -> None:
    values = (3, "3", np.int64(3), 2.5, "2.5", "-inf", 2**63)
    assert [parse_missing(value) for value in values] == [3, 3, 3, 2.5, 2.5, -math.inf, 2.0**63]


# ------------------------------------------------------------------ graphs


def test_graphs_remember_what_was_left_out(here: Path) -> None:
    Path("g").write_text("source,target,cost,weight\n1,2,NA,3\n2,1,4,5\n")
    graph = Graph.read("g")
    graph.save("g.npz")
    reason = graph.left_out["cost"]
    for other in (graph.thinned("drop", "drop"), graph.changed([], [(1, 2)]), Graph(graph.edges()),
                  graph.with_rule_weights(1, 3), Graph.read("g.npz"), Graph.read("g.npz", directed=False)):
        assert other.left_out == {"cost": reason}


def test_a_rule_takes_the_place_of_a_wrong_column(here: Path) -> None:
    Path("g").write_text(HEAD + "1,2,NA\n2,1,4\n")
    graph = Graph.read("g", weights="5..5")
    assert graph.left_out == {}
    assert graph.adjacency("in").column("weight").tolist() == [5, 5]


def test_the_weights_of_a_saved_graph(here: Path) -> None:
    Graph.from_edges([0, 1], [1, 0], weight=[1, 2], cost=[3, 4]).save("g.npz")
    graph = Graph.read("g.npz", weights="cost")
    assert dict(graph.columns) == {"weight": np.dtype(np.uint8)}
    assert graph.adjacency("out").column("weight").tolist() == [3, 4]
    with pytest.raises(GraphError, match="the column 'price' to take as weight is not there; its columns are"):
        Graph.read("g.npz", weights="price")


def test_missing_is_for_files_of_text(here: Path) -> None:
    Graph.read("path:3").save("g.npz")
    for spec in ("karate", "g.npz"):
        with pytest.raises(GraphError, match="is no file of text and has no missing cells"):
            Graph.read(spec, missing="drop")


def test_columns_are_a_list(here: Path) -> None:
    with pytest.raises(GraphError, match=r"columns='cost': write a list of names, such as \['cost'\]"):
        Graph.read("g", columns="cost")


def test_attributes_of_networkx_that_are_left_out() -> None:
    networkx = pytest.importorskip("networkx")
    given = networkx.Graph([(1, 2, {"cost": 3, "weight": "x"}), (2, 3, {"weight": None})])
    left_out = Graph.from_networkx(given).left_out
    assert left_out["cost"].reason == "edge attribute 'cost' is missing on 1 edge"
    assert left_out["weight"].reason == "edge attribute 'weight' is not a number, or a text, on every edge"


# ------------------------------------------------------------------ at random


@pytest.fixture
def tiny_chunks(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Set windows of a few lines, so that every kind of boundary occurs."""
    with monkeypatch.context() as patch:
        patch.setattr(Space, "chunk", 32)
        patch.setattr(Space, "window", 256)
        yield


CELL = st.one_of(
    st.integers(-5, 10**17), st.integers(-5, 5), st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from([*sorted(MISSING), "NA", "None"]),
)  # fmt: skip
ROWS = st.lists(st.tuples(st.integers(-3, 9), st.integers(0, 2**33), CELL, CELL), min_size=1, max_size=40)


@pytest.mark.usefixtures("tiny_chunks")
@given(rows=ROWS, missing=st.sampled_from(["error", "drop", 7, 0.5]), quoted=st.booleans(), threads=st.integers(1, 3))
def test_missing_cells_in_random_tables(
    rows: list[tuple[Any, ...]], missing: str | float, quoted: bool, threads: int
) -> None:
    mark = '"' if quoted else ""
    lines = [f"{u},{v},{mark}{a}{mark},{mark}{b}{mark}" for u, v, a, b in rows]
    lacking = [row for row in rows if isinstance(row[2], str)]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "g"
        path.write_text("\n".join(["source,target,weight,other", *lines]))
        if missing == "error" and lacking:
            with pytest.raises(GraphError, match=rf"line {rows.index(lacking[0]) + 2}: column 3 \(weight\)"):
                read_edges(path, threads=threads, missing=missing)
            return
        kept = [row for row in rows if row not in lacking] if missing == "drop" else rows
        if not kept:
            with pytest.raises(GraphError, match="every row has a missing cell"):
                read_edges(path, threads=threads, missing=missing)
            return
        read = read_edges(path, threads=threads, missing=missing)
    ids = read.ids.values.tolist()
    assert ids == sorted({end for row in kept for end in row[:2]})
    assert [(ids[u], ids[v]) for u, v in zip(read.src.tolist(), read.dst.tolist())] == [row[:2] for row in kept]
    weights = [missing if isinstance(row[2], str) else row[2] for row in kept]
    whole = all(isinstance(w, int) for w in weights)
    assert read.columns["weight"].dtype.kind == ("i" if whole else "f")
    assert read.columns["weight"].tolist() == (weights if whole else [float(w) for w in weights])
    assert ("other" in read.columns) == (not isinstance(missing, str) or all(not isinstance(r[3], str) for r in rows))
