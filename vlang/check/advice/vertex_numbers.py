"""Proposals for a vertex in place of a number: one of its fields, or a field of numbers that the caller passes."""

from __future__ import annotations

from vlang.check.tables.checked import Symbol
from vlang.check.tables.checking import Run
from vlang.check.tables.scope import Sight
from vlang.syntax import rewrite
from vlang.syntax import tree as t
from vlang.types import Scalar

__all__ = ["below_header", "numbered", "vertex_operand"]

_NUMBERED = frozenset({"%", "//", "&", "|", "^", "<<", ">>"})
"""The operators that are used with the number of a vertex in other languages."""


def below_header(run: Run) -> t.Span:
    """The place below the header of the program, where a proposal inserts a declaration."""
    file = run.file
    end = file.text.find(")", file.params[-1].span.end) + 1 if file.params else file.name_span.end
    return t.Span(end, end, file.name_span.line, file.name_span.column)


def numbered(run: Run, name: str) -> tuple[str, str, t.Span]:
    """What to write where a program computes with the number of a vertex: help in words, a field of such numbers, and
    its place.
    """
    return (f"a vertex has no number of its own; a field without a value is an array of the caller, such as "
            f"`{name}=numpy.arange(n)`:", f"vertex {name}: int", below_header(run))


def _numeric_fields(at: Sight, integral: bool) -> list[Symbol]:
    return [s for s in at.scope.visible() if s.kind == "field" and isinstance(s.type, Scalar)
            and (s.type.integral if integral else s.type.numeric)]


def _numeric_field(at: Sight, op: str, integral: bool) -> str:
    """The field that is meant where an operation has a vertex in place of a number; "" if it is not clear which.

    Args:
        at: the context of the operation.
        op: the operator. Remainders and operations on bits are meant for the number of the vertex.
        integral: whether the operation needs an integer.
    """
    fields = _numeric_fields(at, integral)
    if op in _NUMBERED:
        fields = [s for s in fields if s.name == "id" and isinstance(s.decl, t.VertexField) and s.decl.init is None]
    return fields[0].name if len(fields) == 1 else ""


def vertex_operand(run: Run, node: t.Expr, op: str, at: Sight, whole: t.Expr,
                   integral: bool) -> tuple[str, str, t.Span]:
    """What to write for an operation on a vertex: help in words, the text, and the part that it replaces.

    Args:
        run: the running check.
        node: the operand.
        op: the operator.
        at: the context of the operation.
        whole: the operation.
        integral: whether the operation needs an integer.
    """
    if isinstance(whole, t.Unary):
        return "`min((-x, u) ...)` instead of `max((x, -u) ...)` takes the smallest vertex of the best", "", whole.span
    symbol = run.symbols.get(node)
    if not isinstance(node, (t.Name, t.Self)) or (symbol is not None and symbol.kind not in ("neighbour", "member")):
        return "", "", whole.span
    field = _numeric_field(at, op, integral)
    if field:
        named = field if isinstance(node, t.Self) else f"{run.text(node)}.{field}"
        return ("did you mean one of its fields?", rewrite.edited(run.file.text, whole.span, [(node.span, named)]),
                whole.span)
    if op in _NUMBERED:
        return numbered(run, "id")
    owner = "" if isinstance(node, t.Self) else f"{run.text(node)}."
    fields = [f"`{owner}{one.name}`" for one in _numeric_fields(at, integral)]
    return f"did you mean one of its fields: {', '.join(fields)}?" if fields else "", "", whole.span
