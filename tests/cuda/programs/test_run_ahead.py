"""Loops that queue a superstep before the last one has ended give the bits of loops that wait."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.cuda.emulation.emulated import needs_compiler
from tests.cuda.runs import emulated
from vlang import Graph, Result, compile
from vlang.runtime.gpu.gpu_machine import GpuMachine
from vlang.runtime.gpu.passes.gpu_state import GpuState
from vlang.runtime.gpu.ways import run_ahead
from vlang.runtime.gpu.ways.run_ahead import RunAhead
from vlang.runtime.gpus import group_loop

pytestmark = needs_compiler

# Loops that end: where `until` holds; at their limit, with a step that reads `iteration`; before their limit, because
# nothing changes any more; with two passes and a value that each superstep computes.
PROGRAM = compile("""program ahead

vertex rank:  float = 1
vertex wave:  float = 1
vertex near:  int = 3
vertex left:  float = 1
vertex right: float = 1

repeat until sum(abs(change(v.rank)) for v in vertices) < 0.05:
    let    lost = sum(v.rank for v in vertices if v.outdegree == 0)
    gather all  = sum(u.rank / u.outdegree for u -> self)
    apply  rank = 0.15 + 0.8 * all + lost / N

repeat 5 times:
    gather all  = sum(u.wave for u -> self)
    apply  wave = all * 0.1 + iteration

repeat 50 times:
    let    most = max(v.near for v in vertices)
    gather few  = sum(min(u.near, 1) for u -> self)
    apply  near = min(few, most, 2)

repeat until sum(abs(change(v.left)) for v in vertices) < 0.01:
    gather all     = sum(u.left for u -> self)
    apply  right   = all * 0.2
    let    biggest = max(v.right for v in vertices)
    gather back    = sum(u.right for self -> u)
    apply  left    = back * 0.02 + 0.1 * biggest / (1 + biggest)
""")


def graph(edges: int = 500) -> Graph:
    """Return a graph with vertices that no edge leaves."""
    numbers = np.random.default_rng(20261128)
    return Graph.from_edges(numbers.integers(0, 90, edges), numbers.integers(0, 100, edges), n=100)


def runs(
    monkeypatch: pytest.MonkeyPatch, seconds: float, edges: int = 500, device: str = "emulated", **options: object
) -> tuple[Result, dict[str, int]]:
    """Run the program; return the result, and how often a loop ran ahead, went on and went back.

    Args:
        monkeypatch: the fixture.
        seconds: `HOST_SECONDS` of the run.
        edges: the number of edges of the graph.
        device: the emulated devices.
        options: options of the run.
    """
    calls = dict.fromkeys(("remember", "go_on", "go_back"), 0)
    with monkeypatch.context() as patch:
        patch.setattr(run_ahead, "HOST_SECONDS", seconds)
        patch.setattr(group_loop, "_HOST_SECONDS", seconds)
        for name in calls:
            def counted(state: GpuState, name: str = name, call: object = getattr(GpuState, name)) -> None:
                calls[name] += 1
                assert callable(call)
                call(state)

            patch.setattr(GpuState, name, counted)
        with emulated(seed=3):
            return PROGRAM(graph(edges), options={"device": device, "mode": "pull", **options}), calls


def assert_same(found: Result, expected: Result) -> None:
    """Check the bits of all fields, and the supersteps."""
    assert (found.rounds, found.reason, found.converged) == (expected.rounds, expected.reason, expected.converged)
    for name in expected.fields:
        assert found[name].tobytes() == expected[name].tobytes(), name
    assert [(r.active, r.edges) for r in found.history] == [(r.active, r.edges) for r in expected.history]


def test_same_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    waiting, before = runs(monkeypatch, 0.0)
    ahead, after = runs(monkeypatch, 1e9)
    assert_same(ahead, waiting)
    # The loops that run exactly so many supersteps always run ahead, and one of them is undone as nothing changes.
    steady = sum(r.loop == 2 for r in waiting.history)
    assert 1 < steady < 50
    assert before == {"remember": 4 + steady, "go_on": 4 + steady - 1, "go_back": 1}
    assert after["remember"] == after["go_on"] + after["go_back"]
    assert after["go_back"] == 2
    # All supersteps but the first of a loop, and the second if it is not known how long one takes. The last loop waits,
    # as it writes `right` to the buffer that it reads.
    assert after["go_on"] == sum(r.loop < 3 for r in waiting.history) - 4
    on_cpu = PROGRAM(graph())
    assert on_cpu.rounds == ahead.rounds
    for name in on_cpu.fields:
        np.testing.assert_allclose(ahead[name], on_cpu[name], rtol=1e-5)


def test_two_gpus_run_ahead_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both GPUs queue or undo the same supersteps, and the bits are those of one GPU."""
    one, calls = runs(monkeypatch, 1e9, deterministic=True)
    for exchange in ("ms", "vr"):
        two, both = runs(monkeypatch, 1e9, device="emulated:0,1", deterministic=True, exchange=exchange)
        assert_same(two, one)
        assert both == {name: 2 * count for name, count in calls.items()}


def test_at_most_three_supersteps(monkeypatch: pytest.MonkeyPatch) -> None:
    waiting, _ = runs(monkeypatch, 0.0, max_rounds=3)
    ahead, calls = runs(monkeypatch, 1e9, max_rounds=3)
    assert_same(ahead, waiting)
    assert calls["remember"] > calls["go_back"]


def test_first_pages_of_streamed_edges_are_copied_ahead(monkeypatch: pytest.MonkeyPatch) -> None:
    streamed: dict[str, Any] = {"page_size": 1024, "gpu_memory": 50_000}
    with monkeypatch.context() as patch:
        patch.setattr(GpuMachine, "runs_ahead", False)
        waiting, none = runs(monkeypatch, 0.0, 4000, **streamed)
    ahead, calls = runs(monkeypatch, 0.0, 4000, **streamed)
    assert_same(ahead, waiting)
    assert not any(none.values())
    assert calls["go_on"] > calls["go_back"] > 0
    assert [r.pages_copied + r.pages_cached for r in ahead.history] == \
        [r.pages_copied + r.pages_cached for r in waiting.history]
    assert sum(r.pages_copied for r in ahead.history) == sum(r.pages_copied for r in waiting.history) > 0
    assert ahead.moved.pages_copied > waiting.moved.pages_copied  # for supersteps that were undone


@pytest.mark.parametrize("options", [
    {"page_size": 1024, "gpu_memory": 50_000, "max_rounds": 4},
    {"device": "emulated:0,1", "deterministic": True, "max_rounds": 4},
])
def test_an_error_while_a_superstep_is_queued(monkeypatch: pytest.MonkeyPatch, options: dict[str, Any]) -> None:
    """What is queued ends before its memory is freed, which the emulated device checks, and the next run is right."""
    edges = 4000 if "page_size" in options else 500
    expected, _ = runs(monkeypatch, 0.0, edges, **options)
    queue, left = RunAhead._queue, [3]

    def failing(ahead: RunAhead, superstep: Any) -> None:
        queue(ahead, superstep)
        left[0] -= 1
        if left[0] == 0:
            raise KeyboardInterrupt

    monkeypatch.setattr(RunAhead, "_queue", failing)
    with pytest.raises(KeyboardInterrupt):
        runs(monkeypatch, 1e9, edges, **options)
    found, _ = runs(monkeypatch, 1e9, edges, **options)
    assert_same(found, expected)
