"""Supersteps of notify-pull over few vertices, many of which run in one call, have the same bits as a full pull."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.cpu.both import long_graph
from tests.cpu.compare import assert_as_interpreted, engine_run, interpreted, same_bits
from tests.reference.cases import Case
from tests.reference.graph import RefGraph
from tests.reference.graphs import random_graph
from vlang import Program, Result, compile
from vlang.runtime.cpu.ways.thin import ThinSupersteps

PEEL = """program peel
vertex gone: bool = false
vertex step: {type_} = {start}
repeat:
    where not gone:
        gather support = count(not u.gone for {domain})
        apply  gone    = support < 2
        apply  step    = {value}
"""
PROGRAMS = {
    "bool": PEEL.format(type_="i8", start="0", domain="u -- self", value="step + 1"),
    "messages": """program spread
vertex x: f64 = 1 if outdegree > 2 else indegree
repeat:
    gather a = min(sqrt(u.x) / (u.outdegree + 1) for u -> self)
    apply  x = min(x, a * a + 1)
""",
    "vector": """program vectors
vertex x: float[3] = [indegree, outdegree, 1]
repeat:
    gather a = max(u.x for self -> u)
    apply  x = [min(x[0], a[0]), min(x[1], a[1] + 1), x[2]]
""",
    "own": """program own
vertex level: int = 0
repeat:
    gather above = any(u.level > level for u -> self)
    apply  level = level + 1 if above and level < 9 else max(level, indegree)
""",
}
MODES: tuple[dict[str, Any], ...] = (
    {"mode": "auto", "threads": 2}, {"mode": "notify-pull", "threads": 1}, {"mode": "notify-pull", "page_size": 64},
)


@pytest.fixture
def thin_rounds(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return a list to which each call that runs thin supersteps appends the number of these supersteps."""
    found: list[int] = []
    run = ThinSupersteps.advance

    def noted(self: ThinSupersteps, *args: Any) -> Any:
        result = run(self, *args)
        found.extend([len(result[0])] if result is not None else [])
        return result

    monkeypatch.setattr(ThinSupersteps, "advance", noted)
    return found


def _compared(program: Program, graph: RefGraph, options: dict[str, Any]) -> Result:
    """Run a program by full pulls and with `options`. The two runs must give the same bits and rounds."""
    case = Case(graph)
    want, found = engine_run(program, case, mode="pull"), engine_run(program, case, **options)
    for name in want.fields:
        assert same_bits(np.asarray(want[name]), np.asarray(found[name])), (program.name, name, options)
    assert [row.active for row in want.history] == [row.active for row in found.history], (program.name, options)
    return found


@pytest.mark.parametrize("name", PROGRAMS)
def test_thin_supersteps_are_those_of_a_pull(name: str, thin_rounds: list[int]) -> None:
    program = compile(PROGRAMS[name])
    for seed in range(6):
        graph = random_graph(seed, largest=120)
        for options in MODES:
            found = _compared(program, graph, options)
        assert_as_interpreted(program, case := Case(graph), found, interpreted(program, case))
    assert max(thin_rounds) > 1, "no call ran several supersteps"


def test_long_rows_run_as_passes(thin_rounds: list[int]) -> None:
    """A vertex with a row of several segments cannot be listed, so its superstep runs as ordinary passes."""
    program = compile(PROGRAMS["bool"])
    ends = np.arange(20_000)
    hub = RefGraph(20_300, np.concatenate([ends[1:], np.arange(19_999, 20_299)]),
                   np.concatenate([ends[1:] * 0, np.arange(20_000, 20_300)]), {}, True)
    for graph in (hub, long_graph()):
        _compared(program, graph, MODES[0])
    assert sum(thin_rounds) > 100


def test_bounds_and_cycles(thin_rounds: list[int]) -> None:
    """A bound on supersteps ends the loop exactly, and a loop whose states repeat is still detected."""
    graph = RefGraph(300, np.arange(299), np.arange(1, 300), {}, True)
    bounded = compile(PROGRAMS["bool"].replace("repeat:", "repeat at most 40 times:"))
    assert _compared(bounded, graph, MODES[1]).rounds == 40
    ring = RefGraph(150, np.arange(150), (np.arange(150) + 1) % 150, {}, True)
    turning = compile("program turn\nvertex x: int = 1 if random(1, self) < 0.5 else 0\nrepeat:\n"
                      "    gather a = max(u.x for u -> self)\n    apply x = a\n")
    found = _compared(turning, ring, MODES[1])
    assert not found.converged
    assert "repeat" in found.reason
    assert max(thin_rounds) > 30
