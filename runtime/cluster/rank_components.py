"""Rule K on several ranks: finds connected components of the edges of each rank, and then links the trees of all ranks.

Each rank builds a forest over its local vertices from the rows that it owns (vlang.runtime.cpu.ways.components). An
owner sends the root of each boundary vertex to the ranks that mirror the vertex. Each of these roots links a tree of
the owner with a tree of the receiving rank. All ranks gather the distinct links, and join the values of linked trees.
Every rank skips the edges of its largest tree, so neither rank reads an edge between the skipped trees of two ranks. If
other edges do not link these two trees, all ranks also read the skipped edges.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vlang.errors import InternalError
from vlang.runtime.cluster.cluster_passes import ClusterPasses
from vlang.runtime.cluster.messages import Reader, apart_part, joined_parts, whole_part
from vlang.runtime.cluster.rank_pointed import within
from vlang.runtime.cluster.transports.transport import Buffer, gathered, summed
from vlang.runtime.cpu.ways.components import Components, ConnectLoop, forest_kernels, ordered
from vlang.runtime.cpu.ways.cpu_way import Running
from vlang.runtime.engine.machine import Done, Loop, Start
from vlang.runtime.kernels import mirror_kernels
from vlang.runtime.plan.plan import BLOCK, CopySpec, LoopSpec
from vlang.runtime.storage.memory import empty

__all__ = ["RankComponents"]

_RANK = np.int64(1) << 32  # a tree of rank r with the root v has the code r * _RANK + v


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
        if summed(passes.transport, [int(not ordered(own))], f"values of {copied.field}")[0]:
            return None
        passes.freedoms.of(loop, bound).took("K")
        return _RankConnectLoop(copied, passes)


class _RankConnectLoop(ConnectLoop):
    """The only superstep of one rank; a `vlang.runtime.engine.machine.Loop`."""

    def __init__(self, copied: CopySpec, passes: ClusterPasses) -> None:
        self._slot, self._rank, self._numbers = f"field:{copied.field}", passes, passes.numbers
        values = passes.state.arrays[self._slot]
        super().__init__(copied, passes.graph.adjacency(copied.domain), values, passes.cpu)

    def advance(self, room: int | None) -> Sequence[Done]:
        """Run the only superstep: every vertex gets the combined value of its component."""
        tasks, parents = self._tasks(), empty(self._numbers.n, np.uint32)
        self._leave_out_mirrors()
        self._components(parents, tasks)
        if not self._merge(parents, tasks):
            self._edges += self._finish(parents, tasks, len(parents), empty(len(parents), np.uint32))
            self._merge(parents, tasks)
        self._over_trees("spread", parents, self._values, within(tasks, *self._rank.vertices))
        self._rank.forget(self._slot)  # values of mirrors were overwritten
        self._edges = summed(self._rank.transport, [self._edges], "edges of components")[0]
        return (self.last(),)

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
        skipped = self._skipped
        while len(parents) and parents[skipped] != skipped:
            skipped = int(parents[skipped])
        messages = self._sent_roots(parents, skipped)  # before values are joined, so that no rank waits for that
        self._over_trees("join", parents, self._values, tasks)
        links, adjacent = self._links(parents, skipped, messages)
        trees = np.unique(np.append(links[:, 0], me * _RANK + skipped) if len(parents) else links[:, 0])
        parts = [np.array([len(links), len(trees), me * _RANK + skipped], np.int64), adjacent, links.reshape(-1), trees]
        message = [part.view(np.uint8) for part in parts]
        message.append(self._values[trees - me * _RANK].view(np.uint8))
        found = [self._parsed(part) for part in gathered(transport, np.concatenate(message), "trees of components")]
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
    ) -> tuple[int, NDArray[np.int64], NDArray[np.int64], NDArray[Any], NDArray[np.int64]]:
        """Parse a message of `_merge`: the skipped tree, the links, the trees, their values, and the adjacent ranks."""
        size = self._rank.transport.size
        count, trees, skipped = message[:24].view(np.int64).tolist()
        words = message[24 : 24 + 8 * (size + 2 * count + trees)].view(np.int64)
        values = message[24 + words.nbytes :].view(self._values.dtype)
        return skipped, words[size : size + 2 * count].reshape(-1, 2), words[size + 2 * count :], values, words[:size]

    def _sent_roots(self, parents: NDArray[np.uint32], skipped: int) -> list[Buffer]:
        """Exchange the roots of boundary vertices; returns the messages of all ranks."""
        transport, numbers = self._rank.transport, self._numbers
        buffers: list[Buffer] = [np.zeros(0, np.uint8)] * transport.size
        for rank, places in enumerate(numbers.wanted):
            if rank != transport.rank:  # only roots other than `skipped` are sent
                buffers[rank] = joined_parts([*whole_part(np.array([skipped], np.int64)),
                                              *apart_part(parents, places, skipped)])
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
            if flags[1]:
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
