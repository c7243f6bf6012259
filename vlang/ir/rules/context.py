"""The analysis of a loop that all rules share: its writes, directions, kind, activation and phases."""

from __future__ import annotations

from collections.abc import Iterable

from vlang.ir.forms import forms as f
from vlang.ir.forms.moves import Known, Moves
from vlang.ir.forms.normal import Write, writes_of
from vlang.ir.forms.phases import Phase, phases_of
from vlang.ir.forms.range_arithmetic import whole
from vlang.ir.forms.visible import LoopScope, expressions, statements
from vlang.records import dataclass

__all__ = [
    "LETTERS", "Context", "Verdict", "beyond_edges", "by_groups", "context_of", "joins_only", "listed", "outside",
    "with_states",
]

LETTERS = {
    "c": "counted", "t": "stops on a tolerance", "i": "contains an inner loop", "r": "recomputed, not joined",
    "w": "written in two ways or without one direction", "g": "no joined gather", "s": "operator not idempotent",
    "v": "reads a value that changes every superstep", "f": "reads a field of a vertex that is not a neighbour",
    "m": "may move against its field", "o": "reads own values that the loop writes",
    "p": "an accumulator crosses phases", "l": "declares fields inside the loop",
    "b": "gathers by groups of edges", "e": "has edge states", "n": "gathers from vertices that are no neighbours",
}  # fmt: skip


@dataclass(frozen=True)
class Verdict:
    """The verdict of a rule for a loop: granted or refused, with the reason.

    Attributes:
        granted: Whether the rule is granted.
        reason: The reason in words, for `vlang explain`.
        letter: The letter of a refusal, which LETTERS explains; "" if the rule is granted.
        marks: Refinements of the verdict, such as "+self" or "insert".
    """

    granted: bool
    reason: str
    letter: str = ""
    marks: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Context:
    """The analysis of one loop.

    If a write joins a tuple, only the first component moves in one direction. When the first component improves, the
    other components may become larger or smaller.

    Attributes:
        scope: The loop in its program.
        writes: The writes of the loop, with the normal form of each write.
        directions: How each written field moves: "up", "down", or None if it may move both ways.
        known: Signs and bounds of values.
        phases: Its phases.
        default: Whether the loop uses the default activation.
        default_reason: The reason why the loop uses the default activation, or why it does not.
        kind: "fixpoint", "delta", "tolerance" or "counted" (language.md section 9).
        kind_reason: The reason why the loop is of this kind.
    """

    scope: LoopScope
    writes: tuple[Write, ...]
    directions: dict[str, str | None]
    known: Known
    phases: tuple[Phase, ...]
    default: bool
    default_reason: str
    kind: str
    kind_reason: str

    def moves(self) -> Moves:
        """The directions in which expressions of the loop move."""
        return Moves.of_fields(self.scope, self.known, self.directions)

    def ways(self, name: str) -> tuple[Write, ...]:
        """The writes of one field."""
        return tuple(write for write in self.writes if name in write.fields)

    def whole(self, write: Write) -> bool:
        """Return whether the fields of a tuple write are always written together, in this order."""
        return all(other.fields == write.fields for name in write.fields for other in self.ways(name))

    @property
    def integers(self) -> tuple[str, ...]:
        """The written integer fields to which sums are added, so that a value may overflow its type."""
        types = {decl.name: decl.type for decl in self.scope.program.fields}
        return tuple(name for write in self.writes for name in write.fields if whole(types[name]) is not None)

    def named(self, names: Iterable[str]) -> str:
        """Return a list of quoted names as text, with the names of the program text."""
        return listed(f"`{self.scope.word(name)}`" for name in sorted(names))

    @property
    def inner_reason(self) -> str:
        """The reason why no rule is applied to a loop that contains another loop."""
        return "contains an inner loop: the rules look at innermost loops"


def listed(words: Iterable[str]) -> str:
    """Words joined to a list: `a`, `b` and `c`."""
    items = list(dict.fromkeys(words))
    return items[0] if len(items) == 1 else ", ".join(items[:-1]) + " and " + items[-1] if items else "nothing"


def context_of(program: f.Program, loop: f.Repeat) -> Context:
    """Analyse a loop: its normal forms, directions, activation, kind and phases."""
    scope = LoopScope(program, loop)
    writes = writes_of(scope)
    directions = {name: _direction(writes, name) for name in sorted(scope.written)}
    default, default_reason = _activation(scope, writes, directions)
    kind, kind_reason = _kind(scope, writes, default, default_reason)
    known = Known(program, scope.gathers)
    return Context(scope, writes, directions, known, phases_of(scope), default, default_reason, kind, kind_reason)


def with_states(ctx: Context) -> Verdict | None:
    """The refusal of every rule about neighbours in a loop that reads or writes edge states; None for other loops.

    A value of an edge belongs to the row of its receiver. The value is replaced, not joined, and a change of the value
    notifies no vertex.
    """
    for gather in ctx.scope.gathers.values():
        names = sorted(({gather.keeps} if gather.keeps else set()) | gather.states)
        if names:
            named = listed(f"`{ctx.scope.word(name)}`" for name in names)
            return Verdict(False, f"{named} has a value for each edge, which the row of the receiver replaces: a full "
                                  "pull", "e")
    return None


def beyond_edges(ctx: Context) -> Verdict | None:
    """The refusal of every rule about neighbours in a loop that also gathers along pointers, or has edge states.

    The result is None for other loops.

    A gather along pointers reads the vertices that point to this vertex by a field. After a change of the field, the
    vertices that point to a vertex must be found again.
    """
    refused = with_states(ctx)
    if refused is not None:
        return refused
    for name, gather in ctx.scope.gathers.items():
        key = gather.reduce.key
        if gather.reduce.domain.kind == "pointing" and isinstance(key, f.Field):
            return Verdict(False, f"`{ctx.scope.word(name)}` is gathered from the vertices whose "
                                  f"`{ctx.scope.word(key.name)}` is this one, which are not its neighbours", "n")
    return None


def by_groups(ctx: Context) -> Verdict | None:
    """Return the refusal of all rules except N, for a loop that gathers by groups, along pointers or from common
    neighbours.

    The result is None for other loops. The value of a group depends on all of its edges, and a new key of one neighbour
    changes two groups.
    """
    for name, gather in ctx.scope.gathers.items():
        if gather.reduce.group is not None:
            return Verdict(False, f"`{ctx.scope.word(name)}` is gathered by groups of edges, and needs all edges of a "
                                  "vertex at once", "b")
        if gather.reduce.pairs:
            return Verdict(False, f"`{ctx.scope.word(name)}` is gathered from the neighbour lists of both ends of "
                                  "an edge", "f")
    return beyond_edges(ctx)


def _direction(writes: tuple[Write, ...], name: str) -> str | None:
    ways = {write.direction if write.fields[0] == name else None for write in writes if name in write.fields}
    return ways.pop() if len(ways) == 1 else None


# ---------------------------------------------------------- activation and kind


def outside(scope: LoopScope, writes: tuple[Write, ...], some: Iterable[Write]) -> frozenset[str]:
    """Return the own fields that the writes in `some` read, except on the left side of an idempotent or delta form.

    Reads on the left side do not count because (x v a) v a = x v a, where v is the join. This holds only if nothing
    else changes x. Therefore every write of x in the loop must join with the same operator.
    """
    found: set[str] = set()
    for write in some:
        value = write.leaf.statement
        assert isinstance(value, (f.Apply, f.InitField))
        found |= scope.own(write.rest if write.delta or joins_only(writes, write) else value.value)
    return frozenset(found)


def joins_only(writes: tuple[Write, ...], write: Write) -> bool:
    """Return whether a write is an idempotent join, and all other writes of its fields use the same operator."""
    alike = [w for name in write.fields for w in writes if name in w.fields]
    return write.idempotent and all(w.operator == write.operator and w.fields == write.fields for w in alike)


def _read_outside(scope: LoopScope, writes: tuple[Write, ...]) -> frozenset[str]:
    """The fields that a later superstep reads. If a field that a later superstep reads changes, vertices must become
    active.
    """
    needed = set(outside(scope, writes, writes))
    for statement in statements(scope.loop.body):
        for expr in expressions(statement):
            needed |= scope.neighbour(expr)
            needed |= {e.name for e in f.walk(expr)
                       if isinstance(e, f.Field) and isinstance(e.of, f.Expr) and e.name in scope.written}
            if isinstance(statement, (f.Gather, f.Where)):
                needed |= scope.own(expr)
            needed |= {e.name for reduce in f.walk(expr) if isinstance(reduce, f.Reduce) and not reduce.domain.edges
                       for e in f.walk(reduce) if isinstance(e, f.Field) and e.name in scope.written}
    return frozenset(needed - scope.local)


def _activation(
    scope: LoopScope, writes: tuple[Write, ...], directions: dict[str, str | None]
) -> tuple[bool, str]:
    """Return whether the loop has the default activation, by the criteria of language.md section 9, and the reason."""
    activate = scope.loop.activate
    if activate is None:
        return True, "no `activate when`: a vertex is active if a field applied in the loop changed"
    covered: set[str] = set()
    for part in _disjuncts(activate.cond):
        name = _change_test(part, directions)
        if name is None:
            return False, "`activate when` requires more than a change"
        covered.add(name)
    missing = _read_outside(scope, writes) - covered
    if missing:
        names = listed(f"`{scope.word(name)}`" for name in sorted(missing))
        return False, f"`activate when` leaves out changes of {names}, which the loop reads"
    return True, "`activate when` is equivalent to the default"


def _disjuncts(cond: f.Expr) -> list[f.Expr]:
    if isinstance(cond, f.Op) and cond.op == "or":
        return [part for arg in cond.args for part in _disjuncts(arg)]
    return [cond]


def _change_test(cond: f.Expr, directions: dict[str, str | None]) -> str | None:
    """Return the field f of a test `changed(f)` or `f != old(f)`. A test `f < old(f)` or `f > old(f)` also counts if f
    moves only in this direction.
    """
    if not (isinstance(cond, f.Op) and cond.op in ("differs", "ne", "lt", "gt")):
        return None
    op, (now, then) = cond.op, cond.args
    if isinstance(now, f.Field) and now.time == "old":
        now, then, op = then, now, {"lt": "gt", "gt": "lt"}.get(op, op)
    if not (isinstance(now, f.Field) and isinstance(then, f.Field)):
        return None
    if (now.name, now.of, now.time, then.of, then.time) != (then.name, "self", "now", "self", "old"):
        return None
    needed = {"lt": "down", "gt": "up"}.get(op)
    return now.name if needed is None or directions.get(now.name) == needed else None


def _kind(scope: LoopScope, writes: tuple[Write, ...], default: bool, why: str) -> tuple[str, str]:
    loop = scope.loop
    if loop.until is not None:
        return "tolerance", "ends when its `until` holds"
    if loop.limit is not None:
        return "counted", "runs a given number of supersteps"
    if writes and scope.inner is None and all(write.delta for write in writes):
        return "delta", "every write adds a linear function of its neighbours' changes"
    if default:
        return "fixpoint", "ends when a superstep changes nothing"
    return "tolerance", why
