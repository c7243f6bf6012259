"""Execution ways of loops on one kind of processor, and the choice among them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Never, Protocol, TypeVar

from vlang.errors import InternalError
from vlang.options import Options
from vlang.runtime.engine.machine import Loop, Start
from vlang.runtime.graph.edges.shape import Counts
from vlang.runtime.graph.graph import Graph
from vlang.runtime.plan.plan import LoopSpec, StageSpec

__all__ = ["Way", "begin_loop", "way_of"]

M = TypeVar("M", contravariant=True)


class Way(Protocol[M]):
    """An execution way: a method of running a loop. M is the part of the machine that the way uses.

    All ways end in the same state (docs/language.md, section 10), so their order in a list affects time only.
    The last way of a list refuses no loop, and its `begin` never returns None.
    """

    @property
    def name(self) -> str:
        """The name of the way in `vlang explain` and options."""

    def refused(self, loop: LoopSpec, graph: Counts, options: Options) -> str:
        """The reason why the loop can never run this way, whatever its values are; "" if it may."""

    def roles(self, loop: LoopSpec, stage: StageSpec, options: Options) -> frozenset[str]:
        """The roles of the kernels that every run launches for a pass of the loop."""

    def begin(self, loop: LoopSpec, machine: M, bound: int | None, start: Start | None) -> Loop | None:
        """Begin the loop; returns None if the initial values of the loop or its bound do not permit this way.

        Args:
            loop: a loop for which `refused` returns "".
            machine: the state of the run, and its kernels.
            bound: the maximum number of supersteps; None if unknown.
            start: the state from which the loop continues another run; None for a loop that begins anew.
        """

    def said(self, loop: LoopSpec) -> list[str]:
        """Lines about the loop for `vlang explain`; may be empty."""


W = TypeVar("W", bound=Way[Never])


def way_of(ways: Iterable[W], loop: LoopSpec, graph: Counts, options: Options) -> W:
    """Return the first way that does not refuse a loop. The loop runs in the returned way unless the initial values of
    the loop rule it out.

    Args:
        ways: the ways in order of preference.
        loop: the loop.
        graph: the numbers of vertices and edges of the graph.
        options: the options of the run.
    """
    return next(way for way in ways if not way.refused(loop, graph, options))


def begin_loop(
    ways: Iterable[Way[M]], machine: M, loop: LoopSpec, graph: Graph, options: Options, bound: int | None,
    start: Start | None,
) -> Loop:
    """Begin a loop in the first way that does not refuse the loop and that can begin it.

    Args:
        ways: the ways in order of preference.
        machine: the part of the machine that the ways use.
        loop: the loop.
        graph: the graph.
        options: the options of the run.
        bound: the maximum number of supersteps; None if unknown.
        start: the state from which the loop continues another run; None for a loop that begins anew.
    """
    for way in ways:
        if not way.refused(loop, graph, options):
            begun = way.begin(loop, machine, bound, start)
            if begun is not None:
                return begun
    raise InternalError(f"no way runs the loop in line {loop.line}")
