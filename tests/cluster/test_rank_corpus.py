"""Random programs of the fuzzer on several ranks that are threads."""

from __future__ import annotations

import pytest

from tests.cluster.test_ranks import assert_same
from tests.cpu.compare import engine_run
from tests.fuzz.cases import Fuzzed, drawn, variants
from tests.fuzz.test_fuzz import SEED
from tests.reference.cases import Case
from tests.sample import sampled
from vlang import BindError, Program, compile
from vlang.errors import VlangError
from vlang.runtime.cluster.transports.thread_ranks import run_ranks

COUNT = 24
USUAL = (0, 3)
"""Programs that may run on ranks."""
SIZES = (2, 3, 5)


def same_on_ranks(program: Program, fuzzed: Fuzzed, size: int) -> bool:
    """Assert that a case gives the same bits on `size` ranks as in one process; return False if the case cannot run on
    ranks, or fails.
    """
    case = Case(fuzzed.graph, fuzzed.params, fuzzed.fields)
    try:
        want = engine_run(program, case, threads=1)
    except VlangError as error:
        with pytest.raises(type(error)):
            run_ranks(size, lambda _: engine_run(program, case, threads=1))
        return False
    try:
        ran = run_ranks(size, lambda _: engine_run(program, case, threads=1))
    except BindError as error:
        if "cluster" not in str(error):
            raise
        return False
    for found in ran:
        assert_same(want, found)
    return True


@pytest.mark.parametrize("number", sampled(range(COUNT), USUAL))
def test_programs(number: int) -> None:
    """Run a program of the corpus on three graphs, each with another number of ranks."""
    made = drawn(SEED, COUNT)[number]
    program = compile(made.text)
    ran = [same_on_ranks(program, fuzzed, SIZES[(number + place) % len(SIZES)])
           for place, fuzzed in enumerate(variants(made, 3))]
    assert all(ran) or number not in USUAL
