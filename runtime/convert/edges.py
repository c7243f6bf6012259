"""Edge lists with dense vertex numbers in arrays on disk, and their columns in the dtypes of the page file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from vlang.records import dataclass
from vlang.runtime.graph.edges.columns import narrowed_dtype
from vlang.runtime.graph.edges.edge_list import LeftOut, VertexIds
from vlang.runtime.graph.edges.kinds import Kind
from vlang.runtime.graph.notes import KEPT, kept_note
from vlang.runtime.graph.topology.transform import WeightRule

__all__ = ["ColumnValues", "Edges", "RuleColumn", "Source", "StoredColumn", "stored_columns"]

_BLOCK = 1 << 18

Array = NDArray[Any]


class ColumnValues(Protocol):
    """An edge column."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype in the page file."""

    def part(self, first: int, last: int) -> Array:
        """The values of the edges first..last-1 as a contiguous array of `dtype`."""


@dataclass(frozen=True)
class StoredColumn:
    """A column in an array whose dtype may be wider than the stored `dtype`."""

    values: Array
    dtype: np.dtype[Any]

    def part(self, first: int, last: int) -> Array:
        """See `ColumnValues`."""
        return self.values[first:last].astype(self.dtype, copy=False)


@dataclass(frozen=True)
class RuleColumn:
    """Weights computed from the numbers of the ends of an edge.

    Attributes:
        rule: the rule that computes the weights.
        src: uint32[E], the tails.
        dst: uint32[E], the heads.
        directed: whether u of the rule is the tail of an edge (True) or the smaller number (False).
    """

    rule: WeightRule
    src: NDArray[np.uint32]
    dst: NDArray[np.uint32]
    directed: bool

    @property
    def dtype(self) -> np.dtype[Any]:
        """The narrowest dtype for all values of the rule."""
        return self.rule.column.dtype

    def part(self, first: int, last: int) -> Array:
        """See `ColumnValues`."""
        return self.rule.of_ends(self.src[first:last], self.dst[first:last], self.directed)


@dataclass(frozen=True)
class Edges:
    """A list of edges on disk.

    Attributes:
        src, dst: uint32[E], dense vertex numbers of tails and heads.
        n: the number of vertices.
        columns: name -> values of the edge column.
        directed: False if the page file stores every edge in both directions.
        mirror: whether every edge is listed once but must be stored in both directions.
        loops: whether self-loops are kept.
    """

    src: NDArray[np.uint32]
    dst: NDArray[np.uint32]
    n: int
    columns: Mapping[str, ColumnValues] = field(default_factory=dict)
    directed: bool = True
    mirror: bool = False
    loops: bool = True

    def ends(self, kind: str) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
        """For each edge its row and its neighbour in the adjacency of a direction: two arrays, uint32[E]."""
        return (self.dst, self.src) if kind == "in" else (self.src, self.dst)

    @property
    def kinds(self) -> Sequence[str]:
        """The adjacency directions that the page file stores."""
        return ("in", "out") if self.directed else ("in",)


@dataclass(frozen=True)
class Source:
    """A graph whose edges are on disk.

    Attributes:
        edges: the edges.
        ids: the ids of all vertices.
        notes: sentences about the source.
        left_out: columns that could not be read: name -> reason.
        warnings: sentences about values that may be misinterpreted.
        kept: the kinds of edges in KEPT ("self-loops", "parallel edges") that were not dropped. The last note lists
            these kinds.
        sorted: whether the edges are in the order of the rows that the graph would have in memory. If both directions
            of edges are stored, parallel edges are stored in the order of these edges.
        fresh: whether the edges come from a list of edges, not from a stored graph; the notes of a stored graph already
            say what was kept.
        kinds: for each column of categories or times, by name: the meaning of its integers.
    """

    edges: Edges
    ids: VertexIds
    notes: list[str]
    left_out: Mapping[str, LeftOut] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    kept: tuple[str, ...] = KEPT
    sorted: bool = True
    fresh: bool = False
    kinds: Mapping[str, Kind] = field(default_factory=dict)

    def all_notes(self) -> list[str]:
        """All notes about the graph, as the page file stores them."""
        return [*self.notes, *kept_note(self.kept)]


def stored_columns(columns: Mapping[str, Array]) -> dict[str, ColumnValues]:
    """Choose the narrowest exact dtype of each column, as a graph in memory does. The values are not copied."""
    found: dict[str, ColumnValues] = {}
    for name, values in columns.items():
        blocks = (values[first : first + _BLOCK] for first in range(0, len(values), _BLOCK))
        found[name] = StoredColumn(values, narrowed_dtype(name, values.dtype, blocks))
    return found
