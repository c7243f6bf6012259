"""Reads a graph from a file in any known format, or from a generator."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from vlang.errors import DiskError, GraphError
from vlang.runtime.graph.arrow.files import table_files
from vlang.runtime.graph.generators import generate, is_spec, unknown_name, weight_range
from vlang.runtime.storage.magic import is_page_file
from vlang.runtime.threads.processors import available_threads

if TYPE_CHECKING:
    from vlang.runtime.graph.edges.ends import Ends
    from vlang.runtime.graph.graph import Graph

__all__ = ["check_source_options", "is_archive", "read"]


def read(
    graph_type: type[Graph],
    path: str | Path,
    directed: bool | None,
    symmetrize: bool,
    weights: str | None,
    self_loops: str,
    parallel: str,
    threads: int | None,
    columns: Iterable[str] | None,
    missing: str | float,
    ends: Ends,
) -> Graph:
    """Build the graph of a file or of a generator.

    Args:
        graph_type: the class to build; passed as a parameter so that this module need not import it.
        path, directed, symmetrize, weights, self_loops, parallel, threads, columns, missing: see `Graph.read`.
        ends: the columns that hold the ids at the two ends of an edge, and the option `vertices`.
    """
    text, file = str(path), path if isinstance(path, Path) else Path(path)
    rule = check_source_options(file, weights, missing, ends)
    if isinstance(columns, str):
        raise GraphError(f"columns={columns!r}: write a list of names, such as [{columns!r}]")
    if is_spec(text) and not file.exists():
        edges, limits = generate(text, directed=directed, threads=threads)
        graph = graph_type(edges, name=text, symmetrize=symmetrize, threads=threads)
        graph = graph.with_rule_weights(*limits) if limits else graph
    elif is_archive(file) or is_page_file(file):
        graph = _stored(graph_type, file, directed, symmetrize, None if rule else weights, threads)
    elif re.fullmatch(r"\w+", text) and not file.exists():
        raise DiskError(f"{text}: there is no such file{unknown_name(text)}")
    else:
        if rule and (columns is not None or table_files(file) is None):  # the rule replaces a column of that name
            columns = {name: type_ for name, type_ in columns.items() if name != "weight"} \
                if isinstance(columns, Mapping) else [name for name in columns or () if name != "weight"]
        graph = _file(graph_type, file, directed, symmetrize, None if rule else weights, threads, columns,
                      missing, ends)
    graph = graph.thinned(self_loops, parallel)
    return graph.with_rule_weights(*rule) if rule else graph


def check_source_options(
    file: Path, weights: str | None, missing: str | float, ends: Ends
) -> tuple[int, int] | None:
    """Check that the options suit the source; return (LO, HI) for weights by rule, else None.

    Args:
        file: a path, or the text of a generator converted to a Path.
        weights, missing: see `Graph.read`.
        ends: the columns that hold the ids at the two ends of an edge, and the option `vertices`.

    Raises:
        GraphError: an option does not apply to this source.
    """
    text = str(file)
    rule = None if weights is None or ".." not in weights else weight_range(weights)
    if weights is not None and ".." in weights and rule is None:
        raise GraphError(f"weights={weights!r}: write LO..HI with two integers")
    generated = is_spec(text) and not file.exists()
    if generated and weights is not None and rule is None:
        raise GraphError(f"weights={weights!r}: for {text} write LO..HI, which computes integer weights by a rule")
    if generated or is_archive(file) or is_page_file(file):
        _no_cells(text, missing, ends)
    return rule


def _no_cells(text: str, missing: str | float, ends: Ends) -> None:
    if missing != "error":
        raise GraphError(f"missing={missing!r}: {text} is no file of text and has no missing cells; leave it out")
    for option, value in (("source_column", ends.source), ("target_column", ends.target), ("vertices", ends.vertices)):
        if value is not None:
            raise GraphError(f"{option}={value!r}: {text} is no file of text, and its ends and vertices are known; "
                             "leave it out")


def is_archive(path: Path) -> bool:
    """Whether the file is a zip archive, which is the container of .npz files."""
    try:
        with path.open("rb") as file:
            return file.read(4) in (b"PK\x03\x04", b"PK\x05\x06")
    except OSError:
        return False


def _stored(
    graph_type: type[Graph], path: Path, directed: bool | None, symmetrize: bool, weights: str | None,
    threads: int | None,
) -> Graph:
    if is_page_file(path):
        from vlang.runtime.graph.paged.in_memory import load as load_pages  # start-up

        graph = load_pages(graph_type, path, weights, threads=threads)
    else:
        from vlang.runtime.graph.npz import load  # start-up

        graph = load(graph_type, path, weights, threads=threads)
    turned = directed is not None and directed != graph.directed
    if not turned and not (symmetrize and graph.directed):
        return graph
    edges = graph.edges(both=turned and not graph.directed)
    if directed is not None:
        edges = replace(edges, directed=directed)
    return graph_type(edges, name=graph.name, symmetrize=symmetrize, threads=threads)


def _file(
    graph_type: type[Graph], path: Path, directed: bool | None, symmetrize: bool, weights: str | None,
    threads: int | None, columns: Iterable[str] | None, missing: str | float, ends: Ends,
) -> Graph:  # fmt: skip
    from vlang.runtime.graph.table_edges import read_file  # start-up

    threads = threads or available_threads()
    return graph_type(
        read_file(path, directed=directed, weights=weights, columns=columns, missing=missing, threads=threads,
                  ends=ends),
        name=path.name, symmetrize=symmetrize, threads=threads,
    )  # fmt: skip
