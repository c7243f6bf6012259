"""Run a workload of the GPU benchmark: the call, the memory budget, the timing and the checks."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from statistics import median
from typing import Any

from benchmarks.gpu import checks
from benchmarks.gpu.inputs import Input
from benchmarks.gpu.works import Work
from vlang import Program, Result, load
from vlang.errors import OutOfMemory
from vlang.options import RESEARCH

__all__ = ["BUFFERS", "Timing", "bytes_of_edges", "least_budget", "measure", "prepared"]

REPEATS = 5
BUFFERS = 32 << 20  # largest number of bytes of page buffers when no edges are resident
FEW, MANY = 3, 19  # sweeps of two runs; the difference of their times gives the time of one sweep


@dataclass(frozen=True)
class Timing:
    """The times of a run, or of one sweep, in milliseconds.

    Attributes:
        ms: the median.
        samples: all times.
        steps: the median of the supersteps alone, without initializers, contracts and work between supersteps.
        call: the median of the whole call.
        rounds, edges: supersteps and traversed edges of the run or sweep.
    """

    ms: float
    samples: list[float]
    steps: float
    call: float
    rounds: float
    edges: float


@dataclass(frozen=True)
class Call:
    """A program, a graph, and arguments to run it with."""

    program: Program
    given: Input
    arguments: dict[str, Any]

    def __call__(self, **more: Any) -> Result:
        return self.program(self.given.graph, **spelled({**self.arguments, **more}))

    def timed(self, **more: Any) -> tuple[Result, float]:
        """Return the result of a run, and the seconds of the whole call."""
        begin = time.perf_counter()
        result = self(**more)
        return result, time.perf_counter() - begin


@cache
def program(name: str) -> Program:
    """Return a program of the standard library."""
    return load(name)


def spelled(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the keywords of a call from parameters and options in one dict; research options go into `research`."""
    rest = {name: value for name, value in arguments.items() if name not in RESEARCH}
    return {**rest, "research": {name: value for name, value in arguments.items() if name in RESEARCH}}


def prepared(work: Work, given: Input, options: dict[str, Any]) -> Call:
    """Return the call of a workload.

    The share of resident edges determines the memory budget of the call.

    Args:
        options: run options such as `device`.
    """
    arguments = dict(options)
    if work.kind in ("bfs", "sssp"):
        arguments["source"] = given.source
    if work.kind == "pagerank":
        arguments["tol"] = 0.0
    call = Call(program(work.kind), given, arguments)
    if work.budget:
        return replace(call, arguments={**arguments, "gpu_memory": work.budget})
    if work.streamed:
        edges = bytes_of_edges(work, given)
        budget = least_budget(call) + max(int(work.resident * edges), min(BUFFERS, edges // 8))
        call = replace(call, arguments={**arguments, "gpu_memory": budget})
    return call


def bytes_of_edges(work: Work, given: Input) -> int:
    """Return the bytes of topology that one pass over all edges reads: neighbours, and weights if the program uses
    weights.
    """
    return len(given.graph.adjacency("in")) * (8 if work.kind == "sssp" else 4)


def least_budget(call: Call) -> int:
    """Return the least device memory, in bytes, of a run that keeps all vertex arrays on the device. A traversal keeps
    its frontiers on the device, too.

    The error is at most a hundredth of the bytes of the edges.
    """
    graph = call.given.graph
    frontiers = {"mode": "push"} if "source" in call.arguments else {}  # otherwise full passes, with less memory
    grain = max(1 << 16, graph.m * 4 // 100)
    refused, taken = 0, graph.n * 64 + (512 << 20)
    while taken - refused > grain:
        budget = (taken + refused) // 2
        try:
            call(gpu_memory=budget, max_rounds=1, device_arrays=True, **frontiers)
        except OutOfMemory:
            refused = budget
        else:
            taken = budget
    return taken


def measure(work: Work, call: Call, repeats: int = REPEATS, check: bool = True) -> Timing:
    """Check one run of a workload, then time it. Each run keeps as many edges on the device as the budget allows.

    Args:
        work: the workload.
        call: the call of the workload.
        repeats: how often to time it.
        check: whether to check a result first.
    """
    if work.kind == "pagerank":
        return _sweeps(call, repeats, check)
    result = call()
    if check:
        CHECKS[work.kind](call.given, result)
    runs = [call.timed() for _ in range(repeats)]
    samples = [result.seconds * 1e3 for result, _ in runs]
    return Timing(median(samples), samples, median(steps_ms(result) for result, _ in runs),
                  median(seconds for _, seconds in runs) * 1e3, result.rounds, result.edges)  # fmt: skip


def steps_ms(result: Result) -> float:
    """Return the milliseconds of the supersteps."""
    return sum(row.seconds for row in result.history) * 1e3


def _sweeps(call: Call, repeats: int, check: bool) -> Timing:
    few, many = call(max_rounds=FEW), call(max_rounds=MANY)
    more = many.rounds - few.rounds  # fewer than MANY - FEW if the ranks of a small graph converge
    assert more > 0, f"{many.rounds} supersteps: {many.reason}"
    if check:
        checks.check_sweep(call.given, few, call(max_rounds=FEW + 1))
    samples, steps, calls = [], [], []
    for _ in range(repeats):
        short, long = call.timed(max_rounds=FEW), call.timed(max_rounds=MANY)
        samples.append((long[0].seconds - short[0].seconds) * 1e3 / more)
        steps.append((steps_ms(long[0]) - steps_ms(short[0])) / more)
        calls.append(long[1] * 1e3)
    return Timing(median(samples), samples, median(steps), median(calls), 1, (many.edges - few.edges) / more)


CHECKS: dict[str, Callable[[Input, Result], None]] = {
    "bfs": checks.check_levels,
    "sssp": checks.check_paths,
    "components": checks.check_components,
}
