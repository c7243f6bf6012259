"""Rule I on an emulated GPU: what goes on there ends where a run on the new graph ends."""

from __future__ import annotations

import pytest

from tests.cpu.test_resume import MODES, try_one
from tests.cuda.emulated import needs_compiler
from tests.cuda.runs import emulated

pytestmark = needs_compiler


@pytest.mark.parametrize("name", ["sssp", "kcore", "pagerank_delta", "hitting", "bfs"])
def test_as_anew(name: str) -> None:
    for seed in range(4):
        with emulated(seed=seed):
            try_one(name, seed, mode=MODES[seed], device="emulated")
