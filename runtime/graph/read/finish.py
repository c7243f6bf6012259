"""From what was scanned to the edge list, with the sentences that say what was read."""

from __future__ import annotations

from dataclasses import dataclass, field

from vlang.runtime.graph.edges.edge_list import EdgeList
from vlang.runtime.graph.read.direction import as_undirected
from vlang.runtime.graph.read.scan import Scanned
from vlang.runtime.graph.read.source import TextFile
from vlang.runtime.graph.read.text_errors import plural

__all__ = ["Facts", "finish"]


@dataclass(frozen=True)
class Facts:
    """What a reader found. directed, why: by the format, and the reason; notes: further sentences."""

    format: str
    directed: bool
    why: str
    notes: list[str] = field(default_factory=list)


def finish(file: TextFile, read: Scanned, facts: Facts, directed: bool | None) -> EdgeList:
    """The edge list; `directed`, unless None, overrides what the format says."""
    wanted = facts.directed if directed is None else directed
    why = facts.why if directed is None or directed == facts.directed else "as asked for"
    listed = len(read.source)
    if wanted:
        arcs, detail = True, ""
    else:
        read, arcs, clause = as_undirected(read)
        detail = f"; {clause}"
    notes = [
        f"{facts.format}{', gzip' if file.gzip else ''}.",
        f"{'Directed' if wanted else 'Undirected'}, {why}{detail}.",
        f"{plural(len(read.ids), 'vertex', 'vertices')}, {plural(len(read.source), 'edge')}"
        f"{f' of {listed:,} listed' if listed != len(read.source) else ''}.",
        _columns(read),
        *facts.notes,
    ]
    return EdgeList(read.source, read.target, read.ids, read.columns, arcs, notes)


def _columns(read: Scanned) -> str:
    if not read.columns:
        return "No weights: edge fields take their defaults."
    described = [f"{name} ({values.dtype})" for name, values in read.columns.items()]
    return f"Edge column{'' if len(described) == 1 else 's'}: {', '.join(described)}."
