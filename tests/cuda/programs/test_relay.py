"""Notify-pull with many supersteps per launch gives the interpreter's results with few launches."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.cpu.compare import engine_run
from tests.cuda.emulation.emulated import needs_compiler
from tests.cuda.runs import assert_right, emulated, given, program
from vlang import Graph
from vlang.runtime.gpu.ways.relay import relay_kernel, relays
from vlang.runtime.plan.plan import LoopSpec

pytestmark = needs_compiler


def loops_of(name: str) -> tuple[LoopSpec, ...]:
    """Return the loops of a program on a GPU."""
    compiled = program(name)
    columns = frozenset(edge.name for edge in compiled.edges)
    return compiled.plan(columns, frozenset(f.name for f in compiled.fields if f.required), target="cuda").loops


def test_which_loops_go_on_without_the_host() -> None:
    names = ("kcore_members", "kcore", "kcore_peel", "mis", "coloring", "heat", "sssp")
    assert all(relays(loop) for name in names for loop in loops_of(name))
    # Loops that need the host: a condition, a count of supersteps, a sum over vertices; and passes that may not skip.
    others = ("katz", "belief", "pagerank", "components_jump")
    assert not any(relays(loop) for name in others for loop in loops_of(name))
    (mis,) = loops_of("mis")
    assert relay_kernel(mis, 400, 100)[1] == "Passes<Phase<s1, 2>, Phase<s2, 2>, Ending<loop0_end>>"
    (kcore,) = loops_of("kcore")
    assert relay_kernel(kcore, 1600, 100)[1] == "Passes<WholePhase<s1, 4>>"


@pytest.mark.parametrize(("name", "graphs"), [
    ("kcore_members", ("path", "sparse", "long", "wide")), ("kcore", ("path", "skewed", "long")),
    ("mis", ("path", "sparse")), ("coloring", ("path", "skewed")), ("heat", ("skewed", "long")), ("sssp", ("sparse",)),
    ("sssp_tree", ("skewed",)),
])  # fmt: skip
def test_programs(name: str, graphs: tuple[str, ...]) -> None:
    for seed, graph in enumerate(graphs):
        print(f"{name} on {graph}, seed {seed}")
        case = given(name, graph)
        assert case is not None
        mode = "notify-pull" if seed % 2 == 0 else "auto"
        if name in ("sssp", "sssp_tree"):
            mode = "notify-pull"
        limit: dict[str, Any] = {"max_rounds": 7} if name == "heat" else {}
        with emulated(name, seed) as opened:
            result = engine_run(program(name), case, device="emulated", mode=mode, **limit)
        assert_right(name, graph, result)
        launches = opened[0].launches
        relayed = sum(count for kernel, count in launches.items() if kernel.startswith("relay_"))
        if mode == "notify-pull" and result.rounds > 1:
            assert launches.get("queue_flagged_kernel", 0) == 0
            assert 0 < relayed < 6 + result.rounds / 16
            assert {round_.mode for round_ in result.history[1:]} == {"notify-pull"}


def test_a_long_thin_phase_is_one_launch() -> None:
    """One launch peels a path from both ends, two vertices per superstep, until the path is empty or the limit is
    reached.
    """
    graph = Graph.read("path:60,directed=false")
    with emulated() as opened:
        for most in (100, 4):  # the limit of 4 stops after whole supersteps
            want = program("kcore_members")(graph, k=2, max_rounds=most)
            got = program("kcore_members")(graph, k=2, max_rounds=most, device="emulated",
                                           research={"mode": "notify-pull"})
            assert got.rounds == want.rounds == min(most, 31)
            assert got.converged == want.converged == (most == 100)
            assert {round_.mode for round_ in got.history[1:]} == {"notify-pull"}
            assert [round_.active for round_ in got.history] == [round_.active for round_ in want.history]
            for field in want.fields:
                assert np.array_equal(np.asarray(got[field]), np.asarray(want[field]))
    for device in opened:
        assert [count for kernel, count in device.launches.items() if kernel.startswith("relay_")] == [1]
