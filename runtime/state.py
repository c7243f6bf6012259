"""Vertex state of a run: one array per field, what goes with it, and the frame that shows kernels where it lies."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vlang.runtime.errors import OutOfMemory
from vlang.runtime.kernelset import BLOCK, FIRST_SLOT, Plan

__all__ = ["State", "flags", "whole_words"]

DTYPES: Mapping[str, np.dtype[Any]] = {
    f"{letter}{bits}": np.dtype(f"{word}{bits}")
    for letter, word, sizes in (("i", "int", (8, 16, 32, 64)), ("u", "uint", (8, 16, 32, 64)), ("f", "float", (32, 64)))
    for bits in sizes
}


def flags(n: int) -> NDArray[np.uint8]:
    """A zeroed byte per vertex, in memory of whole words."""
    return np.zeros(-(-n // 8), dtype=np.uint64).view(np.uint8)[:n]


def whole_words(array: NDArray[np.uint8]) -> NDArray[np.uint64]:
    """The words behind what `flags` made."""
    words = array.base
    assert words is not None
    return words if words.dtype == np.uint64 else words.view(np.uint64)


class State:
    """The arrays of a run by slot name, and the frame with their addresses.

    segments: for each orientation in use, the number of segments of its long vertices.
    Raises OutOfMemory if the arrays do not fit.
    """

    def __init__(self, plan: Plan, n: int, segments: Mapping[str, int]) -> None:
        self.plan = plan
        self.n = n
        self._halves = {name for name, type_ in plan.globals if type_ == "f16"}  # stored as their 16 bits
        self.frame = np.zeros(FIRST_SLOT + len(plan.slots), dtype=np.uint64)
        self.arrays: dict[str, NDArray[Any]] = {}
        lengths = {"vertices": n, "blocks": -(-n // BLOCK)} | {f"segments:{k}": v for k, v in segments.items()}
        dtypes = {field.name: field.dtype for field in plan.fields}
        specs = {array.slot: (array.dtype, lengths.get(array.length, 0)) for array in plan.arrays}
        try:
            for slot in plan.slots:
                kind, _, name = slot.partition(":")
                if kind in ("field", "next", "start", "told"):
                    self.put(slot, np.zeros(n, dtype=DTYPES[dtypes[name]]))
                elif slot in specs:
                    dtype, length = specs[slot]
                    self.put(slot, flags(length) if dtype == "u8" else np.zeros(length, dtype=DTYPES[dtype]))
        except MemoryError:
            raise OutOfMemory(f"the fields of {plan.name} for {n:,} vertices do not fit into memory") from None

    def allocate(self, length: str, prefix: str) -> None:
        """Give the arrays of a length that is not allocated at the start their n entries."""
        for spec in self.plan.arrays:
            if spec.length == length and spec.slot.startswith(prefix):
                self.put(spec.slot, np.empty(self.n, dtype=DTYPES[spec.dtype]))

    def put(self, slot: str, array: NDArray[Any]) -> None:
        """Let `array` stand in a slot."""
        self.arrays[slot] = array
        self.frame[self.plan.slots[slot]] = array.ctypes.data

    def point(self, slot: int, array: NDArray[Any]) -> None:
        """Let one of the engine's own slots point to `array`, which the caller keeps alive."""
        self.frame[slot] = array.ctypes.data

    def swap(self, field: str) -> None:
        """Exchange the two buffers of a field."""
        now, new = self.arrays[f"field:{field}"], self.arrays[f"next:{field}"]
        self.put(f"field:{field}", new)
        self.put(f"next:{field}", now)

    def set_scalar(self, name: str, value: bool | int | float) -> None:
        """Store a graph-level value in its slot, converted to its type."""
        slot = self.plan.slots[f"scalar:{name}"]
        with np.errstate(over="ignore"):  # a number too large for f32 is infinite there
            self.frame[slot : slot + 1].view(DTYPES[self.plan.scalars[name]])[0] = value

    def scalar(self, name: str) -> Any:
        """A graph-level value as a Python number."""
        slot = self.plan.slots[f"scalar:{name}"]
        dtype = np.dtype(np.float16) if name in self._halves else DTYPES[self.plan.scalars[name]]
        return self.frame[slot : slot + 1].view(dtype)[0].item()
