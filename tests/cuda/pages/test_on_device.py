"""Arrays of graphs stay on a GPU between calls. The arrays of a graph are copied once, stay within the budget, are
shared by calls, and can be released.
"""

from __future__ import annotations

import gc
import os
import pickle
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from tests.cuda.emulation.emulated import EmulatedDevice, EmulatedGpu, needs_compiler
from tests.cuda.runs import emulated, program
from vlang import Graph, Result

pytestmark = needs_compiler

N, EDGES = 500, 9_000


def drawn(seed: int, edges: int = EDGES) -> Graph:
    """Return a random graph with weights, in which some vertices have no edges."""
    rng = np.random.default_rng(seed)
    src, dst = (N * rng.random((2, edges)) ** 2).astype(np.int64)
    return Graph.from_edges(src, dst, weight=rng.integers(1, 9, edges).astype(np.float32), n=N)


def check(result: Result, expected: Result) -> None:
    """Compare the results of a GPU with the results of the CPU."""
    for name in expected.fields:
        np.testing.assert_allclose(result[name], expected[name], rtol=1e-5)


def paths(graph: Graph, source: int, **options: Any) -> None:
    """Run a search on the GPU, and compare its result with the CPU."""
    check(program("sssp")(graph, source=source, device="emulated", **options), program("sssp")(graph, source=source))


def kept(graph: Graph) -> int:
    """Return the bytes that the GPU keeps of a graph."""
    return sum(copy.nbytes for copy in graph.on_device())


def test_later_calls_copy_nothing_of_the_graph() -> None:
    gpu, graph = EmulatedGpu(), drawn(1)
    with emulated("pagerank", gpu=gpu) as opened:
        for damping in (0.85, 0.5, 0.9):
            options = {"damping": damping, "max_rounds": 5}
            check(program("pagerank")(graph, device="emulated", **options), program("pagerank")(graph, **options))
    first, *later = opened
    assert first.uploaded > 4 * EDGES + 8 * N
    assert all(device.uploaded < EDGES for device in later)
    assert {copy.what for copy in graph.on_device()} >= {"in-edges: targets", "degree: out"}
    assert not any(copy.used for copy in graph.on_device())
    with emulated("sssp", gpu=gpu) as opened:
        for source in (3, 140, 7):
            paths(graph, source)
    first, *later = opened
    assert 8 * EDGES < first.uploaded < 14 * EDGES + 16 * N  # in-edges are on the device, except their weights
    assert all(device.uploaded < EDGES for device in later)
    graph.release()
    assert (graph.on_device(), gpu.buffers) == ((), [])


def test_a_change_of_the_graph_is_another_graph() -> None:
    gpu, graph = EmulatedGpu(), drawn(2)
    with emulated("sssp", gpu=gpu):
        paths(graph, 5)
        paths(graph.changed(removed=[(int(graph.edges().src[0]), int(graph.edges().dst[0]))]), 5)
        paths(graph.with_rule_weights(1, 5), 5)
        paths(graph.reverse(), 5)
        paths(graph, 5)


def test_the_memory_is_freed_with_the_graph() -> None:
    gpu, graph = EmulatedGpu(), drawn(3)
    with emulated("sssp", gpu=gpu):
        result = program("sssp")(graph, source=1, device="emulated")
        assert kept(graph) == sum(buffer.nbytes for buffer in gpu.buffers) > 12 * EDGES
        del graph
        assert gpu.buffers  # the result refers to the graph
        del result
        gc.collect()
        assert gpu.buffers == []


def test_the_least_recently_used_is_given_up_for_another_run() -> None:
    gpu, graphs = EmulatedGpu(), [drawn(seed) for seed in range(3)]
    with emulated("sssp", gpu=gpu) as opened:
        paths(graphs[0], 1)
        whole = kept(graphs[0])
        budget = opened[0].most + whole
        for graph in (graphs[1], graphs[0], graphs[2], graphs[0]):
            paths(graph, 2, gpu_memory=budget, device_cache=budget)
            assert kept(graph) == whole
    assert all(device.most <= budget for device in opened[1:])
    assert kept(graphs[1]) < whole
    assert opened[-1].uploaded < EDGES


def test_what_stays_is_limited() -> None:
    gpu, graph = EmulatedGpu(), drawn(4)
    with emulated("sssp", gpu=gpu) as opened:
        paths(graph, 1, device_cache=0)
        assert (graph.on_device(), gpu.buffers) == ((), [])
        paths(graph, 1, device_cache=5 * EDGES)
        assert 0 < kept(graph) <= 5 * EDGES
        most = opened[0].most
        paths(graph, 1, gpu_memory=most + 1000)  # by default half of what is free
        assert 0 < kept(graph) <= (most + 1000) // 2
        paths(graph, 1, device_cache="1G")
        whole = kept(graph)
        assert whole > 12 * EDGES
        paths(graph, 1, gpu_memory=2 * whole - 1000)
        assert kept(graph) < whole
    assert opened[2].most <= most + 1000


def test_streamed_graphs_keep_tables_and_page_locks() -> None:
    gpu, graph = EmulatedGpu(), drawn(5, 60_000)
    options = {"gpu_memory": 420_000, "research": {"page_size": 1 << 14}}
    with emulated("sssp", gpu=gpu) as opened:
        for source in (1, 2, 3):
            paths(graph, source, **options)
        first, *later = opened
        assert first.locked == 4  # targets and weights of both directions
        assert [device.locked for device in later] == [0, 0]
        assert len([copy for copy in graph.on_device() if copy.nbytes == 0]) == 4
        assert all(device.most <= 420_000 for device in opened)
        graph.release()
        assert (gpu.buffers, gpu.registered) == ([], {})


def test_eight_threads_share_one_copy() -> None:
    gpu, graph, again = EmulatedGpu(), drawn(6), drawn(7)
    expected = {source: program("sssp")(graph, source=source)["dist"] for source in range(8)}
    with emulated("sssp", gpu=gpu) as opened, ThreadPoolExecutor(8) as pool:
        def run(source: int) -> None:
            for _ in range(2):
                found = program("sssp")(graph, source=source, device="emulated")["dist"]
                np.testing.assert_array_equal(found, expected[source])
                program("sssp")(again, source=source, device="emulated")
                again.release()

        list(pool.map(lambda context_source: context_source[0].run(run, context_source[1]),
                      [(copy_context(), source) for source in range(8)]))
    assert kept(graph) == sum(buffer.nbytes for buffer in gpu.buffers) - kept(again)
    uploads = sorted(device.uploaded for device in opened)
    assert sum(a > 8 * EDGES for a in uploads) <= 17  # the first of `graph`, and those of `again`
    graph.release()
    again.release()
    assert gpu.buffers == []


def test_a_graph_that_is_released_during_a_run_is_freed_after_it() -> None:
    gpu, graph = EmulatedGpu(), drawn(8)
    seen: list[list[bool]] = []

    def release(_: object) -> None:
        seen.append([copy.used for copy in graph.on_device()])
        graph.release()

    with emulated("pagerank", gpu=gpu):
        options = {"max_rounds": 3}
        result = program("pagerank")(graph, device="emulated", progress=release, **options)
        check(result, program("pagerank")(graph, **options))
    assert all(seen[0])
    assert seen[0]
    assert seen[1:] == [[], []]
    assert gpu.buffers == []


def test_a_run_that_fails_gives_everything_back() -> None:
    gpu, graph = EmulatedGpu(), drawn(9)

    def fail(_: object) -> None:
        raise ZeroDivisionError

    with emulated("sssp", gpu=gpu):
        with pytest.raises(ZeroDivisionError):
            program("sssp")(graph, source=1, device="emulated", progress=fail)
        assert not any(copy.used for copy in graph.on_device())
        paths(graph, 1)
        graph.release()
    assert gpu.buffers == []


def test_pickles_and_forked_processes_have_nothing() -> None:
    gpu, graph = EmulatedGpu(), drawn(10)
    with emulated("sssp", gpu=gpu):
        paths(graph, 1)
        assert pickle.loads(pickle.dumps(graph)).on_device() == ()
        child = os.fork()
        if child == 0:
            graph.release()
            os._exit(0 if graph.on_device() == () and gpu.buffers else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert graph.on_device()


def test_devices_are_closed_in_order() -> None:
    """If every run opens a new GPU, no arrays of the graph stay on a GPU after a run."""
    graph = drawn(11)
    with emulated("sssp") as opened:
        paths(graph, 1)
        paths(graph, 2)
    assert all(isinstance(device, EmulatedDevice) for device in opened)
    assert all(a.uploaded == b.uploaded for a, b in pairwise(opened))
    assert graph.on_device() == ()
