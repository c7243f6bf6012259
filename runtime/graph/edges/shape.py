"""The counts that determine how much memory a graph takes, before or after the graph is read."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import field
from typing import Any, Protocol

import numpy as np

from vlang.records import dataclass

__all__ = ["Counts", "Shape"]


class Counts(Protocol):
    """The properties of a graph by which the engine chooses the way to run a loop."""

    @property
    def n(self) -> int: ...
    @property
    def m(self) -> int: ...
    @property
    def directed(self) -> bool: ...
    @property
    def streamed(self) -> bool: ...

    def column_range(self, name: str) -> tuple[int | float, int | float]:
        """A lower and an upper bound of the values of an edge column."""


@dataclass(frozen=True)
class Shape:
    """The counts of a graph.

    Attributes:
        n: vertices.
        m: entries of the adjacency of in-edges; an undirected edge has an entry in both directions.
        directed: False if every edge is stored in both directions.
        columns: the stored type of each edge column.
        ruled: the names of the columns that a rule for weights computes on first use.
        listed: edges in the edge list, from which the first adjacency is built; 0 once an adjacency is built.
        built: the adjacencies in memory: a subset of "in", "out" and "both".
        ids: memory of the stored vertex ids, in bytes.
        reading: bytes that the reader needs in addition to the edges, ids and columns.
        exact: whether the counts are exact; False for estimates.
        streamed: whether the edges stay on disk.
        ordered: whether the rows are in another order than the ids (see order.py).
    """

    n: int
    m: int
    directed: bool
    columns: Mapping[str, np.dtype[Any]] = field(default_factory=dict)
    ruled: frozenset[str] = frozenset()
    listed: int = 0
    built: frozenset[str] = frozenset()
    ids: int = 0
    reading: int = 0
    exact: bool = True
    streamed: bool = False
    ordered: bool = False

    @property
    def width(self) -> int:
        """Bytes per edge of the stored columns, without columns that a rule computes."""
        return sum(dtype.itemsize for name, dtype in self.columns.items() if name not in self.ruled)

    @property
    def held(self) -> int:
        """Bytes of the edges, adjacencies and ids in memory."""
        rows = sum(4 * self.entries(kind) + 8 * (self.n + 1) + self.width * self.entries(kind) for kind in self.built)
        return self.listed * (8 + self.width) + rows + self.ids

    def column_range(self, name: str) -> tuple[float, float]:
        """Infinite bounds, because the column has not been read."""
        return -math.inf, math.inf

    def entries(self, kind: str) -> int:
        """The number of entries that the adjacency of a direction has."""
        return self.m * (2 if kind == "both" and self.directed else 1)

    def kept(self, kind: str) -> str:
        """The direction whose adjacency is kept in memory for `kind`; an undirected graph keeps only "in"."""
        return kind if self.directed else "in"
