"""Several emulated GPUs: every program gives the interpreter's result, and deterministic runs give the same bits as one
GPU.
"""

from __future__ import annotations

import math
import re
import signal
from typing import Any

import numpy as np
import pytest

from tests.cpu.compare import assert_as_interpreted, engine_run, interpreted, same_bits
from tests.cuda.emulation.emulated import EmulatedDevice, needs_compiler
from tests.cuda.runs import APPROXIMATE, ROUNDS, assert_right, emulated, given, least_memory, program, run
from tests.reference.cases import STDLIB, case
from tests.reference.graph import RefGraph
from tests.sample import EXHAUSTIVE, sampled
from vlang import BindError, DeviceError, Graph, OutOfMemory, Result, load
from vlang.api.running.on_gpus import refuse_early
from vlang.options import Options
from vlang.runtime.gpu.device.choose import stand_in
from vlang.runtime.gpus import peer_push
from vlang.runtime.gpus.mirrors import run_at_once
from vlang.runtime.gpus.peer_front import PeerFront
from vlang.runtime.gpus.shared_bound import SharedBound, priority_of
from vlang.runtime.policies.policies import POLICIES

pytestmark = needs_compiler

TWO, THREE = "emulated:0,1", "emulated:0,1,2"
GRAPHS = ("skewed", "sparse", "dense", "components", "messy", "empty")
EXCHANGES = ("vr", "auto", "all", "vr")
KERNELS = ("auto", "thread", "virtual-warp-8", "warp-segmentation", "stream", "edge")


@pytest.mark.parametrize("name", sampled(STDLIB, STDLIB[::2]))
def test_program(name: str) -> None:
    """Every program is right with resident and streamed edges, and with every kernel. If a graph has fewer vertices
    than a warp, some GPUs have no vertices.
    """
    start = STDLIB.index(name)
    for seed in (start, start + 1, start + 4):
        graph = GRAPHS[seed % len(GRAPHS)]
        if given(name, graph) is None:
            continue
        options: dict[str, Any] = {"kernel": KERNELS[seed // 2 % len(KERNELS)], "page_size": (None, 256)[seed // 3 % 2],
                                   "exchange": EXCHANGES[seed % len(EXCHANGES)]}
        print(f"{name} on {graph}, seed {seed}: {options}")
        assert_right(name, graph, run(name, graph, seed, device=(TWO, THREE)[seed % 2], **options))


@pytest.mark.parametrize("name", STDLIB)
def test_policy(name: str) -> None:
    """A policy runs or refuses the same programs as on one GPU. With VLANG_EXHAUSTIVE, every program is tried with
    every policy.
    """
    start = STDLIB.index(name)
    plan = program(name).plan(frozenset({"weight"} & {edge.name for edge in program(name).edges}), target="cuda")
    for at, policy in enumerate(POLICIES):
        graph = GRAPHS[(start + at) % len(GRAPHS)]
        if given(name, graph) is None or not (EXHAUSTIVE or (start + at) % (2 * len(POLICIES)) == 0):
            continue
        if POLICIES[policy].refused(plan, "gpu") or policy == "wolfgraph":  # which reads no adjacency lists
            with pytest.raises(BindError):
                run(name, graph, start, device=TWO, policy=policy)
        else:
            assert_right(name, graph, run(name, graph, start, device=(TWO, THREE)[at % 2], policy=policy))


def assert_same(first: Result, again: Result) -> None:
    for field in first.fields:
        assert same_bits(np.asarray(first[field]), np.asarray(again[field])), field
    assert first.globals == again.globals
    assert (first.rounds, first.reason) == (again.rounds, again.reason)
    assert [row.active for row in first.history] == [row.active for row in again.history]
    assert [row.edges for row in first.history] == [row.edges for row in again.history]


@pytest.mark.parametrize("name", APPROXIMATE)
def test_the_same_bits_as_on_one_gpu(name: str) -> None:
    """The bits are the same as on one GPU, although a range of vertices may end inside a block of a reduction. The
    order of edges does not change within the strips of a warp, within long rows and within sums.
    """
    for graph, kernel, device in (("wide", "auto", THREE), ("skewed", "warp-segmentation", TWO), ("long", "auto", TWO)):
        asked: dict[str, Any] = {"deterministic": True, "max_rounds": 3, "kernel": kernel, "mode": "pull"}
        first = run(name, graph, **asked)
        assert_same(first, run(name, graph, device=device, page_size=4096 if graph == "long" else None, **asked))


@pytest.mark.parametrize("name", sampled(
    ["betweenness", "cdlp", "hits", "pagerank_delta"], ["betweenness", "cdlp"]))
def test_sweeps_scratch_and_both_directions(name: str) -> None:
    assert_same(run(name, "skewed", deterministic=True, mode="pull"),
                run(name, "skewed", device=THREE, deterministic=True, mode="pull"))


@pytest.mark.parametrize(("name", "graph"), [("sssp", "sparse"), ("bfs", "wide")])
def test_what_exchanges_send(name: str, graph: str) -> None:
    """The exchange vr (vertex refinement) sends the same values as the exchange ms, except values that did not change.
    All exchanges give the same bits.
    """
    asked: dict[str, Any] = {"deterministic": True, "device": TWO, "max_rounds": 6, "mode": "pull"}
    all_, subset, refined = (run(name, graph, exchange=one, **asked) for one in ("all", "ms", "vr"))
    assert_same(all_, subset)
    assert_same(all_, refined)
    sent = [[int(word.replace(",", "")) for word in re.findall(r"\d[\d,]*", one.notes[-1])]
            for one in (all_, subset, refined)]
    (whole, whole_bytes), (boundary, subset_bytes), (changed, mirrored, *_, refined_bytes) = sent
    assert whole >= boundary == mirrored > changed > 0
    assert whole_bytes >= subset_bytes > refined_bytes
    assert refined.moved.bytes_between == refined_bytes
    assert 0 < sum(row.bytes_between for row in refined.history) <= refined_bytes


def test_state_of_all_vertices_on_each_gpu() -> None:
    """Under strategy p, each GPU is sent the values of all vertices of the other GPUs. Under strategy s, each GPU is
    sent only the values of neighbours. The bits are the same, and loops over frontiers are right, too.
    """
    asked: dict[str, Any] = {"deterministic": True, "device": THREE, "exchange": "ms", "mode": "pull"}
    cut, whole, all_ = (run("pagerank", "sparse", **{**asked, **more}) for more in
                        ({"strategy": "s"}, {"strategy": "p"}, {"strategy": "s", "exchange": "all"}))
    assert_same(cut, whole)
    assert cut.moved.bytes_between < whole.moved.bytes_between == all_.moved.bytes_between
    assert_right("sssp", "wide", run("sssp", "wide", device=TWO, strategy="p"))
    assert "one GPU has all state" in run("pagerank", "sparse", policy="gts").notes[1]


def test_refined_values_are_sent_in_the_form_of_fewest_bytes() -> None:
    """A wide frontier is sent with a bitmap, a narrow frontier as a list, and the first exchange sends all values."""
    some = given("sssp", "sparse")
    assert some is not None
    with emulated("sssp", several=True) as opened:
        engine_run(program("sssp"), some, device=THREE, exchange="vr", mode="pull")
    launched = {name for device in opened for name in device.launches}
    assert {"place_listed_u32", "place_flagged_u32", "collect_values_u32"} <= launched


def test_direct_copies_decide_the_exchange() -> None:
    """Vertex refinement is chosen if copies go through host memory, and the exchange ms is chosen if copies are direct.
    """
    direct, staged = (run("sssp", "sparse", device=TWO, unified=unified) for unified in (True, False))
    assert "exchange ms: all GPUs reach each other" in direct.device_reason
    assert "exchange vr: copies between some GPUs go through host memory" in staged.device_reason


@pytest.mark.parametrize("unified", [True, False])
def test_frontiers(unified: bool) -> None:
    """Only values of active vertices are sent, and fewer edges are traversed than by full passes. GPUs that reach each
    other take one launch for all supersteps.
    """
    for name in ("bfs", "sssp", "bfs_tree") if unified else ("bfs", "sssp"):
        some = given(name, "wide")
        assert some is not None
        with emulated(name, unified=unified, several=True) as opened:
            result = engine_run(program(name), some, device=THREE)
        assert_right(name, "wide", result)
        assert {row.mode for row in result.history} <= {"push", "early-exit pull"}
        sent = re.search(r"([\d,]+) values of active vertices were sent; ([\d,]+) bytes", result.notes[-1])
        assert sent is not None
        values, nbytes = (int(word.replace(",", "")) for word in sent.groups())
        listed = 8 * values  # a value and the place of its mirror; or a bitmap of the mirrors instead of the places
        assert nbytes == result.moved.bytes_between
        assert 4 * values < nbytes < listed if unified and name == "bfs" else nbytes == listed
        if name == "bfs":
            assert result.edges < result.rounds * given_edges("wide") / 2
        for device in opened:
            launched = {kernel.split("_s")[0]: count for kernel, count in device.launches.items()}
            assert launched.get("traverse_peers", 0) == unified
            assert (launched.get("traverse", 0) > 1) != unified


def test_supersteps_continue_in_a_second_launch(monkeypatch: pytest.MonkeyPatch) -> None:
    """The state of a search continues if the host allows few supersteps per launch, also between two bounds of
    priorities.
    """
    for most, name in ((1, "bfs"), (2, "sssp"), (3, "sswp")):
        monkeypatch.setattr(peer_push, "_MOST", most)
        result = run(name, "wide", seed=most, device=(TWO, THREE)[most % 2])
        assert_right(name, "wide", result)
        assert result.rounds > most


def test_a_gpu_that_waits_in_vain(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(front: PeerFront) -> None:
        raise DeviceError("a kernel on gpu:0 failed")

    monkeypatch.setattr(PeerFront, "fetch", fails)
    with pytest.raises(DeviceError, match="another program kept one of the 2 GPUs busy"):
        run("bfs", "dense", device=TWO)


def test_an_interrupt_between_launches_that_wait_for_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """The interrupt is raised when all GPUs have their launch, so that the first one does not wait in vain."""
    launch, some = PeerFront.launch, given("bfs", "dense")
    assert some is not None

    def interrupted(front: PeerFront, most: int, devices: int) -> None:
        launch(front, most, devices)
        if front.part.numbers.rank == 0:
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(PeerFront, "launch", interrupted)
    with emulated("bfs", several=True) as opened, pytest.raises(KeyboardInterrupt):
        engine_run(program("bfs"), some, device=TWO)
    assert [device.launches["traverse_peers_s1_0_32"] for device in opened] == [1, 1]


def test_launches_that_wait_for_each_other_need_gpus_that_may_run_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """With CUDA_LAUNCH_BLOCKING, the launch on the first GPU would wait for a launch that has not been queued."""
    devices = [EmulatedDevice(), EmulatedDevice()]
    assert run_at_once(devices)
    monkeypatch.setenv("CUDA_LAUNCH_BLOCKING", "1")
    assert not run_at_once(devices)


def given_edges(graph: str) -> int:
    some = given("bfs", graph)
    assert some is not None
    return len(some.graph.src)


def test_mode_and_memory_decide_on_frontiers() -> None:
    """A run uses full passes if the options require them, or if the edges by sender do not fit into memory. The results
    have the same bits.
    """
    asked: dict[str, Any] = {"device": TWO, "deterministic": True}
    pushed = run("sssp", "wide", **asked, mode="push")
    assert {row.mode for row in pushed.history} == {"push"}
    least = least_memory("sssp", "wide", **asked, page_size=2048)
    for short, some in ((False, run("sssp", "wide", **asked, mode="pull")),
                        (True, run("sssp", "wide", **asked, page_size=2048, gpu_memory=least))):
        assert {row.mode for row in some.history} == {"pull"}
        assert some.notes[0].startswith("GPU memory is short: the loop in line 14 runs by full passes") == short
        assert same_bits(np.asarray(some["dist"]), np.asarray(pushed["dist"]))
    with pytest.raises(OutOfMemory, match="several GPUs do not move vertex arrays in windows, as one GPU does"):
        run("sssp", "wide", **asked, gpu_memory=least // 2)


def test_a_bound_of_priorities_for_all_gpus() -> None:
    """The first step of a priority bound is the mean increase. Steps double while supersteps have few edges, and every
    step increases the bound.
    """
    shared = SharedBound()
    shared.lift(3.0, 2.5)
    assert (shared.bound, shared.delta) == (5.5, 2.5)
    shared.ran(10)
    shared.lift(9.0, 7.0)
    assert (shared.bound, shared.delta) == (14.0, 5.0)
    shared.ran(1 << 30)
    shared.lift(2.0**60, 7.0)  # 5 is lost in the rounding of 2^60
    assert shared.bound > 2.0**60
    shared.lift(math.inf, 7.0)
    assert shared.bound == math.inf
    assert [priority_of(int(key)) for key in (0x8000_0000_0000_0000, 0xBFF0_0000_0000_0000, 0x400F_FFFF_FFFF_FFFF)] == \
        [0.0, 1.0, -1.0]


def test_streamed() -> None:
    """The bits are the same as on one GPU if each GPU has too little memory for its edges and copies pages in each
    superstep.
    """
    asked: dict[str, Any] = {"deterministic": True, "max_rounds": 3, "mode": "pull", "page_size": 2048}
    least = least_memory("pagerank", "wide", device=TWO, **asked)
    assert_same(run("pagerank", "wide", **asked), run("pagerank", "wide", device=TWO, gpu_memory=least, **asked))


@pytest.mark.parametrize("name", sampled(STDLIB, ["sssp"]))
def test_slotted_pages(name: str) -> None:
    """Each GPU has slotted pages of its own rows, whose neighbours are also mirrors, in about the least memory. With
    VLANG_EXHAUSTIVE, every program.
    """
    n, seed = 2 * 4096 + 64, STDLIB.index(name)  # the second GPU has few pads
    dst = np.repeat(np.arange(n), 3)
    src = np.random.default_rng(9).integers(0, n, len(dst))
    some = case(name, RefGraph(n, src, dst, {"weight": ((src + dst) % 9 + 1).astype(np.float32)}, True))
    assert some is not None
    asked: dict[str, Any] = {"max_rounds": ROUNDS} if name in APPROXIMATE else {}
    outcome, memory = interpreted(program(name), some, **asked), 1 << 17
    layout = ("slotted", "slotted-2-2")[seed % 2]
    asked |= {"page_size": 2048, "mode": "pull", "streams": 1 + seed % 2, "layout": layout}
    result: Result | None = None
    while result is None:
        with emulated(name, seed, several=True) as opened:
            try:
                result = engine_run(program(name), some, device=TWO, gpu_memory=memory, **asked)
            except OutOfMemory as error:
                memory = max(memory + 4096, error.least)
            except BindError as error:
                pytest.skip(str(error))
    assert_as_interpreted(program(name), some, result, outcome, same_rounds=False)
    assert any("decode_slotted_kernel" in device.launches for device in opened)
    assert not any(note.startswith("layout=") for note in result.notes)


def test_resident_edges_are_adjacency_lists() -> None:
    notes = run("sssp", "dense", device=TWO, layout="slotted").notes
    assert notes[0] == "layout=slotted: not followed, as all edges fit into GPU memory"


@pytest.mark.parametrize(("name", "text"), [
    ("triangles", "triangles, line 15: .* which may be on any GPUs, so this program cannot run on several GPUs"),
    ("components_jump", "components_jump, line 14: this reads `.*` of a vertex that need not be a neighbour"),
])
def test_refused_programs(name: str, text: str) -> None:
    graph = Graph.from_edges([0, 1], [1, 2], directed=False)
    with stand_in("emulated", lambda _, memory: pytest.fail("a device was opened")), \
            pytest.raises(BindError, match=text):
        load(name)(graph, device=TWO)


@pytest.mark.parametrize(("options", "text"), [
    ({"memory": "1G"}, "several GPUs and memory do not go together"),
    ({"device_arrays": True}, "device_arrays are on one GPU"),
    ({"research": {"mode": "notify-pull"}}, "full passes .* and mode='notify-pull' was asked for"),
    ({"research": {"asynchronous": True}}, "asynchronous=True was asked for"),
    ({"device": "gpu:0,0"}, "names gpu:0 twice"),
    ({"device": "gpu:0,x"}, "device is .*'gpu:0,1'"),
    ({"device": "cpu:0,1"}, "device is .*'gpu:0,1'"),
])
def test_refused_options(options: dict[str, Any], text: str) -> None:
    graph = Graph.from_edges([0, 1], [1, 2])
    with stand_in("emulated", lambda _, memory: pytest.fail("a device was opened")), \
            pytest.raises(BindError, match=text):
        load("sssp")(graph, source=0, **{"device": TWO, **options})


@pytest.mark.parametrize("device", ["gpu:0,1", "gpus"])
def test_refused_before_the_graph_is_read(device: str) -> None:
    with pytest.raises(BindError, match="line 15"):
        refuse_early(load("triangles"), Options(device=device))
    refuse_early(load("sssp"), Options(device=device))
