"""mode, mex, hindex, pick and common on an emulated GPU, with scratch in shared memory, block scratch, and long
vertices.
"""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.cpu.compare import assert_as_interpreted, engine_run, interpreted
from tests.cpu.reductions.test_common import PAIRS, pair_cases
from tests.cpu.reductions.test_pairs import PAIRS as NEAR
from tests.cpu.reductions.test_pairs import WHOLE as BETWEEN
from tests.cpu.reductions.test_picks import KEYS, PICKS
from tests.cpu.reductions.wholes import (
    BESIDE,
    CDLP,
    COLORING,
    KCORE,
    KINDS,
    LONG,
    MEDIANS,
    USUAL_KINDS,
    all_types,
    hubs,
    medians_of,
    params,
    values,
)
from tests.cuda.emulation.emulated import EmulatedDevice, needs_compiler
from tests.reference.cases import Case
from tests.reference.graph import RefGraph
from tests.reference.graphs import all_families, family
from tests.sample import EXHAUSTIVE, sampled
from vlang import OutOfMemory, Program, compile, load
from vlang.runtime.gpu.device.choose import stand_in
from vlang.runtime.gpu.kernels.entries import SCRATCH_WORDS
from vlang.runtime.gpu.passes.gpu_scratch import scratch_words
from vlang.runtime.plan.plan import SEGMENT, THREADS

pytestmark = needs_compiler

DESIGN = Path(__file__).resolve().parents[2] / "reference" / "design"
PROGRAMS = {text.split()[1].partition("(")[0]: compile(text) for text in (CDLP, KCORE, COLORING, BESIDE)}
MODES = ("pull", "notify-pull", "auto")


def case(program: Program, graph: RefGraph) -> Case:
    """Return the case of a program on the graph, with random fields."""
    rng = np.random.default_rng(1)
    fields = {"priority": rng.random(graph.n).astype(np.float32), "x": rng.integers(0, 12, graph.n).astype(np.int32),
              "y": (rng.integers(0, 9, graph.n) / 4).astype(np.float32)}  # fmt: skip
    needed = {f.name for f in program.plan(frozenset(), frozenset(fields)).fields if f.required} & set(fields)
    return Case(graph, params(program.name), {name: fields[name] for name in needed})


def check(program: Program, found: Case, seed: int = 0, **options: Any) -> None:
    """Compare a run with the interpreter, on a device with a lane order drawn from `seed`."""
    print(f"{program.name} on {found.graph.n} vertices, seed {seed}: {options}")
    with stand_in("emulated", lambda _, memory: EmulatedDevice(seed, memory or 1 << 28)):
        result = engine_run(program, found, device="emulated", **options)
    assert_as_interpreted(program, found, result, interpreted(program, found), same_rounds=False)
    edges = [row.edges for row in result.history]
    pointing = any(stage.pointer for stage in program.plan(frozenset(), frozenset(found.fields)).stages)
    if edges and result.history[0].mode == "pull" and not pointing:  # the edges of pointers change
        assert max(edges) <= 2 * edges[0], "a superstep reads an edge once, and notifies along it once"


@pytest.mark.parametrize("name", PROGRAMS)
def test_families(name: str) -> None:
    for seed, (_, graph) in enumerate(all_families() if EXHAUSTIVE else all_families()[::4]):
        page = (None, 64, 256)[seed % 3]
        check(PROGRAMS[name], case(PROGRAMS[name], graph), seed, mode=MODES[seed % 3], page_size=page)


@pytest.mark.parametrize(("name", "mode"), sampled(
    itertools.product(PROGRAMS, ("pull", "notify-pull")), [("cdlp", "pull"), ("beside", "notify-pull")]))
def test_rooms_of_every_size(name: str, mode: str) -> None:
    """Results are right for vertices of each size class (groups of lanes, a block, block scratch, long rows), with rows
    cut by pages.
    """
    graph = hubs(200, {3: 15, 4: 90, 5: 340, 6: 800, 7: 3000, 8: 9000, 9: SEGMENT, **LONG["one hub"]}, 7)
    check(PROGRAMS[name], case(PROGRAMS[name], graph), 3, mode=mode, page_size=1 << 15, streams=2)


@pytest.mark.parametrize("shape", LONG)
def test_long_vertices(shape: str) -> None:
    program = PROGRAMS["beside"]
    check(program, case(program, hubs(200, LONG[shape], 7)), 2, mode="notify-pull")


@pytest.mark.parametrize("kinds", sampled(KINDS, USUAL_KINDS))
def test_every_type(kinds: tuple[str, ...]) -> None:
    program = compile(all_types(kinds))
    for seed, graph in enumerate((family("messy"), family("no_edges"), hubs(40, {3: 300, 4: 3000}, 2, 200))):
        fields = {f"x{k}": values(kind, graph.n, 10 + k) for k, kind in enumerate(kinds)}
        check(program, Case(graph, {}, fields), seed)


def test_medians() -> None:
    program = compile(MEDIANS)
    shapes = hubs(40, {3: 300, 4: 3000}, 2, 200), hubs(200, {3: 15, 4: 90, 5: 800, 6: 9000, **LONG["one hub"]}, 7)
    graphs = (family("messy"), family("no_edges"), *shapes)
    for seed in range(4) if EXHAUSTIVE else (0, 3):  # the others take kernels of other modes
        check(program, Case(graphs[seed], {}, medians_of(graphs[seed], seed)), seed, mode=MODES[seed % 3])


@pytest.mark.parametrize("name", ["lcc", "triangles"])
def test_common_neighbours(name: str) -> None:
    program = load(DESIGN / f"{name}.vp")
    for seed, (_, graph) in enumerate(all_families()):
        check(program, Case(graph, {}, {}), seed)


@pytest.mark.parametrize("program", [KEYS, PICKS], ids=["keys", "picks"])
def test_picks(program: Program) -> None:
    for seed, graph in enumerate((family("messy"), family("rmat", False), family("messy", False))):
        check(program, Case(graph, {}, {}), seed, mode=MODES[seed % 3], page_size=(None, 64, 256)[seed % 3])


@pytest.mark.parametrize("program", [NEAR, BETWEEN], ids=["near", "between"])
def test_reductions_over_common_neighbours(program: Program) -> None:
    for seed, graph in enumerate((family("messy"), family("rmat", False), family("complete"))):
        whole = graph.with_columns(weight=np.floor(graph.columns["weight"] * 12).astype(np.int64))
        check(program, Case(graph if program is NEAR else whole, {}, {}), seed, mode=MODES[seed % 3])


def test_common_neighbours_of_any_two() -> None:
    for seed, found in enumerate(pair_cases()):
        check(compile(PAIRS), found, seed)


def test_a_kernel_asked_for_gives_way() -> None:
    program = PROGRAMS["kcore"]
    for kernel in ("edge", "stream", "thread"):
        check(program, case(program, family("messy")), kernel=kernel)


def test_rooms_are_part_of_the_budget() -> None:
    """The memory that the error names includes the scratch memory of long vertices, and a run with it succeeds."""
    program = PROGRAMS["cdlp"]
    found = case(program, hubs(100, {3: 200_000}, 1))
    with stand_in("emulated", lambda _, memory: EmulatedDevice(0, memory or 1 << 28)):
        with pytest.raises(OutOfMemory, match=r"allow at least \d+ bytes") as refused:
            engine_run(program, found, device="emulated", gpu_memory=1 << 20)
        named = int(str(refused.value).split("allow at least ")[1].split()[0])
        assert named > 3 * 4 * 200_000, "three words for each contribution"
        engine_run(program, found, device="emulated", gpu_memory=named)


@pytest.mark.parametrize("structure", ["mode32", "mode64", "median32", "median64", "mex", "hindex"])
def test_words(structure: str) -> None:
    """Scratch sizes are sufficient, and even numbers of words for alignment. Block scratch is needed only if shared
    memory is too small.
    """
    degrees = np.array([0, 1, 2, 31, 32, 33, 1000, SEGMENT, 40_000], dtype=np.uint64)
    words = scratch_words([structure], degrees)
    assert (words % 2 == 0).all()
    least = {"mode32": 3 * degrees, "mode64": 4 * degrees, "mex": degrees // 32, "hindex": degrees,
             "median32": degrees, "median64": 2 * degrees}[structure]
    assert (words > least).all()
    assert scratch_words(["mex", structure], degrees).tolist() == (scratch_words(["mex"], degrees) + words).tolist()
    assert words[2] < SCRATCH_WORDS < THREADS // 32 * SCRATCH_WORDS
