"""Rule S (single assignment): each vertex is written once, after all neighbours that come before it in a strict order.
"""

from __future__ import annotations

from vlang.ir.forms import forms as f
from vlang.ir.forms.normal import Write
from vlang.ir.rules.context import Context, Verdict, by_groups

__all__ = ["single_assignment", "strict_order"]


def single_assignment(ctx: Context) -> Verdict:
    """Rule S: each vertex is written once, when all neighbours before it in a strict order have final values."""
    refusal = Verdict(False, "no `where x == E and ready` with one strict order of the neighbours")
    if ctx.scope.inner is not None or ctx.kind != "fixpoint" or len(ctx.writes) != 1:
        return refusal
    (write,) = ctx.writes
    beyond = by_groups(ctx)
    if beyond is not None:
        return beyond
    if len(write.fields) != 1 or write.operator is not None:
        return refusal
    name = write.fields[0]
    conjuncts = [part for where in write.leaf.wheres for part in _conjuncts(where.cond)]
    gathers = ctx.scope.gathers
    ready = [gathers[c.name] for c in conjuncts if isinstance(c, f.Accumulator) and c.name in gathers]
    blank = [c for c in conjuncts if _is_blank(c, name)]
    if len(conjuncts) != 2 or len(ready) != 1 or len(blank) != 1:
        return refusal
    start = _start_value(ctx, name)
    gate, test = ready[0].reduce, blank[0]
    if start is None or not _holds(test, start) or gate.name != "all" or gate.body != _negated_of_other(test):
        return refusal
    if gate.cond is None or not ctx.scope.steady(gate.cond) or not strict_order(gate.cond):
        return refusal
    if not _assigned(ctx, write, test, start):
        return refusal
    return Verdict(True, f"`{ctx.scope.word(name)}` is written once, when every neighbour before it in a strict order "
                         "is final; induction over that order gives one result")


def _conjuncts(cond: f.Expr) -> list[f.Expr]:
    if isinstance(cond, f.Op) and cond.op == "and":
        return [part for arg in cond.args for part in _conjuncts(arg)]
    return [cond]


_NEGATED = {"eq": "ne", "ne": "eq", "lt": "ge", "ge": "lt", "le": "gt", "gt": "le"}


def _is_blank(cond: f.Expr, name: str) -> bool:
    """Return whether a condition (`x == E`, or a comparison with a literal) tests that x still has its initial value E.
    """
    if not (isinstance(cond, f.Op) and cond.op in ("eq", "lt", "le", "gt", "ge")):
        return False
    left, right = cond.args
    mine = isinstance(left, f.Field) and (left.name, left.of, left.time) == (name, "self", "now")
    return mine and isinstance(right, f.Const)


def _negated_of_other(test: f.Expr) -> f.Expr:
    """The negation of a test of `_is_blank`, for the neighbour."""
    assert isinstance(test, f.Op)
    field, bound = test.args
    assert isinstance(field, f.Field)
    return f.Op(test.type, _NEGATED[test.op], (f.Field(field.type, field.name, "other", field.time), bound))


def _start_value(ctx: Context, name: str) -> f.Const | None:
    starts = [s.value for s in ctx.scope.program.body if isinstance(s, f.InitField) and s.name == name]
    return starts[0] if len(starts) == 1 and isinstance(starts[0], f.Const) else None


def _holds(test: f.Expr, value: f.Const) -> bool:
    """Return whether the test `x op literal` is true for a value of x."""
    assert isinstance(test, f.Op)
    bound = test.args[1]
    assert isinstance(bound, f.Const)
    a, b = value.value, bound.value
    if a is None or b is None:
        return test.op == "eq" and a is b
    return {"eq": a == b, "lt": a < b, "le": a <= b, "gt": a > b, "ge": a >= b}[test.op]


def strict_order(cond: f.Expr) -> bool:
    """Return whether a condition orders the ends of an edge strictly, as `(u.p, ..., u) < (p, ..., self)` does."""
    if not (isinstance(cond, f.Op) and cond.op in ("lt", "gt")):
        return False
    left, right = cond.args
    if not (isinstance(left, f.Op) and isinstance(right, f.Op) and left.op == right.op == "tuple"):
        return isinstance(left, f.Vertex) and isinstance(right, f.Vertex) and left.of != right.of
    ends = {"other": left, "self": right} if _side(left) == "other" else {"other": right, "self": left}
    pairs = list(zip(ends["other"].args, ends["self"].args))
    last = pairs[-1]
    if not (isinstance(last[0], f.Vertex) and isinstance(last[1], f.Vertex) and last[0].of != last[1].of):
        return False
    return all(isinstance(a, f.Field) and isinstance(b, f.Field) and (a.name, a.of, b.of) == (b.name, "other", "self")
               for a, b in pairs[:-1])


def _side(tuple_: f.Op) -> str:
    last = tuple_.args[-1]
    return last.of if isinstance(last, f.Vertex) else ""


def _assigned(ctx: Context, write: Write, test: f.Expr, start: f.Const) -> bool:
    """Return whether the written value depends only on final neighbours and fails `test`, so that a vertex is written
    only once.
    """
    rest = write.rest
    gather = ctx.scope.gathers.get(rest.name) if isinstance(rest, f.Accumulator) else None
    if gather is None or ctx.scope.own(gather.reduce):
        return False
    reduce = gather.reduce
    negative = isinstance(start.value, int) and start.value < 0
    if reduce.name == "mex" and negative and not _holds(test, f.Const(start.type, 0)):
        return isinstance(reduce.body, f.Field)  # mex ignores negative values, and its result is >= 0
    return False


