"""Trap mode finds the first failing operation of a run, in the engine and in the reference interpreter."""

from __future__ import annotations

import os
import random
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import vlang
from tests.fuzz.cases import Fuzzed, drawn, variants
from tests.reference.cases import MORE, STDLIB, case
from tests.reference.graph import ref_graph
from tests.reference.graphs import random_graph, to_graph
from tests.reference.trapping import Failed, run_trapping
from tests.sample import EXHAUSTIVE, sampled
from vlang import BindError, Error, Graph, Program, RangeError, TrapError
from vlang.check import parse
from vlang.cli import main
from vlang.ir.forms import forms as f
from vlang.ir.traps.failing import KINDS
from vlang.ir.traps.trap_mode import trapping
from vlang.syntax.tree import Span
from vlang.types import I32

NIGHTLY = "VLANG_FUZZ" in os.environ or EXHAUSTIVE
COUNT = int(os.environ.get("VLANG_FUZZ", "200" if NIGHTLY else "20")) // 10
SEED = int(os.environ.get("VLANG_FUZZ_SEED", random.randrange(1 << 20) if NIGHTLY else 4))

# Each failing operation is in its own branch. `at` chooses the branch, and so the expected column and kind of error.
FLOATS = """program floats(nr: int, zero: float = 0.0, far: float = inf, big: float = 3e38, lost: float = inf)
fn ratio(a: float, b: float = 2.0) = a / b
vertex x: float = 1.0
vertex c: float[2] = [1.0, 2.0]
vertex h: f16 = 0.0
repeat 2 times:
    gather s = sum(u.x * big if nr == 1 else u.x for u -> self if nr != 2 or u.x / zero > 0.0)
    gather t = sum(big if nr == 3 else 1.0 for u -> self)
    gather m = min(lost - lost if nr == 4 else u.x for u -> self)
    apply h = big if nr == 5 else 1.0
    apply x = sqrt(-x) if nr == 6 else log(0) if nr == 7 else ratio(x, zero) if nr == 8 else x % zero if nr == 9 else 1
    apply c = c * big if nr == 10 else c / [1.0, zero] if nr == 11 else c
    apply x = dot(c, [1, big]) if nr == 12 else c[floor(x) + 1] if nr == 13 else exp(99 * x) if nr == 14 else 1
    let total = sum(v.x - big * v.x * 9.0 if nr == 15 else v.x for v in vertices)
    apply x = far - far if nr == 16 else far + x if nr == 17 else x
    apply x = 1.0 if nr != 18 and (nr != 19 or max(far * zero, x) > 0.0) else x / zero
    apply x = log2(-x) if nr == 20 else exp2(999 * x) if nr == 21 else sin(far) if nr == 22 else x
    apply x = float(int(big * x)) if nr == 23 else float(u8(-x)) if nr == 24 else pow(zero, -x) if nr == 25 else sign(x)
"""
Kinds = Mapping[int, tuple[str, int, str] | None]
FLOAT_KINDS: Kinds = {
    1: ("infinite", 7, "sum(u.x * big"), 2: ("division by zero", 7, "u.x / zero"), 3: ("infinite", 8, "sum(big"),
    4: ("nan", 9, "lost - lost"), 5: ("infinite", 10, "big if nr == 5 else 1.0"), 6: ("nan", 11, "sqrt(-x)"),
    7: ("infinite", 11, "log(0)"), 8: ("division by zero", 2, "a / b"), 9: ("division by zero", 11, "x % zero"),
    10: ("infinite", 12, "c * big"), 11: ("division by zero", 12, "c / [1.0, zero]"), 12: ("infinite", 13, "dot("),
    13: ("index", 13, "c[floor(x) + 1]"), 14: ("infinite", 13, "exp(99 * x)"),
    15: ("infinite", 14, "big * v.x * 9.0"),
    16: ("nan", 15, "far - far"), 17: None, 18: ("division by zero", 16, "x / zero"), 19: ("nan", 16, "far * zero"),
    20: ("nan", 17, "log2(-x)"), 21: ("infinite", 17, "exp2(999"), 22: ("nan", 17, "sin(far)"),
    23: ("infinite", 18, "int(big"), 24: ("infinite", 18, "u8(-x)"), 25: ("infinite", 18, "pow(zero"),
}

WHOLE = """program whole(nr: int, zero: int = 0, far: int = inf, big: int = 2000000000, by: int = 40, byte: u8 = 200)
vertex x: int = 1
vertex b: u8 = 100
vertex near: vertex = none
vertex depth: int = far
repeat 2 times:
    gather d = min(u.depth + 1 for u -> self)
    gather s = sum(u.depth for u -> self if nr == 1)
    gather t = sum(big if nr == 2 else 1 for u -> self)
    apply depth = min(depth, d + 1, 2 * d)
    apply x = big + big if nr == 3 else far + 1 if nr == 4 else far - far if nr == 5 else 7 // zero if nr == 6 else 1
    apply x = min(x, far - far) if nr == 7 else min(x, far + 1) if nr == 8 else x << by if nr == 9 else x
    apply x = wrap(big * big) if nr == 10 else inf if nr == 11 else -far if nr == 12 else x % far if nr == 13 else x
    apply b = byte + b if nr == 14 else b - byte if nr == 15 else byte * byte if nr == 16 else b
    apply x = near.x if nr == 17 else 1 if nr == 18 and near < self else big ** 2 if nr == 19 else x
    let total = sum(10 // (v.x - 1) if nr == 20 else 1 for v in vertices)
    apply x = 3 if nr == 21 and x > depth * zero else x
    apply x = int(i8(big)) if nr == 22 else int(u8(-byte)) if nr == 23 else clamp(far, 0, far - far) if nr == 24 else x
"""
WHOLE_KINDS: Kinds = {
    1: ("infinite operand", 8, "sum(u.depth"), 2: ("infinite", 9, "sum(big"), 3: ("infinite", 11, "big + big"),
    4: ("infinite operand", 11, "far + 1"), 5: ("infinite operand", 11, "far - far"),
    6: ("division by zero", 11, "7 // zero"), 7: ("infinite operand", 12, "far - far"), 8: None,
    9: ("shift", 12, "x << by"), 10: None, 11: None, 12: ("infinite operand", 13, "-far"),
    13: ("infinite operand", 13, "x % far"), 14: ("infinite", 14, "byte + b"), 15: ("infinite", 14, "b - byte"),
    16: ("infinite", 14, "byte * byte"), 17: ("none", 15, "near.x"), 18: ("none", 15, "near < self"),
    19: ("infinite", 15, "big ** 2"), 20: ("division by zero", 16, "10 // (v.x - 1)"),
    21: ("infinite operand", 17, "depth * zero"), 22: ("infinite", 18, "i8(big)"), 23: ("infinite", 18, "-byte"),
    24: ("infinite operand", 18, "far - far"),
}
INSIDE = """program inside(nr: int, zero: float = 0.0, far: int = inf, big: int = 2000000000, wide: float = 3e38)
vertex x: float = 1.0
vertex label: vertex = self if indegree > 1 else none
repeat 1 times:
    gather a = max(sum(u.x * wide * 9 if nr == 1 else u.x for u if nr != 2 or u.x / zero > 1) for u -- self by c = 1)
    gather b = sum(sum(1 for u) / (zero if nr == 3 else 2) for u -- self if nr != 4 or u.x % zero > 1 by c = u.degree)
    gather d = sum(c for u -- self by c = u.degree + (far if nr == 5 else 1) if nr != 6 or c / zero > 1)
    gather e = max(sum(wide if nr == 7 else 1 for u) for u -- self by c = 1, default = 1 / (zero if nr == 8 else 1))
    gather g = sum(wide * count(true for u) if nr == 9 else 1 for u -- self by c = 1)
    gather h = sum(l.degree + (big + min(big for u) if nr == 10 else 1) for u -- self by l = u.label)
    gather i = max((sum(big if nr == 11 else 1 for u), min(far - far if nr == 12 else 1 for u)) for u -- self by c = 1)
    gather j = mode(u.label for u -- self, weight = 1 / (zero if nr == 13 else 1), default = none)
    gather m = min(sum(w.x * wide * 9 if nr == 14 else w.x for w in common(self, u) if nr != 15 or w.x / zero > 1) \
for u -- self)
    gather n = sum(sum(wide if nr == 16 else 1 for w in common(self, u)) / (zero if nr == 17 else 1) for u -- self)
    gather o = min(u.x if nr != 18 else min(w.x / zero for w in common(self, u)) for u -- self)
    gather p = min(min(w.x for w in common(self, u), default = 1 / (zero if nr == 19 else 1)) for u -- self)
    gather q = sum(wide * count(true for w in common(self, u)) if nr == 20 else 1 for u -- self)
    apply x = 1.0
"""
INSIDE_KINDS: Kinds = {
    1: ("infinite", 5, "u.x * wide * 9"), 2: ("division by zero", 5, "u.x / zero"),
    3: ("division by zero", 6, "sum(1 for u) /"), 4: ("division by zero", 6, "u.x % zero"),
    5: ("infinite operand", 7, "u.degree + "), 6: ("division by zero", 7, "c / zero"), 7: ("infinite", 8, "sum(wide"),
    8: ("division by zero", 8, "1 / (zero"), 9: ("infinite", 9, "wide * count"), 10: ("infinite", 10, "big + min"),
    11: ("infinite", 11, "sum(big"), 12: ("infinite operand", 11, "far - far"), 13: ("division by zero", 12, "1 / (z"),
    14: ("infinite", 13, "w.x * wide * 9"), 15: ("division by zero", 13, "w.x / zero"), 16: ("infinite", 14, "sum(w"),
    17: ("division by zero", 14, "sum(wide"), 18: ("division by zero", 15, "w.x / zero"),
    19: ("division by zero", 16, "1 / (zero"), 20: ("infinite", 17, "wide * count"), 21: None,
}
BOTH = ref_graph(4, [(1, 2), (2, 3), (3, 1), (1, 1)], False)
CLIQUE = ref_graph(5, [(a, b) for a in range(5) for b in range(a)])


def _some(text: str, kinds: Kinds, lines: Sequence[int]) -> tuple[str, Kinds]:
    """Return a text with only the given lines of gathers, or with all lines if VLANG_EXHAUSTIVE is set. Lines keep
    their numbers.
    """
    every = text.splitlines(keepends=True)
    gathers = [number for number, line in enumerate(every, 1) if line.startswith("    gather")]
    left = set(gathers) - set(sampled(gathers, lines))
    kept = "".join("\n" if number in left else line for number, line in enumerate(every, 1))
    return kept, {at: kind for at, kind in kinds.items() if kind is None or kind[1] not in left}


EDGES = """program edges(nr: int, zero: int = 0, big: int = 2000000000, wide: float = 3e38)
edge weight: float = 1
edge state far: int = big + (big if nr == 1 else indegree)
edge state part: i16 = 5
edge state flow: float = 1.0
vertex x: int = 1
repeat 2 times:
    apply far = big + u.x * (big if nr == 2 else 0) for u -> self if nr != 3 or 7 // zero > 1
    apply far += big + big if nr == 4 else 0 for u -> self
    apply far += 2 * far if nr == 5 else 0 for u -> self if u != self
    apply flow = flow * wide * (9 + reverse(flow)) for u -> self if nr == 6
    apply flow = 0.0 / (part - part) for u -> self if nr == 7 and u.x / zero > 1
    apply part = i16(big) for u -> self if nr == 8
    apply flow *= wide if nr == 9 else 1 for u -> self
    gather m = sum(far if nr == 11 else 1 for u -> self)
    apply x = m
    apply flow = 1 / (x - x) for u -> self if nr == 12 and x > 0
"""
EDGE_KINDS: Kinds = {
    1: ("infinite", 3, "big + (big"), 2: ("infinite", 8, "big + u.x"), 3: ("division by zero", 8, "7 // zero"),
    4: ("infinite", 9, "big + big"), 5: ("infinite", 10, "2 * far"), 6: ("infinite", 11, "flow * wide"),
    7: ("division by zero", 12, "u.x / zero"), 8: ("infinite", 13, "i16(big)"), 9: ("infinite", 14, "apply flow *="),
    10: None, 11: ("infinite", 15, "sum(far"), 12: ("division by zero", 17, "1 / (x - x)"),
}
KINDS_OF = dict([(FLOATS, FLOAT_KINDS), (WHOLE, WHOLE_KINDS), (EDGES, EDGE_KINDS),
                 _some(INSIDE, INSIDE_KINDS, [5, 8, 11, 12, 13, 15])])
STAR = ref_graph(4, [(1, 2), (2, 3), (3, 2), (3, 1), (1, 1)])


@cache
def _program(text: str) -> Program:
    return vlang.compile(text, "p.vp")


def _engine(program: Program, run: Fuzzed, **options: Any) -> TrapError | None:
    try:
        program(to_graph(run.graph), options or None, trap=True, **run.params, **run.fields)
    except TrapError as error:
        return error
    return None


def _interpreter(program: Program, run: Fuzzed) -> Failed | None:
    try:
        run_trapping(parse(program.source, "p.vp"), run.graph, run.params, run.fields)
    except Failed as failed:
        return failed
    return None


def _same(got: TrapError | None, want: Failed | None) -> bool:
    if got is None or want is None:
        return got is None and want is None
    return (got.kind, got.line, got.column, got.vertex) == (want.kind, want.line, want.column, want.vertex)


@pytest.mark.parametrize("text", KINDS_OF, ids=lambda text: text.split("(")[0][8:])
def test_each_operation(text: str) -> None:
    for at, want in KINDS_OF[text].items():
        run = Fuzzed(text, CLIQUE if "common(" in text else BOTH if "reverse(" in text else STAR, {"nr": at}, {})
        got = _engine(_program(text), run, threads=1 + at % 3)
        assert _same(got, _interpreter(_program(text), run)), (at, got, _interpreter(_program(text), run))
        if want is None:
            assert got is None, at
        else:
            assert got is not None, at
            assert (got.kind, got.line) == want[:2]
            assert text.splitlines()[got.line - 1][got.column - 1 :].startswith(want[2]), got


def test_every_kind_is_tested() -> None:
    found = {kind[0] for kind in (*FLOAT_KINDS.values(), *WHOLE_KINDS.values()) if kind is not None}
    assert {*found, "nan operand"} == set(KINDS)


def test_a_nan_that_is_passed_is_found_where_it_is_compared() -> None:
    text = "program p\nvertex x: float\nvertex y: float = min(u.x for u -> self)\n"
    run = Fuzzed(text, STAR, {}, {"x": [0.0, float("nan"), 0.0, 0.0]})
    got = _engine(_program(text), run)
    assert got is not None
    assert (got.kind, got.line, got.vertex) == ("nan operand", 3, 1)
    assert _same(got, _interpreter(_program(text), run))


def test_the_message_names_operation_vertex_and_superstep() -> None:
    text = "program p\nvertex x: float = 3.0\nvertex y: float = 0.0\nrepeat 9 times:\n    apply x = x - 1.0\n" \
           "    apply y = 1.0 / x\n"
    graph = Graph.from_edges(["a", "b"], ["b", "c"])
    with pytest.raises(TrapError) as caught:
        _program(text)(graph, trap=True)
    error = caught.value
    assert str(error) == "p.vp:6:15: `1.0 / x` divides by zero for vertex a, in superstep 3"
    assert (error.kind, error.line, error.column, error.vertex, error.superstep) == ("division by zero", 6, 15, "a", 3)
    assert isinstance(error, (ArithmeticError, Error))


def test_the_first_superstep_the_first_statement_the_least_vertex() -> None:
    text = "program p\nvertex x: int = 1\nvertex y: int = 1\nrepeat 50 times:\n    apply x = x * (9 if indegree == 2 " \
           "else 3)\n    apply y = y * 9\n"
    graph = Graph.from_edges([5, 6, 7, 8], [7, 7, 9, 9])
    for threads in (1, 2):
        with pytest.raises(TrapError) as caught:
            _program(text)(graph, trap=True, threads=threads)
        error = caught.value
        assert (error.vertex, error.line, error.superstep) == (7, 5, 10)  # 9^10 is too large, 3^10 is not


def test_the_command_ends_with_one_message(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "shares.vp"
    path.write_text("program shares\nvertex part: float = 1.0 / (outdegree - 1)\n")
    assert main(["run", str(path), "karate", "--quiet"]) == 0
    capsys.readouterr()
    assert main(["run", str(path), "karate", "--trap"]) == 1
    found = capsys.readouterr()
    assert found.err.splitlines()[-1] == f"error: {path}:2:22: `1.0 / (outdegree - 1)` divides by zero for vertex 12"
    assert found.out == ""


def test_results_are_those_of_an_ordinary_run() -> None:
    karate = Graph.read("karate")
    program = vlang.load("pagerank")
    assert program(karate, trap=True)["rank"].tobytes() == program(karate)["rank"].tobytes()


def test_an_edge_without_an_opposite_edge_is_one_message() -> None:
    program = vlang.compile("program p\nedge state f: int = 1\nvertex x: int = 0\n"
                            "gather s = sum(reverse(f) for u -> self)\napply x = s\n")
    with pytest.raises(vlang.GraphError, match="line 4: `reverse\\(f\\)` needs the opposite edge of every edge"):
        program(to_graph(STAR), trap=True)


def test_an_order_of_its_own() -> None:
    text = "program p\nvertex x: float = 1.0\nvertex y: float = 1.0 / (indegree - 2)\n"
    graph = Graph.from_edges([5, 6, 7, 8, 9], [7, 7, 9, 9, 5])
    for one in (graph, graph.ordered(np.array([3, 1, 4, 0, 2], np.uint32))):
        with pytest.raises(TrapError) as caught:
            _program(text)(one, trap=True)
        assert caught.value.vertex == 7


def test_what_is_refused() -> None:
    karate, program = Graph.read("karate"), vlang.load("bfs")
    result = program(karate, source=1)
    with pytest.raises(BindError, match="trap is for runs of a whole program"):
        program.resume(result, added=([1], [34]), trap=True)
    with pytest.raises(BindError, match="trap is"):
        program(karate, source=1, trap="yes")
    with pytest.raises(BindError, match="the option check is called trap now: write trap=True"):
        program(karate, source=1, check=True)


@pytest.mark.parametrize("name", (*STDLIB, *MORE) if NIGHTLY else ("bfs", "jaccard"))
def test_programs_of_the_library_have_no_failure(name: str) -> None:
    for seed in range(3):
        made = case(name, random_graph(seed, seed % 2 == 0))
        if made is not None:
            vlang.load(name)(to_graph(made.graph), trap=True, **made.params, **made.fields)


def test_random_programs() -> None:
    """In a nightly run, a fifth of the programs is drawn from those with edge states."""
    print(f"VLANG_FUZZ_SEED={SEED}")
    found: list[str] = []
    more = drawn(SEED, COUNT // 4, states=True) if NIGHTLY else []
    for number, made in enumerate([*drawn(SEED, COUNT), *more]):
        program = vlang.compile(made.text, "p.vp")
        for cut, one in enumerate(variants(made, 3)):
            try:
                want, got = _interpreter(program, one), _engine(program, one, threads=1 + cut % 3)
            except (OverflowError, RangeError):  # a declared reduction whose result does not fit its type
                continue
            assert _same(got, want), (number, cut, got, want, made.text)
            found.append("" if want is None else want.kind)
    assert len(set(found)) > 1, found  # some fail, and some do not


def test_places_make_no_difference_to_expressions() -> None:
    here = f.GraphValue(I32, "k", "parameter", span=Span(3, 4, 1, 4))
    assert here == f.GraphValue(I32, "k", "parameter")
    assert hash(here) == hash(f.GraphValue(I32, "k", "parameter"))
    assert trapping(_program(FLOATS).stages().program, frozenset()).sites
