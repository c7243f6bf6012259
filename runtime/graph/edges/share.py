"""A share of the edges of a file, as one of several processes reads it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vlang.records import dataclass
from vlang.runtime.graph.edges.edge_list import EdgeList

if TYPE_CHECKING:
    from vlang.runtime.graph.formats.archive import Checked

__all__ = ["SavedShare", "Share"]


@dataclass(frozen=True)
class Share:
    """Consecutive edges of a file.

    Attributes:
        edges: the edges, read as directed edges, with the ids that occur in these edges.
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


@dataclass(frozen=True)
class SavedShare(Share):
    """Consecutive entries of the rows of a graph that was saved. All shares have the ids of the whole graph, and an
    undirected edge has an entry in each direction.

    Attributes:
        rule: the limits of the rule that computes the column `weight`; None if there is no rule.
        checks: the checksum of this part of each array, in the order of the arrays.
    """

    rule: tuple[int, int] | None = None
    checks: tuple[Checked, ...] = ()
