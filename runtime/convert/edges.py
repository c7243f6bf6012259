"""Edges with dense vertex numbers in arrays on the disk, and their columns as they will be stored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from vlang.runtime.graph.edges.columns import narrowed_dtype
from vlang.runtime.graph.edges.edge_list import LeftOut, VertexIds
from vlang.runtime.graph.notes import KEPT, kept_note
from vlang.runtime.graph.topology.transform import WeightRule

__all__ = ["ColumnValues", "Edges", "RuleColumn", "Source", "StoredColumn", "stored_columns"]

_BLOCK = 1 << 18

Array = NDArray[Any]


class ColumnValues(Protocol):
    """An edge column."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """As it will be stored."""

    def part(self, first: int, last: int) -> Array:
        """The values of the edges first..last-1, of `dtype`, contiguous."""


@dataclass(frozen=True)
class StoredColumn:
    """A column in an array, of a wider type perhaps."""

    values: Array
    dtype: np.dtype[Any]

    def part(self, first: int, last: int) -> Array:
        """See ColumnValues."""
        return self.values[first:last].astype(self.dtype, copy=False)


@dataclass(frozen=True)
class RuleColumn:
    """Weights computed from the numbers of the ends of an edge.

    Attributes:
        rule: computes them.
        src: uint32[E], the tails.
        dst: uint32[E], the heads.
        directed: whether tail and head differ for the rule.
    """

    rule: WeightRule
    src: NDArray[np.uint32]
    dst: NDArray[np.uint32]
    directed: bool

    @property
    def dtype(self) -> np.dtype[Any]:
        """The narrowest type for all values of the rule."""
        return self.rule.column.dtype

    def part(self, first: int, last: int) -> Array:
        """See ColumnValues."""
        return self.rule.of_ends(self.src[first:last], self.dst[first:last], self.directed)


@dataclass(frozen=True)
class Edges:
    """A list of edges.

    Attributes:
        src, dst: uint32[E], dense numbers.
        n: the number of vertices.
        columns: by name.
        directed: False if the page file stores every edge in both directions.
        mirror: whether every edge is listed once and stored in both directions.
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
        """The rows and the neighbours of a direction."""
        return (self.dst, self.src) if kind == "in" else (self.src, self.dst)

    @property
    def kinds(self) -> Sequence[str]:
        """The directions that a page file stores."""
        return ("in", "out") if self.directed else ("in",)


@dataclass(frozen=True)
class Source:
    """A graph whose edges are on the disk.

    Attributes:
        edges: the edges.
        ids: the ids of all vertices.
        notes: sentences about the source.
        left_out: columns that could not be read.
        warnings: sentences about what may be read wrongly.
        kept: what is kept, of KEPT; the last note says so.
        sorted: whether the order of the edges is that of the rows of the graph in memory, which decides the order of
            parallel edges once both directions of edges are stored.
        fresh: whether the edges were never part of a graph; its notes then say what is kept.
    """

    edges: Edges
    ids: VertexIds
    notes: list[str]
    left_out: Mapping[str, LeftOut] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    kept: tuple[str, ...] = KEPT
    sorted: bool = True
    fresh: bool = False

    def all_notes(self) -> list[str]:
        """The notes as a page file stores them."""
        return [*self.notes, *kept_note(self.kept)]


def stored_columns(columns: Mapping[str, Array]) -> dict[str, ColumnValues]:
    """Columns in the narrowest exact types, as a graph in memory stores them; the values stay where they are."""
    found: dict[str, ColumnValues] = {}
    for name, values in columns.items():
        blocks = (values[first : first + _BLOCK] for first in range(0, len(values), _BLOCK))
        found[name] = StoredColumn(values, narrowed_dtype(name, values.dtype, blocks))
    return found
