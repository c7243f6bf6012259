"""The text that a way of running a loop on a GPU adds to a pass; vlang.emit.cuda.ways.gpu_way_texts lists the ways."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from vlang.emit.shared.dialect import Function
from vlang.emit.shared.stage import StageWriter

if TYPE_CHECKING:
    from vlang.emit.cuda.cells import Cell
    from vlang.emit.cuda.cuda_dialect import CudaDialect

__all__ = ["GpuPass", "GpuWayText"]


@dataclass(frozen=True)
class GpuPass:
    """A pass over edges that is being written.

    Attributes:
        writer: of the pass.
        dialect: of the target.
        cells: in which contributions are joined by atomic operations; empty if there are none.
        cell_reason: why there are none.
    """

    writer: StageWriter
    dialect: CudaDialect
    cells: Sequence[Cell]
    cell_reason: str


class GpuWayText:
    """Generates the code of a way, for one pass over edges. It adds nothing unless a method says so.

    name: of the run half (vlang.runtime.gpu.ways).
    """

    name = ""

    def __init__(self, stage: GpuPass) -> None:
        self.stage = stage

    def facts(self) -> Mapping[str, Any]:
        """Fields of `GpuStage` that the run half reads."""
        return {}

    def switches(self) -> Mapping[str, int]:
        """Constants of the struct that select code in the skeletons."""
        return {}

    def over_edges(self) -> Sequence[Function]:
        """Functions of the struct beside those over accumulators and contributions."""
        return ()

    def members(self) -> Sequence[Function]:
        """Functions of the struct after all others."""
        return ()
