"""For every superstep, the history has the bytes and pages that were moved to the device, and the bytes and pages that
were read in place.
"""

from __future__ import annotations

import json
from functools import reduce
from typing import Any

import pytest

from tests.cuda.emulation.emulated import needs_compiler
from tests.cuda.pages.test_next_pages import Watched, tight, watched
from tests.cuda.runs import GRAPHS, assert_right, run
from vlang import Result
from vlang.runtime.gpu.topology.transfers import Link, Traffic
from vlang.runtime.threads.moved import NOTHING, Moved

__all__ = ["watched"]

pytestmark = needs_compiler

Seen = list[tuple[str, int, Traffic]]


def total(result: Result) -> Moved:
    """Return the sum of the counts of all rounds."""
    return Moved(*(sum(getattr(row, name) for row in result.history) for name in Moved._fields))


def checked(name: str, graph: str, watched: Seen, **options: Any) -> Result:
    """Run a program, and compare the counts of the run with the counts of its topologies."""
    watched.clear()
    result = run(name, graph, **options)
    assert_right(name, graph, result)
    assert result.moved == reduce(Moved.plus, (traffic.moved() for _, _, traffic in watched), NOTHING)
    assert total(result) == result.moved, "these programs read no edges outside of their loop"
    return result


def test_full_passes_use_every_page_each_time(watched: Seen) -> None:
    result = checked("pagerank", "skewed", watched, **tight("pagerank", "skewed", "pull", transfer="pages"))
    (_, pages, _), = [one for one in watched if one[0] == "in"]
    assert {row.pages_cached + row.pages_copied for row in result.history} == {pages}
    first, *later = result.history
    assert (first.pages_copied, first.bytes_copied) == (pages, 4 * GRAPHS["skewed"]().m)
    assert all(0 < row.pages_cached < pages and 0 < row.bytes_copied < first.bytes_copied for row in later)
    assert f"; pages: {result.moved.pages_cached:,} cached, {result.moved.pages_copied:,} copied" in result.summary()
    assert json.loads(json.dumps(result.summary_dict()))["moved"]["pages_copied"] == result.moved.pages_copied


def test_each_engine_has_its_column(watched: Seen) -> None:
    options = tight("bfs_tree", "skewed", "push", transfer="auto")
    Watched.costs = Link(start=0, copied=1e9, direct=1e9, touched=1e7)
    result = checked("bfs_tree", "skewed", watched, **options)
    assert result.moved.pages_copied > 0
    assert result.moved.pages_in_place > 0
    assert result.moved.bytes_in_place > 0
    paged: dict[str, Any] = {**options, "page_size": 8192, "transfer": "compact"}
    paged["gpu_memory"] = tight("bfs_tree", "long", "push", page_size=8192, transfer="compact")["gpu_memory"]
    packed = checked("bfs_tree", "long", watched, **paged)
    assert packed.moved.pages_packed > 0
    assert packed.moved.bytes_copied > 0
    assert packed.moved.pages_copied == packed.moved.pages_in_place == 0


@pytest.mark.parametrize(("name", "graph", "mode"), [
    ("sssp", "skewed", "push"), ("kcore_members", "sparse", "notify-pull")])
def test_launches_of_many_supersteps_read_in_place(name: str, graph: str, mode: str, watched: Seen) -> None:
    """If no page is on the device, every edge is read in place: 4 bytes for the neighbour, and 4 bytes for a weight."""
    options = tight(name, graph, mode, transfer="direct")
    result = checked(name, graph, watched, **options)
    pushed = [row for row in result.history if row.mode == mode and not row.pages_copied + row.pages_cached]
    assert pushed
    assert any(row.edges for row in pushed)
    for row in pushed:
        most = 8 if name == "sssp" else 4
        assert (row.bytes_in_place > 0) == (row.edges > 0)
        assert row.bytes_in_place <= most * row.edges + len(result.history)
    assert result.moved.pages_in_place == 0


def test_edges_that_stay_are_copied_before_the_rounds() -> None:
    result = run("pagerank", "skewed", mode="pull")
    assert total(result) == NOTHING
    assert result.moved == Moved(bytes_copied=4 * GRAPHS["skewed"]().m)
