"""What the writers need to know of a loop: which freedoms its facts grant, and what the engine must keep for it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from vlang.ir import forms as f
from vlang.ir.stages import Loop, Stage, Write

__all__ = ["LoopPlan", "expressions_of"]


@dataclass(frozen=True)
class LoopPlan:
    """Decisions about one loop, the same for every target.

    explicit: `activate when` decides activity. fused: the only pass of the loop also decides activity.
    skip: rule N is granted and used. heard: fields whose change neighbours must hear. own: fields whose change makes
    the vertex itself run again. starts: fields that need a copy from the start of the superstep. told: fields with
    a told array. two_buffers: fields whose pass must not overwrite what it reads.
    """

    loop: Loop
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


def expressions_of(stage: Stage) -> Iterator[f.Expr]:
    """The expressions evaluated in a pass."""
    for gather in stage.gathers:
        yield gather.reduce
    for item in (*stage.before, *stage.after):
        yield item.value if isinstance(item, Write) else item.cond
