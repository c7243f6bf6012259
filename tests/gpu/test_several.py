"""Two GPUs of one host give the results of the CPU: with frontiers, by search, by full passes, with every exchange,
streamed, in any order of their numbers, and called from several threads.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.gpu.compare import assert_equal, bits, given, on_cpu
from vlang import OutOfMemory
from vlang.runtime.gpu.device.gpus import Gpu, gpus

PUSHED = ("bfs", "bfs_tree", "sssp", "sssp_tree", "sswp", "viterbi", "components")
SWEPT = ("pagerank", "hits", "cdlp", "kcore_peel")
TWO = "gpu:0,1"


@pytest.fixture(autouse=True)
def _two(gpu: Gpu) -> None:
    if len(gpus()) < 2:
        pytest.skip("needs two GPUs")


@pytest.mark.parametrize("graph", ["hubs", "grid", "kron"])
@pytest.mark.parametrize("name", PUSHED)
def test_frontiers(name: str, graph: str) -> None:
    result = given(name, graph)(device=TWO)
    assert_equal(result, on_cpu(name, graph), (name, graph))
    assert {row.mode for row in result.history} & ({"connect"} if name == "components" else {"push"}), name


@pytest.mark.parametrize("exchange", ["ms", "vr", "all"])
@pytest.mark.parametrize("name", SWEPT)
def test_exchanges(name: str, exchange: str) -> None:
    asked: dict[str, Any] = {"deterministic": True, "research": {"exchange": exchange, "mode": "pull"}}
    result = given(name, "hubs")(device=TWO, **asked)
    assert_equal(result, on_cpu(name, "hubs"), (name, exchange))
    one = given(name, "hubs")(device="gpu", deterministic=True, research={"mode": "pull"})
    assert bits(result) == bits(one)


@pytest.mark.parametrize("device", ["gpu:1", "gpu:1,0"])
@pytest.mark.parametrize("name", ["bfs", "sssp", "components", "pagerank"])
def test_other_numbers(name: str, device: str) -> None:
    assert_equal(given(name, "kron")(device=device), on_cpu(name, "kron"), (name, device))


@pytest.mark.parametrize("layout", ["csr", "slotted"])
@pytest.mark.parametrize("name", ["components", "pagerank", "sssp"])
def test_streamed(name: str, layout: str) -> None:
    """Each GPU has about the least memory, so that its pages are copied from host memory."""
    memory, asked = 1 << 17, {"layout": layout, "page_size": 1 << 14}
    while True:
        try:
            result = given(name, "kron")(device=TWO, gpu_memory=memory, research=asked)
            break
        except OutOfMemory as error:
            memory = max(error.least, memory + (1 << 13))
    assert result.moved.pages_copied > 0, result.notes
    assert_equal(result, on_cpu(name, "kron"), (name, layout))


def test_threads() -> None:
    """Kernels that wait for each other begin in the same order on both GPUs, whatever other threads do meanwhile."""
    calls = [("bfs", TWO), ("sssp", TWO), ("pagerank", "gpu:0"), ("pagerank", "gpu:1"), ("components", TWO)] * 4

    def call(name: str, device: str) -> None:
        assert_equal(given(name, "kron")(device=device), on_cpu(name, "kron"), (name, device))

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(call, *zip(*calls)))
