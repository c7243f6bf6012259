"""The ordered list of ways in which a GPU can run a loop of supersteps; the first that is not refused runs it.

All reach the same final state (docs/language.md, section 10), so the order affects time only. The list serves running
a loop, reserving its memory, compiling its kernels before the run, and `vlang explain`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from vlang.options import Options
from vlang.runtime.gpu.ways.gpu_components import ComponentsWay
from vlang.runtime.gpu.ways.gpu_superstep import FullWay, NotifyWay
from vlang.runtime.gpu.ways.pushing import PushWay
from vlang.runtime.gpu.ways.way import Way
from vlang.runtime.graph.graph import Graph
from vlang.runtime.plan.plan import LoopSpec

__all__ = ["WAYS", "attempts", "candidates"]

WAYS: Sequence[Way] = (ComponentsWay(), PushWay(), NotifyWay(), FullWay())


def candidates(ways: Sequence[Way], loop: LoopSpec, graph: Graph, options: Options) -> Iterator[Way]:
    """The ways in which a loop may run, in order, up to the first that is sure to run it.

    Args:
        ways: in the order of trial.
        loop: the loop.
        graph: the graph.
        options: of the run.
    """
    for way in ways:
        if not way.refused(loop, graph, options):
            yield way
            if way.sure:
                return


def attempts(loops: Sequence[LoopSpec], graph: Graph, options: Options) -> Iterator[Sequence[Way]]:
    """The lists of ways to open a run with, in the order of trial if memory is short: all ways, then fewer and fewer.

    A way that the caller requested by its mode is never dropped.
    """
    left = WAYS
    yield left
    for level in sorted({way.given_up for way in WAYS} - {0}) if options.mode == "auto" else ():
        gone = {way for loop in loops for way in candidates(left, loop, graph, options) if way.given_up == level}
        if gone:
            left = tuple(way for way in left if way.given_up != level)
            yield left
