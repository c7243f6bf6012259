"""Random programs terminate in the interpreter and give the same results when they run again."""

from __future__ import annotations

import numpy as np
from hypothesis import HealthCheck, given, settings

from tests.reference.generators.nested import nested_programs
from tests.reference.generators.programs import Generated, programs
from tests.reference.interpreter import run
from tests.sample import EXHAUSTIVE
from vlang.check import check, parse

RANDOM = settings(max_examples=150 if EXHAUSTIVE else 60, deadline=None, print_blob=True,
                  suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])


@RANDOM
@given(programs() | nested_programs())
def test_random_programs_are_correct(made: Generated) -> None:
    check(parse(made.text, "random.vp"))


@RANDOM
@given(programs() | nested_programs())
def test_random_programs_run_and_end(made: Generated) -> None:
    file = parse(made.text, "random.vp")
    outcome = run(file, made.graph, made.params, made.fields, max_rounds=1000)
    assert "max_rounds" not in [loop.reason for loop in outcome.loops]
    for name, array in outcome.fields.items():
        assert array.shape == (made.graph.n,), name
        if array.dtype.kind == "f":
            assert not np.isnan(array).any(), f"{name} is not a number"
