"""Edge states are kept in the memory of one CPU or one GPU: refuses other runs, and reads page files into memory."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from vlang.api.running.columns import columns_of
from vlang.errors import BindError, GraphError
from vlang.ir.forms import forms as f
from vlang.ir.forms.visible import expressions, statements
from vlang.options import ALL_GPUS, device_names
from vlang.runtime.cluster.transports.transport import here
from vlang.runtime.graph.topology.opposites import OneWay
from vlang.runtime.storage.available import memory_option

if TYPE_CHECKING:
    from collections.abc import Iterator

    from vlang.api.program import Program
    from vlang.options import Options
    from vlang.runtime.graph.graph import Graph
    from vlang.runtime.plan.plan import Plan

__all__ = ["refuse", "with_edges", "with_opposites"]


def refuse(program: Program, options: Options) -> None:
    """Raise BindError if a program has an edge state that a run with these options cannot keep."""
    if program.stages().program.states:
        why = _elsewhere(options)
        if why:
            raise _not_kept(program, why)


def with_edges(program: Program, options: Options, graph: Graph) -> Graph:
    """The graph on which a program runs. A program with edge states needs all edges in memory, in the order of the ids:
    it gets the edges of a page file in this form. Other programs get the graph as it is.

    Raises BindError or OutOfMemory if the budget is too small for the edges.
    """
    if not program.stages().program.states:
        return graph
    refuse(program, options)
    if graph.stored is not None:
        from vlang.api.running.on_disk import placed  # start-up

        def plan_for(target: str) -> Plan:
            columns = columns_of(program.stages().program, graph)
            return program.plan(columns, target=target, without=options.without)

        found = placed(program, plan_for, graph, options)
        if found is not None and found.streams:
            raise _not_kept(program, f"the edges of {graph.name} do not fit beside it: with "
                            f"{memory_option(found.needed)} or more they are read into memory")
    before = graph.in_memory
    plain = graph.loaded().plain()
    if before is graph and plain is not graph.in_memory:
        graph.unload()  # else its edges would be in memory twice during the run
    return plain


def _not_kept(program: Program, why: str) -> BindError:
    form = program.stages().program
    return BindError(f"{program.name}, line {form.states[0].span.line}: `{form.names[form.states[0].name]}` is an edge "
                     f"state, which is kept in the memory of one CPU or one GPU; {why}")


def _elsewhere(options: Options) -> str:
    """Return advice on which options of a run to change; "" if the options permit edge states."""
    if options.cluster is not None or here() is not None:
        return "run it on one machine: leave out cluster"
    if options.device == ALL_GPUS or len(device_names(options.device)) > 1:
        return "several GPUs do not exchange values of edges: write device=\"gpu\""
    if options.device != "cpu" and options.kernel == "edge-list":
        return "kernel=edge-list reads edges in another order than the values: leave out kernel"
    if options.device != "cpu" and options.dispatch != "gpu":
        return "dispatch gives some edges to the CPU, and the values of edges stay on the GPU: leave out dispatch"
    return ""


@contextmanager
def with_opposites(program: Program, graph: Graph) -> Iterator[None]:
    """A context manager for a run. An edge without an opposite edge becomes an error with the line of `reverse`."""
    try:
        yield
    except OneWay as error:
        tail, head = graph.ids.label(error.tail), graph.ids.label(error.head)
        line, text = _reverses(program.stages().program)
        raise GraphError(f"{program.name}, line {line}: `{text}` needs the opposite edge of every edge, and the edge "
                         f"{tail} -> {head} of {graph.name} has none: add {head} -> {tail}, or read the graph as "
                         "undirected") from None


def _reverses(program: f.Program) -> tuple[int, str]:
    """The line and text of the first expression that reads an opposite edge."""
    found = [(part.span.line if part.span else statement.span.line, f"reverse({program.names[part.name]})")
             for statement in statements(program.body) for expr in expressions(statement) for part in f.walk(expr)
             if isinstance(part, f.EdgeState) and part.opposite]
    return min(found)
