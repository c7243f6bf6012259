"""Tiny programs and graphs for cases that are computed by hand."""

from __future__ import annotations

import textwrap
from typing import Any

from tests.reference.graph import RefGraph, ref_graph
from tests.reference.interpreter import Outcome, run
from vlang.check import parse

INF = 2**31 - 1
PATH = ref_graph(3, [(0, 1), (1, 2)], w=[2, 5])
FORK = ref_graph(4, [(0, 3), (1, 3), (2, 3)], w=[4, 1, 4])
LOOPY = ref_graph(2, [(0, 0), (0, 1), (0, 1), (1, 0)])


def go(text: str, graph: RefGraph = PATH, fields: Any = None, max_rounds: int | None = 50, precision: int = 32,
       **params: Any) -> Outcome:
    head = "" if text.lstrip().startswith("program") else "program test\n"
    file = parse(head + textwrap.dedent(text), "test.vp")
    return run(file, graph, params, fields, max_rounds=max_rounds, precision=precision)


def value(expression: str, type_: str = "int", graph: RefGraph = PATH, precision: int = 32) -> Any:
    """Return the value of an expression at vertex 0."""
    return go(f"vertex x: {type_} = {expression}", graph, precision=precision).fields["x"][0]


def column(outcome: Outcome, name: str = "x") -> list[Any]:
    got: list[Any] = outcome.fields[name].tolist()
    return got
