"""Nested blocks on an emulated GPU: the programs of tests/cpu/language/test_nesting.py, and random programs."""

from __future__ import annotations

from itertools import islice
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import given as drawn_by
from hypothesis import seed as seeded

from tests.cpu.compare import assert_as_interpreted, case_of, engine_run, interpreted
from tests.cpu.language.names import programs
from tests.cpu.language.test_nesting import DESIGN, PROGRAMS, ROUNDS, counts
from tests.cuda.emulation.emulated import needs_compiler
from tests.cuda.runs import emulated
from tests.reference.cases import Case
from tests.reference.generators.nested import nested_programs
from tests.reference.generators.programs import Generated
from tests.reference.graph import RefGraph
from tests.reference.graphs import all_families
from tests.sample import EXHAUSTIVE, sampled
from vlang import Program, compile, load

pytestmark = needs_compiler

MODES = ("auto", "push", "notify-pull", "pull")


def _check(program: Program, graphs: list[tuple[str, RefGraph]], **params: Any) -> None:
    for number, (family, graph) in enumerate(graphs):
        given = {name: [v for v in value if v < graph.n][: graph.n] for name, value in params.items()}
        made = case_of(graph, **given)
        options: dict[str, Any] = {"mode": MODES[number % 4], "page_size": (None, 64)[number // 4 % 2]}
        print(f"{family}, seed {number}: {options}")
        with emulated(seed=number):
            result = engine_run(program, made, device="emulated", **options)
        outcome = interpreted(program, made)
        assert_as_interpreted(program, made, result, outcome, same_rounds=False)
        assert result.converged == outcome.converged


@pytest.mark.parametrize("name", sampled(PROGRAMS, ["local", "range", "sweep", "sent"]))
def test_as_interpreted(name: str) -> None:
    _check(compile(PROGRAMS[name]), all_families()[1::7], **({"group": [0, 3, 0]} if name == "local" else {}))


@pytest.mark.parametrize("name", sampled(
    ["betweenness", "closeness", "scc", "kcore_peel", "bipartite"], ["betweenness", "scc"]))
def test_program_of_the_design(name: str) -> None:
    sources = {"sources": [4, 0, 8]} if name in ("betweenness", "closeness") else {}
    _check(load(DESIGN / f"{name}.vp"), all_families()[::7], **sources)


@pytest.mark.parametrize("text", list(ROUNDS)[::3])
def test_rounds_of_blocks(text: str) -> None:
    with emulated():
        counts(text, "emulated")


def test_programs_of_names_that_c_or_cuda_uses() -> None:
    for text, case in islice(programs(), 2, 4):
        program = compile(text)
        with emulated():
            result = engine_run(program, case, device="emulated")
        assert_as_interpreted(program, case, result, interpreted(program, case), same_rounds=False)


# No shrinking: every program tried must be compiled, and random programs are small anyway.
@seeded(20261121)
@settings(max_examples=5 if EXHAUSTIVE else 2, deadline=None, database=None, phases=(Phase.generate,),
          suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@drawn_by(drawn=nested_programs())
def test_random_programs(drawn: Generated) -> None:
    program, case = compile(drawn.text), Case(drawn.graph, drawn.params, drawn.fields)
    number = sum(map(ord, drawn.text))
    with emulated(seed=number):
        result = engine_run(program, case, device="emulated", mode=MODES[number % 4])
    assert_as_interpreted(program, case, result, interpreted(program, case), drawn.inexact, same_rounds=False)
