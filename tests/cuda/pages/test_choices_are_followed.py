"""The engine follows choices that change no result: several streams, and updates in place.

The choice of the number of copies of an accumulator is tested in tests/cuda/kernels/test_pull_kernels.py.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from tests.cuda.emulation.emulated import needs_compiler
from tests.cuda.pages.test_next_pages import tight
from tests.cuda.runs import assert_right, emulated, program, run
from tests.sample import sampled
from vlang import Graph
from vlang.runtime.gpu.device.device import Event, Stream
from vlang.runtime.gpu.topology.page_sweep import PageSweep
from vlang.runtime.gpu.topology.topology import Topology
from vlang.runtime.gpu.topology.transfers import Traffic
from vlang.runtime.gpu.ways import full_passes

pytestmark = needs_compiler


@pytest.fixture
def pages(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, bool]]:
    """For each page of a sweep, the stream that processed it, and whether the page was copied."""
    seen: list[tuple[int, bool]] = []
    traffic: list[Traffic] = []

    class Noted(Topology):
        def __init__(self, *args: Any, **named: Any) -> None:
            super().__init__(*args, **named)
            traffic.append(self.traffic)

    def launched(sweep: PageSweep, page: int, work: Stream) -> Event:
        copied = traffic[-1].copies > sum(copied for _, copied in seen)
        seen.append((id(work), copied))
        return found(sweep, page, work)

    found = PageSweep._launched
    monkeypatch.setattr(full_passes, "Topology", Noted)
    monkeypatch.setattr(PageSweep, "_launched", launched)
    return seen


@pytest.mark.parametrize(("streams", "used"), sampled([(1, 1), (2, 2), (32, 2), (None, 2)], [(1, 1), (None, 2)]))
def test_pages_are_copied_in_turn_by_all_streams(
    streams: int | None, used: int, pages: list[tuple[int, bool]]
) -> None:
    """All streams copy pages, one stream after the other. Memory has two slots, so at most two streams are used for
    copies; cached pages have three other streams.
    """
    options: dict[str, Any] = tight("pagerank", "skewed", "pull", transfer="pages")
    pages.clear()
    if streams is not None:
        options["streams"] = streams
    result = run("pagerank", "skewed", **options)
    assert_right("pagerank", "skewed", result)
    copies = [stream for stream, copied in pages if copied]
    assert len(copies) > 4
    assert len(set(copies)) == used
    assert used == 1 or all(one != other for one, other in pairwise(copies))
    assert len({stream for stream, _ in pages}) == used + 3 * (used > 1)


def test_loops_run_in_place_where_their_result_does_not_depend_on_order() -> None:
    """With updates in place, a distance travels along several edges in one superstep. A limit of supersteps prevents
    updates in place unless they are requested.
    """
    graph, rounds = Graph.read("path:300,weights=1..9"), list[int]()
    cases: list[dict[str, Any]] = [{}, {"max_rounds": 1000}, {"max_rounds": 1000, "research": {"asynchronous": True}}]
    for more in cases:
        research = {"mode": "pull", **more.pop("research", {})}
        with emulated("sssp"):
            result = program("sssp")(graph, source=0, device="emulated", research=research, **more)
        assert result["dist"].tolist() == program("sssp")(graph, source=0)["dist"].tolist()
        rounds.append(result.rounds)
    assert rounds[1] == 300
    assert max(rounds[0], rounds[2]) < 300
