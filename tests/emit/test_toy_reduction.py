"""A new reduction that combines contributions by an operator of MONOIDS needs only one row of REDUCTIONS."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.cuda.emulation.emulated import needs_compiler
from tests.cuda.runs import emulated
from vlang import Graph, compile
from vlang.editor.helps import REDUCTION_HELP
from vlang.reductions import MONOIDS, REDUCTIONS, ReductionRule

TYPES = {"or": "bool", "and": "bool", "|": "u32", "&": "u32", "^": "u32", "+": "int", "*": "int"}
"""The type of a field that each operator joins; float for other operators."""
JOINED = {operator: f"{operator}(x, g)" if operator in ("min", "max") else f"x {operator} g" for operator in MONOIDS}
ROWS = [rule for rule in REDUCTIONS.values() if not rule.holistic]


def text_of(rule: ReductionRule) -> str:
    """Return a program with one gather into a field, over edges, and one reduction over vertices."""
    assert rule.operator is not None
    rest = "" if rule.has_identity else ", default = 0"
    if rule.result != "value":
        body, of_all, type_ = ("u.x > 2", "v.x > 2", "int") if rule.result == "int" else ("u.x", "v.x", "float")
        write = f"apply x = {type_}(g)"
    else:
        body, of_all, type_ = "u.x", "v.x", TYPES.get(rule.operator, "float")
        write = f"apply x = {JOINED[rule.operator]}"
    start = "indegree > 4" if type_ == "bool" else f"{type_}(outdegree % 7)"
    whole = f"{rule.name}({of_all} for v in vertices{rest})"
    return (f"program p\nvertex x: {type_} = {start}\nrepeat at most 5 times:\n"
            f"    gather g = {rule.name}({body} for u -> self{rest})\n    {write}\n"
            f"global whole: {type_} = {whole if type_ == 'bool' else f'{type_}({whole})'}\n")


@pytest.mark.parametrize("rule", ROWS, ids=lambda rule: rule.name)
def test_a_row_with_another_name_gives_the_same_texts(rule: ReductionRule, monkeypatch: pytest.MonkeyPatch) -> None:
    """The facts, the plan and the kernels of both targets depend on the properties of a row, not on its name."""
    monkeypatch.setitem(REDUCTIONS, "toyed", replace(rule, name="toyed"))
    own, toy = compile(text_of(rule)), compile(text_of(replace(rule, name="toyed")))
    for stage in ("facts", "plan", "numba", "cuda"):
        assert toy.explain(stage).replace("toyed", rule.name) == own.explain(stage)


@needs_compiler
def test_a_row_runs_on_both_targets(monkeypatch: pytest.MonkeyPatch) -> None:
    """The reduction `union` collects the bits that reach a vertex: with push, on a CPU and on an emulated GPU."""
    monkeypatch.setitem(REDUCTIONS, "union", ReductionRule("union", frozenset({"uint"}), "|", "the bits set in any"))
    text = ("program p\nvertex x: u64 = bit(outdegree % 64)\nrepeat:\n    gather g = union(u.x for u -> self)\n"
            "    apply x = x | g\n")
    graph = Graph.read("rmat:7")
    wanted = compile(text.replace("union", "bitor"))(graph)
    program = compile(text)
    found = program(graph)
    assert [row.mode for row in found.history] == [row.mode for row in wanted.history]
    with emulated():
        on_gpu = program(graph, device="emulated")
    for result in (found, on_gpu):
        assert np.array_equal(result["x"], wanted["x"])


def test_its_help_is_in_the_row() -> None:
    assert {name: REDUCTION_HELP[name] for name in REDUCTIONS} == {name: rule.help for name, rule in REDUCTIONS.items()}
    assert all(rule.help for rule in REDUCTIONS.values())
