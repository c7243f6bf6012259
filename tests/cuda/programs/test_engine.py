"""On an emulated GPU every program gives the interpreter's result, with every kernel and in every mode.

Modes, page sizes, streams and graphs vary from run to run, so that all pairs of values of two settings occur. With
VLANG_EXHAUSTIVE=1 every combination runs.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import Phase, settings
from hypothesis import given as drawn_by
from hypothesis import seed as seeded

from tests.cpu.compare import assert_as_interpreted, engine_run, interpreted, same_bits
from tests.cuda.emulation.emulated import needs_compiler
from tests.cuda.runs import GRAPHS, assert_right, emulated, given, least_memory, program, run
from tests.reference.cases import STDLIB, Case
from tests.reference.generators.programs import Generated, programs
from tests.sample import EXHAUSTIVE, sampled
from vlang import OutOfMemory, compile
from vlang.runtime.policies.policies import POLICIES

pytestmark = needs_compiler

Way = dict[str, Any]

KERNELS: tuple[Way, ...] = (
    {"kernel": "auto"}, {"kernel": "thread"}, {"kernel": "virtual-warp-2"}, {"kernel": "virtual-warp-4"},
    {"kernel": "virtual-warp-8"}, {"kernel": "virtual-warp-16"}, {"kernel": "virtual-warp-32"},
    {"kernel": "warp-segmentation"}, {"kernel": "stream"}, {"kernel": "edge", "replication": 1},
    {"kernel": "edge", "replication": 4}, {"kernel": "edge", "replication": 32},
    {"kernel": "edge", "replication": "none"}, {"kernel": "edge", "replication": "garaph"},
)
MODES = ("auto", "pull", "notify-pull", "push")
PAGES = (None, 64, 256, 1024, 4096)
STREAMS = (0, 1, 3)
SMALL = tuple(name for name in GRAPHS if name not in ("no_edges", "empty", "long", "wide"))
USUAL = ("bfs", "components", "katz", "kcore_members", "pagerank", "sssp", "sssp_tree", "viterbi")
"""Programs of each kind of update: none, atomic ones of 32 and 64 bits, by compare-and-swap, of flags and roots."""


def _settings(number: int) -> tuple[str, Way]:
    """Return the graph and the options of run `number`. Each setting repeats after a number of runs; these periods have
    no common divisors except 1 and 2.
    """
    graph = SMALL[(number + number // 56) % len(SMALL)]
    mode, page = MODES[(number + number // 20) % len(MODES)], PAGES[number % len(PAGES)]
    return graph, {"mode": mode, "page_size": page, "streams": STREAMS[number % len(STREAMS)]}


def _ways(name: str) -> list[tuple[str, Way]]:
    if EXHAUSTIVE:
        product = itertools.product(SMALL, KERNELS, MODES, PAGES)
        return [(graph, {**kernel, "mode": mode, "page_size": page}) for graph, kernel, mode, page in product]
    start = 11 * STDLIB.index(name)
    settings = [_settings(start + at) for at in range(len(KERNELS))]
    return [(graph, {**options, **kernel}) for (graph, options), kernel in zip(settings, KERNELS)]


def _check(name: str, graph: str, options: Way, seed: int) -> None:
    print(f"{name} on {graph}, seed {seed}: {options}")
    assert_right(name, graph, run(name, graph, seed, **options))


@pytest.mark.parametrize("name", sampled(STDLIB, USUAL))
def test_program(name: str) -> None:
    for seed, (graph, options) in enumerate(_ways(name)):
        _check(name, graph, options, seed)
    for seed, (policy, page) in enumerate(itertools.product(POLICIES, (None, 64) if EXHAUSTIVE else (None,))):
        graph = SMALL[(seed + STDLIB.index(name)) % len(SMALL)]
        _check(name, graph, {"policy": policy, "page_size": page or PAGES[(seed + len(name)) % len(PAGES)]}, seed)


@pytest.mark.parametrize("graph", ["no_edges", "empty"])
@pytest.mark.parametrize("name", sampled(STDLIB, USUAL))
def test_graphs_without_edges(name: str, graph: str) -> None:
    if given(name, graph) is None:
        pytest.skip("a program with a source needs a vertex")
    _check(name, graph, {"mode": MODES[STDLIB.index(name) % len(MODES)]}, 0)


@pytest.mark.parametrize(("name", "options"), [
    ("bfs", {}), ("pagerank", {"page_size": 1 << 14}), ("components", {"kernel": "edge"}),
    ("sssp_tree", {"kernel": "stream", "mode": "push", "page_size": 1 << 15}),
    ("sssp", {"mode": "notify-pull"}), ("components", {"mode": "push", "page_size": 1 << 13}),
    ("spmv", {"kernel": "virtual-warp-8"}),
])
def test_long_rows(name: str, options: Way) -> None:
    """Rows longer than SEGMENT are reduced segment by segment; then the segments are combined."""
    _check(name, "long", options, 5)


@pytest.mark.parametrize(("name", "mode"), [
    ("bfs", "push"), ("components", "push"), ("components", "notify-pull"), ("kcore_members", "notify-pull"),
    ("sssp", "push"), ("sssp_tree", "push"), ("sswp", "auto"),
])
def test_wide_frontiers(name: str, mode: str) -> None:
    """Results are right if the frontier has more vertices than a warp can stage."""
    _check(name, "wide", {"mode": mode}, 2)


@pytest.mark.parametrize("name", ["bfs", "components"])
def test_a_cluster_continues_a_search(name: str) -> None:
    """Where blocks may be clusters, one of them runs the last supersteps over few vertices."""
    some = given(name, "wide")
    assert some is not None
    with emulated(name, seed=3, architecture="sm_90") as opened:
        result = engine_run(program(name), some, device="emulated", mode="push")
    assert_right(name, "wide", result)
    assert opened[0].launches["traverse_few_s1"] == 1


@pytest.mark.parametrize("name", sampled(
    ["bfs", "components", "katz", "sssp_tree", "kcore_members"], ["components", "katz"]))
def test_budgets(name: str) -> None:
    """Results are right if edges are streamed with the least memory that works, and with slightly more."""
    mode = MODES[len(name) % len(MODES)]
    least = least_memory(name, "skewed", page_size=256, mode=mode)
    for seed, (more, streams) in enumerate([(0, 1), (0, 3), (900, 2), (3000, 0)]):
        _check(name, "skewed", {"page_size": 256, "gpu_memory": least + more, "streams": streams, "mode": mode}, seed)
    with pytest.raises(OutOfMemory, match="memory"):
        run(name, "skewed", page_size=256, gpu_memory=least // 2, mode=mode)


@pytest.mark.parametrize("name", sampled(["pagerank", "sssp", "bfs_tree", "katz"], ["pagerank", "sssp"]))
def test_the_same_bits_for_every_cut(name: str) -> None:
    """With deterministic kernels, the bits do not depend on the page size, the number of streams or the order of lanes.
    """
    first = run(name, "skewed", deterministic=True, max_rounds=6)
    for seed, kernel in enumerate(KERNELS[1:9]):
        cut: Way = {"page_size": PAGES[seed % 5], "streams": STREAMS[seed % 3]}
        again = run(name, "skewed", seed, deterministic=True, max_rounds=6, **kernel, **cut)
        same = run(name, "skewed", seed + 1, deterministic=True, max_rounds=6, **kernel)
        for field in first.fields:
            assert same_bits(np.asarray(again[field]), np.asarray(same[field])), (kernel, cut, field)


# No shrinking: every program tried must be compiled, and random programs are small anyway.
@seeded(20261121)
@settings(max_examples=300 if EXHAUSTIVE else 3, deadline=None, database=None, phases=(Phase.generate,))
@drawn_by(drawn=programs())
def test_random_programs(drawn: Generated) -> None:
    program, case = compile(drawn.text), Case(drawn.graph, drawn.params, drawn.fields)
    number = sum(map(ord, drawn.text))
    options = {**_settings(number)[1], **KERNELS[number % len(KERNELS)]}
    with emulated(seed=number):
        result = engine_run(program, case, device="emulated", **options)
    assert_as_interpreted(program, case, result, interpreted(program, case), drawn.inexact, same_rounds=False)
