"""Checks for rule A that contributions of ordered tuples have the same order as the tuples of their senders."""

from __future__ import annotations

from vlang.ir.forms import forms as f
from vlang.ir.forms.moves import CONSTANT, DOWN, UP, Move, Moves
from vlang.ir.forms.normal import Write
from vlang.ir.rules.context import Context
from vlang.types import Scalar

__all__ = ["keeps_order"]


def keeps_order(ctx: Context, write: Write) -> str | None:
    """Return whether a better tuple of a sender never gives a worse contribution.

    Under `min`, smaller tuples are better; under `max`, larger tuples are better.

    Tuples are compared component by component. Therefore component k may depend on field k of the sender only if
    different values of each earlier field give different components. Sums of different integers are different: a sum
    that overflows becomes infinite, and a tuple with an infinite first component is no contribution. Sums of floats do
    not have this property, because two sums of different values may be rounded to the same float.

    Returns:
        The result is "" if the order is kept. It is a reason if rounding or equal components may break the order. It is
        None if the write joins no tuple from neighbours, or if this check cannot judge the tuple.
    """
    if len(write.fields) == 1 or write.joined is None or not isinstance(write.rest, f.Accumulator):
        return None
    reduce = write.joined.reduce
    body = reduce.body
    if reduce.operator not in ("min", "max") or not (isinstance(body, f.Op) and body.op == "tuple"):
        return None
    way = DOWN if reduce.operator == "min" else UP
    steady = ctx.moves()
    if reduce.default is not None or (reduce.cond is not None and steady.of(reduce.cond) != CONSTANT):
        return None
    for at, part in enumerate(body.args):
        moves = _moves(ctx, write.fields, at, way)
        if _distinct(ctx, part, write.fields[at], way, at == 0):
            continue
        rest = body.args[at + 1 :]
        if moves.of(part) not in (CONSTANT, way):
            return None
        varying = next((name for name, e in zip(write.fields[at + 1 :], rest) if moves.of(e) != CONSTANT), None)
        return "" if varying is None else _refusal(ctx, part, write.fields[at], varying, at == 0)
    return ""


def _moves(ctx: Context, fields: tuple[str, ...], at: int, way: Move) -> Moves:
    """Return how expressions move when field number `at` of the sender moves in direction `way` and earlier fields do
    not change.
    """
    scope = ctx.scope

    def leaf(expr: f.Expr) -> Move:
        if isinstance(expr, f.Field) and expr.name in scope.written:
            sent = expr.of == "other" and expr.time == "now" and expr.name in fields[: at + 1]
            return "?" if not sent else way if expr.name == fields[at] else CONSTANT
        return "?" if scope.varying(expr) else CONSTANT

    return Moves(scope, ctx.known, leaf)


def _distinct(ctx: Context, part: f.Expr, name: str, way: Move, first: bool) -> bool:
    """Return whether different values of the sender's field give different results in the same order, or no
    contribution.
    """
    if isinstance(part, f.Field) and not _floating(part):  # zeros of both signs are equal
        return (part.name, part.of, part.time) == (name, "other", "now")
    if not first or not isinstance(part, f.Op) or part.op not in ("add", "sub") or not _whole(part, way):
        return False
    mine, other = part.args
    if part.op == "add" and not _distinct(ctx, mine, name, way, first):
        mine, other = other, mine
    if not _distinct(ctx, mine, name, way, first) or ctx.moves().of(other) != CONSTANT:
        return False
    if part.op == "sub":
        return way == UP and ctx.known.nonnegative(other)
    return ctx.known.nonnegative(other) if way == DOWN else ctx.known.at_most(other, 0)


def _whole(part: f.Op, way: Move) -> bool:
    """Return whether a sum has an integer type with an infinity in direction `way`. An unsigned type has no `-inf`."""
    return isinstance(part.type, Scalar) and part.type.integral and (way == DOWN or part.type.kind == "int")


def _floating(part: f.Expr) -> bool:
    return isinstance(part.type, Scalar) and part.type.floating


def _refusal(ctx: Context, part: f.Expr, name: str, later: str, first: bool) -> str:
    word, after = ctx.scope.word(name), ctx.scope.word(later)
    equal = f"two values of `{word}` may give equal parts, and then `{after}` decides"
    if _floating(part):
        return f"{equal}: sums of floats are rounded; integers (`vertex {word}: i64`) stay different"
    if first:
        return f"{equal}: sums of integers stay different where what is added to `u.{word}` is known not to make it " \
               "better (`require weight >= 0`)"
    return f"{equal}: of the parts after the first one, only the last may change along an edge"
