"""`import vlang` is cheap, and each public name is the right object."""

from __future__ import annotations

import subprocess
import sys

import pytest

import vlang
from vlang import errors

HEAVY = ("numba", "llvmlite", "cupy", "rich", "numpy", "scipy", "networkx", "click", "lark")


def run(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_import_loads_nothing_heavy() -> None:
    loaded = run("import sys, vlang; print(*(m for m in sys.modules if '.' not in m))").split()
    assert not set(loaded) & set(HEAVY)


def test_import_is_fast() -> None:
    """The import takes less than 0.1 s of CPU time in addition to the start of the interpreter."""
    best = min(
        float(run("import time; t = time.process_time(); import vlang; print(time.process_time() - t)"))
        for _ in range(3)
    )
    assert best < 0.1


def test_checking_a_program_loads_no_compiler() -> None:
    loaded = run("import sys, vlang; vlang.load('bfs'); print(*(m for m in sys.modules if '.' not in m))").split()
    assert not set(loaded) & {"numba", "rich", "cupy", "scipy", "networkx", "click"}


def test_public_names() -> None:
    assert len(vlang.__all__) <= 24
    for name in vlang.__all__:
        assert getattr(vlang, name) is not None
    assert set(vlang.__all__) <= set(dir(vlang))
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = vlang.nothing


@pytest.mark.parametrize(
    ("ours", "builtin"),
    [
        (errors.ProgramError, SyntaxError), (errors.ProgramTypeError, TypeError), (errors.BindError, TypeError),
        (errors.GraphError, ValueError), (errors.DiskError, OSError), (errors.OutOfMemory, MemoryError),
        (errors.DeviceError, RuntimeError), (errors.ChaosError, AssertionError), (errors.ResumeError, ValueError),
        (errors.CheckpointError, ValueError),
    ],
)  # fmt: skip
def test_errors_are_also_builtins(ours: type[Exception], builtin: type[Exception]) -> None:
    assert issubclass(ours, vlang.Error)
    assert issubclass(ours, builtin)
    assert str(ours("one message")) == "one message"
