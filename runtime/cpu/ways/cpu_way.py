"""What a way of running a loop on the CPU says of itself; the list of them: vlang.runtime.cpu.ways.ways."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from vlang.options import Options
from vlang.runtime.compile.objects import Kernels
from vlang.runtime.cpu.passes.passes import Passes
from vlang.runtime.engine.machine import Loop, Start
from vlang.runtime.graph.graph import Graph
from vlang.runtime.plan.plan import LoopSpec, Plan, ScalarSpec, StageSpec

__all__ = ["FULL", "Beside", "CpuWay", "Running", "asked_otherwise", "only_new"]

FULL = frozenset({"messages", "compute", "pull", "followed"})
"""The roles of the kernels that full passes launch."""


class Running(Protocol):
    """What ways need of the machine of a run: its state, graph and threads are those of the passes."""

    passes: Passes
    options: Options

    def evaluate(self, spec: ScalarSpec) -> Any:
        """Compute a graph-level value."""


@dataclass(frozen=True)
class Beside:
    """Kernels beside those of a plan; `sure` names those that a run is sure to launch."""

    kernels: Kernels
    sure: Collection[str]


class CpuWay(ABC):
    """A way of the CPU (a `vlang.runtime.engine.way.Way`). A way that stands in the list is run, prepared, explained
    and drawn by chaos; nothing else names it.

    name: that of its emit half, by which passes carry what it must know (`StageSpec.ways`). modes: the values of the
    option `mode` that ask for it, beside "auto".
    """

    name: str
    modes: tuple[str, ...] = ()

    @abstractmethod
    def refused(self, loop: LoopSpec, graph: Graph, options: Options) -> str:
        """Why the loop does not run this way, whatever its values are; "" if it may."""

    @abstractmethod
    def roles(self, loop: LoopSpec, stage: StageSpec, options: Options) -> frozenset[str]:
        """The roles of the kernels of a pass that a run is sure to launch. With "pull" come those for vertices that
        are cut into segments, where the graph has any."""

    @abstractmethod
    def begin(self, loop: LoopSpec, machine: Running, bound: int | None, start: Start | None) -> Loop | None:
        """The loop under way; None where the values that it begins with, or its bound, do not allow it."""

    def said(self, loop: LoopSpec) -> list[str]:
        """Lines about the loop for `vlang explain`."""
        return []

    def spared(self, loop: LoopSpec, options: Options) -> frozenset[str]:
        """Names of kernels of the plan that a run does not launch, because others do their work."""
        return frozenset()

    def beside(self, loop: LoopSpec, plan: Plan, options: Options) -> Sequence[Beside]:
        """Kernels beside those of the plan; none for a loop that can never run this way."""
        return ()

    def problem(self, plan: Plan, graph: Graph, options: Options) -> str:
        """What to say where options ask for this way and no loop of the plan may run so; "" where that is in order."""
        return ""


def asked_otherwise(options: Options) -> str:
    """Why active vertices do not push: other options say how supersteps run; "" if they may."""
    pushed = options.mode == "push" or (options.mode == "auto" and options.blocking != "always")
    return "" if pushed else "how supersteps run was asked for"


def only_new(start: Start | None) -> bool:
    """Whether what active vertices send is all that is new at the start of a loop."""
    return start is None or start.heard is None or not (start.heard & 2).any()
