"""Slotted pages (`layout=slotted`) are decoded on an emulated device when they arrive, and give the same results."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from benchmarks.gpu.slotted import slotted_times
from tests.cuda.emulation.emulated import EmulatedDevice, needs_compiler
from tests.cuda.pages.streamed import Visits, adjacency_of, hub_graph, streamed
from tests.cuda.runs import assert_right, least_memory, program, run
from tests.reference.cases import STDLIB
from tests.sample import sampled
from vlang import BindError, Graph
from vlang.options import Options
from vlang.runtime.gpu.gpu_need import need_on_gpu
from vlang.runtime.gpu.topology.footprint import Slotted
from vlang.runtime.graph.topology.slotted import RecordIds

pytestmark = needs_compiler

PAGE = 256
USUAL = ["bfs", "katz", "sssp_tree"]


@pytest.mark.parametrize(("slots", "streams", "ids"), [(2, 1, None), (5, 3, RecordIds(3, 3)), (6, 2, RecordIds(2, 4))])
def test_every_edge_is_decoded_once(slots: int, streams: int, ids: RecordIds | None) -> None:
    seed = 100 + slots
    visits = Visits(EmulatedDevice(seed), adjacency_of(hub_graph(np.random.default_rng(seed))))
    topology = streamed(visits, slots, streams=streams, slotted=Slotted(ids, streams))
    assert topology.arrivals is not None
    assert not topology.readable
    for use in ("plain", "weighted", "plain"):
        visits.clear()
        assert sorted(visits.sweep(topology, use)) == list(range(topology.pages))
        assert (visits.array("seen", np.uint32) == 1).all()
        assert np.array_equal(visits.array("targets", np.uint32), visits.adjacency.targets)
    assert topology.traffic.hits > 0  # of pages that were decoded before
    topology.close()
    assert visits.device.allocated() == sum(buffer.nbytes for buffer in visits.buffers.values())
    visits.device.close()


def test_pages_that_are_read_as_they_are() -> None:
    """The benchmark of the two readers checks that they read the same neighbours."""
    adjacency = adjacency_of(hub_graph(np.random.default_rng(3), n=300, edges=2000))
    assert slotted_times(EmulatedDevice(3), adjacency, 1 << 14, RecordIds(1, 3))[0] == "1 + 3"


def _gts(name: str, graph: str, seed: int, **more: Any) -> None:
    """Run with the policy gts and memory for some pages of each direction, and compare with the interpreter."""
    options = {"policy": "gts", "page_size": PAGE, **more}
    least = least_memory(name, graph, **options)
    result = run(name, graph, seed, **options, gpu_memory=least + 600 * (seed % 3))
    assert_right(name, graph, result)
    assert result.choices["layout"] == more.get("layout", "slotted")
    assert not any(note.startswith("layout=") for note in result.notes)


@pytest.mark.parametrize("name", sampled(STDLIB, USUAL))
def test_programs_of_the_policy(name: str) -> None:
    """With VLANG_EXHAUSTIVE, every program that the policy runs."""
    number = STDLIB.index(name)
    try:
        _gts(name, "skewed", number, **({"layout": "slotted-2-2"} if number % 2 else {}))
    except BindError as error:
        if name in USUAL or "cannot run" not in str(error):
            raise
        pytest.skip(str(error))


def test_what_slotted_pages_cannot_do() -> None:
    cases: tuple[tuple[dict[str, Any], str], ...] = (
        ({"layout": "slotted", "transfer": "direct"}, "copies whole pages, and transfer='direct' reads rows"),
        ({"layout": "slotted", "kernel": "edge-list"}, "and kernel='edge-list' reads a list of edges"),
        ({"layout": "slotted-9-9"}, "layout is 'csr', 'slotted', or 'slotted-P-Q'"),
    )
    for options, message in cases:
        with pytest.raises(BindError, match=message):
            run("pagerank", "sparse", **options)


def test_host_memory_of_slotted_pages_and_of_both_directions() -> None:
    """The need of a run on a GPU counts the directions that its ways read, and slotted pages where edges do not fit."""
    ends = np.random.default_rng(2).integers(0, 1000, (2, 50_000))
    graph, bfs = Graph.from_edges(*ends, n=1000), program("bfs")
    plans = [bfs.plan(frozenset(), frozenset(), target=target) for target in ("numba", "cuda")]

    def running(**options: Any) -> int:
        return need_on_gpu(plans[0], plans[1], graph.shape(), Options(**options), graph, 1 << 20).running

    one, two = running(mode="pull"), running(mode="push")
    assert two - one >= 4 * graph.m
    assert running(mode="push", layout="slotted", gpu_memory=100_000) - two == 2 * 2 * graph.m
    assert running(mode="push", layout="slotted", gpu_memory=1 << 20) == two == running(mode="push", gpu_memory=100_000)


def test_resident_edges_are_adjacency_lists() -> None:
    result = run("bfs", "sparse", layout="slotted")
    assert_right("bfs", "sparse", result)
    assert any("layout=slotted: not followed, as all edges fit into GPU memory" in note for note in result.notes)
