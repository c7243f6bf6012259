"""Checks values that must be one value for the whole graph; V105 proposes a reduction for other values."""

from __future__ import annotations

from vlang.check.expressions import Expressions
from vlang.check.foreign.more_calls import before_name
from vlang.check.tables.scope import EDGE, GRAPH, Sight, Value
from vlang.check.tables.typing import item, numeric
from vlang.syntax import rewrite
from vlang.syntax import tree as t
from vlang.syntax.codes import Code
from vlang.types import BOOL, Tuple

__all__ = ["graph_level"]

_FOLDS = {"<": "max", "<=": "max", ">": "min", ">=": "min"}


def graph_level(x: Expressions, node: t.Expr, value: Value, at: Sight, title: str) -> bool:
    """Return whether an expression has one value for the whole graph. Reports V105 if the expression has more than one
    value.

    Args:
        x: the checker of expressions.
        node: the expression.
        value: its type and level.
        at: its context.
        title: the beginning of the message.
    """
    if value.level == GRAPH or value.type is None:
        return value.level == GRAPH
    run = x.run
    cause = value.cause or node
    many = "one value per edge" if value.level == EDGE else "one value per vertex"
    write = None if isinstance(cause, t.Reduce) else _folded(x, node, at)
    symbol = at.scope.find(node.name) if isinstance(node, t.Name) else None
    if isinstance(at.item, t.Let) and isinstance(node, t.Name) and before_name(at.item.name, node.name):
        help_, write = f"leave this line out: `old(v.{node.name})` is the value before the superstep, and " \
            f"`change(v.{node.name})` the difference", None
    elif symbol is not None and isinstance(symbol.type, Tuple):
        help_ = f"every vertex has its own parts `{symbol.name}[0]`, `{symbol.name}[1]`, which need no `let`"
    elif isinstance(cause, t.Reduce):
        help_ = "gather it, apply it to a field, and fold that field over the vertices"
    else:
        help_ = "fold it over the vertices first, for example"
    if write is None and not isinstance(cause, t.Reduce) and "leave" not in help_ and \
            (symbol is None or not isinstance(symbol.type, Tuple)):
        help_ = "fold a field over the vertices instead: `sum(v.f for v in vertices)`"
    statement = write is not None and isinstance(at.item, (t.Let, t.GlobalValue))
    if statement:
        edits = [(node.span, write or "")]
        if isinstance(at.item, t.GlobalValue) and at.item.type is not None and (write or "").startswith("sum("):
            wide = _sum_type(x, node)
            edits += [(at.item.type.span, wide)] if wide else []
        write = rewrite.edited(run.file.text, at.item.span, edits)
    run.report(Code.MANY_VALUES, f"{title}, but this is {many}", cause.span, many, help=help_, write=write or (),
               replaces=at.item.span if statement else node.span)
    return False


def _sum_type(x: Expressions, node: t.Expr) -> str | None:
    """The result type of a sum of an integer expression over vertices, as text; None for other types."""
    type_ = x.run.types.get(node)
    scalar = item(type_) if type_ is not None else None
    if scalar is None or not scalar.integral:
        return None
    return "u64" if scalar.kind == "uint" else "i64"


def _folded(x: Expressions, node: t.Expr, at: Sight) -> str | None:
    """Return the text of a reduction of the expression over all vertices; None if the checker cannot choose a
    reduction.
    """
    type_ = x.run.types.get(node)
    if isinstance(node, t.Compare) and node.op in _FOLDS:
        left, right = (x.run.text(part) for part in (node.left, node.right))
        if not _own(x, node.right) and (inner := _of_member(x, node.left, at)) is not None:
            return f"{_FOLDS[node.op]}({inner}) {node.op} {right}"
        if not _own(x, node.left) and (inner := _of_member(x, node.right, at)) is not None:
            other = {"max": "min", "min": "max"}[_FOLDS[node.op]]
            return f"{left} {node.op} {other}({inner})"
    number = "max" if at.place == "limit" else "sum"
    fold = "all" if type_ == BOOL else number if type_ is not None and numeric(type_) else None
    inner = _of_member(x, node, at)
    return f"{fold}({inner})" if fold and inner is not None else None


def _own(x: Expressions, node: t.Expr) -> list[t.Name | t.Self]:
    """The parts of an expression that refer to "this vertex"."""
    return [p for p in rewrite.inside(node) if isinstance(p, (t.Name, t.Self)) and _is_own(x, p)]


def _is_own(x: Expressions, node: t.Name | t.Self) -> bool:
    symbol = x.run.symbols.get(node)
    if symbol is None:
        return isinstance(node, t.Self)
    return symbol.kind in ("field", "accumulator") or symbol.name.endswith("degree")


def _of_member(x: Expressions, node: t.Expr, at: Sight) -> str | None:
    """The text of an expression for each vertex v, with the domain: `abs(v.rank) for v in vertices`.

    None if the expression has an accumulator or a reduction.
    """
    parts = _own(x, node)
    kinds = {s.kind for s in (x.run.symbols.get(p) for p in parts) if s is not None}
    inside = list(rewrite.inside(node))
    if any(isinstance(p, t.Reduce) for p in inside) or "accumulator" in kinds:
        return None
    if any(isinstance(p, t.Member) and p.value in parts and isinstance(p.value, t.Name) for p in inside):
        return None  # a field of a vertex that a field holds cannot be read in a reduction
    v = x.run.variable(at.scope, "v")
    edits = [(p.span, v if isinstance(p, t.Self) else f"{v}.{x.run.text(p)}") for p in parts]
    return f"{rewrite.edited(x.run.file.text, node.span, edits)} for {v} in vertices"
