"""Insert edges into a graph and delete other edges; report which edges and vertices are new."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from vlang.errors import GraphError
from vlang.records import dataclass
from vlang.runtime.graph.edges.columns import narrowed
from vlang.runtime.graph.edges.edge_list import VertexIds
from vlang.runtime.graph.edges.given import given_array
from vlang.runtime.graph.edges.kinds import Names, coding_of, encoded, merged
from vlang.runtime.graph.edges.naming import dense_vertices
from vlang.runtime.graph.topology.adjacencies import Adjacencies
from vlang.runtime.graph.topology.build import Rows
from vlang.runtime.graph.topology.edit_rows import edges_given, entries_of, renumbered

if TYPE_CHECKING:
    from vlang.runtime.graph.graph import Graph

__all__ = ["Change", "change"]

Ends = tuple[NDArray[np.uint32], NDArray[np.uint32]]


@dataclass(frozen=True)
class Change:
    """The difference between a graph and its changed version.

    Attributes:
        old, graph: the graph before and after.
        places: uint32[old n], the new number of each old vertex; None if no vertex is new and all numbers stay.
        added: tails and heads of the inserted edges, by new numbers.
        removed: tails and heads of the deleted edges, by old numbers.
        inserted: a graph of all new vertices and of the inserted edges only.
    """

    old: Graph
    graph: Graph
    places: NDArray[np.uint32] | None
    added: Ends
    removed: Ends
    inserted: Graph

    def moved(self, vertices: NDArray[Any]) -> NDArray[Any]:
        """Convert old vertex numbers to new vertex numbers."""
        return vertices if self.places is None else self.places[vertices]


def change(graph: Graph, added: Any, removed: Any) -> Change:
    """Remove the edges `removed`, then insert the edges `added`. Arguments and errors are those of `Graph.changed`."""
    graph, added = _with_names(graph.as_stored, added)
    rule = graph.rule
    columns = tuple(name for name in graph.columns if rule is None or name != "weight")
    more, less = edges_given("added", added, columns), edges_given("removed", removed, ())
    ids = renumbered(graph.ids, np.concatenate([more.src, more.dst]) if len(more) else more.src)
    if ids.places is not None and rule is not None:
        raise GraphError("added has new vertices, and the weights of this graph are computed from the numbers of its "
                         "vertices, which would change; give the graph a column `weight` of its own")
    new = _ends(ids.ids, more.src, more.dst)
    gone = _ends(graph.ids, less.src, less.dst)
    both, absent = graph._adjacencies.changed(gone, new, more.columns, len(ids.ids), ids.places)
    if absent is not None:
        tail, head = (graph.label(int(end[absent])) for end in gone)
        raise GraphError(f"removed has the edge from {tail!r} to {head!r}, which is not in the graph")
    changed = graph._with(ids.ids, both, f"Changed by edges: {len(more):,} added, {len(less):,} removed.")
    of, others, edge = entries_of(*new, "in", graph.directed)
    offsets = np.zeros(changed.n + 1, np.uint64)
    np.cumsum(np.bincount(of, minlength=changed.n), out=offsets[1:])
    rows = Rows(offsets, others, {name: values[edge] for name, values in more.columns.items()})
    alone = graph.of_rows(rows, ids.ids, rule)
    return Change(graph, changed, ids.places, new, gone, alone)


def _with_names(graph: Graph, added: Any) -> tuple[Graph, Any]:
    """Add the names in the columns of `added` to the categories of the graph; returns the graph, and `added` with
    numbers in place of names. Raises GraphError if a value is not a name in a column of names, or not a time in a
    column of times.
    """
    if not graph.kinds or not isinstance(added, Mapping) or not len(added.get("src", ())):
        return graph, added
    numbers, kinds = dict(added), dict(graph.kinds)
    for name in graph.kinds.keys() & added.keys():
        what, kind = f"edge column {name!r} of added", graph.kinds[name]
        values, found = encoded(what, given_array(what, added[name]))
        if found is None or isinstance(found, Names) != isinstance(kind, Names):
            raise GraphError(f"{what} holds {values.dtype}, and the column holds values of type {kind}")
        if isinstance(kind, Names) and isinstance(found, Names):
            kinds[name] = kind = Names(merged((kind.names, found.names)))
        coding = coding_of(found, kind)
        numbers[name] = values if coding is None else coding.read(name, values, np.dtype(np.int64))
    codings = {name: coding for name, kind in kinds.items() if (coding := coding_of(graph.kinds[name], kind))}
    if not codings:
        return graph, numbers
    base = graph.built()
    columns = {name: base.stored(name) for name in graph.columns if graph.rule is None or name != "weight"}
    columns |= {name: narrowed(name, coding.read(name, columns[name], np.dtype(np.int64)))
                for name, coding in codings.items()}
    rows = Rows(base.offsets, base.targets, columns)
    other = graph._varied(Adjacencies(graph.n, graph.directed, (base.kind, rows), rule=graph.rule,
                                      threads=graph.threads), graph.m)
    other.kinds = MappingProxyType(kinds)
    return other, numbers


def _ends(ids: VertexIds, src: NDArray[Any], dst: NDArray[Any]) -> Ends:
    if not len(src):
        return np.empty(0, np.uint32), np.empty(0, np.uint32)
    return dense_vertices(ids, src), dense_vertices(ids, dst)
