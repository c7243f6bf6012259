"""Vertex fields as a pandas Series or DataFrame or as a dict: values are aligned by vertex id, never by position."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pandas as pd
import pytest

from vlang import BindError, Graph, Result, compile

PROGRAM = compile("""program labelled
vertex heat: float
vertex spot: float[2] = 0.0
vertex near: vertex = self
""")
GRAPH = Graph.from_edges([10, 20, 30], [20, 30, 10])
NAMED = Graph.from_edges(["ann", "bob", "cy"], ["bob", "cy", "ann"])
COUNTED = Graph.from_edges([0, 1, 2], [1, 2, 0])


def heat(values: Any, graph: Graph = GRAPH) -> list[float]:
    found: list[float] = PROGRAM(graph, heat=values)["heat"].tolist()
    return found


def refused(values: Any, graph: Graph = GRAPH) -> str:
    with pytest.raises(BindError) as error:
        PROGRAM(graph, heat=values)
    return str(error.value)


@pytest.mark.parametrize("values", [
    pd.Series([3.0, 1.0, 2.0], index=[30, 10, 20]),
    pd.Series([1.0, 2.0, 3.0], index=[10, 20, 30]),
    pd.Series([3, 1, 2], index=np.array([30, 10, 20], np.uint8)),
    pd.Series([3, 1, 2], index=pd.Index([30, 10, 20], dtype="Int64")),
    pd.Series([3.0, 2.0, 1.0], index=pd.RangeIndex(30, 0, -10)),
    pd.Series([3, 1, 2], index=pd.CategoricalIndex([30, 10, 20])),
    pd.Series([3, 1, 2], index=["30", "10", "20"]),
    pd.DataFrame({"heat": [3.0, 1.0, 2.0]}, index=[30, 10, 20]),
    {30: 3.0, 10: 1.0, 20: 2.0},
    {np.int64(30): 3, 10: np.float32(1), 20: 2},
])  # fmt: skip
def test_values_are_aligned_by_id(values: Any) -> None:
    assert heat(values) == [1.0, 2.0, 3.0]


@pytest.mark.parametrize("values", [
    pd.Series([3.0, 1.0, 2.0], index=["cy", "ann", "bob"]),
    pd.Series([3.0, 1.0, 2.0], index=pd.Index(["cy", "ann", "bob"], dtype=object)),
    {"cy": 3.0, "ann": 1.0, "bob": 2.0},
])  # fmt: skip
def test_ids_that_are_strings(values: Any) -> None:
    assert heat(values, NAMED) == [1.0, 2.0, 3.0]


def test_ids_beyond_63_bits_and_below_zero() -> None:
    large = Graph.from_edges(np.array([2**63 + 5, 1], np.uint64), np.array([1, 2**64 - 1], np.uint64))
    assert heat({2**64 - 1: 3.0, 1: 1.0, 2**63 + 5: 2.0}, large) == [1.0, 2.0, 3.0]
    assert "-1" in refused({2**64 - 1: 3.0, -1: 1.0, 2**63 + 5: 2.0}, large)
    signed = Graph.from_edges([-7, 4], [4, 9])
    assert heat(pd.Series([3.0, 2.0, 1.0], index=[9, 4, -7]), signed) == [1.0, 2.0, 3.0]


def test_values_without_labels_stand_in_the_order_of_the_ids() -> None:
    for values in ([1, 2, 3], (1, 2, 3), np.array([1, 2, 3]), pd.Series([1, 2, 3]).to_numpy(), pd.Index([1, 2, 3])):
        assert heat(values) == [1.0, 2.0, 3.0]


def test_a_default_index_is_no_guess_where_the_ids_are_the_same() -> None:
    assert heat(pd.Series([1.0, 2.0, 3.0]), COUNTED) == [1.0, 2.0, 3.0]
    assert heat(pd.DataFrame({"x": [1.0, 2.0, 3.0]}), COUNTED) == [1.0, 2.0, 3.0]
    assert "no value for 1 vertex of the graph: 2" in refused(pd.Series([1.0, 2.0]), COUNTED)


@pytest.mark.parametrize("graph", [GRAPH, NAMED, Graph.from_edges([0, 1, 5], [1, 5, 0])])
def test_a_default_index_is_refused_elsewhere(graph: Graph) -> None:
    for values in (pd.Series([1.0, 2.0, 3.0]), pd.DataFrame({"heat": [1.0, 2.0, 3.0]}), pd.Series([1.0])):
        message = refused(values, graph)
        assert "`heat`" in message
        assert "default index" in message
        assert ".to_numpy()" in message
        assert "graph.ids" in message


def test_missing_ids_are_named() -> None:
    assert refused({10: 1.0}) == "`heat` has no value for 2 vertices of the graph: 20, 30"
    assert "'bob'" in refused({"ann": 1.0, "cy": 2.0}, NAMED)
    karate = Graph.read("karate")
    assert refused({1: 0.0}, karate).endswith("no value for 33 vertices of the graph: 2, 3, 4, 5, 6, ...")


def test_ids_that_are_no_vertices_are_named() -> None:
    message = refused({10: 1.0, 20: 2.0, 30: 3.0, 40: 4.0})
    assert message == "`heat` has 1 value for an id that is not in the graph: 40"
    for key in ("x", 1.5, None, True, (10, 20)):
        assert repr(key) in refused({10: 1.0, 20: 2.0, 30: 3.0, key: 4.0})
    both = refused(pd.Series([1.0, 2.0, 3.0], index=[10, 20, 31]))
    assert "not in the graph: 31" in both
    assert "no value for 1 vertex of the graph: 30" in both
    levels = pd.Series([1.0, 2.0, 3.0], index=pd.MultiIndex.from_tuples([(10, 1), (20, 1), (30, 1)]))
    assert "(10, 1)" in refused(levels)
    assert "nan" in refused(pd.Series([1.0, 2.0, 3.0], index=[10, 20, None]))
    dates = pd.Series([1.0, 2.0, 3.0], index=pd.to_datetime(["2020-01-01", "2020-01-02", "2020-01-03"]))
    assert "2020" in refused(dates)


def test_ids_given_twice_are_refused() -> None:
    message = refused(pd.Series([1.0, 2.0, 3.0, 4.0], index=[10, 20, 30, 20]))
    assert message == "`heat` has more than one value for 1 vertex of the graph: 20"
    assert "more than one value" in refused({10: 1.0, 20: 2.0, 30: 3.0, "10": 4.0})


def test_vectors_take_a_column_for_each_component() -> None:
    rows = {30: [3.0, 6.0], 10: [1.0, 4.0], 20: [2.0, 5.0]}
    frame = pd.DataFrame.from_dict(rows, orient="index")
    for values in (rows, frame):
        assert PROGRAM(GRAPH, heat=[1, 2, 3], spot=values)["spot"].tolist() == [[1.0, 4.0], [2.0, 5.0], [3.0, 6.0]]
    for wrong in (frame[[0]], pd.Series([1.0, 2.0, 3.0], index=[30, 10, 20]), {10: 1.0, 20: [2.0, 1.0], 30: 0.0}):
        with pytest.raises(BindError, match="`spot` is an array of 3 x 2 values"):
            PROGRAM(GRAPH, heat=[1, 2, 3], spot=wrong)
    with pytest.raises(BindError, match="`heat` is an array of 3 values"):
        PROGRAM(GRAPH, heat=frame)


def test_fields_of_vertices() -> None:
    result: Result = PROGRAM(GRAPH, heat=[1, 2, 3], near=pd.Series([10, 30, 20], index=[30, 20, 10]))
    assert result["near"].tolist() == [20, 30, 10]
    assert PROGRAM(GRAPH, heat=[1, 2, 3], near={30: 10, 20: None, 10: 20})["near"].tolist() == [20, -1, 10]


def test_arrays_with_named_coordinates_are_refused() -> None:
    class Labelled:  # has the members of an xarray.DataArray
        def __init__(self) -> None:
            self.indexes = {"vertex": [30, 10, 20]}

        def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
            return np.array([3.0, 1.0, 2.0])

    assert "to_series()" in refused(Labelled())


def test_a_field_is_copied() -> None:
    given = np.array([1.0, 2.0, 3.0], np.float32)
    result = PROGRAM(GRAPH, heat=given)
    given[:] = 100
    assert result["heat"].tolist() == [1.0, 2.0, 3.0]
    result["heat"][:] = 7
    assert given.tolist() == [100.0, 100.0, 100.0]


def test_pandas_is_not_imported() -> None:
    code = ("import sys, vlang\n"
            "p = vlang.compile('program p\\nvertex x: float\\n')\n"
            "p(vlang.Graph.from_edges([1], [2]), x={2: 1.0, 1: 0.5})\n"
            "print('pandas' in sys.modules)")  # fmt: skip
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
