"""With `policy=gts`, the history of a run has for every round the time that the published cost models of GTS predict.
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.cuda.emulation.emulated import needs_compiler
from tests.cuda.pages.test_next_pages import tight
from tests.cuda.runs import run
from vlang import load
from vlang.runtime.engine.trace import Round
from vlang.runtime.gpu.passes.rates import REFERENCE
from vlang.runtime.policies.cost_models import StreamedPages, expected_rounds, model_text

pytestmark = needs_compiler


def test_the_equations() -> None:
    plan = load("sssp").plan(frozenset(["weight"]), frozenset(), target="cuda")
    streamed = {"in": StreamedPages(10, 4, 1000, 250, 1e-3, 2.0, 0.1),
                "out": StreamedPages(8, 2, 500, 125, 1e-3, 3.0, 0)}
    rounds = [Round(0, 1, 5, "pull", 40.0, 9, pages_cached=4, pages_copied=6),
              Round(0, 2, 5, "push", 7.5, 9, pages_copied=2),
              Round(0, 3, 0, "push", 1.0, 0)]
    found = expected_rounds(plan, rounds, streamed)
    pull, push = 10 * (1.0 + 2.0) + 25.0, 2 * (0.5 * 0.75 + 3.0)
    assert [row.expected for row in found] == [pytest.approx(pull), pytest.approx(push), None]
    assert model_text(found) == (
        "cost models: sweep-like, equation 1: 5.5e+04 ms expected, 4e+04 ms measured in 1 of 3 rounds; traversal-like, "
        "equation 2: 6.75e+03 ms expected, 7.5e+03 ms measured in 1 of 3 rounds")
    assert "nothing to compare" in model_text(found[2:])


@pytest.mark.parametrize(("name", "graph", "mode"), [("pagerank", "skewed", "auto"), ("bfs_tree", "sparse", "push")])
def test_every_run_compares_them(name: str, graph: str, mode: str) -> None:
    layout = "slotted" if graph == "skewed" else "csr"  # slotted pages of the other graph are larger than all edges
    options: dict[str, Any] = tight(name, graph, mode, transfer="pages", policy="gts", kernel="auto", layout=layout)
    result = run(name, graph, **options)
    used = [row for row in result.history if row.pages_copied + row.pages_cached]
    assert used
    for row in result.history:
        assert (row.expected is None) == (row not in used)
        if row.expected is not None:
            pages = row.pages_copied + row.pages_cached
            assert pages * REFERENCE.launch < row.expected < pages * (REFERENCE.launch + 1e-6) + 1e-6
    assert [note for note in result.notes if note.startswith("cost models: ") and " measured in " in note]
    assert result.summary_dict()["history"][0]["expected"] == result.history[0].expected
    other = run(name, graph, **{**options, "policy": "auto"})
    assert {row.expected for row in other.history} == {None}
    assert "equation 1" in load(name).explain("plan", policy="gts", device="gpu")
