"""Supersteps over few vertices copy only the pages that they need. Every way in which a kernel reads a page gives the
same result.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import pytest

from tests.cuda.emulation.emulated import needs_compiler
from tests.cuda.runs import assert_right, emulated, least_memory, program, run
from tests.sample import sampled
from tests.spelled import spelled
from vlang import BindError, Graph, Options, OutOfMemory
from vlang.runtime.gpu.topology.footprint import share_memory
from vlang.runtime.gpu.topology.topology import Topology
from vlang.runtime.gpu.topology.transfers import Link, Traffic, worth_copying
from vlang.runtime.gpu.ways import full_passes, page_choice
from vlang.runtime.gpu.ways.ways import WAYS, read_by

pytestmark = needs_compiler

PAGE = 256


class Watched(Topology):
    """A topology that counts the bytes and pages that it moves."""

    seen: ClassVar[list[tuple[str, int, Traffic]]] = []
    costs: ClassVar[Link] = Link()

    def __init__(self, *args: Any, **named: Any) -> None:
        rest: Any = (*args[:-1], self.costs)
        super().__init__(*rest, **named)

    def close(self) -> None:
        """Free everything."""
        if self._buffers and not self.resident:
            self.seen.append((self.kind, self.pages, self.traffic))
        super().close()


@pytest.fixture
def watched(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int, Traffic]]:
    """Return a list to which each topology of a run appends its direction, its number of pages and its traffic."""
    monkeypatch.setattr(Watched, "seen", [])
    monkeypatch.setattr(Watched, "costs", Link())
    monkeypatch.setattr(full_passes, "Topology", Watched)
    return Watched.seen


def tight(name: str, graph: str, mode: str, **ways: Any) -> dict[str, Any]:
    """Return options with memory for exactly two pages of each adjacency direction."""
    options = {"page_size": PAGE, "mode": mode, **ways}
    return {**options, "gpu_memory": least_memory(name, graph, **options)}


@pytest.mark.parametrize(("name", "graph", "mode"), sampled([
    ("bfs", "sparse", "push"), ("sssp", "sparse", "push"), ("bfs_tree", "sparse", "push"),
    ("kcore_members", "sparse", "notify-pull"),
], [("sssp", "sparse", "push"), ("kcore_members", "sparse", "notify-pull")]))
def test_every_way_to_reach_a_page(name: str, graph: str, mode: str, watched: list[tuple[str, int, Traffic]]) -> None:
    options = tight(name, graph, mode, transfer="pages")
    rounds = set()
    for seed, (unified, transfer) in enumerate([(True, "pages"), (False, "auto"), (True, "direct"), (True, "auto")]):
        watched.clear()
        result = run(name, graph, seed, unified=unified, **{**options, "transfer": transfer})
        assert_right(name, graph, result)
        copies = sum(traffic.copies + traffic.hits for _, _, traffic in watched)
        full = sum(pages for _, pages, _ in watched) * result.rounds
        assert any(round_.mode in ("push", "notify-pull") for round_ in result.history)
        if transfer == "pages" or not unified:
            assert 0 < copies < full  # fewer than all pages in each round
            rounds.add(result.rounds)
    assert len(rounds) == 1 or name == "sssp"  # sssp works in place, so its supersteps depend on the order of pages


@pytest.mark.parametrize("name", ["bfs_tree", "sssp"])
def test_rows_gathered_by_the_cpu(name: str, watched: list[tuple[str, int, Traffic]]) -> None:
    """The CPU gathers rows correctly if long rows are in several pages and a batch holds fewer rows than the frontier.
    """
    graph = "long"
    options: dict[str, Any] = {"page_size": 8192, "mode": "push"}
    options["gpu_memory"] = least_memory(name, graph, **options, transfer="compact")
    cases: list[dict[str, Any]] = [
        {"transfer": "compact"}, {"transfer": "compact", "streams": 1, "unified": False}, {"policy": "hytgraph"},
        {"policy": "hytgraph", "unified": False}]
    for seed, more in enumerate(cases):
        watched.clear()
        assert_right(name, graph, run(name, graph, seed, **{**options, **more}))
        moved = {kind: traffic for kind, _, traffic in watched}
        out = moved["out"]
        if "transfer" in more:
            assert out.packed > 0
            assert out.read == 0
            assert out.copies == 0


def test_rows_that_cannot_be_gathered() -> None:
    with pytest.raises(BindError, match="transfer='compact' cannot gather rows: a page is too small"):
        tight("sssp", "sparse", "push", transfer="compact")


def test_a_superstep_of_one_vertex_brings_one_page(
    watched: list[tuple[str, int, Traffic]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The kernels that find vertices also find their pages: no kernel passes over the queue to count."""
    monkeypatch.delattr(page_choice, "mark_items")
    graph, options = Graph.read("path:400"), {"page_size": PAGE, "mode": "push", "transfer": "pages"}
    with emulated("bfs"), pytest.raises(OutOfMemory) as refused:
        program("bfs")(graph, source=0, device="emulated", gpu_memory=150_000, **spelled(**options))
    enough = int(str(refused.value).split("allow at least ")[1].split()[0])
    with emulated("bfs"):
        result = program("bfs")(graph, source=0, device="emulated", gpu_memory=enough, **spelled(**options))
    assert np.array_equal(result["depth"], np.arange(400))
    traffic = {kind: (pages, moved) for kind, pages, moved in watched}
    assert traffic["in"][1] == Traffic()
    pages, out = traffic["out"]
    assert pages > 5
    assert out.copies + out.hits == 399  # the neighbours of a vertex are in one page; the last vertex has none
    assert out.copies == pages  # each page stays until the next one is needed
    assert out.skipped == result.rounds * pages - 399


def test_pages_with_much_to_do_are_copied_and_others_read_in_place(watched: list[tuple[str, int, Traffic]]) -> None:
    """The costs of the link decide which pages are copied. In this test, two rows cost as much as a page."""
    options = tight("bfs_tree", "skewed", "push", transfer="auto")
    watched.clear()
    Watched.costs = Link(start=0, copied=1e9, direct=1e9, touched=1e7)
    result = run("bfs_tree", "skewed", **options)
    assert_right("bfs_tree", "skewed", result)
    moved = {kind: traffic for kind, _, traffic in watched}
    assert moved["out"].copies > 0
    assert moved["out"].direct > 0


def test_when_copying_pays() -> None:
    link = Link(start=2e-6, copied=50e9, direct=25e9, touched=50e6)
    # A row of 16 edges takes 20 + 6.4 ns directly; its share of a copy takes 1.28 ns.
    assert worth_copying(160_000, 10_000, 4, link) == pytest.approx(160_000 * 1.28 / 26.4, rel=1e-3)
    # Supersteps over pages take as long as the 20 ns by which each of 320,000 rows is read faster in page order.
    assert worth_copying(1_600_000_000, 100_000_000, 4, link) == pytest.approx(16 * 320_000, rel=1e-3)
    # 10 us of the host for each of 64 pages are 50 times the time of their copies.
    slow = Link(start=2e-6, copied=50e9, direct=25e9, touched=50e6, page=10e-6)
    assert worth_copying(160_000, 10_000, 4, slow, pages=64) == pytest.approx(50 * 160_000 * 1.28 / 26.4, rel=1e-3)
    assert slow.whole(np.array([100_000, 1_000_000])) == pytest.approx([10e-6, 22e-6])
    assert worth_copying(0, 5, 4, link) == 1


def test_an_unknown_way_is_refused() -> None:
    graph = Graph.from_edges(np.array([0]), np.array([1]))
    with pytest.raises(BindError, match="'direct', 'compact', not 'page'; did you mean 'page"):
        program("bfs")(graph, source=0, device="gpu", research={"transfer": "page"})
    with pytest.raises(BindError, match="transfer is for runs on a GPU"):
        program("bfs")(graph, source=0, research={"transfer": "pages"})


def test_directions_that_are_read_once_or_never() -> None:
    """An adjacency direction that no loop reads gets no memory. Supersteps in priority order never pull, and a
    `require` over the weights runs only once.
    """
    graph, options = Graph.read("rmat:6"), Options(device="gpu")
    for name, present, read in (("sssp", {"weight"}, {"out"}), ("bfs", set[str](), {"in", "out"}),
                                ("pagerank", set[str](), {"in"})):
        assert read_by(WAYS, program(name).plan(frozenset(present), target="cuda"), graph, options) == read, name


def test_one_direction_on_the_device_and_the_other_streamed(
    watched: list[tuple[str, int, Traffic]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A search gives the right result if its pushes find all edges on the device, while the edges for pulls with early
    exit are streamed.
    """
    def uneven(sides: Any, uses: Any, free: int, page_size: int | None, *more: Any) -> dict[str, int]:
        whole = share_memory(sides, uses, 1 << 40, page_size)
        return {**whole, "in": whole["in"] - 1000}

    monkeypatch.setattr(full_passes, "share_memory", uneven)
    assert_right("bfs", "skewed", run("bfs", "skewed", page_size=PAGE, mode="push", transfer="pages"))
    assert [kind for kind, _, _ in watched] == ["in"]
