"""`Graph.from_edges`: edges from arrays, or from a table that exports its columns in Arrow's format."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from vlang.errors import GraphError
from vlang.runtime.graph.arrow.library import is_table
from vlang.runtime.graph.arrow.tables import Frame
from vlang.runtime.graph.arrow.vertex_table import VertexTable
from vlang.runtime.graph.edges.building.from_arrays import edge_list
from vlang.runtime.graph.edges.edge_list import EdgeList
from vlang.runtime.graph.edges.ends import Ends
from vlang.runtime.graph.edges.given import given_flag, given_name, given_whole, named_types
from vlang.runtime.graph.edges.pool import Workers
from vlang.runtime.graph.formats.table_edges import scan_table
from vlang.runtime.graph.read.asked import Asked, parse_missing
from vlang.runtime.graph.read.end_columns import choose_ends
from vlang.runtime.graph.read.finish import column_notes
from vlang.runtime.graph.read.vertices import parse_vertices, within
from vlang.runtime.graph.vertex_columns import columns_of_vertices, opened_vertices
from vlang.runtime.threads.processors import available_threads

if TYPE_CHECKING:
    from vlang.runtime.graph.graph import Graph

__all__ = ["graph_of_edges"]

_OF_TABLES: Mapping[str, Any] = {"source": None, "target": None, "missing": "error"}


def graph_of_edges(
    graph_type: type[Graph], src: Any, dst: Any, given: Mapping[str, Any], edge_columns: Mapping[str, Any]
) -> Graph:
    """Build the graph for `Graph.from_edges`.

    Args:
        graph_type: the class to build.
        src, dst: as in `Graph.from_edges`.
        given: the other keywords of `Graph.from_edges`, by name.
        edge_columns: the remaining keywords, each of which is an edge column or, for a table, renames a column.

    Raises:
        GraphError: the arguments are wrong or contradict each other.
    """
    threads = None if given["threads"] is None else given_whole("threads", given["threads"], 1)
    many = threads or available_threads()
    directed, symmetrize = given_flag("directed", given["directed"]), given_flag("symmetrize", given["symmetrize"])
    name = given_name("name", given["name"])
    if dst is None:
        edges = _of_table(src, given, edge_columns, name, many)
    else:
        edges = _of_arrays(src, dst, given, edge_columns, many)
    vertices = opened_vertices(given["vertices"], given["id"])
    if vertices is not None:
        edges = _among(edges, vertices, given["id"], name, many)
    elif given["id"] is not None:
        raise GraphError(f"id={given['id']!r} names the column of ids of a table of `vertices`; give one, or leave it "
                         "out")
    graph = graph_type(replace(edges, directed=directed), name=name, symmetrize=symmetrize, threads=threads)
    graph.vertex_columns = columns_of_vertices(vertices)
    del edges  # the graph then holds the only reference, and frees the list when it builds an adjacency
    return graph.thinned(given["self_loops"], given["parallel"])


def _of_arrays(src: Any, dst: Any, given: Mapping[str, Any], edge_columns: Mapping[str, Any], threads: int) -> EdgeList:
    for option, default in _OF_TABLES.items():
        if given[option] is not default and not (isinstance(given[option], str) and given[option] == default):
            raise GraphError(f"`{option}` is about a table with both ends of the edges, from_edges(table); an edge "
                             f"column of this name goes into columns={{{option!r}: ...}}")
    columns, n, ids = given["columns"], given["n"], given["ids"]
    if not isinstance(columns, (Mapping, type(None))):
        raise GraphError(f"columns is a dict of names and arrays, not {type(columns).__name__}")
    twice = sorted(set(columns or ()) & set(edge_columns))
    if twice:
        raise GraphError(f"the edge column `{twice[0]}` is given twice")
    if given["vertices"] is not None and (n is not None or ids is not None):
        raise GraphError(f"`vertices` and `{'n' if n is not None else 'ids'}` both say which vertices there are; "
                         "give one of the two")
    n = None if n is None else given_whole("n", n)
    return edge_list(src, dst, {**edge_columns, **(columns or {})}, given["directed"], n, ids, threads)


def _of_table(
    frame: Any, given: Mapping[str, Any], renamed: Mapping[str, Any], name: str, threads: int
) -> EdgeList:
    """The edges of a table; `given` and `renamed` name its columns."""
    if not is_table(frame):
        raise GraphError(f"give two arrays of vertex ids, from_edges(src, dst), or one table: {_no_table(frame)}")
    for option in ("n", "ids"):
        if given[option] is not None:
            raise GraphError(f"`{option}` is for arrays; beside a table of edges write vertices={option}")
    with closing(Frame(frame, name)) as table:
        return _of_frame(table, given, renamed, threads)


def _no_table(value: object) -> str:
    """Why a value is no table of edges, and what to write instead."""
    name = type(value).__name__
    if hasattr(value, "collect"):
        return f"{name} is not computed yet; collect it first: frame.collect()"
    if isinstance(value, Mapping):
        return f"{name} is no table; write pandas.DataFrame(...) or pyarrow.table(...) around it"
    if hasattr(value, "shape") and len(value.shape) == 2:
        return f"{name} has no names of columns; for pairs, write from_edges(pairs[:, 0], pairs[:, 1])"
    if isinstance(value, (list, tuple)) and all(isinstance(pair, (list, tuple)) and len(pair) == 2 for pair in value):
        return f"{name} is no table; for pairs, write from_edges(*zip(*pairs))"
    return f"{name} is one column" if hasattr(value, "__arrow_c_stream__") else \
        f"{name} has neither __arrow_c_stream__ nor __arrow_c_array__"


def _of_frame(table: Frame, given: Mapping[str, Any], renamed: Mapping[str, Any], threads: int) -> EdgeList:
    name, names = table.name, list(table.schema.names)
    ends = _ends(names, name, given)
    titles = _titles(names, renamed, ends)
    wanted = _names(given["columns"], renamed)
    if absent := sorted((wanted or frozenset()) - {*names, *titles, *titles.values(), *renamed}):
        raise GraphError(f"columns: the table has no column {absent[0]!r}; its columns are {', '.join(names)}")
    asked = Asked(None, None, wanted, parse_missing(given["missing"]), ends,
                  named_types(given["columns"]))
    with Workers(threads) as workers:
        found = scan_table(table, asked, workers, titles=titles)
    read = found.read
    listed = len(read.source)
    notes = [f"{table.format}.", *column_notes(read, found.left_out, listed, asked), *found.notes]
    return EdgeList(read.source, read.target, read.ids, read.columns, True, notes, found.left_out, kinds=read.kinds)


def _named(option: str, value: object) -> str | None:
    if value is None or (isinstance(value, str) and value):
        return value
    raise GraphError(f"{option}={value!r}: write the name of a column of the table")


def _names(columns: object, renamed: Mapping[str, Any]) -> frozenset[str] | None:
    """The names of the columns to read: `columns` and the columns that keywords rename; None for all."""
    if columns is None and not renamed:
        return None
    if columns is not None and (isinstance(columns, str) or not isinstance(columns, Iterable)
                                or not all(isinstance(one, str) for one in columns)):
        raise GraphError(f"columns={columns!r}: write a list of names of columns of the table, or a dict "
                         "of their types")
    return frozenset(columns or ()) | frozenset(renamed)


def _ends(names: Sequence[str], name: str, given: Mapping[str, Any]) -> Ends:
    """The two columns of vertex ids.

    Raises GraphError if the caller does not name a column and no column has a well-known name.
    """
    asked = Ends(_named("source", given["source"]), _named("target", given["target"]))
    for option, column in (("source", asked.source), ("target", asked.target)):
        if column is not None and column not in names:
            raise GraphError(f"{option}={column!r}: the table has no such column; its columns are {', '.join(names)}")
    try:
        found = choose_ends(name, names, None, len(names), asked) if len(names) > 1 else None
    except GraphError:
        found = None
    if found is None or found.warnings or asked.source == asked.target is not None:
        raise GraphError("which two columns hold the ends of an edge? Write from_edges(table, source=..., "
                         f"target=...); the columns are {', '.join(names) or 'none'}")
    return Ends(names[found.source], names[found.target])


def _titles(names: Sequence[str], renamed: Mapping[str, Any], ends: Ends) -> dict[str, str]:
    """The new name of each column that a keyword renames. Raises GraphError if the table does not have the column."""
    for new, old in renamed.items():
        if not isinstance(old, str):
            raise GraphError(f"{new}=... is a {type(old).__name__}: beside a table, write the name of one of its "
                             "columns")
        if old not in names or old in (ends.source, ends.target):
            held = "holds an end of the edges" if old in names else "is not there"
            raise GraphError(f"{new}={old!r}: this column {held}; the columns are {', '.join(names)}")
        if new != old and new in names:
            raise GraphError(f"{new}={old!r}, and the table has a column {new!r}, too; drop or rename it")
    titles = {old: new for new, old in renamed.items()}
    if len(titles) < len(renamed):
        raise GraphError("one column is taken twice: " + ", ".join(f"{new}={old!r}" for new, old in renamed.items()))
    return titles


def _among(edges: EdgeList, vertices: object, column: object, name: str, threads: int) -> EdgeList:
    """Number the edges by the given vertices. Raises GraphError if an end of an edge is not one of these vertices."""
    with Workers(threads) as workers:
        known = parse_vertices(vertices, workers, column=None if isinstance(vertices, VertexTable) else column)
    src, dst = within(known, edges.src, edges.dst, edges.ids, name)
    return replace(edges, src=src, dst=dst, ids=known.ids, warnings=[*edges.warnings, *known.warnings])
