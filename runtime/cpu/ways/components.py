"""Rule K: a loop that copies values over a symmetric relation runs as a search for connected components.

The algorithm is Afforest (Sutton, Ben-Nun and Barak, Optimizing Parallel Graph Connectivity Computation via Subgraph
Sampling, IPDPS 2018). Afforest links every vertex with two of its neighbours. After these links, Afforest links the
vertices outside the largest tree with all their neighbours. The proof is in docs/internals/rule-k.md.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vlang.options import Options
from vlang.runtime.compile.objects import Kernels, load_kernels
from vlang.runtime.cpu.crew.launch import Cpu
from vlang.runtime.cpu.paged.source import Streamed
from vlang.runtime.cpu.paged.work import by_page
from vlang.runtime.cpu.ways.cpu_way import Beside, CpuWay, Running
from vlang.runtime.engine.machine import Done, Loop, Start, Stats
from vlang.runtime.graph.edges.shape import Counts, Shape
from vlang.runtime.graph.topology.adjacency import Adjacency
from vlang.runtime.graph.topology.pages import vertex_tasks
from vlang.runtime.plan.plan import CopySpec, LoopSpec, Plan, StageSpec
from vlang.runtime.storage.memory import empty

__all__ = ["Components", "ConnectLoop", "forest_kernels", "join_kernels", "ordered", "spread_numbers"]

_TASK = "i64*, i64, i64*"
_FOREST = {
    "start": f"void(u64*, u32*, u32*, u32*, {_TASK})",
    "sample": f"void(u32*, u32*, {_TASK})",
    "adopt": f"void(u64*, u32*, u64*, i64, i64, u32, u32*, {_TASK})",
    "misplaced": f"void(u32*, {_TASK}, i64*)",
    "flatten": f"void(u32*, {_TASK})",
    "roots": f"void(u32*, u32*, {_TASK})",
    "outside": f"void(u64*, u32*, i64, {_TASK}, u32*, i64*)",
    "finish": f"void(u64*, u32*, u32*, {_TASK}, u32*, i64*)",
    "alone": f"void(u32*, {_TASK})",
    "hook_rows": f"void(u64*, u32*, {_TASK})",
    "hook_segments": f"void(u64*, i64*, u32*, {_TASK})",
    "used": "void(u32*, i64, i64, u32, u8*)",
    "pairs": "void(u32*, u32*, i64, u32*)",
}
_PAGED = ("alone", "hook_rows", "hook_segments")
_RANKS = ("adopt", "used", "pairs")
_PROBES = 1024  # number of vertices that are sampled to find the largest tree
_TASKS = 256  # about the number of tasks
_LEAST_COST = 8192  # about the minimum number of edges and vertices in a task


class Components(CpuWay):
    """Runs loops that copy values over a symmetric relation (rule K), unless the options choose a mode."""

    name = "connect"

    def refused(self, loop: LoopSpec, graph: Counts, options: Options) -> str:
        """The reason why the loop cannot run by connected components; "" if it can."""
        if loop.copied is None:
            return "it does more than copy values"
        if options.mode != "auto" or options.asynchronous:
            return "how supersteps run was asked for"
        return "" if _fits(loop.copied, graph) else "its relation is not symmetric in a directed graph"

    def roles(self, loop: LoopSpec, stage: StageSpec, options: Options) -> frozenset[str]:
        """Yield no roles, because this execution way launches none of the plan's kernels."""
        return frozenset()

    def begin(
        self, loop: LoopSpec, machine: Running, bound: int | None, start: Start | None
    ) -> Loop | None:
        """Begin the loop; returns None if it is bounded, if it continues a run, or if the order of operands matters.

        The order matters for NaN and negative zero, because min and max then return the first operand.
        """
        passes, copied = machine.passes, loop.copied
        assert copied is not None
        values = passes.state.arrays[f"field:{copied.field}"]
        if bound is not None or (start is not None and start.flags is not None) or not ordered(values):
            return None
        passes.freedoms.of(loop, bound).took("K")
        if isinstance(passes.source, Streamed):
            return PagedConnectLoop(copied, passes.source, values, passes.cpu)
        return ConnectLoop(copied, passes.graph.adjacency(copied.domain), values, passes.cpu)

    def streamed(self, loop: LoopSpec, plan: Plan, options: Options) -> frozenset[str]:
        """The adjacency directions whose pages the loop may read from disk: normally only "in".

        If `begin` may return None, another execution way may run the loop, so all directions of the loop's passes are
        included.
        """
        copied = loop.copied
        bounded = loop.limit is not None or options.max_rounds is not None or options.checkpoint is not None
        floats = copied is not None and any(field.name == copied.field and field.dtype.startswith("f")
                                            for field in plan.fields)
        return super().streamed(loop, plan, options) if bounded or floats else frozenset({"in"})

    def memory(self, loop: LoopSpec, shape: Shape, threads: int) -> int:
        """The bytes of the forest.

        If the edges are in memory, the result includes a second neighbour per vertex and the tasks.
        """
        return 4 * shape.n if shape.streamed else 8 * shape.n + 16 * shape.n

    def said(self, loop: LoopSpec) -> list[str]:
        """A line about the field that is copied, and the operator that combines its values."""
        copied = loop.copied
        return [] if copied is None else [
            f"connected components, where nothing else is asked for: {copied.field} is copied and joined by "
            f"{copied.join} (rule K)"]

    def beside(self, loop: LoopSpec, plan: Plan, options: Options) -> Sequence[Beside]:
        """The kernels that build the forest, and the kernels that combine values over its trees."""
        if loop.copied is None:
            return ()
        dtype = next(field.dtype for field in plan.fields if field.name == loop.copied.field)
        forest, join = forest_kernels(), join_kernels(loop.copied.join, dtype)
        return [Beside(forest, [name for name in forest if name not in (*_PAGED, *_RANKS)]), Beside(join, join)]


class _Forest(ABC):
    """Runs a loop as one superstep of the mode "connect"; a `vlang.runtime.engine.machine.Loop`.

    Args:
        copied: the field that is copied, and the operator that combines its values.
        values: array[n], the values of the field.
        cpu: launches kernels.
    """

    def __init__(self, copied: CopySpec, values: NDArray[Any], cpu: Cpu) -> None:
        self.stats = Stats()
        self._copied, self._values, self._cpu = copied, values, cpu
        self._edges = 0

    @abstractmethod
    def _tasks(self) -> NDArray[np.int64]:
        """Tasks over all vertices, int64[T, 3]."""

    @abstractmethod
    def _components(self, parents: NDArray[np.uint32], tasks: NDArray[np.int64], flat: bool = False) -> None:
        """Compute a forest with one tree per component. The root of a tree is its smallest vertex.

        Args:
            parents: uint32[n], the parent of each vertex; overwritten.
            tasks: int64[T, 3], tasks over all vertices.
            flat: whether the parent of every vertex must be the root.
        """

    def advance(self, room: int | None) -> Sequence[Done]:
        """Run the only superstep: every vertex gets the combined value of its component."""
        tasks = self._tasks()
        if self._numbered(tasks):  # the minimum over a component is its root
            self._components(self._values, tasks, flat=True)
            return (self.last(),)
        parents = empty(len(self._values), np.uint32)
        self._components(parents, tasks)
        for name in ("join", "spread"):
            self._over_trees(name, parents, self._values, tasks)
        return (self.last(),)

    def _over_trees(
        self, name: str, parents: NDArray[np.uint32], values: NDArray[Any], tasks: NDArray[np.int64]
    ) -> None:
        """Combine the values of each tree in its root (`join`), or copy the root's value to the whole tree (`spread`).
        """
        kernels = join_kernels(self._copied.join, f"{values.dtype.kind}{8 * values.dtype.itemsize}")
        self._cpu.launch(kernels[name], (parents, values), tasks, len(tasks), len(parents))

    def last(self) -> Done:
        """The record of the only superstep. No vertex is active afterwards."""
        return Done(0, "connect", self._edges)

    def close(self) -> None:
        """Do nothing, because there is nothing to release."""
        return

    def _numbered(self, tasks: NDArray[np.int64]) -> bool:
        """Return whether values are combined by minimum and the value of every vertex is its own number."""
        values = self._values
        if self._copied.join != "min" or values.dtype != np.uint32:
            return False
        found = np.zeros(1, np.int64)
        self._cpu.launch(forest_kernels()["misplaced"], (values,), tasks, len(tasks), len(values), (found,))
        return not found[0]


class ConnectLoop(_Forest):
    """Computes connected components of a graph in memory by Afforest, which skips most edges."""

    def __init__(self, copied: CopySpec, adjacency: Adjacency, values: NDArray[Any], cpu: Cpu) -> None:
        super().__init__(copied, values, cpu)
        self._adjacency = adjacency
        self._skipped = 0  # a vertex of the tree whose edges `_components` has skipped

    def _tasks(self) -> NDArray[np.int64]:
        tasks: NDArray[np.int64] = self._adjacency.derived("connect", lambda: _tasks(self._adjacency.offsets))
        return tasks

    def _components(self, parents: NDArray[np.uint32], tasks: NDArray[np.int64], flat: bool = False) -> None:
        n, kernels, second = len(parents), forest_kernels(), empty(len(parents), np.uint32)
        sampled = self._sampled(parents, second, tasks)
        if len(tasks) == 0:
            return
        probes = self._probes().copy()
        self._cpu.launch(kernels["roots"], (parents, probes), np.array([0, 0, len(probes)]), 1, len(probes))
        self._skipped = _most_frequent(probes)
        rest = self._finish(parents, tasks, self._skipped, second)  # `second` is no longer read
        if flat and rest:  # otherwise no tree has changed since `outside` made every vertex point to its root
            self._cpu.launch(kernels["flatten"], (parents,), tasks, len(tasks), 2 * n)
        self._edges = sampled + rest

    def _sampled(self, parents: NDArray[np.uint32], second: NDArray[np.uint32], tasks: NDArray[np.int64]) -> int:
        """Link every vertex with two of its neighbours; returns the number of edges that were read.

        Args:
            parents: uint32[n], the forest; overwritten.
            second: uint32[n], memory for the second neighbours.
            tasks: int64[T, 3], tasks over the vertices.
        """
        kernels, cost = forest_kernels(), 2 * len(parents)
        self._cpu.launch(kernels["start"], (*self._adjacency.addresses, second, parents), tasks, len(tasks), cost)
        self._cpu.launch(kernels["sample"], (second, parents), tasks, len(tasks), cost)
        return cost

    def _probes(self) -> NDArray[np.uint32]:
        """Vertices among which the largest tree is looked for."""
        n = len(self._values)
        found: NDArray[np.uint32] = self._adjacency.derived("probes", lambda: spread_numbers(n))
        return found

    def _finish(
        self, parents: NDArray[np.uint32], tasks: NDArray[np.int64], skipped: int, others: NDArray[np.uint32]
    ) -> int:
        """Link all vertices outside one tree with all their neighbours; returns the number of edges of these vertices.

        Args:
            parents: uint32[n], the forest; changed.
            tasks: int64[T, 3], tasks over all vertices.
            skipped: the root of the tree that is skipped; n for none.
            others: uint32[n], memory for the list of the vertices outside this tree.
        """
        offsets, targets = self._adjacency.addresses
        kernels, counts = forest_kernels(), np.zeros((len(tasks), 2), dtype=np.int64)
        self._cpu.launch(kernels["outside"], (offsets, parents, skipped), tasks, len(tasks), 2 * len(parents),
                         (others, counts))
        rest = int(counts[:, 1].sum())
        self._cpu.launch(kernels["finish"], (offsets, targets, parents), tasks, len(tasks), rest, (others, counts))
        return rest


class PagedConnectLoop(_Forest):
    """Computes connected components in one pass over pages on disk. The pages may arrive in any order.

    The pages of one adjacency direction suffice, because the relation is symmetric.

    Args:
        copied, values, cpu: as for `_Forest`.
        source: the pages.
    """

    def __init__(self, copied: CopySpec, source: Streamed, values: NDArray[Any], cpu: Cpu) -> None:
        super().__init__(copied, values, cpu)
        self._source = source

    def _tasks(self) -> NDArray[np.int64]:
        return vertex_tasks(len(self._values), _LEAST_COST)

    def _components(self, parents: NDArray[np.uint32], tasks: NDArray[np.int64], flat: bool = False) -> None:
        kernels, pages, table = forest_kernels(), self._source.pages("in"), self._source.table("in", ())
        if not flat:  # otherwise `parents` are the values, and each vertex is its own parent already
            self._cpu.launch(kernels["alone"], (parents,), tasks, len(tasks), len(parents))
        for rows, segments in by_page(self._source, "in", (), table, pages.tasks, pages.segment_tasks):
            self._cpu.launch(kernels["hook_rows"], (table, parents), rows, len(rows), pages.edges)
            self._cpu.launch(kernels["hook_segments"], (table, pages.segments, parents), segments, len(segments),
                             pages.edges)
        if flat:
            self._cpu.launch(kernels["flatten"], (parents,), tasks, len(tasks), len(parents))
        self._edges = pages.edges


def _fits(copied: CopySpec, graph: Counts) -> bool:
    """Return whether values are copied over a symmetric relation."""
    return copied.domain == "both" or not graph.directed


def ordered(values: NDArray[Any]) -> bool:
    """Return whether min and max of the values have the same bits for every order of the operands."""
    if values.dtype.kind != "f":
        return True
    return not bool(np.any(np.isnan(values) | (np.signbit(values) & (values == 0))))


def spread_numbers(n: int) -> NDArray[np.uint32]:
    """_PROBES numbers below n, spread over all of them, and the same in every run."""
    return (np.arange(_PROBES, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15) % np.uint64(n)).astype(np.uint32)


def _most_frequent(roots: NDArray[np.uint32]) -> int:
    """The most frequent root; the smallest root if several are equally frequent. Sorts `roots` in place."""
    roots.sort()
    middle = roots[len(roots) // 2]  # a root of more than half of the sample is in its middle
    if 2 * int(roots.searchsorted(middle, "right") - roots.searchsorted(middle)) > len(roots):
        return int(middle)
    starts = np.flatnonzero(np.concatenate([[True], roots[1:] != roots[:-1]]))
    return int(roots[starts[np.argmax(np.diff(starts, append=len(roots)))]])


def _tasks(offsets: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Tasks over consecutive vertices with about equal cost, int64[T, 3].

    A row has 0, the first vertex and the end vertex.
    """
    n = len(offsets) - 1
    work = offsets.view(np.int64) + np.arange(n + 1)
    cost = max(_LEAST_COST, int(work[-1]) // _TASKS)
    cuts = np.unique(np.append(np.searchsorted(work, np.arange(0, int(work[-1]), cost)), n))
    return np.ascontiguousarray(np.stack([np.zeros(len(cuts) - 1, np.int64), cuts[:-1], cuts[1:]], axis=1))


def _text() -> str:
    return (Path(__file__).parents[2] / "kernels" / "connect.py").read_text(encoding="utf-8")


@cache
def forest_kernels() -> Kernels:
    return load_kernels(_text(), _FOREST)


@cache
def join_kernels(join: str, dtype: str) -> Kernels:
    """The kernels that combine values over trees by `join` (such as min), and copy the results to all vertices.

    `dtype` is the type of the values, a key of DTYPES.
    """
    passes = f"void(u32*, {dtype}*, {_TASK})"
    return load_kernels(f"{_text()}\nput = put_{join}\n", {"join": passes, "spread": passes})
