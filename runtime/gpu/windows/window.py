"""The windows of vertices that are on a GPU at the same time, and the arrays that move with them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from vlang.options import Options
from vlang.records import dataclass
from vlang.runtime.engine.state import in_order
from vlang.runtime.gpu.topology.cut import Cut, long_rows
from vlang.runtime.gpu.topology.sides import Side
from vlang.runtime.plan.plan import BLOCK, ForVerticesSpec, Plan, StageSpec, SweepSpec, every_step

__all__ = ["Moves", "Window", "moves_of", "no_windows", "page_windows", "vertex_windows"]


@dataclass(frozen=True)
class Window:
    """A range of vertices, with the pages that hold all edges of these vertices.

    Attributes:
        low, high: the vertices, low to high - 1.
        pages: the first page, and the last page plus 1; two zeros for a pass over vertices.
        longs: the number of the first long vertex, and the number of the last long vertex plus 1.
    """

    low: int
    high: int
    pages: tuple[int, int] = (0, 0)
    longs: tuple[int, int] = (0, 0)


@dataclass(frozen=True)
class Moves:
    """The arrays over vertices that a pass needs from the host.

    Attributes:
        read: the slots that are copied to the device.
        written: the slots that are copied back.
    """

    read: tuple[str, ...]
    written: tuple[str, ...] = ()


def no_windows(plan: Plan, options: Options) -> str:
    """Return the reason why all arrays over vertices must be on the GPU during a run; "" if windows of these arrays may
    move.

    Windows require full passes, because only full passes access the receivers in the order of the pages.
    """
    if options.mode not in ("auto", "pull"):
        return f"mode={options.mode} reads vertices in any order"
    if options.kernel in ("edge", "edge-list"):
        return f"kernel={options.kernel} reads vertices in any order"
    if options.dispatch != "gpu":
        return "dispatch shares the passes with the CPU"
    if options.device_arrays:
        return "device_arrays leaves the results there"
    if plan.states:
        return "edge states stay on the GPU"
    if any(isinstance(step, (SweepSpec, ForVerticesSpec)) for step in every_step(plan.steps)):
        return "a sweep lists vertices"
    if any(stage.pointer for stage in plan.stages):
        return "a pass gathers along pointers"
    return "" if in_order(plan) else "passes read all of them at neighbours"


def moves_of(stage: StageSpec, moving: frozenset[str], sends: bool = False) -> Moves:
    """Return the arrays that a pass needs from the host.

    Args:
        stage: the pass.
        moving: the arrays that are in host memory.
        sends: True for the messages of the pass, False for the pass itself.
    """
    slots = tuple(slot for slot in stage.arrays if slot in moving)
    return Moves(slots, tuple(slot for slot in slots if _writes(stage, slot, sends)))


def _writes(stage: StageSpec, slot: str, sends: bool) -> bool:
    kind, _, name = slot.partition(":")
    if kind == "field":
        return not sends and name in stage.written and name not in stage.swaps
    if kind == "next":
        return not sends and name in stage.swaps
    return not kind.startswith(("degree", "start"))


def vertex_windows(n: int, size: int) -> Iterator[Window]:
    """Yield windows of at most `size` vertices, in order. Each window begins at a multiple of BLOCK."""
    each = max(BLOCK, size // BLOCK * BLOCK)
    for low in range(0, n, each):
        yield Window(low, min(low + each, n))


def page_windows(side: Side, cut: Cut, size: int) -> Sequence[Window]:
    """Return windows of whole pages, in order, with at most `size` vertices each if the pages permit.

    If a row extends over several pages, all of these pages are in one window.
    """
    offsets, longs = side.offsets.view(np.int64), long_rows(side).longs[:, 0]
    lows, found, first = cut.lows, list[Window](), 0
    clean = np.flatnonzero(offsets[lows[:-1]] == cut.starts[:-1]).tolist()  # pages that begin with a whole row
    for page, after in zip(clean, [*clean[1:], cut.pages]):
        if page > first and lows[after] - lows[first] > size:
            found.append(_window(lows, longs, first, page))
            first = page
    return [*found, _window(lows, longs, first, cut.pages)]


def _window(lows: NDArray[np.int64], longs: NDArray[np.int64], first: int, end: int) -> Window:
    low, high = int(lows[first]), int(lows[end])
    begin, stop = np.searchsorted(longs, (low, high)).tolist()
    return Window(low, high, (first, end), (begin, stop))
