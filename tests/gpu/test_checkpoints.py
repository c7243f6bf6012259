"""Runs on real GPUs that are stopped at random supersteps and resumed end with the bits of a run without a stop."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from tests.checkpoints.test_points import Stopped, stopped_after, written_at_once
from tests.gpu.compare import bits, given
from vlang.runtime.gpu.device.gpus import Gpu, gpus

PARTS = 3


@pytest.mark.parametrize("devices", ["gpu", "gpu:0,1"])
@pytest.mark.parametrize(("name", "graph", "options"), [
    ("bfs", "grid", {}), ("sssp", "grid", {}), ("components", "grid", {}),
    ("pagerank", "hubs", {}), ("pagerank", "hubs", {"gpu_memory": "4M"}), ("kcore_peel", "hubs", {}),
    ("betweenness", "hubs", {}), ("hits", "hubs", {}),
])
def test_a_run_stopped_again_and_again(
    gpu: Gpu, name: str, graph: str, options: dict[str, Any], devices: str, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Every part saves a checkpoint before each superstep, and stops at a random superstep."""
    if devices != "gpu" and len(gpus()) < 2:
        pytest.skip("needs two GPUs")
    seed = random.randrange(1 << 30)
    print(f"seed {seed}")
    draw = random.Random(seed)
    written_at_once(monkeypatch)
    run = given(name, graph)
    asked: dict[str, Any] = {"device": devices, "deterministic": True, **options}
    want = run(**asked)
    stopped = 0
    for part in range(PARTS + 1):
        progress = stopped_after(draw.randint(1, max(1, len(want.history) // 4))) if part < PARTS else None
        try:
            result = run(checkpoint=tmp_path, every=0, progress=progress, **asked)
        except Stopped:
            stopped += 1
            continue
        break
    assert stopped
    assert result.resumed
    assert bits(result) == bits(want)
