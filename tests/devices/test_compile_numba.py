"""The compiler of kernels: what it asks of the interpreter below it."""

from __future__ import annotations

import gc
import resource

import pytest

from vlang.runtime.devices.compile_numba import Compiler, _with_room
from vlang.runtime.errors import InternalError


def _leaf(value: int) -> int:
    return value + 1


def _deep(depth: int) -> int:
    """Calls in a loop, so far down."""
    if depth:
        return _deep(depth - 1)
    total = 0
    for i in range(2_000):
        total = _leaf(total + i)
    return total


def _faults() -> int:
    """How often this process touched memory that had to be mapped, while it called in loops at every depth."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for depth in range(200):
        _deep(depth)
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before


def test_calls_far_down_map_no_memory() -> None:
    _with_room(_faults)  # the first time, the room itself is touched
    assert _with_room(_faults) < 300  # without it they are two thousand


@pytest.mark.parametrize("collecting", [True, False])
def test_garbage_is_collected_afterwards_as_before(collecting: bool) -> None:
    compiler = Compiler("def one(out, n):\n    out[0] = n\n\n\ndef wrong(out, n):\n    out[0] = missing\n")
    args = ("i64*", "i64")
    try:
        if not collecting:
            gc.disable()
        assert compiler.object_code("one", "void", args, "one")
        with pytest.raises(InternalError):
            compiler.object_code("wrong", "void", args, "wrong")
        assert gc.isenabled() == collecting
    finally:
        gc.enable()
