"""Reads the source of a conversion (a text file, a generator, an archive or a page file) into edges on disk."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from vlang.errors import DiskError
from vlang.records import dataclass
from vlang.runtime.convert.budget import Budget
from vlang.runtime.convert.disk_space import DiskSpace
from vlang.runtime.convert.edges import ColumnValues, Edges, RuleColumn, Source, StoredColumn, stored_columns
from vlang.runtime.graph.edges.edge_list import EdgeList
from vlang.runtime.graph.edges.ends import Ends, parse_column
from vlang.runtime.graph.formats.format import ListFormat, StoredEdges, StoredFormat
from vlang.runtime.graph.formats.table import recognised
from vlang.runtime.graph.generators import generate, is_spec, unknown_name, weight_range
from vlang.runtime.graph.graph import Graph
from vlang.runtime.graph.notes import KEPT, rule_note, symmetrized_note
from vlang.runtime.graph.sources import check_source_options, without_rule
from vlang.runtime.graph.topology.transform import WeightRule
from vlang.runtime.storage.disk_arrays import DiskArrays

__all__ = ["Reading", "open_source", "rule_of", "with_rule"]


@dataclass(frozen=True)
class Reading:
    """The options for reading a graph.

    Attributes:
        directed, symmetrize, weights, self_loops, parallel, missing, source_column, target_column, vertices, columns:
            see the arguments of `Graph.read`.
    """

    directed: bool | None = None
    symmetrize: bool = False
    weights: str | None = None
    self_loops: str = "keep"
    parallel: str = "keep"
    missing: str | float = "error"
    source_column: str | int | None = None
    target_column: str | int | None = None
    vertices: Any = None
    columns: Mapping[str, str] | None = None


def open_source(path: Path, reading: Reading, room: DiskArrays, budget: Budget) -> Source:
    """Read a file or a generator into edges on disk.

    The caller must still drop self-loops and parallel edges, and apply a rule in the option `weights`.

    Args:
        path: path of a file, or the text of a generator converted to a Path.
        reading: the options.
        room: allocates the arrays of edges on disk.
        budget: the memory budget.

    Raises:
        GraphError, DiskError: for the same sources as `Graph.read`.
        OutOfMemory: the budget is too small.
    """
    ends = Ends(parse_column("source_column", reading.source_column),
                parse_column("target_column", reading.target_column), reading.vertices)  # fmt: skip
    rule = check_source_options(path, reading.weights, reading.missing, ends)
    weights, text = None if rule else reading.weights, str(path)
    if is_spec(text) and not path.exists():
        listed, limits = generate(text, directed=reading.directed, threads=budget.threads, empty=room.empty)
        source = _listed(listed, reading.symmetrize)
        return with_rule(source, WeightRule(*limits)) if limits else source
    if text.isidentifier() and not path.exists():
        raise DiskError(f"{text}: there is no such file{unknown_name(text)}")
    found = recognised(path)
    if isinstance(found, StoredFormat):
        return _turned(_stored(found.stream(Graph, path, weights, room.empty, budget.threads)), reading)
    assert isinstance(found, ListFormat)
    listed = found.read(path, directed=reading.directed, weights=weights,
                        columns=without_rule(found, reading.columns) if rule else reading.columns,
                        missing=reading.missing, threads=budget.threads, ends=ends,
                        space=DiskSpace(room, budget))  # fmt: skip
    return _listed(listed, reading.symmetrize)


def _stored(stored: StoredEdges) -> Source:
    """Convert the edges of a stored graph."""
    listed = stored.listed
    columns: dict[str, ColumnValues] = {name: StoredColumn(values, stored.dtypes[name])
                                        for name, values in listed.columns.items()}
    if stored.rule is not None:
        columns["weight"] = RuleColumn(stored.rule, listed.src, listed.dst, listed.directed)
    edges = Edges(listed.src, listed.dst, len(listed.ids), columns, listed.directed)
    return Source(edges, listed.ids, listed.notes, listed.left_out, sorted=stored.sorted, fresh=stored.fresh,
                  kinds=listed.kinds)


def with_rule(source: Source, rule: WeightRule) -> Source:
    """Replace the column `weight` of a source by weights that a rule computes."""
    edges = source.edges
    columns: dict[str, Any] = {name: column for name, column in edges.columns.items() if name != "weight"}
    columns["weight"] = RuleColumn(rule, edges.src, edges.dst, edges.directed)
    left_out = {name: why for name, why in source.left_out.items() if name != "weight"}
    notes = [*source.notes, rule_note(rule.low, rule.high, edges.directed)]
    kinds = {name: kind for name, kind in source.kinds.items() if name != "weight"}
    return replace(source, edges=replace(edges, columns=columns), left_out=left_out, notes=notes, kinds=kinds)


def rule_of(weights: str | None) -> WeightRule | None:
    """The rule of weights that the option `weights` specifies ("LO..HI"), or None."""
    limits = weight_range(weights) if weights is not None and ".." in weights else None
    return WeightRule(*limits) if limits else None


def _listed(listed: EdgeList, symmetrize: bool) -> Source:
    """Convert an edge list from a reader in the same way as `Graph` does."""
    notes = list(listed.notes)
    if symmetrize and listed.directed:
        notes.append(symmetrized_note(len(listed.src)))
    directed = listed.directed and not symmetrize
    src, dst = np.ascontiguousarray(listed.src), np.ascontiguousarray(listed.dst)
    edges = Edges(src, dst, len(listed.ids), stored_columns(listed.columns), directed, not directed)
    return Source(edges, listed.ids, notes, listed.left_out, tuple(listed.warnings), kinds=listed.kinds)


def _turned(source: Source, reading: Reading) -> Source:
    """Apply the options `directed` and `symmetrize` to a stored graph."""
    edges = source.edges
    turned = reading.directed is not None and reading.directed != edges.directed
    if not turned and not (reading.symmetrize and edges.directed):
        return source if source.fresh else replace(source, kept=())
    directed = edges.directed if reading.directed is None else reading.directed
    notes = list(source.notes)
    if reading.symmetrize and directed:
        notes.append(symmetrized_note(len(edges.src)))
    directed = directed and not reading.symmetrize
    return replace(source, edges=replace(edges, directed=directed, mirror=not directed), notes=notes, kept=KEPT)
