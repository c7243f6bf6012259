"""Normal forms of writes (*x joined with e*), the gathers joined into fields, and the delta form (language.md 10.1)."""

from __future__ import annotations

from dataclasses import replace
from functools import reduce as fold

from vlang.ir.forms import forms as f
from vlang.ir.forms.visible import Leaf, LoopScope
from vlang.records import dataclass
from vlang.reductions import MONOIDS
from vlang.types import F16, F32, F64, Type

__all__ = ["OPERATORS", "Operator", "Write", "linearity", "rounds", "widens", "writes_of"]


@dataclass(frozen=True)
class Operator:
    """The operator by which a write joins a value into a field.

    Attributes:
        name: The operator of the IR.
        monoid: The operator in vlang.reductions.MONOIDS; for a declared reduction, the name of the reduction.
        idempotent: Whether a second join of the same value changes nothing.
        direction: How the field moves: "up", "down" or None.
        text: The text for `vlang explain`.
    """

    name: str
    monoid: str
    idempotent: bool
    direction: str | None
    text: str


OPERATORS: dict[str, Operator] = {
    name: Operator(name, monoid, MONOIDS[monoid].idempotent, MONOIDS[monoid].direction, text)
    for name, monoid, text in (
        ("min", "min", "min(x, e)"), ("max", "max", "max(x, e)"), ("or", "or", "x or e"), ("and", "and", "x and e"),
        ("bitor", "|", "x | e"), ("bitand", "&", "x & e"), ("add", "+", "x + e"), ("mul", "*", "x * e"),
        ("bitxor", "^", "x ^ e"),
    )
}


@dataclass(frozen=True, eq=False)
class Write:
    """One write of a loop.

    Attributes:
        leaf: The statement.
        fields: The written fields.
        operator: The joining operator; None if the fields are recomputed.
        rest: The operand e, if the write has the form *x joined with e*; the whole value if the fields are recomputed.
        joined: The gather with contributions that may be joined into the field one by one, or None.
        delta: Whether the write is in delta form.
    """

    leaf: Leaf
    fields: tuple[str, ...]
    operator: Operator | None
    rest: f.Expr
    joined: f.Gather | None
    delta: bool

    @property
    def idempotent(self) -> bool:
        """Whether a second join of the same contribution changes nothing."""
        return self.operator is not None and self.operator.idempotent

    @property
    def direction(self) -> str | None:
        """The direction in which this write changes the fields."""
        return self.operator.direction if self.operator else None


def writes_of(scope: LoopScope) -> tuple[Write, ...]:
    """The writes of a loop in order, including local initializers, without the writes of inner loops."""
    found = []
    for leaf in scope.leaves:
        if isinstance(leaf.statement, f.Apply):
            found.append(_write(scope, leaf, leaf.statement))
        elif isinstance(leaf.statement, f.InitField):
            found.append(Write(leaf, (leaf.statement.name,), None, leaf.statement.value, None, False))
    return tuple(found)


def _write(scope: LoopScope, leaf: Leaf, apply: f.Apply) -> Write:
    form = _tuple_form(apply) if len(apply.fields) > 1 else _scalar_form(scope.program, apply)
    if form is None:
        return Write(leaf, apply.fields, None, apply.value, None, False)
    operator, rest = form
    return Write(leaf, apply.fields, operator, rest, _joined(scope, operator, rest), _delta(scope, leaf, apply, form))


def _tuple_form(apply: f.Apply) -> tuple[Operator, f.Expr] | None:
    """The normal form of `(x, y) = min((x, y), e)`. The old tuple must come first, because `min` returns the first of
    two equal tuples.
    """
    value = apply.value
    if not (isinstance(value, f.Op) and value.op in ("min", "max")):
        return None
    first, *others = _chain(value, value.op)
    if not (isinstance(first, f.Op) and first.op == "tuple" and all(map(_is_now, first.args, apply.fields))):
        return None
    return OPERATORS[value.op], _refold(value.op, value.type, others)


def _scalar_form(program: f.Program, apply: f.Apply) -> tuple[Operator, f.Expr] | None:
    value, (name,) = apply.value, apply.fields
    if not isinstance(value, f.Op):
        return None
    if value.op == "user":
        left, right = value.args
        if _is_now(left, name) != _is_now(right, name):
            return _user(program, str(value.data)), right if _is_now(left, name) else left
        return None
    if value.op in ("add", "sub"):
        return _sum_form(value, name)
    if rounds(value):
        return _rounded_form(value, name)
    if value.op not in OPERATORS:
        return None
    operands = _chain(value, value.op)
    others = [operand for operand in operands if not _is_now(operand, name)]
    if len(others) != len(operands) - 1:
        return None
    return OPERATORS[value.op], _refold(value.op, value.type, others)


def rounds(expr: f.Expr) -> bool:
    """Return whether an expression rounds a float to f16. No other conversion in a normal form may lose information."""
    return isinstance(expr, f.Op) and expr.op == "cast" and expr.type == F16 and _wider(expr.args[0])


def widens(expr: f.Expr) -> bool:
    """Return whether an expression converts an f16 to a wider float, which does not change the value."""
    return isinstance(expr, f.Op) and expr.op == "cast" and expr.args[0].type == F16 and _wider(expr)


def _wider(expr: f.Expr) -> bool:
    return expr.type in (F32, F64)


def _rounded_form(value: f.Op, name: str) -> tuple[Operator, f.Expr] | None:
    """Return the normal form of `x = f16(min(f32(x), e))`, which is `min(x, f16(e))`, because rounding is monotone and
    x is an f16.
    """
    (inner,) = value.args
    if not (isinstance(inner, f.Op) and inner.op in ("min", "max")):
        return None
    operands = _chain(inner, inner.op)
    others = [e for e in operands if not (isinstance(e, f.Op) and widens(e) and _is_now(e.args[0], name))]
    if len(others) != len(operands) - 1:
        return None
    return OPERATORS[inner.op], f.Op(value.type, "cast", (_refold(inner.op, inner.type, others),))


def _sum_form(value: f.Op, name: str) -> tuple[Operator, f.Expr] | None:
    """The normal form of `x + e` and `x - e`: a sum of terms in which x occurs once, with a positive sign."""
    terms = _terms(value, True)
    mine = [positive for term, positive in terms if _is_now(term, name)]
    if mine != [True]:
        return None
    others = [(term, positive) for term, positive in terms if not _is_now(term, name)]
    rest, positive = others[0]
    rest = rest if positive else f.Op(value.type, "neg", (rest,))
    for term, plus in others[1:]:
        rest = f.Op(value.type, "add" if plus else "sub", (rest, term))
    return OPERATORS["add"], rest


def _terms(expr: f.Expr, positive: bool) -> list[tuple[f.Expr, bool]]:
    if isinstance(expr, f.Op) and expr.op in ("add", "sub"):
        left, right = expr.args
        return _terms(left, positive) + _terms(right, positive == (expr.op == "add"))
    return [(expr, positive)]


def _chain(expr: f.Expr, op: str) -> list[f.Expr]:
    """Return the operands of an operator that is applied several times (`a op b op c`), from left to right."""
    if isinstance(expr, f.Op) and expr.op == op:
        return [operand for arg in expr.args for operand in _chain(arg, op)]
    return [expr]


def _refold(op: str, type_: Type, operands: list[f.Expr]) -> f.Expr:
    return fold(lambda a, b: f.Op(type_, op, (a, b)), operands)


def _is_now(expr: f.Expr, name: str) -> bool:
    """Return whether an expression is the present value of the field `name` at the vertex itself."""
    return isinstance(expr, f.Field) and (expr.name, expr.of, expr.time) == (name, "self", "now")


def _user(program: f.Program, name: str) -> Operator:
    """Return a user reduction as an operator; it is idempotent only if its body is an idempotent built-in operator."""
    rule = next(r for r in program.reductions if r.name == name)
    sides = {rule.left, rule.right}
    body = rule.body
    text = f"{program.names[name]}(x, e)"
    if isinstance(body, f.Op) and body.op in OPERATORS and OPERATORS[body.op].idempotent:
        names = {arg.name for arg in body.args if isinstance(arg, f.Accumulator)}
        if names == sides:
            return replace(OPERATORS[body.op], name="user", monoid=name, text=text)
    return Operator("user", name, False, None, text)


def _joined(scope: LoopScope, operator: Operator, rest: f.Expr) -> f.Gather | None:
    """Return the gather with the result e, or with the result e before rounding.

    The result is None if the gather reduces by another operator or has a `default`.
    """
    if isinstance(rest, f.Op) and rounds(rest):
        (rest,) = rest.args
    if not isinstance(rest, f.Accumulator):
        return None
    gather = scope.gathers.get(rest.name)
    if gather is None or gather.reduce.default is not None or gather.reduce.key is not None:
        return None
    user = gather.reduce.user
    combined = gather.reduce.name if user else gather.reduce.operator
    return gather if user == (operator.name == "user") and combined == operator.monoid else None


# ------------------------------------------------------------------ delta form


def linearity(expr: f.Expr, target: f.Expr) -> str | None:
    """How an expression depends on `target`: "constant", "linear", "affine" (linear plus a constant), or None."""
    if expr == target:
        return "linear"
    if target not in f.walk(expr):
        return "constant"
    if not isinstance(expr, f.Op):
        return None
    kinds = [linearity(arg, target) for arg in expr.args]
    if None in kinds:
        return None
    return _linear_op(expr.op, [kind for kind in kinds if kind is not None])


def _linear_op(op: str, kinds: list[str]) -> str | None:
    if op in ("neg", "cast", "broadcast", "reverse", "vsum"):
        return kinds[0]
    if op in ("add", "sub"):
        return "linear" if kinds == ["linear", "linear"] else "affine"
    if op in ("mul", "dot") and "constant" in kinds:
        return kinds[1] if kinds[0] == "constant" else kinds[0]
    if op in ("div", "component") and kinds[1] == "constant":
        return kinds[0]
    if op == "select" and kinds[0] == "constant":
        return "linear" if kinds[1:] == ["linear", "linear"] else "affine"
    return None


def _delta(scope: LoopScope, leaf: Leaf, apply: f.Apply, form: tuple[Operator, f.Expr]) -> bool:
    """Return whether a write is `x += e`, where e is linear in one gathered sum and this sum is linear in
    `change(u.x)`.

    Everything else in e and in the sum must be constant in the loop.
    """
    operator, rest = form
    if operator.name != "add":
        return False
    sums = {e for e in f.walk(rest) if isinstance(e, f.Accumulator)}
    if len(sums) != 1:
        return False
    (accumulator,) = sums
    gather = scope.gathers.get(accumulator.name)
    if gather is None or gather.reduce.operator != "+" or gather.reduce.default is not None:
        return False
    if linearity(rest, accumulator) != "linear" or not all(scope.steady(where.cond) for where in leaf.wheres):
        return False
    (name,) = apply.fields
    changes = {e for e in f.walk(gather.reduce.body)
               if isinstance(e, f.Field) and (e.name, e.of, e.time) == (name, "other", "change")}
    if len(changes) != 1:
        return False
    (change,) = changes
    cond = gather.reduce.cond
    others = [*_without(rest, accumulator), *_without(gather.reduce.body, change), *([] if cond is None else [cond])]
    return linearity(gather.reduce.body, change) == "linear" and all(map(scope.steady, others))


def _without(expr: f.Expr, target: f.Expr) -> list[f.Expr]:
    """The leaves of an expression other than `target`."""
    if expr == target:
        return []
    kids = f.children(expr)
    return [leaf for kid in kids for leaf in _without(kid, target)] if kids else [expr]
