"""The graph: vertices with the user's ids, edges with columns, and adjacency lists built when first needed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from vlang.errors import GraphError
from vlang.runtime.graph.edges.edge_list import EdgeList, VertexIds
from vlang.runtime.graph.edges.given import given_whole
from vlang.runtime.graph.edges.order import Order
from vlang.runtime.graph.everyday import EverydayGraph
from vlang.runtime.graph.notes import KEPT, loops_note, parallel_note, rule_note
from vlang.runtime.graph.topology.adjacencies import Adjacencies
from vlang.runtime.graph.topology.build import Rows
from vlang.runtime.graph.topology.transform import WeightRule, listed_rows, renumbered_rows
from vlang.runtime.storage.room import memory_named

__all__ = ["Graph"]


class Graph(EverydayGraph):
    """The graph that a program runs on. The public state of a graph never changes, and threads may share a graph.

    Create a graph by `Graph.read`, `open`, `from_edges`, `from_scipy` or `from_networkx`. The thread that first needs
    an adjacency builds it. The edge list is freed when the first adjacency is built.

    Attributes:
        name: name of the graph, for messages.
        n: the number of vertices.
        m: the number of stored directed edges. An undirected edge is counted twice, and an undirected self-loop once.
        directed: False if every edge is stored in both directions.
        ids: the user's vertex ids.
        order: the permutation from row numbers to dense numbers if rows are not in the order of the ids; else None.
        threads: how many threads build adjacency lists.
        left_out: edge columns that were not read because they do not hold numbers: name -> reason.
        warnings: sentences about parts of the source that the reader may have misunderstood.
        stored: the edges on disk if the graph was created by `open`; else None.
        seal: checksum that identifies the page file from which this graph was read; "" for other graphs.
        kinds: the meaning of the integers in edge columns of categories and times, by name of the column.
        vertex_columns: the table that was given as `vertices`; else None. A run joins the columns of this table by id
            to the vertex fields that a call must pass.
    """

    _whole: Graph | None = None  # the graph that `loaded` has read, if `stored` is set

    def loaded(self) -> Graph:
        """This graph with its edges in memory. The first call reads the edges, and this graph keeps them."""
        if self.stored is None:
            return self
        if self._base is not None:
            return self._base.loaded().read_as({name: self.kinds[name] for name in self._codings})
        if self._whole is None:
            with memory_named(f"reading {self.name}"):
                rows = self.stored.rows()
            self._whole = Graph.from_rows("in", rows, self.ids, directed=self.directed, name=self.name,
                                          notes=self._notes, left_out=self.left_out, threads=self.threads,
                                          order=self.order, seal=self.seal, kinds=self.kinds)
        return self._whole

    @property
    def in_memory(self) -> Graph:
        """The graph that `loaded` has read, or this graph if `loaded` was not called."""
        return self if self.as_stored._whole is None else self.as_stored._whole

    def unload(self) -> None:
        """Free the edges that `loaded` has read, for a run whose memory budget is too small for these edges."""
        self.as_stored._whole = None

    def by_path(self) -> Graph:
        """This graph in a form that pickles as the path and options by which it was read, instead of its arrays.

        The process that loads the pickle reads the file again, and raises GraphError if the file has changed. This
        method raises GraphError for a graph that was not read from a file or a generator, or was changed afterwards.
        """
        if self._source is None:
            raise GraphError(f"{self.name} is not as it was read from a file or a generator: save it, and read that "
                             "file: vlang.Graph.read(path).by_path()")
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__, _light=self._source)
        return other

    def __reduce__(self) -> tuple[Any, tuple[Any, ...]]:
        from vlang.runtime.graph.pickled import reduced  # start-up

        return reduced(self, self._light)

    def plain(self) -> Graph:
        """This graph with rows in the order of the ids. Returns `self` if `order` is None."""
        if self.order is None:
            return self
        base = self.built()
        rows = Rows(base.offsets, base.targets, {name: base.stored(name) for name in self.columns})
        rows = renumbered_rows(rows, self.order.dense, self.threads)
        other = self._varied(Adjacencies(self.n, self.directed, (base.kind, rows), threads=self.threads), self.m)
        other.order = None
        return other

    def ordered(self, dense: NDArray[np.uint32]) -> Graph:
        """This graph with permuted rows: row i has the edges of the vertex with the dense number dense[i], uint32[n].
        """
        plain, order = self.plain(), Order.of(dense)
        base = plain.built()
        rows = Rows(base.offsets, base.targets, {name: base.stored(name) for name in self.columns})
        rows = renumbered_rows(rows, order.internal, self.threads)
        other = plain._varied(Adjacencies(self.n, self.directed, (base.kind, rows), threads=self.threads), self.m)
        other.order = order
        return other

    def edges(self, both: bool = False) -> EdgeList:
        """The edges as a list, in the order of an adjacency that is already built.

        An undirected edge is listed once, or in both directions if `both` is True.
        """
        if self.order is not None:
            return self.plain().edges(both)
        base = self.built()
        rows = listed_rows(Rows(base.offsets, base.targets, {}), self.threads)
        tails, heads = (base.targets, rows) if base.kind == "in" else (rows, base.targets)
        columns = {name: base.stored(name) for name in self.columns}
        if not self.directed and not both:
            once = tails <= heads
            tails, heads = tails[once], heads[once]
            columns = {name: values[once] for name, values in columns.items()}
        return EdgeList(tails, heads, self.ids, columns, self.directed, list(self._notes), dict(self.left_out),
                        list(self.warnings), dict(self.kinds))

    def thinned(self, self_loops: str = "keep", parallel: str = "keep") -> Graph:
        """This graph without self-loops or parallel edges ("drop"), or with them ("keep"); `notes` reports the change.

        Among parallel edges, the edge with the smallest value in the first column stays; if values are equal, the first
        edge in the list stays. Both directions of an undirected edge are treated alike. Raises GraphError for any word
        other than "keep" and "drop".
        """
        for option, value in (("self_loops", self_loops), ("parallel", parallel)):
            if value not in ("keep", "drop"):
                raise GraphError(f"{option}={value!r}: give 'keep' or 'drop'")
        if self_loops == parallel == "keep":
            return self
        thin, lost, more = self._adjacencies.thinned(self_loops == "drop", parallel == "drop")
        other = self._varied(thin, len(thin.any()))
        if self_loops == "drop":
            other._add_note(loops_note(lost), KEPT[0])
        if parallel == "drop":
            other._add_note(parallel_note(more, next(iter(self.columns), None)), KEPT[1])
        return other

    def changed(self, added: Any = None, removed: Any = None) -> Graph:
        """This graph without the edges `removed`, then with the edges `added`; see `vlang.runtime.graph.edit`.

        Args:
            added: pairs of vertices, [k, 2], if the graph has no edge columns; else {"src": [k], "dst": [k], NAME: [k]}
                with the values of every edge column. Unknown ends become new vertices. An added edge that already
                exists becomes a parallel edge.
            removed: pairs of vertices, [k, 2], or {"src": [k], "dst": [k]}. All parallel edges between two vertices are
                removed; the vertices stay.

        In an undirected graph an edge means both directions. Raises GraphError for invalid arguments, and if an edge in
        `removed` does not exist.
        """
        from vlang.runtime.graph.edit import change  # start-up

        return change(self.plain(), added, removed).graph

    def with_rule_weights(self, low: int, high: int) -> Graph:
        """This graph with the edge column `weight` = low + (31 u + 17 v) mod (high - low + 1).

        u and v are dense vertex numbers: tail and head in a directed graph, the smaller and the larger in an undirected
        one. An existing column `weight` is replaced. The new graph shares the adjacency lists that this graph has
        built.
        """
        if self.order is not None:
            return self.plain().with_rule_weights(low, high)
        rule = WeightRule(given_whole("low", low), given_whole("high", high))
        other = self._varied(self._adjacencies.with_rule(rule), self.m)
        other.left_out = MappingProxyType({name: why for name, why in self.left_out.items() if name != "weight"})
        other.kinds = MappingProxyType({name: kind for name, kind in self.kinds.items() if name != "weight"})
        other._add_note(rule_note(low, high, self.directed))
        return other

    def of_rows(self, rows: Rows, ids: VertexIds, rule: WeightRule | None) -> Graph:
        """A new graph with these in-edges, and with the direction and threads of this graph (see `from_rows`)."""
        return Graph.from_rows("in", rows, ids, directed=self.directed, rule=rule, threads=self.threads,
                               kinds=self.kinds)

    def _with(self, ids: VertexIds, adjacencies: Adjacencies, note: str) -> Graph:
        """A copy of this graph with other ids and adjacency lists, for methods that derive graphs."""
        other = object.__new__(Graph)
        other._notes, other._kept, other.left_out = [*self._notes, note], self._kept, self.left_out
        other.warnings, other.kinds = self.warnings, self.kinds
        other._take(self.name, ids, len(adjacencies.any()), adjacencies)
        return other

    def _varied(self, adjacencies: Adjacencies, m: int) -> Graph:
        other = object.__new__(Graph)
        other._notes, other._kept, other.left_out = list(self._notes), self._kept, self.left_out
        other.warnings, other.kinds = self.warnings, self.kinds
        other._take(self.name, self.ids, m, adjacencies, self.order)
        other.vertex_columns = self.vertex_columns
        return other

    def _add_note(self, note: str, dropped: str = "") -> None:
        """Add a note while the graph is built. `dropped` is "self-loops" or "parallel edges" if these were dropped."""
        self._notes.append(note)
        self._kept = tuple(kind for kind in self._kept if kind != dropped)

    # ------------------------------------------------------------- sources of graphs

    @staticmethod
    def read(
        path: str | Path,
        directed: bool | None = None,
        symmetrize: bool = False,
        weights: str | int | None = None,
        self_loops: str = "keep",
        parallel: str = "keep",
        threads: int | None = None,
        columns: Iterable[str] | None = None,
        missing: str | float = "error",
        source_column: str | int | None = None,
        target_column: str | int | None = None,
        vertices: Any = None,
    ) -> Graph:
        """Read a file or, if no file has the name `path`, run a generator such as `kron:20` or `karate`.

        Args:
            path: a path, `-` for standard input, or the name and arguments of a generator. Standard input and pipes
                are first copied to a temporary file.
            directed: overrides the direction that the file declares; None keeps it.
            symmetrize: store both directions of every edge.
            weights: "LO..HI" for integer weights by rule (see `with_rule_weights`), or the name or number (from 1) of
                the column in the file that becomes `weight`.
            self_loops, parallel: "keep" or "drop".
            threads: how many threads read and build; None for one per processor.
            columns: names of the edge columns that programs will read. Every cell of a named column must be a number.
                Other columns are left out if they hold anything but numbers. If a program has an edge field with the
                name of such a column, binding raises an error with the reason. The default is the column `weight`, if
                the file has one.
            missing: how to treat a cell without a value. "error" raises GraphError. "drop" drops the row if the cell is
                in one of `columns` or in the column of `weights`. A number becomes the value of missing cells.
            source_column, target_column: the columns of a text that hold the source and target ids, by name or by
                number from 1. By default, columns with well-known names, or else the first two columns, are used.
            vertices: all vertex ids, so that the graph can have vertices without edges: a count N for the ids 0..N-1,
                "LO..HI", a file with a column of ids, or an array of ids. The default is all ids in the edges.

        Raises:
            GraphError: the content is wrong.
            DiskError: the file cannot be read.
        """
        from vlang.runtime.graph.reading import read_graph  # start-up

        return read_graph(Graph, path, {
            "directed": directed, "symmetrize": symmetrize, "weights": weights, "self_loops": self_loops,
            "parallel": parallel, "threads": threads, "columns": columns, "missing": missing,
            "source_column": source_column, "target_column": target_column, "vertices": vertices,
        })  # fmt: skip

    @staticmethod
    def open(path: str | Path, threads: int | None = None) -> Graph:
        """Open a page file (.vg) as a graph whose edges stay on disk.

        A run reads the edges into memory if they fit into the option `memory` of the run, and keeps them there for the
        next run. Otherwise the run streams the edges page by page, with the same result. Methods that need adjacency
        lists outside of a run raise GraphError.

        Args:
            path: path of the page file. `save` and `vlang convert` write page files.
            threads: how many threads build adjacency lists, once the edges are in memory; None for one per processor.

        Raises:
            GraphError: the file is not a page file, has another version, or is damaged.
            DiskError: the file cannot be read.
        """
        from vlang.runtime.graph.paged.on_disk import open_graph  # start-up

        return open_graph(Graph, path, threads)

    @staticmethod
    def from_edges(
        src: Any,
        dst: ArrayLike | None = None,
        *,
        source: str | None = None,
        target: str | None = None,
        directed: bool = True,
        n: int | None = None,
        ids: ArrayLike | None = None,
        symmetrize: bool = False,
        self_loops: str = "keep",
        parallel: str = "keep",
        name: str = "graph",
        threads: int | None = None,
        columns: Mapping[str, ArrayLike] | Iterable[str] | None = None,
        missing: str | float = "error",
        vertices: Any = None,
        id: str | None = None,
        **edge_columns: Any,
    ) -> Graph:
        """The graph with the edges src[e] -> dst[e], or with an edge for each row of the table `src`.

        A table is any object with `__arrow_c_stream__` or `__arrow_c_array__`, such as the tables of pandas, polars,
        pyarrow and DuckDB.

        Args:
            src, dst: vertex ids, shape [E]: integers of any type up to 64 bits, or strings. If `ids` is given, `src`
                and `dst` are indices into `ids`. Alternatively `src` is a table, and `dst` is not given.
            source, target: names of the table's columns of source and target ids; None looks for well-known names.
            directed: False if each edge is listed once and means both directions.
            n: the number of vertices, whose ids are 0..n-1; None takes the ids that occur.
            ids: the ids of all vertices, shape [n].
            symmetrize: store both directions of every edge.
            self_loops, parallel: "keep" or "drop".
            name: name of the graph, for messages.
            threads: how many threads build adjacency lists; None for one per processor.
            columns: for arrays, a mapping from any name to an edge column of shape [E]; further keywords are edge
                columns, too. For a table, `columns` has the names of the columns to read; a further keyword reads a
                column under another name, as in weight="amount". Without `columns` and keywords, all columns of numbers
                are read, and `left_out` lists the other columns.
            missing: how to treat nulls and NaN in a table, as in `read`.
            vertices: all vertices, with or without edges: as in `read`, or a table. `vertices` cannot be combined with
                `n` or `ids`.
            id: the column of ids in the table `vertices`; None for a well-known name.

        All arrays are copied. Raises GraphError if the shapes or types of the arguments do not match, or if a column
        cannot be read.
        """
        from vlang.runtime.graph.given_edges import graph_of_edges  # start-up

        return graph_of_edges(Graph, src, dst, {
            "source": source, "target": target, "directed": directed, "n": n, "ids": ids, "symmetrize": symmetrize,
            "self_loops": self_loops, "parallel": parallel, "name": name, "threads": threads, "columns": columns,
            "missing": missing, "vertices": vertices, "id": id,
        }, edge_columns)  # fmt: skip

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
        """The graph of a square scipy.sparse matrix. A[i, j] is the weight of the edge i -> j; stored zeros are edges.

        Args:
            matrix: the matrix.
            weight: name of the edge column that receives the values.
            directed: False takes the entries on and above the diagonal of a symmetric matrix as undirected edges.
            symmetrize, self_loops, parallel, name, threads: see `from_edges`.

        Raises:
            GraphError: the matrix is not square or not sparse, or directed is False and the matrix is not symmetric.
        """
        from vlang.runtime.graph.edges.building.from_arrays import edges_of_matrix  # start-up

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
        """Convert a NetworkX graph. Each numeric edge attribute becomes a column, and isolated nodes are kept.

        If all nodes are integers, or all are strings, they are the ids. In any other graph, the id of a node is its
        str().

        Args:
            graph: the NetworkX graph.
            symmetrize, self_loops, parallel, name, threads: see `from_edges`.

        Raises:
            GraphError: `graph` is not a NetworkX graph.
        """
        from vlang.runtime.graph.edges.building.from_arrays import edges_of_networkx  # start-up

        found = Graph(edges_of_networkx(graph), name=name, symmetrize=symmetrize, threads=threads)
        return found.thinned(self_loops, parallel)
