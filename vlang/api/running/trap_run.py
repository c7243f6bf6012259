"""Trap mode: runs a program with added tests, and raises an error for the first operation that fails."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from vlang.errors import BindError, TrapError
from vlang.ir.forms import forms as f
from vlang.ir.forms.visible import expressions, statements
from vlang.ir.notes import endless
from vlang.ir.traps.failing import KINDS
from vlang.ir.traps.trap_mode import Site, Trapping, trapping

if TYPE_CHECKING:
    from vlang.runtime.engine.run_outcome import Outcome
    from vlang.runtime.graph.graph import Graph

__all__ = ["trap_run"]

_WIDEST = 60  # characters of an operation that a message shows at most


def trap_run(program: f.Program, given: frozenset[str], graph: Graph, run: Callable[[Trapping], Outcome]) -> None:
    """Run a program in trap mode.

    Args:
        program: The program.
        given: The fields that the caller passes.
        graph: The graph.
        run: Runs the program with the added tests, and returns its outcome.

    Raises BindError for a sum that cannot be tested, and TrapError if an operation fails. The TrapError reports the
    first statement with a failed operation, and the first vertex at which the statement fails.
    """
    _refuse_sums(program, graph)
    made = trapping(program, given)
    outcome = run(made)
    if outcome.failures:
        number, vertex = min(outcome.failures, key=lambda one: _order(made.sites, *one))
        raise _error(program, made.sites[number - 1], None if vertex < 0 else graph.label(vertex), outcome.superstep)


def _refuse_sums(program: f.Program, graph: Graph) -> None:
    """Raise BindError if the program reads `weight(a, b)` of a field with infinite values.

    The value `weight(a, b)` is a sum over edges. If a term of the sum is infinite, a test of the sum cannot distinguish
    this from an overflow.
    """
    for statement in statements(program.body):
        for op in (part for expr in expressions(statement) for part in f.walk(expr) if isinstance(part, f.Op)):
            if op.op == "between" and op.data in graph.columns and endless(op.type, graph.column_range(str(op.data))):
                raise BindError(f"{program.filename}, line {statement.span.line}: trap mode cannot test the sums "
                                f"`{op.data}(a, b)`, because `{op.data}` has infinite values on this graph")


def _order(sites: tuple[Site, ...], number: int, vertex: int) -> tuple[int, bool, int, int]:
    """Return a sort key for failures. Failures are sorted by statement; within a statement, vertices come before a
    graph-level value.
    """
    return sites[number - 1].statement, vertex < 0, vertex, number


def _error(program: f.Program, site: Site, vertex: int | str | None, superstep: int) -> TrapError:
    span = site.span
    text = " ".join(program.source[span.start : span.end].split())
    text = text if len(text) <= _WIDEST else text[: _WIDEST - 3] + "..."
    where = "" if vertex is None else f" for vertex {vertex}"
    when = f", in superstep {superstep}" if superstep else ""
    return TrapError(f"{program.filename}:{span.line}:{span.column}: `{text}` {KINDS[site.kind]}{where}{when}",
                      site.kind, span.line, span.column, vertex, superstep)
