"""Sparse supersteps on an emulated GPU are compared with fixpoints computed by NumPy, on difficult graphs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.cuda.emulation.emulated import EmulatedDevice, needs_compiler
from tests.cuda.kernels.sparse_machine import Arcs, SampleMachine, stage_of
from vlang.runtime.engine.machine import Done, Stats
from vlang.runtime.gpu.kernels import sparse_layout
from vlang.runtime.gpu.ways import pushing
from vlang.runtime.gpu.ways.notifying import NotifyPull
from vlang.runtime.gpu.ways.push_costs import Costs
from vlang.runtime.gpu.ways.pushing import PushLoop

FAR = np.int32(2**31 - 1)
NEVER = 10**6
WALKING = [64, 256]


@pytest.fixture
def device() -> Iterator[EmulatedDevice]:
    made = EmulatedDevice(seed=11)
    yield made
    made.close()


# ------------------------------------------------------------------------------------------------------------- graphs
def random_arcs(seed: int, n: int = 300, degree: int = 4) -> Arcs:
    """Return random arcs. One vertex has a high degree, and some vertices have no arcs."""
    print("seed", seed)
    rng = np.random.default_rng(seed)
    m = n * degree
    tails, heads = rng.integers(0, n - n // 8, m), rng.integers(0, n, m)
    tails[: m // 4] = 5
    return Arcs.of(n, tails, heads, rng.integers(1, 65, m))


def hub_arcs(n: int = 400) -> Arcs:
    """Return the arcs of a hub in both directions, and of a path attached to the hub. The hub has far more arcs than
    one queue entry covers.
    """
    rng = np.random.default_rng(3)
    arms = sparse_layout.CHUNK * 3 + 17
    tails = np.concatenate([np.zeros(arms, np.int64), rng.integers(1, n, arms), np.arange(n - 1)])
    heads = np.concatenate([rng.integers(1, n, arms), np.zeros(arms, np.int64), np.arange(1, n)])
    return Arcs.of(n, tails, heads, rng.integers(1, 65, len(tails)))


def path_arcs(n: int) -> Arcs:
    """Return the path 0 -> 1 -> 2 -> ... over n vertices."""
    return Arcs.of(n, np.arange(n - 1), np.arange(1, n), np.ones(n - 1))


def long_arcs() -> Arcs:
    """Return arcs among which one vertex has more arcs than a segment."""
    rng = np.random.default_rng(4)
    n, arms = 700, 16384 + 100
    tails = np.concatenate([np.full(arms, 7), rng.integers(0, n, arms), rng.integers(0, n, n)])
    heads = np.concatenate([rng.integers(0, n, arms), np.full(arms, 7), rng.integers(0, n, n)])
    return Arcs.of(n, tails, heads, rng.integers(1, 65, len(tails)))


# --------------------------------------------------------------------------------------------------------- references
def relax(arcs: Arcs, start: NDArray[Any], weights: NDArray[Any]) -> tuple[NDArray[Any], list[int]]:
    """Return the least fixpoint of x[head] = min(x[head], x[tail] + weight), and the number of changes in each
    superstep.
    """
    values, changes = start.copy(), []
    while True:
        after = values.copy()
        with np.errstate(over="ignore"):
            sums = values[arcs.tails] + weights
        if values.dtype.kind == "i":
            sums = np.where(values[arcs.tails] == FAR, FAR, sums)
        np.minimum.at(after, arcs.targets, sums.astype(values.dtype))
        changes.append(int(np.sum(after != values)))
        if not changes[-1]:
            return values, changes
        values = after


def depths(n: int, *sources: int) -> NDArray[np.int32]:
    values = np.full(n, FAR, dtype=np.int32)
    values[list(sources)] = 0
    return values


def distances(n: int, *sources: int) -> NDArray[np.float32]:
    values = np.full(n, np.inf, dtype=np.float32)
    values[list(sources)] = 0
    return values


def parents(arcs: Arcs, depth: NDArray[np.int32], source: int) -> NDArray[np.uint64]:
    """Return for each vertex its depth, packed with the smallest neighbour that is one step nearer to the source."""
    best = np.full(len(depth), 0xFFFFFFFF, dtype=np.uint64)
    good = (depth[arcs.tails] != FAR) & (depth[arcs.tails] + 1 == depth[arcs.targets])
    np.minimum.at(best, arcs.targets[good], arcs.tails[good].astype(np.uint64))
    best[source] = source
    return pack(depth, best)


def pack(depth: NDArray[np.int32], other: NDArray[np.uint64]) -> NDArray[np.uint64]:
    return (depth.view(np.uint32) ^ np.uint32(1 << 31)).astype(np.uint64) << np.uint64(32) | other


def machine_of(
    device: EmulatedDevice, arcs: Arcs, field: NDArray[Any], pages: int = 1, **reading: Any
) -> SampleMachine:
    return SampleMachine(device, {"out": arcs, "in": arcs.turned(), "both": arcs}, field, pages, **reading)


def run(loop: PushLoop, room: int | None = None) -> list[Done]:
    """Run a loop to its end; return the rows of its history."""
    rows = list(loop.advance(room))
    while rows[-1].active:
        rows += loop.advance(room)
        assert len(rows) < NEVER
    return rows


# --------------------------------------------------------------------------------------------------------------- push
pytestmark = needs_compiler


@pytest.mark.parametrize("rule", ["push", "pull", "cost", "beamer"])
@pytest.mark.parametrize("pages", [1, 3])
def test_breadth_first(device: EmulatedDevice, rule: str, pages: int) -> None:
    arcs = random_arcs(21)
    start = depths(300, 5)
    machine = machine_of(device, arcs, start, pages)
    loop = PushLoop(machine, stage_of("bfs", early="frontier", priority="ascending"), Costs(rule=rule))
    rows = run(loop)
    expected, changes = relax(arcs, start, np.ones(len(arcs.targets), np.int32))
    assert np.array_equal(machine.field(), expected)
    assert [row.active for row in rows] == changes
    modes = {row.mode for row in rows}
    assert {"push": {"push"}, "pull": {"early-exit pull"}}.get(rule, modes) == modes
    if rule == "push":
        degrees = np.diff(arcs.offsets)
        assert sum(row.edges for row in rows) == degrees[expected != FAR].sum()
    loop.close()


@pytest.mark.parametrize("graph", ["hub", "long", "path"])
@pytest.mark.parametrize("rule", ["push", "pull"])
def test_breadth_first_on_awkward_graphs(device: EmulatedDevice, graph: str, rule: str) -> None:
    arcs = hub_arcs() if graph == "hub" else long_arcs() if graph == "long" else path_arcs(70)
    n = len(arcs.offsets) - 1
    start = depths(n, 1)
    machine = machine_of(device, arcs, start)
    run(PushLoop(machine, stage_of("bfs", early="frontier"), Costs(rule=rule, held=64)))
    assert np.array_equal(machine.field(), relax(arcs, start, np.ones(len(arcs.targets), np.int32))[0])


@pytest.mark.parametrize("struct", ["bfs", "sssp"])
def test_shared_memory_keeps_small_frontiers(
    device: EmulatedDevice, struct: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A block, or a cluster of blocks, that keeps its frontier in shared memory runs the supersteps of queues in global
    memory.

    The graph has a path, then a hundred vertices, which are in the queues of all blocks, then rows that are short,
    long, and longer than an entry of a queue, and then more vertices than the blocks keep.
    """
    monkeypatch.setattr(pushing, "CLUSTER_THREADS", 256)
    widths = [1] * 10 + [25, 100, 100, 3, 40, 5, 1, 1, 700, 2, 1, 1]
    starts = np.cumsum([0, *widths])
    pairs = [(u, v) for at in range(len(widths) - 1) for u in range(starts[at], starts[at + 1])
             for v in range(starts[at + 1], starts[at + 2]) if widths[at + 1] != 100 or (v - u) % 25 == 0]
    tails, heads = np.array(pairs).T
    n = int(starts[-1])
    arcs = Arcs.of(n, tails, heads, np.arange(len(tails)) % 7 + 1)
    start = depths(n, 0) if struct == "bfs" else distances(n, 0)
    stage = stage_of(struct, early="frontier" if struct == "bfs" else "")
    found = []
    for held, few in ((0, 0), (32, 0), (300, 0), (0, 24), (0, 800)):
        device.info = replace(device.info, architecture="sm_90" if few else "sm_80")
        machine = machine_of(device, arcs, start, pages=1 if few else 1 + held % 3)
        loop = PushLoop(machine, stage, Costs(rule="push", solo=held or 300, held=held, few=few), full=False)
        found.append(run(loop, 20))
        assert (f"traverse_few_{struct}" in device.launches) == (few > 0)
        expected = relax(arcs, start, np.ones(len(tails), np.int32) if struct == "bfs" else arcs.weights)[0]
        assert np.array_equal(machine.field(), expected)
        loop.close()
    assert all(rows == found[0] for rows in found)


@pytest.mark.parametrize(("solo", "held"), [(0, 0), (16, 0), (1000, 0), (0, 16), (0, 1000)])
@pytest.mark.parametrize("walking", WALKING)
@pytest.mark.parametrize("priority", ["", "ascending"])
def test_shortest_paths(
    device: EmulatedDevice, solo: int, held: int, walking: int, priority: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pushing, "WALKING", walking)
    for seed in (31, 32):
        arcs = random_arcs(seed, degree=5)
        start = distances(300, 5, 40)
        machine = machine_of(device, arcs, start, pages=1 + seed % 2)
        loop = PushLoop(machine, stage_of("sssp", priority=priority), Costs(solo=solo, held=held), full=False)
        rows = run(loop)
        assert np.array_equal(machine.field(), relax(arcs, start, arcs.weights)[0])
        assert rows[-1].active == 0
        assert {row.mode for row in rows} == {"push"}
        loop.close()


def test_priorities_spare_work(device: EmulatedDevice) -> None:
    edges = {}
    for priority in ("", "ascending"):
        arcs = random_arcs(33, n=1000, degree=8)
        machine = machine_of(device, arcs, distances(1000, 5))
        loop = PushLoop(machine, stage_of("sssp", priority=priority), full=False)
        edges[priority] = sum(row.edges for row in run(loop))
        loop.close()
    assert edges["ascending"] < edges[""]


@pytest.mark.parametrize("room", [1, 3, None])
def test_labels_with_full_passes(device: EmulatedDevice, room: int | None) -> None:
    arcs = random_arcs(41)
    both = Arcs.of(300, np.concatenate([arcs.tails, arcs.targets]), np.concatenate([arcs.targets, arcs.tails]),
                   np.concatenate([arcs.weights, arcs.weights]))
    start = np.arange(300, dtype=np.int32)
    machine = SampleMachine(device, {"both": both}, start)
    loop = PushLoop(machine, stage_of("least", "both"), Costs(solo=32, held=32))
    rows = run(loop, room)
    assert rows[0].mode == "pull"
    assert rows[-1].mode == "push"
    assert np.array_equal(machine.field(), relax(both, start, np.zeros(len(both.targets), np.int32))[0])
    assert loop.stats.active == loop.stats.changed == 0


@pytest.mark.parametrize("full", [False, True])
@pytest.mark.parametrize("solo", [0, 1000])
@pytest.mark.parametrize("graph", ["random", "hub"])
def test_cells_go_superstep_by_superstep(device: EmulatedDevice, full: bool, solo: int, graph: str) -> None:
    arcs = random_arcs(51) if graph == "random" else hub_arcs()
    n, source = len(arcs.offsets) - 1, 5
    depth, _ = relax(arcs, depths(n, source), np.ones(len(arcs.targets), np.int32))
    none = np.full(n, 0xFFFFFFFF, dtype=np.uint64)
    none[source] = source
    start = pack(depths(n, source), none)
    machine = machine_of(device, arcs, start)
    loop = PushLoop(machine, stage_of("tree", push="cells", messages=True), Costs(solo=solo), full=full)
    rows = run(loop)
    assert np.array_equal(machine.field(), parents(arcs, depth, source))
    assert [row.active for row in rows] == [int(np.sum(depth == k)) for k in range(1, len(rows) + 1)]
    assert rows[0].mode == ("pull" if full else "push")
    loop.close()


def test_nobody_has_anything_to_say(device: EmulatedDevice) -> None:
    arcs = random_arcs(61)
    machine = machine_of(device, arcs, distances(300))
    loop = PushLoop(machine, stage_of("sssp", priority="ascending"))
    assert list(loop.advance(None)) == [Done(0, "push", 0)]
    assert loop.last() == Done(0, "push", 0)
    assert np.all(np.isinf(machine.field()))
    loop.close()


def test_launches_end_after_as_many_supersteps_as_asked(device: EmulatedDevice) -> None:
    machine = machine_of(device, path_arcs(20), depths(20, 0))
    loop = PushLoop(machine, stage_of("bfs", early="frontier"))
    assert len(loop.advance(7)) == 7
    assert machine.field().tolist() == [*range(8), *[FAR] * 12]
    assert len(loop.advance(None)) == 13
    loop.close()


# -------------------------------------------------------------------------------------------------------- over pages
def test_breadth_first_over_pages(device: EmulatedDevice) -> None:
    arcs = random_arcs(22)
    start = depths(300, 5)
    machine = machine_of(device, arcs, start, 4, reading="pages")
    rows = run(PushLoop(machine, stage_of("bfs", early="frontier", priority="ascending")))
    expected, changes = relax(arcs, start, np.ones(len(arcs.targets), np.int32))
    assert np.array_equal(machine.field(), expected)
    assert [row.active for row in rows] == changes
    assert sum(row.edges for row in rows) == np.diff(arcs.offsets)[expected != FAR].sum()
    assert machine.compared == len(rows) + 1  # compared with a pass over the queue in `sorted_queue`


@pytest.mark.parametrize("graph", ["random", "hub"])
@pytest.mark.parametrize("reading", ["pages", "either"])
def test_cells_over_pages(device: EmulatedDevice, reading: str, graph: str) -> None:
    """Pushes into cells (accumulators for atomic operations) run the same supersteps over pages as over rows.

    With `reading="either"`, small frontiers need no pages.
    """
    arcs = random_arcs(52) if graph == "random" else hub_arcs()
    n, source = len(arcs.offsets) - 1, 5
    depth, _ = relax(arcs, depths(n, source), np.ones(len(arcs.targets), np.int32))
    none = np.full(n, 0xFFFFFFFF, dtype=np.uint64)
    none[source] = source
    machine = machine_of(device, arcs, pack(depths(n, source), none), 3, reading=reading, leave=40)
    rows = run(PushLoop(machine, stage_of("tree", push="cells", messages=True), Costs(solo=16)))
    assert np.array_equal(machine.field(), parents(arcs, depth, source))
    assert [row.active for row in rows] == [int(np.sum(depth == k)) for k in range(1, len(rows) + 1)]
    assert ("traverse_tree_0" in device.launches) == (reading == "either")
    assert device.launches["push_slice_tree_0"] > 2
    assert rows[0].mode == "pull"  # every vertex has a contribution


@pytest.mark.parametrize("reading", ["pages", "either"])
@pytest.mark.parametrize("priority", ["", "ascending"])
def test_shortest_paths_over_pages(device: EmulatedDevice, priority: str, reading: str) -> None:
    arcs = random_arcs(34, degree=6)
    start = distances(300, 5, 40)
    machine = machine_of(device, arcs, start, 4, reading=reading, leave=60)
    rows = run(PushLoop(machine, stage_of("sssp", priority=priority), Costs(solo=16), full=False))
    assert np.array_equal(machine.field(), relax(arcs, start, arcs.weights)[0])
    assert {row.mode for row in rows} == {"push"}
    assert any(name.startswith("push_slice") for name in device.launches)


@pytest.mark.parametrize("struct", ["sssp", "tree"])
def test_notify_pull_over_pages(device: EmulatedDevice, struct: str) -> None:
    arcs, source = hub_arcs() if struct == "tree" else random_arcs(72), 5
    n = len(arcs.offsets) - 1
    if struct == "sssp":
        start: NDArray[Any] = distances(n, source)
        expected, changes = relax(arcs, start, arcs.weights)
    else:
        depth, changes = relax(arcs, depths(n, source), np.ones(len(arcs.targets), np.int32))
        none = np.full(n, 0xFFFFFFFF, dtype=np.uint64)
        none[source] = source
        start, expected = pack(depths(n, source), none), parents(arcs, depth, source)
    machine = machine_of(device, arcs, start, 3, reading="pages")
    stage = stage_of(struct, messages=struct == "tree")
    lists = NotifyPull(machine, stage, active="")
    machine.run_full(stage)
    counts = [machine.counted().changed]
    while counts[-1]:
        lists.run(in_place=False)
        counts.append(machine.counted().changed)
    assert np.array_equal(machine.field(), expected)
    assert counts == changes
    lists.close()


# -------------------------------------------------------------------------------------------------------- notify-pull
@pytest.mark.parametrize(("struct", "graph"), [("least", "random"), ("sssp", "random"), ("sssp", "long"),
                                               ("tree", "hub"), ("tree", "random")])
@pytest.mark.parametrize("in_place", [False, True])
def test_notify_pull(device: EmulatedDevice, struct: str, graph: str, in_place: bool) -> None:
    arcs = hub_arcs() if graph == "hub" else long_arcs() if graph == "long" else random_arcs(71)
    n, source = len(arcs.offsets) - 1, 5
    if struct == "least":
        start: NDArray[Any] = np.arange(n, dtype=np.int32)
        expected, changes = relax(arcs, start, np.zeros(len(arcs.targets), np.int32))
    elif struct == "sssp":
        start = distances(n, source)
        expected, changes = relax(arcs, start, arcs.weights)
    else:
        depth, changes = relax(arcs, depths(n, source), np.ones(len(arcs.targets), np.int32))
        none = np.full(n, 0xFFFFFFFF, dtype=np.uint64)
        none[source] = source
        start, expected = pack(depths(n, source), none), parents(arcs, depth, source)
    machine = machine_of(device, arcs, start, 1 if graph == "long" else 2)
    stage = stage_of(struct, messages=struct == "tree")
    machine.in_place(stage, in_place)
    lists = NotifyPull(machine, stage, active="")
    assert machine.run_full(stage) == len(arcs.targets)
    counts = [machine.counted().changed]
    while counts[-1]:
        if len(counts) == 3:  # a full pass ran in between
            machine.run_full(stage)
            lists.ran_full()
        else:
            lists.run(in_place)
            assert lists.edges() > 0
        counts.append(machine.counted().changed)
    assert np.array_equal(machine.field(), expected)
    if not in_place:
        assert counts == changes
    lists.close()


def test_active_vertices_run_again_under_explicit_activity(device: EmulatedDevice) -> None:
    arcs = path_arcs(40)
    machine = machine_of(device, arcs, np.arange(40, dtype=np.int32)[::-1].copy())
    stage = stage_of("least")
    lists = NotifyPull(machine, stage, active="work:active")
    active = np.zeros(40, dtype=np.uint8)
    active[[3, 9]] = 1
    machine.set_active(active)
    lists.run(in_place=False)
    assert machine.counted() == Stats(0, 0)  # 3 and 9 only have larger neighbours
    assert lists.edges() == 2
    lists.close()


def test_lists_are_chosen_by_the_edges_of_what_changed(device: EmulatedDevice) -> None:
    arcs = path_arcs(40)
    machine = machine_of(device, arcs, np.arange(40, dtype=np.int32))
    lists = NotifyPull(machine, stage_of("least"), active="")
    assert [lists.chosen(asked) for asked in ("pull", "notify-pull", "auto")] == [False, True, True]
    machine.device.fill(machine.pointer("work:notify.s"), 40, 1)
    assert not lists.chosen("auto")
    lists.close()
