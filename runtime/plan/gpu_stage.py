"""The data of a pass that only a GPU needs."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["GpuStage"]


@dataclass(frozen=True)
class GpuStage:
    """The data of a pass on a GPU beyond StageSpec.

    Attributes:
        struct: the C++ type of the pass.
        item: bytes of a contribution.
        accumulator: bytes of the accumulators of a vertex.
        cell: bytes of the cells of a vertex in shared memory; 0 if no atomic operation joins them.
        cell_reason: why `cell` is 0.
        native: every cell is joined by one instruction rather than a compare-and-swap loop.
        exact: the bits of the result do not depend on the order of contributions.
        reads_self: contributions depend on the receiver.
        push: "direct" (contributions are joined into the field itself), "cells" (into a separate array) or "".
        push_reason: why `push` is "".
        early: "frontier" (rule X2: the first active neighbour decides), "absorbing" (rule X1) or "".
        priority: "ascending" or "descending" if vertices may run in the order of the pushed field (rule O), else "".
    """

    struct: str
    item: int = 0
    accumulator: int = 0
    cell: int = 0
    cell_reason: str = ""
    native: bool = False
    exact: bool = True
    reads_self: bool = False
    push: str = ""
    push_reason: str = ""
    early: str = ""
    priority: str = ""
