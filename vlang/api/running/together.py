"""Runs several bound calls of one program together, so that the runs share their reads of the edges
(vlang.runtime.cpu.together).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import fields
from functools import partial
from typing import TYPE_CHECKING

from vlang.api.running.columns import columns_of
from vlang.api.running.memory import chosen_budget, need_on, within_budget
from vlang.api.running.ran import Ran
from vlang.api.running.run_call import renumbered, result_of_run, warnings_after
from vlang.api.running.watched import watched
from vlang.ir.forms.ranges import sizes_of
from vlang.options import Options
from vlang.runtime.cluster.transports.transport import here
from vlang.runtime.cpu.together.group import LEAST, Abandoned, Group
from vlang.runtime.cpu.together.machine import TOGETHER_WAYS, TogetherMachine
from vlang.runtime.cpu.together.searches import SEARCHES, TogetherReach
from vlang.runtime.engine.engine import run_plan
from vlang.runtime.engine.run_outcome import Outcome
from vlang.runtime.engine.way import way_of
from vlang.runtime.plan.layouts.together_words import WIDTH
from vlang.runtime.plan.plan import Plan, Watch
from vlang.runtime.storage.available import default_budget
from vlang.runtime.storage.room import memory_named
from vlang.runtime.threads.activity import listeners
from vlang.runtime.threads.tasks import Task

if TYPE_CHECKING:
    from vlang.api.calls import Call
    from vlang.api.program import Program
    from vlang.runtime.results.result import Result

__all__ = ["alone_because", "most_together", "run_together"]

_FEWEST = 1 << 17  # edges of a graph below which taking turns takes longer than it saves
_FEWEST_SEARCHED = 4_000_000  # the same for searches, which read few edges by themselves
_DENSE = 16  # edges of a vertex below which the passes over vertices, which are not shared, are most of the time
_FREE = frozenset({"threads", "max_rounds", "precision", "derive", "deterministic"})
"""Options with which runs may go together, whatever their values."""


def alone_because(program: Program, calls: Sequence[Call]) -> str:
    """Return the reason why calls of a program with the same graph and options must run one after the other; "" if the
    calls can run together.
    """
    call = calls[0]
    graph, options = call.graph, call.options
    plain = Options()
    asked = sorted(one.name for one in fields(Options) if getattr(options, one.name) != getattr(plain, one.name))
    other = next((name for name in asked if name not in _FREE), "" if chosen_budget(options) is None else "memory")
    if other:
        return f"with the option `{other}` runs do not go together"
    if here() is not None:
        return "they run on several ranks"
    if listeners():
        return "their progress is shown or recorded"
    if len(calls) < LEAST:
        return f"these are fewer than {LEAST} runs, or memory has no room for more at a time"
    if graph.stored is not None:
        return "the edges are on disk"
    fewest = _FEWEST_SEARCHED if _searches(program, call) else _FEWEST
    if graph.m < max(fewest, _DENSE * graph.n):
        return f"the graph has fewer than {fewest:,} edges, or than {_DENSE} times as many as vertices"
    if any(set(one.fields) != set(call.fields) or one.graph is not graph for one in calls):
        return "they are given different fields"
    loops = _plan_of(program, call).loops
    stages = [stage for loop in loops for stage in loop.stages]
    if not stages:
        return "the program has no loop"
    if _searches(program, call) or any("together" in stage.ways for stage in stages):
        return ""
    return next((stage.refused["together"] for stage in stages if "together" in stage.refused),
                "a vertex takes all that its neighbours contribute at once")


def most_together(program: Program, call: Call) -> int:
    """Return the largest number of runs that can share reads: the bits of a word for searches, the values in a cache
    line for other programs. Fewer runs share reads if free memory is short.
    """
    most, graph = SEARCHES if _searches(program, call) else WIDTH, call.graph
    if graph.streamed or graph.stored is not None or graph.m < _FEWEST or (free := default_budget()) is None:
        return most
    need = need_on(_plan_of(program, call), graph.shape(), call.options, graph)
    return min(most, max(1, free // max(1, need.running - need.adjacency - need.columns)))


def _searches(program: Program, call: Call) -> bool:
    """Return whether a loop of a program is a search with a uniform frontier."""
    return any(isinstance(way_of(TOGETHER_WAYS, loop, call.graph, call.options), TogetherReach)
               for loop in _plan_of(program, call).loops)


def run_together(program: Program, calls: Sequence[Call]) -> Iterator[Result]:
    """Run calls that share their reads of the edges, and yield their results in order. If a call fails, its error is
    raised in place of its result.
    """
    call = calls[0]
    plan = _plan_of(program, call)
    with memory_named(f"{len(calls)} runs of {program.name} on {call.graph.name}"), \
            within_budget(lambda target: plan, call.graph, call.options) as short:
        group = Group(call.graph, len(calls), call.options.threads)
        tasks = [Task(partial(group.run, number, partial(_outcome, plan, one, watched(program, one)[0], group, number)))
                 for number, one in enumerate(calls)]
        try:
            for task in tasks:
                task.begin()
            for task in tasks:
                task.wait()
        finally:
            group.stop()
            for task in tasks:
                task.wait()
            group.cpu.end()
    text = f"{len(calls)} runs went together: they shared {group.shared:,} traversals of the edges"
    for one, task in zip(calls, tasks, strict=True):
        outcome = _result_of(task, tasks)
        after = warnings_after(program, one, outcome, True)
        ran = Ran(plan, outcome, "cpu", "as asked", before=tuple(short), after=after)
        result = result_of_run(program, one, ran)
        result.together = text
        yield result


def _result_of(task: Task[Outcome], tasks: Sequence[Task[Outcome]]) -> Outcome:
    """The outcome of a run, or its error. If a run was abandoned because another run failed, the result is the error of
    the other run.
    """
    try:
        return task.result()
    except Abandoned:
        for other in tasks:
            with suppress(Abandoned):
                other.result()
        raise


def _plan_of(program: Program, call: Call) -> Plan:
    graph = call.graph
    return program.plan(columns_of(program.stages(call.precision).program, graph), frozenset(call.fields),
                        call.precision, "numba", call.options.without, renumbered(graph, call.options),
                        sizes_of(graph.n, graph.m))


def _outcome(plan: Plan, call: Call, watch: Watch, group: Group, number: int) -> Outcome:
    """Run one of the calls. The thread of the call computes only while it is this thread's turn."""
    machine = TogetherMachine(plan, call.graph, call.options, group, number)
    try:
        return run_plan(plan, call.graph, machine, call.scalars, call.fields, call.options, watch=watch)
    finally:
        machine.close()
