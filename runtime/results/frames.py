"""Converts the columns of a result to tables of other libraries."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vlang.errors import VlangError
from vlang.runtime.graph.arrow.library import pyarrow
from vlang.runtime.results.listing import Column

__all__ = ["PART", "arrow_table", "pandas_frame", "polars_frame"]

PART = 1 << 16
"""The rows of a part of a file, that is of a row group (Parquet) or a record batch (Arrow)."""


def arrow_table(summary: Mapping[str, Any], columns: Iterable[Column], texts: Collection[str] = ()) -> Any:
    """Build a pyarrow.Table.

    Args:
        summary: entries of its metadata.
        columns: all columns, ids first.
        texts: the names of columns that have texts, also if these rows have none.
    """
    pa = pyarrow("a table of a result")
    arrays = {column.name: _arrow(pa, column, column.name in texts) for column in columns}
    kept = {name: value for name, value in summary.items() if name != "history"}
    schema = pa.schema([pa.field(name, array.type) for name, array in arrays.items()],
                       metadata={"vlang": json.dumps(kept)})
    return pa.Table.from_arrays(list(arrays.values()), schema=schema)


def _arrow(pa: Any, column: Column, texts: bool) -> Any:
    """Convert a column, which has texts if `texts` is true, to a pyarrow array."""
    values, missing = column.values, _nulls(column)
    if values.dtype == object:
        texts = texts or any(isinstance(value, str) for value in values[:1000].tolist()) or not len(values)
        texts = texts or any(isinstance(value, str) for value in values.tolist())
        return pa.array(values.reshape(-1), pa.large_string() if texts else pa.uint64(),
                        mask=None if missing is None else missing.reshape(-1))
    flat, lost = np.ascontiguousarray(values).reshape(-1), None if missing is None else missing.reshape(-1)
    array = _numbers(pa, flat, lost) if flat.dtype.kind in "iuf" else pa.array(flat, mask=lost)
    return array if values.ndim == 1 else pa.FixedSizeListArray.from_arrays(array, values.shape[1])


def _numbers(pa: Any, values: NDArray[Any], missing: NDArray[np.bool_] | None) -> Any:
    """Convert numbers. `pyarrow.array` would do the same, and import pandas, which takes 30 MB and 0.3 s."""
    known = None if missing is None else pa.py_buffer(np.packbits(~missing, bitorder="little"))
    return pa.Array.from_buffers(pa.from_numpy_dtype(values.dtype), len(values), [known, pa.py_buffer(values)])


def _nulls(column: Column) -> NDArray[np.bool_] | None:
    """A mask of the values that become null; None if no value becomes null. Infinite floats stay values."""
    if column.missing is None or column.values.dtype.kind == "f" or not column.missing.any():
        return None
    return column.missing


def polars_frame(table: Any) -> Any:
    """Convert a pyarrow.Table to a polars.DataFrame."""
    try:
        import polars  # optional
    except ImportError:
        raise VlangError("to_polars needs polars: pip install polars") from None
    return polars.from_arrow(table)


def pandas_frame(columns: Iterable[Column]) -> Any:
    """Build a pandas.DataFrame.

    Args:
        columns: all columns, ids first.
    """
    try:
        import pandas  # optional
    except ImportError:
        raise VlangError("to_pandas needs pandas: pip install pandas") from None
    data: dict[str, Any] = {}
    for whole in columns:
        for number, column in enumerate(whole.components()):
            name = whole.name if whole.values.ndim == 1 else f"{whole.name}.{number}"
            missing = _nulls(column)
            values = np.array(column.values)  # copied, since users may change a frame, but not a result
            if missing is not None and values.dtype.kind in "iu":
                data[name] = pandas.arrays.IntegerArray(values, np.array(missing))
            else:
                data[name] = values
    return pandas.DataFrame(data)
