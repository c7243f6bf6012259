"""The operations of an expression or a reduction that trap mode tests, in the order of evaluation.

In a grouped gather, the operations at edges are evaluated first: the condition, the key, and the terms of all inner
reductions. The operations on groups follow: the results of the inner reductions, the condition of groups, and the body.
"""

from __future__ import annotations

from collections.abc import Iterator

from vlang.ir.forms import forms as f
from vlang.ir.traps import build as b
from vlang.ir.traps.failing import failures, reduction_failures, scalars
from vlang.records import dataclass
from vlang.syntax.tree import Span
from vlang.types import BOOL, VERTEX

__all__ = ["Failing", "failing", "in_groups", "in_terms"]


@dataclass(frozen=True)
class Failing:
    """A test of one operation. The operation fails where `test` and all `guards` are true.

    Attributes:
        kind: The kind of failure, one of vlang.ir.traps.failing.KINDS.
        span: The place of the operation in the text.
        test: Whether the operation fails.
        guards: Conditions that are true wherever the operation is evaluated.
    """

    kind: str
    span: Span
    test: f.Expr
    guards: tuple[f.Expr, ...] = ()


def failing(expr: f.Expr, span: Span, guards: tuple[f.Expr, ...] = (), compared: bool = False) -> Iterator[Failing]:
    """The operations inside an expression that can fail, in the order of evaluation.

    Args:
        expr: The expression. The reductions in the expression are over common neighbours, or have been tested before.
        span: The place to report for expressions that have no place of their own.
        guards: Conditions that are true wherever the expression is evaluated.
        compared: See `failures`.
    """
    span = expr.span or span
    if isinstance(expr, (f.Field, f.Degree)) and isinstance(expr.of, f.Expr):
        yield from failing(expr.of, span, guards)
        yield Failing("none", span, b.is_none(expr.of), guards)
    if isinstance(expr, f.Reduce) and expr.domain.kind == "common":
        yield from _of_pair(expr, span, guards)
    if not isinstance(expr, f.Op):
        return
    for k, arg in enumerate(expr.args):
        yield from failing(arg, span, (*guards, *_guards(expr, k)), _hands_on(expr, k, compared))
    span = _own(expr, span)
    for op in scalars(expr):
        for kind, test in failures(op, compared):
            yield Failing(kind, span, test, guards)


def _own(expr: f.Op, span: Span) -> Span:
    """Return the place to report for an operation. For an implicit conversion, it is the place of the operand."""
    if expr.span is None and expr.op == "cast" and expr.args[0].span is not None:
        return expr.args[0].span
    return span


def _guards(expr: f.Op, number: int) -> tuple[f.Expr, ...]:
    """The conditions under which an operator evaluates operand `number`."""
    if expr.op == "select" and number:
        return (expr.args[0] if number == 1 else b.no(expr.args[0]),)
    if expr.op in ("and", "or"):
        return tuple(arg if expr.op == "and" else b.no(arg) for arg in expr.args[:number])
    return ()


_COMPARED = frozenset({"min", "max", "vmin", "vmax", "eq", "ne", "lt", "le", "gt", "ge", "differs"})
_HANDED_ON = frozenset({"add", "sub", "mul", "neg", "cast", "tuple", "item", "vector", "broadcast", "select"})


def _hands_on(expr: f.Op, number: int, compared: bool) -> bool:
    """Return whether an operand only decides a minimum, a maximum or a comparison."""
    if expr.op == "select" and number == 0:
        return False
    return expr.op in _COMPARED or (compared and expr.op in _HANDED_ON)


def _compared(reduce: f.Reduce) -> bool:
    """Return whether the contributions of a reduction only decide a minimum or a maximum."""
    return not reduce.user and reduce.name in ("min", "max")


def in_terms(reduce: f.Reduce, span: Span) -> Iterator[Failing]:
    """Yield the operations in the condition and the body of a reduction. For a grouped gather, yield the operations
    that are evaluated at its edges.
    """
    guards: tuple[f.Expr, ...] = ()
    if reduce.cond is not None:
        yield from failing(reduce.cond, span)
        guards = (reduce.cond,)
    if reduce.group is None:
        yield from failing(reduce.body, span, guards, _compared(reduce))
        return
    assert reduce.key is not None
    yield from failing(reduce.key, span, guards)
    if reduce.key.type == VERTEX:  # an edge with the key `none` is in no group
        guards = (*guards, b.no(b.is_none(reduce.key)))
    for inner in _inside(reduce):
        place = inner.span or span
        if inner.cond is not None:
            yield from failing(inner.cond, place, guards)
        more = () if inner.cond is None else (inner.cond,)
        yield from failing(inner.body, place, (*guards, *more), _compared(inner))


def in_groups(reduce: f.Reduce, span: Span) -> Iterator[Failing]:
    """The operations of a grouped gather that are evaluated for each group."""
    for inner in _inside(reduce):
        place = inner.span or span
        if inner.default is not None:
            yield from failing(inner.default, place)
        yield from _result(inner, place, ())
    guards: tuple[f.Expr, ...] = ()
    if reduce.having is not None:
        yield from failing(reduce.having, span)
        guards = (reduce.having,)
    yield from failing(reduce.body, span, guards, _compared(reduce))


def _inside(reduce: f.Reduce) -> list[f.Reduce]:
    """The different reductions inside a grouped gather, in the condition of groups and in the body."""
    return list(dict.fromkeys(one for part in (reduce.having, reduce.body) if part is not None
                              for one in f.reductions(part)))


def _of_pair(reduce: f.Reduce, span: Span, guards: tuple[f.Expr, ...]) -> Iterator[Failing]:
    """The operations of a reduction over common neighbours, each with a test at the edge."""
    for one in in_terms(reduce, span):
        yield Failing(one.kind, one.span, reduce.alike(BOOL, "any", b.both(*one.guards, one.test), None), guards)
    if reduce.default is not None:
        yield from failing(reduce.default, span, guards)
    yield from _result(reduce, span, guards)


def _result(inner: f.Reduce, span: Span, guards: tuple[f.Expr, ...]) -> Iterator[Failing]:
    """Yield the failures of the result of a reduction inside another reduction."""
    for kind, test in reduction_failures(inner, inner, lambda each: inner.alike(BOOL, "any", each, inner.cond)):
        yield Failing(kind, span, test, guards)
