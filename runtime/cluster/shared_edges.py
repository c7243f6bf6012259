"""Edges that are divided among the ranks in shares: counts over all shares, and the rows of the vertices that a rank
owns.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from vlang.errors import GraphError
from vlang.records import dataclass
from vlang.runtime.cluster.ranges import Ranges
from vlang.runtime.cluster.transports.transport import Buffer, Transport, gathered
from vlang.runtime.graph.edges.columns import Column
from vlang.runtime.graph.topology.build import EdgeScan, Rows, build_rows
from vlang.runtime.storage.memory import Empty, empty

__all__ = ["Listed", "SharedEdges", "shared_rows"]

_ROUND = 1 << 22  # edges of a share that are sent at a time
_COUNTED = 1 << 22  # vertices whose degrees are summed at a time


@dataclass(frozen=True)
class Listed:
    """The share of a rank. The shares of all ranks, concatenated in rank order, have the order of the source.

    Attributes:
        src, dst: the numbers of tails and heads in the graph, uint32[E], or uint64[E] if they are wider.
        columns: name -> array[E].
        mirror: whether every edge has an entry in the rows of both ends.
    """

    src: NDArray[Any]
    dst: NDArray[Any]
    columns: Mapping[str, NDArray[Any]]
    mirror: bool

    @property
    def nbytes(self) -> int:
        """The size of the share in bytes."""
        return self.src.nbytes + self.dst.nbytes + sum(values.nbytes for values in self.columns.values())

    def entries(self, kind: str, first: int, last: int) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
        """Return the rows and the neighbours of the entries of the edges first..last-1, and the places of these edges.

        The entries are in the order of the edges.

        Args:
            kind: "in" or "out".
        """
        ends = (self.dst, self.src) if kind == "in" else (self.src, self.dst)
        rows, others = (end[first:last] for end in ends)
        places = np.arange(first, min(last, len(self.src)))
        if not self.mirror:
            return rows, others, places
        both = np.stack([rows, others], 1)
        keep = np.stack([np.ones(len(rows), np.bool_), rows != others], 1).reshape(-1)
        return both.reshape(-1)[keep], both[:, ::-1].reshape(-1)[keep], np.repeat(places, 2)[keep]


class SharedEdges:
    """The edges of all shares, with the interface of the edges of a page file (`StoredEdges`), except that pages cannot
    be read.

    All ranks create the object together. The object has the attributes of `StoredEdges`, and the attribute `listed`,
    the share of this rank.

    Args:
        name: the name of the graph.
        n: the number of vertices.
        directed: False if every edge is stored in both directions.
        listed: the share of this rank.
        columns: name -> dtype and range of every edge column, over all shares.
        transport: the transport of the rank.
        base: the number of the first vertex.
    """

    path, note = "", ""

    def __init__(
        self, name: str, n: int, directed: bool, listed: Listed, columns: Mapping[str, Column], transport: Transport,
        base: int = 0,
    ) -> None:
        self.name, self.n, self.directed, self.listed, self.columns = name, n, directed, listed, columns
        self.base = base
        rounds = gathered(transport, np.array([-(-len(listed.src) // _ROUND)], np.int64), "the sizes of shares")
        self._rounds = max(int(one[0]) for one in rounds)
        self._degrees = {kind: self._counted(kind, transport) for kind in self.kinds()}
        self.m = int(self._degrees["in"].sum(dtype=np.uint64))
        self.seal = ""

    def coded(self, columns: Mapping[str, Column]) -> SharedEdges:
        """See `StoredEdges.coded`."""
        other = object.__new__(SharedEdges)
        other.__dict__.update(self.__dict__, columns=columns)
        return other

    def kinds(self) -> Sequence[str]:
        """See `StoredEdges.kinds`."""
        return ("in", "out") if self.directed else ("in",)

    def degrees(self, kind: str, empty: Empty = empty) -> NDArray[np.uint32]:
        """See `StoredEdges.degrees`."""
        found: NDArray[np.uint32] = empty(self.n, np.uint32)
        found[:] = self._degrees[kind]
        return found

    def _counted(self, kind: str, transport: Transport) -> NDArray[np.uint32]:
        """Return the lengths of all rows of a kind, summed over the shares of all ranks."""
        mine = np.zeros(self.n, np.uint32)
        for first in range(0, len(self.listed.src), _ROUND):
            rows, _, _ = self.listed.entries(kind, first, first + _ROUND)
            mine += np.bincount(self._places(rows), minlength=self.n).astype(np.uint32)
        for first in range(0, self.n, _COUNTED):
            parts = gathered(transport, mine[first : first + _COUNTED], f"the degrees of {self.name}")
            total = np.zeros(len(parts[0]), np.uint64)
            for part in parts:
                total += part.astype(np.uint64)
            if int(total.max(initial=0)) >= 1 << 32:
                raise GraphError("a vertex has 2^32 edges or more; degrees go up to 4294967295")
            mine[first : first + _COUNTED] = total
        return mine

    def entries(
        self, kind: str, names: Sequence[str], ranges: Ranges, transport: Transport
    ) -> tuple[NDArray[np.uint32], NDArray[Any], dict[str, NDArray[Any]]]:
        """Return the entries of the rows that this rank owns, from the shares of all ranks, in the order of the edges.

        All ranks call this method together. Returns the rows, counted from the first row
        of this rank, the numbers of the neighbours, and columns.

        Args:
            kind: "in" or "out".
            names: the columns.
            ranges: the vertices of each rank.
            transport: the transport of the rank.
        """
        dtypes = [np.dtype(np.uint32), self.listed.src.dtype, *(self.listed.columns[name].dtype for name in names)]
        found: list[list[list[NDArray[Any]]]] = [[[] for _ in dtypes] for _ in range(transport.size)]
        for number in range(self._rounds):
            rows, others, places = self.listed.entries(kind, number * _ROUND, (number + 1) * _ROUND)
            arrays = [self._places(rows), others, *(self.listed.columns[name][places] for name in names)]
            parts = _by_owner(arrays, ranges)
            buffers: list[Buffer] = [np.concatenate([one.view(np.uint8) for one in part]) for part in parts]
            buffers[transport.rank] = np.zeros(0, np.uint8)
            came = transport.exchange(buffers, f"the {kind}-edges of {self.name}, round {number + 1}")
            for rank, raw in enumerate(came):
                got = parts[rank] if rank == transport.rank else _cut(raw.copy(), dtypes)
                for kept, values in zip(found[rank], got):
                    kept.append(values)
        whole = [np.concatenate([part for lists in found for part in lists[i]] or [np.zeros(0, dtype)])
                 for i, dtype in enumerate(dtypes)]
        return whole[0], whole[1], dict(zip(names, whole[2:]))

    def _places(self, vertices: NDArray[Any]) -> NDArray[np.int64]:
        """Return the positions, counted from 0, of the vertices that have the given numbers in the graph."""
        found: NDArray[np.int64] = (vertices - vertices.dtype.type(self.base)).astype(np.int64)
        return found

    def __getattr__(self, name: str) -> NoReturn:
        """Raise GraphError for methods of `StoredEdges` that read pages."""
        if name.startswith("_"):
            raise AttributeError(name)
        raise GraphError(f"the edges of {self.name} are in shares on all ranks, and this needs a page file: "
                         f"vlang convert {self.name} GRAPH.vg")


def _by_owner(arrays: Sequence[NDArray[Any]], ranges: Ranges) -> list[list[NDArray[Any]]]:
    """Return the entries of the rows of each rank; the order of the entries is kept. The first array has the row
    numbers, counted from the first row of the rank.
    """
    owners = ranges.owners(arrays[0]).astype(np.uint16)
    arrays = [(arrays[0] - ranges.bounds[owners]).astype(np.uint32), *arrays[1:]]
    order = np.argsort(owners, kind="stable")
    ends = np.cumsum(np.bincount(owners, minlength=ranges.size))
    sorted_ = [np.ascontiguousarray(values[order]) for values in arrays]
    return [[values[first:last] for values in sorted_] for first, last in zip([0, *ends[:-1].tolist()], ends.tolist())]


def _cut(raw: Buffer, dtypes: Iterable[np.dtype[Any]]) -> list[NDArray[Any]]:
    """Return the arrays of a message, which have the same length and are stored one after the other."""
    dtypes = list(dtypes)
    count, at, found = len(raw) // sum(dtype.itemsize for dtype in dtypes), 0, []
    for dtype in dtypes:
        found.append(np.frombuffer(raw[at : at + count * dtype.itemsize].tobytes(), dtype))
        at += count * dtype.itemsize
    return found


def shared_rows(
    shared: SharedEdges, kind: str, names: Sequence[str], ranges: Ranges, transport: Transport, threads: int
) -> Rows:
    """Return the rows of the vertices that this rank owns, with global numbers; all ranks call this together.

    All numbers are numbers in the graph (`Ranges.numbers`). Rows are sorted by neighbour, and parallel edges have the
    order of the source, as in one process. With kind "both" in-edges come before out-edges of the same neighbour.

    Args:
        shared: the edges.
        kind: "in", "out" or "both".
        names: the columns.
        ranges: the vertices of each rank.
        transport: the transport of the rank.
        threads: how many threads build the rows.
    """
    first, last = ranges.of(transport.rank)
    kinds = shared.kinds() if kind == "both" else (kind if shared.directed else "in",)
    parts = [shared.entries(one, names, ranges, transport) for one in kinds]
    rows, others = (np.concatenate([part[i] for part in parts]) for i in (0, 1))
    columns = {name: np.concatenate([part[2][name] for part in parts]) for name in names}
    if others.dtype == np.uint64:  # the kernels sort numbers of 32 bits
        order = np.lexsort((others, rows))
        offsets = np.zeros(last - first + 1, np.uint64)
        np.cumsum(np.bincount(rows, minlength=last - first), out=offsets[1:])
        wide: Any = others[order]
        return Rows(offsets, wide, {name: values[order] for name, values in columns.items()})
    made = build_rows(EdgeScan(rows, others, mirror=False), shared.n, columns, threads)
    return Rows(made.offsets[: last - first + 1].copy(), made.targets, made.columns)
