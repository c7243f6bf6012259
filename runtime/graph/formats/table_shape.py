"""Estimates the shape of a graph in Parquet files from their metadata."""

from __future__ import annotations

from vlang.runtime.graph.arrow import cells
from vlang.runtime.graph.arrow.files import FileTable
from vlang.runtime.graph.edges.shape import Shape
from vlang.runtime.graph.formats.table_edges import fields_of, named_fields
from vlang.runtime.graph.read.asked import Asked
from vlang.runtime.graph.read.end_columns import choose_ends
from vlang.runtime.graph.read.text_columns import choose_weight

__all__ = ["estimate_table"]

_TEXT_ID = 72  # approximate bytes of an id that is a string


def estimate_table(table: FileTable, asked: Asked) -> Shape | None:
    """The shape of a table of edges: exact counts of edges and columns, and an upper bound of the vertices.

    Returns None for Arrow files, whose metadata have no number of rows.

    Args:
        table: the files.
        asked: the options for reading.

    Raises:
        GraphError: for the same tables as the reader.
    """
    if table.rows is None:
        return None
    names = list(table.schema.names)
    found = choose_ends(table.name, names, None, len(names), asked.ends)
    fields = choose_weight(table.name, fields_of(table, found.source, found.target), asked)
    fields = named_fields(table, fields, asked)
    types = {column.name: column.type for column in table.schema}
    kept = {field.name: cells.stored_dtype(types[field.title]) for field in fields
            if field.numeric and (asked.columns is None or field.needed)}
    text = cells.kind_of(types[names[found.source]]) == "text"
    n, bounds = 2 * table.rows, [None if text else table.bounds(names[end]) for end in (found.source, found.target)]
    known = [bound for bound in bounds if bound is not None]
    if len(known) == 2:
        n = min(n, max(high for _, high in known) - min(low for low, _ in known) + 1)
    one_way = asked.directed if asked.directed is not None else True
    reading = table.largest_group() + sum(dtype.itemsize + 8 for dtype in kept.values()) * (1 << 18)
    return Shape(n, table.rows if one_way else 2 * table.rows, one_way, kept, listed=table.rows,
                 ids=_TEXT_ID * n if text else 0, reading=reading, exact=False)
