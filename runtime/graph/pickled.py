"""Pickles of graphs, which hold either the arrays or the path and options by which the graph was read."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from vlang.errors import GraphError
from vlang.records import dataclass
from vlang.runtime.graph.edges.edge_list import EdgeList, taken
from vlang.runtime.graph.topology.adjacencies import Adjacencies
from vlang.runtime.storage.inputs.remote import is_remote
from vlang.runtime.storage.inputs.spool import parts_of

if TYPE_CHECKING:
    from vlang.runtime.graph.graph import Graph

__all__ = ["Source", "reduced", "source_of"]

_Stamp = tuple[str, int, int]


@dataclass(frozen=True)
class Source:
    """How a graph was read.

    Attributes:
        path: an absolute path, or the text of a generator.
        options: the keywords of `Graph.read`.
        stamps: (path, size in bytes, modification time in ns) of each file that was read.
    """

    path: str
    options: Mapping[str, Any]
    stamps: tuple[_Stamp, ...]


def source_of(path: str | Path, options: Mapping[str, Any]) -> Source | None:
    """The `Source` of a graph; None if a file is remote, or is a stream, which cannot be read a second time."""
    text, vertices = os.fspath(path), options.get("vertices")
    files = [text, vertices] if isinstance(vertices, (str, os.PathLike)) else [text]
    parts = () if text == "-" else parts_of(text)
    files = [*files[1:], *map(str, parts)] if parts else files
    if any(os.fspath(one) == "-" or is_remote(one) for one in files):
        return None
    if any(Path(one).exists() and not Path(one).is_file() for one in files):
        return None
    stamps = tuple(_stamp(os.path.abspath(one)) for one in files if Path(one).is_file())
    if isinstance(vertices, (str, os.PathLike)) and Path(vertices).is_file():
        options = {**options, "vertices": os.path.abspath(vertices)}
    return Source(os.path.abspath(text) if parts or Path(text).is_file() else text, options, stamps)


def _stamp(path: str) -> _Stamp:
    found = os.stat(path)
    return path, found.st_size, found.st_mtime_ns


def reduced(graph: Graph, light: Source | None) -> tuple[Any, tuple[Any, ...]]:
    """The value of `Graph.__reduce__`.

    `light` is the source from which the graph can be read again; None to pickle its arrays.
    """
    if light is not None:
        return _read_again, (type(graph), light.path, dict(light.options), light.stamps)
    if graph.stored is not None:
        return _opened_again, (type(graph), graph.stored.path, graph.threads)
    adjacencies = graph._adjacencies
    state = {
        "name": graph.name, "ids": graph.ids, "m": graph.m, "directed": graph.directed, "threads": graph.threads,
        "order": graph.order, "rule": graph.rule, "source": adjacencies.source(), "left_out": dict(graph.left_out),
        "notes": list(graph._notes), "kept": graph._kept, "warnings": graph.warnings, "read": graph._source,
        "seal": graph.seal, "kinds": dict(graph.kinds),
    }  # fmt: skip
    return _restored, (type(graph), state)


def _restored(graph_type: type[Graph], state: dict[str, Any]) -> Graph:
    source = state["source"]
    if isinstance(source, EdgeList):
        for array in (source.src, source.dst, *source.columns.values()):
            taken(array)
    built = Adjacencies(len(state["ids"]), state["directed"], source, rule=state["rule"], threads=state["threads"])
    graph = object.__new__(graph_type)
    graph._notes, graph._kept, graph.warnings = state["notes"], state["kept"], state["warnings"]
    graph.left_out = MappingProxyType(state["left_out"])
    graph._source, graph.seal, graph.kinds = state["read"], state["seal"], MappingProxyType(state["kinds"])
    graph._take(state["name"], state["ids"], state["m"], built, state["order"])
    return graph


def _opened_again(graph_type: type[Graph], path: str, threads: int) -> Graph:
    return graph_type.open(path, threads)


def _read_again(
    graph_type: type[Graph], path: str, options: Mapping[str, Any], stamps: tuple[_Stamp, ...]
) -> Graph:
    for file, size, time in stamps:
        try:
            same = _stamp(file) == (file, size, time)
        except OSError:
            raise GraphError(f"{file}: a graph that was pickled by this path cannot be read: the file is not there") \
                from None
        if not same:
            raise GraphError(f"{file}: the file has changed since the graph that was pickled by this path was read; "
                             "read it again")
    return graph_type.read(path, **options).by_path()
