"""The state of a graph and the methods that read it: counts, columns, ids, notes and adjacency lists."""

from __future__ import annotations

import os
import weakref
from collections.abc import Iterable, Mapping
from copy import copy
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from vlang.errors import GraphError
from vlang.runtime.graph.edges.columns import Column, narrowed
from vlang.runtime.graph.edges.edge_list import EdgeList, LeftOut, VertexIds, taken
from vlang.runtime.graph.edges.kinds import Coding, Kind, coding_of
from vlang.runtime.graph.edges.order import Order
from vlang.runtime.graph.edges.shape import Shape
from vlang.runtime.graph.edges.texts import TextVertexIds
from vlang.runtime.graph.notes import KEPT, kept_note, stored_note, symmetrized_note
from vlang.runtime.graph.topology.adjacencies import Adjacencies
from vlang.runtime.graph.topology.adjacency import KINDS, Adjacency
from vlang.runtime.graph.topology.build import MANY, Rows
from vlang.runtime.graph.topology.listing import Listing
from vlang.runtime.graph.topology.neighbours import Neighbours
from vlang.runtime.graph.topology.transform import WeightRule, count_loops
from vlang.runtime.storage.device_copies import DeviceCopies
from vlang.runtime.storage.disk_arrays import DiskArrays
from vlang.runtime.storage.ledger import ledger
from vlang.runtime.storage.room import require_room
from vlang.runtime.threads.processors import available_threads

if TYPE_CHECKING:
    from vlang.runtime.graph.pickled import Source
    from vlang.runtime.graph.topology.stored import StoredAdjacencies, StoredEdges
    from vlang.runtime.graph.vertex_columns import VertexColumns

__all__ = ["HeldGraph"]

_TEXT_ID = 72  # approximate bytes of an id that is a string: the object and its array entry


class HeldGraph:
    """The state of a `Graph`, built from an edge list, from adjacency lists or from pages on disk."""

    name: str
    n: int
    m: int
    directed: bool
    ids: VertexIds
    order: Order | None
    threads: int
    left_out: Mapping[str, LeftOut]
    warnings: tuple[str, ...]
    stored: StoredEdges | None = None
    seal: str = ""
    vertex_columns: VertexColumns | None = None
    device_copies: DeviceCopies
    kinds: Mapping[str, Kind] = MappingProxyType({})
    _notes: list[str]
    _kept: tuple[str, ...]
    _adjacencies: Adjacencies | StoredAdjacencies
    _base: Self | None = None  # if `read_as` made this graph, the original graph
    _other: Self | None = None  # the graph that `read_as` made most recently
    _codings: Mapping[str, Coding] = MappingProxyType({})
    _coded: dict[str, Adjacency]  # if `read_as` made this graph, its adjacency lists
    _source: Source | None = None  # how the graph was read; None if it was changed since
    _light: Source | None = None  # if set, a pickle holds this instead of the arrays

    def __init__(
        self,
        edges: EdgeList,
        *,
        name: str = "graph",
        symmetrize: bool = False,
        threads: int | None = None,
    ) -> None:
        """Take ownership of an edge list. The arrays of the list are not copied, and become read-only.

        Args:
            edges: the edges.
            name: name of the graph, for messages.
            symmetrize: store both directions of every edge.
            threads: how many threads build adjacency lists; None for one per processor.

        Raises:
            GraphError: the lengths of the arrays differ, a vertex number is out of range, or a column is not numeric.
        """
        edges = _checked(edges)
        threads = threads or available_threads()
        directed = edges.directed and not symmetrize
        loops = 0 if directed else count_loops(edges.src, edges.dst, threads)
        self._notes = list(edges.notes)
        self.left_out: Mapping[str, LeftOut] = MappingProxyType(dict(edges.left_out))
        self.warnings = tuple(edges.warnings)
        self.kinds = MappingProxyType(dict(edges.kinds))
        self._kept: tuple[str, ...] = KEPT
        if symmetrize and edges.directed:
            self._notes.append(symmetrized_note(len(edges.src)))
        self._take(name, edges.ids, len(edges.src) * (1 if directed else 2) - loops,
                   Adjacencies(len(edges.ids), directed, edges, threads=threads))  # fmt: skip

    @classmethod
    def from_rows(
        cls,
        kind: str,
        rows: Rows,
        ids: VertexIds,
        *,
        directed: bool,
        rule: WeightRule | None = None,
        name: str = "graph",
        notes: Iterable[str] = (),
        left_out: Mapping[str, LeftOut] = MappingProxyType({}),
        threads: int | None = None,
        order: Order | None = None,
        seal: str = "",
        kinds: Mapping[str, Kind] = MappingProxyType({}),
    ) -> Self:
        """A graph of valid adjacency lists in canonical order (see `adjacency`).

        Args:
            kind: "in" or "out", the direction of `rows`.
            rows: the adjacency lists, with their edge columns.
            ids: the ids of all vertices.
            directed: False if every edge is stored in both directions.
            rule: the rule that computes the column `weight`; None if there is no such rule.
            name: name of the graph, for messages.
            notes: sentences about the source.
            left_out: columns that could not be read: name -> reason.
            threads: how many threads build further adjacency lists.
            order: the order of the rows; None if rows are in the order of the ids.
            seal: checksum that identifies the page file from which the graph was read; "" for other graphs.
            kinds: the meaning of the integers in columns of categories and times, by name of the column.
        """
        graph = object.__new__(cls)
        graph._notes, graph._kept, graph.left_out, graph.warnings = list(notes), (), left_out, ()
        graph.seal, graph.kinds = seal, kinds
        built = Adjacencies(len(ids), directed, (kind, rows), rule=rule, threads=threads or available_threads())
        graph._take(name, ids, len(rows.targets), built, order)
        return graph

    @classmethod
    def on_pages(
        cls, stored: StoredEdges, ids: VertexIds, notes: Iterable[str] = (),
        left_out: Mapping[str, LeftOut] = MappingProxyType({}), threads: int | None = None, order: Order | None = None,
        kinds: Mapping[str, Kind] = MappingProxyType({}),
    ) -> Self:
        """A graph whose edges stay on disk.

        Programs stream the pages; methods that need adjacency lists raise GraphError.

        Args:
            stored: the edges.
            ids: the ids of all vertices.
            notes: sentences about the source.
            left_out: columns that could not be read: name -> reason.
            threads: how many threads build the adjacency lists of derived graphs.
            order: the order of the rows; None if rows are in the order of the ids.
            kinds: the meaning of the integers in columns of categories and times, by name of the column.
        """
        from vlang.runtime.graph.topology.stored import StoredAdjacencies  # start-up

        graph = object.__new__(cls)
        graph._notes, graph._kept, graph.left_out, graph.warnings = list(notes), (), left_out, ()
        graph.stored, graph.seal, graph.kinds = stored, stored.seal, kinds
        graph._take(stored.name, ids, stored.m, StoredAdjacencies(stored, threads or available_threads()), order)
        return graph

    def _take(
        self, name: str, ids: VertexIds, m: int, adjacencies: Adjacencies | StoredAdjacencies,
        order: Order | None = None,
    ) -> None:
        self.name = name
        self.ids = ids
        self.n = len(ids)
        self.m = m
        self.directed = adjacencies.directed
        self.threads = adjacencies.threads
        self._adjacencies = adjacencies
        self.order = order
        self.device_copies = DeviceCopies()

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences about how the graph was read and how it was changed."""
        return (*self._notes, *kept_note(self._kept), f"Stored: {self._summary()}.")

    @property
    def columns(self) -> Mapping[str, np.dtype[Any]]:
        """The edge columns: name -> stored dtype."""
        return MappingProxyType({name: column.dtype for name, column in self._adjacencies.columns.items()})

    def column_range(self, name: str) -> tuple[int | float, int | float]:
        """Bounds of the values of an edge column: (0, 0) if there are no edges, NaN if a value is NaN. Raises KeyError.
        """
        column, coding = self._adjacencies.columns[name], self._codings.get(name)
        if coding is not None and self.m:
            return coding.bounds(int(column.low), int(column.high))
        return column.low, column.high

    def read_as(self, kinds: Mapping[str, Kind]) -> Self:
        """This graph with other lists of names, or other units, for columns of categories or times.

        Both graphs share all adjacency lists; a run converts the values when it reads them. The result is this graph
        itself if its columns already have these kinds. The most recent result is cached.

        `kinds` maps the name of each column of categories or times to all names of its categories, or to the unit of
        its times.
        """
        base = self if self._base is None else self._base
        codings = {name: coding_of(base.kinds[name], kind) for name, kind in kinds.items()}
        changed = {name: coding for name, coding in codings.items() if coding is not None}
        if not changed:
            return base
        if base._other is None or base._other.kinds != {**base.kinds, **kinds}:
            other = copy(base)
            other._base, other._other, other._codings, other._coded = base, None, changed, {}
            other.kinds = MappingProxyType({**base.kinds, **kinds})
            if base.stored is not None:
                other.stored = base.stored.coded(_coded(base.stored.columns, changed))
            base._other = other
        return base._other

    @property
    def as_stored(self) -> Self:
        """The graph from which `read_as` made this graph; this graph itself if `read_as` did not make it."""
        return self if self._base is None else self._base

    @property
    def rule(self) -> WeightRule | None:
        """The rule that computes the column `weight`, or None."""
        return self._adjacencies.rule

    def find(self, vertex: object) -> int:
        """The dense number of a vertex id. Raises GraphError if the graph has no vertex with this id."""
        return self.ids.find(vertex)

    def label(self, vertex: int) -> int | str:
        """The id of a dense vertex number."""
        return self.ids.label(vertex)

    @property
    def streamed(self) -> bool:
        """Whether the edges are on disk, so that a run streams them."""
        return self.stored is not None

    @property
    def order_bytes(self) -> int:
        """The memory that the order of the rows takes, in bytes; 0 if `order` is None or in a file."""
        return 0 if self.order is None or self.order.in_file else 2 * self.order.dense.nbytes

    def order_to_file(self) -> None:
        """Move the order of the rows from memory to a file beside the page file, for a run with a small memory budget.

        A run reads the order only at its beginning and its end. Does nothing if the folder cannot be written.
        """
        folder = "" if self.stored is None else os.path.dirname(self.stored.path)
        if not self.order_bytes or not os.access(folder or os.curdir, os.W_OK):
            return
        assert self.order is not None
        before, was = ledger.used, weakref.ref(self.order)
        moved, nbytes = self.order.moved(DiskArrays(Path(folder)).empty), self.order_bytes
        base = self.as_stored
        for graph in (self, base, base._other):
            if graph is not None:
                graph.order = moved
        if was() is None:
            ledger.given_back(nbytes - (before - ledger.used))

    def shape(self) -> Shape:
        """The counts of the graph, and the parts of it that are in memory."""
        apart = self.ids.consecutive or isinstance(self.ids, TextVertexIds)  # not stored, or in a file
        ids = 0 if apart else (_TEXT_ID if self.ids.text else 8) * self.n
        held, ruled = self._adjacencies, frozenset() if self.rule is None else frozenset({"weight"})
        return Shape(self.n, self.m, self.directed, self.columns, ruled, held.listed, held.built, ids,
                     streamed=self.streamed, ordered=self.order is not None)

    def __repr__(self) -> str:
        return f"<Graph {self.name}: {self._summary()}>"

    def _summary(self) -> str:
        return stored_note(self.directed, self.n, self.m)

    def adjacency(self, kind: str, columns: Iterable[str] = ()) -> Adjacency:
        """Adjacency lists of kind "in", "out" or "both", with at least these edge columns in memory.

        In a directed graph, the kind "both" has 2 m entries: each row merges the in-edges and the out-edges of a vertex
        by neighbour, with in-edges first if neighbours are equal. In an undirected graph all three kinds are one
        object. Rows and neighbours have dense numbers, or internal numbers if `order` is not None. Raises GraphError
        for an unknown column.
        """
        if kind not in KINDS:
            raise ValueError(f"kind {kind!r} is none of {', '.join(KINDS)}")
        made = self._adjacencies.adjacency(kind, tuple(columns))
        if not self._codings:
            return made
        if made.kind not in self._coded:
            self._coded[made.kind] = made.coded(_coded(made.columns, self._codings))
        return self._coded[made.kind]

    def listing(self) -> Listing:
        """The edges as a list, in the order of the file until the first adjacency is built; builds no adjacency.

        Raises GraphError if the edges are on disk.
        """
        made = self._adjacencies.listing()
        return made.coded(_coded(made.columns, self._codings)) if self._codings else made

    def holds(self, kind: str, column: str) -> bool:
        """Return whether an adjacency is in memory, and has a column in the order of its entries."""
        there = kind if self.directed else "in"
        return not self.streamed and there in self._adjacencies.built and self.adjacency(there).holds(column)

    def neighbours(self) -> Neighbours:
        """The distinct neighbours of each vertex in either direction, without self-loops.

        The lists are built on first use, and cached.
        """
        return self._adjacencies.neighbours()

    def between(self, way: str, name: str, dtype: np.dtype[Any]) -> NDArray[Any]:
        """The sums of an edge column between neighbours: see `Adjacencies.between`."""
        return self._adjacencies.between(way, name, dtype)

    def excess(self) -> tuple[int, int]:
        """The numbers of self-loops and of parallel edges; an undirected edge is counted once.

        A self-loop that repeats another is counted in both numbers. The numbers are computed on first use.
        """
        return self._adjacencies.excess()

    @property
    def out_degree(self) -> NDArray[np.uint32]:
        """The out-degree of each vertex, uint32[n]; in an undirected graph, the number of its stored edges."""
        return self._by_ids(self.row_lengths("out"))

    @property
    def in_degree(self) -> NDArray[np.uint32]:
        """The in-degree of each vertex, uint32[n]; in an undirected graph, the number of its stored edges."""
        return self._by_ids(self.row_lengths("in"))

    @property
    def degree(self) -> NDArray[np.uint32]:
        """in_degree + out_degree, uint32[n]; in an undirected graph, the number of stored edges of each vertex."""
        return self._by_ids(self.row_lengths("both"))

    def row_lengths(self, kind: str) -> NDArray[np.uint32]:
        """The length of each row of the adjacency `kind` ("in", "out" or "both"), uint32[n]."""
        return self._adjacencies.degree(kind)

    def _by_ids(self, values: NDArray[np.uint32]) -> NDArray[np.uint32]:
        return values if self.order is None else self.order.outward(values)

    def built(self) -> Adjacency:
        """An adjacency that holds every stored column; "in" is built if no adjacency exists yet."""
        return self._adjacencies.any()


def _coded(columns: Mapping[str, Column], codings: Mapping[str, Coding]) -> dict[str, Column]:
    return {name: replace(column, coding=codings.get(name)) for name, column in columns.items()}


def _checked(edges: EdgeList) -> EdgeList:
    """The edge list, checked, with narrowed columns and contiguous read-only arrays, because kernels do not check
    indices.
    """
    if len(edges.ids) >= MANY:  # a few bytes of a file may declare many vertices
        require_room(8 * (len(edges.ids) + 1), f"an adjacency of {len(edges.ids):,} vertices")
    src, dst = (taken(np.ascontiguousarray(ends, dtype=np.uint32)) for ends in (edges.src, edges.dst))
    if len(src) != len(dst):
        raise GraphError(f"src has {len(src)} entries and dst {len(dst)}: one of each for an edge")
    for ends in (src, dst):
        if len(ends) and int(ends.max()) >= len(edges.ids):
            raise GraphError(f"an edge ends at vertex number {ends.max()}, but there are {len(edges.ids)} vertices")
    columns = {name: taken(np.ascontiguousarray(narrowed(name, v))) for name, v in edges.columns.items()}
    for name, values in columns.items():
        if len(values) != len(src):
            raise GraphError(f"edge column {name!r} has {len(values)} values for {len(src)} edges")
    return replace(edges, src=src, dst=dst, columns=columns)
