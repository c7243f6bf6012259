"""`Graph.from_edges` on tables with any types of ids and columns, from every library that shares its columns as Arrow.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import nullcontext
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vlang.errors import GraphError
from vlang.runtime.graph.arrow.library import pyarrow
from vlang.runtime.graph.graph import Graph

SALES = {"day": np.array(["2001-01-01", "2001-01-02", "2001-01-03"], "M8[s]"), "buyer": ["ann", "bob", "ann"],
         "seller": ["bob", "cy", "cy"], "amount": [5.0, 7.5, 1.0], "count": [1, 2, 3]}
TABLE = pa.table(SALES)

INTEGERS = (pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64())
TEXTS = (pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int8(), pa.string()),
         pa.dictionary(pa.uint32(), pa.large_string()))
VALUES = (*INTEGERS, pa.float16(), pa.float32(), pa.float64(), pa.bool_(), pa.dictionary(pa.int16(), pa.int64()))
WORDS = st.text(st.characters(exclude_characters="\n", exclude_categories=["Cs"]), max_size=6)


def listed(graph: Graph) -> list[tuple[Any, ...]]:
    """Return the edges by the user's ids, with their columns, sorted."""
    edges = graph.edges()
    ids = graph.ids.values
    columns = [edges.columns[name].tolist() for name in sorted(edges.columns)]
    return sorted(zip(ids[edges.src].tolist(), ids[edges.dst].tolist(), *columns))


def values_of(type_: Any) -> st.SearchStrategy[Any]:
    """Return random values of a type. Python represents each of these values exactly."""
    if pa.types.is_dictionary(type_):
        type_ = type_.value_type
    if pa.types.is_boolean(type_):
        return st.booleans()
    if pa.types.is_floating(type_):
        return st.floats(allow_nan=False, width=type_.bit_width)
    if pa.types.is_integer(type_):
        info = np.iinfo(type_.to_pandas_dtype())
        return st.integers(int(info.min), int(info.max))
    return WORDS


@st.composite
def tables(draw: st.DrawFn) -> tuple[Any, bool]:
    """Return a table of edges in chunks with a column `x`, and whether the column has nulls."""
    of_ends = draw(st.sampled_from([INTEGERS, TEXTS]))
    count = draw(st.integers(1, 12))
    signed = draw(st.booleans())
    arrays = {}
    for name in ("source", "target"):
        type_ = draw(st.sampled_from(of_ends))
        ids = values_of(type_)
        if of_ends is INTEGERS:  # no integer type holds both negative ids and ids of 2^63 or more
            info = np.iinfo(type_.to_pandas_dtype())
            low, high = int(info.min), int(info.max)
            ids = st.integers(low, min(high, 2**63 - 1)) if signed else st.integers(0, high)
        arrays[name] = _array(draw(st.lists(ids, min_size=count, max_size=count)), type_)
    type_ = draw(st.sampled_from(VALUES))
    some = draw(st.booleans())
    cells = st.one_of(st.none(), values_of(type_)) if some else values_of(type_)
    x = draw(st.lists(cells, min_size=count, max_size=count))
    if pa.types.is_float16(type_):
        x = [None if v is None else np.float16(v) for v in x]
    arrays["x"] = _array(x, type_)
    table = pa.table(arrays)
    cut = draw(st.integers(0, count))
    return pa.concat_tables([table.slice(0, cut), table.slice(cut)]), None in x


def _array(values: list[Any], type_: Any) -> Any:
    if not pa.types.is_dictionary(type_):
        return pa.array(values, type_)
    array = pa.array(values, type_.value_type)
    return pa.DictionaryArray.from_arrays(array.dictionary_encode().indices.cast(type_.index_type),
                                          array.dictionary_encode().dictionary)


@given(tables(), st.sampled_from(["error", "drop", 1]))
def test_a_table_is_the_graph_of_its_columns(given_table: tuple[Any, bool], missing: str | int) -> None:
    table, some = given_table
    rows = [tuple(row.values()) for row in table.to_pylist()]
    if some and missing == "error":
        with pytest.raises(GraphError, match="column 'x' has no value in row"):
            Graph.from_edges(table, columns=["x"], missing=missing)
        free = Graph.from_edges(table, missing=missing)
        assert "x" in free.left_out
        assert listed(free) == sorted(row[:2] for row in rows)
        return
    if missing == "drop":
        rows = [row for row in rows if row[2] is not None]
    graph = Graph.from_edges(table, columns=["x"], missing=missing)
    assert listed(graph) == sorted((a, b, missing if x is None else x) for a, b, x in rows)
    lost, filled = table.num_rows - len(rows), sum(row[2] is None for row in rows)
    said = " ".join(graph.notes)
    assert (f"{lost} row" in said) == bool(lost)
    assert (f"{filled} cell" in said) == bool(filled)


def relation() -> Any:
    duckdb = pytest.importorskip("duckdb", reason="DuckDB is not installed: its relations are not tried")
    sales = TABLE  # noqa: F841 - named in the query
    return duckdb.sql("select * from sales")


@pytest.mark.parametrize("made", [
    lambda: pd.DataFrame(SALES), lambda: pl.DataFrame(TABLE), lambda: TABLE, lambda: TABLE.to_batches()[0],
    lambda: TABLE.to_reader(), relation, lambda: pd.DataFrame(SALES).astype({"buyer": "category"}),
    lambda: pl.DataFrame(TABLE).with_columns(pl.col("seller").cast(pl.Categorical)),
], ids=["pandas", "polars", "pyarrow", "batch", "reader", "duckdb", "pandas category", "polars category"])  # fmt: skip
def test_every_library(made: Any) -> None:
    graph = Graph.from_edges(made(), source="buyer", target="seller", weight="amount")
    assert listed(graph) == [("ann", "bob", 5.0), ("ann", "cy", 1.0), ("bob", "cy", 7.5)]
    assert list(graph.columns) == ["weight"]
    assert set(graph.left_out) == {"day", "count"}
    assert any(note.startswith("Not needed, so not read: columns ") for note in graph.notes)


def test_a_column_alone_is_an_array() -> None:
    """A missing value does not become NaN, and times with a zone are in UTC, as in frames."""
    for one in (pd.Series, pl.Series, pa.array):
        assert Graph.from_edges(one([1, 2]), one([2, 3])).m == 2
        assert Graph.from_edges([1], [2], vertices=one([1, 2, 3])).n == 3
    for lacking in (pd.array([1, None], "Int64"), pd.Series([1, None], dtype="Float64"), pl.Series([1, None]),
                    pa.array([1, None])):
        with pytest.raises(GraphError, match=r"has missing values \(1\): leave these out"):
            Graph.from_edges([1, 2], [2, 3], weight=lacking)
    day = pd.date_range("2024-01-01", periods=2, tz="Europe/Berlin")
    for zoned in (day, pd.Series(day), pl.Series(day)):
        graph = Graph.from_edges([1, 2], [2, 3], day=zoned)
        framed = Graph.from_edges(pd.DataFrame({"source": [1, 2], "target": [2, 3], "day": day}))
        assert listed(graph) == listed(framed)
        assert graph.kinds == framed.kinds


def test_all_columns_of_numbers_without_a_choice() -> None:
    graph = Graph.from_edges(pd.DataFrame(SALES), source="buyer", target="seller", directed=False, symmetrize=False)
    assert {name: graph.columns[name] for name in ("amount", "count")} == {"amount": np.float64, "count": np.uint8}
    assert set(graph.columns) - {"amount", "count"} == set(graph.kinds) == {"day"}
    assert not graph.directed
    assert graph.m == 6


def test_vertices_in_a_table() -> None:
    people = pl.DataFrame({"age": [3, 1, 4, 1], "user": ["dee", "cy", "bob", "ann"]})
    graph = Graph.from_edges(TABLE, source="buyer", target="seller", vertices=people, id="user")
    assert list(graph.ids) == ["ann", "bob", "cy", "dee"]
    read = Graph.from_edges([1], [2], vertices=pd.DataFrame({"id": [2, 1, 5]}))
    assert list(read.ids) == [1, 2, 5]


def test_a_million_texts_in_dictionaries_and_in_full() -> None:
    rng = np.random.default_rng(5)
    names = np.array([f"v{i}" for i in range(700)], dtype=object)
    table = pa.table({"source": names[rng.integers(0, 700, 600_000)], "target": names[rng.integers(0, 700, 600_000)]})
    coded = pa.table({name: table[name].dictionary_encode() for name in ("source", "target")})
    first, second = (Graph.from_edges(one).edges() for one in (table, coded))
    assert list(first.ids) == sorted(names)
    assert np.array_equal(first.src, second.src)
    assert np.array_equal(first.dst, second.dst)


WRONG: dict[str, tuple[Any, dict[str, Any], str]] = {
    "no ends": (TABLE, {}, "which two columns hold the ends of an edge? Write from_edges(table, source=..., "),
    "no column": (TABLE, {"source": "buyer", "target": "shop"}, "target='shop': the table has no such column"),
    "same ends": (TABLE, {"source": "buyer", "target": "buyer"}, "which two columns hold the ends"),
    "dates as ids": (TABLE, {"source": "day", "target": "seller"}, "column 'day' holds timestamp[s], which are no"),
    "floats as ids": (pd.DataFrame({"source": [1.0, np.nan], "target": [1, 2]}), {}, "cast it to int64 (in pandas"),
    "two kinds": (pa.table({"source": [1], "target": ["a"]}), {}, "ids of two kinds: 'source' int64 and 'target'"),
    "no such column": (TABLE, {"source": "buyer", "target": "seller", "columns": ["amont"]},
                       "columns: the table has no column 'amont'; its columns are"),
    "no weight": (TABLE, {"source": "buyer", "target": "seller", "weight": "cost"}, "weight='cost': this column"),
    "end as weight": (TABLE, {"source": "buyer", "target": "seller", "weight": "buyer"}, "holds an end of the edges"),
    "both": (TABLE, {"source": "buyer", "target": "seller", "count": "amount"}, "has a column 'count', too"),
    "twice": (TABLE, {"source": "buyer", "target": "seller", "a": "amount", "b": "amount"}, "one column is taken"),
    "array": (TABLE, {"source": "buyer", "target": "seller", "weight": [1, 2, 3]}, "beside a table, write the name"),
    "no id": (pa.table({"source": [1, None], "target": [1, 2]}), {}, "column 'source' has no value in row 2"),
    "line end": (pa.table({"source": ["a\nb"], "target": ["c"]}), {}, "the id 'a\\nb' has a line end inside"),
    "signs": (pa.table({"source": [-1, 2], "target": pa.array([1, 2**63], pa.uint64())}), {}, "no integer type holds"),
    "two names": (pa.table([[1], [2], [3]], ["source", "target", "source"]), {}, "two columns are called 'source'"),
    "one column": (pa.table({"source": [1]}), {}, "which two columns hold the ends"),
    "fill": (pa.table({"source": [1], "target": [2], "x": pa.array([None], pa.int8())}), {"missing": 200},
             "missing=200 does not fit column 'x' (int8)"),
    "n": (TABLE, {"n": 5}, "`n` is for arrays; beside a table of edges write vertices=n"),
    "id alone": (TABLE, {"source": "buyer", "target": "seller", "id": "x"}, "id='x' names the column of ids"),
    "repeated vertex": (pa.table({"source": [1], "target": [1]}), {"vertices": pa.table({"id": [1, 1]})},
                        "the vertex 1 is given twice"),
    "lazy": (pl.LazyFrame({"source": [1], "target": [2]}), {}, "collect it first: frame.collect()"),
    "no table": ([1, 2], {}, "give two arrays of vertex ids, from_edges(src, dst), or one table"),
    "pairs": ([(1, 2), (2, 3)], {}, "list is no table; for pairs, write from_edges(*zip(*pairs))"),
    "rows of pairs": (np.ones((3, 2), int), {}, "write from_edges(pairs[:, 0], pairs[:, 1])"),
    "dict": ({"source": [1], "target": [2]}, {}, "write pandas.DataFrame(...) or pyarrow.table(...) around it"),
    "set of vertices": (pa.table({"source": [1], "target": [2]}), {"vertices": {1, 2}}, "vertices is a set, whose"),
    "one series": (pd.Series([1, 2]), {}, "Series is one column"),
    "mixed objects": (pd.DataFrame({"source": [1, "a"], "target": [1, 2]}), {}, "as Arrow: Could not convert 'a' with"),
    "lazy vertices": (pa.table({"source": [1], "target": [2]}), {"vertices": pl.LazyFrame({"id": [1, 2]})},
                      "the table `vertices` is a LazyFrame, which is not computed yet; collect it first"),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_mistakes(name: str) -> None:
    table, options, message = WRONG[name]
    with pytest.raises(GraphError) as caught:
        Graph.from_edges(table, **options)
    assert message in str(caught.value)


class _Failing:
    """A table whose library raises its own errors: when the stream is opened, or at a batch. Counts open streams."""

    open = 0

    def __init__(self, late: bool) -> None:
        self.columns, self._late = ["source", "target"], late

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        if not self._late:
            raise LookupError("no such table\nat line 1")
        schema = pa.schema([("source", pa.int64()), ("target", pa.int64())])
        return pa.RecordBatchReader.from_batches(schema, self._batches()).__arrow_c_stream__()

    def _batches(self) -> Iterator[Any]:
        _Failing.open += 1
        try:
            yield from pa.table({"source": [1], "target": [2]}).to_batches()
            raise LookupError("out of rows")
        finally:
            _Failing.open -= 1


def test_streams_that_fail_or_end() -> None:
    """Errors of other libraries are errors of the graph, and a stream is closed even while the error is kept. A reader
    that was read before is not an empty graph.
    """
    with pytest.raises(GraphError, match=r"cannot be read as Arrow: no such table$"):
        Graph.from_edges(_Failing(late=False))
    with pytest.raises(GraphError, match=r"cannot be read: .*out of rows"):
        Graph.from_edges(_Failing(late=True))
    with pytest.raises(GraphError, match="the table has no such column") as kept:
        Graph.from_edges(_Failing(late=True), source="x")
    assert _Failing.open == 0, kept
    reader, vertices = TABLE.to_reader(), pa.table({"id": ["ann", "bob", "cy"]}).to_reader()
    for expected in ("", "the reader has no rows, perhaps because they were read before"):
        with pytest.raises(GraphError, match=expected) if expected else nullcontext():
            assert Graph.from_edges(reader, source="buyer", target="seller").m == 3
        with pytest.raises(GraphError, match=expected) if expected else nullcontext():
            assert Graph.from_edges(TABLE, source="buyer", target="seller", vertices=vertices).n == 3


@pytest.mark.parametrize(("column", "hint"), [
    (pa.array([None], pa.null()), "holds nothing"), (pa.array([[1]]), "integers, floats"),
    (pa.array([1], pa.decimal128(5)), "cast it"), (pa.array([1], pa.duration("s")), "int64"),
    (pa.ExtensionArray.from_storage(pa.uuid(), pa.array([b"0" * 16], pa.binary(16))), "extension types are not read"),
])  # fmt: skip
def test_types_that_are_no_numbers(column: Any, hint: str) -> None:
    table = pa.table({"source": [1], "target": [2], "x": column})
    assert "x" in Graph.from_edges(table).left_out
    with pytest.raises(GraphError) as caught:
        Graph.from_edges(table, columns=["x"])
    assert "column 'x' holds" in str(caught.value)
    assert hint in str(caught.value)


def test_the_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pa, "__version__", "14.0.0")
    with pytest.raises(GraphError, match=r"needs pyarrow 14\.0\.1 or newer"):
        pyarrow("a table")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(GraphError, match=r"pip install 'vlang\[arrow\]'"):
        Graph.from_edges(TABLE, source="buyer", target="seller")
