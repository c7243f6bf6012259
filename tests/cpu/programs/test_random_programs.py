"""The engine is compared with the interpreter on random typed programs and random graphs, for all options that divide
the work.
"""

from __future__ import annotations

from hypothesis import HealthCheck, Phase, given, settings

from tests.cpu.compare import assert_as_interpreted, assert_cut_free, engine_run, interpreted
from tests.fuzz.cases import examples
from tests.reference.cases import Case
from tests.reference.generators.nested import nested_programs
from tests.reference.generators.programs import Generated, programs
from vlang import compile


def _check(drawn: Generated) -> None:
    program = compile(drawn.text)
    given_case = Case(drawn.graph, drawn.params, drawn.fields)
    result = assert_cut_free(program, given_case)
    for seed in range(3):
        engine_run(program, given_case, chaos=seed)
    outcome = interpreted(program, given_case)
    assert_as_interpreted(program, given_case, result, outcome, drawn.inexact, same_rounds=not drawn.inexact)


# No shrinking: it would compile every program that it tries, and the failing program is already small.
@settings(max_examples=examples(2), deadline=None, phases=(Phase.explicit, Phase.reuse, Phase.generate))
@given(programs())
def test_engine_is_interpreter(drawn: Generated) -> None:
    _check(drawn)


@settings(max_examples=examples(1), deadline=None, phases=(Phase.explicit, Phase.reuse, Phase.generate),
          suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(nested_programs())
def test_blocks_in_blocks(drawn: Generated) -> None:
    _check(drawn)
