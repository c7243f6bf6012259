"""The data that only a GPU needs to run a pass."""

from __future__ import annotations

from vlang.records import dataclass
from vlang.runtime.plan.together_spec import TogetherSpec

__all__ = ["GpuStage"]


@dataclass(frozen=True)
class GpuStage:
    """The data of a pass on a GPU, in addition to `StageSpec`.

    Attributes:
        struct: the C++ type of the pass.
        item: bytes of a contribution.
        accumulator: bytes of the accumulators of a vertex.
        cell: bytes of the accumulators of a vertex in shared memory, if atomic operations join contributions there;
            otherwise 0.
        cell_reason: why `cell` is 0; "" otherwise.
        native: whether every atomic operation on `cell` is a single instruction, and not a compare-and-swap loop.
        exact: whether the bits of the result are independent of the order of contributions.
        reads_self: whether contributions depend on the receiver.
        push: "direct" if pushes join contributions into the field itself, "cells" if pushes join them into a separate
            array, "" if the pass cannot push.
        push_reason: why `push` is "".
        early: the rule of early exit: "frontier" (rule X2: the first active neighbour decides), "absorbing" (rule X1)
            or "".
        priority: "ascending" or "descending" if vertices may run in the order of the pushed field (rule O), else "".
        together: what the reductions of the pass read, if several runs can share them; otherwise None.
        alone: the reason why `together` is None; "" if no reason is known.
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
    together: TogetherSpec | None = None
    alone: str = ""
