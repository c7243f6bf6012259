"""What the facts of a loop allow on a GPU beyond pull: push, early exit and priority, each with its reason."""

from __future__ import annotations

from dataclasses import dataclass

from vlang.emit.cuda.cells import Cell
from vlang.emit.dialect import stored_as
from vlang.emit.stage import StageWriter
from vlang.ir import forms as f
from vlang.ir.stages import Write
from vlang.types import VERTEX, Vector

__all__ = ["Early", "Push", "early_of", "push_of"]


@dataclass(frozen=True)
class Push:
    """How active vertices push. kind: "direct", "cells" or "" (reason says why not).

    writes: the write that each gather is joined into, in the order of the gathers. priority: "ascending", "descending"
    or "", by the first field of the first write.
    """

    kind: str
    reason: str
    writes: tuple[Write, ...] = ()
    priority: str = ""


@dataclass(frozen=True)
class Early:
    """Rule X. kind: "frontier", "absorbing" or "". decided: every gather ends at the absorbing element of its
    reduction. done: fields, and the value at which a vertex need not gather: all of them must hold theirs."""

    kind: str = ""
    decided: bool = False
    done: tuple[tuple[str, bool], ...] = ()


def push_of(writer: StageWriter, cells: list[Cell], cell_reason: str) -> Push:
    """Whether and how a stage may push."""
    plan, stage = writer.plan, writer.stage
    if plan is None:
        return Push("", "runs once, for every vertex: there is no frontier")
    facts = plan.facts.loop(plan.loop.repeat)
    if not facts.push.granted:
        return Push("", facts.push.reason)
    if not plan.fused:
        return Push("", "the loop takes several passes a superstep")
    writes = tuple(_target(stage.writes, gather) for gather in stage.gathers)
    joined = tuple(write for write in writes if write is not None)
    if facts.kind != "fixpoint" or len(joined) != len(stage.gathers) or len(joined) != len(stage.writes):
        return Push("", "changes are told once and added up: a push would have to clear what was told")
    if stage.stored or plan.explicit:
        return Push("", "activity is decided by more than a change of the pushed field")
    if not cells:
        return Push("", cell_reason)
    if any(isinstance(gather.reduce.body.type, Vector) for gather in stage.gathers):
        return Push("", "the components of a vector change together: no one operation joins them")
    refused = next((c.places.pushed for c in cells if not c.places.pushed.function), None)
    if refused is not None:
        return Push("", refused.reason)
    why = _not_direct(writer, cells, joined)
    priority = ""
    copied = isinstance(stage.gathers[0].reduce.body, f.Field)  # nothing is added on the way: all go at once
    if facts.priority.granted and "final" in facts.priority.marks and not copied:
        priority = {"down": "ascending", "up": "descending"}.get(facts.directions[joined[0].fields[0]] or "", "")
    if why:
        return Push("cells", f"{facts.push.reason}; beside the field: {why}", joined, priority)
    return Push("direct", f"{facts.push.reason}; into the field itself: {facts.order.reason}", joined, priority)


def _target(writes: tuple[Write, ...], gather: f.Gather) -> Write | None:
    """The write that joins what a gather collects."""
    return next((w for w in writes for e in f.walk(w.value) if e == f.Accumulator(gather.reduce.type, gather.name)),
                None)


def _not_direct(writer: StageWriter, cells: list[Cell], writes: tuple[Write, ...]) -> str:
    """Why contributions may not go into the field itself; "" if they may."""
    stage, plan = writer.stage, writer.plan
    assert plan is not None
    if len(writes) > 1:
        return "the pass writes several fields"
    if stage.before or stage.guard or len(stage.after) != len(writes):
        return "a `where` guards the write"
    if not plan.asynchronous:
        return plan.asynchronous_reason
    (cell,) = cells
    if len(cell.types) > 1:
        return "a tuple changes together"
    if cell.types[0] == VERTEX and cell.reduction == "max":
        return "`none` is stored as the largest vertex"
    if cell.dtype != stored_as(writer.types[writes[0].fields[0]]):
        return "no atomic operation on less than 32 bits"
    return ""


def early_of(writer: StageWriter) -> Early:
    """How early a vertex may stop gathering, or leave it out."""
    plan, stage = writer.plan, writer.stage
    if plan is None or not stage.gathers:
        return Early()
    facts = plan.facts.loop(plan.loop.repeat).early_exit
    plain = not stage.before and not stage.guard and len(stage.after) == 1
    if facts.frontier.granted and plan.fused and plain and not set(stage.written) & writer.given:
        return Early("frontier")
    decided = all(gather.name in facts.gathers for gather in stage.gathers)
    done = [_done(stage.writes, gather, set(facts.done)) for gather in stage.gathers]
    fields = tuple((name, facts.done[name]) for name in dict.fromkeys(done) if name) if all(done) else ()
    return Early("absorbing" if decided or fields else "", decided, fields)


def _done(writes: tuple[Write, ...], gather: f.Gather, fields: set[str]) -> str:
    """The field into which alone a gather goes, if its value may make the gather needless."""
    write = _target(writes, gather)
    return write.fields[0] if write is not None and write.fields[0] in fields else ""
