"""Builds the edge list of a scanned file, with notes about the file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from vlang.errors import plural
from vlang.records import dataclass
from vlang.runtime.graph.edges.building.space import IN_MEMORY, Space
from vlang.runtime.graph.edges.edge_list import EdgeList, LeftOut
from vlang.runtime.graph.read.asked import Asked
from vlang.runtime.graph.read.direction import as_undirected
from vlang.runtime.graph.read.scan import Scanned

__all__ = ["Facts", "column_notes", "finish"]


@dataclass(frozen=True)
class Facts:
    """The findings of a reader.

    Attributes:
        format: the name of the format and of the compression, for the notes.
        directed: the direction according to the format.
        why: the reason for this direction, for the notes.
        notes: further notes of the reader.
        left_out: columns that do not hold numbers: name -> reason.
        warnings: sentences about values that may be misinterpreted.
    """

    format: str
    directed: bool
    why: str
    notes: list[str] = field(default_factory=list)
    left_out: dict[str, LeftOut] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)


def finish(read: Scanned, facts: Facts, asked: Asked, space: Space = IN_MEMORY) -> EdgeList:
    """Build the edge list. `asked.directed`, unless None, overrides the direction of the format.

    Args:
        read: the scanned edges of a file.
        facts: the findings of the reader.
        asked: the options.
        space: allocates the arrays of edges.
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
        f"{facts.format}.",
        f"{'Directed' if wanted else 'Undirected'}, {why}{detail}.",
        f"{plural(len(read.ids), 'vertex', 'vertices')}, {plural(len(read.source), 'edge')}"
        f"{f' of {listed:,} listed' if listed != len(read.source) else ''}.",
        *column_notes(read, facts.left_out, listed, asked),
        *facts.notes,
    ]
    return EdgeList(read.source, read.target, read.ids, read.columns, arcs, notes, facts.left_out, facts.warnings,
                    read.kinds)


def column_notes(read: Scanned, left_out: Mapping[str, LeftOut], listed: int, asked: Asked) -> list[str]:
    """Notes about the edge columns, dropped rows and filled cells.

    Args:
        read: the scanned edges.
        left_out: columns that could not be read: name -> reason.
        listed: the number of edges that the file lists.
        asked: the options.
    """
    notes = [_columns(read, left_out)]
    if read.dropped:
        notes.append(f"Missing cells: {plural(read.dropped, 'row')} of {listed + read.dropped:,} dropped.")
    if read.filled:
        notes.append(f"Missing cells: {plural(read.filled, 'cell')} taken as {asked.missing}.")
    return notes


def _columns(read: Scanned, left_out: Mapping[str, LeftOut]) -> str:
    if not read.columns and any(why.numbers for why in left_out.values()):
        return "No edge columns."
    if not read.columns:
        return "No weights: edge fields take their defaults."
    described = [f"{name} ({read.kinds.get(name) or values.dtype})" for name, values in read.columns.items()]
    return f"Edge column{'' if len(described) == 1 else 's'}: {', '.join(described)}."
