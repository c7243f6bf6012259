"""The state of a run: arrays of fields and other vertex arrays, and the frame with their addresses for kernels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vlang.runtime.compile.objects import address_of
from vlang.runtime.plan.plan import BLOCK, FIRST_SLOT, Plan, field_of
from vlang.runtime.storage.memory import empty, zeros
from vlang.runtime.storage.room import named
from vlang.runtime.storage.state.windows import Windows

__all__ = ["State", "flags", "in_order", "set_arrays", "whole_words"]

DTYPES: Mapping[str, np.dtype[Any]] = {
    f"{letter}{bits}": np.dtype(f"{word}{bits}")
    for letter, word, sizes in (("i", "int", (8, 16, 32, 64)), ("u", "uint", (8, 16, 32, 64)), ("f", "float", (32, 64)))
    for bits in sizes
} | {"f16": np.dtype(np.float16), "bool": np.dtype(np.bool_)}  # f16, bool: edge columns only


def flags(n: int) -> NDArray[np.uint8]:
    """Return an array of zeros, uint8[n], whose memory is padded to whole 64-bit words."""
    return zeros(-(-n // 8), np.uint64).view(np.uint8)[:n]


def whole_words(array: NDArray[np.uint8]) -> NDArray[np.uint64]:
    """View an array that `flags` returned, with its padding, as 64-bit words."""
    words = array.base
    assert words is not None
    return words if words.dtype == np.uint64 else words.view(np.uint64)


def set_arrays(name: str, members: NDArray[np.uint32]) -> dict[str, NDArray[np.uint32]]:
    """The arrays, by slot, that represent a set of vertices. `members` has dense numbers.

    For an empty set, the arrays have one entry, so that they have an address.
    """
    members = np.ascontiguousarray(members, dtype=np.uint32) if len(members) else np.zeros(1, np.uint32)
    order = np.argsort(members, kind="stable").astype(np.uint32)
    return {f"set:{name}": members, f"sorted:{name}": members[order], f"places:{name}": order}


def laid_out(plan: Plan, name: str, value: NDArray[Any]) -> NDArray[Any]:
    """Convert the value of a vector or matrix parameter to the layout that kernels read.

    Args:
        plan: The plan.
        name: The parameter.
        value: The components, with shape [components]. The components of a matrix are row by row.

    Returns: An array of the same shape. The components of a matrix are column by column.
    """
    shape = next(spec.shape for spec in plan.arrays if spec.slot == f"given:{name}")
    return value if shape is None else np.ascontiguousarray(value.reshape(shape).T).reshape(-1)


def in_order(plan: Plan) -> frozenset[str]:
    """The slots of arrays over vertices that passes and folds access only in the order of the vertices.

    The result has both buffers of a field or neither buffer, because the buffers are swapped.
    """
    sizes = {spec.slot for spec in plan.arrays if spec.length in ("vertices", "later")}
    slots = {slot for slot in plan.slots if field_of(slot) is not None or slot in sizes or slot.startswith("degree:")}
    mixed = {name for slot in plan.scattered if slot.startswith(("field:", "next:")) and (name := field_of(slot))}
    return frozenset(slots) - plan.scattered - {f"{kind}:{name}" for name in mixed for kind in ("field", "next")}


class State:
    """The arrays of a run by slot name, and the frame with their addresses.

    Args:
        plan: the program.
        n: the number of vertices.
        segments: the number of segments of each adjacency direction in use.
        windows: keeps the arrays of `in_order` in files; None if all arrays are in memory.
        cleared: whether all fields are cleared. Clearing is required if the state may be saved or returned before the
            first pass.
        edges: the number of stored edges, for edge states.

    Raises OutOfMemory if the arrays do not fit in memory, and DiskError if a file of windows cannot be written.
    """

    def __init__(self, plan: Plan, n: int, segments: Mapping[str, int], windows: Windows | None = None,
                 cleared: bool = False, edges: int = 0) -> None:
        self.plan = plan
        self.n = n
        self.windows = windows
        self._in_order = frozenset() if windows is None else in_order(plan)
        self.frame = np.zeros(FIRST_SLOT + len(plan.slots), dtype=np.uint64)
        self.frame_address = address_of(self.frame)
        self.words = self.frame.data  # the same words, which are stored one by one in a third of the time
        self._cells: dict[str, NDArray[Any]] = {}
        self.arrays: dict[str, NDArray[Any]] = {}
        lengths = {"vertices": n, "blocks": -(-n // BLOCK), "one": 1, "edges": edges}
        lengths |= {f"segments:{k}": v for k, v in segments.items()}
        written = frozenset[str]() if cleared else plan.written_first
        try:
            for slot, dtype, length, width in plan.layout:
                self.put(slot, self._zeros(slot, width * lengths.get(length, 0), dtype, slot not in written))
        except MemoryError as error:
            raise named(error, f"the fields of {plan.name} for {n:,} vertices") from None

    def _zeros(self, slot: str, count: int, dtype: str, begun: bool = True) -> NDArray[Any]:
        """Allocate the array of a slot, in memory or in windows. An array in memory is cleared only if `begun` is true.
        """
        if self.windows is not None and slot in self._in_order:
            if dtype == "u8":
                return self.windows.zeros(-(-count // 8), np.uint64).view(np.uint8)[:count]
            return self.windows.zeros(count, DTYPES[dtype])
        if not begun:
            return empty(count, DTYPES[dtype])
        return flags(count) if dtype == "u8" and field_of(slot) is None else zeros(count, DTYPES[dtype])

    def allocate(self, length: str, prefix: str, entries: int) -> None:
        """Allocate arrays that the constructor does not allocate, because not every run needs them.

        Args:
            length: the kind of length (`ArraySpec.length`) of the arrays, such as "blocked".
            prefix: the prefix of the slots of the arrays.
            entries: the number of entries.
        """
        for spec in self.plan.arrays:
            if spec.length == length and spec.slot.startswith(prefix):
                in_file = self.windows is not None and spec.slot in self._in_order
                self.put(spec.slot, self._zeros(spec.slot, entries * spec.width, spec.dtype) if in_file else
                         empty(entries * spec.width, DTYPES[spec.dtype]))

    def drop(self, kind: str) -> None:
        """After the run, free the arrays whose slots begin with `kind`, except arrays in windows."""
        for slot in [slot for slot in self.arrays if slot.startswith(kind) and slot not in self._in_order]:
            del self.arrays[slot]
            self.frame[self.plan.slots[slot]] = 0

    def put(self, slot: str, array: NDArray[Any]) -> None:
        """Store `array` as the array of a slot, and its address in the frame."""
        self.arrays[slot] = array
        self.words[self.plan.slots[slot]] = address_of(array)

    def point(self, slot: int, array: NDArray[Any]) -> None:
        """Store the address of `array` in one of the engine's own slots. The caller keeps the array alive."""
        self.words[slot] = address_of(array)

    def swap(self, field: str) -> None:
        """Swap the two buffers of a field."""
        self.exchange(f"field:{field}", f"next:{field}")

    def turn(self, states: Sequence[str]) -> None:
        """Swap the two arrays of each of some edge states, after a pass that wrote them for all edges."""
        for name in states:
            self.exchange(f"edges:{name}", f"kept:{name}")

    def exchange(self, slot: str, other: str) -> None:
        """Swap the arrays of two slots."""
        arrays, frame, slots = self.arrays, self.words, self.plan.slots
        a, b = slots[slot], slots[other]
        arrays[slot], arrays[other] = arrays[other], arrays[slot]
        frame[a], frame[b] = frame[b], frame[a]

    def exchanged(self, pairs: Sequence[tuple[str, str]]) -> None:
        """Swap the arrays of pairs of slots whose addresses a kernel has exchanged in the frame."""
        for slot, other in pairs:
            self.arrays[slot], self.arrays[other] = self.arrays[other], self.arrays[slot]

    def set_scalar(self, name: str, value: bool | int | float | NDArray[Any]) -> None:
        """Store a graph-level value in its slot, converted to the slot's type.

        An array is a set of vertices, or the components of a vector.
        """
        if isinstance(value, np.ndarray) and f"given:{name}" in self.plan.slots:
            self.arrays[f"given:{name}"][:] = laid_out(self.plan, name, value)
            return
        if isinstance(value, np.ndarray):
            for kind, array in set_arrays(name, value).items():
                if kind in self.plan.slots:
                    self.put(kind, array)
            value = len(value)
        slot = self.plan.slots[f"scalar:{name}"]
        cell = self.frame[slot : slot + 1].view(DTYPES[self.plan.scalars[name]])
        if not isinstance(value, float):
            cell[0] = value
            return
        with np.errstate(over="ignore"):  # numbers that are too large for f32 become infinite
            cell[0] = value

    def scalar(self, name: str) -> Any:
        """A graph-level value as a Python number."""
        cell = self._cells.get(name)
        if cell is None:
            slot = self.plan.slots[f"scalar:{name}"]
            half = (name, "f16") in self.plan.globals  # stored as its 16 bits
            dtype = np.dtype(np.float16) if half else DTYPES[self.plan.scalars[name]]
            cell = self._cells[name] = self.frame[slot : slot + 1].view(dtype)[:1]
        return cell.item()
