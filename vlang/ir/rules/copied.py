"""Rule K (values copied over a symmetric relation); docs/internals/rule-k.md states and proves the rule."""

from __future__ import annotations

from vlang.ir.forms import forms as f
from vlang.ir.forms.normal import Write
from vlang.ir.forms.visible import above, statements
from vlang.ir.rules.context import Context, Verdict
from vlang.types import F16, Scalar

__all__ = ["copied"]


def copied(ctx: Context) -> Verdict:
    """Rule K: in each connected component, the loop ends with the join of the component's initial values.

    The mark "undirected" says that the rule holds only in undirected graphs.
    """
    refused = _unlike(ctx) or _not_alone(ctx)
    if refused is not None:
        return refused
    (write,) = ctx.writes
    return _joins(ctx, write)


def _unlike(ctx: Context) -> Verdict | None:
    """Return the reason why the loop is not a fixpoint loop over all vertices; None if the loop has this form."""
    if ctx.scope.inner is not None:
        return Verdict(False, ctx.inner_reason, "i")
    if ctx.kind == "counted":
        return Verdict(False, "counted: values travel only so far", "c")
    if ctx.kind == "tolerance":
        return Verdict(False, f"stops on a tolerance ({ctx.kind_reason}), perhaps before every value has arrived", "t")
    if ctx.kind == "delta":
        return Verdict(False, "sums of changes: adding a value again would count it twice", "s")
    if any(isinstance(block, f.Where) for block in above(ctx.scope.program, ctx.scope.loop)):
        return Verdict(False, "a `where` around the loop leaves out vertices, and paths through them")
    return None


def _not_alone(ctx: Context) -> Verdict | None:
    """Return the reason why the loop does not consist of one gather and one write for every vertex; None if the loop
    has this form.
    """
    if len(ctx.writes) > 1:
        return Verdict(False, "more than one write: not just one value is propagated", "w")
    if any(isinstance(statement, f.Where) for statement in statements(ctx.scope.loop.body)):
        return Verdict(False, "a `where` leaves out vertices, and paths through them")
    if len(ctx.writes) != 1 or len(ctx.scope.gathers) != 1 or ctx.scope.lets:
        return Verdict(False, "more than one gather and one write")
    return None


def _joins(ctx: Context, write: Write) -> Verdict:
    """Return whether the loop's only write joins `u.x` itself into x."""
    word = ctx.scope.word(write.fields[0])
    if write.operator is None:
        return Verdict(False, f"`{word}` is recomputed, not joined with its old value", "r")
    if not write.idempotent:
        return Verdict(False, f"`{word}`: {write.operator.text} is not idempotent", "s")
    if write.joined is None:
        return Verdict(False, f"`{word}` is joined with more than a plain gather", "g")
    if write.operator.name == "user":
        return Verdict(False, "a declared reduction, which the algorithm for components does not support")
    reduce = write.joined.reduce
    body = reduce.body
    if not isinstance(body, f.Field) or (body.name, body.of, body.time) != (write.fields[0], "other", "now"):
        return Verdict(False, f"a contribution is not `u.{word}` as it is")
    if reduce.cond is not None:
        return Verdict(False, "an `if` of the gather leaves out edges")
    if not isinstance(body.type, Scalar) or body.type == F16:
        return Verdict(False, f"`{word}` is not one machine word of a type that can be joined")
    both = reduce.domain.kind == "both"
    where = "every edge is followed both ways" if both else "in an undirected graph every edge is followed both ways"
    return Verdict(True, f"`{word}` only copies values of neighbours, and {where}: the loop ends with the "
                         f"{reduce.name} of the initial values over each connected component, so that the components "
                         "are found directly", marks=() if both else ("undirected",))
