"""Rules R (replicate a reduction), F (fuse statements), B (one buffer), and messages (language.md section 14.1)."""

from __future__ import annotations

from collections.abc import Iterator

from vlang.ir.forms import forms as f
from vlang.ir.forms.phases import Phase
from vlang.ir.rules.context import Context, Verdict, listed
from vlang.maths import REAL
from vlang.reductions import REDUCTIONS
from vlang.types import Scalar, Tuple, Vector

__all__ = ["buffers", "fuse", "messages", "only_neighbour", "replicate"]

_CALLS = REAL | {"random", "mix", "waiting", "pow", "position", "hll_unit", "hll_size", "dot", "common", "user"}
_DIVIDES = frozenset({"div", "floordiv", "mod"})


def replicate(reduce: f.Reduce) -> Verdict:
    """Rule R: whether partial results of a reduction may be combined in any grouping and order."""
    if reduce.user:
        return Verdict(True, "a declared reduction, tested to be a commutative monoid: partial results may be combined "
                             "in any order, each starting at the identity")
    if reduce.group is not None:
        return Verdict(False, f"`{reduce.name}` of groups needs all edges of a vertex at once: only a pull where one "
                              "worker reads them all, groups in increasing order of their keys")
    if reduce.key is not None:
        return Verdict(True, f"`{reduce.name}` over the vertices that point here, in increasing order of their numbers")
    rule = REDUCTIONS[reduce.name]
    if rule.holistic:
        return Verdict(False, f"`{reduce.name}` needs all contributions of a vertex at once: only a pull where one "
                              "worker reads them all")
    item = reduce.body.type.item if isinstance(reduce.body.type, Vector) else reduce.body.type
    if not rule.exact and isinstance(item, Scalar) and item.floating:
        return Verdict(True, f"`{reduce.name}` of floats: any order gives the same value up to rounding; a fixed order "
                             "where the schedule is deterministic", marks=("rounding",))
    return Verdict(True, f"`{reduce.name}` gives the same bits in any order")


# ---------------------------------------------------------------------- messages


def messages(reduce: f.Reduce) -> tuple[f.Expr, ...]:
    """Return the largest subexpressions that depend only on the neighbour and on graph values, and that are worth
    storing in an array.

    A subexpression is worth storing if it reads two fields, divides or calls a function. A stored subexpression is
    computed once per vertex and superstep instead of once per edge. The result lists each subexpression once, outermost
    first. The result is empty for reductions over vertices.
    """
    if not reduce.domain.stored:  # a vertex that points elsewhere contributes once: nothing is computed twice
        return ()
    places = [e for e in (reduce.body, reduce.cond, reduce.key) if e is not None]
    return tuple(dict.fromkeys(expr for place in places for expr in _hoistable(place)))


def _hoistable(expr: f.Expr) -> Iterator[f.Expr]:
    if only_neighbour(expr) and not isinstance(expr.type, Tuple):
        if _worth(expr):
            yield expr
        return
    for child in f.children(expr):
        yield from _hoistable(child)


def only_neighbour(expr: f.Expr) -> bool:
    """Return whether an expression depends only on the neighbour and on graph values."""
    if isinstance(expr, (f.Field, f.Degree, f.Vertex)):
        return expr.of == "other"
    if isinstance(expr, (f.EdgeValue, f.EdgeState, f.Keep, f.Accumulator, f.Reduce)):
        return False
    return all(map(only_neighbour, f.children(expr)))


def _worth(expr: f.Expr) -> bool:
    parts = list(f.walk(expr))
    reads = {e for e in parts if isinstance(e, (f.Field, f.Degree))}
    if not reads and not any(isinstance(e, f.Vertex) for e in parts):
        return False  # a graph-level value is computed only once in any case
    costly = any(isinstance(e, f.Op) and e.op in _CALLS | _DIVIDES for e in parts)
    return costly or len(reads) > 1


# -------------------------------------------------------------- fusion and buffers


def fuse(ctx: Context, phase: Phase, order: Verdict) -> Verdict:
    """Rule F: whether a gather, its apply and the statements after them may run in one pass."""
    if phase.late is not None:
        return Verdict(False, "a `where` gathers a field that it writes itself: it takes several passes")
    lets = sum(isinstance(s, f.Let) for s in phase.statements)
    tail = "; a `let` over vertices ends the pass, and what follows it is another" if lets else ""
    both = (phase.neighbour | phase.distant) & phase.writes
    if not both:
        return Verdict(True, "no statement of the phase reads from a neighbour a field that another one writes" + tail)
    if _apart(order) and ctx.kind == "fixpoint":
        return Verdict(True, "rule A holds: a neighbour's value may be old or new" + tail)
    return Verdict(True, f"if {ctx.named(both)} is written to a second buffer" + tail, marks=tuple(sorted(both)))


def _apart(order: Verdict) -> bool:
    """Return whether rule A is granted without the mark "together", so that fields written together may be read
    separately.
    """
    return order.granted and "together" not in order.marks


def buffers(ctx: Context, order: Verdict) -> dict[str, Verdict]:
    """Rule B: for each field that the loop writes, whether one buffer is enough."""
    found = {name: Verdict(False, "an edge state: all reads see the values from before the statement")
             for name in sorted({g.keeps for g in ctx.scope.gathers.values() if g.keeps})}
    for name in sorted(ctx.scope.written):
        word = ctx.scope.word(name)
        read = [phase for phase in ctx.phases if name in phase.writes and name in phase.neighbour]
        distant = any(name in phase.writes and name in phase.distant for phase in ctx.phases)
        if _apart(order) and ctx.kind == "fixpoint":
            found[name] = Verdict(True, "rule A: a neighbour's value may be old or new")
        elif distant:
            found[name] = Verdict(False, f"the phase that writes it reads `{word}` of vertices that may be anywhere")
        elif not read:
            found[name] = Verdict(True, f"no gather of the phase that writes it reads `u.{word}`")
        else:
            phases = listed(f"phase {phase.number}" for phase in read)
            found[name] = Verdict(False, f"{phases} writes it and reads `u.{word}`: two buffers, or all accumulators "
                                         "stored before the first write")
    return found
