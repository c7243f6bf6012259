"""Checks values that must be one value for the whole graph; V105 proposes a reduction for other values."""

from __future__ import annotations

from dataclasses import replace

from vlang.check.advice.computed import owner_of
from vlang.check.advice.proposals import before_name
from vlang.check.expressions import Expressions
from vlang.check.reduce import over_edges
from vlang.check.tables.checking import Run
from vlang.check.tables.scope import EDGE, GRAPH, Sight, Value
from vlang.check.tables.typing import item, numeric, spoken, zero
from vlang.syntax import rewrite
from vlang.syntax import tree as t
from vlang.syntax.codes import Code
from vlang.types import BOOL, Scalar, Tuple

__all__ = ["graph_level"]

_JOINED = frozenset({"sum", "min", "max", "any", "all", "prod"})
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
    if isinstance(cause, t.Reduce) and over_edges(cause.domain) and _first_at_vertices(x, node, cause, at, title):
        return False
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


def _first_at_vertices(x: Expressions, node: t.Expr, inner: t.Reduce, at: Sight, title: str) -> bool:
    """Report a reduction over edges in place of one value for the whole graph. The proposed lines reduce the edges of
    each vertex, and then the vertices. Returns whether there are such lines.

    Args:
        x: the checker of expressions.
        node: the expression.
        inner: its reduction over edges.
        at: its context.
        title: the beginning of the message.
    """
    run, item_ = x.run, at.item
    fold = "sum" if inner.name == "count" else inner.name
    type_, reduces = run.types.get(inner), [p for p in rewrite.inside(node) if isinstance(p, t.Reduce)]
    if isinstance(item_, t.Repeat) and at.place == "until" and isinstance(type_, Scalar) and reduces == [inner] and \
            fold in _JOINED and not isinstance(owner_of(run, item_), (t.Where, t.Sweep)):
        here, v = run.fresh("here"), run.variable(at.scope, "v")
        run.report(Code.MANY_VALUES, f"{title}, but this is one value per vertex", inner.span, "one value per vertex",
                   help="gathered at the end of each superstep, and then folded over the vertices:",
                   write=_gathered_last(run, item_, inner, here, f"{fold}({v}.{here} for {v} in vertices)"),
                   replaces=item_.span)
        return True
    if not isinstance(item_, (t.Let, t.GlobalValue)) or fold not in _JOINED or not isinstance(type_, Scalar) or \
            reduces != [inner] or isinstance(owner_of(run, item_), (t.Where, t.Sweep)):
        return False
    if isinstance(item_, t.Let) and _read_at_vertices(run, item_.name):
        run.report(Code.MANY_VALUES, f"{title}, but this is one value per vertex", inner.span, "one value per vertex",
                   help=f"`gather {item_.name} = ...` names a value for each vertex; a `let` folds a field over the "
                        "vertices, `sum(v.f for v in vertices)`")
        return True
    here, v = run.fresh(f"{item_.name}_here"), run.variable(at.scope, "v")
    edits = [(inner.span, f"{fold}({v}.{here} for {v} in vertices)")]
    wide = _sum_type(x, inner) if fold == "sum" and node is inner else None
    if wide and isinstance(item_, t.GlobalValue) and item_.type is not None:
        edits.append((item_.type.span, wide))
    twice = fold == "sum" and inner.domain.kind == "both"
    run.report(Code.MANY_VALUES, f"{title}, but this is one value per vertex", inner.span, "one value per vertex",
               help=f"first at every vertex, then over the vertices{', so each edge counts at both ends' * twice}:",
               write=(f"vertex {here}: {spoken(type_)} = {rewrite.one_line(run.text(inner))}",
                      rewrite.edited(run.file.text, item_.span, edits)), replaces=item_.span)
    return True


def _gathered_last(run: Run, loop: t.Repeat, inner: t.Reduce, here: str, folded: str) -> tuple[str, ...]:
    """The lines of a loop that gathers a reduction over edges at the end of its block, for its `until`.

    Args:
        run: the running check.
        loop: the loop.
        inner: the reduction in its `until`.
        here: the name of a field for its value at each vertex.
        folded: the text that replaces it.
    """
    text, margin, first = run.file.text, loop.span.column - 1, loop.block.items[0]
    begin = text.rfind("\n", loop.span.start, first.span.start)
    if begin < 0:
        return ()
    head = rewrite.edited(text, replace(loop.span, end=begin), [(inner.span, folded)])
    last = loop.block.items[-1]
    end = last.span.start if isinstance(last, t.Activate) else loop.span.end
    lines = [line[margin:].rstrip() for line in text[begin + 1 : end].split("\n") if line.strip()]
    deep, type_ = " " * (first.span.column - 1 - margin), run.types[inner]
    ends = [f"{deep}{run.text(last)}"] if isinstance(last, t.Activate) else []
    return (f"vertex {here}: {spoken(type_)} = {zero(type_)}", head, *lines,
            f"{deep}gather {here}_now = {rewrite.one_line(run.text(inner))}", f"{deep}apply {here} = {here}_now", *ends)


def _read_at_vertices(run: Run, name: str) -> bool:
    """Whether a name is read in a statement that has a value for each vertex."""
    places: list[t.Node] = []
    for node in rewrite.inside(run.file):
        if isinstance(node, (t.Apply, t.Gather, t.VertexField)):
            places.append(node)
        elif isinstance(node, (t.Where, t.Activate)):
            places.append(node.cond)
    return any(isinstance(part, t.Name) and part.name == name for node in places for part in rewrite.inside(node))


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
