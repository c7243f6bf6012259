"""What the writers need to know of a loop: which freedoms its facts grant, and what the engine must keep for it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from vlang.ir import forms as f
from vlang.ir.facts import Facts
from vlang.ir.stages import Loop, Stage, Write

__all__ = ["LoopPlan", "expressions_of", "neighbour_reads", "plan_loop"]

_AGAINST = {"in": "out", "out": "in", "both": "both"}


@dataclass(frozen=True)
class LoopPlan:
    """Decisions about one loop, the same for every target.

    explicit: `activate when` decides activity. fused: the only pass of the loop also decides activity.
    skip: rule N is granted and used. heard: fields whose change neighbours must hear. own: fields whose change makes
    the vertex itself run again. starts: fields that need a copy from the start of the superstep. told: fields with
    a told array. two_buffers: fields whose value before the pass is needed after it.
    """

    loop: Loop
    facts: Facts
    explicit: bool
    fused: bool
    reads_iteration: bool
    skip: bool
    skip_reason: str
    heard: frozenset[str]
    own: frozenset[str]
    starts: frozenset[str]
    told: frozenset[str]
    two_buffers: frozenset[str]
    asynchronous: bool
    asynchronous_reason: str

    @property
    def notify(self) -> str | None:
        """The orientation along which the receivers of a change are found."""
        domains = [stage.domain for stage in self.loop.stages if stage.domain]
        return _AGAINST[domains[0]] if self.skip and domains else None

    def messages(self, stage: Stage) -> dict[f.Expr, int]:
        """The expressions of a stage that are sent as messages, numbered."""
        found: dict[f.Expr, int] = {}
        for gather in stage.gathers:
            for expr in self.facts.messages(gather):
                found.setdefault(expr, len(found))
        return found

    def scope_options(self) -> dict[str, object]:
        """Where lets and `until` find old and told values."""
        return {"previous": "next", "starts": self.starts, "told": self.told}


def expressions_of(stage: Stage) -> Iterator[f.Expr]:
    """The expressions evaluated in a pass."""
    for gather in stage.gathers:
        yield gather.reduce
    for item in (*stage.before, *stage.after):
        yield item.value if isinstance(item, Write) else item.cond


def neighbour_reads(stage: Stage, messages: Mapping[f.Expr, int]) -> frozenset[str]:
    """The fields that a pass reads from neighbours, beyond what it receives as messages."""
    names: set[str] = set()

    def visit(expr: f.Expr) -> None:
        if expr in messages:
            return
        if isinstance(expr, f.Field) and expr.of == "other":
            names.add(expr.name)
        for child in f.children(expr):
            visit(child)

    for expr in expressions_of(stage):
        visit(expr)
    return frozenset(names)


def plan_loop(loop: Loop, facts: Facts) -> LoopPlan:
    """Decide how a loop is run."""
    fact = facts.loop(loop.repeat)
    applied = frozenset(loop.applied)
    explicit = not fact.default_activation
    fused = len(loop.stages) == 1 and bool(loop.steps) and isinstance(loop.steps[-1], Stage)
    inside = [e for stage in loop.stages for expr in expressions_of(stage) for e in f.walk(expr)]
    activate = loop.repeat.activate
    at_end = [e for expr in (activate.cond if activate and explicit else None, loop.repeat.until) if expr is not None
              for e in f.walk(expr)]
    past = {e.name for e in at_end if isinstance(e, f.Field) and e.time != "now"}
    changes = frozenset(e.name for e in at_end if isinstance(e, f.Field) and e.time == "change")
    starts = frozenset() if fused else applied | {e.name for e in inside if isinstance(e, f.Field) and e.time == "old"}
    heard = {e.name for e in inside if isinstance(e, f.Field) and e.of == "other"} & applied
    torn = any(len(heard & set(write.fields)) > 1 for stage in loop.stages for write in stage.writes)
    edges = [stage for stage in loop.stages if stage.domain]
    skip = fact.skip and fused and len(edges) == 1
    reason = fact.skip_reason if skip or not fact.skip else "several passes in a superstep: each runs in full"
    return LoopPlan(
        loop=loop, facts=facts, explicit=explicit, fused=fused,
        reads_iteration=any(e == f.GraphValue(e.type, "iteration", "builtin") for e in inside + at_end),
        skip=skip, skip_reason=reason, heard=frozenset(heard), own=frozenset(fact.own_notify) & applied,
        starts=starts, told=changes if explicit else frozenset(),
        two_buffers=frozenset(past & applied) if fused else frozenset(),
        asynchronous=fact.any_order and not torn,
        asynchronous_reason="neighbours read several parts of a tuple, which must change together" if torn
        else fact.any_order_reason,
    )
