"""Random programs are run on both targets. The programs have vectors, declared reductions, sets, changes, and reads of
fields of non-neighbours.
"""

from __future__ import annotations

from hypothesis import HealthCheck, Phase, given, settings

from tests.cpu.both import assert_both
from tests.fuzz.cases import examples
from tests.reference.cases import Case
from tests.reference.generators.programs import Generated
from tests.reference.generators.programs_values import value_programs
from vlang import compile


@settings(max_examples=examples(2), deadline=None, phases=(Phase.explicit, Phase.reuse, Phase.generate),
          suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(value_programs())
def test_engine_is_interpreter(drawn: Generated) -> None:
    assert_both(compile(drawn.text), Case(drawn.graph, drawn.params, drawn.fields), ways=1)
