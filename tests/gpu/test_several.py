"""Two GPUs of one host give the results of the CPU: with frontiers, by full passes, and with every exchange."""

from __future__ import annotations

from typing import Any

import pytest

from tests.gpu.compare import assert_equal, bits, given, on_cpu
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
    assert any(row.mode == "push" for row in result.history), name


@pytest.mark.parametrize("exchange", ["ms", "vr", "all"])
@pytest.mark.parametrize("name", SWEPT)
def test_exchanges(name: str, exchange: str) -> None:
    asked: dict[str, Any] = {"deterministic": True, "research": {"exchange": exchange, "mode": "pull"}}
    result = given(name, "hubs")(device=TWO, **asked)
    assert_equal(result, on_cpu(name, "hubs"), (name, exchange))
    one = given(name, "hubs")(device="gpu", deterministic=True, research={"mode": "pull"})
    assert bits(result) == bits(one)
