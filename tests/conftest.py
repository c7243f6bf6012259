"""Profiles for Hypothesis, and settings for all tests.

The profile `ci` draws the same examples every time, so that a failure repeats. Every test checks the compiler's own
rules (`vlang.ir.invariants`), also in the processes that the test starts. Seven programs in eight are compiled in haste
(`vlang.runtime.compile.llvm`); all programs are fully optimised under VLANG_EXHAUSTIVE. Interrupts are enabled, because
processes that a shell starts in the background ignore interrupts.
"""

from __future__ import annotations

import gc
import os
import signal
from collections.abc import Generator, Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from numpy.typing import DTypeLike, NDArray

from tests.fixed_draws import fix_draws
from tests.sample import EXHAUSTIVE

_SPOILED = 1 << 16  # bytes below which a new array is filled

fix_draws()

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

os.environ.setdefault("VLANG_INVARIANTS", "1")
os.environ.setdefault("VLANG_HASTE", "" if EXHAUSTIVE else "1")

settings.register_profile("ci", derandomize=True, deadline=None, print_blob=True,
                          suppress_health_check=[HealthCheck.too_slow])  # fmt: skip
settings.register_profile("dev", deadline=None, print_blob=True)
settings.load_profile("dev")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collect the tests without garbage collection: nearly all objects that are created stay alive."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--bless", action="store_true", help="write the messages of tests/mistakes as they are now")


@pytest.fixture(autouse=True, scope="session")
def spoil_new_arrays() -> Iterator[None]:
    """Fill small uninitialised arrays with a pattern, so that a test fails if a run reads them too early."""
    from vlang.runtime.storage import memory  # late, so that coverage sees the import

    plain = memory.Memory.empty

    def spoiled(self: memory.Memory, count: int, dtype: DTypeLike) -> NDArray[Any]:
        array = plain(self, count, dtype)
        if array.nbytes < _SPOILED:
            array.view(np.uint8)[:] = 0xA5
        return array

    memory.Memory.empty = spoiled  # type: ignore[method-assign]
    yield
    memory.Memory.empty = plain  # type: ignore[method-assign]


@pytest.fixture(autouse=True, scope="module")
def collect_only_new_garbage() -> None:
    """Exclude the objects of earlier modules from garbage collection. A collection of these millions of objects takes 3
    s.
    """
    gc.collect()  # arrays in garbage would count as used for ever
    gc.freeze()
