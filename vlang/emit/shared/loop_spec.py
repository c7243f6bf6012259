"""Decisions about a loop, for the writers of code: the rules under which the loop runs, and the arrays that it needs.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from vlang.ir.facts import Facts, LoopFacts
from vlang.ir.forms import forms as f
from vlang.ir.stages import Loop, Stage, expressions_of, reads_of
from vlang.records import dataclass
from vlang.runtime.plan.plan import CopySpec
from vlang.types import OPPOSITE, VERTEX

__all__ = ["LoopPlan", "Reader", "changes_read", "neighbour_reads", "plan_loop"]



@dataclass(frozen=True)
class Reader:
    """For rule N: the values that a pass over edges reads and that the loop writes.

    Attributes:
        notifying: The fields read at neighbours. When such a field changes at a vertex, the vertex must notify its
            receivers.
        own: Fields, accumulators and masks read at the vertex itself.
        notify: The adjacency direction in which a vertex finds its receivers.
        reads_changes: Whether the pass reads changes of neighbours. If the pass reads changes, every active vertex must
            notify its receivers. A vertex that was active in the previous superstep must also notify its receivers,
            because the receivers must run again without the change of this vertex.
    """

    notifying: frozenset[str]
    own: frozenset[str]
    notify: str
    reads_changes: bool = False


@dataclass(frozen=True)
class LoopPlan:
    """Decisions about one loop, the same for every target.

    Attributes:
        loop: The loop.
        facts: The facts of the program.
        explicit: Whether activity is stored, because `activate when` decides activity or because neighbours read
            changes.
        fused: Whether the only pass of the loop also decides activity.
        reads_iteration: Whether a superstep depends on its number.
        skip: Whether rule N holds and is used.
        skip_reason: Why rule N is used, or why not.
        readers: For each pass over edges, the changes after which the pass must run again for a vertex.
        starts: Fields whose values at the start of the superstep must be copied.
        sent: Fields that have an array of the values last sent.
        two_buffers: Fields with two buffers, because their values from before the pass are read after the pass.
        asynchronous: Whether updates in place are allowed.
        asynchronous_reason: Why updates in place are allowed, or why not.
        together: Whether rule A holds only if the parts of a neighbour's tuple are read together.
        copied: The result under rule K, or None.
        order: The rule that allows vertices to run in any order, as in LoopSpec.
        hoists: Whether expressions that depend only on the sender become messages.
    """

    loop: Loop
    facts: Facts
    explicit: bool
    fused: bool
    reads_iteration: bool
    skip: bool
    skip_reason: str
    readers: Mapping[str, Reader]
    starts: frozenset[str]
    sent: frozenset[str]
    two_buffers: frozenset[str]
    asynchronous: bool
    asynchronous_reason: str
    together: bool
    copied: CopySpec | None
    order: str
    hoists: bool = True

    def sole(self, stage: Stage) -> bool:
        """Return whether no other pass of the loop writes a field that this pass writes."""
        return not any(set(stage.written) & set(other.written) for other in self.loop.stages if other is not stage)

    def messages(self, stage: Stage) -> dict[f.Expr, int]:
        """The expressions of a stage that are sent as messages, numbered."""
        found: dict[f.Expr, int] = {}
        for gather in stage.gathers:
            hoisted = self.facts.messages(gather) if self.hoists else ()
            for expr in (*hoisted, *changes_read(gather.reduce, hoisted)):
                found.setdefault(expr, len(found))
        return found


def changes_read(expr: f.Expr, beyond: Collection[f.Expr] = ()) -> list[f.Expr]:
    """The changes of neighbours that an expression reads, except inside the expressions in `beyond`.

    Changes become messages, because a neighbour may update its sent value before a receiver reads the change.
    """
    if expr in beyond:
        return []
    if isinstance(expr, f.Field) and expr.of == "other" and expr.time == "change":
        return [expr]
    return [found for child in f.children(expr) for found in changes_read(child, beyond)]


def neighbour_reads(stage: Stage, messages: Mapping[f.Expr, int]) -> frozenset[str]:
    """The fields that a pass reads from other vertices, except through messages."""
    names: set[str] = set()

    def visit(expr: f.Expr) -> None:
        if expr in messages:
            return
        if isinstance(expr, f.Field) and expr.of != "self":
            names.add(expr.name)
        for child in f.children(expr):
            visit(child)

    for expr in expressions_of(stage):
        visit(expr)
    return frozenset(names)


def plan_loop(loop: Loop, facts: Facts, without: frozenset[str] = frozenset()) -> LoopPlan:
    """Decide how a loop runs. No rule applies to a loop with inner blocks.

    Args:
        without: optimisations to leave out.
    """
    fact = facts.loop(loop.repeat)
    skip = fact.skip and "skip" not in without
    applied, fused = frozenset(loop.applied), loop.fused
    activate = loop.repeat.activate
    sent = frozenset(e.name for stage in loop.stages for gather in stage.gathers
                     for e in changes_read(gather.reduce) if isinstance(e, f.Field))
    explicit = bool(sent) or (activate is not None and (loop.nested or not fact.default_activation))
    inside = [e for stage in loop.stages for expr in expressions_of(stage) for e in f.walk(expr)]
    at_end = [e for expr in (activate.cond if activate and explicit else None, loop.repeat.until) if expr is not None
              for e in f.walk(expr)]
    past = {e.name for e in at_end if isinstance(e, f.Field) and e.time != "now"}
    changes = frozenset(e.name for e in at_end if isinstance(e, f.Field) and e.time == "change")
    starts = frozenset() if fused else applied | {e.name for e in inside if isinstance(e, f.Field) and e.time == "old"}
    starts |= past - applied
    notifying = {e.name for e in inside if isinstance(e, f.Field) and e.of == "other"} & applied
    torn = any(len(notifying & set(write.fields)) > 1 for stage in loop.stages for write in stage.writes)
    return LoopPlan(
        loop=loop, facts=facts, explicit=explicit, fused=fused, reads_iteration=loop.reads_iteration,
        skip=skip, skip_reason=fact.skip_reason if skip or not fact.skip else "switched off",
        readers=_readers(loop, fact.own_notify & applied) if skip else {},
        starts=starts, sent=changes | sent if explicit else frozenset(),
        two_buffers=frozenset(past & applied) if fused else frozenset(),
        asynchronous=fact.any_order and not torn,
        asynchronous_reason="neighbours read several parts of a tuple, which must change together" if torn
        else fact.any_order_reason,
        together=torn and "together" in fact.order.marks,
        copied=None if "copied" in without else _copied(fact), order=_order(fact, loop.repeat, torn),
        hoists="hoist" not in without,
    )


def _order(fact: LoopFacts, repeat: f.Repeat, torn: bool) -> str:
    """Return the rule that allows vertices to run in any order; "" if no rule allows this.

    A vertex with an unsent change must stay active. In a delta loop, a vertex with an unsent change is sure to stay
    active only if `activate when` tests changes.
    """
    if fact.kind == "delta":
        cond = repeat.activate.cond if repeat.activate is not None else None
        looks = cond is not None and any(isinstance(e, f.Field) and e.time == "change" for e in f.walk(cond))
        return "A'" if looks else ""
    if torn:
        return ""
    return "A" if fact.any_order else "S" if fact.single_assignment.granted else ""


def _copied(fact: LoopFacts) -> CopySpec | None:
    """The result of the loop under rule K; None if the rule is refused."""
    if not fact.copied.granted:
        return None
    (write,) = fact.writes
    assert write.joined is not None
    reduce = write.joined.reduce
    assert reduce.operator is not None
    join = {"or": "bitor", "and": "bitand", "|": "bitor", "&": "bitand"}.get(reduce.operator, reduce.operator)
    return CopySpec(write.fields[0], reduce.domain.kind, "last" if join == "max" and reduce.type == VERTEX else join)


def _readers(loop: Loop, own: frozenset[str]) -> dict[str, Reader]:
    """Return, for each pass over edges, the values that the pass reads and that the loop writes.

    Args:
        own: the fields that make a vertex run again if they change at this vertex.
    """
    applied = frozenset(loop.applied)
    readers = {}
    for stage in loop.stages:
        if stage.domain is None:
            continue
        assert stage.domain in OPPOSITE, "rule N is refused along pointers"
        inside = [e for expr in expressions_of(stage) for e in f.walk(expr)]
        notifying = {e.name for e in inside if isinstance(e, f.Field) and e.of == "other" and e.time != "change"}
        changes = any(changes_read(gather.reduce) for gather in stage.gathers)
        mine = {e.name for e in inside if isinstance(e, f.Field) and e.of == "self"} & own
        for other in loop.stages:  # a pass must write a field again after another pass has overwritten it
            mine |= set(stage.written) & set(other.written) if other is not stage else set()
        notify = OPPOSITE[stage.domain]
        readers[stage.name] = Reader(frozenset(notifying & applied), frozenset(mine | reads_of(stage)), notify, changes)
    return readers
