"""What a plan says of a pass on a GPU."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["GpuStage"]


@dataclass(frozen=True)
class GpuStage:
    """What the engine must know of a pass on a GPU beyond StageSpec. struct: the C++ type of the pass.

    item, accumulator, cell: bytes of a contribution, of the accumulators of a vertex, and of its cells in shared
    memory (0: no atomic operation joins them, cell_reason says why). native: every cell is joined by one instruction
    rather than a compare-and-swap loop. exact: the bits of the result do not depend on the order of contributions.
    reads_self: contributions depend on the receiver. push: "direct" (contributions are joined into the field itself),
    "cells" (into an array beside it) or "" (push_reason says why not). early: "frontier" (rule X2: the first active
    neighbour decides), "absorbing" (rule X1) or "". priority: "ascending" or "descending" if rule O lets the order of
    the pushed field decide who goes first, else "".
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
