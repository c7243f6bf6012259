"""Compare both targets with the interpreter: the engine on the CPU and on an emulated GPU."""

from __future__ import annotations

import shutil
from typing import Any

import numpy as np

from tests.cpu.compare import assert_as_interpreted, assert_cut_free, engine_run, interpreted
from tests.cuda.runs import emulated
from tests.reference.cases import Case
from tests.reference.graph import RefGraph
from tests.sample import EXHAUSTIVE
from vlang import Program, Result, compile

__all__ = ["GPU_WAYS", "assert_both", "long_graph"]

GPU_WAYS: tuple[dict[str, Any], ...] = (
    {"kernel": "thread", "mode": "pull"},
    {"kernel": "warp-segmentation", "mode": "notify-pull", "page_size": 256},
    {"kernel": "edge", "mode": "auto"},
    {"kernel": "stream", "mode": "notify-pull", "page_size": 64, "streams": 3},
    {"kernel": "virtual-warp-4", "mode": "auto", "deterministic": True},
)


def assert_both(
    program: Program | str, case: Case, *, inexact: frozenset[str] | None = None, ways: int = 2,
    same_rounds: bool = True, **options: Any,
) -> Result:
    """Assert that a program gives the interpreter's result on the CPU and on an emulated GPU.

    On the CPU, every partition of the work must give the same bits. Returns the result of the CPU.

    Args:
        ways: how many of GPU_WAYS to run with VLANG_EXHAUSTIVE. Without VLANG_EXHAUSTIVE, the program text determines
            the only way that runs.
        options: options of every run.
    """
    program = compile(program) if isinstance(program, str) else program
    want = interpreted(program, case, **options)
    result = assert_cut_free(program, case) if not options else engine_run(program, case, **options)
    assert_as_interpreted(program, case, result, want, inexact, same_rounds=same_rounds)
    if shutil.which("g++") is not None:
        number = sum(map(ord, program.source))
        with emulated(seed=number):
            for k in range(ways if EXHAUSTIVE else 1):
                way = GPU_WAYS[(number + k) % len(GPU_WAYS)]
                found = engine_run(program, case, device="emulated", **{**options, **way})
                assert_as_interpreted(program, case, found, want, inexact, same_rounds=False)
    return result


def long_graph() -> RefGraph:
    """Return a graph with a vertex of 17,000 in-edges and 17,000 out-edges, which is more than one segment."""
    rng = np.random.default_rng(4)
    ends = rng.integers(0, 90, 17_000)
    src = np.concatenate([ends, np.full(17_000, 3), np.arange(89)])
    dst = np.concatenate([np.full(17_000, 9), ends[::-1], np.arange(1, 90)])
    return RefGraph(90, src, dst, {"weight": ((src + dst) % 9 + 1).astype(np.float32)}, True)
