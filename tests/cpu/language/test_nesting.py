"""Nested blocks: the results of every construct, and the reported rounds, are compared with the interpreter."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.cpu.compare import assert_as_interpreted, assert_cut_free, case_of, engine_run, interpreted
from tests.reference.cases import Case
from tests.reference.graph import RefGraph
from tests.reference.graphs import all_families, family, ref_graph
from tests.sample import sampled
from vlang import Program, Round, compile, load

DESIGN = Path(__file__).parents[2] / "reference" / "design"
GRAPHS = all_families()[::5]

PROGRAMS = {
    "iteration": """program a
vertex x: int = outdegree
repeat 3 times:
    let before = iteration
    repeat iteration times:
        gather b = sum(u.x for u -> self)
        apply x = b % 7 + iteration * 10
    apply x = x + iteration * 1000 + before
""",
    "old": """program a
vertex x: int = outdegree
vertex y: i64 = 0
vertex g: int = 5
repeat at most 3 times until all(old(v.g) > 9 for v in vertices):
    let first = sum(old(v.x) for v in vertices) % 100
    repeat 2 times:
        gather top = max(old(u.x) for u -> self)
        apply x = max(x, top) + 1
        apply y = x - old(x)
    apply y = y + (x - old(x)) * 100
    where changed(x) and old(y) < x:
        apply y = y + first
""",
    "where": """program a
vertex x: int = outdegree
vertex y: int = 0
where x > 0:
    apply x = 0
    repeat:
        gather top = max(u.x + 1 for u -> self)
        apply x = max(x, min(top, 6))
    where x > 1:
        repeat at most 4 times:
            gather more = count(u.x == x for u -> self)
            apply y += more + 1
            activate when y < 3
    for k from 1 to 2:
        apply y += k
""",
    "local": """program a(group: vertices)
vertex all_: i64 = 0
for s in group:
    vertex far: int = 0 if self == s else inf
    vertex reached: int = count(u.far < inf for u -> self)
    repeat:
        gather near = min(u.far + 1 for u -> self)
        apply far = min(far, near)
    repeat 2 times:
        vertex mine: int = far % 4
        gather others = sum(u.mine for u -> self)
        apply mine += others
        apply all_ = 3 * all_ + mine + reached
""",
    "range": """program a
vertex x: i64 = 0
for k from 1 to 0:
    apply x += 1000
for k from -2 to 2:
    for j from k to N until sum(v.x for v in vertices) > 40 * N:
        gather a = max(u.x for u -> self)
        apply x = max(x, min(a, 90)) + j * k
""",
    "sweep": """program a
vertex f: int = inf if outdegree == 0 else -inf if outdegree == 1 else indegree * 40000 - 70000
vertex d: u8 = 3 if indegree > 2 else 250 if outdegree > 1 else 0
vertex x: int = 1
vertex y: int = 0
vertex n: i64 = 0
sweep f up:
    let seen = count(v.x > 1 for v in vertices)
    gather a = sum(u.x for u -> self)
    gather b = max((u.y, u) for self -> u)
    apply (x, y) = ((x + a) % 1000, b[0] % 50 + 1)
    where a > 3:
        gather c = count(u.x != 1 for u -- self)
        apply n = n + c + seen * 10
where x % 2 == 0:
    sweep d down:
        gather top = max(u.n for u -- self)
        apply n = max(n, min(top, 5000)) + 1
        apply x = x + d
sweep f down:
    apply y = y + 7
""",
    "sent": """program a
vertex x: int = outdegree
vertex y: int = 0
repeat at most 5 times until sum(abs(change(v.x)) for v in vertices) > 60:
    repeat at most 4 times:
        gather m = max(u.x for u -> self)
        apply x = x + m % 2
        apply y = y + abs(x - old(x))
        activate when change(x) > 1
    apply x = x + y % 3
    activate when change(x) > 2 or change(y) > 3
""",
    "names": """program a(level_0: int = 2, where_0 = 0.5, range0: int = 1)
vertex level_1: int = indegree
vertex loop0: int = 0
vertex where_1: int = 0
where level_1 > 0 and where_0 < 1:
    sweep level_1 up:
        gather where_2 = sum(u.loop0 for u -> self)
        apply loop0 = where_2 % 5 + level_0
    for e from range0 to 2:
        gather level_2 = count(u.loop0 > 1 for u -> self)
        apply where_1 = where_1 + level_2 * e
""",
    "reaches_in": """program a
vertex x: int = outdegree
gather ins = count(true for u -> self)
where ins > 1:
    gather top = max(u.x for u -> self)
    repeat at most 3 times:
        gather less = min(u.x for self -> u)
        apply x = (x + top + ins + less % 3) % 11
        activate when less < top
""",
}


def _case(name: str, graph: RefGraph) -> Any:
    if name == "local":
        return case_of(graph, group=[0, graph.n - 1, 0][: graph.n])
    return case_of(graph)


@pytest.mark.parametrize("name", sampled(PROGRAMS, ["old", "where", "local", "range", "sweep", "sent"]))
def test_as_interpreted(name: str) -> None:
    program = compile(PROGRAMS[name])
    for family_name, graph in GRAPHS:
        if name == "local" and graph.n == 0:
            continue
        print(family_name)
        made = _case(name, graph)
        result = assert_cut_free(program, made)
        assert_as_interpreted(program, made, result, interpreted(program, made))


def _sources(graph: RefGraph) -> dict[str, Any]:
    return {"sources": [graph.n // 2, 0, graph.n - 1][: graph.n]}


@pytest.mark.parametrize(("name", "params"), [
    ("betweenness", _sources), ("closeness", _sources), ("scc", None), ("kcore_peel", None), ("bipartite", None),
])
def test_program_of_the_design(name: str, params: Any) -> None:
    program = load(DESIGN / f"{name}.vp")
    for family_name, graph in all_families()[::2]:
        print(family_name)
        made = case_of(graph, **(params(graph) if params else {}))
        outcome = interpreted(program, made)
        assert_as_interpreted(program, made, assert_cut_free(program, made), outcome)
        in_place = engine_run(program, made, asynchronous=True, mode="pull")
        assert_as_interpreted(program, made, in_place, outcome, same_rounds=False)


def test_sweep_over_vertices_with_many_edges() -> None:
    """A sweep has separate lists for vertices whose rows are cut into segments, and its results are right."""
    program = compile(PROGRAMS["sweep"])
    rng = np.random.default_rng(3)
    edges = [(int(u), hub) for hub in (5, 6) for u in rng.integers(0, 60, 20_000)]
    graph = ref_graph(60, [*edges, *((k, k + 1) for k in range(59))], True)
    made = case_of(graph)
    assert_as_interpreted(program, made, assert_cut_free(program, made), interpreted(program, made))


def test_a_sweep_without_vertices() -> None:
    program = compile("program a\nvertex f: int = inf\nvertex x: int = 1\nsweep f up:\n    apply x = 2")
    assert np.asarray(engine_run(program, case_of(family("path")))["x"]).tolist() == [1] * 9


def test_history_names_loops_in_the_order_of_the_text() -> None:
    program = compile("program a\nvertex x: int = 0\nrepeat 2 times:\n    repeat 3 times:\n        apply x += 1\n"
                      "repeat 1 times:\n    apply x += 1")
    result = engine_run(program, case_of(family("path")))
    shown = [(row.loop, row.round) for row in result.history]
    once = [(1, 1), (1, 2), (1, 3)]
    assert shown == [*once, (0, 1), *once, (0, 2), (2, 1)]
    assert result.rounds == 9
    assert result.converged


def test_activity_that_leaves_out_what_a_let_reads() -> None:
    """`activate when changed(g)` differs from the default activation if a `let` reads f: the loop ends although f still
    changes.
    """
    program = compile("program a\nvertex f: int = 0\nvertex g: int = 0\nrepeat:\n"
                      "    let s = sum(v.f for v in vertices)\n    gather a = max(5 for u -> self)\n"
                      "    apply g = max(g, 1 if s > 3 else 0)\n    apply f = max(f, a)\n    activate when changed(g)")
    made = case_of(family("path"))
    result = assert_cut_free(program, made)
    assert_as_interpreted(program, made, result, interpreted(program, made))
    assert result.rounds == 1


def test_the_first_loop_cut_off_is_the_reason() -> None:
    program = compile("program a\nvertex x: int = 0\nfor k from 1 to 2:\n    repeat at most k times:\n"
                      "        apply x = min(x + 1, 3)\nrepeat 1 times:\n    apply x = x")
    result = engine_run(program, case_of(family("path")))
    assert not result.converged
    assert result.reason == "stopped after 1 supersteps, the most that the program allows"


def test_max_rounds_bound_every_execution() -> None:
    program = compile("program a\nvertex x: int = 0\nrepeat 2 times:\n    repeat 5 times:\n        apply x += 1")
    result = engine_run(program, case_of(family("path")), max_rounds=2)
    assert np.asarray(result["x"]).tolist() == [4] * 9
    assert not result.converged


# What counts as a round in blocks of every kind (language.md 4.9). Each entry has the block and, for a run without
# # `max_rounds` and one with `max_rounds=3`, the rounds of every loop in the order of the text and the final x.
ROUNDS = {
    "for k from 1 to 5:\n    apply x += 1": ([5], 5, [3], 3),
    "for k from 1 to 0:\n    apply x += 1": ([0], 0, [0], 0),
    "for k from -4 to 9223372036854775807 until k == 2:\n    apply x += 1": ([7], 7, [3], 3),
    "for k from 1 to 5 until k == 9:\n    apply x += 1": ([5], 5, [3], 3),
    "for k from 1 to 0 until k == 9:\n    apply x += 1": ([0], 0, [0], 0),
    "for s in group:\n    apply x += 1": ([], 4, [], 4),
    "sweep level up:\n    apply x += 1": ([], 1, [], 1),
    "for k from 1 to 2:\n    for j from 1 to 4:\n        apply x += 1": ([2, 8], 8, [2, 6], 6),
    "repeat 2 times:\n    for j from 1 to 4:\n        apply x += 1": ([2, 8], 8, [2, 6], 6),
    "for k from 1 to 4:\n    repeat 2 times:\n        apply x += 1": ([4, 8], 8, [3, 6], 6),
    "for s in group:\n    for j from 1 to 5:\n        apply x += 1": ([20], 20, [12], 12),
    "for k from 1 to 4:\n    sweep level up:\n        apply x += 1": ([4], 4, [3], 3),
    "where true:\n    for k from 1 to 5:\n        apply x += 1": ([5], 5, [3], 3),
}


def counts(text: str, device: str = "cpu") -> None:
    """Run a program of ROUNDS, and compare the rounds of the engine with the interpreter. The rounds are in the result,
    in its history and in the progress reports.
    """
    program = compile("program a(group: vertices)\nvertex x: int = 0\nvertex level: int\n" + text)
    case = Case(family("path"), {"group": [0, 2, 4, 6]}, {"level": np.arange(9)})
    all_, x, cut, x_cut = ROUNDS[text]
    for most, rounds, value in ((None, all_, x), (3, cut, x_cut)):
        seen: list[Round] = []
        result = engine_run(program, case, max_rounds=most, progress=seen.append, device=device)
        assert np.asarray(result["x"]).tolist() == [value] * 9, text
        assert [sum(row.loop == at for row in result.history) for at in range(len(rounds))] == rounds, text
        numbers = {row.round for row in result.history}
        assert numbers == set(range(1, len(numbers) + 1)), text
        assert (result.rounds, len(result.history), tuple(seen)) == (sum(rounds), sum(rounds), result.history), text
        outcome = interpreted(program, case, max_rounds=most)
        assert_as_interpreted(program, case, result, outcome)
        assert [loop.rounds for loop in outcome.loops].count(0) == rounds.count(0)
        if rounds != all_:
            assert not result.converged
            assert outcome.reason == "max_rounds"
            assert re.fullmatch(r"stopped after 3 (supersteps|rounds), as asked", result.reason), result.reason


@pytest.mark.parametrize("text", ROUNDS)
def test_rounds_of_blocks(text: str) -> None:
    counts(text)


@pytest.mark.parametrize(("end", "converged", "reason"), [
    ("5", True, "ran 5 rounds, as the program says"),
    ("5 until k == 3", True, "`until` holds"),
    ("5 until k == 9", False, "stopped after 5 rounds, the most that the program allows"),
    ("0 until k == 9", True, "ran 0 rounds, as the program says"),
])  # fmt: skip
def test_why_a_range_ended(end: str, converged: bool, reason: str) -> None:
    program = compile(f"program a\nvertex x: int = 0\nfor k from 1 to {end}:\n    apply x += 1")
    case = case_of(family("path"))
    result = engine_run(program, case)
    assert (result.converged, result.reason) == (converged, reason)
    assert interpreted(program, case).converged == converged


def test_edges_of_a_range_count_once() -> None:
    text = "gather a = sum(u.x for u -> self)\n        apply x = a"
    program = compile(f"program a\nvertex x: int = 1\nrepeat 2 times:\n    for k from 1 to 3:\n        {text}")
    result = engine_run(program, case_of(family("path")))
    assert [(row.loop, row.edges) for row in result.history] == [*[(1, 8)] * 3, (0, 0)] * 2
    assert result.edges == 48


def test_an_outer_loop_that_repeats_itself_is_stopped() -> None:
    program = compile("program a\nvertex x: int = 0\nrepeat until all(v.x > 2 for v in vertices):\n"
                      "    repeat 1 times:\n        apply x = 1 - x")
    result = engine_run(program, case_of(family("path")))
    assert not result.converged
    assert "would repeat for ever" in result.reason


def test_a_sweep_looks_only_at_its_vertices() -> None:
    """On a path each level has one vertex, and all levels of a sweep together traverse every edge once."""
    program = compile("program a\nvertex f: int = 0 if indegree == 0 else inf\nrepeat:\n"
                      "    gather near = min(u.f + 1 for u -> self)\n    apply f = min(f, near)\nvertex x: int = 1\n"
                      "repeat 1 times:\n    sweep f up:\n        gather a = sum(u.x for u -> self)\n"
                      "        apply x += a")
    edges = [(k, k + 1) for k in range(999)]
    result = engine_run(program, case_of(ref_graph(1000, edges, True)))
    assert np.asarray(result["x"]).tolist() == list(range(1, 1001))
    assert result.history[-1].edges == 999


@pytest.fixture(scope="module")
def betweenness() -> Program:
    return load(DESIGN / "betweenness.vp")


def test_plan_shows_blocks(betweenness: Program) -> None:
    lines = betweenness.explain("plan").splitlines()
    assert "block in line 6, once for each vertex of sources" in lines
    assert "    loop in line 11" in lines
    assert "    sweep in line 17, once for each value of depth in decreasing order" in lines
    assert any(line.startswith("        pass s3 over in-edges") for line in lines)
