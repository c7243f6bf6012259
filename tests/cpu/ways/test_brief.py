"""Supersteps of full passes over a small graph, many of which run in one call, have the bits of passes one by one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.cpu.both import long_graph
from tests.cpu.compare import assert_as_interpreted, engine_run, interpreted, same_bits
from tests.cpu.edge_states import TEXTS
from tests.reference.cases import Case
from tests.reference.graph import RefGraph
from tests.reference.graphs import random_graph
from vlang import Program, Result, compile, load
from vlang.runtime.cpu.ways.brief import BriefSupersteps

PROGRAMS = {
    "fused": """program fused
vertex x: f64 = 1 / N
repeat at most 50 times until sum(abs(change(v.x)) for v in vertices) < 0.001:
    let lost = sum(v.x for v in vertices if v.outdegree == 0)
    gather a = sum(u.x / u.outdegree for u -> self)
    apply  x = 0.2 / N + 0.8 * (a + lost / N)
""",
    "several passes": """program several
vertex x: f64 = indegree + 1
vertex y: f64 = 1
repeat 7 times:
    gather a = sum(u.y for u -> self)
    apply  x = a + iteration
    let    most = max(v.x for v in vertices)
    gather b = sum(u.x for self -> u)
    apply  y = b / (1 + most) + abs(x - old(x)) / iteration
    let    sums = sum(v.y for v in vertices)
""",
    "counted": """program counted(rounds: int)
vertex x: int = 3 * indegree % 7
repeat at most rounds times:
    gather a = max(u.x for u -> self)
    apply  x = a
""",
    "vector": """program vectors
vertex x: float[3] = [indegree, outdegree, 1]
repeat 9 times:
    gather a = sum(u.x for self -> u)
    apply  x = [a[1] % 5, a[2] % 3 + x[0], x[1] / 2]
""",
    "active": """program active
vertex x: int = indegree % 5
repeat at most 30 times:
    gather a = count(u.x > x for u -- self)
    apply  x = x + 1 if a % 3 == 1 and x < 9 else x
    activate when a % 3 == 1 and x < 9
""",
}


@pytest.fixture
def brief_rounds(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """A list to which each call that runs brief supersteps appends the number of these supersteps."""
    found: list[int] = []
    run = BriefSupersteps.advance

    def noted(self: BriefSupersteps, *args: Any) -> Any:
        result = run(self, *args)
        found.extend([len(result[0])] if result is not None else [])
        return result

    monkeypatch.setattr(BriefSupersteps, "advance", noted)
    return found


def _compared(program: Program, case: Case, **options: Any) -> Result:
    """Run a program with and without brief supersteps. The runs must have the same bits, rounds and reason."""
    found = engine_run(program, case, **options)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(BriefSupersteps, "of", lambda *args: None)
        want = engine_run(program, case, **options)
    for name in want.fields:
        assert same_bits(np.asarray(want[name]), np.asarray(found[name])), (program.name, name, options)
    assert want.globals == found.globals
    rows = [[(row.round, row.active, row.mode, row.edges) for row in result.history] for result in (want, found)]
    assert rows[0] == rows[1], (program.name, options)
    assert (want.reason, want.converged, want.rounds) == (found.reason, found.converged, found.rounds)
    return found


@pytest.mark.parametrize("name", PROGRAMS)
def test_brief_supersteps_are_those_of_passes(name: str, brief_rounds: list[int]) -> None:
    program = compile(PROGRAMS[name])
    given = {"rounds": 12} if name == "counted" else {}
    for seed in range(6):
        case = Case(random_graph(seed, largest=120), params=given)
        for options in ({"mode": "pull", "threads": 2}, {"mode": "pull", "threads": 1, "page_size": 64}):
            found = _compared(program, case, **options)
        assert_as_interpreted(program, case, found, interpreted(program, case))
    assert max(brief_rounds) > 3, "no call ran several supersteps"


def test_library_programs_and_long_rows(brief_rounds: list[int]) -> None:
    """Copies of fields at the start of a superstep, rows of several segments, and edge states."""
    for name, graph in (("hits", long_graph()), ("pagerank", long_graph()), ("pagerank", random_graph(3, largest=99))):
        _compared(load(name), Case(graph), threads=1)
    assert max(brief_rounds) > 3
    del brief_rounds[:]
    src = np.repeat(np.arange(40), 2)
    steps = RefGraph(42, src, src + 1 + np.arange(80) % 2, {"weight": np.ones(80, np.int32)}, True)
    _compared(compile(TEXTS["directed"]), Case(steps), threads=1)
    assert max(brief_rounds, default=0) > 3


def test_bounds_and_cycles(brief_rounds: list[int]) -> None:
    """A bound on supersteps ends the loop exactly, and a loop whose states repeat is still detected."""
    graph = RefGraph(150, np.arange(150), (np.arange(150) + 1) % 150, {}, True)
    turning = compile("program turn\nvertex x: float = 1 if random(1, self) < 0.5 else 0\n"
                      "repeat until max(v.x for v in vertices) < 0.5:\n"
                      "    gather a = max(u.x for u -> self)\n    apply x = a\n")
    assert "repeat" in _compared(turning, Case(graph), mode="pull").reason
    assert max(brief_rounds) > 30
    for most in (1, 2, 11):
        assert _compared(turning, Case(graph), mode="pull", max_rounds=most).rounds == most
