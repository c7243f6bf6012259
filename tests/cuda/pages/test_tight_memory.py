"""If the memory is too small for queues of frontiers, the run uses bitmaps or full passes, and reports this choice."""

from __future__ import annotations

import numpy as np
import pytest

from tests.cuda.emulation.emulated import EmulatedDevice
from tests.cuda.emulation.gxx import needs_compiler
from vlang import Graph, OutOfMemory, load
from vlang.runtime.gpu.device.choose import stand_in

pytestmark = needs_compiler


def test_full_passes_where_frontiers_do_not_fit() -> None:
    graph, bfs = Graph.read("kron:11"), load("bfs")
    want = bfs(graph, source=1)
    ways: list[int] = []
    with stand_in("gpu", lambda _, memory: EmulatedDevice(memory=memory or 1 << 28)):
        for memory in range(60_000, 400_000, 30_000):
            try:
                got = bfs(graph, source=1, device="gpu", gpu_memory=memory, research={"page_size": 4096})
            except OutOfMemory:
                assert not ways, "more memory is never worse"
                continue
            np.testing.assert_array_equal(got["depth"], want["depth"])
            notes = "".join(got.notes)
            ways.append(0 if "by full passes" in notes else 1 if "by bitmap push" in notes else 2)
            assert all(row.mode == "pull" for row in got.history) == (ways[-1] == 0)
            if ways[-1] < 2:
                with pytest.raises(OutOfMemory):
                    bfs(graph, source=1, device="gpu", gpu_memory=memory, research={"page_size": 4096, "mode": "push"})
    assert ways == sorted(ways)
    assert set(ways) == {0, 1, 2}


def test_a_state_that_does_not_fit_is_refused_with_its_whole_need() -> None:
    """The error names the need of vertex arrays and edges together, and this memory suffices."""
    graph, pagerank = Graph.read("kron:11"), load("pagerank")
    with stand_in("gpu", lambda _, memory: EmulatedDevice(memory=memory or 1 << 28)):
        with pytest.raises(OutOfMemory, match=r"beside .* KiB of vertex state; allow at least \d+ bytes") as refused:
            pagerank(graph, device="gpu", gpu_memory=7_000)
        named = int(str(refused.value).split("allow at least ")[1].split()[0])
        assert pagerank(graph, device="gpu", gpu_memory=named).converged
