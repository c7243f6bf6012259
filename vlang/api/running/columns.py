"""The edge columns for which a program is compiled: columns of the graph, and ordinals of parallel edges."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vlang.errors import BindError
from vlang.ir.forms import forms as f
from vlang.ir.forms.visible import expressions, statements
from vlang.runtime.plan.derived import ORDINAL, PLACE

if TYPE_CHECKING:
    from vlang.api.program import Program
    from vlang.runtime.graph.graph import Graph

__all__ = ["columns_of", "counts_edges", "refuse_ordinals"]


def columns_of(program: f.Program, graph: Graph | None) -> frozenset[str]:
    """Return the edge columns that a plan of the program for a graph may read. Without a graph, return all edge columns
    that the program names. If edges are keys of random numbers (`random(seed, edge)`, `pick`), the result includes
    columns with the ordinals of parallel edges. A simple graph needs no column of ordinals.
    """
    if graph is None:
        return frozenset(e.name for e in program.edges)
    asked = {ordinal.data for ordinal, _ in _ordinals(program)}
    if not asked:
        return frozenset(graph.columns)
    parallel = "simple" not in _needs(program) and graph.excess()[1] > 0
    found = {ORDINAL} if None in asked and parallel else set()
    if "place" in asked and (parallel or graph.directed):
        found.add(PLACE)
    return frozenset({*graph.columns, *found})


def counts_edges(program: f.Program) -> int | None:
    """The line of the first random number that may need the ordinals of parallel edges; None if there is none.

    `require simple` says that there are no parallel edges.
    """
    needs = _needs(program)
    return min((line for ordinal, line in _ordinals(program)
                if "simple" not in needs or (ordinal.data == "place" and "undirected" not in needs)), default=None)


def refuse_ordinals(program: Program, one: str, all_: str) -> None:
    """Raise BindError for a program that counts parallel edges, on several ranks or GPUs.

    Args:
        program: the program.
        one: the word for a single rank or GPU in the message.
        all_: the words for all ranks or GPUs together.
    """
    line = counts_edges(program.stages().program)
    if line is not None:
        raise BindError(f"{program.name}, line {line}: a random number for an edge depends on how many parallel edges "
                        f"come before it, which {all_} does not count; run it on one {one}, or write `require simple` "
                        "(and `require undirected` if it picks along `u -- self`) where this holds")


def _needs(program: f.Program) -> set[str]:
    return {need.word for need in program.needs}


_MOST_SEEN = 256
_seen: dict[int, tuple[f.Program, list[tuple[f.Op, int]]]] = {}  # by id(); values keep the programs


def _ordinals(program: f.Program) -> list[tuple[f.Op, int]]:
    """Return the ordinals of edges that a program reads, each with the line of its statement. The result is cached."""
    known = _seen.get(id(program))
    if known is None:
        if len(_seen) >= _MOST_SEEN:
            _seen.clear()
        known = _seen[id(program)] = program, _found_ordinals(program)
    return known[1]


def _found_ordinals(program: f.Program) -> list[tuple[f.Op, int]]:
    return [(part, statement.span.line) for statement in statements(program.body) for expr in expressions(statement)
            for part in f.walk(expr) if isinstance(part, f.Op) and part.op == "ordinal"]
