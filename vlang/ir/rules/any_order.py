"""Rules A and A' (any order), O (priority) and P (push from active vertices)."""

from __future__ import annotations

from vlang.ir.forms import forms as f
from vlang.ir.forms.moves import CONSTANT, DOWN, UP
from vlang.ir.forms.normal import Write, widens
from vlang.ir.rules.context import Context, Verdict, by_groups
from vlang.ir.rules.tuples import keeps_order

__all__ = ["any_order", "extensive", "priority", "push"]


def any_order(ctx: Context) -> Verdict:
    """Rules A and A': asynchronous execution, with updates in place, stale reads and repeated processing of pages."""
    scope = ctx.scope
    if scope.inner is not None:
        return Verdict(False, ctx.inner_reason, "i")
    if ctx.kind == "counted":
        return Verdict(False, "counted: the result is the state after exactly these supersteps", "c")
    if ctx.kind == "tolerance":
        return Verdict(False, f"stops on a tolerance ({ctx.kind_reason}): where it stops depends on the order", "t")
    refused = by_groups(ctx)
    if refused is not None:
        return refused
    whole = ctx.integers if ctx.kind == "delta" else ()
    if whole:
        return Verdict(False, f"{ctx.named(whole)} may leave its type and become infinite: what arrives first matters",
                       "s")
    if ctx.kind == "delta":
        return Verdict(True, "A': every change is sent exactly once and contributions add up, so the order does not "
                             "matter; results differ by no more than unsent changes can move them")
    for write in ctx.writes:
        refused = _not_joined(ctx, write)
        if refused is not None:
            return refused
    for write in ctx.writes:
        refused = _against(ctx, write)
        if refused is not None:
            return refused
    tuples = [write for write in ctx.writes if keeps_order(ctx, write) == "" and _read_together(ctx, write)]
    ways = " and ".join(f"`{scope.word(name)}` only moves {way}" for name, way in ctx.directions.items() if way)
    return Verdict(True, f"A: {ways}, and joined values move the same way or not at all: every order ends in "
                         "the same least fixpoint, bit for bit" +
                   ("; the parts of a neighbour's tuple must be read together" if tuples else ""),
                   marks=("together",) if tuples else ())


def _read_together(ctx: Context, write: Write) -> bool:
    """Return whether neighbours read more than one of the fields that `write` assigns."""
    return len(set(write.fields) & {name for phase in ctx.phases for name in phase.neighbour}) > 1


def _not_joined(ctx: Context, write: Write) -> Verdict | None:
    for name in write.fields:
        ways = ctx.ways(name)
        word = ctx.scope.word(name)
        if write.operator is None:
            if any(way.operator is not None for way in ways):
                return Verdict(False, f"`{word}` is joined in one place and recomputed in another", "w")
            return Verdict(False, f"`{word}` is recomputed, not joined with its old value", "r")
        if not write.idempotent:
            return Verdict(False, f"`{word}`: {write.operator.text} is not idempotent, repeating it would count twice",
                           "s")
    if not ctx.whole(write):
        return Verdict(False, f"{ctx.named(write.fields)} are written together in one place and apart in another", "w")
    if ctx.directions[write.fields[0]] is None:
        return Verdict(False, f"`{ctx.scope.word(write.fields[0])}` moves up in one place and down in another", "w")
    return None


def _against(ctx: Context, write: Write) -> Verdict | None:
    """Return the reason why a joined value, or a `where` around the write, may move against the direction of the field;
    None if both cannot.
    """
    scope, moves = ctx.scope, ctx.moves()
    word = scope.word(write.fields[0])
    way = UP if ctx.directions[write.fields[0]] == "up" else DOWN
    user = write.operator is not None and write.operator.name == "user"
    order = keeps_order(ctx, write)
    fits = _plain_copy(ctx, write) if user else order == "" or moves.of(write.rest) in (CONSTANT, way)
    places = [(write.rest, fits, f"the value joined into `{word}`")]
    places += [(where.cond, moves.of(where.cond) in (CONSTANT, UP), f"the `where` around `{word}`")
               for where in write.leaf.wheres]
    for expr, good, place in places:
        if good:
            continue
        distant, varying = scope.distant(expr), scope.varying(expr)
        if distant is not None:
            field = scope.word(distant.name)
            return Verdict(False, f"{place} reads `{field}` of a vertex that is not a neighbour", "f")
        if varying is not None:
            return Verdict(False, f"{place} reads `{varying}`, which changes every superstep", "v")
        if order and expr is write.rest:
            return Verdict(False, f"{place} may move against it: {order}", "m")
        return Verdict(False, f"{place} may move against `{word}`, which moves {ctx.directions[write.fields[0]]}", "m")
    return None


def _plain_copy(ctx: Context, write: Write) -> bool:
    """Return whether each contribution is `u.x` itself, which an idempotent user reduction requires."""
    if write.joined is None:
        return False
    reduce = write.joined.reduce
    body = reduce.body
    copy = isinstance(body, f.Field) and (body.name, body.of, body.time) == (write.fields[0], "other", "now")
    return copy and (reduce.cond is None or ctx.scope.steady(reduce.cond))


# ------------------------------------------------------------------- priority


def priority(ctx: Context, order: Verdict) -> Verdict:
    """Rule O: vertices may run in any order, and no contribution is better than its source, so that priority order
    saves work.
    """
    if not order.granted:
        return Verdict(False, "needs any order (rule A), which is refused", order.letter)
    if ctx.kind == "delta":
        return Verdict(True, "largest change first: it ends sooner, with the same result")
    if all(extensive(ctx, write) for write in ctx.writes):
        return Verdict(True, "contributions never beat the value that they come from, so values before the "
                             "current bucket are final: delta-stepping pays, and a single target may stop early",
                       marks=("final",))
    return Verdict(True, "legal, but nothing is known to be final before the end")


def extensive(ctx: Context, write: Write) -> bool:
    """Return whether no contribution joined into x is better than the `u.x` from which it is computed."""
    if write.joined is None or write.direction is None:
        return False
    body: f.Expr = write.joined.reduce.body
    if isinstance(body, f.Op) and body.op == "tuple":
        body = body.args[0]
    return _extends(ctx, body, write.fields[0], write.direction == "down")


def _extends(ctx: Context, body: f.Expr, name: str, down: bool) -> bool:
    if isinstance(body, f.Field):
        return (body.name, body.of, body.time) == (name, "other", "now")
    if isinstance(body, f.Op) and widens(body):
        return _extends(ctx, body.args[0], name, down)
    if not isinstance(body, f.Op) or len(body.args) != 2:
        return False
    for mine, other in (body.args, body.args[::-1]):
        if not _extends(ctx, mine, name, down):
            continue
        if body.op == "add" and down:
            return ctx.known.nonnegative(other)
        if body.op == "sub" and not down and mine == body.args[0]:
            return ctx.known.nonnegative(other)
        if body.op == "mul" and not down and ctx.known.nonnegative(other):
            return ctx.known.at_most(other, 1)
        return body.op == ("max" if down else "min")
    return False


# ----------------------------------------------------------------------- push


def push(ctx: Context) -> Verdict:
    """Rule P: only active vertices send, and their contributions are joined into the field immediately."""
    scope = ctx.scope
    if scope.inner is not None:
        return Verdict(False, ctx.inner_reason, "i")
    beyond = by_groups(ctx)
    if beyond is not None:
        return beyond
    if not ctx.default and ctx.kind != "delta":
        return Verdict(False, f"{ctx.default_reason}; the share of inactive neighbours would be missing", "t")
    for write in ctx.writes:
        refused = _unsendable(ctx, write)
        if refused is not None:
            return refused
    if ctx.kind == "counted":
        return Verdict(False, "counted loops run as written", "c")
    if ctx.kind == "tolerance":
        return Verdict(False, "ends on `until`, which is tested after whole supersteps", "t")
    for write in ctx.writes:
        refused = _own_reads(ctx, write)
        if refused is not None:
            return refused
    each = "" if len(ctx.phases) == 1 else "; each phase has its own set of active vertices"
    if ctx.kind == "delta":
        return Verdict(True, "active vertices send their change, which is added once" + each)
    return Verdict(True, "the contribution of an inactive neighbour has been joined before, and joining it again "
                         "changes nothing" + each)


def _unsendable(ctx: Context, write: Write) -> Verdict | None:
    word = ctx.scope.word(write.fields[0])
    if write.delta:
        return None
    ways = [way for name in write.fields for way in ctx.ways(name)]
    joined = any(way.joined is not None for way in ways)
    kinds = {(way.operator.name, way.operator.monoid) if way.operator else None for way in ways}
    if joined and (len(kinds) > 1 or not ctx.whole(write)):
        return Verdict(False, f"`{word}` is written in two ways", "w")
    if write.joined is None:
        how = "recomputed from all neighbours" if write.operator is None else "joined with more than a plain gather"
        return Verdict(False, f"`{word}` is {how}: no joined gather", "g")
    if not write.idempotent:
        return Verdict(False, f"`{word}`: {write.operator.text if write.operator else ''} is not idempotent", "s")
    return None


def _own_reads(ctx: Context, write: Write) -> Verdict | None:
    scope = ctx.scope
    exprs = [write.rest, *(where.cond for where in write.leaf.wheres)]
    if write.joined is not None:
        exprs.append(write.joined.reduce)
    for expr in exprs:
        varying = scope.varying(expr, sent=write.delta)
        if varying is not None:
            return Verdict(False, f"reads `{varying}`, which changes every superstep", "v")
        if scope.distant(expr) is not None:
            return Verdict(False, "reads a field of a vertex that is not a neighbour", "f")
        own = scope.own(expr)
        if own:
            return Verdict(False, f"a contribution depends on the receiver's own {ctx.named(own)}", "o")
    for where in write.leaf.wheres:
        gathered = [e.name for e in f.walk(where.cond) if isinstance(e, f.Accumulator) and not scope.steady(e)]
        if gathered:
            return Verdict(False, f"a `where` reads `{scope.word(gathered[0])}`, and a push sends only new values",
                           "v")
    return None
