"""Rule N (notify-pull): which vertices a phase may skip."""

from __future__ import annotations

from vlang.ir.forms import forms as f
from vlang.ir.forms.phases import Phase
from vlang.ir.forms.visible import expressions, statements
from vlang.ir.rules.context import Context, Verdict, beyond_edges, joins_only, outside
from vlang.ir.rules.rest import stays
from vlang.records import dataclass
from vlang.types import OPPOSITE

__all__ = ["PhaseSkip", "phase_skips", "skip"]



@dataclass(frozen=True)
class PhaseSkip:
    """Rule N for one phase.

    Attributes:
        verdict: Whether vertices may be skipped.
        notifying: The fields that make a vertex notify its neighbours if they change at this vertex.
        own: The fields that make a vertex run again if they change at this vertex ("+self"). All changes since the last
            start of the phase count, including changes by other phases and changes that were undone later.
        along: The adjacency directions (opposite to the domains of the phase) in which a vertex notifies its
            neighbours.
    """

    verdict: Verdict
    notifying: frozenset[str]
    own: frozenset[str]
    along: tuple[str, ...]


def skip(ctx: Context, each: tuple[PhaseSkip, ...]) -> Verdict:
    """Rule N for the whole loop: granted if it is granted for every phase."""
    if ctx.scope.inner is not None:
        return Verdict(False, ctx.inner_reason, "i")
    refused = next((one.verdict for one in each if not one.verdict.granted), None)
    if refused is not None:
        return refused
    notifying = frozenset(name for one in each for name in one.notifying)
    own = frozenset(name for one in each for name in one.own)
    marks = (("+self",) if own else ()) + (("tol",) if _within_tolerance(ctx) else ())
    if ctx.kind == "delta":
        reason = "a vertex without an active neighbour receives nothing"
    else:
        reason = f"a vertex may be left out where {ctx.named(notifying)} of no neighbour changed" if notifying else (
            "no phase reads from neighbours a field that the loop writes")
    if own:
        reason += f"; it reads its own {ctx.named(own)}, so it runs again where that changed"
    if _within_tolerance(ctx):
        reason += "; exact only within the tolerance of `activate when`"
    return Verdict(True, reason, marks=marks)


def _within_tolerance(ctx: Context) -> bool:
    return ctx.kind == "tolerance" and not ctx.default


def phase_skips(ctx: Context) -> tuple[PhaseSkip, ...]:
    """Rule N for each phase."""
    return tuple(_phase(ctx, phase) for phase in ctx.phases)


def _phase(ctx: Context, phase: Phase) -> PhaseSkip:
    along = tuple(dict.fromkeys(OPPOSITE[domain] for domain in phase.domains if domain in OPPOSITE))
    return PhaseSkip(_verdict(ctx, phase), phase.neighbour, _own_inputs(ctx, phase), along)


def _verdict(ctx: Context, phase: Phase) -> Verdict:
    scope = ctx.scope
    if scope.inner is not None:
        return Verdict(False, ctx.inner_reason, "i")
    beyond = beyond_edges(ctx)
    if beyond is not None:
        return beyond
    exprs = [e for s in statements(phase.statements) if not isinstance(s, f.Let) for e in expressions(s)]
    activate = scope.loop.activate
    for expr in exprs:
        varying = scope.varying(expr, sent=ctx.kind == "delta", own_old=True)
        if varying is not None:
            return Verdict(False, f"reads `{varying}`, which changes every superstep", "v")
    if activate is not None and _at_end(ctx, activate.cond):
        return Verdict(False, "`activate when` reads a value that changes every superstep", "v")
    if activate is not None and not stays(activate.cond):
        return Verdict(False, "`activate when` may begin to hold for a vertex because nothing changed", "v")
    for expr in exprs:
        distant = scope.distant(expr)
        if distant is not None:
            word = scope.word(distant.name)
            return Verdict(False, f"reads `{word}` of a vertex that is not a neighbour and would not notify it", "f")
    borrowed = (phase.used & frozenset(scope.gathers)) - phase.gathered
    if activate is not None:
        borrowed |= {e.name for e in f.walk(activate.cond) if isinstance(e, f.Accumulator) and e.name in scope.gathers}
    if borrowed:
        return Verdict(False, f"{ctx.named(borrowed)} is used outside the phase of its gather", "p")
    if phase.late is not None:
        return Verdict(False, "a `where` gathers a field that it writes itself: more than one pass", "p")
    if scope.local:
        return Verdict(False, f"{ctx.named(scope.local)} is initialised anew in every superstep", "l")
    return Verdict(True, "its result depends on its inputs only")


def _at_end(ctx: Context, cond: f.Expr) -> bool:
    """Return whether `activate when` can be true for a vertex where nothing changed, because it reads `iteration` or a
    `let`.
    """
    graph = {e.name for e in f.walk(cond) if isinstance(e, f.GraphValue)}
    return bool(graph & ({"iteration"} | ctx.scope.lets))


def _own_inputs(ctx: Context, phase: Phase) -> frozenset[str]:
    """Return the own fields that a phase reads, except on the left side of an idempotent normal form.

    A field that another phase also writes counts as read, because this phase must overwrite the values of the other
    phase. The field does not count if every write of the field uses the same operator.
    """
    inside = set(statements(phase.statements))
    found = set(outside(ctx.scope, ctx.writes, (w for w in ctx.writes if w.leaf.statement in inside)))
    for statement in inside:
        if isinstance(statement, (f.Gather, f.Where)):
            for expr in expressions(statement):
                found |= ctx.scope.own(expr)
    for write in ctx.writes:
        elsewhere = any(set(write.fields) & other.writes for other in ctx.phases if other is not phase)
        if write.leaf.statement in inside and elsewhere and not joins_only(ctx.writes, write):
            found |= set(write.fields)
    return frozenset(found)
