"""The optimisations in the code of a pass, as text for `vlang explain --stage plan`."""

from __future__ import annotations

from vlang.emit.shared.sending import early_of, joined_writes
from vlang.emit.shared.stage import StageWriter
from vlang.ir.forms.text import expression
from vlang.ir.sweep_levels import Levelled

__all__ = ["stage_notes"]


def stage_notes(writer: StageWriter, by_level: Levelled | None) -> tuple[str, ...]:
    """The notes of a pass, one line each."""
    stage = writer.stage
    notes = [f"message: {expression(expr)}, once per sender" for expr in writer.messages]
    if by_level is not None:
        level = f"level {by_level.distance:+d}" if by_level.distance else "the same level"
        notes.append(f"senders: the vertices of {level} only")
        notes += [f"own factors taken out of {name}" for name in by_level.factored]
    if len(stage.gathers) > 1:
        notes.append(f"one pass for {', '.join(gather.name for gather in stage.gathers)}")
    if stage.guard is not None and stage.gathers:
        notes.append("gathers only for the vertices of its `where` or level")
    return (*notes, *_exits(writer))


def _exits(writer: StageWriter) -> list[str]:
    early = early_of(writer)
    notes = []
    if early.kind == "frontier":
        notes.append("early exit: the first active neighbour decides (rule X2)")
    elif early.kind:
        notes.append("early exit: at the absorbing value (rule X1)")
    if joined_writes(writer)[0] and "identity" not in writer.without and writer.plan is not None:
        facts = writer.plan.facts.loop(writer.plan.loop.repeat)
        fields = sorted({name for one in facts.gathers for name in one.silencing})
        if fields:
            notes.append(f"skipped senders: {', '.join(fields)} at the identity (rule Z)")
    return notes
