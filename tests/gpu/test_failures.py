"""A failure on a GPU gives one error with advice, and the next run is right."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from tests.gpu.compare import assert_equal, given, needs_gpu, on_cpu
from vlang import BindError, Error, OutOfMemory, compile
from vlang.errors import DeviceError

pytestmark = needs_gpu


@pytest.fixture(autouse=True)
def _the_next_run_works() -> Iterator[None]:
    yield
    assert_equal(given("bfs", "hubs")(device="gpu"), on_cpu("bfs", "hubs"), "after a failure")


@pytest.mark.parametrize("budget", [1, 1000, 100_000])
def test_a_budget_that_does_not_hold_the_vertices(budget: int) -> None:
    with pytest.raises(OutOfMemory, match=r"GPU memory") as raised:
        given("pagerank", "hubs")(device="gpu", gpu_memory=budget)
    assert "\n" not in str(raised.value)


@pytest.mark.skipif("PYTEST_XDIST_WORKER" in os.environ, reason="takes all device memory: not beside other tests")
def test_a_device_whose_memory_others_have_taken() -> None:
    import cupy

    free, _ = cupy.cuda.runtime.memGetInfo()
    taken = cupy.cuda.runtime.malloc(free - (200 << 20))
    try:
        with pytest.raises(OutOfMemory, match=r"GPU memory"):
            given("pagerank", "hubs")(device="gpu")
    finally:
        cupy.cuda.runtime.free(taken)


@pytest.mark.parametrize(
    ("options", "kind", "message"),
    [
        ({"device": "gpu:99"}, DeviceError, "gpu:99"),
        ({"device": "tpu"}, BindError, "device"),
        ({"kernel": "fast"}, BindError, "kernel"),
        ({"kernel": "virtual-warp-3"}, BindError, "kernel"),
        ({"replication": 3}, BindError, "replication"),
        ({"replication": 64}, BindError, "replication"),
        ({"replication": "many"}, BindError, "replication"),
        ({"streams": 33}, BindError, "streams"),
        ({"streams": -1}, BindError, "streams"),
        ({"gpu_memory": -5}, BindError, "gpu_memory"),
        ({"gpu_memory": 0.5}, BindError, "gpu_memory"),
        ({"deterministic": "yes"}, BindError, "deterministic"),
        ({"kernel": "edge", "deterministic": True}, BindError, "deterministic"),
    ],
    ids=str,
)
def test_options_that_cannot_be(options: dict[str, Any], kind: type[Error], message: str) -> None:
    with pytest.raises(kind, match=message):
        given("pagerank", "hubs")(**{"device": "gpu", **options})


def test_a_contract_that_does_not_hold() -> None:
    run = given("sssp", "hubs")
    graph = run.graph.with_rule_weights(-3, 5)
    with pytest.raises(Error, match="weight >= 0"):
        run.program(graph, source=5, device="gpu")


def test_a_run_that_is_interrupted() -> None:
    class Stop(Exception):
        pass

    def stop(row: object) -> None:
        raise Stop

    with pytest.raises(Stop):
        given("pagerank", "hubs")(device="gpu", progress=stop)


def test_a_program_without_vertices_or_edges() -> None:
    from vlang import Graph

    nothing = Graph.from_edges([], [], n=0)
    assert len(given("pagerank", "hubs").program(nothing, device="gpu")["rank"]) == 0
    alone = Graph.from_edges([], [], n=5)
    np.testing.assert_array_equal(compile("program p\nvertex d: int = indegree\n")(alone, device="gpu")["d"], [0] * 5)
