"""Writes GEXF, GML and Pajek, in the forms that NetworkX reads."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import IO, TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from vlang.errors import GraphError
from vlang.runtime.graph.edges.edge_rows import blocks, column_values, listed_edges, lost, only_column
from vlang.runtime.graph.formats.graphml_text import attribute, edges_of, labels, times_as_texts, written_type
from vlang.runtime.storage.output import csv_texts

if TYPE_CHECKING:
    from vlang.runtime.graph.edges.edge_list import EdgeList
    from vlang.runtime.graph.graph import Graph

__all__ = ["write_gexf", "write_gml", "write_pajek"]

_KEY = re.compile(r"[A-Za-z][0-9A-Za-z_]*", re.ASCII)
_ESCAPED = re.compile(r'[^ -~]|[&"]')
_CONTROL = re.compile(r"[\0-\x1f\x7f-\x9f\u2028\u2029]")
_EXACT = 2**53  # integers below this are exact as floats


def write_gexf(graph: Graph, file: IO[bytes], path: str, _suffix: str) -> list[str]:
    """Write a graph as GEXF, and return notes about what the file does not keep.

    Args:
        graph, file, path, _suffix: see `GraphFormat.write`.

    Raises:
        GraphError: an id or a name has characters that XML does not have, or a column is called `id`.
    """
    edges = edges_of(graph, path)
    file.write(b'<?xml version="1.0" encoding="utf-8"?>\n<gexf xmlns="http://www.gexf.net/1.2draft" version="1.2">\n')
    file.write(f'<graph defaultedgetype="{"directed" if graph.directed else "undirected"}" mode="static">\n'.encode())
    if edges.columns:
        keys = (f'<attribute id="{number}" title={attribute(path, name)} type="{written_type(edges, name)}"/>\n'
                for number, name in enumerate(edges.columns))
        file.write(f'<attributes class="edge" mode="static">\n{"".join(keys)}</attributes>\n'.encode())
    file.write(b"<nodes>\n")
    for part in blocks(graph.n):
        texts = labels(path, graph.ids.values[part])
        file.write("".join(f"<node id={text} label={text}/>\n" for text in texts).encode())
    file.write(b"</nodes>\n<edges>\n")
    for part in blocks(len(edges.src)):
        ends = [labels(path, graph.ids.values[end[part]]) for end in (edges.src, edges.dst)]
        cells = _cells(edges, part, lambda text: attribute(path, text), lambda text: f'"{text}"')
        rows = (f"<edge id=\"{number}\" source={u} target={v}>{''.join(_values(values))}</edge>\n"
                for number, (u, v, values) in enumerate(zip(*ends, cells), part.start))
        file.write("".join(rows).encode())
    file.write(b"</edges>\n</graph>\n</gexf>\n")
    return lost(graph) + times_as_texts(graph)


def _values(values: Sequence[str]) -> Iterator[str]:
    """The values of an edge in GEXF."""
    if values:
        yield "<attvalues>"
        yield from (f'<attvalue for="{number}" value={value}/>' for number, value in enumerate(values))
        yield "</attvalues>"


def write_gml(graph: Graph, file: IO[bytes], path: str, _suffix: str) -> list[str]:
    """Write a graph as GML, and return notes about what the file does not keep. The ids are labels.

    Args:
        graph, file, path, _suffix: see `GraphFormat.write`.

    Raises:
        GraphError: the name of a column is no key of GML, or has a meaning there.
    """
    edges = listed_edges(graph)
    for name in edges.columns:
        if not _KEY.fullmatch(name) or name in ("id", "key", "label", "source", "target"):
            raise GraphError(f"{path}: a column {name!r} cannot be an attribute of an edge in GML; read the graph with "
                             "another name for it")
    file.write(f"graph [\n directed {int(graph.directed)}\n multigraph 1\n".encode())
    for part in blocks(graph.n):
        texts = enumerate(map(_gml_text, map(str, graph.ids.values[part].tolist())), part.start)
        file.write("".join(f" node [\n  id {number}\n  label {text}\n ]\n" for number, text in texts).encode())
    for part in blocks(len(edges.src)):
        ends = [end[part].tolist() for end in (edges.src, edges.dst)]
        rows = (f" edge [\n  source {u}\n  target {v}\n"
                + "".join(f"  {name} {value}\n" for name, value in zip(edges.columns, values)) + " ]\n"
                for u, v, values in zip(*ends, _cells(edges, part, _gml_text, _gml_number)))
        file.write("".join(rows).encode())
    file.write(b"]\n")
    return lost(graph) + times_as_texts(graph)


def _gml_text(text: str) -> str:
    return '"' + _ESCAPED.sub(lambda found: f"&#{ord(found[0])};", text) + '"'


def _gml_number(text: str) -> str:
    """A number in GML: a float has a point before its exponent, and infinity is +INF."""
    mantissa, exponent, power = text.upper().partition("E")
    if "INF" in mantissa:
        return f"{'-' if text.startswith('-') else '+'}INF"
    return f"{mantissa}{'.0' if exponent and '.' not in mantissa else ''}{exponent}{power}"


def write_pajek(graph: Graph, file: IO[bytes], path: str, _suffix: str) -> list[str]:
    """Write a graph as a network of Pajek, and return notes about what the file does not keep. The ids are labels.

    Args:
        graph, file, path, _suffix: see `GraphFormat.write`.

    Raises:
        GraphError: an id has a line end or another control character, or weights are integers that floats round.
    """
    name, notes = only_column(graph, path)
    edges = listed_edges(graph)
    values = None if name is None else edges.columns[name]
    if values is not None and values.dtype.kind in "iu" and len(values) and \
            max(-int(values.min()), int(values.max())) > _EXACT:
        raise GraphError(f"{path}: Pajek has weights that are floats of 64 bits, and column {name!r} has integers "
                         "beyond 2^53, which they round")
    file.write(f"*Vertices {graph.n}\n".encode())
    for part in blocks(graph.n):
        texts = enumerate((_pajek_text(path, text) for text in map(str, graph.ids.values[part].tolist())), part.start)
        file.write("".join(f"{number + 1} {text}\n" for number, text in texts).encode())
    file.write(b"*Arcs\n" if graph.directed else b"*Edges\n")
    for part in blocks(len(edges.src)):
        cells = [csv_texts(end[part].astype(np.int64) + 1, None) for end in (edges.src, edges.dst)]
        cells += [] if name is None else [csv_texts(column_values(edges, name, part), None)]
        file.write(("\n".join(map(" ".join, zip(*cells))) + "\n").encode())
    return [*notes, *lost(graph)]


def _pajek_text(path: str, text: str) -> str:
    if _CONTROL.search(text):
        raise GraphError(f"{path}: {text!r} cannot be written to a line of text; write a .parquet or .jsonl")
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _cells(
    edges: EdgeList, part: slice, text: Callable[[str], str], number: Callable[[str], str]
) -> Iterator[Sequence[str]]:
    """The values of each edge of a part, as `text` and `number` write texts and numbers."""
    def column(values: NDArray[Any]) -> Iterator[str]:
        return map(text, values.tolist()) if values.dtype == object else map(
            text if values.dtype.kind == "M" else number, csv_texts(values, None))

    columns = [column(column_values(edges, name, part)) for name in edges.columns]
    return zip(*columns) if columns else iter([()] * len(edges.src[part]))
