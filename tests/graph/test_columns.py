"""Edge columns in the type that the program declares: values are exact, or the column is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from vlang.errors import GraphError
from vlang.runtime.graph.graph import Graph
from vlang.runtime.graph.topology.adjacency import Adjacency


def column(values: Any) -> Adjacency:
    at = np.arange(len(values))
    return Graph.from_edges(at, at, n=len(values), weight=np.asarray(values)).adjacency("in")


@pytest.mark.parametrize(
    ("values", "stored"),
    [
        ([1, 63], "u1"), ([0, 256], "u2"), ([-1, 5], "i1"), ([2**32], "u8"), ([2**32 - 1], "u4"), ([-(2**40)], "i8"),
        ([True, False], "u1"), ([0.5, 1.0], "f8"), (np.array([1.5], "f4"), "f4"), (np.array([1.5], "g"), "f8"),
        ([], "f8"),
    ],
)  # fmt: skip
def test_stored_narrow(values: Any, stored: str) -> None:
    assert column(values).column("weight").dtype == np.dtype(stored)


@pytest.mark.parametrize(
    ("values", "dtype"),
    [
        ([1.0, 255.0], "u1"), ([-128.0, 127.0], "i1"), ([0, 1], "?"), ([2**24], "f4"), ([-(2**53)], "f8"),
        ([2048], "f2"),
        ([0.1, np.inf], "f4"), ([np.nan, 1.0], "f4"), ([3, 4], "i8"), ([2**64 - 1], "u8"), ([1e300, -1e300], "f8"),
    ],
)  # fmt: skip
def test_fits(values: Any, dtype: str) -> None:
    found = column(values).column("weight", dtype)
    assert found.dtype == np.dtype(dtype)
    np.testing.assert_array_equal(found, np.asarray(values).astype(dtype))


@pytest.mark.parametrize(
    ("values", "dtype", "message"),
    [
        ([1, 256], "u1", "holds 256, and the program reads it as uint8: its range is 0 to 255"),
        ([-1, 5], "u4", "holds -1, and the program reads it as uint32: its range is 0 to 4294967295"),
        ([0, 2], "?", "holds 2, and the program reads it as bool: that takes 0 and 1 only"),
        ([1.0, 2.5], "i4", "holds 2.5, and the program reads it as int32: that takes integers only"),
        ([1.0, np.nan], "i4", "holds nan, and the program reads it as int32: that takes integers only"),
        ([1.0, np.inf], "u8", "holds inf, and the program reads it as uint64: that takes integers only"),
        ([2.0**63], "i8", "holds 9223372036854775808, and the program reads it as int64: its range is"),
        ([3 * 10**9], "i4", "holds 3000000000, and the program reads it as int32: its range is -2147483648 to "
                            "2147483647; --precision 64 (precision=64) or the type i64 holds it"),
        ([2**24 + 1], "f4", "holds 16777217, and the program reads it as float32: float32 holds integers exactly up to "
                            "16777216 only; --precision 64 (precision=64) or the type f64 holds it"),
        ([2**53 + 1], "f4", "holds 9007199254740993, and the program reads it as float32: float32 holds integers "
                            "exactly up to 16777216 only; declare the field as i64"),
        ([-(2**53) - 1], "f8", "holds -9007199254740993, and the program reads it as float64"),
        ([1e39], "f4", "holds 1e+39, and the program reads it as float32: float32 ends at 3.40282e+38"),
        ([np.nan, -1e39], "f4", "holds 1e+39, and the program reads it as float32"),
    ],
)
def test_does_not_fit(values: Any, dtype: str, message: str) -> None:
    with pytest.raises(GraphError) as caught:
        column(values).column("weight", dtype)
    assert str(caught.value).startswith(f"edge column 'weight' {message}")


def test_cast_once() -> None:
    built = column([1, 2, 3])
    assert built.column("weight", "f4") is built.column("weight", np.float32)
    assert built.column("weight") is built.column("weight", "u1")


def test_range() -> None:
    graph = Graph.from_edges([0, 0], [1, 1], a=[-4, 9], b=[0.5, 2.0])
    assert graph.column_range("a") == (-4, 9)
    assert graph.column_range("b") == (0.5, 2.0)
    assert dict(graph.columns) == {"a": np.dtype("i1"), "b": np.dtype("f8")}
