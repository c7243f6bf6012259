"""Writes GraphML, which keeps direction, ids, vertices without edges and columns."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import IO, TYPE_CHECKING, Any
from xml.sax.saxutils import escape, quoteattr

from numpy.typing import NDArray

from vlang.errors import GraphError
from vlang.runtime.graph.edges.edge_rows import blocks, column_values, listed_edges, lost
from vlang.runtime.graph.edges.kinds import Times
from vlang.runtime.storage.output import csv_texts

if TYPE_CHECKING:
    from vlang.runtime.graph.edges.edge_list import EdgeList
    from vlang.runtime.graph.graph import Graph

__all__ = ["attribute", "edges_of", "labels", "times_as_texts", "write_graphml", "written_type"]

_HEAD = ('<?xml version="1.0" encoding="utf-8"?>\n<graphml xmlns="http://graphml.graphdrawing.org/xmlns">\n')
_UNWRITTEN = re.compile(r"[\0-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")  # XML 1.0 has no form for these characters


def write_graphml(graph: Graph, file: IO[bytes], path: str, _suffix: str) -> list[str]:
    """Write a graph, and return notes about what the file does not keep.

    Args:
        graph, file, path, _suffix: see `GraphFormat.write`.

    Raises:
        GraphError: an id or a name has characters that XML does not have, or a column is called `id`.
    """
    edges = edges_of(graph, path)
    for text in _lines(graph, edges, path):
        file.write(text.encode())
    return lost(graph) + times_as_texts(graph)


def edges_of(graph: Graph, path: str) -> EdgeList:
    """The edges of a graph that is written as XML. Raises GraphError if a column is called `id`."""
    if "id" in graph.columns:
        raise GraphError(f"{path}: the column `id` would be read as the name of an edge; read the graph with another "
                         "name for it")
    return listed_edges(graph)


def times_as_texts(graph: Graph) -> list[str]:
    """A note about the columns of times, for a format without times."""
    times = [name for name, kind in graph.kinds.items() if isinstance(kind, Times)]
    return [f"Written as texts: the times of {', '.join(times)}."] if times else []


def written_type(edges: EdgeList, name: str) -> str:
    """The type of a column in GraphML and GEXF."""
    return "string" if name in edges.kinds else "double" if edges.columns[name].dtype.kind == "f" else "long"


def _lines(graph: Graph, edges: EdgeList, path: str) -> Iterator[str]:
    yield _HEAD
    for number, name in enumerate(edges.columns):
        type_ = written_type(edges, name)
        yield f'<key id="d{number}" for="edge" attr.name={attribute(path, name)} attr.type="{type_}"/>\n'
    yield f'<graph edgedefault="{"directed" if graph.directed else "undirected"}">\n'
    for part in blocks(graph.n):
        yield "".join(f"<node id={label}/>\n" for label in labels(path, graph.ids.values[part]))
    for part in blocks(len(edges.src)):
        ends = [labels(path, graph.ids.values[end[part]]) for end in (edges.src, edges.dst)]
        cells = [_data(path, number, column_values(edges, name, part)) for number, name in enumerate(edges.columns)]
        data = map("".join, zip(*cells)) if cells else [""] * len(ends[0])
        yield "".join(f"<edge source={u} target={v}>{one}</edge>\n" for u, v, one in zip(*ends, data))
    yield "</graph>\n</graphml>\n"


def _data(path: str, number: int, values: NDArray[Any]) -> list[str]:
    texts = [escape(_known(path, text)) for text in values.tolist()] if values.dtype == object else \
        csv_texts(values, None)
    return [f'<data key="d{number}">{text}</data>' for text in texts]


def labels(path: str, ids: NDArray[Any]) -> list[str]:
    """Ids as quoted values of an attribute. Raises GraphError."""
    return [attribute(path, text) for text in map(str, ids.tolist())]


def attribute(path: str, text: str) -> str:
    """A quoted value of an attribute. Line ends and tabs become references, because parsers turn line ends and tabs
    into blanks. Raises GraphError for characters that XML does not have.
    """
    return quoteattr(_known(path, text), {"\n": "&#10;", "\r": "&#13;", "\t": "&#9;"})


def _known(path: str, text: str) -> str:
    if _UNWRITTEN.search(text):
        raise GraphError(f"{path}: {text!r} has a character that XML does not have; write a .parquet or .jsonl")
    return text
