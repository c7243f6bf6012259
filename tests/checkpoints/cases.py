"""Programs with every kind of loop and block, each with a graph on which the program runs for several supersteps."""

from __future__ import annotations

import atexit
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from tests.cpu.language.test_cycles import FLIP
from tests.cpu.language.test_nesting import PROGRAMS
from vlang import Graph, Program, Result, compile, load
from vlang.runtime.graph.paged.in_memory import save

__all__ = ["CASES", "Case", "assert_same", "file_of", "graph_of", "program_of", "streamed_options"]


EACH = """program each(sources: vertices)
vertex lcc: float = 0
for s in sources:
    vertex close: bool = any(u == s for u -- self)
    vertex links: i64  = count(u.close and close for self -> u)
    let size  = count(v.close for v in vertices)
    let total = sum(v.links for v in vertices)
    where self == s and size > 1:
        apply lcc = total / (size * (size - 1))
"""


@dataclass(frozen=True)
class Case:
    """A program, a graph, and the options of a run.

    Attributes:
        program: the name of a program of the library, or a text.
        graph: the text of a generator, or "ring".
        given: parameters and options of the run.
        others: sets of research options. A run may be resumed with any of these sets.
        counted: whether every run takes the same number of rounds.
    """

    program: str
    graph: str
    given: Mapping[str, Any] = field(default_factory=dict)
    others: tuple[Mapping[str, Any], ...] = ({}, {"mode": "pull"}, {"mode": "notify-pull"}, {"blocking": "always"})
    counted: bool = True


_Ways = tuple[Mapping[str, Any], ...]
_PUSHED: _Ways = ({}, {"mode": "pull"}, {"mode": "notify-pull"}, {"mode": "push"})
_ANY: _Ways = ({}, {"mode": "pull"}, {"mode": "push"}, {"schedule": "rounds"}, {"schedule": "priority"},
                {"asynchronous": True})
_GRID, _SPREAD = "grid:24x16,weights=1..9", "uniform:9,weights=1..9"

CASES: Mapping[str, Case] = {
    "pull": Case("pagerank", _SPREAD, {"research": {"mode": "pull"}, "tol": 1e-9, "precision": 64}),
    "notify-pull": Case("bfs", _GRID, {"source": 3, "research": {"mode": "notify-pull"}}, _PUSHED),
    "push": Case("bfs_tree", _GRID, {"source": 3}, _PUSHED),
    "pushed sums": Case("pagerank_delta", _SPREAD, {}, _PUSHED),
    "derived delta": Case("katz", _SPREAD, {"derive": "delta"}, _PUSHED),
    "reach": Case("bfs", _GRID, {"source": 3}, _PUSHED),
    "priority": Case("sssp", _GRID, {"source": 3}, _ANY, counted=False),
    "priority, words apart": Case("sssp_tree", _GRID, {"source": 3}, _ANY, counted=False),
    "rounds": Case("sssp", _GRID, {"source": 3, "research": {"schedule": "rounds"}}, _PUSHED, counted=False),
    "components": Case("components", _GRID, {"research": {"mode": "pull"}}, _PUSHED, counted=False),
    "nested": Case("scc", "rmat:8", {}),
    "nested, old values": Case(PROGRAMS["old"], "rmat:6", {}),
    "nested, counters": Case(PROGRAMS["iteration"], "rmat:6", {}),
    "nested, masks": Case(PROGRAMS["where"], "rmat:6", {}),
    "sweep, for-vertices": Case("betweenness", "grid:9x6", {"sources": [3, 11, 20]}),
    "for-vertices": Case(EACH, "rmat:6", {"sources": list(range(1, 40))}),
    "for-range": Case("kcore_peel", "kron:7", {}),
    "repeating": Case(FLIP, "ring", {"x": np.where(np.arange(24) % 5 == 0, np.float32(0.25), np.float32(0.5))},
                      ({}, {"mode": "pull"})),  # repeats itself after 24 supersteps
    "several passes": Case("hits", _SPREAD, {}),
}


@cache
def program_of(case: str) -> Program:
    """Return the program of a case, compiled once."""
    text = CASES[case].program
    return compile(text) if "\n" in text else load(text)


@cache
def graph_of(case: str) -> Graph:
    """Return the graph of a case, read once."""
    name = CASES[case].graph
    if name == "ring":
        return Graph.from_edges(range(24), [*range(1, 24), 0])
    return Graph.read(name, self_loops="drop", parallel="drop")


@cache
def _files() -> Path:
    """Return a folder that is removed at the end of this process."""
    folder = tempfile.mkdtemp()
    atexit.register(shutil.rmtree, folder)
    return Path(folder)


@cache
def file_of(case: str) -> Path:
    """Return a page file of small pages with the graph of a case."""
    path = _files() / f"{len(list(_files().iterdir()))}.vg"
    save(graph_of(case), path, layout="ids", page_bytes=4096)
    return path


def streamed_options(case: str) -> list[Mapping[str, Any]]:
    """Return the sets of research options of a case under which a streamed run is possible."""
    return [one for one in CASES[case].others if "blocking" not in one and one.get("schedule") != "priority"]


def assert_same(case: str, result: Result, want: Result) -> None:
    """Assert that two results are equal bit by bit. For counted cases, the rounds and the reason of the end must also
    be equal.
    """
    for name in (*want.fields, *want.globals):
        assert np.asarray(result[name]).tobytes() == np.asarray(want[name]).tobytes(), (case, name)
    assert result.converged == want.converged, (case, result.reason)
    if CASES[case].counted:
        assert (result.rounds, result.reason) == (want.rounds, want.reason), case
        assert [(row.loop, row.round, row.active) for row in result.history] == \
            [(row.loop, row.round, row.active) for row in want.history], case
