"""Every program of the standard library is compared with the interpreter and checked by a verifier, on every family of
graphs.
"""

from __future__ import annotations

import pytest

from tests.cpu.compare import OF_LIBRARY, assert_as_interpreted, assert_cut_free, interpreted
from tests.reference.cases import STDLIB, case
from tests.reference.graphs import all_families
from vlang import load


@pytest.mark.parametrize("name", STDLIB)
def test_program_on_families(name: str) -> None:
    program = load(name)
    for family, graph in all_families():
        print(family)
        given = case(name, graph)
        if given is None:  # a program with a source needs a vertex
            continue
        result = assert_cut_free(program, given, OF_LIBRARY)
        float_loop = name in ("katz", "pagerank", "rwr", "heat", "circuit", "neural")
        # If rounding keeps a loop from reaching its tolerance, the engine detects that supersteps repeat. The
        # interpreter does not.
        limit = {"max_rounds": 100 + 2 * result.rounds} if float_loop else {}
        outcome = interpreted(program, given, **limit)
        assert_as_interpreted(program, given, result, outcome, same_rounds=not float_loop)
