"""Binds the arguments of a call to the parameters and fields of a program."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from vlang.api.arguments.bind import bind_fields, bind_parameters, kept_parameters
from vlang.api.arguments.named import name_run
from vlang.api.calls import Call
from vlang.api.running.edge_states import with_edges
from vlang.errors import BindError

if TYPE_CHECKING:
    from vlang.api.program import Program
    from vlang.options import Options
    from vlang.runtime.graph.graph import Graph

__all__ = ["bound_call"]


def bound_call(program: Program, graph: Graph, options: Options, arguments: dict[str, Any]) -> Call:
    """Return the bound call of a program. The options have been read before.

    Args:
        program: the program.
        graph: the graph of the run.
        options: the options of the run.
        arguments: values of parameters and fields, by name.

    Raises BindError.
    """
    graph = with_edges(program, options, graph)
    precision = options.precision or program.precision
    stages = program.stages(precision)
    arguments = kept_parameters(stages.program, arguments)
    scalars, left = bind_parameters(stages.program, graph, arguments, program.name)
    arrays = bind_fields(stages.program, graph, left, program.name)
    named = name_run(stages.program, graph, scalars, arrays)
    graph, scalars, arrays = named.graph, named.scalars, named.fields
    started = stages.derived & set(arrays)
    if started:
        raise BindError(f"`{min(started)}` is given, and in delta form it starts at the constant term of its loop "
                        "(rule D); leave out one of the two")
    parameters = {name: value for name, value in arguments.items() if name not in left}
    return Call(graph, options, precision, parameters, scalars, arrays, names=named.names, notes=named.warnings,
                constants=program.constants)
