"""The counts of a graph that say how much memory it takes: known before the graph is read, or of a graph in memory."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

__all__ = ["Counts", "Shape"]


class Counts(Protocol):
    """The part of a graph by which a loop chooses its way."""

    @property
    def n(self) -> int: ...
    @property
    def m(self) -> int: ...
    @property
    def directed(self) -> bool: ...
    @property
    def streamed(self) -> bool: ...

    def column_range(self, name: str) -> tuple[int | float, int | float]:
        """Bounds of the values of an edge column."""


@dataclass(frozen=True)
class Shape:
    """The counts of a graph.

    Attributes:
        n: vertices.
        m: entries of its adjacency of in-edges: both directions of an undirected edge.
        directed: False if every edge is stored in both directions.
        columns: the stored type of each edge column.
        ruled: the columns among them that a rule computes when they are first read.
        listed: edges in the list from which the first adjacency is built; 0 once there is one.
        built: the adjacencies in memory, of "in", "out" and "both".
        ids: bytes of the ids.
        reading: bytes that the reader needs beside the edges, ids and columns.
        exact: whether the counts are those of the graph, and not estimates.
        streamed: whether the edges stay on disk.
        ordered: whether the rows have an order of their own.
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
        """Bytes of the stored columns of an edge, without those computed by a rule."""
        return sum(dtype.itemsize for name, dtype in self.columns.items() if name not in self.ruled)

    @property
    def held(self) -> int:
        """Bytes of the edges, adjacencies and ids in memory."""
        rows = sum(4 * self.entries(kind) + 8 * (self.n + 1) + self.width * self.entries(kind) for kind in self.built)
        return self.listed * (8 + self.width) + rows + self.ids

    def column_range(self, name: str) -> tuple[float, float]:
        """Bounds of a column that has not been read: none."""
        return -math.inf, math.inf

    def entries(self, kind: str) -> int:
        """Entries of an adjacency direction."""
        return self.m * (2 if kind == "both" and self.directed else 1)

    def kept(self, kind: str) -> str:
        """The direction whose adjacency is kept in memory: an undirected graph has one for all."""
        return kind if self.directed else "in"
