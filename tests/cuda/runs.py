"""Runs of programs on an emulated device, with kernels compiled in advance and a choice of settings."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from threading import get_ident
from typing import Any

import numpy as np

from tests.cpu.compare import assert_as_interpreted, engine_run, interpreted
from tests.cuda.emulation.emulated import EmulatedDevice, EmulatedGpu, EmulatedStream, Library, compile_text
from tests.reference.cases import Case, case
from tests.reference.graph import RefGraph
from tests.reference.graphs import family
from tests.reference.outcome import Outcome
from vlang import OutOfMemory, Program, Result, load
from vlang.runtime.gpu.device.choose import stand_in
from vlang.runtime.gpu.kernels.entries import EXCHANGE_PREPARATIONS, EXCHANGE_SIGNATURES, PREPARATIONS, entry
from vlang.runtime.gpu.kernels.row_lengths import LANES
from vlang.runtime.gpus.part_machine import mirrored
from vlang.runtime.plan.plan import Plan, StageSpec

__all__ = ["APPROXIMATE", "GRAPHS", "assert_right", "emulated", "expected", "given", "least_memory", "program", "run"]

APPROXIMATE = ("circuit", "heat", "katz", "neural", "pagerank", "rwr")
"""Programs whose loops end when floats stop changing. Rounding may delay the end, so they run ROUNDS supersteps."""

PRIORITISED = ("sssp", "sswp", "viterbi")
"""Programs with loops that push by priority."""

ROUNDS = 7

_PULLS: Sequence[tuple[str, tuple[int, ...]]] = (
    ("pull_thread", ()), ("pull_segmented", ()), ("pull_stream", ()), *(("pull_lanes", (lanes,)) for lanes in LANES),
)


def _drawn(n: int, edges: int, seed: int) -> RefGraph:
    """Return a skewed directed graph with repeated edges, loops and vertices without edges."""
    rng = np.random.default_rng(seed)
    src, dst = (n * rng.random((2, edges)) ** 2).astype(np.int64)
    return RefGraph(n, src, dst, {"weight": ((src + 3 * dst) % 9 + 1).astype(np.float32) / 2}, True)


def _long() -> RefGraph:
    """Return a graph with two long vertices: one has 17,000 in-edges, which form several segments, and the other has
    17,000 out-edges.
    """
    rng = np.random.default_rng(4)
    ends = rng.integers(0, 90, 17_000)
    src = np.concatenate([ends, np.full(17_000, 3), np.arange(89)])
    dst = np.concatenate([np.full(17_000, 9), ends[::-1], np.arange(1, 90)])
    return RefGraph(90, src, dst, {"weight": ((src + dst) % 9 + 1).astype(np.float32)}, True)


def _wide() -> RefGraph:
    """Return a graph of a hub, its 2,500 neighbours, 2,500 vertices next to these neighbours, and a tail. The frontiers
    on this graph are far larger than a warp can stage.
    """
    n = 5_010
    first, second, tail = np.arange(1, 2_501), np.arange(2_501, 5_001), np.arange(5_001, n)
    src = np.concatenate([np.zeros(2_500, np.int64), first, [17], tail[:-1]])
    dst = np.concatenate([first, second, [5_001], tail[1:]])
    return RefGraph(n, src, dst, {"weight": ((src + 3 * dst) % 9 + 1).astype(np.float32)}, True)


GRAPHS = {
    "skewed": lambda: _drawn(300, 1500, 1),
    "dense": lambda: _drawn(40, 900, 2),
    "sparse": lambda: _drawn(700, 800, 3),
    "grid": lambda: family("grid", directed=False),
    "path": lambda: family("path", directed=False),
    "star": lambda: family("star_in"),
    "messy": lambda: family("messy", weights="float"),
    "components": lambda: family("two_components", directed=False),
    "no_edges": lambda: family("no_edges"),
    "empty": lambda: family("empty"),
    "long": _long,
    "wide": _wide,
}


@functools.cache
def program(name: str) -> Program:
    """Return a program of the library, compiled once."""
    return load(name)


@functools.cache
def given(name: str, graph: str) -> Case | None:
    """Return the arguments of a program on one of GRAPHS; None if the program needs a vertex and the graph is empty."""
    return case(name, GRAPHS[graph]())


@functools.cache
def expected(name: str, graph: str) -> Outcome:
    """Return the interpreter's result of a program on one of GRAPHS."""
    return interpreted(program(name), _given(name, graph), **_limits(name))


def _given(name: str, graph: str) -> Case:
    found = given(name, graph)
    assert found is not None
    return found


def _limits(name: str) -> dict[str, int]:
    return {"max_rounds": ROUNDS} if name in APPROXIMATE else {}


# ---------------------------------------------------------------------------------------------------- compiled ahead
def _of_stage(stage: StageSpec) -> Iterator[tuple[str, str]]:
    assert stage.gpu is not None
    struct = stage.gpu.struct
    if stage.domain is None:
        yield entry("compute", struct)
        return
    for template, constants in _PULLS:
        yield entry(template, struct, *constants)
    for template in ("segments", "finish", *(("pull_shards",) if stage.gpu.cell else ())):
        yield entry(template, struct)
    if "messages" in stage.kernels:
        yield entry("messages", struct)


def _exchanges(plan: Plan) -> dict[str, str]:
    """Return the kernels with which several devices exchange values."""
    dtypes = {f"field:{field.name}": field.dtype for field in plan.fields} | {a.slot: a.dtype for a in plan.arrays}
    types = {f"u{dtypes[slot][1:]}" for slot in mirrored(plan)}
    return dict([*(entry(name) for name in EXCHANGE_PREPARATIONS),
                 *(entry(name, one) for name in EXCHANGE_SIGNATURES for one in types)])


def _entries(plan: Plan) -> dict[str, str]:
    found = dict(entry(name) for name in PREPARATIONS)
    for stage in plan.stages:
        found.update(_of_stage(stage))
    for spec in plan.values:
        found.update([entry("scalar", f"v{spec.index}")])
        if spec.fold is not None:
            found.update([entry("fold", f"v{spec.index}"), entry("fold_scalar", f"v{spec.index}")])
    return found


@functools.cache
def _compiled(name: str, flags: tuple[str, ...], several: bool = False) -> dict[str, Library]:
    """Compile the usual kernels of a standard program into one library by one call of g++. Return a mapping from the
    text of each kernel to the kernel.

    The device compiles rarely needed kernels when they are loaded.
    """
    found = _given(name, "skewed")
    columns, fields = frozenset(found.graph.columns), frozenset(found.fields)
    plan = program(name).plan(columns, fields, target="cuda", renumbered=several)
    return {plan.text: compile_text(plan.text, _entries(plan) | (_exchanges(plan) if several else {}), flags)}


@contextmanager
def emulated(
    name: str = "", seed: int = 0, flags: tuple[str, ...] = ("-O0",), lanes: int = 512, unified: bool = True,
    gpu: EmulatedGpu | None = None, several: bool = False, architecture: str = "sm_80",
) -> Iterator[list[EmulatedDevice]]:
    """Return a context manager in which `device="emulated"` opens an EmulatedDevice. The value of the context manager
    is the list of opened devices.

    The devices of "emulated:0,1" run their streams in one random order, which only events restrict.

    Args:
        name: the standard program whose kernels are compiled in advance.
        seed: the seed of the random order of streams, lanes and blocks.
        flags: see `compile_text`.
        lanes: lanes per multiprocessor.
        unified: whether kernels can read host memory.
        gpu: the GPU whose memory outlives a run; None for a new GPU.
        several: whether several devices exchange values.
        architecture: the architecture of the devices.
    """
    libraries = _compiled(name, flags, several) if name else {}
    opened: list[EmulatedDevice] = []
    worlds: dict[int, list[EmulatedStream]] = {}  # by thread: runs in other threads have devices of their own

    def open_one(_: int, memory: int | None) -> EmulatedDevice:
        device = EmulatedDevice(seed + len(opened), memory or 1 << 28, flags=flags, lanes=lanes, libraries=libraries,
                                unified=unified, gpu=gpu, world=worlds.setdefault(get_ident(), []),
                                architecture=architecture)
        opened.append(device)
        return device

    with stand_in("emulated", open_one):
        yield opened


def run(
    name: str, graph: str, seed: int = 0, flags: tuple[str, ...] = ("-O0",), ahead: bool = True, lanes: int = 512,
    unified: bool = True, device: str = "emulated", architecture: str = "sm_80", **options: Any,
) -> Result:
    """Run a standard program on one of GRAPHS on emulated devices. Raises AssertionError if a device exceeds its
    budget.

    Args:
        name: the program.
        graph: the graph.
        seed: the seed of the random order of streams, lanes and blocks.
        flags: see `compile_text`.
        ahead: whether to compile the usual kernels of the program in advance.
        lanes: lanes per multiprocessor.
        unified: whether kernels can read host memory.
        device: the option `device`: "emulated", or "emulated:0,1" for two devices.
        architecture: the architecture of the devices.
        options: options of the run.
    """
    with emulated(name if ahead else "", seed, flags, lanes, unified, several="," in device,
                  architecture=architecture) as opened:
        result = engine_run(program(name), _given(name, graph), device=device, **{**_limits(name), **options})
    assert len(opened) == device.count(",") + 1
    assert all(one.most <= one.budget() for one in opened)
    return result


def least_memory(name: str, graph: str, **options: Any) -> int:
    """Return the least device memory, in bytes, with which a run keeps all vertex arrays on the device. A binary search
    finds this value to within 64 bytes.
    """
    refused, taken = 0, 1 << 21
    while taken - refused > 64:
        budget = (taken + refused) // 2
        try:
            found = run(name, graph, gpu_memory=budget, **options)
        except OutOfMemory:
            refused = budget
        else:
            windows = any(" windows; every pass is full" in note for note in found.notes)
            refused, taken = (budget, taken) if windows else (refused, budget)
    return taken


def assert_right(name: str, graph: str, result: Result) -> None:
    """Compare with the interpreter: integers exactly, floats within 1e-5.

    Runs with updates in place may take fewer supersteps. Runs that push by priority (rule O) take more supersteps, each
    with fewer edges.
    """
    outcome = expected(name, graph)
    assert_as_interpreted(program(name), _given(name, graph), result, outcome, same_rounds=False)
    if name not in APPROXIMATE:
        assert result.converged == outcome.converged
        pushed = any(round_.mode == "push" for round_ in result.history)
        assert result.rounds <= sum(outcome.rounds) or (pushed and name in PRIORITISED)
