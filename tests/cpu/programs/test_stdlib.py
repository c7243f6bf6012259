"""Every program of the standard library on every family of graphs, compared with the interpreter and checked by a
verifier.
"""

from __future__ import annotations

import functools

import pytest

from tests.cpu.compare import assert_as_interpreted, assert_cut_free, interpreted
from tests.reference.cases import STDLIB, case
from tests.reference.graph import RefGraph
from tests.reference.graphs import all_families
from vlang import Program, load


@functools.cache
def program(name: str) -> Program:
    """Return a program of the library, compiled once."""
    return load(name)


@pytest.mark.parametrize("name", STDLIB)
@pytest.mark.parametrize(("family", "graph"), all_families(), ids=[name for name, _ in all_families()])
def test_program_on_family(name: str, family: str, graph: RefGraph) -> None:
    given = case(name, graph)
    if given is None:
        pytest.skip("a program with a source needs a vertex")
    result = assert_cut_free(program(name), given)
    float_loop = name in ("katz", "pagerank", "rwr", "heat", "circuit", "neural")
    # If rounding keeps a loop from reaching its tolerance, the engine detects that supersteps repeat. The interpreter
    # # does not.
    limit = {"max_rounds": 100 + 2 * result.rounds} if float_loop else {}
    outcome = interpreted(program(name), given, **limit)
    assert_as_interpreted(program(name), given, result, outcome, same_rounds=not float_loop)
