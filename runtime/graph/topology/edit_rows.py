"""Inserts entries into adjacency lists, and deletes entries, by merging: sorted rows are not sorted again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vlang.errors import GraphError
from vlang.records import dataclass
from vlang.runtime.graph.arrow.library import is_table
from vlang.runtime.graph.edges.building.from_arrays import ends_of, vertex_ids
from vlang.runtime.graph.edges.columns import narrowed
from vlang.runtime.graph.edges.edge_list import VertexIds
from vlang.runtime.graph.edges.given import given_array
from vlang.runtime.graph.topology.build import Rows

__all__ = ["Edges", "Renumbered", "edges_given", "entries_of", "inserted", "renumbered", "withdrawn"]

Array = NDArray[Any]


@dataclass(frozen=True)
class Edges:
    """Edges given by the user: the ids at both ends and the values of edge columns, all of shape [k]."""

    src: Array
    dst: Array
    columns: Mapping[str, Array]

    def __len__(self) -> int:
        return len(self.src)


@dataclass(frozen=True)
class Renumbered:
    """The vertex ids after an insertion, in increasing order.

    `places` is uint32[old n], the new dense number of each old vertex; None if no vertex is new.
    """

    ids: VertexIds
    places: NDArray[np.uint32] | None


def edges_given(what: str, edges: Any, columns: tuple[str, ...]) -> Edges:
    """Parse edges given by the user. Raises GraphError.

    Args:
        what: "added" or "removed", for messages.
        edges: None, an array or list of pairs, [k, 2], or a mapping with "src", "dst" and the values of each of
            `columns`, [k] each.
        columns: names of the edge columns to take.
    """
    if edges is None:
        edges = {"src": [], "dst": [], **{name: [] for name in columns}}
    if is_table(edges):
        raise GraphError(f"{what} is a {type(edges).__name__}, whose columns may be in any order: write "
                         f"{_spelled(columns)}, with a column of it for each")
    if not isinstance(edges, Mapping):
        pairs = given_array(what, edges)
        pairs = pairs if pairs.size or pairs.ndim != 1 else np.empty((0, 2), np.int64)
        if pairs.ndim != 2 or pairs.shape[1] != 2:
            raise GraphError(f"{what} is a list of pairs of vertices, or a mapping with \"src\", \"dst\" and the "
                             f"values of edge columns; not an array of shape {pairs.shape}")
        edges = {"src": pairs[:, 0], "dst": pairs[:, 1]}
    names = ("src", "dst", *columns)
    missing, unknown = [n for n in names if n not in edges], [n for n in edges if n not in names]
    if missing and (len(edges["src"]) if "src" in edges else True):
        raise GraphError(f"{what} has no \"{missing[0]}\": write {_spelled(columns)}, one value of each for an edge")
    if unknown:
        raise GraphError(f"{what} has values of {unknown[0]!r}, which is no column of the graph's edges")
    src, dst = ends_of(f"src of {what}", edges["src"]), ends_of(f"dst of {what}", edges["dst"])
    values = {name: narrowed(name, edges.get(name, [])) for name in columns}
    for name, array in (("dst", dst), *values.items()):
        if len(array) != len(src):
            raise GraphError(f"{what} has {len(src)} entries of \"src\" and {len(array)} of \"{name}\": give one of "
                             "each for an edge")
    return Edges(src, dst, values)


def _spelled(columns: tuple[str, ...]) -> str:
    """The mapping that gives edges with columns, as text."""
    return f"{{{', '.join(f'{name!r}: [...]' for name in ('src', 'dst', *columns))}}}"


def renumbered(ids: VertexIds, ends: Array) -> Renumbered:
    """Merge the ids of a graph with the ids in `ends` that are new."""
    if not len(ends):
        return Renumbered(ids, None)
    if len(ids) and (ends.dtype.kind == "O") != ids.text:
        kinds = ("strings", "integers")
        raise GraphError(f"added holds {kinds[ids.text]}, and the graph's ids are {kinds[not ids.text]}")
    wanted: Array = np.unique(ends)
    if not ids.text and len(ids):
        if (int(wanted[0]) < 0 and int(ids.label(len(ids) - 1)) >= 2**63) or \
                (int(wanted[-1]) >= 2**63 and int(ids.label(0)) < 0):
            raise GraphError("vertex ids below 0 and from 2^63 on: no integer type of 64 bits holds both")
        wide = np.uint64 if max(int(wanted[-1]), int(ids.label(len(ids) - 1))) >= 2**63 else np.int64
        wanted = wanted.astype(wide)
        if ids.consecutive:
            fresh = wanted[(wanted < ids.base) | (wanted >= ids.base + len(ids))]
        else:
            fresh = np.setdiff1d(wanted, ids.values.astype(wide), assume_unique=True)
    else:
        fresh = np.setdiff1d(wanted, ids.values, assume_unique=True) if len(ids) else wanted
    if not len(fresh):
        return Renumbered(ids, None)
    old = ids.values if ids.text else ids.values.astype(fresh.dtype)
    at = np.searchsorted(old, fresh)
    together = np.insert(old, at, fresh)
    places = np.arange(len(old), dtype=np.int64)
    places += np.searchsorted(at, places, side="right")
    return Renumbered(vertex_ids(together), places.astype(np.uint32))


def entries_of(
    tails: NDArray[np.uint32], heads: NDArray[np.uint32], kind: str, directed: bool
) -> tuple[Array, Array, Array]:
    """The entries that edges have in adjacency lists: the row, the neighbour and the edge number of each entry.

    The entries are sorted by row, neighbour and edge. In an undirected graph an edge has two entries, and a self-loop
    has one.

    Args:
        tails, heads: uint32[k], the ends of the edges.
        kind: "in" or "out".
        directed: whether the graph is directed.
    """
    rows, others = (heads, tails) if kind == "in" else (tails, heads)
    edge = np.arange(len(rows))
    if not directed:
        back = np.flatnonzero(rows != others)
        rows, others = np.concatenate([rows, others[back]]), np.concatenate([others, rows[back]])
        edge = np.concatenate([edge, back])
    order = np.lexsort((edge, others, rows))
    return rows[order], others[order], edge[order]


def _spans(rows: Rows, of: Array, wanted: Array) -> tuple[Array, Array]:
    """The range (begin, end) of the entries with neighbour `wanted[i]` in row `of[i]`, by bisection for all i at
    once.
    """
    found = []
    for past in (False, True):
        low, high = rows.offsets[of].astype(np.int64), rows.offsets[of.astype(np.int64) + 1].astype(np.int64)
        while (open_ := low < high).any():
            middle = (low + high) >> 1
            there = rows.targets[np.where(open_, middle, 0)]
            right = open_ & ((there <= wanted) if past else (there < wanted))
            low = np.where(right, middle + 1, low)
            high = np.where(open_ & ~right, middle, high)
        found.append(low)
    return found[0], found[1]


def withdrawn(rows: Rows, of: Array, others: Array) -> tuple[Rows, Array]:
    """Delete all entries with neighbour `others[i]` in row `of[i]`.

    Returns the remaining rows, and for each i whether no entry matched.
    """
    if not len(of):
        return rows, np.zeros(0, np.bool_)
    begin, end = _spans(rows, of, others)
    steps = np.zeros(len(rows.targets) + 1, np.int32)
    np.add.at(steps, begin, 1)
    np.add.at(steps, end, -1)
    kept = np.cumsum(steps[:-1]) == 0
    before = np.zeros(len(rows.targets) + 1, np.uint64)
    np.cumsum(kept, out=before[1:])
    return Rows(before[rows.offsets.astype(np.int64)], rows.targets[kept],
                {name: values[kept] for name, values in rows.columns.items()}), begin == end


def inserted(rows: Rows, of: Array, others: Array, values: Mapping[str, Array], n: int, moved: Array | None) -> Rows:
    """Insert entries into adjacency lists; new entries follow old entries with the same neighbour.

    Args:
        rows: the old adjacency lists.
        of, others: row and neighbour of each new entry, sorted by both.
        values: column name -> value of each new entry.
        n: the new number of vertices.
        moved: the new number of each old vertex, increasing; None if no vertex is new.

    The dtype of a column is widened if the new values need it. Raises GraphError if no integer type holds both old and
    new values.
    """
    offsets = rows.offsets.astype(np.int64)
    targets = rows.targets
    if moved is not None:
        lengths = np.zeros(n, np.int64)
        lengths[moved] = np.diff(offsets)
        offsets = np.concatenate([[0], np.cumsum(lengths)])
        targets = moved[targets]
    _, at = _spans(Rows(offsets.astype(np.uint64), targets, {}), of, others)
    at = at + np.arange(len(of))
    old = np.ones(len(targets) + len(of), np.bool_)
    old[at] = False

    def merged(name: str, before: Array, new: Array) -> Array:
        out = np.empty(len(old), _common(name, before.dtype, new.dtype))
        out[old], out[at] = before, new
        return out

    more = np.concatenate([[0], np.cumsum(np.bincount(of, minlength=n))])
    return Rows((offsets + more).astype(np.uint64), merged("", targets, others.astype(np.uint32)),
                {name: merged(name, before, values[name]) for name, before in rows.columns.items()})


def _common(name: str, a: np.dtype[Any], b: np.dtype[Any]) -> np.dtype[Any]:
    both = np.promote_types(a, b)
    if both.kind == "f" and a.kind in "iu" and b.kind in "iu":
        raise GraphError(f"edge column {name!r}: no integer type of 64 bits holds the old and the new values")
    return both
