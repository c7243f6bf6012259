"""The edge list of a scanned file, with notes on what was read."""

from __future__ import annotations

from dataclasses import dataclass, field

from vlang.runtime.graph.edges.edge_list import EdgeList, LeftOut
from vlang.runtime.graph.edges.space import IN_MEMORY, Space
from vlang.runtime.graph.read.asked import Asked
from vlang.runtime.graph.read.direction import as_undirected
from vlang.runtime.graph.read.scan import Scanned
from vlang.runtime.graph.read.source import TextFile
from vlang.runtime.graph.read.text_errors import plural

__all__ = ["Facts", "finish"]


@dataclass(frozen=True)
class Facts:
    """The findings of a reader.

    Attributes:
        format: its name, for the notes.
        directed: the direction according to the format.
        why: the reason, for the notes.
        notes: further sentences.
        left_out: columns that are not numbers.
        warnings: sentences about what may be read wrongly.
    """

    format: str
    directed: bool
    why: str
    notes: list[str] = field(default_factory=list)
    left_out: dict[str, LeftOut] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)


def finish(file: TextFile, read: Scanned, facts: Facts, asked: Asked, space: Space = IN_MEMORY) -> EdgeList:
    """The edge list; asked.directed, unless None, overrides the direction of the format.

    Args:
        file: the file.
        read: its edges.
        facts: the findings of the reader.
        asked: the options.
        space: where edges are kept.
    """
    wanted = facts.directed if asked.directed is None else asked.directed
    why = facts.why if wanted == facts.directed else "as asked for"
    listed = len(read.source)
    if wanted:
        arcs, detail = True, ""
    else:
        read, arcs, clause = as_undirected(read, space)
        detail = f"; {clause}"
    notes = [
        f"{facts.format}{', gzip' if file.gzip else ''}.",
        f"{'Directed' if wanted else 'Undirected'}, {why}{detail}.",
        f"{plural(len(read.ids), 'vertex', 'vertices')}, {plural(len(read.source), 'edge')}"
        f"{f' of {listed:,} listed' if listed != len(read.source) else ''}.",
        _columns(read, facts),
        *_missing(read, listed, asked),
        *facts.notes,
    ]
    return EdgeList(read.source, read.target, read.ids, read.columns, arcs, notes, facts.left_out, facts.warnings)


def _missing(read: Scanned, listed: int, asked: Asked) -> list[str]:
    """Notes on rows that were dropped and on cells that were filled."""
    notes = []
    if read.dropped:
        notes.append(f"Missing cells: {plural(read.dropped, 'row')} of {listed + read.dropped:,} dropped.")
    if read.filled:
        notes.append(f"Missing cells: {plural(read.filled, 'cell')} taken as {asked.missing}.")
    return notes


def _columns(read: Scanned, facts: Facts) -> str:
    if not read.columns and any(why.numbers for why in facts.left_out.values()):
        return "No edge columns."
    if not read.columns:
        return "No weights: edge fields take their defaults."
    described = [f"{name} ({values.dtype})" for name, values in read.columns.items()]
    return f"Edge column{'' if len(described) == 1 else 's'}: {', '.join(described)}."
