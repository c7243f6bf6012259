"""On a GPU, programs with edge states give the values of the CPU, with every kernel, resident and streamed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.checkpoints.test_points import Stopped, stopped_after, written_at_once
from tests.cpu.edge_states import PROGRAMS
from tests.gpu.compare import KERNELS, needs_gpu
from vlang import Graph, OutOfMemory, Result, load

pytestmark = needs_gpu

GALLERY = Path(__file__).parents[2] / "examples" / "gallery"


def _graph(simple: bool) -> Graph:
    """Return an undirected graph of 3,000 vertices with long rows, and without parallel edges and loops if `simple`."""
    rng = np.random.default_rng(18)
    src, dst = (3000 * rng.random((2, 60_000)) ** 3).astype(np.int64)
    if simple:
        ends = np.unique(np.sort(np.stack([src, dst]), axis=0), axis=1)
        src, dst = ends[:, ends[0] != ends[1]]
    return Graph.from_edges(src, dst, columns={"weight": (src + dst) % 7 + 1}, directed=False)


def _assert_equal(got: Result, want: Result, tolerance: float = 1e-5) -> None:
    for state, values in want.edge_states.items():
        np.testing.assert_allclose(got.edge_states[state], values, rtol=tolerance, atol=tolerance, err_msg=state)
    for field in want.fields:
        np.testing.assert_allclose(got[field], want[field], rtol=10 * tolerance, atol=tolerance, err_msg=field)


@pytest.mark.parametrize("name", list(PROGRAMS))
def test_every_kernel(name: str) -> None:
    graph = _graph(name == "triangles")
    want = PROGRAMS[name](graph)
    for kernel in KERNELS:
        _assert_equal(PROGRAMS[name](graph, device="gpu", research={"kernel": kernel}), want)


def test_streamed_neighbours() -> None:
    program, graph = PROGRAMS["symmetric"], _graph(False)
    more: dict[str, Any] = {"device": "gpu", "research": {"page_size": 1 << 14}}
    with pytest.raises(OutOfMemory, match="the state of symmetric takes"):
        program(graph, gpu_memory=1 << 20, **more)
    graph.release()
    want, copied = program(graph), 0
    for memory in range(3 << 20, 8 << 20, 1 << 18):
        try:
            got = program(graph, gpu_memory=memory, **more)
        except OutOfMemory:
            continue
        _assert_equal(got, want)
        copied += got.moved.pages_copied
        graph.release()
    assert copied


def test_a_run_goes_on_on_the_other_device(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written_at_once(monkeypatch)
    program, graph = PROGRAMS["directed"], _graph(False)
    want = program(graph)
    for first, second in (("cpu", "gpu"), ("gpu", "cpu")):
        with pytest.raises(Stopped):
            program(graph, device=first, checkpoint=tmp_path / first, every=0, progress=stopped_after(1))
        got = program(graph, device=second, checkpoint=tmp_path / first)
        assert got.resumed
        _assert_equal(got, want)


def test_programs_of_the_gallery() -> None:
    graph = _graph(True)
    prior = np.random.default_rng(5).random((graph.n, 2)).astype(np.float32) + np.float32(0.1)
    given: dict[str, dict[str, Any]] = {"ktruss": {}, "marginals": {"prior": prior, "rounds": 3}}
    for name, arguments in given.items():
        program = load(GALLERY / f"{name}.vp")
        _assert_equal(program(graph, device="gpu", **arguments), program(graph, **arguments), 1e-3)  # logarithms
