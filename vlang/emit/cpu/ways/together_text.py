"""Passes whose sums over the edges may be shared by several runs (vlang.runtime.cpu.together).

A pass that runs may share adds up one field or message per edge, so that runs differ only in these values: their sums
can be computed side by side, and every sum adds in the order in which the kernel "pull" adds. The skeleton `summed`
computes the rest of the superstep from the sums of one run.
"""

from __future__ import annotations

from vlang.emit.cpu.ways.way_text import PASS, Added
from vlang.emit.shared.stage import StageWriter
from vlang.ir.forms import forms as f
from vlang.runtime.plan.together_spec import TogetherSpec
from vlang.types import F32, F64

__all__ = ["TogetherText"]


class TogetherText:
    """Says whether several runs may share the sums of a pass."""

    name = "together"

    def write(self, writer: StageWriter) -> Added:
        """The kernel that takes sums, and the slots of messages and sums.

        If a pass computes more than a sum of messages, the result is only the reason why runs cannot share the pass.
        """
        reason = _refused(writer)
        if reason:
            return Added(reason=reason)
        body = writer.stage.gathers[0].reduce.body
        slot = f"work:message.{writer.stage.name}.{writer.messages[body]}" if body in writer.messages else \
            f"field:{body.name}" if isinstance(body, f.Field) else ""
        spec = TogetherSpec(slot, "f32" if body.type == F32 else "f64", f"part:{writer.stage.name}.0")
        return Added(spec, skeletons=("summed",), roles={"summed": PASS})


def _refused(writer: StageWriter) -> str:
    """Why runs may not share the sums of a pass; "" if they may."""
    stage = writer.stage
    if stage.domain not in ("in", "out", "both"):
        return "it reads no edges"
    if len(stage.gathers) != 1 or stage.guard is not None or stage.before or writer.changes_sent:
        return "it gathers more than one sum, at some vertices only, or changes"
    reduce = stage.gathers[0].reduce
    if reduce.operator != "+" or reduce.body.type not in (F32, F64):
        return "it does not gather a sum of floats"
    if reduce.cond is not None or reduce.default is not None or reduce.group is not None:
        return "its sum has a condition, a default or groups"
    body = reduce.body
    if body not in writer.messages and not (isinstance(body, f.Field) and (body.of, body.time) == ("other", "now")):
        return "what an edge contributes is neither a field of its neighbour nor a message"
    return ""
