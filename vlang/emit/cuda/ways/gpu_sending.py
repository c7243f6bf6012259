"""How active vertices push on a GPU, or the reason why the facts of a loop do not allow a push."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from vlang.emit.shared.sending import joined_writes, one_write
from vlang.emit.shared.stage import StageWriter
from vlang.emit.shared.values.dialect import stored_as
from vlang.ir.forms import forms as f
from vlang.ir.stages import Write
from vlang.records import dataclass
from vlang.types import VERTEX, Vector

if TYPE_CHECKING:
    from vlang.emit.cuda.cells import Cell

__all__ = ["Push", "push_of"]


@dataclass(frozen=True)
class Push:
    """How active vertices push on a GPU.

    Attributes:
        kind: "direct", "cells", or "" if active vertices cannot push.
        reason: the reason why active vertices push in this way, or cannot push.
        writes: for each gather, in order, the write into which the gather is joined.
        priority: "ascending" or "descending", the order of the values of the first field of the first write; "" if
            vertices have no priorities.
    """

    kind: str
    reason: str
    writes: tuple[Write, ...] = ()
    priority: str = ""


def push_of(writer: StageWriter, cells: Sequence[Cell], cell_reason: str) -> Push:
    """How active vertices of a stage may push.

    Args:
        cell_reason: the reason why the stage has no cells; "" if it has cells.
    """
    plan, stage = writer.plan, writer.stage
    joined, reason = joined_writes(writer)
    if plan is None or reason:
        return Push("", reason)
    facts = plan.facts.loop(plan.loop.repeat)
    if not cells:
        return Push("", cell_reason)
    if any(isinstance(gather.reduce.body.type, Vector) for gather in stage.gathers):
        return Push("", "the components of a vector change together: no one operation joins them")
    refused = next((c.places.pushed for c in cells if not c.places.pushed.function), None)
    if refused is not None:
        return Push("", refused.reason)
    why = _not_direct(writer, cells, joined)
    priority = ""
    copied = isinstance(stage.gathers[0].reduce.body, f.Field)  # then priority order is of no use
    if facts.priority.granted and "final" in facts.priority.marks and not copied:
        priority = {"down": "ascending", "up": "descending"}.get(facts.directions[joined[0].fields[0]] or "", "")
    if why:
        return Push("cells", f"{facts.push.reason}; beside the field: {why}", joined, priority)
    return Push("direct", f"{facts.push.reason}; into the field itself: {facts.order.reason}", joined, priority)


def _not_direct(writer: StageWriter, cells: Sequence[Cell], writes: tuple[Write, ...]) -> str:
    """Return the reason why contributions cannot be joined into the field itself; "" if they can."""
    plan = writer.plan
    assert plan is not None
    more = one_write(writer, writes)
    if more:
        return more
    if not plan.asynchronous:
        return plan.asynchronous_reason
    (cell,) = cells
    if len(cell.types) > 1:
        return "a tuple changes together"
    if cell.types[0] == VERTEX and cell.merge == "max":
        return "`none` is stored as the largest vertex"
    if cell.dtype != stored_as(writer.types[writes[0].fields[0]]):
        return "no atomic operation on less than 32 bits"
    return ""
