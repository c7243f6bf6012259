"""Page files streamed to a GPU, within budgets of host and device memory that are far smaller than the graph."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.gpu.compare import assert_equal, bits, needs_gpu, program
from vlang import Graph, OutOfMemory, Result
from vlang.errors import GraphError
from vlang.runtime.graph.paged.in_memory import save
from vlang.runtime.storage.ledger import ledger
from vlang.runtime.storage.page_file import PageFile

pytestmark = needs_gpu

MEMORY = "9M"
"""The budget of host memory, some megabytes less than the edges of one direction."""


HUB = 8799
"""The vertex with most out-edges."""


@pytest.fixture(scope="module")
def graph() -> Graph:
    """Return a graph of 65,536 vertices and 2,000,000 edges with weights."""
    found = Graph.read("rmat:16,32", weights="1..9")
    assert found.out_degree.argmax() == HUB
    return found


@pytest.fixture(scope="module", params=["ids", "degree"])
def path(graph: Graph, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the page file of `graph`, with over 100 pages in each direction."""
    made = tmp_path_factory.mktemp("disk") / f"{request.param}.vg"
    save(graph, made, layout=request.param, page_bytes=1 << 16)
    assert PageFile.open(made).directory("in").count > 100
    return made


def least(file: Path, name: str, **options: Any) -> int:
    """Return the least device memory in bytes, read from the error message about too little memory."""
    gpu_memory = 1 << 20
    while True:
        try:
            program(name)(Graph.open(file), device="gpu", gpu_memory=gpu_memory, memory=MEMORY, **options)
        except OutOfMemory as refused:
            advice = str(refused).partition("allow at least ")[2]
            gpu_memory = int(advice.split()[0]) if advice else 2 * gpu_memory
        else:
            return gpu_memory


def streamed(file: Path, name: str, gpu_memory: int | None, **options: Any) -> Result:
    found = program(name)(Graph.open(file), device="gpu", gpu_memory=gpu_memory, memory=MEMORY, **options)
    assert found.device == "gpu:0"
    assert found.read_bytes > 0
    assert found.placement.startswith(f"edges streamed from {file.name} to the GPU: ")
    return found


@pytest.mark.parametrize(("name", "options"), [
    ("pagerank", {}), ("bfs", {"source": HUB}), ("sssp", {"source": HUB}), ("bfs_tree", {"source": HUB}),
    ("components", {}), ("hits", {"max_rounds": 8}), ("katz", {"max_rounds": 8}),
])
def test_programs(graph: Graph, path: Path, name: str, options: dict[str, Any]) -> None:
    """Programs are right with the least device memory, and with slightly more. Programs are right with all edges on the
    device, too, and then read each edge about once.
    """
    want = program(name)(graph, **options)
    least_memory = least(path, name, **options)
    reads = []
    for gpu_memory in (least_memory, least_memory + (4 << 20), None):
        found = streamed(path, name, gpu_memory, **options)
        assert_equal(found, want, (name, gpu_memory))
        reads.append(found.read_bytes)
    # Components read some pages again. Their number depends on the order in which threads join trees.
    assert reads[-1] <= (1.25 if name == "components" else 1.02) * path.stat().st_size


@pytest.mark.parametrize("mode", ["push", "notify-pull", "pull"])
def test_modes(graph: Graph, path: Path, mode: str) -> None:
    research = {"mode": mode}
    gpu_memory = least(path, "sssp", source=HUB, research=research)
    found = streamed(path, "sssp", gpu_memory, source=HUB, research=research)
    assert_equal(found, program("sssp")(graph, source=HUB), mode)


def test_the_same_bits(path: Path) -> None:
    """Deterministic runs in memory and from disk have the same bits, with any amount of device memory."""
    want = bits(program("pagerank")(Graph.read(path), device="gpu", deterministic=True))
    for more in (0, 3 << 20, 1 << 28):
        found = streamed(path, "pagerank", least(path, "pagerank", deterministic=True) + more, deterministic=True)
        assert bits(found) == want


def test_the_budget_of_the_host_is_kept(path: Path) -> None:
    """Page-locked buffers count in the memory budget of the host. The test reads the peak from the ledger."""
    gpu_memory = least(path, "pagerank")
    before = ledger.used  # arrays of the fixtures
    streamed(path, "pagerank", gpu_memory)
    assert 0 < ledger.peak - before <= 9 << 20


def test_a_damaged_page(path: Path, tmp_path: Path) -> None:
    """A damaged page gives one error, and the next run on an intact file is right."""
    file = tmp_path / "x.vg"
    data = bytearray(path.read_bytes())
    data[50 * 65536] ^= 4
    file.write_bytes(data)
    with pytest.raises(GraphError, match=r"x\.vg: damaged: page \d+ of the (in|out)-edges"):
        program("degree")(Graph.open(file), device="gpu", memory="12M", gpu_memory=8 << 20)
    assert np.isfinite(streamed(path, "pagerank", None)["rank"]).all()
