"""Runs several bound calls of one program together on one GPU (vlang.runtime.gpu.together)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING

from vlang.api.running.memory import within_budget
from vlang.api.running.on_disk import placed
from vlang.api.running.ran import Ran
from vlang.api.running.run_call import result_of_run, warnings_after
from vlang.api.running.together import alone, apart_because, in_turns, outcome_of, plan_of, run_in_turns, summary
from vlang.api.running.watched import watched
from vlang.runtime.cpu.together.group import LEAST, Group
from vlang.runtime.engine.run_outcome import Outcome
from vlang.runtime.gpu.device.choose import choose
from vlang.runtime.gpu.together.machine import machines_together
from vlang.runtime.gpu.together.woven import MOST_VERTICES, specs_of
from vlang.runtime.storage.room import memory_named
from vlang.runtime.threads.tasks import Task

if TYPE_CHECKING:
    from vlang.api.calls import Call
    from vlang.api.program import Program
    from vlang.runtime.results.result import Result

__all__ = ["alone_on_gpu_because", "run_together_on_gpu"]

_FEWEST = 1 << 20  # edges from which shared passes are compared with passes by each run, so that sharing costs little


def alone_on_gpu_because(program: Program, calls: Sequence[Call]) -> str:
    """Return the reason why calls of a program with the same graph and options must run one after the other on a GPU;
    "" if the calls can run together.
    """
    call, graph = calls[0], calls[0].graph
    reason = apart_because(calls)
    if reason:
        return reason
    if graph.m < _FEWEST or graph.n > MOST_VERTICES:
        return f"the graph has fewer than {_FEWEST:,} edges, or more than {MOST_VERTICES:,} vertices"
    plan = plan_of(program, call, "cuda")
    stages = [stage for loop in plan.loops for stage in loop.stages]
    if not any(stage.name in specs_of(plan) for stage in stages):
        return next((stage.gpu.alone for stage in stages if stage.gpu is not None and stage.gpu.alone and stage.domain),
                    "the program has no loop over edges")
    if graph.stored is not None:
        with within_budget(lambda target: plan, graph, call.options):
            placement = placed(program, lambda target: plan, graph, call.options)
        if placement is not None and placement.streams:
            return "the edges are on disk"
    return ""


def run_together_on_gpu(program: Program, calls: Sequence[Call]) -> Iterator[Result]:
    """Run calls that share their full passes on a GPU, and yield their results in order: as many calls at a time as fit
    into its memory. If a call fails, the error of the call is raised in place of the result.
    """
    rest = list(calls)
    while len(rest) >= LEAST and (results := _first_calls(program, rest)):
        yield from (make() for make in results)
        rest = rest[len(results):]
    yield from alone(program, rest, f"these are fewer than {LEAST} runs, or GPU memory has no room for more at a time")


def _first_calls(program: Program, calls: Sequence[Call]) -> list[Callable[[], Result]]:
    """Run the first of these calls, as many as fit into the memory of the GPU. Returns for each of them a function that
    returns the result, or raises the error of the call; [] if these calls are too few to share passes.
    """
    call = calls[0]
    plan, options = plan_of(program, call, "cuda"), call.options
    with ExitStack() as stack:
        stack.enter_context(memory_named(f"{len(calls)} runs of {program.name} on {call.graph.name}"))
        short = stack.enter_context(within_budget(lambda target: plan, call.graph, options))
        graph = call.graph.loaded()
        choice = choose(options.device, options.gpu_memory, graph.m, lambda: 0)
        device = choice.device
        assert device is not None
        stack.callback(device.close)
        device.cache = options.device_cache
        machines, woven = stack.enter_context(machines_together(device, plan, graph, [one.options for one in calls]))
        if len(machines) < LEAST or woven is None:
            return []
        calls = calls[: len(machines)]
        group = Group(graph, len(calls), 1)
        for number, machine in enumerate(machines):
            machine.join(group, number, woven)
        tasks = in_turns(group, [partial(run_in_turns, plan, one, watched(program, one)[0], machine)
                                 for one, machine in zip(calls, machines)])
        notes = [machine.passes.notes() for machine in machines]

    def result(one: Call, task: Task[Outcome], noted: tuple[str, ...]) -> Result:
        outcome = outcome_of(task, tasks)
        after = warnings_after(program, one, outcome, True)
        ran = Ran(plan, outcome, choice.name, choice.reason, before=tuple(short), after=after, notes=noted)
        found = result_of_run(program, one, ran)
        found.together = summary(group, len(calls))
        return found

    return [partial(result, *each) for each in zip(calls, tasks, notes, strict=True)]
