"""The research options for the pages of a frontier: tasks of several pages, the order of tasks, a second round, and a
choice of transfers on the device.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
import pytest

from tests.cuda.emulation.emulated import EmulatedDevice, needs_compiler
from tests.cuda.pages import streamed as samples
from tests.cuda.runs import assert_right, emulated, least_memory, program, run
from tests.spelled import spelled
from vlang import BindError, Graph, Result
from vlang.runtime.gpu.kernels.sparse_layout import MARK_WORDS
from vlang.runtime.gpu.topology import topology
from vlang.runtime.gpu.topology.engines import choose_on_device, choose_transfer
from vlang.runtime.gpu.topology.page_sweep import PageSweep
from vlang.runtime.gpu.topology.tasks import Task, hub_scores, tasks_of
from vlang.runtime.gpu.topology.transfers import Link, Marks, Packing
from vlang.runtime.gpu.ways import page_choice
from vlang.runtime.policies.hytgraph import HYTGRAPH
from vlang.runtime.storage.reading.page_reader import PageViews

PAGE = 256


class Noted(PageSweep):
    """A pass that records the first page of each task, in the order of processing."""

    seen: ClassVar[list[int]] = []

    def run(self, task: Task, awaited: dict[int, int], views: PageViews | None = None) -> None:
        self.seen.append(task[0])
        super().run(task, awaited, views)


@pytest.fixture
def noted(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return the first pages of the tasks that a run processes."""
    monkeypatch.setattr(topology, "PageSweep", Noted)
    monkeypatch.setattr(Noted, "seen", [])
    return Noted.seen


def test_adjacent_pages_form_tasks() -> None:
    cached = np.array([0, 0, 0, 1, 1, 0, 0, 0, 0], bool)
    assert tasks_of((0, 1, 2, 3, 4, 6, 7, 8), cached, 2) == ((0, 1), (2,), (3, 4), (6, 7), (8,))
    assert tasks_of((0, 2, 5, 6), cached) == ((0,), (2,), (5,), (6,))
    ranks = np.array([5, 1, 9, 9, 9, 9, 0, 9, 2.0])
    assert tasks_of((0, 1, 2, 3, 4, 6, 7, 8), cached, 2, ranks) == ((6, 7), (0, 1), (8,), (2,), (3, 4))


def test_pages_with_hubs_have_high_scores() -> None:
    out, into = np.array([3, 0, 6, 1], np.uint32), np.array([2, 9, 4, 4], np.uint32)
    assert hub_scores(out, into, np.array([0, 2, 2, 4])) == pytest.approx([6 / 54, 0, 28 / 54])
    assert hub_scores(0 * out, into, np.array([0, 4])).tolist() == [0]


@needs_compiler
def test_the_device_chooses_as_the_host() -> None:
    rng = np.random.default_rng(7)
    visits = samples.Visits(EmulatedDevice(7), samples.adjacency_of(samples.hub_graph(rng)))
    topology = samples.streamed(visits, 4)
    edges = np.diff(topology.layout.cut.starts)
    none, link, seen = np.zeros(len(edges), bool), Link(page=3e-6), set()
    cases = [(published, readable, packing) for published in (True, False) for readable in (True, False)
             for packing in (None, Packing(1e-9, 1e-11), Packing(1e-7, 1e-9))]
    for published, readable, packing in 3 * cases:
        counts = np.zeros((len(edges) + 1, MARK_WORDS), np.int64)
        counts[:-1, 1] = rng.integers(0, edges + 1) // rng.choice([1, 10, 100, 1000], len(edges))
        counts[:-1, 0] = -(-counts[:-1, 1] // rng.choice([1, 3, 30], len(edges)))
        counts[:-1, 3] = counts[:-1, 0] + counts[:-1, 1] // 32
        visits.device.upload(topology.table_at("marks"), counts)
        name, more = choose_on_device(8, link, readable, packing, published)
        topology.over_few(name, topology.table_at("marks"), "starts", len(edges), *more)
        found = np.empty_like(counts)
        visits.device.download(found, topology.table_at("marks"))
        asked = (edges, 8, none, link, readable, packing, "auto", published)
        chosen = choose_transfer(Marks.of(found, chosen=True), *asked)
        assert chosen == choose_transfer(Marks.of(counts), *asked)
        seen |= {(published, k) for k, pages in enumerate((chosen.whole, chosen.direct, chosen.packed)) if pages}
    assert len(seen) == 6, seen
    topology.close()
    visits.device.close()


@functools.cache
def _least(name: str, graph: str, size: int) -> int:
    """Return the memory for two pages of each direction."""
    return least_memory(name, graph, page_size=size, mode="push", transfer="pages")


def _run(name: str, graph: str, room: int, **options: Any) -> Result:
    """Run with memory for `room` more bytes than two pages, and compare with the interpreter."""
    given = {"page_size": PAGE, "mode": "push", "transfer": "pages", **options}
    result = run(name, graph, **given, gpu_memory=_least(name, graph, PAGE) + room)
    assert_right(name, graph, result)
    return result


@needs_compiler
def test_a_task_is_one_launch(noted: list[int]) -> None:
    """With tasks of four pages, pages take fewer launches."""
    _least("sssp", "skewed", PAGE)
    share = {}
    for combine in ("1", "4"):
        noted.clear()
        moved = _run("sssp", "skewed", 24 * PAGE, combine=combine).moved
        share[combine] = (moved.pages_copied + moved.pages_cached) / len(noted)
    assert share["1"] == 1
    assert share["4"] > 1.5


@needs_compiler
@pytest.mark.parametrize("order", ["hubs", "values"])
def test_pages_in_an_order(order: str, noted: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    """Tasks are processed in the order of their ranks, whichever pages are on the device."""
    _least("sssp", "skewed", PAGE)
    ranked: list[int] = []

    def ordered(whole: Sequence[int], cached: Any, most: int, ranks: Any) -> Any:
        found = tasks_of(whole, cached, most, ranks)
        assert sorted(ranks[[page for page, in found]]) == ranks[[page for page, in found]].tolist()
        ranked.extend(page for page, in found)
        return found

    monkeypatch.setattr(page_choice, "tasks_of", ordered)
    noted.clear()
    _run("sssp", "skewed", 4 * PAGE, page_order=order)
    assert len(ranked) > 20
    assert noted == ranked
    assert ranked != sorted(ranked)


@needs_compiler
def test_a_page_on_the_device_is_processed_twice() -> None:
    """On a path, one round over each page moves a distance along one edge, and two rounds move the distance along two
    edges.
    """
    graph, rounds, pages = Graph.read("path:200,weights=1..9"), [], []
    options = {"page_size": PAGE, "mode": "push", "transfer": "pages", "gpu_memory": 158_500}
    for loaded in ("once", "twice"):
        with emulated("sssp"):
            result = program("sssp")(graph, source=0, device="emulated", **spelled(**options, loaded=loaded))
        assert result["dist"].tolist() == program("sssp")(graph, source=0)["dist"].tolist()
        rounds.append(result.rounds)
        pages.append(result.moved.pages_copied + result.moved.pages_cached)
    assert rounds[0] == 200
    assert 100 <= rounds[1] <= 110
    assert pages[1] < 0.6 * pages[0]


@needs_compiler
@pytest.mark.parametrize(("name", "graph"), [("sssp", "skewed"), ("sssp", "long"), ("bfs_tree", "skewed")])
def test_all_choices_at_once(name: str, graph: str) -> None:
    options: dict[str, Any] = {} if name == "bfs_tree" else {"page_order": "values", "loaded": "twice"}
    options |= {"combine": "2", "chooser": "gpu"}
    size = 8192 if graph == "long" else PAGE
    cases: list[tuple[int, bool, dict[str, Any]]] = [
        (0, True, options), (6, False, options), (6, True, {**options, "switching": "published"}),
        (6, True, {"policy": "hytgraph"})]
    for seed, (room, unified, more) in enumerate(cases):
        result = run(name, graph, seed, unified=unified, page_size=size,
                     gpu_memory=_least(name, graph, size) + room * size, **more)
        assert_right(name, graph, result)


def _refused(name: str, match: str, **options: Any) -> None:
    with emulated(), pytest.raises(BindError, match=match):
        program(name)(Graph.read("karate"), device="emulated", **({} if name[0] in "pc" else {"source": 1}),
                      **spelled(**options))


@needs_compiler
def test_options_that_no_loop_can_follow_are_refused() -> None:
    _refused("bfs", r"page_order='hubs': no loop of bfs can follow it: line \d+: all active vertices send the same "
             r"value \(rule X2\).*; leave it out", page_order="hubs")
    _refused("bfs_tree", "loaded='twice'.* after all pages of a superstep", loaded="twice")
    _refused("pagerank", "combine='4'.* does not push, and reads all pages: .+; leave it out", combine="4")
    _refused("sssp", "supersteps are limited", loaded="twice", max_rounds=3)
    _refused("sssp", "mode='pull' reads all pages", combine="2", mode="pull")
    _refused("pagerank_delta", "added up, so none may be joined again", page_order="values")
    _refused("components", "connected components \\(rule K\\), unless mode='push'", combine="2")
    _refused("components", "rule O", page_order="values", mode="push")
    _refused("sssp", "transfer='pages' leaves no choice", chooser="gpu", transfer="pages")


@needs_compiler
def test_a_policy_notes_what_a_loop_does_not_follow() -> None:
    with emulated():
        result = program("bfs_tree")(Graph.read("karate"), source=1, device="emulated", policy="hytgraph")
    notes = [note for note in result.notes if "does not follow it" in note]
    assert [note.split(":")[0] for note in notes] == ["page_order='hubs'", "loaded='twice'"]
    assert {choice.option for choice in HYTGRAPH.choices["gpu"]} >= {"combine", "chooser", "page_order", "loaded"}


