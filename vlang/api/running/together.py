"""Runs several bound calls of one program together, so that the runs share their reads of the edges
(vlang.runtime.cpu.together).
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, closing, suppress
from dataclasses import fields
from functools import partial
from typing import TYPE_CHECKING

from vlang.api.running.columns import columns_of
from vlang.api.running.memory import chosen_budget, need_on, within_budget
from vlang.api.running.on_disk import placed
from vlang.api.running.ran import Ran
from vlang.api.running.run_call import renumbered, result_of_run, warnings_after
from vlang.api.running.watched import watched
from vlang.errors import VlangError
from vlang.ir.forms.ranges import sizes_of
from vlang.options import ALL_GPUS, Options, device_names
from vlang.runtime.cluster.transports.transport import here
from vlang.runtime.cpu.together.group import LEAST, Abandoned, Group
from vlang.runtime.cpu.together.machine import TOGETHER_WAYS, TogetherMachine
from vlang.runtime.cpu.together.searches import SEARCHES, TogetherReach
from vlang.runtime.engine.engine import run_plan
from vlang.runtime.engine.machine import Machine
from vlang.runtime.engine.run_outcome import Outcome
from vlang.runtime.engine.state import DTYPES
from vlang.runtime.engine.way import way_of
from vlang.runtime.plan.layouts.together_words import WIDTH
from vlang.runtime.plan.plan import Plan, Watch
from vlang.runtime.plan.together_spec import TogetherSpec
from vlang.runtime.storage.available import default_budget, in_bytes
from vlang.runtime.storage.room import memory_named
from vlang.runtime.threads.activity import listeners
from vlang.runtime.threads.tasks import Task

if TYPE_CHECKING:
    from vlang.api.calls import Call
    from vlang.api.program import Program
    from vlang.runtime.cpu.placement import Placement
    from vlang.runtime.results.result import Result

__all__ = ["alone", "alone_because", "apart_because", "in_turns", "most_together", "on_one_gpu", "outcome_of",
           "plan_of", "run_in_turns", "run_together", "summary"]

_FEWEST = 1 << 17  # edges of a graph below which taking turns takes longer than it saves
_FEWEST_SEARCHED = 4_000_000  # the same for searches, which read few edges by themselves
_DENSE = 16  # edges of a vertex below which the passes over vertices, which are not shared, are most of the time
_FREE = frozenset({"threads", "max_rounds", "precision", "derive", "deterministic", "memory"})
"""Options with which runs may go together, whatever their values."""
_FREE_ON_GPU = _FREE | {"device", "gpu_memory", "device_cache", "kernel"}


def alone_because(program: Program, calls: Sequence[Call]) -> str:
    """Return the reason why calls of a program with the same graph and options must run one after the other; "" if the
    calls can run together.
    """
    call, graph = calls[0], calls[0].graph
    reason = apart_because(calls, ", or memory has no room for more at a time")
    if reason:
        return reason
    streams = graph.stored is not None and _placement(program, call, 1).streams
    fewest = _FEWEST_SEARCHED if _searches(program, call) and not streams else _FEWEST
    if graph.m < fewest or (graph.m < _DENSE * graph.n and not streams):
        return f"the graph has fewer than {fewest:,} edges, or than {_DENSE} times as many as vertices"
    loops = _plan_of(program, call).loops
    stages = [stage for loop in loops for stage in loop.stages]
    if not stages:
        return "the program has no loop"
    if _searches(program, call) or any("together" in stage.ways for stage in stages):
        return ""
    return next((stage.refused["together"] for stage in stages if "together" in stage.refused),
                "a vertex takes all that its neighbours contribute at once")


def apart_because(calls: Sequence[Call], room: str = "") -> str:
    """Return the reason why calls with the same options share their reads on no device; "" if they may on some device.

    `room` is what else may be the reason if these are fewer runs than it takes.
    """
    call = calls[0]
    other = _other_option(call)
    if other:
        return f"with the option `{other}` runs do not go together"
    if here() is not None:
        return "they run on several ranks"
    if listeners():
        return "their progress is shown or recorded"
    if len(calls) < LEAST:
        return f"these are fewer than {LEAST} runs{room}"
    if any(set(one.fields) != set(call.fields) or one.graph is not call.graph for one in calls):
        return "they are given different fields"
    return ""


def most_together(program: Program, call: Call) -> int:
    """Return the largest number of runs that can share reads. For searches, it is the number of bits in a word; for
    other programs, the number of values in a cache line. Fewer runs share reads if memory is short.
    """
    if on_one_gpu(call.options):
        from vlang.runtime.gpu.kernels.entries import WOVEN  # start-up

        return WOVEN  # the runs for which memory does not suffice follow in another group
    most, graph = SEARCHES if _searches(program, call) else WIDTH, call.graph
    if graph.m < _FEWEST or here() is not None or _other_option(call):
        return most
    if graph.stored is not None:
        return _most_on_disk(program, call, most)
    limit = chosen_budget(call.options)
    if limit is not None:
        limit -= need_on(_plan_of(program, call), graph.shape(), call.options, graph).peak
        return next((runs for runs in range(most, 1, -1) if _beside(program, call, runs) <= limit), 1)
    if graph.streamed or (free := default_budget()) is None:
        return most
    return min(most, max(1, free // max(1, _bytes_of_run(program, call))))


def _most_on_disk(program: Program, call: Call, most: int) -> int:
    """The most runs, at most `most`, whose arrays fit beside the edges where a single run has them."""
    try:
        alone = _placement(program, call, 1)
    except VlangError:
        return 1  # the run raises the error

    def too_many(runs: int) -> bool:
        if not alone.streams:  # where more runs did not fit, `_placement` would take the edges out of memory
            return alone.needed + _beside(program, call, runs) > alone.limit
        try:
            return _placement(program, call, runs).windows is not None
        except VlangError:
            return True

    numbers = range(LEAST, most + 1)
    fitting = bisect_left(numbers, True, key=too_many)
    return numbers[fitting - 1] if fitting else 1


def _placement(program: Program, call: Call, runs: int) -> Placement:
    """Where the edges of a graph on disk are during several runs. Raises OutOfMemory and BindError."""
    plan = _plan_of(program, call)
    with within_budget(lambda target: plan, call.graph, call.options):
        found = placed(program, lambda target: plan, call.graph, call.options, _beside(program, call, runs))
    assert found is not None
    return found


def _beside(program: Program, call: Call, runs: int) -> int:
    """The bytes that a group of runs needs in addition to what one run needs."""
    if runs == 1:
        return 0
    plan = _plan_of(program, call)
    sizes = {slot: DTYPES[dtype].itemsize for slot, dtype, _, _ in plan.layout}
    specs = [spec for stage in plan.stages if (spec := stage.way("together", TogetherSpec)) is not None]
    row = WIDTH * max((sum(sizes.get(slot, 4) for slot in spec.values) for spec in specs), default=0)
    return (runs - 1) * _bytes_of_run(program, call) + row * call.graph.n


def _other_option(call: Call) -> str:
    """An option of a call with which runs do not go together; "" if there is none."""
    plain = Options()
    asked = sorted(one.name for one in fields(Options) if getattr(call.options, one.name) != getattr(plain, one.name))
    free = _FREE_ON_GPU if on_one_gpu(call.options) else _FREE
    return next((name for name in asked if name not in free), "")


def on_one_gpu(options: Options) -> bool:
    """Return whether runs are asked to use one GPU."""
    return options.device not in ("cpu", "auto", ALL_GPUS) and len(device_names(options.device)) == 1


def _bytes_of_run(program: Program, call: Call) -> int:
    """The bytes of the arrays of one run, without the edges."""
    graph = call.graph
    need = need_on(_plan_of(program, call), graph.shape(), call.options, None if graph.streamed else graph)
    return need.running - need.adjacency - need.columns


def _searches(program: Program, call: Call) -> bool:
    """Return whether a loop of a program is a search with a uniform frontier."""
    return any(isinstance(way_of(TOGETHER_WAYS, loop, call.graph, call.options), TogetherReach)
               for loop in _plan_of(program, call).loops)


def run_together(program: Program, calls: Sequence[Call]) -> Iterator[Result]:
    """Run calls that share their reads of the edges, and yield their results in order. If a call fails, the error of
    the call is raised in place of the result.
    """
    call = calls[0]
    plan, graph, placement = _plan_of(program, call), call.graph, None
    with ExitStack() as stack:
        stack.enter_context(memory_named(f"{len(calls)} runs of {program.name} on {graph.name}"))
        short = stack.enter_context(within_budget(lambda target: plan, graph, call.options))
        ring = None
        if graph.stored is not None:
            placement = _placement(program, call, 1)
            if placement.streams:
                placement = _placement(program, call, len(calls))
                ring = stack.enter_context(closing(placement.ring(graph.stored)))
            else:
                graph = graph.loaded()
        group = Group(graph, len(calls), call.options.threads)
        machine = partial(TogetherMachine, plan, graph, call.options, group, ring=ring)
        works = [partial(_outcome, plan, one, watched(program, one)[0], partial(machine, number))
                 for number, one in enumerate(calls)]
        try:
            tasks = in_turns(group, works)
        finally:
            group.cpu.end()
    read = 0 if ring is None else ring.reading.nbytes
    text = summary(group, len(calls)) + ("" if ring is None else f", and read {in_bytes(read)} from disk in all")
    for one, task in zip(calls, tasks, strict=True):
        outcome = outcome_of(task, tasks)
        after = warnings_after(program, one, outcome, True)
        ran = Ran(plan, outcome, "cpu", "as asked", before=tuple(short), after=after,
                  placement="" if placement is None else placement.text, read_bytes=read)
        result = result_of_run(program, one, ran)
        result.together = text
        yield result


def alone(program: Program, calls: Iterable[Call], reason: str) -> Iterator[Result]:
    """Run calls one after the other; `reason` says why the calls do not share reads of the edges."""
    for call in calls:
        with memory_named(f"{program.name} on {call.graph.name}"):
            result = program.run_bound(call)
        result.together = f"each run read the edges by itself: {reason}"
        yield result


def summary(group: Group, runs: int) -> str:
    """Return a sentence about the traversals of a group."""
    text = f"{runs} runs went together: they shared {group.shared:,} traversals of the edges"
    return text + (f"; {group.alone:,} by themselves, to compare, or since that is faster" if group.alone else "")


def in_turns(group: Group, works: Sequence[Callable[[], Outcome]]) -> list[Task[Outcome]]:
    """Run the calls of a group, each in its own thread, and wait for all; returns the ended tasks."""
    tasks = [Task(partial(group.run, number, work)) for number, work in enumerate(works)]
    try:
        for task in tasks:
            task.begin()
        for task in tasks:
            task.wait()
    finally:
        group.stop()
        for task in tasks:
            task.wait()
    return tasks


def outcome_of(task: Task[Outcome], tasks: Sequence[Task[Outcome]]) -> Outcome:
    """The outcome of a run, or its error. If a run ended early because another run failed, the result is the error of
    the other run.
    """
    try:
        return task.result()
    except Abandoned:
        for other in tasks:
            with suppress(Abandoned):
                other.result()
        raise


def plan_of(program: Program, call: Call, target: str) -> Plan:
    """The plan of a call for "numba" or "cuda"."""
    graph = call.graph
    return program.plan(columns_of(program.stages(call.precision).program, graph), frozenset(call.fields),
                        call.precision, target, call.options.without, renumbered(graph, call.options),
                        sizes_of(graph.n, graph.m))


def _plan_of(program: Program, call: Call) -> Plan:
    return plan_of(program, call, "numba")


def run_in_turns(plan: Plan, call: Call, watch: Watch, machine: Machine) -> Outcome:
    """Run one of the calls, in a thread that computes only while it has the turn.

    Args:
        plan: the plan of all calls.
        call: the call.
        watch: reports the supersteps of the call.
        machine: the machine of the call.
    """
    return run_plan(plan, call.graph, machine, call.scalars, call.fields, call.options, watch=watch)


def _outcome(plan: Plan, call: Call, watch: Watch, opened: Callable[[], TogetherMachine]) -> Outcome:
    """`run_in_turns` by a machine that `opened` opens."""
    with closing(opened()) as machine:
        return run_in_turns(plan, call, watch, machine)
