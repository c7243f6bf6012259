"""The adjacency lists of a graph: an edge list until the first use, then in-edges and out-edges, each built once."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vlang.errors import GraphError
from vlang.runtime.graph.edges.columns import Column, describe
from vlang.runtime.graph.edges.edge_list import EdgeList
from vlang.runtime.graph.topology.adjacency import Adjacency, frozen
from vlang.runtime.graph.topology.build import MANY, EdgeScan, Rows, RowScan, build_rows
from vlang.runtime.graph.topology.listing import Listing
from vlang.runtime.graph.topology.neighbours import (
    Neighbours,
    common_neighbours,
    ordinals,
    simple_neighbours,
    sums_between,
)
from vlang.runtime.graph.topology.opposites import opposites
from vlang.runtime.graph.topology.transform import WeightRule, degrees, dropped, excess, merged, merged_values, tallied
from vlang.runtime.plan.derived import COMMON, OPPOSITE, ORDINAL, PLACE
from vlang.runtime.storage.room import require_room
from vlang.runtime.threads.activity import step

__all__ = ["WEIGHT", "Adjacencies"]

WEIGHT = "weight"

Array = NDArray[Any]


class Adjacencies:
    """In-edges, out-edges or both of n vertices, with degrees and edge columns. Threads may share an object.

    In an undirected graph all kinds share one adjacency, "in". The adjacency that is built first holds every stored
    column; the edge list is then freed. Other adjacencies are built from the first by transposition, with the requested
    columns only. If there is a `rule`, the column `weight` is computed by the rule for each adjacency that needs this
    column.
    """

    def __init__(
        self,
        n: int,
        directed: bool,
        source: EdgeList | tuple[str, Rows],
        *,
        rule: WeightRule | None = None,
        threads: int,
    ) -> None:
        """Store the source of the edges; adjacencies, degrees and columns are computed on first use.

        Args:
            n: the number of vertices.
            directed: False if every edge is stored in both directions.
            source: edges, or adjacency lists of kind "in" or "out".
            rule: the rule that computes the column `weight`; None if there is no such rule.
            threads: how many threads build adjacency lists.
        """
        self.n = n
        self.directed = directed
        self.threads = threads
        self.rule = rule
        self._lock = threading.RLock()
        self._built: dict[str, Adjacency] = {}
        self._degrees: dict[str, NDArray[np.uint32]] = {}
        self._excess: tuple[int, int] | None = None
        self._edges = source if isinstance(source, EdgeList) else None
        values = source.columns if isinstance(source, EdgeList) else source[1].columns
        self.columns: dict[str, Column] = {name: describe(v) for name, v in values.items()}
        if rule is not None:
            self.columns[WEIGHT] = rule.column
        if not isinstance(source, EdgeList):
            self._keep(source[0], source[1])

    @property
    def listed(self) -> int:
        """The number of edges in the list; 0 once the first adjacency is built."""
        return 0 if self._edges is None else len(self._edges.src)

    @property
    def built(self) -> frozenset[str]:
        """The kinds of adjacency in memory."""
        return frozenset(self._built)

    def adjacency(self, kind: str, columns: tuple[str, ...] = ()) -> Adjacency:
        """See `Graph.adjacency`."""
        kind = kind if self.directed else "in"
        with self._lock:
            if kind not in self._built:
                with step("building", f"the lists of {kind}-edges"):
                    self._keep(kind, self._rows(kind, columns))
                self._edges = None  # freed only after the build, so that an interrupt during the build loses no edges
            found = self._built[kind]
            for name in columns:
                found.column(name)
            return found

    def any(self) -> Adjacency:
        """The adjacency that holds every stored column; "in" is built if no adjacency exists yet."""
        with self._lock:
            return next(iter(self._built.values())) if self._built else self.adjacency("in")

    def neighbours(self) -> Neighbours:
        """The distinct neighbours of each vertex in either direction, without self-loops; computed once."""
        return simple_neighbours(self.adjacency("both"), self.threads)

    def between(self, way: str, name: str, dtype: np.dtype[Any]) -> Array:
        """A leading 0, then one sum per entry (a, b) of `neighbours`: the sum of a column over the edges from a to b.

        Args:
            way: "out" for the sums over the edges from a to b, "in" for the sums over the edges from b to a.
            name: the column; "" for the number of edges.
            dtype: the type of the sums.
        """
        adjacency = self.adjacency(way, (name,) if name else ())
        return np.asarray(adjacency.derived(("between", name, dtype.str), lambda: frozen(sums_between(
            self.neighbours(), adjacency, adjacency.column(name, dtype) if name else None, self.threads))))

    def degree(self, kind: str) -> NDArray[np.uint32]:
        """Lengths of the rows of an adjacency, uint32[n].

        Raises GraphError for a row of 2^32 entries or more, and OutOfMemory if the rows do not fit into memory.
        """
        kind = kind if self.directed else "in"
        with self._lock:
            if kind not in self._degrees:
                if self.n >= MANY:
                    require_room(12 * self.n, f"counting the degrees of {self.n:,} vertices")
                self._degrees[kind] = frozen(self._counted(kind))
            return self._degrees[kind]

    def source(self) -> EdgeList | tuple[str, Rows]:
        """The edge list if it still exists, else an adjacency with every stored column, as (kind, rows)."""
        with self._lock:
            if self._edges is not None:
                return self._edges
            base = self.any()
            names = [name for name in self.columns if self.rule is None or name != WEIGHT]
            return base.kind, Rows(base.offsets, base.targets, {name: base.stored(name) for name in names})

    def listing(self) -> Listing:
        """The edges as a list; builds no adjacency."""
        with self._lock:
            if self._edges is not None:
                return Listing.of_edges(self._edges, self.directed, self.columns, self.rule, self.threads)
            return Listing.of_adjacency(self.any(), self.threads)

    def excess(self) -> tuple[int, int]:
        """The numbers of self-loops and of parallel edges, with undirected edges counted once; cached."""
        with self._lock:
            if self._excess is None:
                self._excess = excess(self.any().offsets, self.any().targets, self.directed, self.threads)
            return self._excess

    def thinned(self, loops: bool, parallel: bool) -> tuple[Adjacencies, int, int]:
        """Drop self-loops (if `loops`) and parallel edges (if `parallel`).

        Returns the remaining edges, the number of dropped self-loops, and the number of dropped parallel edges.
        """
        base = self.any()
        rows = Rows(base.offsets, base.targets, {name: base.stored(name) for name in self.columns})
        by = next(iter(self.columns), None)
        rows, lost, more = dropped(rows, loops, parallel, self.directed, by, self.threads)
        return Adjacencies(self.n, self.directed, (base.kind, rows), threads=self.threads), lost, more

    def with_rule(self, rule: WeightRule) -> Adjacencies:
        """A new object for these edges, whose weights a rule computes. The object shares the adjacency lists that have
        been built.
        """
        with self._lock:
            if self._edges is not None:
                columns = {name: values for name, values in self._edges.columns.items() if name != WEIGHT}
                edges = replace(self._edges, columns=columns)
                return Adjacencies(self.n, self.directed, edges, rule=rule, threads=self.threads)
            kept = [name for name in self.columns if name != WEIGHT]
            shared = [
                (kind, Rows(a.offsets, a.targets, {c: a.stored(c) for c in kept if a.holds(c)}))
                for kind, a in self._built.items()
            ]
            other = Adjacencies(self.n, self.directed, shared[0], rule=rule, threads=self.threads)
            for kind, rows in shared[1:]:
                other._keep(kind, rows)
            other._degrees = dict(self._degrees)
            return other

    def changed(
        self, gone: tuple[Array, Array], new: tuple[Array, Array], values: Mapping[str, Array], n: int,
        places: Array | None,
    ) -> tuple[Adjacencies, int | None]:
        """Delete the edges `gone` from the adjacencies that are built, then insert the edges `new`.

        Args:
            gone: tails and heads of the edges to delete, by old numbers; all parallel edges are deleted.
            new: tails and heads of the edges to insert, by new numbers.
            values: column name -> value of each new edge, for all columns except a column that a rule computes.
            n: the new number of vertices.
            places: the new number of each old vertex; None if no number changes.

        Returns:
            The adjacencies, and the first index in `gone` whose edge does not exist; None if all edges of `gone` exist.
        """
        from vlang.runtime.graph.topology.edit_rows import entries_of, inserted, withdrawn  # start-up: it loads readers

        self.any()
        with self._lock:
            kinds = [kind for kind in self._built if kind != "both"]
            made: dict[str, Rows] = {}
            for kind in kinds:
                adjacency = self._built[kind]
                held = [c for c in self.columns if not self._by_rule(c) and (adjacency.holds(c) or kind == kinds[0])]
                rows = Rows(adjacency.offsets, adjacency.targets, {c: adjacency.stored(c) for c in held})
                of, others, edge = entries_of(*gone, kind, self.directed)
                rows, absent = withdrawn(rows, of, others)
                if absent.any():
                    return self, int(edge[absent].min())
                of, others, edge = entries_of(*new, kind, self.directed)
                if len(of) or places is not None:
                    rows = inserted(rows, of, others, {c: values[c][edge] for c in held}, n, places)
                made[kind] = rows
        first, *more = made
        other = Adjacencies(n, self.directed, (first, made[first]), rule=self.rule, threads=self.threads)
        for kind in more:
            other._keep(kind, made[kind])
        return other, None

    # ------------------------------------------------------------- building

    def _keep(self, kind: str, rows: Rows) -> None:
        kind = kind if self.directed else "in"
        self._built[kind] = Adjacency(kind, rows, self.columns, lambda name: self._fetched(kind, name), self._lock)

    def _rows(self, kind: str, columns: tuple[str, ...]) -> Rows:
        if kind == "both":
            return merged(self._bare("in"), self._bare("out"), self.threads)
        if self._edges is not None:
            return self._first(kind)
        return self._transposed([c for c in columns if c in self.columns and not self._by_rule(c)])

    def _first(self, kind: str) -> Rows:
        assert self._edges is not None
        edges = self._edges
        ends = (edges.dst, edges.src) if kind == "in" else (edges.src, edges.dst)
        return build_rows(EdgeScan(*ends, mirror=not self.directed), self.n, edges.columns, self.threads)

    def _transposed(self, columns: list[str]) -> Rows:
        base = self.any()
        values: Mapping[str, Array] = {name: base.stored(name) for name in columns}
        return build_rows(RowScan(base.offsets, base.targets), self.n, values, self.threads)

    def _bare(self, kind: str) -> Rows:
        adjacency = self.adjacency(kind)
        return Rows(adjacency.offsets, adjacency.targets, {})

    def _fetched(self, kind: str, name: str) -> Array:
        """Compute a column in the order of an adjacency that was built without this column."""
        if name == COMMON:
            return common_neighbours(self.adjacency("both"), self.adjacency(kind), self.threads)
        if name == OPPOSITE:
            return opposites(self.adjacency(kind), self.threads)
        if name == PLACE or (name == ORDINAL and kind != "both"):
            return ordinals(self.adjacency(kind), self.threads)
        if kind == "both":
            incoming, outgoing = (self.adjacency(k).stored(name) for k in ("in", "out"))
            return merged_values(self._bare("in"), self._bare("out"), incoming, outgoing, self.threads)
        if self._by_rule(name) and self.rule is not None:
            return self.rule.values(self._bare(kind), kind, self.directed, self.threads)
        return self._transposed([name]).columns[name]

    def _by_rule(self, name: str) -> bool:
        return name == WEIGHT and self.rule is not None

    def _counted(self, kind: str) -> NDArray[np.uint32]:
        if kind == "both":
            total = self.degree("in").astype(np.uint64) + self.degree("out")
            if self.n and total.max() >= 2**32:
                raise GraphError(f"a vertex has {total.max()} edges; degrees go up to {2**32 - 1}")
            return total.astype(np.uint32)
        other = self._built.get("out" if kind == "in" else "in")
        if kind in self._built or other is None or len(other) >= 2**32:
            return degrees(self.adjacency(kind).offsets)
        return tallied(other.targets, self.n, self.threads)
