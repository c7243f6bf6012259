"""Programs of the standard library with kinds of kernels that no other test runs on an emulated GPU."""

from __future__ import annotations

import pytest

from tests.cpu.compare import assert_as_interpreted
from tests.cuda.emulation.emulated import needs_compiler
from tests.cuda.runs import expected, given, program, run

pytestmark = needs_compiler


@pytest.mark.parametrize("name", [
    "cross_edges", "degree", "egonet", "eigenvector", "khop", "lcc_directed", "pagerank_rounds", "php", "ppr",
    "smooth",
])
def test_as_interpreted(name: str) -> None:
    case = given(name, "messy")
    assert case is not None
    result = run(name, "messy", seed=1, ahead=False)
    assert_as_interpreted(program(name), case, result, expected(name, "messy"), same_rounds=False)
