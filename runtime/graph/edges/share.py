"""A share of the edges of a file, as one of several processes reads it."""

from __future__ import annotations

from vlang.records import dataclass
from vlang.runtime.graph.edges.edge_list import EdgeList

__all__ = ["Share"]


@dataclass(frozen=True)
class Share:
    """Consecutive edges of a file.

    Attributes:
        edges: the edges, read as directed ones; the ids are those that occur in them.
        directed: the direction that the file declares.
        why: the reason for this direction, for the notes.
        doubtful: if the number of edges of the whole file is one of these numbers, the text may be no list of edges, or
            needs a warning.
        declared: the numbers of vertices and edges that the file declares; None if it declares none.
    """

    edges: EdgeList
    directed: bool
    why: str
    doubtful: frozenset[int] = frozenset()
    declared: tuple[int, int] | None = None
