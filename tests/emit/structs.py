"""Run functions of generated structs on the CPU: a frame with arrays, and kernels around the functions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vlang.runtime.plan.plan import FIRST_SLOT, SLOT_STATS, Plan

__all__ = ["Array", "Frame"]

Array = NDArray[Any]


class Frame:
    """The frame of a plan, with an array of n elements for every slot.

    Args:
        arrays: the arrays of fields by name.
    """

    def __init__(self, plan: Plan, n: int, arrays: Mapping[str, Array]) -> None:
        dtypes = {f"field:{f.name}": f.dtype for f in plan.fields} | {a.slot: a.dtype for a in plan.arrays}
        self.words = np.zeros(FIRST_SLOT + len(plan.slots), dtype=np.uint64)
        self.arrays: dict[str, Array] = {}
        stats = np.zeros(4, dtype=np.uint64)
        self.arrays["stats"] = stats
        self.words[SLOT_STATS] = stats.ctypes.data
        for slot, number in plan.slots.items():
            kind, _, name = slot.partition(":")
            if kind == "scalar":
                continue
            stored = dtypes.get(slot, dtypes.get(f"field:{name}", "u32"))
            dtype = np.dtype(f"{stored[0]}{int(stored[1:]) // 8}")
            array = np.zeros(n, dtype=dtype)
            if kind == "field" and name in arrays:
                array[:] = arrays[name].view(dtype)
            self.arrays[slot] = array
            self.words[number] = array.ctypes.data

    @property
    def address(self) -> int:
        """The address of the frame."""
        return int(self.words.ctypes.data)
