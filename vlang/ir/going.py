"""Rule I for a whole program: finds the loops that may continue from the result of a run on fewer or more edges."""

from __future__ import annotations

from collections.abc import Iterator

from vlang.ir.facts import Facts, LoopFacts
from vlang.ir.forms import forms as f
from vlang.ir.forms.ties import FAR, FREE, NEAR, NUMBERED, TIED, Ties
from vlang.ir.forms.visible import LoopScope, expressions, statements
from vlang.records import dataclass

__all__ = ["ChangeKind", "Going", "going_on"]


@dataclass(frozen=True)
class ChangeKind:
    """The kind of a change: whether the change inserts edges, deletes edges, or adds vertices."""

    inserts: bool
    deletes: bool
    grows: bool


@dataclass(frozen=True, eq=False)
class Going:
    """A loop of the body that may continue from an old result.

    Attributes:
        facts: The facts of the loop.
        number: The number of the loop in the order of the text. Loops inside blocks are counted as well.
        kind: "join" (I1), "delta" (I2) or "contraction" (I3).
        fields: The fields that the loop writes.
        merges: Whether contributions can be joined edge by edge. If contributions can be joined so, one superstep over
            the inserted edges finds all vertices that must run.
        notifies: Under I1: whether contributions read degrees. If contributions read degrees, a vertex with changed
            edges must notify its neighbours.
        reruns: Whether a vertex must run again after its own change.
        sources: Under I2: the ends ("tail", "head") of a changed edge that change their contributions.
    """

    facts: LoopFacts
    number: int
    kind: str
    fields: tuple[str, ...]
    merges: bool = False
    notifies: bool = False
    reruns: bool = False
    sources: frozenset[str] = frozenset()


def going_on(program: f.Program, facts: Facts, change: ChangeKind) -> tuple[tuple[Going, ...], tuple[str, ...]]:
    """Return the loops that may continue after a change. For each other loop, also return a text with its line and the
    reason.
    """
    found: list[Going] = []
    refused: list[str] = []
    ties = Ties(change.grows)
    number = 0
    for at, statement in enumerate(program.body):
        if isinstance(statement, f.Repeat):
            one = _judge(program, facts.loop(statement), number, at, ties, change)
            if isinstance(one, Going):
                found.append(one)
            else:
                refused.append(f"line {statement.span.line}: {one}")
        else:
            refused += [f"line {inner.span.line}: the loop is inside a block, which may run it more than once"
                        for inner in _loops(statement)]
        number += sum(1 for _ in _loops(statement))
        ties.pass_by(statement)
    return tuple(found), tuple(refused)


def _loops(statement: f.Statement) -> Iterator[f.Repeat]:
    return (inner for inner in statements((statement,)) if isinstance(inner, f.Repeat))


def _judge(
    program: f.Program, fact: LoopFacts, number: int, at: int, ties: Ties, change: ChangeKind
) -> Going | str:
    """Return the loop if it may continue from the old result; otherwise the reason why it may not."""
    rule = fact.incremental
    if not rule.granted:
        return rule.reason + (f": {fact.order.reason}" if rule.letter else "")
    for wanted, mark, done in ((change.inserts, "insert", "added"), (change.deletes, "delete", "removed")):
        if wanted and mark not in rule.marks:
            return f"only {'deletion' if mark == 'insert' else 'insertion'} keeps the old result a legal start, and " \
                   f"edges were {done}"
    scope = LoopScope(program, fact.loop)
    kind = "delta" if fact.kind == "delta" else "join"
    around = _around(program, scope, at, ties, change, kind == "delta")
    if around:
        return around
    if kind == "delta" and not _heeds_both(fact):
        return "`activate when` does not treat changes up and down alike, and removing an edge moves values either way"
    reads = _reads(scope)
    why = _tied_reads(scope, reads, ties, delta=kind == "delta")
    if why:
        return why
    degrees = {e.kind for e in reads if isinstance(e, f.Degree) and e.of == "other"}
    merges = kind == "join" and not change.deletes and not any(isinstance(e, f.Degree) for e in reads) and \
        _edge_by_edge(fact, scope)
    return Going(fact, number, kind, fact.applied, merges=merges, notifies=bool(degrees),
                 reruns=bool(fact.own_notify) or len(fact.phases) > 1,
                 sources=_sources(scope, reads, ties) if kind == "delta" else frozenset())


def _heeds_both(fact: LoopFacts) -> bool:
    """Return whether activity depends on the size of a change, not on its sign.

    The default activation depends only on the size. The same holds for a condition in which `abs(change(x))` is
    compared with a value that is constant in the loop. For a vector, the largest component or the sum of the components
    may be compared.
    """
    activate = fact.loop.activate
    if activate is None or fact.default_activation:
        return True
    cond = activate.cond
    if not (isinstance(cond, f.Op) and cond.op in ("gt", "ge", "lt", "le")):
        return False
    size, bound = cond.args if cond.op in ("gt", "ge") else cond.args[::-1]
    if isinstance(size, f.Op) and size.op in ("vmax", "vsum"):
        (size,) = size.args
    inside = size.args[0] if isinstance(size, f.Op) and size.op == "abs" else None
    alone = isinstance(inside, f.Field) and (inside.name, inside.time) == (fact.applied[0], "change")
    return alone and not any(isinstance(e, (f.Field, f.Accumulator)) for e in f.walk(bound))


def _around(program: f.Program, scope: LoopScope, at: int, ties: Ties, change: ChangeKind, delta: bool) -> str:
    """The reason why statements outside the loop forbid a start from the old values; "" if no statement does.

    A statement after the loop must not change the values. A statement before the loop must not read the values, and
    must not set initial values that depend on edges.
    """
    mine = scope.written - scope.local
    for place, statement in enumerate(program.body):
        if statement is scope.loop:
            continue
        for inner in statements((statement,)):
            said = f"line {inner.span.line}"
            written = {inner.name} if isinstance(inner, f.InitField) else \
                set(inner.fields) if isinstance(inner, f.Apply) else set()
            both = sorted(written & mine)
            if both and not (isinstance(inner, f.InitField) and place < at):
                return f"`{both[0]}` is written outside the loop as well, in {said}"
            if place < at:
                start = written & mine
                reads = {e.name for expr in expressions(inner) for e in f.walk(expr) if isinstance(e, f.Field)} & mine
                if reads:
                    return f"{said} reads the initial value of `{min(reads)}`, which an old result does not contain"
                if start and ties.of_name(min(start)) != FREE and (delta or not _degree_start(inner)):
                    return f"`{min(start)}` starts at a value that depends on the edges" + \
                        (" or on the number of vertices" if change.grows else "")
    return ""


def _degree_start(statement: f.Statement) -> bool:
    """Return whether a statement is `vertex x = degree`, an initial value that rule I1 has already judged."""
    return isinstance(statement, f.InitField) and isinstance(statement.value, f.Degree)


def _reads(scope: LoopScope) -> list[f.Expr]:
    return [e for s in statements((scope.loop,)) for expr in expressions(s) for e in f.walk(expr)]


def _tied_reads(scope: LoopScope, reads: list[f.Expr], ties: Ties, delta: bool) -> str:
    """Return the reason why a value that the loop reads but does not write forbids a start from old values; "" if there
    is none.
    """
    for e in reads:
        if isinstance(e, f.Field) and e.name not in scope.written:
            tie, near = ties.of_name(e.name), delta and e.of == "other"
        elif isinstance(e, f.Degree):
            tie, near = ties.of(e), not delta or e.of == "other"
        elif isinstance(e, f.GraphValue) or (isinstance(e, f.Op) and e.op in TIED | NUMBERED):
            tie, near = ties.of(e), False
        elif isinstance(e, f.Accumulator) and e.name not in scope.gathers:
            tie, near = ties.of_name(e.name), False
        elif isinstance(e, f.Reduce) and (not e.domain.edges or e.domain.kind == "common"):
            tie, near = ties.of(e), False
        else:
            continue
        if tie > (NEAR if near else FREE):
            word = scope.word(e.name) if isinstance(e, (f.Field, f.GraphValue, f.Accumulator)) else "a value"
            how = "depends on edges that may be anywhere" if tie == FAR else "changes with the edges of its vertex"
            return f"the loop reads `{word}`, which {how}"
    return ""


def _edge_by_edge(fact: LoopFacts, scope: LoopScope) -> bool:
    """Return whether the contributions of every gather are joined into a field one by one, and have no other use."""
    joined = [write.joined.name for write in fact.writes if write.joined is not None]
    used = [e.name for s in statements((scope.loop,)) for expr in expressions(s) for e in f.walk(expr)
            if isinstance(e, f.Accumulator) and e.name in scope.gathers]
    return len(joined) == len(fact.writes) and sorted(joined) == sorted(used) and set(joined) == set(scope.gathers)


_SENDERS = {"in": frozenset({"tail"}), "out": frozenset({"head"}), "both": frozenset({"tail", "head"})}


def _sources(scope: LoopScope, reads: list[f.Expr], ties: Ties) -> frozenset[str]:
    """Return the ends of a changed edge that change their contributions to other vertices, as senders along the edge.
    Both ends are included if a contribution reads a value that depends on the edges of a vertex.
    """
    found: frozenset[str] = frozenset()
    for gather in scope.gathers.values():
        found |= _SENDERS[gather.reduce.domain.kind]
    for e in reads:
        if isinstance(e, f.Degree):
            found |= {"out": _SENDERS["in"], "in": _SENDERS["out"], "all": _SENDERS["both"]}[e.kind]
        elif isinstance(e, f.Field) and e.name not in scope.written and ties.of_name(e.name):
            found |= _SENDERS["both"]
    return found
