"""Rounds, or order of priority: which a loop runs in on the CPU, and why."""

from __future__ import annotations

from dataclasses import dataclass

from vlang.errors import BindError
from vlang.options import Options
from vlang.runtime.cpu.ways.push import push_stage
from vlang.runtime.graph.graph import Graph
from vlang.runtime.plan.plan import LoopSpec, Plan, StageSpec

__all__ = ["Order", "check_order", "check_target", "choose_order", "order_reason"]


@dataclass(frozen=True)
class Order:
    """stage: the pass of a loop that runs in order of priority, None for one that runs in rounds."""

    stage: StageSpec | None
    reason: str


def choose_order(spec: LoopSpec, graph: Graph, options: Options) -> Order:
    """The order of a loop. Under "auto" priorities decide where rule O holds, the weights of the edges differ, and no
    other option says how supersteps run."""
    if options.schedule == "rounds":
        return Order(None, "rounds, as asked")
    stage = push_stage(spec)
    if stage is None or stage.priority is None:
        return Order(None, order_reason(spec))
    if options.schedule == "priority":
        return Order(stage, "as asked")
    if options.target is not None:
        return Order(stage, "what stops at a target")
    if options.max_rounds is not None:
        return Order(None, "max_rounds counts supersteps")
    if options.mode != "auto" or options.asynchronous or options.blocking == "always":
        return Order(None, "how supersteps run was asked for")
    if not any(_vary(graph, name) for name in stage.priority.columns):
        return Order(None, "all edges weigh the same, so rounds are about in order of priority already")
    return Order(stage, "the weights of the edges differ")


def check_order(plan: Plan, graph: Graph, options: Options) -> None:
    """Raises BindError where priorities are asked for and no loop of a program may run by them."""
    if options.schedule != "priority" or any(choose_order(loop, graph, options).stage for loop in plan.loops):
        return
    why = f": {order_reason(plan.loops[0])}" if plan.loops else ", as it has no loop"
    raise BindError(f"{plan.name} cannot run in order of priority{why}")


def check_target(plan: Plan, graph: Graph, options: Options) -> None:
    """Raises BindError, with the reason and the line, where a target is asked for and a program cannot stop there."""
    if options.target is None:
        return
    why = _no_target(plan, graph, options)
    if why:
        raise BindError(f"{plan.name} cannot stop at a target: {why}; leave out the target")


def _no_target(plan: Plan, graph: Graph, options: Options) -> str:
    if len(plan.loops) != 1:
        return f"that is for programs with one loop, and it has {len(plan.loops) or 'none'}"
    (loop,) = plan.loops
    if all(step is not loop for step in plan.steps):
        return f"line {loop.line}: the loop stands in another block"
    if loop is not plan.steps[-1]:
        return f"line {loop.line}: what is computed after the loop needs the final values of all vertices"
    if loop.limit is not None:
        return f"line {loop.line}: the loop counts supersteps, and an order of priority has none"
    if loop.until is not None:
        return f"line {loop.line}: `until` decides when the loop ends"
    if choose_order(loop, graph, options).stage is None:
        return f"line {loop.line}: the loop cannot run in order of priority (rule O): {order_reason(loop)}"
    return ""


def order_reason(spec: LoopSpec) -> str:
    """Why a loop cannot run in order of priority."""
    if spec.nested:
        return "it holds other blocks"
    refused = [stage.priority_reason for stage in spec.stages if stage.priority_reason]
    if refused:
        return refused[0]
    return "a superstep is more than one pass that pushes"


def _vary(graph: Graph, name: str) -> bool:
    low, high = graph.column_range(name)
    return low != high
