"""The rewriting of rule D: loops that recompute one linear sum become loops that send changes (language.md 10.3).

Take `x = c + L(acc)`, where `acc` is a sum of terms that are linear in `u.x`. The rewritten loop starts at x = c,
gathers the same sum of `change(u.x)`, applies `x += L(acc)`, and activates a vertex where `abs(change(x))` is more than
eps. When no vertex is active, each vertex has at most eps of unsent change. Therefore eps follows from the bound in
`until`: `max(abs(change(v.x))) < B` gives eps = B, and `sum(abs(change(v.x))) < B` gives eps = B / N.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from vlang.ir.facts import Facts
from vlang.ir.forms import forms as f
from vlang.ir.forms.visible import LoopScope, expressions, statements
from vlang.types import BOOL, I64, Scalar

__all__ = ["derivable", "derived"]


def derived(program: f.Program, facts: Facts) -> tuple[f.Program, frozenset[str], tuple[str, ...]]:
    """Rewrite every loop of a program for which rule D is granted.

    Returns: The program; the fields that rewritten loops write; for each other loop, a text with its line and the
        reason.
    """
    body = list(program.body)
    refused: list[str] = []
    done: set[str] = set()
    for loop in facts.loops:
        why = derivable(program, facts, loop)
        if why:
            refused.append(f"line {loop.span.line}: {why}")
            continue
        start, rewritten = _rewritten(program, facts, loop)
        at = body.index(loop)
        body = [s for s in body[:at] if not (isinstance(s, f.InitField) and s.name == start.name)] + \
            [start, rewritten, *body[at + 1 :]]
        done.add(start.name)
    return replace(program, body=tuple(body)), frozenset(done), tuple(refused)


def derivable(program: f.Program, facts: Facts, loop: f.Repeat) -> str:
    """Return the reason why a loop may not be rewritten; "" if it may be rewritten."""
    fact = facts.loop(loop)
    if not fact.derive.granted:
        return fact.derive.reason
    (write,) = fact.writes
    (name,) = write.fields
    word = program.names.get(name, name)
    if loop not in program.body:
        return "the loop is inside a block"
    decl = next(d for d in program.fields if d.name == name)
    if not (isinstance(decl.type, Scalar) and decl.type.floating):
        return f"`{word}` is not a plain float, so one bound cannot limit its change"
    if loop.limit is not None:
        return "it ends after a given number of supersteps, which the derived form counts differently"
    if decl.required:
        return f"`{word}` is given by the caller, and the derived form starts at the constant term"
    scope = LoopScope(program, loop)
    bound = _bound(loop, name)
    if bound is None or not scope.steady(bound):
        return f"it ends neither on `sum` or `max` of `abs(change(v.{word}))` below a bound, nor on an `activate " \
               f"when` with `abs(change({word}))` above one"
    reduce = next(g.reduce for g in scope.gathers.values() if g.name in {
        e.name for e in f.walk(write.rest) if isinstance(e, f.Accumulator)})
    if any(isinstance(e, f.Accumulator) and e.name in scope.gathers for e in f.walk(reduce)):
        return "its contributions read another gather of the loop"
    at = program.body.index(loop)
    for statement in program.body[:at]:
        for inner in statements((statement,)):
            if isinstance(inner, f.Apply) and name in inner.fields:
                return f"`{word}` is written before the loop, in line {inner.span.line}"
            if any(isinstance(e, f.Field) and e.name == name for expr in expressions(inner) for e in f.walk(expr)):
                return f"line {inner.span.line} reads the initial value of `{word}`, which the derived form changes"
    return ""


def _rewritten(program: f.Program, facts: Facts, loop: f.Repeat) -> tuple[f.InitField, f.Repeat]:
    """The initializer that sets the field to the constant term, and the loop that sends changes."""
    (write,) = facts.loop(loop).writes
    apply, (name,) = write.leaf.statement, write.fields
    assert isinstance(apply, f.Apply)
    scope = LoopScope(program, loop)
    accumulator = next(e for e in f.walk(apply.value) if isinstance(e, f.Accumulator) and e.name in scope.gathers)
    gather, type_ = scope.gathers[accumulator.name], apply.value.type
    constant = _constant(apply.value, accumulator) or f.Const(type_, 0.0)
    linear = _linear(apply.value, accumulator)
    own = f.Field(type_, name, "self")
    bound = _bound(loop, name)
    assert bound is not None
    body = (
        f.Gather(gather.span, gather.name, replace(gather.reduce, body=_changed(gather.reduce.body, name))),
        f.Apply(apply.span, (name,), f.Op(type_, "add", (own, linear))),
        f.Activate(loop.span, f.Op(BOOL, "gt", (f.Op(type_, "abs", (replace(own, time="change"),)), bound))),
    )
    return f.InitField(apply.span, name, constant), f.Repeat(loop.span, None, False, None, body)


def _constant(expr: f.Expr, target: f.Expr) -> f.Expr | None:
    """Return the value of an expression at `target` = 0; None if this value is 0. The expression is linear or affine in
    `target`.
    """
    if expr == target:
        return None
    if target not in f.walk(expr):
        return expr
    assert isinstance(expr, f.Op)
    parts = [_constant(arg, target) for arg in expr.args]
    if expr.op in ("add", "sub"):
        left, right = parts
        if right is None or left is None:
            return left if right is None else right if expr.op == "add" else f.Op(expr.type, "neg", (right,))
        return replace(expr, args=(left, right))
    if expr.op == "select":
        return replace(expr, args=tuple(p if p is not None else f.Const(expr.type, 0.0) for p in parts))
    whole = [part for part in parts if part is not None]
    return replace(expr, args=tuple(whole)) if len(whole) == len(parts) else None


def _linear(expr: f.Expr, target: f.Expr) -> f.Expr:
    """The linear part of an expression that is linear or affine in `target`."""
    if expr == target:
        return expr
    assert isinstance(expr, f.Op)
    inside = [target in f.walk(arg) for arg in expr.args]
    if expr.op in ("add", "sub") and not all(inside):
        part = _linear(expr.args[inside.index(True)], target)
        return f.Op(expr.type, "neg", (part,)) if expr.op == "sub" and inside[1] else part
    args = [_linear(arg, target) if has else arg for arg, has in zip(expr.args, inside)]
    if expr.op == "select":
        args = [arg if has or not number else f.Const(expr.type, 0.0)
                for number, (arg, has) in enumerate(zip(args, inside))]
    return replace(expr, args=tuple(args))


def _changed(body: f.Expr, name: str) -> f.Expr:
    """`body` with every `u.x` replaced by `change(u.x)`."""
    if isinstance(body, f.Field) and (body.name, body.of) == (name, "other"):
        return replace(body, time="change")
    return f.rebuild(body, tuple(_changed(child, name) for child in f.children(body)))


def _bound(loop: f.Repeat, name: str) -> f.Expr | None:
    """Return the largest change that a vertex need not send, in the type of the field. The condition that ends the loop
    determines this change.
    """
    cond = loop.until if loop.until is not None else loop.activate.cond if loop.activate is not None else None
    for found in _sizes(cond, name, vertices=loop.until is not None):
        return found
    return None


def _sizes(cond: f.Expr | None, name: str, vertices: bool) -> Iterator[f.Expr]:
    if not (isinstance(cond, f.Op) and cond.op in ("lt", "le", "gt", "ge")):
        return
    small = cond.op in ("lt", "le")
    size, bound = cond.args if small == vertices else cond.args[::-1]
    while isinstance(size, f.Op) and size.op == "cast":
        size = size.args[0]
    folded = isinstance(size, f.Reduce) and size.domain.kind == "vertices" and size.cond is None
    if vertices != folded:
        return
    each = size.body if isinstance(size, f.Reduce) else size
    while isinstance(each, f.Op) and each.op == "cast":
        each = each.args[0]
    if not (isinstance(each, f.Op) and each.op == "abs" and isinstance(each.args[0], f.Field)):
        return
    change = each.args[0]
    if (change.name, change.time) != (name, "change"):
        return
    if any(isinstance(e, (f.Field, f.Accumulator, f.Reduce, f.Degree)) for e in f.walk(bound)):
        return
    yield from _each(size, bound, change)


def _each(size: f.Expr, bound: f.Expr, change: f.Field) -> Iterator[f.Expr]:
    """Return the bound on the change of one vertex, if `size` is `change` or a sum or maximum of `change`."""
    bound = bound if bound.type == change.type else f.Op(change.type, "cast", (bound,))
    if not isinstance(size, f.Reduce) or size.name == "max":
        yield bound
    elif size.name == "sum":
        number = f.Op(change.type, "cast", (f.GraphValue(I64, "N", "builtin"),))
        if isinstance(bound, f.Op) and bound.op == "mul" and number in bound.args:
            yield bound.args[1 - bound.args.index(number)]
        else:
            yield f.Op(change.type, "div", (bound, number))
