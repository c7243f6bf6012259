"""The edges of a graph as a list, without adjacency lists: in the order of the file, or of an adjacency that exists."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from vlang.errors import GraphError
from vlang.records import dataclass
from vlang.runtime.graph.edges.columns import Column, cast
from vlang.runtime.graph.edges.edge_list import EdgeList
from vlang.runtime.graph.topology.adjacency import Adjacency
from vlang.runtime.graph.topology.build import Rows
from vlang.runtime.graph.topology.transform import WeightRule, listed_rows
from vlang.runtime.threads.workers import on_threads

__all__ = ["Listing"]

_CHUNK = 1 << 20  # edges whose weights are computed at once


@dataclass(frozen=True)
class Listing:
    """The edges of a graph as a list.

    Attributes:
        order: the order of the edges: "file", or the kind of the adjacency from which the list was made.
        src: uint32[E], the tails.
        dst: uint32[E], the heads.
        mirrored: whether each edge also has the opposite direction, which is not listed.
        columns: the dtype and range of each edge column, and how programs read its integers.
    """

    order: str
    src: NDArray[np.uint32]
    dst: NDArray[np.uint32]
    mirrored: bool
    columns: Mapping[str, Column]
    _stored: Callable[[str], NDArray[Any]]

    def column(self, name: str, dtype: DTypeLike) -> NDArray[Any]:
        """The values of an edge column as `dtype`, shape [E].

        Raises GraphError if there is no such column, or if a value does not fit the dtype.
        """
        if name not in self.columns:
            raise GraphError(f"the graph has no edge column {name!r}; it has: {', '.join(self.columns) or 'none'}")
        return np.ascontiguousarray(cast(name, self._stored(name), self.columns[name], dtype))

    def coded(self, columns: Mapping[str, Column]) -> Listing:
        """A copy of this list that reads its columns as `columns` describes."""
        return replace(self, columns=columns)

    @staticmethod
    def of_edges(
        edges: EdgeList, directed: bool, columns: Mapping[str, Column], rule: WeightRule | None, threads: int
    ) -> Listing:
        """The list of edges of a graph that has no adjacency lists yet.

        Args:
            edges: the edges.
            directed: False if every edge is listed once and means both directions.
            columns: the edge columns.
            rule: the rule that computes the column `weight`; None if there is no such rule.
            threads: how many threads compute weights.
        """
        def stored(name: str) -> NDArray[Any]:
            if name in edges.columns or rule is None:
                return edges.columns[name]
            out, given = np.empty(len(edges.src), dtype=rule.column.dtype), rule

            def work(first: int) -> None:
                part = slice(first, first + _CHUNK)
                out[part] = given.of_ends(edges.src[part], edges.dst[part], directed)

            on_threads(threads, work, range(0, len(out), _CHUNK))
            return out

        return Listing("file", edges.src, edges.dst, not directed, columns, stored)

    @staticmethod
    def of_adjacency(base: Adjacency, threads: int) -> Listing:
        """The entries of an adjacency of kind "in" or "out" as a list."""
        rows = base.derived(("listing",), lambda: listed_rows(Rows(base.offsets, base.targets, {}), threads))
        src, dst = (base.targets, rows) if base.kind == "in" else (rows, base.targets)
        return Listing(base.kind, src, dst, False, base.columns, base.stored)
