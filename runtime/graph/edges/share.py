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
        why: the reason why the edges are directed or undirected, for the notes.
        doubtful: numbers of edges. If the whole file has one of these numbers of edges, the text may not be a list of
            edges, or needs a warning.
        declared: the numbers of vertices and edges that the file declares; None if the file declares no numbers.
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
