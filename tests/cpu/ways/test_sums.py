"""Loops that push sums of changes on the CPU have the same bits, rounds and active vertices as a pull."""

from __future__ import annotations

import functools
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tests.cpu.both import long_graph
from tests.cpu.compare import assert_as_interpreted, engine_run, interpreted, same_bits
from tests.reference.cases import Case
from tests.reference.graph import RefGraph
from tests.reference.graphs import FAMILIES, family, random_graph, to_graph
from tests.sample import sampled
from vlang import Graph, Program, Result, compile, load
from vlang.runtime.engine.trace import ChaosReport

ACYCLIC = ("path", "star_out", "star_in", "grid", "complete", "no_edges", "empty", "one_vertex")
PATHS = """program paths
vertex paths: i64 = 1 if indegree == 0 else 0
repeat:
    gather news = sum(change(u.paths) for u -> self)
    apply  paths += news
    activate when change(paths) != 0
"""


def whole(type_: str, gather: str = "change(u.x)", apply: str = "x += a", domain: str = "u -> self",
          activate: str = "activate when change(x) != 0") -> str:
    """Return the text of a loop over integers that become infinite during the run."""
    return f"""program p
edge   weight: int = 1
vertex k: int = outdegree % 5
vertex x: {type_} = 5 if indegree % 4 == 0 else 3 if outdegree % 3 != 1 else 0
repeat:
    gather a = sum({gather} for {domain})
    apply  {apply}
    {activate}
"""


def real(type_: str, gather: str, apply: str, domain: str = "u -> self", head: str = "",
         activate: str = "activate when abs(change(x)) > 1e-3") -> str:
    """Return the text of a loop over floats whose changes decrease to 0."""
    return f"""program p
edge   weight: float = 1
vertex k: float = outdegree / 3
vertex x: {type_} = 0.3 if indegree % 4 == 0 else 1 if outdegree % 3 != 1 else 0
{head}
repeat:
    gather a = sum({gather} for {domain})
    apply  {apply}
    {activate}
"""


INTEGERS = {
    "i64": whole("i64", "change(u.x) * weight"), "i8": whole("i8"), "u16": whole("u16", "change(u.x) * 1000"),
    "u32": whole("u32", "change(u.x)", "x += a * 3"), "out": whole("i32", "change(u.x) * weight", domain="self -> u"),
    "both": whole("i32", "change(u.x) * weight", domain="u -- self"),
    "sometimes": whole("i16", domain="u -> self if weight > 2 and u.k != k"),
    "default": whole("i32", activate=""),
    "where": whole("i32").replace("    gather", "    where k % 2 == 0:\n        gather").replace(
        "    apply  x += a\n", "        where weighs > 3:\n            apply x += a * 2\n").replace(
        "repeat", "vertex weighs: int = sum(weight for self -> u)\nrepeat"),
    "two fields": """program p
edge   weight: int = 1
vertex x: i32 = outdegree
vertex y: i8 = 1 if indegree > 2 else 0
repeat:
    gather a = sum(change(u.x) * weight for u -> self)
    gather b = sum(change(u.y) for u -> self)
    apply  x -= a
    apply  y += b
    activate when change(x) != 0 or change(y) > 3
""",
    "vectors": whole("i32[3]", "change(u.x) * weight", activate="activate when max(change(x)) != 0").replace(
        "5 if indegree % 4 == 0 else 3 if outdegree % 3 != 1 else 0", "[outdegree, 1, 0]"),
}
FLOATS = {
    "f64": real("f64", "change(u.x) / u.outdegree", "x += a * 0.85"),
    "weights": real("float", "change(u.x) * weight / 40", "x += a"),
    "out": real("float", "change(u.x) * weight / 40", "x -= a", "self -> u"),
    "both": real("float", "change(u.x) * weight / 80", "x += a", "u -- self"),
    "no weights": real("float", "change(u.x) / 8", "x += a", "u -- self"),
    "no number": real("float", "change(u.x) * (u.k / k) / 8", "x += a", "u -> self if weight > 1 and u.k != k"),
    "message": real("float", "change(u.x) * exp(-u.k) / 9", "x += a", head="vertex z: float = sum(u.k for u -> self)"),
    "vectors": real("float[2]", "change(u.x) * weight / 50", "x += a",
                    activate="activate when max(abs(change(x))) > 1e-3").replace(
        "0.3 if indegree % 4 == 0 else 1 if outdegree % 3 != 1 else 0", "[outdegree, 1]"),
}
CUTS: tuple[dict[str, Any], ...] = (
    {"mode": "push", "threads": 1}, {"mode": "push", "threads": 2, "page_size": 64}, {"mode": "auto", "threads": 3},
    {"mode": "auto", "threads": 1, "switching": "published", "page_size": 64}, {"mode": "notify-pull", "threads": 2},
    {"mode": "push", "asynchronous": True, "threads": 2},
)  # fmt: skip


@functools.cache
def program(text: str) -> Program:
    """Return a program of a text, compiled once."""
    return compile(text)


def assert_pushed(text: str, graph: RefGraph, most: int = 40, meant: bool = True) -> set[str]:
    """Compare runs under every partition of the work with a pull; return the modes that ran.

    If `meant` is set, also compare with the interpreter.
    """
    case, on = Case(graph), to_graph(graph)
    want = engine_run(program(text), case, on, mode="pull", threads=1, max_rounds=most)
    seen = set()
    for cut in CUTS:
        if cut.get("asynchronous") and not program(text).plan(frozenset()).loops[0].asynchronous:
            continue
        got = engine_run(program(text), case, on, max_rounds=most, **cut)
        assert_same(want, got, (text, cut))
        assert cut["mode"] != "notify-pull" or "push" not in {row.mode for row in got.history}
        seen |= {row.mode for row in got.history}
    if meant:
        assert_as_interpreted(program(text), case, want, interpreted(program(text), case, max_rounds=most))
    return seen


def integral(graph: RefGraph) -> RefGraph:
    """Return the graph with integer weights."""
    return replace(graph, columns={"weight": np.ceil(graph.columns["weight"])})


def assert_same(want: Result, got: Result, why: object) -> None:
    for field in want.fields:
        assert same_bits(np.asarray(want[field]), np.asarray(got[field])), (why, field, want[field], got[field])
    assert [row.active for row in got.history] == [row.active for row in want.history], why
    assert (got.rounds, got.reason) == (want.rounds, want.reason), why


@pytest.mark.parametrize("name", ACYCLIC)
def test_paths_are_counted(name: str) -> None:
    graph = family(name)
    seen = assert_pushed(PATHS, graph)
    assert "push" in seen or not graph.m


@pytest.mark.parametrize("name", sampled(INTEGERS, ["u16", "sometimes", "where", "two fields"]))
def test_integers(name: str) -> None:
    for seed in range(4):
        print(f"seed {seed}")
        assert "push" in assert_pushed(INTEGERS[name], integral(random_graph(seed, directed=seed % 2 == 0)))


@pytest.mark.parametrize("name", sampled(FLOATS, ["f64", "message", "vectors"]))
def test_floats(name: str) -> None:
    seen = set()
    for seed in range(4):
        print(f"seed {seed}")
        seen |= assert_pushed(FLOATS[name], random_graph(seed, directed=seed % 2 == 0))
    assert "push" in seen


@pytest.mark.parametrize("name", FAMILIES)
def test_families(name: str) -> None:
    for directed in (True, False):
        assert_pushed(INTEGERS["i64"], family(name, directed))
        assert_pushed(FLOATS["weights"], family(name, directed, "float"))


@pytest.mark.parametrize(("text", "pushes"), [
    (INTEGERS["both"], True), (FLOATS["weights"], True), (FLOATS["out"], True), (FLOATS["no weights"], True),
    (FLOATS["both"], False),  # edges and reverse edges are added in another order
])
def test_vertices_of_many_segments(text: str, pushes: bool) -> None:
    text = text.replace("* weight /", "* weight / 4096 /").replace("> 1e-3", "> 1e-6")
    assert ("push" in assert_pushed(text, long_graph(), most=12, meant=False)) == pushes


def test_zeros_keep_their_signs() -> None:
    """A vertex that receives nothing adds 0, so that a -0 from an earlier underflow becomes 0."""
    text = """program p
vertex x: f32
repeat:
    gather a = sum(change(u.x) * 1e-30 for u -> self)
    apply  x += a * 1e-30
    activate when change(x) < 0
"""
    graph = family("path")
    start = np.array([-1, *[-0.0] * 8], np.float32)
    case = Case(graph, {}, {"x": start})
    want = engine_run(program(text), case, mode="pull")
    for mode in ("push", "notify-pull", "auto"):
        assert_same(want, engine_run(program(text), case, mode=mode), mode)


@pytest.mark.parametrize(("name", "options"), [
    ("pagerank_delta", {}), ("katz", {"derive": "delta", "alpha": 0.0005}),
    ("tests/reference/design/php.vp", {"source": 1}),
])
@pytest.mark.parametrize("spec", ["kron:11,weights=1..9", "grid:20x30,weights=1..9", "star:3000,weights=1..9"])
def test_programs(name: str, options: dict[str, Any], spec: str) -> None:
    graph = Graph.read(spec)
    want = load(name)(graph, research={"mode": "pull"}, **options)
    for mode, threads in (("push", 1), ("push", 2), ("auto", 1), ("auto", 2)):
        got = load(name)(graph, research={"mode": mode}, threads=threads, **options)
        assert_same(want, got, (name, spec, mode))
        assert "push" in {row.mode for row in got.history} or mode == "auto" or want.rounds == 1


def test_as_many_supersteps_as_asked() -> None:
    graph = Graph.read("path:300")
    for most in (2, 63, 64, 65, 90):
        got, want = (load("pagerank_delta")(graph, research={"mode": mode}, max_rounds=most, tol=1e-12)
                     for mode in ("push", "pull"))
        assert_same(want, got, most)
        assert got.rounds == most


def test_supersteps_that_repeat_are_found() -> None:
    """The engine detects that supersteps repeat. On a ring of odd length, a change circulates forever, and its sign
    changes in each round.
    """
    text = PATHS.replace("1 if indegree == 0 else 0", "0").replace("program paths", "program p(s: vertex)").replace(
        "i64 = 0", "i8 = 1 if self == s else 0").replace("+= news", "-= news")
    ring = Graph.from_edges(np.arange(7), (np.arange(7) + 1) % 7)
    want = compile(text)(ring, s=2, research={"mode": "pull"})
    assert "repeat for ever" in want.reason
    assert_same(want, compile(text)(ring, s=2, research={"mode": "push"}), "ring")


def test_no_push_where_everybody_has_something_to_tell() -> None:
    got = load("pagerank_delta")(Graph.read("kron:11"), threads=1)
    modes = [row.mode for row in got.history]
    assert (modes[1], modes[-1], set(modes)) == ("pull", "push", {"pull", "push"})
    got = load("pagerank_delta")(Graph.read("kron:11"), threads=1, research={"switching": "published"})
    assert {row.mode for row in got.history} == {"pull", "notify-pull", "push"}


def test_without() -> None:
    graph = Graph.read("grid:20x30")
    got, want = (load("pagerank_delta")(graph, research={"without": without}) for without in ("sums", ""))
    assert "push" not in {row.mode for row in got.history}
    assert_same(want, got, "without")


@pytest.mark.parametrize(("loop", "why"), [
    ("gather a = sum(change(u.x) for u -> self)\n    gather b = max(u.y for u -> self)\n    apply x += a",
     "the pass gathers more than sums of changes"),
    ("gather a = sum(change(u.x) for u -> self)\n    gather b = sum(change(u.y) for self -> u)\n    apply x += a\n"
     "    apply y += b", "the loop takes several passes a superstep"),
])
def test_what_is_not_pushed(loop: str, why: str) -> None:
    text = f"program p\nvertex x: int = 1\nvertex y: int = 1\nrepeat:\n    {loop}\n    activate when change(x) != 0\n"
    (only,) = compile(text).plan(frozenset()).loops
    assert not any("sums" in stage.ways for stage in only.stages)
    assert why in compile(text).explain("plan")


def test_plan_says_what_is_pushed() -> None:
    said = compile(PATHS).explain("plan")
    assert "modes: pull; push where few vertices have changes to send; notify-pull on request" in said
    assert "pushes: sums, added up beside the receivers\n" in said
    assert "beside the receivers, in the order in which the receiver would" in load("pagerank_delta").explain("plan")


def test_chaos_pushes() -> None:
    times = 0
    for seed in range(8):
        report = engine_run(load("pagerank_delta"), Case(random_graph(seed)), chaos=seed).chaos
        assert isinstance(report, ChaosReport)
        times += sum(one.times for one in report.freedoms if one.rule == "P")
    assert times
