"""The CPU takes some pages of a full pass while the GPU processes the other pages: results, splits, notes and refusals.
"""

from __future__ import annotations

import re
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pytest

from tests.cpu.compare import same_bits
from tests.cuda.emulation.emulated import needs_compiler
from tests.cuda.runs import assert_right, least_memory, program, run
from tests.reference.cases import STDLIB
from tests.sample import EXHAUSTIVE
from vlang import BindError, Graph, Result
from vlang.runtime.gpu.dispatch.deque import PageDeque, Unit, units_of
from vlang.runtime.gpu.dispatch.speeds import Speeds, last_units, share_of
from vlang.runtime.gpu.topology.cut import Cut

CASES = (("pagerank", "long"), ("sssp", "skewed"))
UNITS = [Unit(0, 2, 0, 5, 40), Unit(2, 3, 5, 9, 20), Unit(3, 6, 9, 10, 60), Unit(6, 8, 10, 30, 40)]


@cache
def streamed(name: str, graph: str, mode: str = "pull") -> dict[str, Any]:
    """Return options with the least memory in which full passes stream their pages."""
    options: dict[str, Any] = {"page_size": 4096 if graph == "long" else 256, "mode": mode, "kernel": "thread",
                               "transfer": "pages"}
    return {**options, "gpu_memory": least_memory(name, graph, **options)}


def split(result: Result) -> tuple[int, int, int]:
    """Return the least and the largest number of pages that the CPU took in a superstep, and the number of all pages.
    """
    found = re.search(r"the CPU took (\d+)(?: to (\d+))? of (\d+) pages", "\n".join(result.notes))
    assert found is not None, result.notes
    return int(found[1]), int(found[2] or found[1]), int(found[3])


def assert_same(first: Result, again: Result) -> None:
    assert all(same_bits(np.asarray(first[field]), np.asarray(again[field])) for field in first.fields)
    assert first.rounds == again.rounds


@needs_compiler
@pytest.mark.parametrize(("name", "graph"), CASES)
def test_results(name: str, graph: str) -> None:
    """Results are right for every split of the pages. Both devices contribute to long vertices and to the counts of
    changed vertices.
    """
    options = streamed(name, graph)
    for asked in ("1/2", "1/1", "0/3", "alpha"):
        result = run(name, graph, dispatch=asked, **options)
        assert_right(name, graph, result)
        few, many, pages = split(result)
        if asked != "alpha":
            assert few == many == pytest.approx(Fraction(asked) * pages, abs=8)
            assert (few > 0) == (asked != "0/3")
        if asked == "1/1":
            assert result.moved.pages_copied < pages, "the CPU's pages are not copied"
        assert result.choices["dispatch"] == asked


@needs_compiler
def test_flags_of_notify_pull() -> None:
    """Vertices of the CPU notify their receivers: after a full pass, a superstep runs over lists of receivers."""
    result = run("sssp", "skewed", dispatch="1/2", **streamed("sssp", "skewed", "notify-pull"))
    assert_right("sssp", "skewed", result)
    assert [row.mode for row in result.history][:2] == ["pull", "notify-pull"]
    assert split(result)[0] > 0


@needs_compiler
@pytest.mark.skipif(not EXHAUSTIVE, reason="VLANG_EXHAUSTIVE")
@pytest.mark.parametrize("name", STDLIB)
def test_every_program(name: str) -> None:
    for graph in ("skewed", "messy", "long"):
        options = streamed(name, graph)
        for asked in ("1/2", "alpha"):
            assert_right(name, graph, run(name, graph, dispatch=asked, **options))


@needs_compiler
def test_a_recorded_split_repeats_the_bits() -> None:
    """If a pass adds floats, alpha chooses one split for the whole run. A later run with the split in the notes gives
    the same bits, even if the devices have other speeds.
    """
    options = streamed("pagerank", "long")
    first = run("pagerank", "long", dispatch="alpha", **options)
    few, many, pages = split(first)
    assert few == many
    asked = f"dispatch={few}/{pages} gives the same split"
    assert any(asked in note for note in first.notes)
    assert_same(first, run("pagerank", "long", seed=3, dispatch=f"{few}/{pages}", **options))


@needs_compiler
def test_what_the_gpu_runs_alone() -> None:
    """Notes give the reason why the CPU took no pages. The notes are the same if a policy chooses the dispatch."""
    resident = run("pagerank", "skewed", policy="garaph")
    assert any("the GPU ran pass s1 alone: all of its edges are on the GPU" in note for note in resident.notes)
    once = run("sssp", "skewed", dispatch="1/2", **streamed("sssp", "skewed"))
    assert any("the GPU ran pass r0 alone: it does not repeat" in note for note in once.notes)
    several = run("pagerank", "skewed", device="emulated:0,1", policy="garaph")
    assert any("dispatch: the GPUs ran all pages" in note for note in several.notes)


@pytest.mark.parametrize(("options", "text"), [
    ({"deterministic": True, "dispatch": "alpha"}, "dispatch='alpha' cannot run pagerank with deterministic=True: pass "
     "s1 adds floats"),
    ({"deterministic": True, "policy": "garaph"}, 'or ask for dispatch="gpu"'),
    ({"dispatch": "9/8"}, "dispatch is 'gpu', 'alpha', or the share of the pages that the CPU takes"),
    ({"dispatch": "0/0"}, "dispatch is 'gpu', 'alpha'"),
    ({"dispatch": "alpha", "kernel": "edge-list", "mode": "pull"}, "shares pages of adjacency lists"),
])
def test_refusals(options: dict[str, Any], text: str) -> None:
    plain = {name: value for name, value in options.items() if name in ("deterministic", "policy")}
    research = {name: value for name, value in options.items() if name not in plain}
    with pytest.raises(BindError, match=re.escape(text)):
        program("pagerank")(Graph.read("karate"), device="gpu", research=research, **plain)


def test_units_begin_between_two_vertices() -> None:
    """A page that begins inside of the edges of a vertex is in the same unit as the previous page."""
    offsets = np.array([0, 3, 3, 9, 12], np.int64)
    cut = Cut(np.array([0, 3, 6, 9, 12]), np.array([0, 2, 2, 3, 4]), np.zeros(5, np.int64), np.zeros(4, np.int64))
    assert units_of(cut, offsets) == [Unit(0, 1, 0, 2, 3), Unit(1, 3, 2, 3, 6), Unit(3, 4, 3, 4, 3)]


def test_the_deque() -> None:
    """The GPU takes units in its order of pages. The CPU takes units from the end of this order. Each unit is taken
    once.
    """
    order = [6, 7, 0, 1, 2, 3, 4, 5]
    pages = PageDeque(UNITS, order, None)
    assert pages.front() == UNITS[3]
    assert pages.back() == [UNITS[2]]
    assert pages.back() == [UNITS[1]]
    assert pages.front() == UNITS[0]
    assert (pages.front(), pages.back(), pages.for_cpu) == (None, [], [UNITS[2], UNITS[1]])
    fixed = PageDeque(UNITS, order, 2)
    assert fixed.for_cpu == UNITS[2:]
    assert [fixed.front(), fixed.front(), fixed.front()] == [UNITS[0], UNITS[1], None]
    assert (fixed.back(), fixed.back()) == (UNITS[2:], [])


def test_shares() -> None:
    """A share that was recorded gives the same units again."""
    assert [last_units(UNITS, Fraction(k, 8)) for k in range(9)] == [0, 0, 1, 1, 2, 2, 3, 3, 4]
    for last in range(5):
        assert last_units(UNITS, share_of(UNITS, last)) == last


def test_alpha() -> None:
    """The first measurement of the CPU replaces the estimate. Later measurements of the CPU, and all measurements of
    the GPU, change the times by half of the difference.
    """
    speeds = Speeds(8.0, 2.0)
    assert speeds.alpha == 4
    speeds.learn(30.0, 10, 4.0, 1)
    assert (speeds.cpu, speeds.gpu, speeds.alpha) == (3.0, 3.0, 1.0)
    speeds.learn(50.0, 10, 0.0, 0)
    assert (speeds.cpu, speeds.gpu) == (4.0, 3.0)
