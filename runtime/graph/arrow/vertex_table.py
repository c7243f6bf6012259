"""A table of vertices: a column of ids, and columns of values."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vlang.errors import GraphError
from vlang.records import dataclass
from vlang.runtime.graph.arrow.cells import NUMBERS, advice, id_advice, kind_of, numbers_of, stored_dtype
from vlang.runtime.graph.arrow.library import pyarrow
from vlang.runtime.graph.arrow.named import NamedColumn, named_type
from vlang.runtime.graph.arrow.tables import ArrowTable
from vlang.runtime.graph.edges.ends import VERTEX_NAMES, vertex_column
from vlang.runtime.graph.edges.kinds import named_values

__all__ = ["VertexTable"]

Array = NDArray[Any]


@dataclass(frozen=True)
class VertexTable:
    """A table of vertices in memory.

    Attributes:
        name: name of the table, for messages.
        ids: the id of each row: int64, uint64, or object (str).
        data: the requested columns, as a pyarrow table.
        names: the names of all columns but the column of ids.
    """

    name: str
    ids: Array
    data: Any
    names: tuple[str, ...]

    @staticmethod
    def of(table: ArrowTable, column: object = None, wanted: Collection[str] | None = None) -> VertexTable:
        """Read a table of vertices into memory.

        Args:
            table: the table.
            column: name of the column of ids; None looks for a well-known name.
            wanted: the other columns to read, if they exist; None for all.

        Raises:
            GraphError: the column of ids does not exist, does not hold ids, or has a missing id.
        """
        pa = pyarrow(table.name)
        name = _id_column(table, column)
        type_ = table.schema.field(name).type
        if kind_of(type_) not in ("integer", "text"):
            raise GraphError(f"{table.name}: column {name!r} holds {type_}, which are no vertex ids\n"
                             f"  expected: {id_advice(type_)}")  # fmt: skip
        names = tuple(one for one in table.schema.names if one != name)
        read = [name, *(one for one in names if wanted is None or one in wanted)]
        schema = pa.schema([table.schema.field(one) for one in read])
        data = pa.Table.from_batches(list(table.batches(read)), schema)
        return VertexTable(table.name, _ids(table.name, name, data.column(0)), data.drop_columns([name]), names)


    def values(self, name: str) -> Array:
        """A column of values, shape [rows]: numbers, datetime64, or dtype object with str and None.

        Raises GraphError if the column has another type, or if a number is missing.
        """
        column = self.data.column(name)
        if kind_of(column.type) == "text":
            texts = np.empty(len(column), dtype=object)
            texts[:] = column.to_pylist()
            return texts
        named = named_type(column.type, True, "")
        if named:
            if column.null_count:
                at = int(np.flatnonzero(column.is_null().to_numpy())[0])
                raise GraphError(f"{self.name}: column {name!r} has no value for vertex {self.ids[at]!r}")
            read = NamedColumn(named, f"{self.name}: column {name!r}")
            values = np.concatenate([read.numbers(part)[0] for part in column.chunks] or [np.empty(0, read.dtype)])
            return named_values(values, read.finish(values))
        if kind_of(column.type) not in NUMBERS:
            raise GraphError(f"{self.name}: column {name!r} holds {column.type}, and a field holds numbers or "
                             f"vertices\n  expected: {advice(column.type)}")  # fmt: skip
        parts = [numbers_of(part) for part in column.chunks]
        if any(lost is not None for _, lost in parts):
            lost = np.concatenate([np.zeros(len(v), np.bool_) if lost is None else lost for v, lost in parts])
            at = int(np.flatnonzero(lost)[0])
            more = int(lost.sum()) - 1
            raise GraphError(f"{self.name}: column {name!r} has no value for vertex {self.ids[at]!r}"
                             f"{f', and for {more:,} more' if more else ''}; put numbers there")
        return np.concatenate([found for found, _ in parts]) if parts else np.empty(0, stored_dtype(column.type))


def _id_column(table: ArrowTable, column: object) -> str:
    names = table.schema.names
    if column is None:
        found = vertex_column(names)
        if found is None and len(names) != 1:
            raise GraphError(f"{table.name}: which column holds the ids? Write id=..., or call it "
                             f"{', '.join(VERTEX_NAMES)}; the columns are {', '.join(names) or 'none'}")
        return str(names[found or 0])
    if not isinstance(column, str) or column not in names:
        raise GraphError(f"{table.name}: there is no column {column!r} of ids; the columns are {', '.join(names)}")
    return column


def _ids(table: str, name: str, column: Any) -> Array:
    """Convert a column of ids to an array: int64, uint64, or object (str). Raises GraphError if an id is missing."""
    if column.null_count:
        at = int(np.flatnonzero(column.is_null().to_numpy())[0])
        raise GraphError(f"{table}: column {name!r} has no id in row {at + 1:,}; leave such rows out")
    if kind_of(column.type) == "text":
        pa = pyarrow(table)
        texts = np.empty(len(column), dtype=object)
        texts[:] = column.cast(pa.large_string()).to_pylist()
        return texts
    parts = [numbers_of(part)[0] for part in column.chunks]
    values: Array = np.concatenate(parts) if parts else np.empty(0, np.int64)
    return values.astype(np.uint64 if values.dtype == np.uint64 else np.int64)
