"""`Program.map` on a GPU: runs that share full passes have the bits of runs that follow one another."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import vlang
from tests.api.test_many_runs import MIXED, SEED, compared, same
from tests.cuda.emulation.emulated import EmulatedDevice, needs_compiler
from tests.cuda.runs import emulated
from vlang import Graph, Options
from vlang.api.running import together_on_gpu
from vlang.runtime.cpu.together import sharing
from vlang.runtime.cpu.together.group import LEAST
from vlang.runtime.gpu.together import machine
from vlang.runtime.plan.plan import SEGMENT

pytestmark = needs_compiler

KERNELS = ("thread", "virtual-warp-4", "warp-segmentation", "stream")


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[EmulatedDevice]]:
    """Let runs share passes on small graphs, too. Yields the devices that runs open."""
    monkeypatch.setattr(together_on_gpu, "_FEWEST", 0)
    with emulated() as opened:
        yield opened


def uneven() -> Graph:
    """Return a random graph with rows that a thread, a warp and a block reduce, and a row of three segments."""
    rng = np.random.default_rng(SEED)
    target = np.concatenate([rng.integers(0, 190, 900), np.repeat([3, 7, 40, 41], [2 * SEGMENT + 5, 1500, 90, 33])])
    return Graph.from_edges(rng.integers(0, 190, len(target)), target, vertices=np.arange(200)).with_rule_weights(1, 4)


def test_shared_sums_have_the_order_of_each_kernel(gpu: list[EmulatedDevice]) -> None:
    """Runs end after different numbers of supersteps, and the last ones run alone."""
    graph, ppr = uneven(), vlang.load("ppr")
    seeds, tols = [[k, 3 * k + 1] for k in range(LEAST + 2)], [10.0 ** -(2 + 2 * (k % 4)) for k in range(LEAST + 2)]
    for kernel in KERNELS:
        found = compared(ppr, graph, options=Options(device="emulated", kernel=kernel), seeds=seeds, tol=tols)
        assert len({one.rounds for one in found}) > 2
        assert found[0].together.startswith(f"{LEAST + 2} runs went together: they shared "), kernel
        assert "shared 0 " not in found[0].together
        assert sum(name.startswith("pull_woven") for name in gpu[-LEAST - 3].launches) == 1, kernel


def test_other_reductions_and_edge_columns(gpu: list[EmulatedDevice]) -> None:
    """Runs share traversals if they have the same value of a parameter that contributions read."""
    program, cuts = vlang.compile(MIXED), [1.0] * LEAST + [2.0] * LEAST + [3.0]
    found = compared(program, uneven(), options=Options(device="emulated"), source=list(range(len(cuts))), cut=cuts)
    assert found[0].together.endswith("they shared 6 traversals of the edges")  # two in each of three supersteps


def test_memory_and_times_decide(gpu: list[EmulatedDevice], monkeypatch: pytest.MonkeyPatch) -> None:
    """As many runs share passes as fit into the memory of the GPU, and on larger graphs the faster way goes on. The
    graph keeps the times, and not the arrays of the runs.
    """
    graph, ppr, seeds = uneven(), vlang.load("ppr"), [[k] for k in range(17)]
    options = Options(device="emulated", max_rounds=2, kernel="thread")
    plain = ppr(graph, seeds=[16], options=options)
    results = ppr.map(graph, seeds=seeds, options=options)
    assert {one.together for one in results} == {"17 runs went together: they shared 2 traversals of the edges"}
    room = (gpu[0].most + gpu[1].most) // 2
    found = list(ppr.map(graph, seeds=seeds, options=replace(options, gpu_memory=room)))
    most = int(found[0].together.split()[0])
    assert LEAST <= most < len(seeds) - LEAST
    assert found[most].together.endswith("runs went together: they shared 2 traversals of the edges")
    assert all(device.most <= device.budget() for device in gpu)
    same(found[16], plain)
    little = ppr.map(graph, seeds=seeds[:8], options=replace(options, gpu_memory=gpu[0].most))
    assert "GPU memory has no room for more at a time" in next(little).together
    monkeypatch.setattr(machine, "_TRIED", 0)
    monkeypatch.setattr(sharing, "_TRIES", (4, 2))
    found = compared(ppr, graph, options=replace(options, max_rounds=None), seeds=seeds[:8])
    assert "by themselves, to compare, or since that is faster" in found[0].together
    gc.collect()
    assert [one for one in gc.get_objects() if isinstance(one, machine.TogetherGpuMachine)] == []


@pytest.mark.parametrize(("name", "given", "why"), [
    ("bfs", {"source": list(range(8))}, "a vertex stops reading its edges at the first one that decides"),
    ("sssp", {"source": list(range(8))}, "its active vertices push"),
    ("cdlp", {"iterations": [1] * 8}, "a vertex takes all that its neighbours contribute at once"),
    ("ppr", {"seeds": [[1], [2]]}, "fewer than 6 runs"),
    ("ppr", {"seeds": [[k] for k in range(8)], "kernel": "edge-list"}, "with the option `mode`"),
])
@pytest.mark.usefixtures("gpu")
def test_other_runs_say_why_they_read_by_themselves(name: str, given: dict[str, Any], why: str) -> None:
    series = {key: value for key, value in given.items() if key != "kernel"}
    program, graph, options = vlang.load(name), uneven(), Options(device="emulated", kernel=given.get("kernel", "auto"))
    calls = [program.bound(graph, options, dict(zip(series, row)))[1] for row in zip(*series.values())]
    assert why in together_on_gpu.alone_on_gpu_because(program, calls)
