"""Programs of the standard library with kinds of kernels that no other test runs on an emulated GPU."""

from __future__ import annotations

import pytest

from tests.cpu.compare import assert_as_interpreted
from tests.cuda.emulation.emulated import needs_compiler
from tests.cuda.runs import expected, given, program, run
from tests.sample import sampled
from vlang import BindError

pytestmark = needs_compiler


NAMES = ("cross_edges", "degree", "egonet", "eigenvector", "khop", "lcc_directed", "pagerank_rounds", "php", "ppr",
         "smooth")  # fmt: skip
POLICIES = ("garaph", "gts", "wolfgraph", "ws-vr", "hytgraph")
REFUSED = {"smooth"}
"""Programs that their policy does not run."""


@pytest.mark.parametrize("name", sampled(NAMES, NAMES[::2]))
def test_as_interpreted(name: str) -> None:
    case = given(name, "messy")
    assert case is not None
    policy = POLICIES[NAMES.index(name) % len(POLICIES)]
    for chosen in ("auto", policy):
        if chosen != "auto" and name in REFUSED:
            with pytest.raises(BindError, match=f"policy='{policy}' cannot run {name}: pass"):
                run(name, "messy", seed=1, ahead=False, policy=chosen)
            continue
        result = run(name, "messy", seed=1, ahead=False, policy=chosen)
        assert_as_interpreted(program(name), case, result, expected(name, "messy"), same_rounds=False)
