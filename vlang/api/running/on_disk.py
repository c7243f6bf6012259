"""Decides whether a run reads or streams edges that are on disk, and finds programs that cannot stream edges."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vlang.api.running.columns import columns_of, counts_edges
from vlang.errors import BindError, OutOfMemory
from vlang.ir.forms.exprs import Degree, Field, GroupKey, walk
from vlang.ir.forms.text import expression
from vlang.ir.forms.visible import expressions, statements
from vlang.runtime.machines import placement_of
from vlang.runtime.plan.derived import ORDINAL, PLACE
from vlang.runtime.storage.available import memory_option
from vlang.syntax.expression_tree import Call, Domain
from vlang.syntax.rewrite import inside

if TYPE_CHECKING:
    from collections.abc import Callable

    from vlang.api.program import Program
    from vlang.options import Options
    from vlang.runtime.cpu.placement import Placement
    from vlang.runtime.graph.graph import Graph
    from vlang.runtime.plan.plan import Plan

__all__ = ["keys_read", "placed", "refuse_budget", "whole_lists"]


def whole_lists(program: Program) -> int | None:
    """Return the line of the first call that reads the neighbour lists of two vertices; None if no call does this."""
    calls = [node for node in inside(program.stages().checked.file)
             if (isinstance(node, Call) and node.name == "common") or (isinstance(node, Domain) and node.ends)]
    return min((call.span.line for call in calls), default=None)


def keys_read(program: Program) -> tuple[int, str] | None:
    """Return the line and the text of the first expression that reads a field of the key of a grouped gather; None if
    there is none.
    """
    for statement in statements(program.stages().program.body):
        for part in (part for expr in expressions(statement) for part in walk(expr)):
            if isinstance(part, (Field, Degree)) and isinstance(part.of, GroupKey):
                return (part.span or statement.span).line, expression(part)
    return None


def refuse_budget(program: Program, graph: Graph, options: Options) -> None:
    """Raise the OutOfMemory of a run whose budget is too small, which names the least memory that suffices."""
    def plan_for(target: str) -> Plan:
        return program.plan(columns_of(program.stages().program, graph), target=target, without=options.without)

    placed(program, plan_for, graph, options)


def placed(
    program: Program, plan_for: Callable[[str], Plan], graph: Graph, options: Options, beside: int = 0
) -> Placement | None:
    """Return whether a run streams its edges or reads them into memory; None for a graph in memory.

    Args:
        program: the program.
        plan_for: compiles the plan of the program for "numba" or "cuda".
        graph: the graph, in memory or on disk.
        options: the options of the run.
        beside: bytes of host memory that other runs on the CPU take at the same time.

    Raises:
        OutOfMemory: the budget is too small even to stream pages.
        BindError: the edges must be streamed, but the program or an option needs them in memory. The message says how
            much memory the edges take.
    """
    try:
        found = placement_of(plan_for, graph, options, beside)
    except OutOfMemory as error:
        refusal = _never_streams(program, plan_for, graph, error.in_memory) if error.in_memory else None
        if refusal is None:
            raise
        raise refusal from None
    for name, given in (("page_size", options.page_size), ("blocking", options.blocking == "always")):
        if found is not None and found.streams and given:
            raise BindError(f"{name} cuts adjacency lists in memory, and the pages of {graph.name} are streamed as "
                            "they are; leave it out")
    if found is not None and found.streams and options.transfer == "direct":
        raise BindError(f"transfer=\"direct\" reads edges where they lie in host memory, and those of {graph.name} are "
                        f"on disk: leave it out, or give {memory_option(found.needed)}")
    if found is None or not found.streams:
        return found
    refusal = _never_streams(program, plan_for, graph, found.needed)
    if refusal is not None:
        raise refusal
    return found


def _never_streams(program: Program, plan_for: Callable[[str], Plan], graph: Graph, needed: int) -> BindError | None:
    """Return the error about a program whose edges must be in memory; None for all other programs.

    Args:
        program, plan_for, graph: as for `placed`.
        needed: the number of bytes that a run needs if all edges are in memory.
    """
    enough = f"with {memory_option(needed)} or more they are read into memory"
    line, key, counted = whole_lists(program), keys_read(program), counts_edges(program.stages().program)
    if key is not None:
        return BindError(f"{program.name}, line {key[0]}: `{key[1]}` may be of any vertex for every group of a row, "
                         f"and streamed edges of {graph.name} are visited in the order of their pages; {enough}")
    read = {name for stage in plan_for("numba").stages for name, _ in stage.columns}
    if counted is not None and not read.isdisjoint((ORDINAL, PLACE)):
        return BindError(f"{program.name}, line {counted}: a random number for an edge depends on how many "
                         f"parallel edges come before it, and the pages of {graph.name} have no such counts: {enough}")
    if line is None:
        return None
    return BindError(f"{program.name}, line {line}: `common` intersects the neighbours of two vertices, which may be "
                     f"in any pages of {graph.name}, so its edges cannot be streamed; {enough}")
