"""The compiler of kernels: what it asks of the interpreter below it."""

from __future__ import annotations

import gc
import re
import resource
from pathlib import Path

import pytest

import vlang
from vlang.errors import InternalError
from vlang.runtime.compile.compile_numba import Compiler, _with_room
from vlang.runtime.compile.objects import COMPILERS, CONSTANTS

_ROOT = Path(vlang.__file__).parent
_TEXTS = [*_ROOT.glob("emit/cpu/skeletons/*.py"), *(_ROOT / "runtime/kernels").glob("*.py"),
          *(_ROOT / "runtime/graph/kernels").glob("*.py")]  # those of the last folder hold what they import from it


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


def test_a_changed_constant_is_compiled_anew() -> None:
    """What kernels import, and what that imports, is part of the key of their object code."""
    known = {(_ROOT / "runtime/compile" / name).resolve() for name in (*COMPILERS, *CONSTANTS)}
    imported: set[Path] = set()
    files = [path for path in _TEXTS if path.name != "__init__.py"]
    assert len(files) > 25
    while files:
        for module in re.findall(r"^from (vlang[\w.]+) import", files.pop().read_text(), re.M):
            path = (_ROOT.parent / module.replace(".", "/")).with_suffix(".py").resolve()
            if path not in imported and "graph/kernels" not in path.as_posix():
                imported.add(path)
                files.append(path)
    assert imported <= known, [str(path) for path in imported - known]
