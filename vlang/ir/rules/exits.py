"""Rules X (early exit) and Z (skip the identity)."""

from __future__ import annotations

import math

from vlang.ir.forms import forms as f
from vlang.ir.forms.moves import Known
from vlang.ir.forms.normal import Write, linearity, widens
from vlang.ir.forms.visible import above, expressions, statements
from vlang.ir.rules.context import Context, Verdict, listed, with_states
from vlang.reductions import MONOIDS
from vlang.types import BOOL, Scalar

__all__ = ["absorbing", "done", "silencing", "strict", "uniform_frontier"]


def absorbing(ctx: Context) -> tuple[str, ...]:
    """X1, first part: the gathers that may stop at the absorbing element of their reduction."""
    if ctx.scope.inner is not None:
        return ()
    return tuple(g.name for g in ctx.scope.gathers.values() if g.reduce.group is None
                 and g.reduce.operator is not None and MONOIDS[g.reduce.operator].absorbing)


def done(ctx: Context) -> dict[str, bool]:
    """X1, second part: pairs of a field and an absorbing value. A vertex need not gather if the field has the absorbing
    value.
    """
    if ctx.scope.inner is not None or with_states(ctx) is not None:  # a vertex always writes the values of its row
        return {}
    found: dict[str, bool] = {}
    for write in ctx.writes:
        operator = write.operator
        if operator is None or operator.name not in ("or", "and") or len(ctx.ways(write.fields[0])) != 1:
            continue
        sums = {e.name for e in f.walk(write.rest) if isinstance(e, f.Accumulator) and e.name in ctx.scope.gathers}
        grouped = any(ctx.scope.gathers[name].reduce.group is not None for name in sums)
        if sums and not grouped and not any(sums & _used(s) for s in _others(ctx, write)):
            found[write.fields[0]] = operator.name == "or"
    return found


def _others(ctx: Context, write: Write) -> list[f.Statement]:
    return [s for s in statements(ctx.scope.loop.body) if s is not write.leaf.statement]


def _used(statement: f.Statement) -> set[str]:
    return {e.name for expr in expressions(statement) for e in f.walk(expr) if isinstance(e, f.Accumulator)}


# ----------------------------------------------------------- X2, uniform frontier


def uniform_frontier(ctx: Context) -> Verdict:
    """X2: whether the loop is a breadth-first search, which may optimise its direction."""
    no = "not the shape of a breadth-first search: "
    if ctx.scope.inner is not None:
        return Verdict(False, ctx.inner_reason, "i")
    if ctx.kind != "fixpoint":
        return Verdict(False, no + "not a fixpoint loop")
    if len(ctx.writes) != 1 or ctx.writes[0].joined is None or len(ctx.writes[0].fields) != 1:
        return Verdict(False, no + "needs one write with a joined gather")
    (write,) = ctx.writes
    name, joined = write.fields[0], write.joined
    word = ctx.scope.word(name)
    if joined is None or not _steps(joined.reduce, name):
        return Verdict(False, no + f"the gather is not `min(u.{word} + c)` with a literal c >= 0 and no `if`")
    far = math.inf if joined.reduce.name == "min" else -math.inf
    if not _uniform_start(ctx, name, far):
        return Verdict(False, no + f"`{word}` does not start at one constant or infinity")
    return Verdict(True, f"X2: all active vertices hold the same `{word}`, so the first active neighbour decides and a "
                         f"vertex with a finite `{word}` need not gather; if executed synchronously, and if `{word}` "
                         "starts as the program says, with only its finite vertices active")


def _steps(reduce: f.Reduce, name: str) -> bool:
    """Return whether a reduction is `min(u.x + c)` or `max(u.x - c)` over scalars, without `if`, where c is a literal
    >= 0.
    """
    body = reduce.body
    if reduce.cond is not None or reduce.operator not in ("min", "max") or not isinstance(body.type, Scalar):
        return False
    if not isinstance(body, f.Op):
        return _is_neighbour(body, name)
    if len(body.args) != 2:
        return False
    left, right = body.args
    if body.op == "add" and not _is_neighbour(left, name):
        left, right = right, left
    if body.op not in ("add", "sub") or not _is_neighbour(left, name) or not isinstance(right, f.Const):
        return False
    if not isinstance(right.value, (int, float)) or math.isinf(right.value):
        return False
    step = right.value if body.op == "add" else -right.value
    return step >= 0 if reduce.operator == "min" else step <= 0


def _is_neighbour(expr: f.Expr, name: str) -> bool:
    return isinstance(expr, f.Field) and (expr.name, expr.of, expr.time) == (name, "other", "now")


def _uniform_start(ctx: Context, name: str, far: float) -> bool:
    """Return whether, at each entry of the loop, every x is infinite or equal to one constant that all vertices share.
    """
    program, loop = ctx.scope.program, ctx.scope.loop
    everything = list(statements(program.body))
    starts = [s for s in everything if isinstance(s, f.InitField) and s.name == name]
    inside = set(statements(loop.body))
    elsewhere = [s for s in everything if isinstance(s, f.Apply) and name in s.fields and s not in inside]
    if len(starts) != 1 or elsewhere or above(program, starts[0]) != _loops(above(program, loop)):
        return False
    values = _choices(starts[0].value)
    if values is None:
        return False
    finite = {value for value in values if not _infinite(value, far)}
    return len({value.value for value in finite}) <= 1


def _loops(blocks: tuple[f.Statement, ...]) -> tuple[f.Statement, ...]:
    return tuple(block for block in blocks if not isinstance(block, f.Where))


def _choices(expr: f.Expr) -> list[f.Const] | None:
    """Return the constants among which an expression chooses; None if the expression may have other values."""
    if isinstance(expr, f.Const):
        return [expr]
    if isinstance(expr, f.Op) and expr.op == "select":
        yes, no = _choices(expr.args[1]), _choices(expr.args[2])
        return None if yes is None or no is None else yes + no
    return None


def _infinite(value: f.Const, far: float) -> bool:
    assert isinstance(value.type, Scalar)
    if value.type.integral:
        return value.value == (value.type.highest if far > 0 else value.type.lowest)
    return value.value == far


# --------------------------------------------------------------- Z, strict bodies


def strict(reduce: f.Reduce, known: Known) -> Verdict:
    """Rule Z: whether a neighbour contributes nothing if one of its fields is equal to the identity."""
    if reduce.user or reduce.default is not None or not reduce.domain.stored or reduce.key:
        return Verdict(False, "no identity that every neighbour could hold")
    names, bound = _silencing(reduce, known)
    if not names:
        return Verdict(False, "a neighbour may contribute whatever value it holds")
    return Verdict(True, f"a neighbour where {listed(f'`{n}`' for n in names)} is {bound} contributes nothing")


def silencing(reduce: f.Reduce, known: Known) -> tuple[str, ...]:
    """Rule Z: the fields of a neighbour, each with a neutral value. A neighbour contributes nothing if some field has
    its neutral value.

    The neutral value is the identity of the reduction, or `false` for a bool that must be true for a contribution.
    """
    return _silencing(reduce, known)[0] if strict(reduce, known).granted else ()


def _silencing(reduce: f.Reduce, known: Known) -> tuple[tuple[str, ...], str]:
    """Return the fields that rule Z tests, and the field value with which a neighbour contributes nothing."""
    conjuncts = _conjuncts(reduce.cond) if reduce.cond is not None else []
    if reduce.operator == "or" or reduce.counts:
        conjuncts += _conjuncts(reduce.body)
    flags = [c for c in conjuncts if isinstance(c, f.Field) and c.of == "other" and c.type == BOOL]
    if flags:
        return (flags[0].name,), "false"
    body = reduce.body.args[0] if isinstance(reduce.body, f.Op) and reduce.body.op == "tuple" else reduce.body
    if reduce.operator in ("min", "max"):
        names = _strict_infinite(body, reduce.operator == "min", known)
        return tuple(sorted(names)), "inf" if reduce.operator == "min" else "-inf"
    if reduce.operator == "and":
        return tuple(sorted(_strict_or(body))), "true"
    if reduce.operator in ("+", "|", "^"):
        return tuple(sorted(_strict_zero(body, reduce.domain.kind))), "0"
    return (), ""


def _conjuncts(cond: f.Expr) -> list[f.Expr]:
    if isinstance(cond, f.Op) and cond.op == "and":
        return [part for arg in cond.args for part in _conjuncts(arg)]
    return [cond]


def _strict_infinite(body: f.Expr, low: bool, known: Known) -> frozenset[str]:
    """Return the fields of u that make a contribution to `min` (`low` is true) or `max` infinite if they are infinite.
    """
    if isinstance(body, f.Field):
        signed = isinstance(body.type, Scalar) and body.type.kind != "uint"
        return frozenset({body.name}) if signed and body.of == "other" and body.time == "now" else frozenset()
    if isinstance(body, f.Op) and widens(body):
        return _strict_infinite(body.args[0], low, known)
    if not (isinstance(body, f.Op) and len(body.args) == 2):
        return frozenset()
    sides = [_strict_infinite(arg, low, known) for arg in body.args]
    if body.op == ("max" if low else "min"):
        return sides[0] | sides[1]
    if body.op == ("min" if low else "max"):
        return sides[0] & sides[1]
    if body.op not in ("add", "sub"):
        return frozenset()
    left, right = body.args
    found = sides[0] if _bounded(right, known, low == (body.op == "add")) else frozenset()
    return found | (sides[1] if body.op == "add" and _bounded(left, known, low) else frozenset())


def _bounded(expr: f.Expr, known: Known, below: bool) -> bool:
    """Return whether a term cannot cancel an infinity, which holds for an integer, a finite literal and (with `below`)
    a value >= 0.
    """
    if isinstance(expr.type, Scalar) and expr.type.integral:
        return True
    finite = isinstance(expr, f.Const) and isinstance(expr.value, float) and math.isfinite(expr.value)
    return finite or (below and known.nonnegative(expr))


def _strict_or(body: f.Expr) -> frozenset[str]:
    """Return the bool fields of u, each of which alone makes an `or` true."""
    if isinstance(body, f.Op) and body.op == "or":
        return _strict_or(body.args[0]) | _strict_or(body.args[1])
    good = isinstance(body, f.Field) and body.of == "other" and body.time == "now"
    return frozenset({body.name}) if isinstance(body, f.Field) and good else frozenset()


def _strict_zero(body: f.Expr, domain: str) -> frozenset[str]:
    """Return the fields of u in which a body is linear with finite factors, such as literals and degrees."""
    divisors = [e.args[1] for e in f.walk(body) if isinstance(e, f.Op) and e.op in ("div", "floordiv", "mod")]
    if not all(_nonzero(divisor, domain) for divisor in divisors):
        return frozenset()
    fields = {e for e in f.walk(body) if isinstance(e, f.Field) and e.of == "other"}
    leaves = [e for e in f.walk(body) if not f.children(e)]
    plain = all(isinstance(e, (f.Field, f.Const, f.Degree)) for e in leaves) and len(fields) == 1
    (field,) = fields if len(fields) == 1 else (None,)
    if field is None or not plain or linearity(body, field) != "linear":
        return frozenset()
    return frozenset({f"change({field.name})" if field.time == "change" else field.name})


def _nonzero(expr: f.Expr, domain: str) -> bool:
    """Return whether a divisor is known not to be 0, as a literal, or as a degree of the neighbour, which counts the
    current edge.
    """
    if isinstance(expr, f.Op) and expr.op == "cast":
        return _nonzero(expr.args[0], domain)
    if isinstance(expr, f.Const):
        return bool(expr.value)
    counts = {"in": ("out", "all"), "out": ("in", "all"), "both": ("all",)}[domain]
    return isinstance(expr, f.Degree) and expr.of == "other" and expr.kind in counts
