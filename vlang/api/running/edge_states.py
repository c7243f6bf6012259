"""Refuses runs that would keep edge states elsewhere than in the memory of one CPU or one GPU."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from vlang.errors import BindError, GraphError
from vlang.ir.forms import forms as f
from vlang.ir.forms.visible import expressions, statements
from vlang.options import ALL_GPUS, device_names
from vlang.runtime.cluster.transports.transport import here
from vlang.runtime.graph.topology.opposites import OneWay

if TYPE_CHECKING:
    from collections.abc import Iterator

    from vlang.api.program import Program
    from vlang.options import Options
    from vlang.runtime.graph.graph import Graph

__all__ = ["refuse", "with_opposites"]


def refuse(program: Program, options: Options, graph: Graph | None = None) -> None:
    """Raise BindError if a program has an edge state that a run cannot keep.

    Args:
        program: the program.
        options: the options of the run.
        graph: the graph; None before it is read.
    """
    states = program.stages().program.states
    if not states:
        return
    why = _elsewhere(options)
    if not why and graph is not None and (graph.stored is not None or graph.order is not None):
        why = f"{graph.name} is a page file, from which only edge fields are read: read the edges into memory with " \
              "Graph.read, from a text, Parquet or .npz file"
    if why:
        name = program.stages().program.names[states[0].name]
        raise BindError(f"{program.name}, line {states[0].span.line}: `{name}` is an edge state, which is kept in the "
                        f"memory of one CPU or one GPU; {why}")


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
