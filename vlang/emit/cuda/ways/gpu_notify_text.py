"""Notify-pull on a GPU: the notify flags of vertices, for passes that skip vertices without changed inputs (rule N)."""

from __future__ import annotations

from vlang.emit.cuda.ways.gpu_way_text import GpuWayText
from vlang.emit.shared.values.dialect import Function

__all__ = ["NotifyText"]


class NotifyText(GpuWayText):
    """Generates the function `notifies`, which returns the flags that `apply` stores for a vertex (0 in a pass that
    skips no vertices).
    """

    name = "notify-pull"

    def over_edges(self) -> tuple[Function, ...]:
        """The function `notifies`."""
        writer = self.stage.writer
        name = writer.stage.name
        if writer.plan is None or name not in writer.plan.readers:
            return (Function("notifies", (), "u8(0)"),)
        return (Function("notifies", (), f"{writer.env.pointer(f'work:notify.{name}', 'u8')}[v]"),)
