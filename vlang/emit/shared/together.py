"""Decides for every target whether several runs may share the reductions of a pass, and what these reductions read.

Runs share a pass if they differ only in the values that they read at neighbours. Graph-level values must be equal,
which is tested at run time.
"""

from __future__ import annotations

from collections.abc import Iterator

from vlang.emit.shared.sending import early_of
from vlang.emit.shared.stage import StageWriter
from vlang.ir.forms import forms as f
from vlang.runtime.plan.together_spec import TogetherSpec
from vlang.types import VERTEX, Scalar

__all__ = ["shared_spec", "unshared_because"]

_OF_VERTICES = frozenset({"random", "mix", "waiting", "position", "len", "common", "between"})
"""Operations that need the number of a vertex or other arrays than those of neighbours."""


def shared_spec(writer: StageWriter) -> TogetherSpec:
    """Return the slots that the shared reductions of a pass read and write."""
    reads = [slot for gather in writer.stage.gathers for slot in _reads(writer, gather.reduce)]
    parts = sum(len(accumulation.runs) for accumulation in writer.accumulations)
    return TogetherSpec(
        tuple(dict.fromkeys(slot for slot in reads if not slot.startswith("scalar:"))),
        tuple(dict.fromkeys(slot for slot in reads if slot.startswith("scalar:"))),
        tuple(f"part:{writer.stage.name}.{number}" for number in range(parts)))


def unshared_because(writer: StageWriter) -> str:
    """Return the reason why runs may not share the reductions of a pass on any target; "" if they may."""
    stage = writer.stage
    if stage.domain not in ("in", "out", "both"):
        return "it reads no edges"
    if stage.guard is not None or stage.before or writer.changes_sent:
        return "it gathers at some vertices only, or changes"
    if writer.states or any(gather.keeps for gather in stage.gathers):
        return "it reads or writes values of edges that each run has of its own"
    if any(width.width > 1 for one in writer.accumulations for width in one.runs):
        return "it gathers vectors"
    if early_of(writer).kind == "absorbing":
        return "a vertex stops reading its edges at the first one that decides"
    if any(_foreign(writer, expr) for gather in stage.gathers for expr in _parts(writer, gather.reduce)):
        return "what an edge contributes depends on more than its columns and values of its neighbour"
    return ""


def _parts(writer: StageWriter, reduce: f.Reduce) -> Iterator[f.Expr]:
    """Yield the parts of the contribution of an edge; a message is one part."""
    todo = [expr for expr in (reduce.body, reduce.cond) if expr is not None]
    while todo:
        expr = todo.pop()
        yield expr
        if expr not in writer.messages:
            todo += f.children(expr)


def _foreign(writer: StageWriter, expr: f.Expr) -> bool:
    """Return whether a part of a contribution reads anything other than edge columns, neighbours and graph-level
    values.
    """
    if expr in writer.messages:
        return not isinstance(expr.type, Scalar)
    if isinstance(expr, f.Field):
        return (expr.of, expr.time) != ("other", "now") or not isinstance(expr.type, Scalar)
    if isinstance(expr, f.Degree):
        return expr.of != "other"
    if isinstance(expr, f.GraphValue):
        return not isinstance(expr.type, Scalar) or expr.type == VERTEX
    if isinstance(expr, f.Op):
        return expr.op in _OF_VERTICES
    return not isinstance(expr, (f.Const, f.EdgeValue))


def _reads(writer: StageWriter, reduce: f.Reduce) -> Iterator[str]:
    """The slots that a contribution reads."""
    for expr in _parts(writer, reduce):
        if expr in writer.messages:
            yield f"work:message.{writer.stage.name}.{writer.messages[expr]}"
        elif isinstance(expr, f.Field):
            yield f"field:{expr.name}"
        elif isinstance(expr, f.Degree):
            yield f"degree:{expr.kind}"
        elif isinstance(expr, f.GraphValue):
            yield f"scalar:{expr.name}"
        elif isinstance(expr, f.EdgeValue) and expr.name not in writer.columns:
            yield f"scalar:edge.{expr.name}"
