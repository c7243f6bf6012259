"""The memory budget of a run: computes the memory that the run needs, compares it with the budget, and reports the
result.
"""

from __future__ import annotations

import os
import time
import weakref
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING

from vlang.errors import BindError, OutOfMemory
from vlang.options import Options, parse_size
from vlang.runtime.cluster.transports.transport import Transport, here
from vlang.runtime.graph.edges.shape import Shape
from vlang.runtime.storage.available import default_budget, in_bytes, memory_option, most_bytes
from vlang.runtime.storage.ledger import budget
from vlang.runtime.threads.processors import available_threads

if TYPE_CHECKING:
    from vlang.runtime.cpu.need import Need
    from vlang.runtime.graph.graph import Graph
    from vlang.runtime.plan.plan import Plan

__all__ = ["chosen_budget", "check_need", "need_on", "within_budget"]

_VARIABLE = "VLANG_MEMORY"
_MOMENT = 1.0  # seconds for which free memory counts as known: asking costs as much as a search of a small graph
_MOST_SEEN = 64
_LARGE = 1 << 20  # below this number of vertices and edges, a need is not compared with the free memory


def chosen_budget(options: Options, environ: Mapping[str, str] = os.environ) -> int | None:
    """The budget of a run in bytes: option `memory`, else VLANG_MEMORY; None if neither is set. Raises BindError."""
    if options.memory is not None or not (text := environ.get(_VARIABLE)):
        return options.memory
    try:
        return parse_size(text)
    except ValueError as error:
        raise BindError(f"{_VARIABLE}: {error}") from None


def need_on(plan: Plan, shape: Shape, options: Options, graph: Graph | None = None) -> Need:
    """The host memory that a run on the CPU needs.

    Args:
        plan: the plan of the program for the CPU.
        shape: the counts of the graph.
        options: the options of the run.
        graph: the graph, if it is in memory; its columns may decide how a loop runs.
    """
    from vlang.runtime.cpu.need import need_of  # start-up
    from vlang.runtime.cpu.ways.ways import WAYS  # start-up
    from vlang.runtime.engine.way import way_of  # start-up

    return need_of(plan, shape, options.threads or available_threads(),
                   lambda loop: way_of(WAYS, loop, shape if graph is None else graph, options),
                   options.checkpoint is not None)


def check_need(need: Need, limit: int | None, name: str, graph: str, exact: bool = True) -> str:
    """Compare the memory that a run needs with its budget or, if there is no budget, with the free memory.

    Args:
        need: the memory that the run needs.
        limit: the budget in bytes; None for no budget.
        name: the name of the program.
        graph: the name of the graph.
        exact: whether the counts of the graph are known exactly.

    Returns:
        A sentence about the needed memory; it begins with "warning: " if this may be too much. The result is "" if
        there is no budget and enough memory is free.

    Raises:
        OutOfMemory: the need is known exactly, and exceeds the budget or, without a budget, the whole memory.
    """
    text = f"{name} on {graph} needs {'' if exact else 'about '}{in_bytes(need.peak)} of memory ({need})"
    if limit is None:
        most, free = most_bytes(), default_budget()
        if exact and most is not None and need.peak > most:
            raise OutOfMemory(f"{text}, and there are {in_bytes(most)}, swap space included: end other programs, or "
                              f"use a machine with more memory, or give a budget and {_streamed(graph)}")
        return "" if free is None or need.peak <= free else \
            f"warning: {text}, and {in_bytes(free)} should not be exceeded here: that is 80 % of what is free"
    if need.peak <= limit:
        return f"{text}, of {in_bytes(limit)}"
    if exact:
        raise OutOfMemory(f"{text}, and the budget is {in_bytes(limit)}: give {memory_option(need.peak)}, or "
                          f"{_streamed(graph)}")
    return f"warning: {text}, and the budget is {in_bytes(limit)}"


def _streamed(graph: str) -> str:
    """How the edges of a graph are streamed from a page file."""
    if graph.endswith(".vg"):
        return f"open the page file in place of reading it, so that it is streamed: vlang.Graph.open(\"{graph}\")"
    return f"convert the graph to a page file, which is streamed: vlang convert {graph} GRAPH.vg"


_seen: dict[tuple[int, int], tuple[weakref.ref[Graph], Plan, Options, float]] = {}  # by ids; a value holds its plan


def within_budget(
    plan_for: Callable[[str], Plan], graph: Graph, options: Options
) -> AbstractContextManager[tuple[str, ...]]:
    """A context manager that checks the memory need of a run, enforces its budget, and yields warnings.

    Raises OutOfMemory, and BindError.

    Args:
        plan_for: compiles the plan for a target, "numba" or "cuda".
    """
    limit, transport = chosen_budget(options), here()
    if transport is not None and limit is not None:
        if options.device != "cpu":
            raise BindError(f"{_VARIABLE}: budgets are for ranks without a GPU; unset it")
        return _of_rank(plan_for, graph, transport, limit)
    if transport is not None or (
            limit is None and not graph.streamed and (graph.n + graph.m < _LARGE or options.device != "cpu")):
        return nullcontext(())
    return _within(plan_for, graph, options, limit)


@contextmanager
def _of_rank(
    plan_for: Callable[[str], Plan], graph: Graph, transport: Transport, limit: int
) -> Iterator[tuple[str, ...]]:
    """Do the same as `within_budget` for a rank; all ranks of a machine share the budget `limit`."""
    from vlang.runtime.cluster.rank_memory import check_rank_need  # start-up

    with budget(check_rank_need(plan_for("numba"), graph, transport.size, transport.beside, limit)):
        yield ()


@contextmanager
def _within(
    plan_for: Callable[[str], Plan], graph: Graph, options: Options, limit: int | None
) -> Iterator[tuple[str, ...]]:
    if graph.streamed:  # the run decides whether it reads the edges or streams them (vlang.api.running.on_disk)
        with budget(limit, graph.in_memory.shape().held + graph.order_bytes):
            yield ()
        return
    plan = plan_for("numba")
    if limit is None and _fitted(graph, plan, options):
        yield ()
        return
    shape = graph.shape()
    if limit is not None and options.device not in ("cpu", "auto"):
        from vlang.runtime.gpu.gpu_need import need_on_gpu  # start-up

        need = need_on_gpu(plan, plan_for("cuda"), shape, options, graph, limit)
    else:
        need = need_on(plan, shape, options, graph)
    text = check_need(need, limit, plan.name, graph.name)
    if limit is None and not text:
        _remember(graph, plan, options)
    with budget(limit, shape.held):
        yield (text.removeprefix("warning: "),) if limit is None and text else ()


def _fitted(graph: Graph, plan: Plan, options: Options) -> bool:
    """Return whether the same call fitted into the free memory in a check a moment ago.

    A call that fitted a moment ago still fits: the graph keeps its adjacencies, so the second call needs no more memory
    than the first.
    """
    known = _seen.get((id(graph), id(plan)))
    return known is not None and known[0]() is graph and known[1] is plan and known[2] == options and \
        time.monotonic() - known[3] < _MOMENT


def _remember(graph: Graph, plan: Plan, options: Options) -> None:
    if len(_seen) >= _MOST_SEEN:
        _seen.clear()
    _seen[id(graph), id(plan)] = weakref.ref(graph), plan, options, time.monotonic()
