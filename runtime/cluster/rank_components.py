"""Rule K on several ranks: finds connected components of the edges of each rank, and then links the trees of all ranks.

Each rank builds a forest over its local vertices from the rows that it owns (vlang.runtime.cpu.ways.components). An
owner sends the root of each boundary vertex to the ranks that mirror the vertex. Each of these roots links a tree of
the owner with a tree of the receiving rank. All ranks gather the distinct links, and join the values of linked trees.
Every rank skips the edges of its largest tree, so neither rank reads an edge between the skipped trees of two ranks. If
other edges do not link these two trees, all ranks also read the skipped edges.

In a graph by degree, the first rank has few vertices, the hubs, and most vertices of the other ranks are neighbours of
hubs. So this rank comes first. If all vertices that it shows to others are in one tree, the others know that all their
neighbours are, and read edges of the rest of their vertices only.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vlang.errors import InternalError
from vlang.runtime.cluster.cluster_passes import ClusterPasses
from vlang.runtime.cluster.messages import Picks, Reader, apart, apart_part, joined_parts, whole_part
from vlang.runtime.cluster.ranges import Ranges
from vlang.runtime.cluster.rank_pointed import within
from vlang.runtime.cluster.transports.transport import Buffer, gathered, summed
from vlang.runtime.cpu.ways.components import Components, ConnectLoop, forest_kernels, ordered, spread_numbers
from vlang.runtime.cpu.ways.cpu_way import Running
from vlang.runtime.engine.machine import Done, Loop, Start
from vlang.runtime.kernels import mirror_kernels
from vlang.runtime.plan.plan import BLOCK, CopySpec, LoopSpec
from vlang.runtime.storage.memory import empty

__all__ = ["RankComponents"]

_RANK = np.int64(1) << 32  # a tree of rank r with the root v has the code r * _RANK + v
_MANY = 256  # vertices for each link from which on a search for links of single mirrors takes less time than the links
_FEW = 8  # the first rank has at most this part of the mean number of vertices


class RankComponents(Components):
    """Runs loops that copy values over a symmetric relation, on all ranks together."""

    def begin(self, loop: LoopSpec, machine: Running, bound: int | None, start: Start | None) -> Loop | None:
        """Begin the loop; returns None in the same cases as `Components.begin`."""
        passes, copied = machine.passes, loop.copied
        assert copied is not None
        assert isinstance(passes, ClusterPasses)
        if bound is not None or (start is not None and start.flags is not None):
            return None
        own = passes.numbers.own(passes.state.arrays[f"field:{copied.field}"])
        if own.dtype.kind == "f" and summed(passes.transport, [int(not ordered(own))], f"values of {copied.field}")[0]:
            return None
        passes.freedoms.of(loop, bound).took("K")
        return _RankConnectLoop(copied, passes)


class _RankConnectLoop(ConnectLoop):
    """The only superstep of one rank; a `vlang.runtime.engine.machine.Loop`."""

    def __init__(self, copied: CopySpec, passes: ClusterPasses) -> None:
        self._slot, self._rank, self._numbers = f"field:{copied.field}", passes, passes.numbers
        values = passes.state.arrays[self._slot]
        super().__init__(copied, passes.graph.adjacency(copied.domain), values, passes.cpu)
        self._picks: list[Picks] = self._adjacency.derived(
            "picks", lambda: [Picks.of(wanted) for wanted in self._numbers.wanted])
        self._first = _first_rank(self._numbers.ranges)
        self._known: int | None = None  # the same rank, if all its vertices that others mirror are in one tree
        self._adopted: int | None = None  # the parent of all neighbours of these vertices
        self._all_edges = 0

    def advance(self, room: int | None) -> Sequence[Done]:
        """Run the only superstep: every vertex gets the combined value of its component."""
        tasks, mirrors, parents = self._tasks(), self._mirrors(), empty(self._numbers.n, np.uint32)
        self._leave_out_mirrors()
        self._over_forest("alone", parents, self._idle())
        transport, first = self._rank.transport, self._first
        if transport.rank == first:
            self._components(parents, tasks)
        if first is not None:
            one = transport.rank == first and self._shows_one_tree(parents)
            self._known = first if summed(transport, [int(one)], "the tree of the first rank")[0] else None
        if transport.rank != first:
            self._components(parents, tasks)
        self._over_forest("flatten", parents, mirrors)
        if not self._merge(parents, tasks):
            self._edges += self._finish(parents, tasks, len(parents), empty(len(parents), np.uint32))
            self._over_forest("flatten", parents, mirrors)
            self._merge(parents, tasks)
        self._over_trees("spread", parents, self._values, tasks)
        self._rank.forget(self._slot)  # values of mirrors were overwritten
        self._edges = self._all_edges
        return (self.last(),)

    def _tasks(self) -> NDArray[np.int64]:
        """Tasks over the owned vertices, except for tasks without any edge."""
        return self._cut_tasks()[0]

    def _idle(self) -> NDArray[np.int64]:
        """Tasks over all other local vertices."""
        return self._cut_tasks()[1]

    def _cut_tasks(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        every, offsets = super()._tasks, self._adjacency.offsets

        def cut() -> tuple[NDArray[np.int64], NDArray[np.int64]]:
            tasks = within(every(), *self._rank.vertices)
            busy = offsets[tasks[:, 1]] < offsets[tasks[:, 2]]
            return np.ascontiguousarray(tasks[busy]), np.concatenate([tasks[~busy], self._mirrors()])

        found: tuple[NDArray[np.int64], NDArray[np.int64]] = self._adjacency.derived("busy and idle", cut)
        return found

    def _mirrors(self) -> NDArray[np.int64]:
        """Tasks over all mirrors and pads."""
        low, high = self._rank.vertices
        spans = np.array([[0, 0, low], [0, high, self._numbers.n]])
        return spans[spans[:, 1] < spans[:, 2]]

    def _probes(self) -> NDArray[np.uint32]:
        """See `ConnectLoop._probes`. Most local vertices may be mirrors, so only vertices of `_tasks` are taken."""
        tasks = self._tasks()
        if self._adopted is not None:  # at least half of these vertices are in its tree
            return np.array([self._adopted], np.uint32)

        def probes() -> NDArray[np.uint32]:
            ends = np.cumsum(tasks[:, 2] - tasks[:, 1])
            places = spread_numbers(int(ends[-1])).astype(np.int64)
            task = np.searchsorted(ends, places, "right")
            found: NDArray[np.uint32] = (tasks[task, 2] - ends[task] + places).astype(np.uint32)
            return found

        found: NDArray[np.uint32] = self._adjacency.derived("busy probes", probes)
        return found

    def _over_forest(self, name: str, parents: NDArray[np.uint32], tasks: NDArray[np.int64]) -> None:
        self._cpu.launch(forest_kernels()[name], (parents,), tasks, len(tasks), len(parents))

    def _sampled(self, parents: NDArray[np.uint32], second: NDArray[np.uint32], tasks: NDArray[np.int64]) -> int:
        """See `ConnectLoop._sampled`. If most vertices have a neighbour in the one tree that another rank shows, the
        edges of these vertices are not read.
        """
        busy = int((tasks[:, 2] - tasks[:, 1]).sum())
        neighbours = 0 if self._known is None else self._picks[self._known].count
        if self._known is None or 2 * neighbours < max(1, busy):
            super()._sampled(parents, second, tasks)
            return 2 * busy + self._sampled_up(parents, second, tasks)
        picks, (first, last) = self._picks[self._known], self._numbers.mirrors_of(self._known)
        top = min(first, int(self._numbers.wanted[self._known][0]))
        parents[first:last] = self._adopted = top
        before = (*self._adjacency.addresses, picks.bits, picks.first, len(picks.bits), top, parents)
        self._cpu.launch(forest_kernels()["adopt"], before, tasks, len(tasks), busy)
        return busy - neighbours

    def _sampled_up(self, parents: NDArray[np.uint32], second: NDArray[np.uint32], tasks: NDArray[np.int64]) -> int:
        """On the rank that comes first, link every vertex with its first neighbour; returns the number of edges read.

        `ConnectLoop._sampled` leaves this to the neighbour if the neighbour is higher. Mirrors do nothing.
        """
        if self._first != self._rank.transport.rank:
            return 0
        (low, high), (offsets, targets) = self._rank.vertices, (self._adjacency.offsets, self._adjacency.targets)
        first = offsets[low:high].astype(np.int64)
        some = np.flatnonzero(first < offsets[low + 1 : high + 1].view(np.int64))
        second[low:high] = np.arange(low, high, dtype=np.uint32)
        second[low + some] = targets[first[some]]
        self._cpu.launch(forest_kernels()["sample"], (second, parents), tasks, len(tasks), high - low)
        return len(some)

    def _shows_one_tree(self, parents: NDArray[np.uint32]) -> bool:
        """Return whether all vertices that other ranks mirror are in the skipped tree."""
        skipped = _root(parents, self._skipped)
        return not any(apart(parents, picks, skipped)[0] for picks in self._picks)

    def _leave_out_mirrors(self) -> None:
        """Give mirrors and pads a value that leaves combined values unchanged. Only the owners combine the values of
        vertices, so the values of mirrors and pads need not be sent.
        """
        low, high = self._rank.vertices
        self._values[:low] = self._values[high:] = _neutral(self._copied.join, self._values.dtype)

    def _merge(self, parents: NDArray[np.uint32], tasks: NDArray[np.int64]) -> bool:
        """Join the values of the trees, and of the linked trees of all ranks, and store the results at the roots.

        Returns True if edges that were read connect every two skipped trees that may be adjacent.

        Args:
            parents: uint32[n], the forest of this rank. Afterwards, the parent of every vertex is its root.
            tasks: int64[T, 3], tasks over all vertices.
        """
        transport, me = self._rank.transport, self._rank.transport.rank
        skipped = _root(parents, self._skipped)
        messages = self._sent_roots(parents, skipped)  # before values are joined, so that no rank waits for that
        self._over_trees("join", parents, self._values, tasks)
        links, adjacent = self._links(parents, skipped, messages)
        trees = np.unique(np.append(links[:, 0], me * _RANK + skipped) if len(parents) else links[:, 0])
        parts = [np.array([len(links), len(trees), me * _RANK + skipped, self._edges], np.int64), adjacent,
                 links.reshape(-1), trees]
        message = [part.view(np.uint8) for part in parts]
        message.append(self._values[trees - me * _RANK].view(np.uint8))
        found = [self._parsed(part) for part in gathered(transport, np.concatenate(message), "trees of components")]
        self._all_edges = sum(one[5] for one in found)
        codes = np.concatenate([one[2] for one in found])  # in increasing order, as trees are by rank
        values = np.concatenate([one[3] for one in found])
        if not len(codes):
            return True
        linked = np.concatenate([one[1] for one in found])
        pairs = np.minimum(np.searchsorted(codes, linked), len(codes) - 1).astype(np.uint32)
        if not np.array_equal(codes[pairs], linked):
            raise InternalError("a link between trees names a tree that its rank has not sent")
        forest = np.arange(len(codes), dtype=np.uint32)
        forest_kernels()["pairs"](np.ascontiguousarray(pairs[:, 0]), np.ascontiguousarray(pairs[:, 1]), len(pairs),
                                  forest)
        for name in ("join", "spread"):
            self._over_trees(name, forest, values, np.array([[0, 0, len(codes)]]))
        at = int(np.searchsorted(codes, me * _RANK))
        self._values[trees - me * _RANK] = values[at : at + len(trees)]
        heads = forest[np.minimum(np.searchsorted(codes, [one[0] for one in found]), len(codes) - 1)]
        apart = (heads[:, None] != heads[None, :]) & (np.stack([one[4] for one in found]) != 0)
        return not apart.any()

    def _parsed(
        self, message: NDArray[Any]
    ) -> tuple[int, NDArray[np.int64], NDArray[np.int64], NDArray[Any], NDArray[np.int64], int]:
        """Parse a message of `_merge`: the skipped tree, the links, the trees, their values, the adjacent ranks, and
        the number of edges that were read.
        """
        size = self._rank.transport.size
        count, trees, skipped, edges = message[:32].view(np.int64).tolist()
        words = message[32 : 32 + 8 * (size + 2 * count + trees)].view(np.int64)
        values = message[32 + words.nbytes :].view(self._values.dtype)
        return (skipped, words[size : size + 2 * count].reshape(-1, 2), words[size + 2 * count :], values, words[:size],
                edges)

    def _sent_roots(self, parents: NDArray[np.uint32], skipped: int) -> list[Buffer]:
        """Exchange the roots of boundary vertices; returns the messages of all ranks."""
        transport = self._rank.transport
        buffers: list[Buffer] = [np.zeros(0, np.uint8)] * transport.size
        for rank, picks in enumerate(self._picks):
            if rank != transport.rank:  # only roots other than `skipped` are sent
                buffers[rank] = joined_parts([*whole_part(np.array([skipped], np.int64)),
                                              *apart_part(parents, picks, skipped)])
        return transport.exchange(buffers, "roots of boundary vertices")

    def _links(
        self, parents: NDArray[np.uint32], skipped: int, messages: Sequence[Buffer]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Collect the links between the trees of this rank and of the others.

        Args:
            parents: uint32[n], the root of every vertex.
            skipped: the root of the skipped tree.
            messages: the roots on the other ranks, as `_sent_roots` returns them.

        Returns two arrays. The first array, int64[k, 2], has the links: the code of a tree of this rank, and the code
        of a tree of another rank. The second array, int64[ranks], has 1 for each rank r if this rank mirrors a vertex
        in the skipped tree of rank r, and 0 otherwise.
        """
        me, numbers = self._rank.transport.rank, self._numbers
        links: list[NDArray[np.int64]] = [np.zeros((0, 2), np.int64)]
        adjacent, mine = np.zeros(len(messages), np.int64), _holds(parents, skipped, numbers.low, numbers.high)
        for rank, message in enumerate(messages):
            if rank == me:
                continue
            reader, head = Reader(message), np.zeros(1, np.int64)
            reader.whole(head)
            first, last = numbers.mirrors_of(rank)
            places, roots = reader.apart(last - first)
            some, flags = empty(last - first + 1, np.uint64), np.zeros(2, np.uint8)
            count = mirror_kernels()["boundary"](
                parents[first:last], first, last - first, skipped, int(head[0]), places, roots, len(places),
                numbers.low, some, flags)
            adjacent[rank] = mine and len(places) < last - first
            some = np.unique(some[:count])
            if flags[1] and _MANY * len(some) > numbers.n:
                some = some[self._used(parents, skipped)[(some >> np.uint64(32)).astype(np.int64)] != 0]
            if flags[0] and mine:
                some = np.append(some, np.uint64((skipped << 32) | int(head[0])))
            links.append(np.stack([me * _RANK + (some >> np.uint64(32)).astype(np.int64),
                                   rank * _RANK + (some & np.uint64(0xFFFFFFFF)).astype(np.int64)], axis=1))
        return np.concatenate(links), adjacent

    def _used(self, parents: NDArray[np.uint32], skipped: int) -> NDArray[np.uint8]:
        """Return, for each root, whether its tree has owned vertices. Other trees are single mirrors."""
        used = np.zeros(len(parents), np.uint8)
        used[self._numbers.low : self._numbers.high] = 1
        used[skipped] = _holds(parents, skipped, *self._rank.vertices)
        forest_kernels()["used"](parents, *self._rank.vertices, skipped, used)
        return used


def _first_rank(ranges: Ranges) -> int | None:
    """Return the rank with the fewest vertices if it has far fewer than the mean; None if no rank has."""
    sizes = np.diff(ranges.bounds)
    found = int(np.argmin(np.where(sizes > 0, sizes, ranges.n + 1)))
    return found if ranges.n > 0 and _FEW * ranges.size * int(sizes[found]) < ranges.n else None


def _root(parents: NDArray[np.uint32], v: int) -> int:
    """Return the root of the tree of a vertex."""
    while len(parents) and parents[v] != v:
        v = int(parents[v])
    return v


def _holds(parents: NDArray[np.uint32], root: int, low: int, high: int) -> bool:
    """Return whether the tree with a root has any of the vertices low..high-1. Mostly the first ones are in it."""
    return low <= root < high or any((parents[at : min(at + BLOCK, high)] == root).any()
                                     for at in range(low, high, BLOCK))


def _neutral(join: str, dtype: np.dtype[Any]) -> Any:
    """Return the neutral value of the operator `join` of `CopySpec`, which leaves every other value unchanged."""
    if join in ("min", "max") and dtype.kind == "f":
        return np.inf if join == "min" else -np.inf
    limits = np.iinfo(dtype)
    return {"min": limits.max, "max": limits.min, "last": limits.max, "bitor": 0,
            "bitand": -1 if dtype.kind == "i" else limits.max}[join]
