"""What the writers need to know of a loop: which freedoms its facts grant, and what the engine must keep for it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from vlang.ir.facts import Facts, LoopFacts
from vlang.ir.forms import forms as f
from vlang.ir.stages import Loop, Stage, expressions_of, reads_of
from vlang.runtime.plan.plan import CopySpec
from vlang.types import OPPOSITE, VERTEX

__all__ = ["LoopPlan", "Reader", "changes_read", "neighbour_reads", "plan_loop"]



@dataclass(frozen=True)
class Reader:
    """What a pass over edges reads that the loop writes, under rule N.

    heard: fields of neighbours, so that a vertex that changes one must notify. own: fields, accumulators and masks of
    the vertex itself. notify: the orientation along which its receivers are found. told: it reads changes of
    neighbours, so that a vertex that is active must notify, and one that was active must take back what it sent.
    """

    heard: frozenset[str]
    own: frozenset[str]
    notify: str
    told: bool = False


@dataclass(frozen=True)
class LoopPlan:
    """Decisions about one loop, the same for every target.

    explicit: activity is kept, as `activate when` decides it or neighbours read changes. fused: the only pass of the
    loop also decides activity. skip: rule N is granted and used. readers: for each pass over edges, what makes it run
    again for a vertex. starts: fields that need a copy from the start of the superstep. told: fields with a told array.
    two_buffers: fields whose value before the pass is needed after it. order: the rule by which vertices may run in any
    order, as LoopSpec has it. hoists: expressions of a sender alone are messages.
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
    told: frozenset[str]
    two_buffers: frozenset[str]
    asynchronous: bool
    asynchronous_reason: str
    copied: CopySpec | None
    order: str
    hoists: bool = True

    def sole(self, stage: Stage) -> bool:
        """Whether no other pass of the loop writes a field of this one."""
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
    """The changes of neighbours that an expression reads, outside the expressions in `beyond`. They are sent, since a
    neighbour may have told them before a receiver looks."""
    if expr in beyond:
        return []
    if isinstance(expr, f.Field) and expr.of == "other" and expr.time == "change":
        return [expr]
    return [found for child in f.children(expr) for found in changes_read(child, beyond)]


def neighbour_reads(stage: Stage, messages: Mapping[f.Expr, int]) -> frozenset[str]:
    """The fields that a pass reads of other vertices, beyond what it receives as messages."""
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
    """Decide how a loop is run, without some optimisations. The rules grant nothing to a loop with blocks inside."""
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
    heard = {e.name for e in inside if isinstance(e, f.Field) and e.of == "other"} & applied
    torn = any(len(heard & set(write.fields)) > 1 for stage in loop.stages for write in stage.writes)
    return LoopPlan(
        loop=loop, facts=facts, explicit=explicit, fused=fused, reads_iteration=loop.reads_iteration,
        skip=skip, skip_reason=fact.skip_reason if skip or not fact.skip else "switched off",
        readers=_readers(loop, fact.own_notify & applied) if skip else {},
        starts=starts, told=changes | sent if explicit else frozenset(),
        two_buffers=frozenset(past & applied) if fused else frozenset(),
        asynchronous=fact.any_order and not torn,
        asynchronous_reason="neighbours read several parts of a tuple, which must change together" if torn
        else fact.any_order_reason,
        copied=None if "copied" in without else _copied(fact), order=_order(fact, loop.repeat, torn),
        hoists="hoist" not in without,
    )


def _order(fact: LoopFacts, repeat: f.Repeat, torn: bool) -> str:
    """The rule by which vertices may run in any order. Who has not told a change must come back to it: of delta loops
    those whose `activate when` looks at changes."""
    if fact.kind == "delta":
        cond = repeat.activate.cond if repeat.activate is not None else None
        looks = cond is not None and any(isinstance(e, f.Field) and e.time == "change" for e in f.walk(cond))
        return "A'" if looks else ""
    if torn:
        return ""
    return "A" if fact.any_order else "S" if fact.single_assignment.granted else ""


def _copied(fact: LoopFacts) -> CopySpec | None:
    """What the loop comes to under rule K."""
    if not fact.copied.granted:
        return None
    (write,) = fact.writes
    assert write.joined is not None
    reduce = write.joined.reduce
    join = {"any": "bitor", "all": "bitand"}.get(reduce.name, reduce.name)
    return CopySpec(write.fields[0], reduce.domain.kind, "last" if join == "max" and reduce.type == VERTEX else join)


def _readers(loop: Loop, own: frozenset[str]) -> dict[str, Reader]:
    """The passes over edges of a loop, and what each reads. own: fields that make a vertex itself run again."""
    applied = frozenset(loop.applied)
    readers = {}
    for stage in loop.stages:
        if stage.domain is None:
            continue
        inside = [e for expr in expressions_of(stage) for e in f.walk(expr)]
        heard = {e.name for e in inside if isinstance(e, f.Field) and e.of == "other" and e.time != "change"}
        told = any(changes_read(gather.reduce) for gather in stage.gathers)
        mine = {e.name for e in inside if isinstance(e, f.Field) and e.of == "self"} & own
        for other in loop.stages:  # what another pass overwrites must be written again
            mine |= set(stage.written) & set(other.written) if other is not stage else set()
        notify = OPPOSITE[stage.domain]
        readers[stage.name] = Reader(frozenset(heard & applied), frozenset(mine | reads_of(stage)), notify, told)
    return readers
