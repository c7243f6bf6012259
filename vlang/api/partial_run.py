"""Runs a program on the CPU up to a given superstep of one loop."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from vlang.api.arguments.bind import bind_parameters
from vlang.api.arguments.named import name_run
from vlang.api.running.columns import columns_of
from vlang.ir.forms.ranges import sizes_of
from vlang.options import Options
from vlang.runtime.engine.engine import run_plan
from vlang.runtime.engine.machine import Start
from vlang.runtime.engine.run_outcome import Goal, Outcome
from vlang.runtime.machines import open_machine

if TYPE_CHECKING:
    from vlang.api.program import Program
    from vlang.runtime.graph.graph import Graph
    from vlang.runtime.plan.plan import Plan
    from vlang.runtime.results.result import Result

__all__ = ["one_more_superstep", "run_to"]


def run_to(
    program: Program, precision: int, graph: Graph, scalars: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]],
    options: Options, goal: Goal, starts: Mapping[int, Start] | None = None,
) -> Outcome:
    """Run a program up to a superstep of one loop. The outcome contains the fields after this last superstep, and the
    reason why the loop ended.

    Args:
        program: the program.
        precision: 32 or 64, the bits of `int` and `float`.
        graph: the graph of the run.
        scalars: the parameters in the form that the engine takes.
        arrays: vertex fields that replace initializers, in stored form.
        options: the options of a run on the CPU.
        goal: the loop and the superstep at which the run stops.
        starts: the states from which loops continue, by the number of the loop; None if every loop starts from its
            first superstep.
    """

    def plan_for(target: str) -> Plan:
        columns = columns_of(program.stages(precision).program, graph)
        return program.plan(columns, frozenset(arrays), precision, target, options.without,
                            graph.order is not None, sizes_of(graph.n, graph.m))

    with open_machine(plan_for, graph, options) as opened:
        return run_plan(opened.plan, graph, opened.machine, scalars, arrays, options, starts, goal=goal)


def one_more_superstep(
    program: Program, result: Result, loop: int, names: tuple[str, ...], options: Options
) -> Outcome:
    """Run one superstep of a loop from the fields of a result, after the statements before the loop.

    Args:
        program: the program of the result.
        result: the result of a run in this process; it must have an `origin`.
        loop: the number of the loop in the text.
        names: the fields that the loop takes from the result.
        options: the options of a run on the CPU.
    """
    origin = result.origin
    assert origin is not None, "the result of a run in this process"
    stages = program.stages(origin.precision)
    scalars, _ = bind_parameters(stages.program, origin.graph, dict(origin.parameters), program.name)
    arrays = {**origin.fields, **{name: result.stored(name) for name in names}}
    named = name_run(stages.program, origin.graph, scalars, {}, origin.names)
    return run_to(program, origin.precision, named.graph, named.scalars, arrays, options, Goal(loop, 1))
