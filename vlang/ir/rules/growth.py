"""Rule I: a loop may continue from an old result after edges were inserted or deleted."""

from __future__ import annotations

from vlang.ir.forms import forms as f
from vlang.ir.forms.moves import CONSTANT, DOWN, UNKNOWN, UP, Moves, flip, join
from vlang.ir.forms.normal import Write
from vlang.ir.forms.visible import statements
from vlang.ir.rules.context import Context, Verdict, by_groups

__all__ = ["incremental"]


def incremental(ctx: Context, order: Verdict) -> Verdict:
    """Rule I: the changes of the edge set after which the loop may start from its old result."""
    beyond = by_groups(ctx)
    if beyond is not None:
        return beyond
    if ctx.kind == "delta" and not ctx.integers:
        return Verdict(True, "I2: for each changed edge, send the new minus the old contribution of the "
                             "values sent before",
                       marks=("insert", "delete"))
    if not order.granted:
        return Verdict(False, "needs rule A, which is refused", order.letter)
    moves = Moves.of_edges(ctx.scope, ctx.known, lambda name: _tied(ctx, name))
    ways = CONSTANT
    for write in ctx.writes:
        if not _start_stays(ctx, write):
            return Verdict(False, f"`{ctx.scope.word(write.fields[0])}` starts at a value that depends on the edges")
        towards = _towards(moves.of(write.rest), write)
        for where in write.leaf.wheres:
            towards = join(towards, moves.of(where.cond))
        ways = join(ways, towards)
    if ways == UNKNOWN:
        return Verdict(False, "more edges may move the joined value either way")
    if ways == UP:
        return Verdict(True, "I1: with more edges every joined value moves the way of its field, so the old fixpoint "
                             "lies on the way to the new one; start with the ends of the new edges active",
                       marks=("insert",))
    if ways == DOWN:
        return Verdict(True, "I1: with fewer edges every joined value moves the way of its field; start with the "
                             "ends of the deleted edges active", marks=("delete",))
    return Verdict(True, "I1: no joined value depends on the edges", marks=("insert", "delete"))


def _towards(move: str, write: Write) -> str:
    """Return UP if additional edges move the joined value in the direction of the field, and DOWN for the opposite
    direction.
    """
    return move if write.direction == "up" else flip(move)


def _starts(ctx: Context, name: str) -> list[f.Expr]:
    return [s.value for s in statements(ctx.scope.program.body) if isinstance(s, f.InitField) and s.name == name]


def _tied(ctx: Context, name: str) -> bool:
    """Return whether the initial value of a field depends on the edges."""
    return any(isinstance(e, (f.Degree, f.Reduce)) for value in _starts(ctx, name) for e in f.walk(value))


def _start_stays(ctx: Context, write: Write) -> bool:
    """Return whether the initial value of the written fields is still legal after a change of the edges.

    The initial value stays legal if it does not depend on edges. An initial degree also stays legal if it is joined by
    `min` with an h-index, because an h-index never exceeds the degree.
    """
    for name in write.fields:
        if not _tied(ctx, name):
            continue
        starts, rest = _starts(ctx, name), write.rest
        gather = ctx.scope.gathers.get(rest.name) if isinstance(rest, f.Accumulator) else None
        if gather is None or gather.reduce.name != "hindex" or write.direction != "down" or len(starts) != 1:
            return False
        kind = {"in": "in", "out": "out", "both": "all"}[gather.reduce.domain.kind]
        if not (isinstance(starts[0], f.Degree) and starts[0].kind == kind):
            return False
    return True
