"""The execution ways of loops on a GPU, in order of preference. A loop runs in the first way that may run it.

All ways reach the same final state (docs/language.md, section 10), so their order affects only time. All code that
depends on the ways uses this list: the code that runs loops, reserves memory, compiles kernels before the run, checks
options, or prints `vlang explain`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from vlang.options import Options
from vlang.runtime.gpu.passes.gpu_frontier import Arena
from vlang.runtime.gpu.topology.sides import Side
from vlang.runtime.gpu.ways.bitmaps import BitmapWay
from vlang.runtime.gpu.ways.gpu_components import ComponentsWay
from vlang.runtime.gpu.ways.gpu_superstep import FullWay, NotifyWay
from vlang.runtime.gpu.ways.pushing import PushWay
from vlang.runtime.gpu.ways.way import Way
from vlang.runtime.graph.graph import Graph
from vlang.runtime.plan.plan import LoopSpec, Plan, StageSpec
from vlang.runtime.storage.available import in_bytes

__all__ = ["WAYS", "attempts", "candidates", "modes", "read_by", "said", "shortfalls"]

WAYS: Sequence[Way] = (ComponentsWay(), PushWay(), BitmapWay(), NotifyWay(), FullWay())


def modes() -> tuple[str, ...]:
    """Return the values of the option `mode`."""
    return ("auto", *dict.fromkeys(mode for way in reversed(WAYS) for mode in way.modes))


def said(loop: LoopSpec, graph: Graph | None, options: Options) -> list[str]:
    """Return lines about a loop for `vlang explain`: one line for each way in order, up to the first way that surely
    runs the loop.

    Each line says whether the way may run the loop under the options, or why the way cannot run it. The last line also
    says which way runs the loop if GPU memory is short. `graph` is None if the graph is not known yet.
    """
    lines = []
    for way in (way for way in WAYS if not way.spare):
        reason = way.refused(loop, graph, options)
        lines.append(f"{way.name}: no ({reason})" if reason else f"{way.name}: yes" if way.sure else
                     f"{way.name}: if values and graph allow")
        if not reason and way.sure:
            if way.given_up and options.mode == "auto":
                left = (other for other in WAYS if other.sure and other.given_up != way.given_up)
                least = next(other for other in left if not other.refused(loop, graph, options))
                lines[-1] += f"; {least.name} if GPU memory is short"
            break
    return lines


def candidates(ways: Sequence[Way], loop: LoopSpec, graph: Graph, options: Options) -> Iterator[Way]:
    """Yield the ways in which a loop may run, in order, up to the first way that surely runs the loop.

    Args:
        ways: the ways in order of preference.
        loop: the loop.
        graph: the graph.
        options: the options of the run.
    """
    for way in ways:
        if not way.refused(loop, graph, options):
            yield way
            if way.sure:
                return


def read_by(ways: Sequence[Way], plan: Plan, graph: Graph, options: Options) -> set[str]:
    """Return the adjacency directions whose edges are read more than once, by blocks or loops. The result includes the
    directions of all ways in which a loop may run.

    A pass that runs once, such as a `require`, does not count: a pass that runs once copies each of its pages once in
    any case.

    Args:
        ways: the ways in order of preference.
        plan: the program.
        graph: the graph.
        options: the options of the run.
    """
    known = {stage.name for loop in plan.loops for stage in loop.stages}
    known |= {step.name for step in plan.steps if isinstance(step, StageSpec)}
    found = {stage.domain for stage in plan.stages if stage.name not in known}
    for loop in plan.loops:
        for way in candidates(ways, loop, graph, options):
            found |= {kind for kind, _, _ in way.uses(loop)}
            if way.pulls(loop, options):
                found |= {stage.domain for stage in loop.stages}
    return {kind for kind in found if kind is not None}


def shortfalls(
    ways: Sequence[Way], loops: Sequence[LoopSpec], graph: Graph, options: Options, sides: Mapping[str, Side]
) -> Iterator[str]:
    """Yield sentences about loops that do not run in the preferred way because device memory is short.

    Args:
        ways: the ways for which there is enough memory.
        loops: the loops.
        graph: the graph.
        options: the options of the run.
        sides: the edges of all ways, by adjacency direction.
    """
    for loop in loops:
        wanted, taken = (next(candidates(some, loop, graph, options)) for some in (WAYS, ways))
        if wanted.name != taken.name:
            need = sum(map(Arena.bytes, wanted.sizes(loop, graph.n, sides)))
            yield f"GPU memory is short: the loop in line {loop.line} runs by {taken.name}, because the frontiers of " \
                f"{wanted.name} take {in_bytes(need)}"


def attempts(
    ways: Sequence[Way], loops: Sequence[LoopSpec], graph: Graph, options: Options
) -> Iterator[Sequence[Way]]:
    """Yield lists of ways with which the machine tries to open a run: first all ways, then fewer if memory is short.

    A way that the caller requested by the option `mode` is never dropped.

    Args:
        ways: all ways, in order of preference.
        loops: the loops.
        graph: the graph.
        options: the options of the run.
    """
    left = ways
    yield left
    for level in sorted({way.given_up for way in ways} - {0}) if options.mode == "auto" else ():
        gone = {way for loop in loops for way in candidates(left, loop, graph, options) if way.given_up == level}
        if gone:
            left = tuple(way for way in left if way.given_up != level)
            yield left
