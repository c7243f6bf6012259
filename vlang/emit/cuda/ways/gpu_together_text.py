"""Passes whose reductions over the edges a GPU may compute for several runs at a time (vlang.runtime.gpu.together)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from vlang.emit.cuda.ways.gpu_sending import push_of
from vlang.emit.cuda.ways.gpu_way_text import GpuWayText
from vlang.emit.shared.sending import early_of
from vlang.emit.shared.together import shared_spec, unshared_because

__all__ = ["GpuTogetherText"]


class GpuTogetherText(GpuWayText):
    """Says whether several runs may share the reductions of a pass. The kernels of together.cuh call functions that
    every pass has, so no code is added.
    """

    name = "together"

    def facts(self) -> Mapping[str, Any]:
        """What the shared reductions read, or the reason why runs may not share them."""
        reason = self._reason()
        return {"alone": reason} if reason else {"together": shared_spec(self.stage.writer)}

    def _reason(self) -> str:
        writer = self.stage.writer
        if writer.structures:
            return "a vertex takes all that its neighbours contribute at once"
        reason = unshared_because(writer)
        if not reason and early_of(writer).kind:
            return "a vertex stops reading its edges at the first one that decides"
        if not reason and push_of(writer, self.stage.cells, self.stage.cell_reason).kind:
            return "its active vertices push, which reads fewer edges than shared passes save"
        return reason
