"""Full sweeps by rows and by cache blocks give the same bits, and a run chooses the faster method."""

from __future__ import annotations

import secrets
import time
from typing import Any

import numpy as np
import pytest

from tests.cpu.compare import same_bits
from vlang import Graph, compile, load
from vlang.runtime.cpu.passes import blocking
from vlang.runtime.cpu.passes.blocking import Trial, choose_blocks
from vlang.runtime.cpu.passes.passes import Passes
from vlang.runtime.graph.topology import blocks as topology
from vlang.runtime.plan.plan import BLOCK_MOST, SEGMENT

LARGE = 1 << 22
TEXT = """program every_kind
edge   weight: float = 1
vertex x: float = 1.0 / (1 + indegree % 7)
vertex y: f64 = 1.0 / (1 + outdegree % 5)
vertex c: float[3] = [x, 1 - x, 0.5]
vertex n: int = outdegree
vertex best: float = 0
vertex from_: vertex = none
vertex odd: bool = indegree % 2 == 1
vertex h: f16 = 0
repeat 3 times:
    gather total   = sum(u.x * weight for u -> self)
    gather scaled  = sum(u.y / (1 + u.outdegree) for u -> self)
    gather mixed   = sum(u.c * u.x for u -> self)
    gather average = mean(u.x for u -> self if u.odd, default = -1)
    gather top     = max((u.x * weight, u) for u -> self)
    apply (best, from_) = max((best, from_), top)
    apply y = tanh(scaled + average)
    apply c = mixed / (1 + indegree)
    where odd:
        gather bits = bitxor(u.n for u -> self)
        gather most = max(weight - u.x for self -> u, default = 0)
        apply n = bits
        apply h = most
    gather some = any(u.odd and u.x < x for u -- self)
    apply odd = not some
    apply x = tanh(total / 3)
global everything = sum(v.x for v in vertices)
"""


@pytest.fixture
def launched(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return a list to which each launched pass appends the name of its kernel."""
    names: list[str] = []
    launch = Passes._launch

    def noted(self: Passes, kernel: str, *rest: Any, **named: Any) -> None:
        names.append(kernel.split("_")[0])
        launch(self, kernel, *rest, **named)

    monkeypatch.setattr(Passes, "_launch", noted)
    return names


def several_ranges(rng: np.random.Generator) -> Graph:
    """Return a graph over three ranges of senders. The graph has long vertices, and rows of 0 to a few hundred edges
    per block.
    """
    n = 2 * BLOCK_MOST + int(rng.integers(1, BLOCK_MOST))
    hubs = rng.integers(0, n, 12)
    sizes = np.concatenate([rng.integers(60, 1500, 8), [SEGMENT - 1, SEGMENT, SEGMENT + 1, 2 * SEGMENT + 9]])
    skewed = (n * rng.random(400_000) ** 3).astype(np.int64)
    dst = np.concatenate([skewed, rng.integers(0, n, 200_000), np.repeat(hubs, sizes)])
    src = np.concatenate([rng.integers(0, n, 600_000), (n * rng.random(sizes.sum()) ** 4).astype(np.int64)])
    return Graph.from_edges(src, dst, n=n, weight=rng.random(len(src)).astype(np.float32))


def test_blocks_have_the_bits_of_rows(launched: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Every kind of accumulator, message and column gives the same bits as by rows, for all strips and numbers of
    threads.
    """
    seed = secrets.randbits(32)
    print(f"seed {seed}")
    program = compile(TEXT)
    wanted = None
    for threads, strips, least in ((1, 16, 1 << 14), (2, 1, 1 << 40), (3, 300, 1), (4, 40, 1 << 12)):
        monkeypatch.setattr(topology, "_STRIPS", strips)
        monkeypatch.setattr(topology, "_LEAST_COST", least)
        graph = several_ranges(np.random.default_rng(seed))  # a new one, because a graph keeps its blocks
        if wanted is None:
            wanted = program(graph, threads=2, research={"blocking": "never", "mode": "pull"})
        launched.clear()
        found = program(graph, threads=threads, research={"blocking": "always", "mode": "pull"})
        assert launched.count("blocked") == 12  # four passes in each superstep
        assert "pull" not in launched
        for name in wanted.fields:
            assert same_bits(np.asarray(wanted[name]), np.asarray(found[name])), (name, threads, strips)
        assert wanted.globals == found.globals


@pytest.mark.parametrize(
    ("asked", "edges", "made", "sweeps", "coming", "wanted"),
    [("always", 3, False, 0, None, True), ("never", LARGE, True, 99, 99, False), ("auto", LARGE, True, 0, None, True),
     ("auto", 1 << 15, False, 99, 99, False), ("auto", LARGE, False, 7, None, False),
     ("auto", LARGE, False, 8, None, True), ("auto", LARGE, False, 1, 7, True),
     ("auto", LARGE - 1, False, 8, 7, False), ("auto", LARGE - 1, False, 8, 8, True)],
)  # fmt: skip
def test_blocks_are_made_when_they_pay(
    asked: str, edges: int, made: bool, sweeps: int, coming: int | None, wanted: bool
) -> None:
    assert choose_blocks(asked, edges, made, sweeps, coming) is wanted


def ways(trial: Trial, rows: float, blocks: float, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return the methods that a run chooses for eight sweeps, as one letter per sweep. A sweep takes `rows` seconds by
    rows, and `blocks` seconds by blocks.
    """
    now = [0.0]
    monkeypatch.setattr(time, "perf_counter", lambda: now[0])
    gone = ""
    for _ in range(8):
        with trial.sweep() as by_blocks:
            gone += "b" if by_blocks else "r"
            now[0] += blocks if by_blocks else rows
    return gone


def test_the_faster_way_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    assert ways(Trial("auto"), 1.0, 2.0, monkeypatch) == "rbrbrbrr"
    assert ways(Trial("auto"), 2.0, 1.0, monkeypatch) == "rbrbrbbb"
    assert ways(Trial("auto"), 1.0, 1.05, monkeypatch) == "rbrbrbbb"  # within the noise
    assert ways(Trial("always"), 1.0, 2.0, monkeypatch) == "bbbbbbbb"


def test_both_ways_in_one_run(launched: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocking, "_LEAST_EDGES", 0)
    graph = Graph.read("kron:10")
    tried = load("pagerank")(graph, max_rounds=20, tol=0.0)
    assert [name for name in launched if name in ("pull", "blocked")][:4] == ["pull", "blocked", "pull", "blocked"]
    launched.clear()
    load("pagerank")(graph, max_rounds=20, tol=0.0)
    assert len({name for name in launched if name in ("pull", "blocked")}) == 1, "the graph keeps the trial"
    never = load("pagerank")(graph, max_rounds=20, tol=0.0, research={"blocking": "never"})
    assert np.array_equal(tried["rank"], never["rank"])
