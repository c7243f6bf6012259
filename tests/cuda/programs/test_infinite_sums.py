"""Sums with infinite integer terms on an emulated GPU."""

from __future__ import annotations

import pytest

from tests.cpu.compare import assert_as_interpreted, case_of, engine_run, interpreted
from tests.cpu.reductions.test_infinite_sums import sums
from tests.cuda.emulation.emulated import needs_compiler
from tests.cuda.runs import emulated
from tests.reference.graphs import family

pytestmark = needs_compiler


@pytest.mark.parametrize("name", ["messy", "grid"])
def test_as_interpreted(name: str) -> None:
    given = case_of(family(name), source=0)
    with emulated(seed=1):
        result = engine_run(sums(), given, device="emulated")
    assert_as_interpreted(sums(), given, result, interpreted(sums(), given), same_rounds=False)
