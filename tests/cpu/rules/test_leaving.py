"""Passes that stop in the middle of a row or skip a row (rule X1) give the same results."""

from __future__ import annotations

import numpy as np
import pytest

from tests.cpu.compare import assert_as_interpreted, assert_cut_free, interpreted
from tests.reference.cases import Case
from tests.reference.graph import RefGraph
from tests.reference.graphs import all_families
from vlang import Graph, Program, compile

TEXTS = {
    "any": "vertex x: bool\nrepeat:\n    gather a = any(u.x for u -> self)\n    apply x = x or a\n",
    "all": "vertex x: bool\nrepeat:\n    gather a = all(u.x for u -> self)\n    apply x = x and a\n",
    "guarded": "vertex x: bool\nvertex n: int = 0\nrepeat:\n    gather a = any(u.x for u -> self if u.n < 3)\n"
               "    apply x = x or a\n    apply n = n + 1 if changed(x) else n\n",
    "bits": "vertex x: u8\nrepeat:\n    gather a = bitor(u.x for u -- self)\n    apply x = x | (a & 255)\n",
    "counted": "vertex x: bool\nvertex y: bool = false\nrepeat 3 times:\n    gather a = any(u.x for u -> self)\n"
               "    gather b = all(u.x for u -> self)\n    apply x = a and not b\n    apply y = b\n",
}  # fmt: skip


def program(name: str) -> Program:
    return compile(f"program leaving\n{TEXTS[name]}")


def case(name: str, graph: RefGraph, seed: int) -> Case:
    rng = np.random.default_rng(seed)
    drawn = rng.integers(0, 256, graph.n, dtype=np.uint8) if name == "bits" else rng.random(graph.n) < 0.3
    return Case(graph, {}, {"x": drawn})


def leaves(asked: Program) -> bool:
    plan = asked.plan(frozenset(), frozenset({"x"}))
    return any("rule X1" in note for stage in plan.stages for note in stage.notes)


@pytest.mark.parametrize("name", sorted(TEXTS))
def test_families(name: str) -> None:
    """Results are the same for every partition of the work and every mode, with and without early exit."""
    asked = program(name)
    for seed, (_, graph) in enumerate(all_families()):
        given = case(name, graph, seed)
        result = assert_cut_free(asked, given)
        assert_as_interpreted(asked, given, result, interpreted(asked, given), same_rounds=False)


def test_where_it_is_granted() -> None:
    assert leaves(program("any"))
    assert leaves(program("all"))
    assert leaves(program("counted"))
    assert not leaves(compile("program p\nvertex x: bool\nrepeat 2 times:\n    gather a = count(u.x for u -> self)\n"
                              "    apply x = a > 1\n"))  # fmt: skip


def test_long_vertices() -> None:
    """Results are the same if vertices with several segments are final, or are decided by their first or last edge."""
    n, hubs = 40_000, np.arange(4)
    src = np.tile(np.arange(4, n), 4)
    dst = np.repeat(hubs, n - 4)
    graph = Graph.from_edges(src, dst, n=n)
    for ones in ([4], [n - 1], [0, 4], []):
        x = np.zeros(n, bool)
        x[ones] = True
        result = program("any")(graph, x=x, research={"mode": "pull"})
        plain = program("any")(graph, x=x, research={"mode": "pull", "without": "early"})
        assert np.array_equal(result["x"], plain["x"])
        assert np.array_equal(result["x"][:4], np.ones(4, bool) if set(ones) - {0} else x[:4])
