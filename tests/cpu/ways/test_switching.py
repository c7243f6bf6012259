"""The choice between push, pull and notify-pull for each superstep: by costs measured on the machine, or by published
rules.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from vlang import Graph, load
from vlang.errors import BindError, InternalError
from vlang.runtime.compile import cachedir
from vlang.runtime.cpu.passes import edge_costs as cpu_costs
from vlang.runtime.cpu.passes.edge_costs import REFERENCE, Costs, costs_of, kept_costs, measure_costs, sound
from vlang.runtime.cpu.passes.mode import most_summed, reads_of, should_look, should_notify, should_pull
from vlang.runtime.cpu.passes.receivers import Receivers
from vlang.runtime.kernels import cost_kernels, frontier_kernels

EVEN = Costs(1.0, 1.0, 1.0, 1.0, 1.0, 1.0)


def test_notify_as_published() -> None:
    assert should_notify(None, 5, 10)
    assert not should_notify(None, 6, 10)


def test_notify_by_cost() -> None:
    assert should_notify(EVEN, 5, 10)
    assert not should_notify(EVEN, 6, 10)
    assert not should_notify(Costs(1.0, 1.0, 2.0, 1.0, 1.0), 3, 10)
    assert should_notify(EVEN, 10, 10, reads=2)  # an edge that reads two fields costs twice as much to pull
    assert not should_notify(EVEN, 11, 10, reads=2)


def test_pulled_edges_cost_the_arrays_that_they_read() -> None:
    for name, reads in ("coloring", {"s1": 2, "s2": 1}), ("sssp", {"r0": 1, "s1": 2}):
        stages = load(name).plan(frozenset({"weight"})).stages
        assert {stage.name: reads_of(stage) for stage in stages if stage.domain} == reads


def test_notify_counts_what_the_receivers_pull() -> None:
    """The cost of notify-pull includes the rows that the receivers pull. In this test, 55,000 active vertices of degree
    32 notify most of 2^20 vertices, so that nearly all edges would be read twice.
    """
    n, degree = 1 << 20, 32
    uniform = Receivers.of(np.full(n, degree, np.uint32))
    rows, pulled = uniform.expected(55_000 * degree)
    assert 0.81 * n < rows < 0.83 * n
    assert pulled == pytest.approx(rows * degree)
    assert should_notify(EVEN, 55_000 * degree, n * degree)
    assert not should_notify(EVEN, 55_000 * degree, n * degree, rows=rows, pulled=pulled)
    rows, pulled = uniform.expected(500 * degree)
    assert should_notify(EVEN, 500 * degree, n * degree, rows=rows, pulled=pulled)
    assert uniform.expected(n * degree) == (n, n * degree)


def test_receivers_of_unequal_rows_and_of_none() -> None:
    """If one row has most of the edges, its vertex is nearly always notified."""
    rows, pulled = Receivers.of(np.array([0, 1, 1, 1, 1000], np.uint32)).expected(100)
    assert 1.2 < rows < 1.4
    assert 999 < pulled < 1002
    assert Receivers.of(np.zeros(0, np.uint32)).expected(0) == (0, 0)
    assert Receivers.of(np.zeros(3, np.uint32)).expected(0) == (0, 0)


def test_pull_as_published_and_by_cost() -> None:
    assert should_pull(None, 10, 45, 1000)
    assert not should_pull(None, 10, 40, 1000)
    assert not should_pull(EVEN, 10, 1000, 1000)
    assert should_pull(Costs(1.0, 4.0, 1.0, 1.0, 1.0), 10, 251, 1000)


def test_sums_as_published_and_by_cost() -> None:
    assert most_summed(None, 3, 100, 1000) == 50
    assert most_summed(EVEN, 1, 100, 900) == 800  # pull: 1000; push: its edges, and 2 a vertex
    assert most_summed(EVEN, 2, 100, 900) == 300
    assert most_summed(EVEN, 1, 10_000, 2000) == 4000  # each edge has its own receiver


def test_look_as_published() -> None:
    def look(looking: bool, active: int, reached: int, left_edges: int) -> bool:
        return should_look(None, looking, 2400, 10_000, active, reached, 2400, left_edges)

    assert not look(False, 10, 100, 1400)
    assert look(False, 10, 101, 1400)
    assert look(True, 101, 0, 1400)
    assert not look(True, 100, 10_000, 1400)


def test_look_by_cost() -> None:
    def look(active: int, reached: int, left: int) -> bool:
        return should_look(EVEN, False, 10_000, 100_000, active, reached, left, 10 * left)

    assert look(5000, 50_000, 4000)  # a scan costs 4000 rows and 8000 edges, a push 5000 vertices and 50,000 edges
    assert not look(10, 100, 9990)
    assert look(1, 10, 0)  # no vertex is left, so a scan costs nothing


@pytest.fixture
def no_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Use an empty cache directory."""
    cost_kernels().prepare(cost_kernels())  # compiles, or loads from the cache of all tests
    monkeypatch.setenv("VLANG_CACHE", str(tmp_path))
    cachedir.cache_dir.cache_clear()
    yield
    cachedir.cache_dir.cache_clear()


@pytest.mark.usefixtures("no_cache")
def test_measured_once_and_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    assert kept_costs() is None
    assert costs_of(cpu_costs.MEASURED_FROM - 1) is REFERENCE
    monkeypatch.setattr(cpu_costs, "measure_costs", lambda: measure_costs(1 << 12, 1 << 14))
    first = costs_of(cpu_costs.MEASURED_FROM)
    assert min(first.pulled, first.pushed, first.notified, first.marked, first.row) > 0
    monkeypatch.setattr(cpu_costs, "measure_costs", lambda: pytest.fail("measured twice"))
    assert costs_of(cpu_costs.MEASURED_FROM) == first == kept_costs()


def test_measured_once_where_nothing_can_be_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    measured: list[Costs] = []

    def measure() -> Costs:
        measured.append(REFERENCE)
        return REFERENCE

    monkeypatch.setattr(cpu_costs, "cache_dir", lambda: None)
    monkeypatch.setattr(cpu_costs, "kept_costs", lambda: None)
    monkeypatch.setattr(cpu_costs, "write_entry", lambda *_: None)
    monkeypatch.setattr(cpu_costs, "measure_costs", measure)
    cpu_costs._costs_in.cache_clear()
    for _ in range(3):
        assert costs_of(cpu_costs.MEASURED_FROM) is REFERENCE
    cpu_costs._costs_in.cache_clear()
    assert len(measured) == 1


def test_what_makes_no_sense_is_not_believed() -> None:
    found = {"pulled": 0.0, "pushed": 2.0, "notified": float("inf"), "marked": 1e6, "row": float("nan"),
             "summed": 3.0}
    assert sound(found) == Costs(REFERENCE.pulled, 2.0, REFERENCE.notified, REFERENCE.marked, REFERENCE.row, 3.0)
    with pytest.raises(InternalError):
        sound({"pulled": 1.0})


@pytest.mark.parametrize("program", ["bfs", "bfs_tree", "kcore", "mis"])
def test_both_rules_give_the_same(program: str) -> None:
    given = {"source": 1} if program.startswith("bfs") else {}
    graph = Graph.read("kron:10", directed=False, self_loops="drop", parallel="drop")
    measured, published = (load(program)(graph, research={"switching": rule}, **given)
                           for rule in ("measured", "published"))
    for name in measured.fields:
        assert np.array_equal(measured[name], published[name])
    assert measured.rounds == published.rounds


def test_edges_of_changed_vertices_are_counted() -> None:
    """Counts are right for numbers of vertices around 256, the unit of the kernel. Counts are also right if no, few,
    many or all vertices change.
    """
    rng = np.random.default_rng(7)
    for n in (0, 1, 255, 256, 257, 1000):
        degrees = rng.integers(0, 1 << 32, n, dtype=np.uint32)
        for share in (0, 0.01, 0.6, 1):
            flags = (rng.random(n) < share).astype(np.uint8) | rng.integers(0, 2, n).astype(np.uint8) << 1
            wanted = int(degrees[flags & 1 == 1].astype(np.int64).sum())
            assert frontier_kernels()["reached"](flags, n, degrees) == wanted


def test_nothing_to_switch() -> None:
    with pytest.raises(BindError, match="switching says how mode"):
        load("bfs")(Graph.read("karate"), source=1, research={"mode": "pull", "switching": "published"})
    with pytest.raises(BindError, match="switching"):
        load("bfs")(Graph.read("karate"), source=1, research={"switching": "guessed"})
