"""The graph: vertices with the user's ids, edges with columns, and adjacency lists built when first needed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from vlang.errors import GraphError
from vlang.runtime.graph.edges.columns import narrowed
from vlang.runtime.graph.edges.edge_list import EdgeList, LeftOut, VertexIds, taken
from vlang.runtime.graph.topology.adjacency import KINDS, Adjacency
from vlang.runtime.graph.topology.build import Rows
from vlang.runtime.graph.topology.neighbours import Neighbours
from vlang.runtime.graph.topology.orientations import Orientations
from vlang.runtime.graph.topology.transform import WeightRule, count_loops, listed_rows
from vlang.runtime.threads.workers import available_threads

__all__ = ["Graph"]


class Graph:
    """A graph that programs run on; its public side never changes, and threads may share it.

    name: for messages. n: vertices. m: stored directed edges; an undirected edge counts twice, an undirected
    self-loop once. directed: False if every edge is stored in both directions. ids: the user's vertex ids.
    threads: how many build adjacency lists. left_out: columns of the source of the edges that are no numbers, by name,
    each with the reason.

    Made by `Graph.read`, `from_edges`, `from_scipy`, `from_networkx`. Adjacency lists are built on first need, by the
    thread that asks; the edge list is let go when the first orientation is there.
    """

    def __init__(
        self,
        edges: EdgeList,
        *,
        name: str = "graph",
        symmetrize: bool = False,
        threads: int | None = None,
    ) -> None:
        """Take over an edge list: its arrays are the graph's and read-only from now on, and not copied.

        symmetrize: store both directions of every edge. Raises GraphError for arrays that do not fit together.
        """
        edges = _checked(edges)
        threads = threads or available_threads()
        directed = edges.directed and not symmetrize
        loops = 0 if directed else count_loops(edges.src, edges.dst, threads)
        self._said = list(edges.notes)
        self.left_out: Mapping[str, LeftOut] = MappingProxyType(dict(edges.left_out))
        self._kept: tuple[str, ...] = ("self-loops", "parallel edges")
        if symmetrize and edges.directed:
            self._said.append(f"Symmetrized: both directions of {len(edges.src):,} directed edges.")
        self._take(name, edges.ids, len(edges.src) * (1 if directed else 2) - loops,
                   Orientations(len(edges.ids), directed, edges, threads=threads))  # fmt: skip

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
    ) -> Graph:
        """A graph of sound adjacency lists of kind "in" or "out" in the canonical order, as `adjacency` has them."""
        graph = object.__new__(cls)
        graph._said, graph._kept, graph.left_out = list(notes), (), left_out
        built = Orientations(len(ids), directed, (kind, rows), rule=rule, threads=threads or available_threads())
        graph._take(name, ids, len(rows.targets), built)
        return graph

    def _take(self, name: str, ids: VertexIds, m: int, orientations: Orientations) -> None:
        self.name = name
        self.ids = ids
        self.n = len(ids)
        self.m = m
        self.directed = orientations.directed
        self.threads = orientations.threads
        self._orientations = orientations

    # ------------------------------------------------------------- what it is

    @property
    def notes(self) -> tuple[str, ...]:
        """What was read and done, a sentence each."""
        kept = (f"{' and '.join(self._kept)} kept.".capitalize(),) if self._kept else ()
        return (*self._said, *kept, f"Stored: {self._summary()}.")

    @property
    def columns(self) -> Mapping[str, np.dtype[Any]]:
        """The edge columns: name -> dtype as stored."""
        return MappingProxyType({name: column.dtype for name, column in self._orientations.columns.items()})

    def column_range(self, name: str) -> tuple[int | float, int | float]:
        """Bounds of the values of an edge column; (0, 0) without edges, NaN if a value is NaN. KeyError if unknown."""
        column = self._orientations.columns[name]
        return column.low, column.high

    @property
    def rule(self) -> WeightRule | None:
        """The rule by which the column `weight` is computed, if it is."""
        return self._orientations.rule

    def find(self, vertex: object) -> int:
        """The dense number of a vertex id. Raises GraphError if it is not there."""
        return self.ids.find(vertex)

    def label(self, vertex: int) -> int | str:
        """The id of a dense vertex number."""
        return self.ids.label(vertex)

    def __repr__(self) -> str:
        return f"<Graph {self.name}: {self._summary()}>"

    def _summary(self) -> str:
        if self.directed:
            return f"directed, {self.n:,} vertices, {self.m:,} edges"
        return f"undirected, {self.n:,} vertices, {self.m:,} edges, each one counted in both directions"

    # ------------------------------------------------------------- edges

    def adjacency(self, kind: str, columns: Iterable[str] = ()) -> Adjacency:
        """Adjacency lists of kind "in", "out" or "both", with at least these edge columns in memory.

        "both" is, in a directed graph, in-edges and out-edges of each vertex in one list by neighbour, in-edges first
        among equals: 2 m entries. In an undirected graph all three are one object. Raises GraphError for a column
        that the graph does not have.
        """
        if kind not in KINDS:
            raise ValueError(f"kind {kind!r} is none of {', '.join(KINDS)}")
        return self._orientations.adjacency(kind, tuple(columns))

    def neighbours(self) -> Neighbours:
        """The neighbours of each vertex, directions, loops and repetitions ignored; made on first use, and kept."""
        return self._orientations.neighbours()

    @property
    def out_degree(self) -> NDArray[np.uint32]:
        """Edges that leave each vertex, uint32[n]; in an undirected graph all its stored edges."""
        return self._orientations.degree("out")

    @property
    def in_degree(self) -> NDArray[np.uint32]:
        """Edges that arrive at each vertex, uint32[n]; in an undirected graph all its stored edges."""
        return self._orientations.degree("in")

    @property
    def degree(self) -> NDArray[np.uint32]:
        """in_degree + out_degree, uint32[n]; in an undirected graph all stored edges of each vertex, each once."""
        return self._orientations.degree("both")

    def built(self) -> Adjacency:
        """Adjacency lists that are there and hold every stored column; "in" is built if none are."""
        return self._orientations.any()

    def edges(self, both: bool = False) -> EdgeList:
        """The edges as a list in the order of the adjacency lists there are.

        An undirected edge is listed once, with `both` in both directions.
        """
        base = self.built()
        rows = listed_rows(Rows(base.offsets, base.targets, {}), self.threads)
        tails, heads = (base.targets, rows) if base.kind == "in" else (rows, base.targets)
        columns = {name: base.stored(name) for name in self.columns}
        if not self.directed and not both:
            once = tails <= heads
            tails, heads = tails[once], heads[once]
            columns = {name: values[once] for name, values in columns.items()}
        return EdgeList(tails, heads, self.ids, columns, self.directed, list(self._said), dict(self.left_out))

    def thinned(self, self_loops: str = "keep", parallel: str = "keep") -> Graph:
        """This graph without self-loops or parallel edges, as "keep" or "drop" says of each, and with a note of it.

        Of parallel edges the one with the smallest value of the first column stays, the first one listed if they are
        equal; the two directions of an undirected edge fare alike. Raises GraphError for another word.
        """
        for option, value in (("self_loops", self_loops), ("parallel", parallel)):
            if value not in ("keep", "drop"):
                raise GraphError(f"{option}={value!r}: give 'keep' or 'drop'")
        if self_loops == parallel == "keep":
            return self
        thin, lost, more = self._orientations.thinned(self_loops == "drop", parallel == "drop")
        other = self._varied(thin, len(thin.any()))
        if self_loops == "drop":
            other._say(f"{lost:,} self-loops dropped.", "self-loops")
        if parallel == "drop":
            by = next(iter(self.columns), None)
            which = f"of several the one with the smallest {by} stays" if by else "one of several stays"
            other._say(f"{more:,} parallel edges dropped: {which}.", "parallel edges")
        return other

    def changed(self, added: Any = None, removed: Any = None) -> Graph:
        """This graph without the edges `removed`, and then with the edges `added`; see `vlang.runtime.graph.edit`.

        removed: pairs of vertices, [k, 2], or {"src": [k], "dst": [k]}; all parallel edges between two vertices go, and
        the vertices stay. added: the same, with the values of every edge column by its name, [k] each: pairs do for a
        graph without columns. Ends that the graph does not have are new vertices. An edge that is there already becomes
        parallel. In an undirected graph an edge stands for both directions. Raises GraphError, also for an edge to be
        removed that is not there.
        """
        from vlang.runtime.graph.edit import change  # start-up

        return change(self, added, removed).graph

    def with_rule_weights(self, low: int, high: int) -> Graph:
        """This graph with the edge column `weight` = low + (31 u + 17 v) mod (high - low + 1).

        u and v are dense vertex numbers: tail and head in a directed graph, the smaller and the larger in an
        undirected one. A column of that name is replaced. What is built is shared.
        """
        rule = WeightRule(int(low), int(high))
        ends = "tail u, head v" if self.directed else "smaller number u, larger v"
        other = self._varied(self._orientations.with_rule(rule), self.m)
        other.left_out = MappingProxyType({name: why for name, why in self.left_out.items() if name != "weight"})
        other._say(f"Weight by rule: {low} + (31 u + 17 v) mod {high - low + 1}, {ends}.")
        return other

    def of_rows(self, rows: Rows, ids: VertexIds, rule: WeightRule | None) -> Graph:
        """A graph like this one of other in-edges (see `from_rows`)."""
        return Graph.from_rows("in", rows, ids, directed=self.directed, rule=rule, threads=self.threads)

    def _with(self, ids: VertexIds, orientations: Orientations, note: str) -> Graph:
        """Only for what makes graphs of others: one with these ids and lists."""
        other = object.__new__(Graph)
        other._said, other._kept, other.left_out = [*self._said, note], self._kept, self.left_out
        other._take(self.name, ids, len(orientations.any()), orientations)
        return other

    def _varied(self, orientations: Orientations, m: int) -> Graph:
        other = object.__new__(Graph)
        other._said, other._kept, other.left_out = list(self._said), self._kept, self.left_out
        other._take(self.name, self.ids, m, orientations)
        return other

    def _say(self, note: str, dropped: str = "") -> None:
        """Only while the graph is made: a note, and what of self-loops and parallel edges is no longer kept."""
        self._said.append(note)
        self._kept = tuple(kind for kind in self._kept if kind != dropped)

    # ------------------------------------------------------------- where graphs come from

    @staticmethod
    def read(
        path: str | Path,
        directed: bool | None = None,
        symmetrize: bool = False,
        weights: str | None = None,
        self_loops: str = "keep",
        parallel: str = "keep",
        threads: int | None = None,
        columns: Iterable[str] | None = None,
        missing: str | float = "error",
    ) -> Graph:
        """The graph of a file, or of a generator such as `kron:20` or `karate`; a file of that name comes first.

        Args:
            directed: None believes the file.
            symmetrize: store both directions of every edge.
            weights: "LO..HI" for integer weights by rule (see `with_rule_weights`), else the name of the column of the
                file that becomes `weight`, or its number from 1.
            self_loops, parallel: "keep" or "drop".
            columns: names of the edge columns that programs will read. In these every cell must be a number; others
                that are not numbers are left out, and a program that has an edge field of that name is refused with
                the reason. None stands for `weight`, if the file has one.
            missing: what a cell without a value means: "error"; "drop", by which a row goes if the cell is in one of
                `columns` or that of `weights`; or a number, which takes its place.

        Raises GraphError, DiskError.
        """
        from vlang.runtime.graph.sources import read  # start-up

        return read(Graph, path, directed, symmetrize, weights, self_loops, parallel, threads, columns, missing)

    @staticmethod
    def from_edges(
        src: ArrayLike,
        dst: ArrayLike,
        *,
        directed: bool = True,
        n: int | None = None,
        ids: ArrayLike | None = None,
        symmetrize: bool = False,
        self_loops: str = "keep",
        parallel: str = "keep",
        name: str = "graph",
        threads: int | None = None,
        columns: Mapping[str, ArrayLike] | None = None,
        **edge_columns: ArrayLike,
    ) -> Graph:
        """The graph with the edges src[e] -> dst[e], both of shape [E], and edge columns of shape [E], as keywords or,
        under any name, in `columns`.

        src and dst hold vertex ids: integers of any type up to 64 bits, or strings. The vertices are the ids that
        occur; with `n` they are 0..n-1; with `ids`, shape [n], src and dst hold positions in it. directed=False: each
        edge is listed once and stands for both directions. All arrays are copied. Raises GraphError for what does not
        fit together.
        """
        from vlang.runtime.graph.edges.from_arrays import edge_list  # start-up

        twice = sorted(set(columns or ()) & set(edge_columns))
        if twice:
            raise GraphError(f"the edge column `{twice[0]}` is given twice")
        edge_columns |= columns or {}
        edges = edge_list(src, dst, edge_columns, directed, n, ids, threads or available_threads())
        graph = Graph(edges, name=name, symmetrize=symmetrize, threads=threads)
        del edges  # so that it can go when the adjacency lists are built
        return graph.thinned(self_loops, parallel)

    @staticmethod
    def from_scipy(
        matrix: Any,
        weight: str = "weight",
        directed: bool = True,
        *,
        symmetrize: bool = False,
        self_loops: str = "keep",
        parallel: str = "keep",
        name: str = "graph",
        threads: int | None = None,
    ) -> Graph:
        """The graph of a square scipy.sparse matrix: A[i, j] is the edge i -> j with that weight; stored zeros count.

        directed=False takes the entries on and above the diagonal of a symmetric matrix as undirected edges. The
        other options are those of `from_edges`. Raises GraphError for what is no square sparse matrix.
        """
        from vlang.runtime.graph.edges.from_arrays import edges_of_matrix  # start-up

        graph = Graph(edges_of_matrix(matrix, weight, directed), name=name, symmetrize=symmetrize, threads=threads)
        return graph.thinned(self_loops, parallel)

    @staticmethod
    def from_networkx(
        graph: Any,
        *,
        symmetrize: bool = False,
        self_loops: str = "keep",
        parallel: str = "keep",
        name: str = "graph",
        threads: int | None = None,
    ) -> Graph:
        """The graph of a NetworkX graph; each numeric edge attribute becomes a column, isolated nodes stay.

        Nodes that are all integers or all strings are the ids, others are known by their str(). The options are those
        of `from_edges`. Raises GraphError for what is no NetworkX graph.
        """
        from vlang.runtime.graph.edges.from_arrays import edges_of_networkx  # start-up

        found = Graph(edges_of_networkx(graph), name=name, symmetrize=symmetrize, threads=threads)
        return found.thinned(self_loops, parallel)

    def save(self, path: str | Path) -> None:
        """Write the graph as .npz, whole or not at all; `Graph.read` reads it. Raises DiskError."""
        from vlang.runtime.graph.npz import save  # start-up

        save(self, Path(path))


def _checked(edges: EdgeList) -> EdgeList:
    """The edge list with narrowed columns, its arrays contiguous, sound and read-only: kernels index by them."""
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
