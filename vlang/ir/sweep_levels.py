"""Gathers of a sweep as messages: the vertices of one level send to the vertices of another level.

In `sweep f up|down`, the value of f at the vertex itself equals the current level, which is a graph-level value.
Consider a gather with a condition that fixes the difference between the level of the neighbour and the current level,
such as

    gather due = sum(paths / u.paths * (1 + u.share) for self -> u if u.depth == depth + 1)

Factors that depend only on the receiver are moved out of the sum (language.md 14.2). The remaining factors are computed
once per sender (14.1):

    message of u = (1 + u.share) / u.paths if u.depth == level + 1 else 0
    due          = paths * (sum of messages)

Only the vertices of level + 1 send a message that is not 0. Before the pass, these vertices write their messages, and
the senders of the previous pass clear their messages. With messages, a pass reads one value per edge instead of one
value per field and edge.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from vlang.ir.forms import forms as f
from vlang.ir.rules.pass_rules import only_neighbour
from vlang.ir.stages import Mask, Stage, Sweep, Write
from vlang.records import dataclass
from vlang.reductions import identity
from vlang.types import BOOL, F32, F64, Scalar, Type

__all__ = ["Levelled", "levelled"]

_NEUTRAL = frozenset({"+", "min", "max", "or", "and"})


@dataclass(frozen=True)
class Levelled:
    """A pass whose gathers read only messages.

    Attributes:
        stage: The pass.
        messages: Each message with its number, in the order of the gathers.
        distance: The level of the senders minus the current level. The level of a vertex is its value of the sweep's
            field.
        factored: The names of the sums with factors of the receiver that were moved out.
    """

    stage: Stage
    messages: Mapping[f.Expr, int]
    distance: int
    factored: tuple[str, ...]


def levelled(stage: Stage, sweep: Sweep, factors: bool = True) -> Levelled | None:
    """Return the pass with messages by level; None if some gather does not have the form that the module describes.

    The result is None for a sweep in a `where`, since the lists of vertices by level lack neighbours outside of the
    `where`.

    Args:
        factors: whether factors of the receiver may be taken out of sums of floats.
    """
    if sweep.guard is not None or not stage.gathers or any(g.reduce.key is not None for g in stage.gathers):
        return None
    gathers: list[f.Gather] = []
    own: dict[str, f.Expr] = {}
    distances: set[int] = set()
    messages: dict[f.Expr, int] = {}
    for gather in stage.gathers:
        within = factors and gather.name not in stage.stored  # a later pass would read the sum without its factor
        reduce, factor = _factored(gather.reduce, set(stage.written)) if within else (gather.reduce, None)
        reduce = _at_level(reduce, sweep)
        distance = _distance(reduce, sweep)
        if distance is None or not _sendable(reduce):
            return None
        assert reduce.cond is not None
        assert isinstance(reduce.body.type, Scalar)
        nothing = f.Const(reduce.body.type, identity(reduce.name, reduce.body.type))
        message = f.Op(reduce.body.type, "select", (reduce.cond, reduce.body, nothing))
        messages.setdefault(message, len(messages))
        distances.add(distance)
        gathers.append(replace(gather, reduce=replace(reduce, body=message, cond=None)))
        if factor is not None:
            own[gather.name] = factor
    if len(distances) != 1:
        return None
    after = tuple(_multiplied(item, own) for item in stage.after)
    changed = replace(stage, gathers=tuple(gathers), after=after)
    return Levelled(changed, messages, distances.pop(), tuple(own))


def _sendable(reduce: f.Reduce) -> bool:
    """Return whether a contribution is the identity of the reduction, or is one number that depends only on the sender.
    """
    if reduce.default is not None or reduce.operator not in _NEUTRAL:
        return False
    parts = [reduce.body] if reduce.cond is None else [reduce.body, reduce.cond]
    past = any(isinstance(e, f.Field) and e.time != "now" for part in parts for e in f.walk(part))
    return isinstance(reduce.body.type, Scalar) and not past and all(map(only_neighbour, parts))


def _at_level(reduce: f.Reduce, sweep: Sweep) -> f.Reduce:
    """Return the reduction with the current level in place of reads of the sweep's field at the vertex itself."""
    def changed(expr: f.Expr) -> f.Expr:
        if isinstance(expr, f.Field) and (expr.name, expr.of, expr.time) == (sweep.sweep.field, "self", "now"):
            return f.GraphValue(expr.type, sweep.level, "loop")
        return f.rebuild(expr, tuple(map(changed, f.children(expr))))

    result = changed(reduce)
    assert isinstance(result, f.Reduce)
    return result


# --------------------------------------------------------------------------------------------------- senders


def _distance(reduce: f.Reduce, sweep: Sweep) -> int | None:
    """Return the level of a sender minus the level of its receivers, if the condition fixes this difference; otherwise
    None.
    """
    for part in _conjuncts(reduce.cond):
        if isinstance(part, f.Op) and part.op == "eq":
            for there, here in (part.args, part.args[::-1]):
                if isinstance(there, f.Field) and (there.name, there.of) == (sweep.sweep.field, "other"):
                    return _beyond(here, sweep.level)
    return None


def _conjuncts(expr: f.Expr | None) -> Iterator[f.Expr]:
    if isinstance(expr, f.Op) and expr.op == "and":
        for part in expr.args:
            yield from _conjuncts(part)
    elif expr is not None:
        yield expr


def _beyond(expr: f.Expr, level: str) -> int | None:
    """The constant c if the expression is level + c; None for any other expression."""
    if isinstance(expr, f.GraphValue) and expr.name == level:
        return 0
    if isinstance(expr, f.Op) and expr.op in ("add", "sub"):
        a, b = expr.args
        if expr.op == "add" and isinstance(a, f.Const):
            a, b = b, a
        if isinstance(a, f.GraphValue) and a.name == level and isinstance(b, f.Const) and isinstance(b.value, int):
            return b.value if expr.op == "add" else -b.value
    return None


# -------------------------------------------------------------------------------------------------- own factors


def _factored(reduce: f.Reduce, written: set[str]) -> tuple[f.Reduce, f.Expr | None]:
    """Split a sum of floats into a sum without factors of the receiver, and the product of these factors; None if the
    receiver gives no factors.
    """
    if reduce.operator != "+" or reduce.default is not None or reduce.body.type not in (F32, F64):
        return reduce, None
    above, below = _fraction(reduce.body)
    mine = [part for part in above if _own(part, written)]
    if not mine:
        return reduce, None
    body = _product([part for part in above if part not in mine], reduce.body.type)
    if below:
        body = f.Op(body.type, "div", (body, _product(below, body.type)))
    return replace(reduce, body=body), _product(mine, reduce.body.type)


def _fraction(expr: f.Expr) -> tuple[list[f.Expr], list[f.Expr]]:
    """Return the factors of the numerator, and the factors of the denominator."""
    if isinstance(expr, f.Op) and expr.op in ("mul", "div"):
        (above, below), (more, less) = map(_fraction, expr.args)
        return (above + more, below + less) if expr.op == "mul" else (above + less, below + more)
    return [expr], []


def _own(expr: f.Expr, written: set[str]) -> bool:
    """Return whether an expression is a value of the receiver that the pass does not write."""
    parts = list(f.walk(expr))
    reads = [e for e in parts if isinstance(e, f.Field)]
    plain = all(isinstance(e, (f.Field, f.Const, f.GraphValue, f.Op)) for e in parts)
    return bool(reads) and plain and all(e.of == "self" and e.time == "now" and e.name not in written for e in reads)


def _product(factors: list[f.Expr], type_: Type) -> f.Expr:
    if not factors:
        return f.Const(type_, 1.0)
    result = factors[0]
    for factor in factors[1:]:
        result = f.Op(type_, "mul", (result, factor))
    return result


def _multiplied(item: Mask | Write, own: Mapping[str, f.Expr]) -> Mask | Write:
    """Return a statement after the gathers in which sums are multiplied by their factors; a sum of 0 stays 0 for every
    factor.
    """
    def changed(expr: f.Expr) -> f.Expr:
        if isinstance(expr, f.Accumulator) and expr.name in own:
            zero = f.Op(BOOL, "eq", (expr, f.Const(expr.type, 0.0)))
            return f.Op(expr.type, "select", (zero, expr, f.Op(expr.type, "mul", (own[expr.name], expr))))
        return f.rebuild(expr, tuple(map(changed, f.children(expr))))

    if not own:
        return item
    if isinstance(item, Write):
        return replace(item, value=changed(item.value))
    return replace(item, cond=changed(item.cond))
