"""Estimates the shape of a graph in Parquet files from their metadata."""

from __future__ import annotations

from collections.abc import Collection

from vlang.runtime.graph.arrow import cells
from vlang.runtime.graph.arrow.files import FileTable
from vlang.runtime.graph.edges.ends import Ends
from vlang.runtime.graph.edges.given import named_types
from vlang.runtime.graph.edges.shape import Shape
from vlang.runtime.graph.read.asked import Asked
from vlang.runtime.graph.read.end_columns import choose_ends
from vlang.runtime.graph.read.text_columns import choose_weight
from vlang.runtime.graph.table_edges import fields_of, named_fields

__all__ = ["estimate_table"]

_TEXT_ID = 72  # approximate bytes of an id that is a string


def estimate_table(
    table: FileTable, directed: bool | None, weights: str | None, ends: Ends, columns: Collection[str] | None
) -> Shape | None:
    """The shape of a table of edges: exact counts of edges and columns, and an upper bound of the vertices.

    Returns None for Arrow files, whose metadata have no number of rows.

    Args:
        table: the files.
        directed, weights, columns: see `Graph.read`.
        ends: the columns that hold the ids at the two ends of an edge.

    Raises:
        GraphError: for the same tables as the reader.
    """
    if table.rows is None:
        return None
    names = list(table.schema.names)
    found = choose_ends(table.name, names, None, len(names), ends)
    asked = Asked(directed, weights, None if columns is None else frozenset(columns), ends=ends,
                  types=named_types(columns))
    fields = choose_weight(table.name, fields_of(table, found.source, found.target), asked)
    fields = named_fields(table, fields, asked)
    types = {column.name: column.type for column in table.schema}
    kept = {field.name: cells.stored_dtype(types[field.title]) for field in fields
            if field.numeric and (columns is None or field.needed)}
    text = cells.kind_of(types[names[found.source]]) == "text"
    n, bounds = 2 * table.rows, [None if text else table.bounds(names[end]) for end in (found.source, found.target)]
    known = [bound for bound in bounds if bound is not None]
    if len(known) == 2:
        n = min(n, max(high for _, high in known) - min(low for low, _ in known) + 1)
    one_way = directed if directed is not None else True
    reading = table.largest_group() + sum(dtype.itemsize + 8 for dtype in kept.values()) * (1 << 18)
    return Shape(n, table.rows if one_way else 2 * table.rows, one_way, kept, listed=table.rows,
                 ids=_TEXT_ID * n if text else 0, reading=reading, exact=False)
