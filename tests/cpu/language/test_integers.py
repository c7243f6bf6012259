"""The engine on a CPU is compared with the interpreter for integers near the limits of their types."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.cpu.both import assert_both
from tests.cpu.compare import assert_as_interpreted, engine_run, interpreted
from tests.emit.test_arithmetic import expressions, values
from tests.reference.cases import Case
from tests.reference.graph import RefGraph
from tests.reference.graphs import family
from tests.sample import sampled
from vlang import Graph, compile

_SEARCH = """program c(s: vertex)
edge weight: int = 1
vertex d: int = 0 if self == s else inf
require weight >= 0
repeat:
    gather m = min(u.d + weight for u -> self)
    apply d = min(d, m)
"""


@pytest.mark.parametrize("type_", sampled(["i8", "i32", "i64", "u16", "u64"], ["i8", "u64"]))
def test_results_are_those_of_the_interpreter(type_: str) -> None:
    lines = ["program p", f"vertex a: {type_}", f"vertex b: {type_}", "vertex s: i32"]
    lines += [f"vertex r{i}: {text}" for i, text in enumerate(expressions(type_))]
    program = compile("\n".join(lines))
    pairs = np.array(list(itertools.product(values(type_), repeat=2)), f"{type_[0]}{int(type_[1:]) // 8}")
    fields: dict[str, NDArray[Any]] = {
        "a": pairs[:, 0].copy(), "b": pairs[:, 1].copy(),
        "s": np.resize(np.array([0, 1, 7, 8, 31, 33, 63, 64, -1], np.int32), len(pairs))}
    empty = np.zeros(0, dtype=np.int64)
    case = Case(RefGraph(len(pairs), empty, empty, {}, True), {}, fields)
    want = interpreted(program, case)
    result = engine_run(program, case, threads=1)
    for number, text in enumerate(expressions(type_)):
        wrong = np.flatnonzero(np.asarray(result[f"r{number}"]) != want.fields[f"r{number}"])[:3]
        assert not len(wrong), (text, pairs[wrong], np.asarray(result[f"r{number}"])[wrong],
                                want.fields[f"r{number}"][wrong])
    assert_as_interpreted(program, case, result, want)


def test_orders_agree_where_a_path_leaves_the_type() -> None:
    weights = np.array([2000000000, 1000000000, 1000000000, 1500000000, 1000000000, 5], np.int32)
    graph = Graph.from_edges([0, 1, 2, 0, 3, 4], [1, 2, 3, 3, 4, 1], weight=weights)
    program = compile(_SEARCH)
    far = 2**31 - 1
    for research in ({"schedule": "rounds"}, {}, {"asynchronous": True}, {"mode": "pull"}, {"mode": "push"}):
        result = program(graph, s=0, research=research, threads=1)
        assert result.d.tolist() == [0, 2000000000, far, 1500000000, far], research


@pytest.mark.parametrize(("term", "most"), sampled(
    itertools.product(["change(u.x)", "change(u.x) * 2", "abs(change(u.x)) + 1"], [1, 3]),
    [("change(u.x)", 1), ("abs(change(u.x)) + 1", 3)]))
def test_the_first_change_is_the_whole_value(term: str, most: int) -> None:
    """The first `change(x)` is the whole value of x, not a difference of two values.

    The range of `change(x)` is therefore larger, and sums of changes may overflow the type.
    """
    text = ["program p", "vertex x: int = 2147483646", f"repeat at most {most} times:",
            f"    gather s = sum({term} for u -> self)", "    apply x += s", "    activate when abs(change(x)) > 0"]
    program = compile("\n".join(text))
    case = Case(RefGraph(3, np.array([0, 1, 2]), np.array([1, 1, 0]), {}, True), {})
    for mode in ("auto", "pull", "push"):
        result = engine_run(program, case, threads=1, mode=mode)
        assert_as_interpreted(program, case, result, interpreted(program, case))


def test_comparisons_of_literals_and_counters_have_64_bits() -> None:
    pairs = [("4294967395", "4294967295"), ("2147483648", "2147483647"), ("-2147483649", "-2147483648"),
             ("9223372036854775807", "inf"), ("N * 3000000000", "N * 3000000001"), ("inf", "2147483647")]
    lines = [f"vertex {name}{k}: bool = {a} {op} {b}"
             for k, (a, b) in enumerate(pairs) for name, op in (("less", "<"), ("most", "<="), ("same", "=="))]
    case = Case(family("messy"), {})
    result = assert_both("\n".join(["program p", *lines]) + "\n", case, inexact=frozenset(), ways=1)
    assert [bool(result[f"less{k}"][0]) for k in range(6)] == [False, False, True, False, True, False]
