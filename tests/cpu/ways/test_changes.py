"""Gathers of `change(u.f)`: each change is sent exactly once, and only to the receivers of active vertices."""

from __future__ import annotations

import numpy as np
import pytest

from tests.cpu.both import assert_both, long_graph
from tests.cpu.compare import engine_run, interpreted
from tests.reference.cases import Case
from tests.reference.graphs import family
from tests.sample import sampled
from tests.spelled import spelled
from vlang import Graph, Program, compile, load

DESIGN = "tests/reference/design"


@pytest.mark.parametrize("name", ["pagerank_delta", "php"])
@pytest.mark.parametrize("graph", ["messy", "two_components", "grid", "path", "one_loop", "no_edges", "empty"])
def test_design_programs(name: str, graph: str) -> None:
    whole = family(graph, weights="float")
    if name == "php" and not whole.n:
        pytest.skip("a program with a source needs a vertex")
    assert_both(load(f"{DESIGN}/{name}.vp"), Case(whole, {"source": 0} if name == "php" else {}), ways=2)


def _loop(gather: str, apply: str, rest: str = "", head: str = "") -> str:
    return f"""program p
edge   weight: float = 1
vertex x: float = outdegree
vertex y: float = 0
vertex k: int   = indegree
{head}
repeat at most 7 times:
    {gather}
    apply  {apply}
    {rest}
"""


LOOPS = {
    "whole": _loop("gather a = sum(change(u.x) / 2 for u -> self)", "x += a / 4", "activate when abs(change(x)) > 0.5"),
    "weights": _loop("gather a = sum(change(u.x) * weight for u -> self)", "x += a / 8",
                     "activate when change(x) > 0.25"),
    "default activation": _loop("gather a = sum(change(u.x) / 4 for u -> self)", "x += floor(a)"),
    "counted": _loop("gather a = count(change(u.x) > -100 for u -> self)", "x += 0.25 * a",
                     "activate when change(x) > 1"),
    "least": _loop("gather a = min(change(u.x) + weight for u -> self, default = 3)", "x = x / 2 + a",
                   "activate when abs(change(x)) > 1"),
    "greatest": _loop("gather a = max(change(u.x) / 2 for u -> self)", "x = x / 2 + (a if a > -inf else 0)",
                      "activate when abs(change(x)) > 1"),
    "mean": _loop("gather a = mean(change(u.x) for u -> self, default = 0)", "x = x / 2 + a",
                  "activate when abs(change(x)) > 1"),
    "pairs": _loop("gather a = max((change(u.x), u) for u -> self)", "x = x / 2 + (a[0] if a[1] != none else 1)",
                   "activate when abs(change(x)) > 1"),
    "twice": _loop("gather a = sum(change(u.x) / 2 for u -> self)\n    gather b = max(change(u.x) / 2 for u -> self)",
                   "x += a / 4 + (b if b > 0 else 0) / 8", "activate when abs(change(x)) > 1"),
    "both kinds": _loop("gather a = sum(change(u.x) * u.x for u -> self)", "x = x / 2 + a / 64",
                        "activate when abs(change(x)) > 0.5"),
    "two fields": _loop("gather a = sum(change(u.x) + change(u.y) for u -> self)", "(x, y) = (y, x / 2 + a / 8)",
                        "activate when abs(change(y)) > 0.5"),
    "several passes": _loop("gather a = sum(change(u.x) / 4 for u -> self)", "y = a",
                            "gather b = max(u.y for self -> u, default = 0)\n    apply x += b / 4\n"
                            "    activate when abs(change(x)) > 0.25"),
    "integers": _loop("gather a = sum(change(u.k) for u -> self)", "k = k // 2 + a // 4",
                      "activate when abs(change(k)) > 1"),
    "out": _loop("gather a = sum(change(u.x) / 4 for self -> u)", "x += a / 4", "activate when change(x) > 0.5"),
    "undirected": _loop("gather a = sum(change(u.x) / 8 for u -- self)", "x += a / 8", "activate when change(x) > 0.5"),
    "vectors": _loop("gather a = sum(change(u.z) / 4 for u -> self)", "z = z + a / 4",
                     "activate when max(change(z)) > 0.5", "vertex z: float[3] = [outdegree, 1, indegree]"),
    "guarded": _loop("gather a = sum(change(u.x) / 4 for u -> self if u.k > 1)", "x += a / 4 if k > 0 else 0",
                     "activate when abs(change(x)) > 0.25"),
    "nothing moves": _loop("gather a = sum(change(u.x) for u -> self)", "(x, y) = (x, a)", "activate when y > 3"),
}


USUAL = ("weights", "least", "pairs", "both kinds", "two fields", "several passes", "integers", "vectors", "guarded")


@pytest.mark.parametrize("name", sampled(LOOPS, USUAL))
def test_loops(name: str) -> None:
    assert_both(LOOPS[name], Case(family("messy", weights="float")), ways=2)


@pytest.mark.parametrize("name", sampled(["whole", "weights", "pairs"], ["pairs"]))
def test_loops_on_long_vertices(name: str) -> None:
    assert_both(LOOPS[name].replace("x: float = outdegree", "x: float = outdegree / 4096"), Case(long_graph()), ways=1)


def test_integers_with_infinities() -> None:
    """A change from or to `inf` is infinite, like every difference with `inf`."""
    text = """program p
vertex x: int
vertex y: int = 0
repeat 4 times:
    gather a = max(change(u.x) for u -> self, default = -5)
    apply  y = a
    apply  x = x - 1 if x > 3 else x
    activate when change(x) != 0
"""
    graph = family("messy")
    values = np.arange(graph.n).astype(float)
    values[2], values[5] = np.inf, -np.inf
    assert_both(text, Case(graph, {}, {"x": values}), ways=2)


def test_loops_inside_loops_tell_anew() -> None:
    text = """program p
vertex x: float = outdegree
repeat 2 times:
    repeat at most 3 times:
        gather a = sum(change(u.x) / 4 for u -> self)
        apply  x += a / 4
        activate when abs(change(x)) > 0.25
    apply x = x / 2
"""
    assert_both(text, Case(family("messy")), ways=2, same_rounds=False)


def test_skipping_loses_no_change() -> None:
    """In a wave along a path, few vertices are active at the same time, and receivers get each message exactly once."""
    program: Program = load(f"{DESIGN}/php.vp")
    graph = Graph.from_edges(np.arange(2999), np.arange(1, 3000))
    full = program(graph, source=0, research={"mode": "pull"}, tol=1e-4)
    assert full.rounds > 40
    for options in ({"mode": "notify-pull"}, {"mode": "auto"}, {"mode": "notify-pull", "asynchronous": True}):
        result = program(graph, source=0, tol=1e-4, **spelled(**options))
        assert np.array_equal(result.p, full.p), options
        assert result.rounds == full.rounds
        assert result.edges < full.edges / 4


def test_ranks_are_those_of_the_linear_system() -> None:
    graph = family("messy")
    result = engine_run(load(f"{DESIGN}/pagerank_delta.vp"), Case(graph, {"tol": 1e-7}), precision=64)
    dense = np.zeros((graph.n, graph.n))
    np.add.at(dense, (graph.dst, graph.src), 1 / graph.outdegree[graph.src])
    want = np.linalg.solve(np.eye(graph.n) - 0.85 * dense, np.full(graph.n, 0.15))
    np.testing.assert_allclose(result.rank, want, atol=1e-4)


def test_gpus_pull_changes() -> None:
    plan = compile(LOOPS["whole"]).plan(frozenset(), target="cuda")
    stage = next(stage for stage in plan.stages if stage.gpu is not None and stage.domain)
    assert stage.gpu is not None
    assert not stage.gpu.push
    assert stage.gpu.push_reason


def test_supersteps_end_as_the_interpreter_says() -> None:
    program = compile(LOOPS["whole"].replace("at most 7 times", ""))
    case = Case(family("path"))
    assert engine_run(program, case).rounds == sum(interpreted(program, case).rounds)


@pytest.mark.parametrize("condition", sampled([
    "old(x) == x", "not changed(x)", "x >= old(x)", "x > old(x) - 2", "x > 3 or x <= old(x)", "x >= old(x) and x < 9",
    "x > old(x) + 1", "changed(x) or x > 5",
], ["not changed(x)", "x > 3 or x <= old(x)", "x > old(x) + 1"]))
def test_activation_where_nothing_changed(condition: str) -> None:
    """`activate when` may activate or deactivate a vertex whose value did not change."""
    text = f"""program p
vertex x: int = indegree
repeat at most 8 times:
    gather m = max(u.x for u -> self)
    apply  x = max(x, m)
    activate when {condition}
"""
    program = compile(text)
    for name in ("messy", "grid", "path"):
        case = Case(family(name))
        assert_both(program, case)
        runs = [engine_run(program, case, mode=mode) for mode in ("pull", "notify-pull", "auto")]
        assert len({tuple(row.active for row in run.history) for run in runs}) == 1, name
