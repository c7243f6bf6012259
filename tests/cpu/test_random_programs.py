"""Random typed programs on random graphs: the engine against the interpreter, for every cut."""

from __future__ import annotations

from hypothesis import given, settings

from tests.cpu.compare import assert_as_interpreted, assert_cut_free, interpreted
from tests.reference.cases import Case
from tests.reference.programs import Generated, programs
from vlang import compile


@settings(max_examples=25, deadline=None)
@given(programs())
def test_engine_is_interpreter(drawn: Generated) -> None:
    program = compile(drawn.text)
    given_case = Case(drawn.graph, drawn.params, drawn.fields)
    result = assert_cut_free(program, given_case)
    outcome = interpreted(program, given_case)
    assert_as_interpreted(program, given_case, result, outcome, drawn.inexact, same_rounds=not drawn.inexact)
