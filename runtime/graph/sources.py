"""Reads a graph from a file in any known format, or from a generator."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from vlang.errors import DiskError, GraphError
from vlang.runtime.graph.formats.format import ListFormat, StoredFormat
from vlang.runtime.graph.formats.table import recognised
from vlang.runtime.graph.generators import generate, is_spec, unknown_name, weight_range
from vlang.runtime.threads.processors import available_threads

if TYPE_CHECKING:
    from vlang.runtime.graph.edges.ends import Ends
    from vlang.runtime.graph.graph import Graph

__all__ = ["check_source_options", "read", "without_rule"]


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
    elif re.fullmatch(r"\w+", text) and not file.exists():
        raise DiskError(f"{text}: there is no such file{unknown_name(text)}")
    elif isinstance(found := recognised(file), ListFormat):
        edges = found.read(file, directed=directed, weights=None if rule else weights,
                           columns=without_rule(found, columns) if rule else columns, missing=missing,
                           threads=threads or available_threads(), ends=ends)  # fmt: skip
        graph = graph_type(edges, name=file.name, symmetrize=symmetrize, threads=threads or available_threads())
    else:
        assert isinstance(found, StoredFormat)
        stored = found.load(graph_type, file, None if rule else weights, threads)
        graph = _turned(graph_type, stored, directed, symmetrize, threads)
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
    if generated or not recognised(file).cells:
        _no_cells(text, missing, ends)
    return rule


def _no_cells(text: str, missing: str | float, ends: Ends) -> None:
    if missing != "error":
        raise GraphError(f"missing={missing!r}: {text} is no file of text and has no missing cells; leave it out")
    for option, value in (("source_column", ends.source), ("target_column", ends.target), ("vertices", ends.vertices)):
        if value is not None:
            raise GraphError(f"{option}={value!r}: {text} is no file of text, and its ends and vertices are known; "
                             "leave it out")


def without_rule(found: ListFormat, columns: Iterable[str] | None) -> Iterable[str] | None:
    """The option `columns` without the column `weight`, which a rule replaces."""
    if columns is None and found.typed:
        return None
    if isinstance(columns, Mapping):
        return {name: type_ for name, type_ in columns.items() if name != "weight"}
    return [name for name in columns or () if name != "weight"]


def _turned(
    graph_type: type[Graph], graph: Graph, directed: bool | None, symmetrize: bool, threads: int | None
) -> Graph:
    """Apply the options `directed` and `symmetrize` to a stored graph."""
    turned = directed is not None and directed != graph.directed
    if not turned and not (symmetrize and graph.directed):
        return graph
    edges = graph.edges(both=turned and not graph.directed)
    if directed is not None:
        edges = replace(edges, directed=directed)
    return graph_type(edges, name=graph.name, symmetrize=symmetrize, threads=threads)
