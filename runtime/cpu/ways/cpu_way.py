"""The interface of an execution way of loops on the CPU. The module vlang.runtime.cpu.ways.ways lists the execution
ways.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Sequence
from typing import Any, Protocol

from vlang.options import Options
from vlang.records import dataclass
from vlang.runtime.compile.objects import Kernels
from vlang.runtime.cpu.passes.passes import Passes
from vlang.runtime.engine.machine import Loop, Start
from vlang.runtime.graph.edges.shape import Counts, Shape
from vlang.runtime.graph.graph import Graph
from vlang.runtime.plan.plan import LoopSpec, Plan, ScalarSpec, StageSpec

__all__ = ["FULL", "Beside", "CpuWay", "Running", "asked_otherwise", "on_disk", "only_new"]

FULL = frozenset({"messages", "compute", "pull", "fused"})
"""The roles of the kernels that full passes launch."""


class Running(Protocol):
    """The part of a machine that execution ways use. The ways access state, graph and threads through `passes`."""

    passes: Passes
    options: Options

    def evaluate(self, spec: ScalarSpec) -> Any:
        """Compute a graph-level value."""


@dataclass(frozen=True)
class Beside:
    """Kernels that are not part of a plan. `sure` names the kernels that every run launches."""

    kernels: Kernels
    sure: Collection[str]


class CpuWay(ABC):
    """An execution way: a method of running a loop on the CPU (a `vlang.runtime.engine.way.Way`).

    Only the list of ways refers to single ways by name. The code that prepares, runs and explains loops iterates over
    this list. Chaos runs do so, too.

    Attributes:
        name: the name of this way in vlang/emit, and the key of its data in `StageSpec.ways`.
        modes: the values of the option `mode` that select the way, besides "auto".
    """

    name: str
    modes: tuple[str, ...] = ()

    @abstractmethod
    def refused(self, loop: LoopSpec, graph: Counts, options: Options) -> str:
        """The reason why the loop can never run this way, whatever its values are; "" if it may."""

    @abstractmethod
    def roles(self, loop: LoopSpec, stage: StageSpec, options: Options) -> frozenset[str]:
        """The roles of the kernels that every run of the loop launches for a pass.

        "pull" includes the kernels for segments if the graph has rows that are cut into segments.
        """

    @abstractmethod
    def begin(self, loop: LoopSpec, machine: Running, bound: int | None, start: Start | None) -> Loop | None:
        """Begin the loop; returns None if its initial values or its bound do not permit this way.

        Args:
            loop: a loop for which `refused` returns "".
            machine: the state of the run, and its kernels.
            bound: the maximum number of supersteps; None if unknown.
            start: the state from which the loop continues another run; None for a loop that begins anew.
        """

    def said(self, loop: LoopSpec) -> list[str]:
        """Lines about the loop for `vlang explain`."""
        return []

    def spared(self, loop: LoopSpec, options: Options) -> frozenset[str]:
        """The names of the plan's kernels that this way does not launch, because other kernels do their work."""
        return frozenset()

    def beside(self, loop: LoopSpec, plan: Plan, options: Options) -> Sequence[Beside]:
        """The kernels of this way that are not part of the plan. The result has no kernels if the loop can never run
        this way.
        """
        return ()

    def directions(self, loop: LoopSpec) -> tuple[str, ...]:
        """The adjacency directions whose neighbours and columns the way reads."""
        return tuple(stage.side for stage in loop.stages if stage.side is not None)

    def streamed(self, loop: LoopSpec, plan: Plan, options: Options) -> frozenset[str]:
        """The adjacency directions whose pages a run of the loop may read from disk."""
        return frozenset(kind for stage in loop.stages for kind in (stage.side, stage.notify) if kind is not None)

    def memory(self, loop: LoopSpec, shape: Shape, threads: int) -> int:
        """The bytes that the loop needs in addition to adjacencies, columns and the arrays of the plan."""
        return 0

    def optional(self, loop: LoopSpec, shape: Shape) -> int:
        """The bytes that only make this way faster. The loop uses this memory only if the budget permits."""
        return 0

    def problem(self, plan: Plan, graph: Graph, options: Options) -> str:
        """The error message if the options require this way, but no loop of the plan can run this way; otherwise ""."""
        return ""


def asked_otherwise(options: Options) -> str:
    """The reason why the options rule out pushes by active vertices; "" if they permit pushes."""
    pushed = options.mode == "push" or (options.mode == "auto" and options.blocking != "always")
    return "" if pushed else "how supersteps run was asked for"


def on_disk(graph: Counts, why: str) -> str:
    """The reason why a way cannot run over streamed pages, as a text that ends with `why`; "" if the edges are in
    memory.
    """
    return f"the edges are on disk, and {why}" if graph.streamed else ""


def only_new(start: Start | None) -> bool:
    """Return whether the contributions of active vertices are the only new input at the start of a loop."""
    return start is None or start.flags is None or not (start.flags & 2).any()
