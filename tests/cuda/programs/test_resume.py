"""Rule I on an emulated GPU: a resumed run ends in the same state as a run on the new graph."""

from __future__ import annotations

import numpy as np
import pytest

from tests.cpu.rules.test_derive import drawn
from tests.cpu.rules.test_resume import MODES, try_one
from tests.cuda.emulation.emulated import needs_compiler
from tests.cuda.runs import emulated
from tests.sample import EXHAUSTIVE, sampled
from vlang import load

pytestmark = needs_compiler


@pytest.mark.parametrize("name", sampled(
    ["sssp", "kcore", "pagerank_delta", "hitting", "bfs"], ["sssp", "pagerank_delta"]))
def test_as_anew(name: str) -> None:
    for seed in range(4) if EXHAUSTIVE else (0, 2):  # the others take kernels of other modes
        with emulated(seed=seed):
            try_one(name, seed, mode=MODES[seed], device="emulated")


def test_derived() -> None:
    """A run of katz, for which rule D derives a delta form, can be resumed."""
    for seed in range(3):
        graph, matrix, _ = drawn(seed)
        alpha = 0.5 / max(1.0, float(graph.in_degree.max()))
        limit = np.linalg.solve(np.eye(graph.n) - alpha * matrix, np.ones(graph.n))
        with emulated(seed=seed):
            found = load("katz")(graph, derive="delta", alpha=alpha, tol=1e-12, precision=64, device="emulated",
                                 research={"mode": MODES[seed]})
        assert np.abs(found["x"] - limit).max() < 5e-12
