"""`Graph.read`: checks the options, copies a stream to a temporary file, and records in the graph how it was read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vlang.errors import GraphError
from vlang.runtime.graph.edges.ends import Ends, parse_column
from vlang.runtime.graph.edges.given import given_flag, given_path, given_whole, named_types
from vlang.runtime.graph.pickled import source_of
from vlang.runtime.graph.sources import read
from vlang.runtime.storage.inputs.spool import seekable_parts
from vlang.runtime.storage.room import memory_named
from vlang.runtime.threads.activity import step

if TYPE_CHECKING:
    from vlang.runtime.graph.graph import Graph

__all__ = ["read_graph"]


def read_graph(graph_type: type[Graph], path: str | Path, options: Mapping[str, Any]) -> Graph:
    """Build the graph of a file or a generator.

    `options` has all keywords of `Graph.read`. Raises GraphError, DiskError.
    """
    given = {**options, "columns": _names(options["columns"]), "weights": _weights(options["weights"])}
    path = given_path(path)
    for name in ("directed", "symmetrize"):
        given[name] = given[name] if name == "directed" and given[name] is None else given_flag(name, given[name])
    if given["threads"] is not None:
        given["threads"] = given_whole("threads", given["threads"], 1)
    source = source_of(path, dict(given))
    columns = None
    if given["vertices"] is not None:
        from vlang.runtime.graph.vertex_columns import columns_of_vertices, opened_vertices  # start-up

        given["vertices"] = opened_vertices(given["vertices"])
        columns = columns_of_vertices(given["vertices"])
    given["ends"] = Ends(parse_column("source_column", given.pop("source_column")),
                         parse_column("target_column", given.pop("target_column")), given.pop("vertices"))
    with memory_named(f"reading {path}"), seekable_parts(path, "a file of edges") as file, \
            step("reading", str(path), _bytes(Path(file))):
        graph = read(graph_type, file, **given)
    graph._source = source
    graph.vertex_columns = columns
    return graph


def _bytes(path: Path) -> int:
    """The size of a file; 0 for a generator, a folder or a pattern."""
    return path.stat().st_size if path.is_file() else 0


def _weights(value: object) -> str | None:
    """The option `weights` (a column's name or number, or a range) as text; None stays None."""
    return value if value is None or isinstance(value, str) else str(given_whole("weights", value, 1))


def _names(values: object) -> str | list[str] | dict[str, str] | None:
    """The option `columns` as a list of names, or as a dict of types by name.

    None and a single text are returned unchanged; `read` rejects a single text.
    """
    if isinstance(values, Mapping):
        named_types(values)
        return dict(values)
    if values is None or isinstance(values, str):
        return values
    if not isinstance(values, Iterable):
        raise GraphError(f"columns={values!r}: write a list of names")
    listed = list(values)
    for name in listed:
        if not isinstance(name, str):
            raise GraphError(f"columns=[{name!r}]: write a list of names")
    return listed
