"""Rule D: the delta form of a loop that recomputes one linear sum."""

from __future__ import annotations

from vlang.ir.forms import forms as f
from vlang.ir.forms.normal import linearity
from vlang.ir.forms.visible import expressions, statements
from vlang.ir.rules.context import Context, Verdict, by_groups

__all__ = ["derive"]


def derive(ctx: Context) -> Verdict:
    """Rule D: whether `x = c + L(acc)` may be run as `x += L(change)`, starting from x = c."""
    scope = ctx.scope
    if scope.inner is not None:
        return Verdict(False, ctx.inner_reason)
    if ctx.kind != "tolerance":
        return Verdict(False, f"a {ctx.kind} loop: the derived form stops on a tolerance")
    beyond = by_groups(ctx)
    if beyond is not None:
        return beyond
    for statement in statements(scope.loop.body):
        for expr in expressions(statement):
            varying = None if isinstance(statement, (f.Let, f.Activate)) else scope.varying(expr)
            if varying is not None:
                return Verdict(False, f"reads `{varying}`, which changes every superstep", "v")
    reason = _refusal(ctx)
    if reason is not None:
        return Verdict(False, reason)
    (write,) = ctx.writes
    name = scope.word(write.fields[0])
    return Verdict(True, f"`{name} = c + L(sum)` with L linear: start at c, gather the same sum of `change(u.{name})`, "
                         f"apply `{name} += L(sum)`; relies on the iteration converging from every start")


def _refusal(ctx: Context) -> str | None:
    """Return the reason why the only write of the loop does not have the form x = c + L(sum of terms that are linear in
    u.x); None if it has this form.
    """
    scope = ctx.scope
    if len(ctx.writes) != 1 or len(ctx.writes[0].fields) != 1:
        return "more than one write"
    (write,) = ctx.writes
    apply, (name,) = write.leaf.statement, write.fields
    word = scope.word(name)
    if write.leaf.wheres:
        return f"`{word}` is written under `where`, so not every vertex starts at the constant term"
    assert isinstance(apply, (f.Apply, f.InitField))
    if name in scope.own(apply.value):
        return f"`{word}` reads its own old value"
    sums = {e for e in f.walk(apply.value) if isinstance(e, f.Accumulator) and e.name in scope.gathers}
    if len(sums) != 1:
        return f"`{word}` is not computed from one sum"
    (accumulator,) = sums
    reduce = scope.gathers[accumulator.name].reduce
    if reduce.operator != "+" or reduce.default is not None:
        return f"`{word}` is not computed from a sum"
    if linearity(apply.value, accumulator) not in ("linear", "affine"):
        return f"`{word}` is not linear in `{scope.word(accumulator.name)}`"
    sources = {e for e in f.walk(reduce.body) if isinstance(e, f.Field) and e.name == name}
    if len(sources) != 1 or linearity(reduce.body, next(iter(sources))) != "linear":
        return f"the contributions are not linear in `u.{word}`"
    (source,) = sources
    if (source.of, source.time) != ("other", "now"):
        return f"the contributions read `{word}` of the receiver"
    if reduce.cond is not None and not scope.steady(reduce.cond):
        return "its condition changes in the loop"
    return None
