"""The code that a way of running a loop on a GPU adds to a pass; vlang.emit.cuda.ways.gpu_way_texts lists the ways."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from vlang.emit.shared.stage import StageWriter
from vlang.emit.shared.values.dialect import Function
from vlang.records import dataclass

if TYPE_CHECKING:
    from vlang.emit.cuda.cells import Cell
    from vlang.emit.cuda.cuda_dialect import CudaDialect

__all__ = ["GpuPass", "GpuWayText"]


@dataclass(frozen=True)
class GpuPass:
    """A pass over edges that is being written.

    Attributes:
        writer: the writer of the pass.
        dialect: the dialect of the target.
        cells: the cells in which atomic operations join contributions; empty if there are none.
        cell_reason: why there are no cells.
    """

    writer: StageWriter
    dialect: CudaDialect
    cells: Sequence[Cell]
    cell_reason: str


class GpuWayText:
    """Generates the code of a way for one pass over edges. If a way does not override a method, the method adds no
    code.

    Attributes:
        name: the name of the way in vlang.runtime.gpu.ways that runs the loop.
    """

    name = ""

    def __init__(self, stage: GpuPass) -> None:
        self.stage = stage

    def facts(self) -> Mapping[str, Any]:
        """Values of the `GpuStage` attributes that the corresponding way in vlang.runtime.gpu.ways reads."""
        return {}

    def switches(self) -> Mapping[str, int]:
        """Constants of the struct that select code in the kernel templates."""
        return {}

    def over_edges(self) -> Sequence[Function]:
        """Functions of the struct, written after the functions on accumulators and contributions."""
        return ()

    def members(self) -> Sequence[Function]:
        """Functions of the struct, written after all other functions."""
        return ()
