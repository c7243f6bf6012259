"""The topology on a device: every edge is read once in any memory, budgets hold, and no page is copied unnecessarily.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.cuda.emulation.emulated import EmulatedDevice, needs_compiler
from tests.cuda.pages.streamed import USES, Visits, adjacency_of, hub_graph, opened, streamed
from vlang import Graph
from vlang.errors import OutOfMemory
from vlang.runtime.gpu.device.device import Stream
from vlang.runtime.gpu.topology.cut import Cut, Part, Sharding, Shards, long_rows
from vlang.runtime.gpu.topology.engines import choose_transfer
from vlang.runtime.gpu.topology.footprint import Use, footprint, share_memory, stored_arrays
from vlang.runtime.gpu.topology.marking import choose_pages, mark_items
from vlang.runtime.gpu.topology.topology import Topology
from vlang.runtime.gpu.topology.transfers import Link, Marks, Packing, Transfer
from vlang.runtime.plan.plan import SEGMENT

HUBS: dict[str, tuple[int, ...]] = {"none": (), "some": (7, 120, 121), "first and last": (0, 1999)}
SHARDING = Sharding(lambda density: 7 if density < 10 else 3,
                    lambda vertices, edges: np.where(edges > vertices, 4, 1).astype(np.uint8))


@pytest.fixture
def seed(request: pytest.FixtureRequest) -> int:
    """Return a seed, and print it if the test fails."""
    chosen = int(np.random.default_rng().integers(1 << 30))
    print(f"seed {chosen}")
    return chosen


def assert_seen(visits: Visits, weighted: bool, edges: NDArray[np.bool_] | None = None) -> None:
    """Check that every edge (or every edge in `edges`) was read once, with its target and weight."""
    adjacency = visits.adjacency
    asked = np.ones(len(adjacency), dtype=bool) if edges is None else edges
    assert np.array_equal(visits.array("seen", np.uint32), asked)
    assert np.array_equal(visits.array("targets", np.uint32), np.where(asked, adjacency.targets, 0))
    if weighted:
        weights = adjacency.column("weight", np.int16)
        assert np.array_equal(visits.array("weights", np.int16), np.where(asked, weights, 0))
    visits.clear()


def closed(topology: Topology) -> None:
    """Close the topology, and check that all its memory is freed."""
    before = topology.layout.table_bytes + topology.layout.slot_bytes * max(1, topology.layout.slots)
    held = topology.device.allocated()
    topology.close()
    topology.close()
    assert topology.device.allocated() == held - before


# ------------------------------------------------------------------------------------------------------------- cuts
@pytest.mark.parametrize("hubs", HUBS)
@pytest.mark.parametrize("edges", [None, 16, 1000, SEGMENT])
def test_a_cut_holds_every_edge_and_vertex_once(hubs: str, edges: int | None, seed: int) -> None:
    adjacency = adjacency_of(hub_graph(np.random.default_rng(seed), hubs=HUBS[hubs]))
    offsets = adjacency.offsets.astype(np.int64)
    cut = Cut.of(adjacency, edges)
    assert cut.starts[0] == 0
    assert cut.starts[-1] == len(adjacency)
    assert cut.lows[0] == 0
    assert cut.lows[-1] == len(offsets) - 1
    segments = long_rows(adjacency).segments
    for part in cut.parts():
        short = np.flatnonzero(np.diff(offsets[part.low : part.high + 1]) <= SEGMENT) + part.low
        assert (offsets[short] >= part.begin).all()
        assert (offsets[short + 1] <= part.end).all()
        mine = segments[part.first_segment : part.end_segment]
        assert ((mine[:, 1] >= part.begin) & (mine[:, 2] <= part.end)).all()
        assert (offsets[short + 1] - offsets[short]).sum() + (mine[:, 2] - mine[:, 1]).sum() == part.edges
    if edges:
        assert cut.largest <= max(edges, SEGMENT)
    assert sum(part.edges for part in cut.parts()) == len(adjacency)


def test_shards_cover_their_pages_and_leave_out_long_vertices(seed: int) -> None:
    adjacency = adjacency_of(hub_graph(np.random.default_rng(seed)))
    offsets = adjacency.offsets.astype(np.int64)
    degrees = np.where(np.diff(offsets) > SEGMENT, 0, np.diff(offsets))
    cut = Cut.of(adjacency, 500)
    shards = Shards.of(adjacency, cut, SHARDING)
    for part, start, count in zip(cut.parts(), shards.starts.tolist(), shards.counts.tolist()):
        bounds = shards.bounds[start : start + count + 1].astype(np.int64)
        assert bounds[0] == part.low
        assert bounds[-1] == part.high
        assert (np.diff(bounds) > 0).all()
        assert (np.diff(bounds) <= 7).all()
        edges = np.array([degrees[a:b].sum() for a, b in pairwise(bounds)])
        assert shards.replicas[start : start + count].tolist() == np.where(edges > np.diff(bounds), 4, 1).tolist()
        cells = (np.diff(bounds) * shards.replicas[start : start + count]).max(initial=0)
        assert shards.most_cells()[part.page] == cells


# ------------------------------------------------------------------------------------------------------- footprints
def test_a_footprint_is_the_best_that_fits(seed: int) -> None:
    adjacency = adjacency_of(hub_graph(np.random.default_rng(seed), n=40_000, hubs=(5,), edges=400_000))
    arrays = stored_arrays(adjacency, USES)
    whole = footprint(adjacency, USES, arrays, 1 << 40, None)
    assert whole.resident
    assert whole.cut.pages == 1
    assert footprint(adjacency, USES, arrays, whole.least, None).resident
    cut = footprint(adjacency, USES, arrays, whole.least - 1, None)
    assert cut.slots >= 4
    with pytest.raises(OutOfMemory) as caught:
        footprint(adjacency, USES, arrays, whole.table_bytes, None, 1000)
    assert "KiB for tables and 192.00 KiB for two pages are needed at least" in str(caught.value)
    assert "beside 1000 bytes of vertex state" in str(caught.value)
    need = int(str(caught.value).split("allow at least ")[1].split()[0]) - 1000
    assert footprint(adjacency, USES, arrays, need, None).slots == 2
    with pytest.raises(OutOfMemory):
        footprint(adjacency, USES, arrays, need - 1, None)
    for free in range(whole.table_bytes + (300 << 10), whole.least, 100 << 10):
        found = footprint(adjacency, USES, arrays, free, None)
        assert found.slots >= 2
        assert found.table_bytes + found.slots * found.slot_bytes <= free


def test_a_page_size_is_kept(seed: int) -> None:
    adjacency = adjacency_of(hub_graph(np.random.default_rng(seed)))
    arrays = stored_arrays(adjacency, USES)
    whole = footprint(adjacency, USES, arrays, 1 << 40, 4096)
    assert whole.resident
    assert whole.cut.pages > 3
    least = footprint(adjacency, USES, arrays, whole.least - 1, 4096).least
    assert footprint(adjacency, USES, arrays, least, 4096).slots == 2
    with pytest.raises(OutOfMemory, match="two pages"):
        footprint(adjacency, USES, arrays, least - 1, 4096)


def test_several_adjacencies_share_what_there_is(seed: int) -> None:
    graph = hub_graph(np.random.default_rng(seed))
    sides = {kind: graph.adjacency(kind) for kind in ("in", "out", "both")}
    uses = {kind: {"plain": USES["plain"]} for kind in sides}

    def cut(shares: dict[str, int]) -> dict[str, int]:
        arrays = {kind: stored_arrays(side, uses[kind]) for kind, side in sides.items()}
        return {kind: footprint(side, uses[kind], arrays[kind], shares[kind], None).slots
                for kind, side in sides.items()}  # fmt: skip

    whole = share_memory(sides, uses, 1 << 40)
    assert cut(whole) == {"in": 0, "out": 0, "both": 0}
    total = sum(whole.values())
    assert share_memory(sides, uses, total) == whole
    shares = share_memory(sides, uses, total - 1)
    assert sum(shares.values()) <= total - 1
    assert cut(shares)["in"] == cut(shares)["out"] == 0
    assert cut(shares)["both"] > 2
    with pytest.raises(OutOfMemory, match="in-neighbours and out-neighbours and both-neighbours") as caught:
        share_memory(sides, uses, 0, taken=5)
    need = int(str(caught.value).split("allow at least ")[1].split()[0]) - 5
    with pytest.raises(OutOfMemory):
        share_memory(sides, uses, need - 1)
    for free in np.linspace(need, total, 9).astype(int).tolist():
        shares = share_memory(sides, uses, free)
        assert sum(shares.values()) <= free
        assert all(slots != 1 for slots in cut(shares).values())


# ----------------------------------------------------------------------------------------------------------- sweeps
@needs_compiler
@pytest.mark.parametrize("spec", ["path:0", "path:1", "star:5", "uniform:6"])
def test_small_graphs(spec: str, seed: int) -> None:
    graph = Graph.read(spec, threads=1)
    visits = Visits(EmulatedDevice(seed), graph.adjacency("in"))
    for page_size in (None, 4):
        topology = Topology(visits.device, visits.prepare, visits.adjacency, {"plain": USES["plain"]}, None, page_size)
        assert topology.resident
        visits.sweep(topology, "plain")
        assert_seen(visits, weighted=False)
        closed(topology)


@needs_compiler
@pytest.mark.parametrize("hubs", HUBS)
@pytest.mark.parametrize("page_size", [None, 64, 1 << 12])
def test_a_resident_pass_sees_every_edge_once(hubs: str, page_size: int | None, seed: int) -> None:
    visits = Visits(EmulatedDevice(seed), adjacency_of(hub_graph(np.random.default_rng(seed), hubs=HUBS[hubs])))
    topology = opened(visits, 1 << 30, page_size=page_size)
    assert topology.resident
    assert (topology.pages == 1) == (page_size is None)
    for use in USES:
        assert visits.sweep(topology, use) == list(range(topology.pages))
        assert_seen(visits, use == "weighted")
    assert topology.traffic.copied == 6 * topology.edges, "neighbours and weights are copied once"
    closed(topology)
    visits.device.close()


@needs_compiler
@pytest.mark.parametrize("streams", [1, 2, 3, 4])
@pytest.mark.parametrize("slots", [2, 3, 6])
def test_a_streamed_pass_sees_every_edge_once(slots: int, streams: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    visits = Visits(EmulatedDevice(seed), adjacency_of(hub_graph(rng)))
    topology = streamed(visits, slots, streams=streams)
    assert not topology.resident
    assert topology.slots == slots
    for _ in range(3):
        use = str(rng.choice(list(USES)))
        assert sorted(visits.sweep(topology, use)) == list(range(topology.pages))
        assert_seen(visits, use == "weighted")
    closed(topology)
    visits.device.close()


@needs_compiler
def test_budgets_from_the_least_upwards_are_kept(seed: int) -> None:
    visits = Visits(EmulatedDevice(seed), adjacency_of(hub_graph(np.random.default_rng(seed))))
    least = streamed(visits, 2)
    need, pages, slot = least.layout.least, least.pages, least.layout.slot_bytes
    closed(least)
    state = visits.device.allocated()
    with pytest.raises(OutOfMemory, match=f"two pages .* allow at least {state + need} bytes"):
        opened(visits, need - 1)
    assert visits.device.allocated() == state
    for free in (need, need + 1, need + slot - 1, need + slot, need + 3 * slot + 7, need + pages * slot):
        topology = opened(visits, free)
        assert visits.device.allocated() - state <= free
        visits.sweep(topology, "weighted")
        assert_seen(visits, weighted=True)
        assert visits.device.allocated() - state <= free
        closed(topology)


@needs_compiler
def test_cached_pages_are_not_copied_again(seed: int) -> None:
    visits = Visits(EmulatedDevice(seed), adjacency_of(hub_graph(np.random.default_rng(seed))))
    topology = streamed(visits, 5)
    traffic, pages = topology.traffic, topology.pages
    visits.sweep(topology, "plain")
    assert (traffic.copies, traffic.hits, traffic.copied) == (pages, 0, 4 * topology.edges)
    for number in range(1, 4):  # if there are as many slots as pages, all pages stay cached between passes
        cached = visits.sweep(topology, "plain")[-5:]
        assert (traffic.copies, traffic.hits) == (pages + number * (pages - 5), 5 * number)
    before = traffic.copied
    order = visits.sweep(topology, "weighted")
    spared = 6 * topology.edges - (traffic.copied - before)  # for cached pages only the weights were copied
    assert spared == 4 * sum(topology.parts[page].edges for page in cached)
    visits.clear()
    few = Transfer(tuple(order[-3:]))
    copied = traffic.copied
    for _ in range(2):
        assert sorted(visits.sweep(topology, "weighted", few)) == sorted(few.whole)
    assert traffic.copied == copied
    closed(topology)


@needs_compiler
@pytest.mark.parametrize("unified", [True, False])
@pytest.mark.parametrize("slots", [0, 2, 4, 9])
def test_only_pages_with_marked_vertices_are_loaded(slots: int, unified: bool, seed: int) -> None:
    rng = np.random.default_rng(seed)
    visits = Visits(EmulatedDevice(seed, unified=unified), adjacency_of(hub_graph(rng)))
    topology = streamed(visits, slots) if slots else opened(visits, 1 << 30)
    offsets = visits.adjacency.offsets.astype(np.int64)
    starts = topology.layout.cut.starts
    assert topology.readable == (unified or not slots)
    rows = 0
    for _ in range(4):
        listed = np.flatnonzero(rng.random(len(offsets) - 1) < rng.choice([0.003, 0.02, 0.5])).astype(np.uint32)
        visits.list(listed)
        marks = mark_items(topology, visits.at("list"), visits.at("count"))
        edges = np.zeros(len(visits.adjacency), dtype=bool)
        for v in listed.tolist():
            edges[offsets[v] : offsets[v + 1]] = True
        assert marks.edges.tolist() == [int(edges[a:b].sum()) for a, b in pairwise(starts)]
        begins, ends = offsets[listed], offsets[listed + 1]
        assert marks.vertices.tolist() == [int(((np.maximum(begins, a) < np.minimum(ends, b))).sum())
                                           for a, b in pairwise(starts)]  # fmt: skip
        chosen = choose_pages(topology, "plain", marks)
        assert sorted(chosen.whole + chosen.direct) == np.flatnonzero(marks.edges).tolist()
        if not unified:
            assert not chosen.direct
        use = str(rng.choice(list(USES)))
        visits.sweep(topology, use)
        visits.clear()
        if topology.readable:  # then the rows point to other memory
            rows = rows or topology.rows("weighted")
            arguments = (visits.at("list"), len(listed), visits.at("targets"), visits.at("weights"))
            visits.launch("visit_listed", 2, (rows, *arguments))
            assert np.array_equal(visits.array("targets", np.uint32), np.where(edges, visits.adjacency.targets, 0))
            weights = visits.adjacency.column("weight", np.int16)
            assert np.array_equal(visits.array("weights", np.int16), np.where(edges, weights, 0))
        visits.clear()
        copied = topology.traffic.copied
        assert sorted(visits.sweep(topology, "plain", chosen)) == sorted(chosen.whole + chosen.direct)
        assert topology.traffic.copied - copied <= 4 * sum(topology.parts[page].edges for page in chosen.whole)
        pages = np.isin(np.searchsorted(starts, np.arange(len(edges)), side="right") - 1, chosen.whole + chosen.direct)
        assert_seen(visits, weighted=False, edges=pages)
    closed(topology)
    visits.device.close()


@needs_compiler
@pytest.mark.parametrize("slots", [0, 2, 4])
def test_every_edge_has_its_place_in_a_shard(slots: int, seed: int) -> None:
    visits = Visits(EmulatedDevice(seed), adjacency_of(hub_graph(np.random.default_rng(seed))))
    topology = (streamed(visits, slots, SHARDING) if slots else opened(visits, 1 << 30, SHARDING))
    offsets = visits.adjacency.offsets.astype(np.int64)
    degrees = np.diff(offsets)
    table = topology.table("shards")

    def places(row: int, part: Part, stream: Stream | None) -> None:
        arguments = (visits.at("receivers"), visits.at("copies"))
        visits.launch("visit_places", 2, (row, int(table.shards[part.page]), *arguments), stream)

    for _ in range(2):
        topology.sweep("shards", places)
        receivers = np.repeat(np.arange(len(degrees)), np.where(degrees > SEGMENT, 0, degrees))
        short = np.repeat(degrees <= SEGMENT, degrees)
        assert np.array_equal(visits.array("receivers", np.uint32)[short], receivers)
        assert set(visits.array("copies", np.uint8).tolist()) == {1, 4}
        visits.clear()
        visits.sweep(topology, "weighted")  # this pass moves pages
        assert_seen(visits, weighted=True)
    closed(topology)


# -------------------------------------------------------------------------------------------------------- transfers
def test_pages_with_little_to_do_are_read_directly() -> None:
    link = Link(start=2e-6, copied=50e9, direct=25e9, touched=50e6)
    edges = np.array([1_000_000, 1_000_000, 1_000_000, 1_000_000, 10])
    marks = Marks(np.array([0, 10, 20_000, 10, 1]), np.array([0, 1000, 20_000, 900_000, 10]), np.zeros(5, int),
                  np.zeros(5, int))
    cached = np.zeros(5, dtype=bool)
    # A copy takes 82 us (the last one 2); direct reads take 0.4, 100, 144 and 0.03 us.
    assert choose_transfer(marks, edges, 4, cached, link, True) == Transfer((2, 3), (1, 4))
    assert choose_transfer(marks, edges, 4, cached, link, False) == Transfer((1, 2, 3, 4))
    assert choose_transfer(marks, edges, 4, cached, link, True, asked="direct") == Transfer((), (1, 2, 3, 4))
    assert choose_transfer(marks, edges, 4, cached, link, True, asked="pages") == Transfer((1, 2, 3, 4))
    # Gathering takes 0.1, 28, 720 and 0.01 us; copying the rows takes 2 us at least.
    packing = Packing(1e-9, 2e-10)
    assert choose_transfer(marks, edges, 4, cached, link, True, packing) == Transfer((3,), (1, 4), (2,))
    assert choose_transfer(marks, edges, 4, cached, link, False, packing) == Transfer((3, 4), (), (1, 2))
    cached[1] = True
    assert choose_transfer(marks, edges, 4, cached, link, True) == Transfer((1, 2, 3), (4,))


def test_the_published_choice() -> None:
    """The choice agrees with an enlarged form of HyTGraph's example (figure 4), in which the same number of active
    edges is in few long rows, or in many short rows.
    """
    edges = np.full(4, 8_388_608)
    vertices, active = np.array([100, 100_000, 2_000_000, 10]), np.array([3_200, 400_000, 8_000_000, 8_000_000])
    lines = np.array([150, 110_000, 2_100_000, 250_010])
    marks = Marks(vertices, active, np.zeros(4, int), lines)
    none = np.zeros(4, dtype=bool)
    # Packets: a copy takes 1024; packed rows 1, 62, 1221, 977; reads in place 1 x 0.63, 430 x 0.64, 8204 x 0.98, 977.
    chosen = choose_transfer(marks, edges, 4, none, Link(), True, Packing(1, 1), published=True)
    assert chosen == Transfer((2,), (0, 3), (1,))
    assert choose_transfer(marks, edges, 4, none, Link(), True, None, published=True) == Transfer((1, 2), (0, 3))


# ------------------------------------------------------------------------------------------------------------ order
@needs_compiler
def test_work_of_the_caller_comes_before_and_after(seed: int) -> None:
    """A pass starts after the earlier work of the caller's stream, and ends before the later work of this stream."""
    visits = Visits(EmulatedDevice(seed), adjacency_of(hub_graph(np.random.default_rng(seed), hubs=())))
    topology = streamed(visits, 3, streams=3)
    for _ in range(5):  # clearing is queued on the default stream, and reading waits for that stream only
        visits.clear()
        visits.sweep(topology, "weighted")
        visits.sweep(topology, "plain")
        assert np.array_equal(visits.array("seen", np.uint32), np.full(len(visits.adjacency), 2))
    closed(topology)


def test_a_failed_start_gives_everything_back(seed: int) -> None:
    device = EmulatedDevice(seed)
    adjacency = adjacency_of(hub_graph(np.random.default_rng(seed), hubs=()))

    def fails(name: str, blocks: int, args: object, stream: object) -> None:
        raise RuntimeError(name)

    with pytest.raises(RuntimeError, match="row_blocks"):
        Topology(device, fails, adjacency, USES)
    assert device.allocated() == 0


def test_a_direction_that_no_loop_reads_leaves_its_memory_to_the_others() -> None:
    graph = Graph.read("rmat:12")
    sides = {kind: graph.adjacency(kind) for kind in ("in", "out")}
    uses = {kind: {"read": Use()} for kind in sides}
    whole = share_memory(sides, uses, 1 << 40, 1024)
    free = sum(whole.values()) * 3 // 4
    even, uneven = (share_memory(sides, uses, free, 1024, unread=frozenset(unread)) for unread in ((), ("in",)))
    assert min(even.values()) < whole["in"]
    assert uneven["out"] == whole["out"]
    assert uneven["in"] < whole["in"]
    half, small = (share_memory(sides, uses, free // 2, 1024, unread=frozenset(unread)) for unread in ((), ("in",)))
    assert small["in"] < half["in"] < half["out"] + 1024 < small["out"]
    assert share_memory(sides, uses, free, 1024, unread=frozenset(sides)) == even
    assert share_memory(sides, uses, sum(whole.values()), 1024, unread=frozenset({"in"})) == whole
