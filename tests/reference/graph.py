"""The graph of the reference interpreter: a plain list of stored directed edges."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


@dataclass(frozen=True, eq=False)
class RefGraph:
    """n vertices 0 .. n-1 and the stored edges src[i] -> dst[i].

    Attributes:
        n: The number of vertices.
        src: The tails, int64.
        dst: The heads, int64.
        columns: The edge columns by name, with one value per stored edge.
        directed: If False, every edge between two vertices is listed in both directions with the same columns, and a
            self-loop once.
        ids: The user's vertex numbers in increasing order, which `random` uses as keys; None means 0 .. n-1.
    """

    n: int
    src: Array
    dst: Array
    columns: dict[str, Array] = field(default_factory=dict)
    directed: bool = True
    ids: Array | None = None

    def __repr__(self) -> str:
        kind = "directed" if self.directed else "undirected"
        edges = list(zip(self.src.tolist(), self.dst.tolist(), strict=True))
        columns = {name: column.tolist() for name, column in self.columns.items()}
        known = "" if self.ids is None else f", ids={self.ids.tolist()}"
        return f"RefGraph({kind}, n={self.n}, edges={edges}, columns={columns}{known})"

    def number(self, vertex: int) -> int:
        """Return the user's number of a vertex; -1 for `none`."""
        return vertex if vertex < 0 or self.ids is None else int(self.ids[vertex])

    def ordinals(self, own: Array, other: Array, edge: Array) -> Array:
        """Return, for each edge end, the number of earlier ends with the same two vertices, int64.

        In an undirected graph, ends are ordered as their edges were listed; in a directed graph, ends have the given
        order.

        Args:
            own: The vertex of each end.
            other: The vertex at the other end.
            edge: The stored edge.
        """
        order = np.arange(len(own))
        if not self.directed:  # `ref_graph` lists the edges first, then the opposite directions, without loops
            loops = self.src == self.dst
            once = (self.m + int(loops.sum())) // 2
            listed = np.concatenate([np.arange(once), np.flatnonzero(~loops[:once])])
            order = np.argsort(listed[edge], kind="stable")
        seen: dict[tuple[int, int], int] = {}
        found = np.zeros(len(own), np.int64)
        for at in order.tolist():
            pair = int(own[at]), int(other[at])
            found[at] = seen.get(pair, 0)
            seen[pair] = int(found[at]) + 1
        return found

    def opposites(self) -> Array:
        """Return the stored edge v -> u for each stored edge u -> v, int64[m]; -1 if there is no such edge.

        Parallel edges are paired by their ordinals; a self-loop is its own opposite.
        """
        numbers = self.ordinals(self.dst, self.src, np.arange(self.m)).tolist()
        keys = list(zip(self.src.tolist(), self.dst.tolist(), numbers, strict=True))
        place = {key: at for at, key in enumerate(keys)}
        return np.array([place.get((head, tail, number), -1) for tail, head, number in keys], np.int64)

    @property
    def m(self) -> int:
        """The number of stored directed edges, which the language calls `M`."""
        return len(self.src)

    @property
    def indegree(self) -> Array:
        """The number of stored edges into each vertex, int64[n]."""
        return np.bincount(self.dst, minlength=self.n)

    @property
    def outdegree(self) -> Array:
        """The number of stored edges out of each vertex, int64[n]."""
        return np.bincount(self.src, minlength=self.n)

    @property
    def degree(self) -> Array:
        """The degree of each vertex, int64[n].

        In a directed graph the degree is the in-degree plus the out-degree. In an undirected graph each neighbour
        counts once.
        """
        return self.indegree + self.outdegree if self.directed else self.indegree

    def with_columns(self, **columns: Array) -> RefGraph:
        """Return the same graph with more edge columns, one value per stored edge."""
        return replace(self, columns={**self.columns, **columns})


def ref_graph(
    n: int, edges: list[tuple[int, int]], directed: bool = True, **columns: Any
) -> RefGraph:
    """Return a RefGraph from edges that are each listed once. In an undirected graph the opposite directions are added.
    """
    src = np.array([u for u, _ in edges], np.int64)
    dst = np.array([v for _, v in edges], np.int64)
    arrays = {name: np.asarray(column) for name, column in columns.items()}
    if directed:
        return RefGraph(n, src, dst, arrays, True)
    back = np.flatnonzero(src != dst)
    both = {name: np.concatenate([column, column[back]]) for name, column in arrays.items()}
    return RefGraph(n, np.concatenate([src, dst[back]]), np.concatenate([dst, src[back]]), both, False)
