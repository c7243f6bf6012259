"""Several threads can load kernels, run programs and build graphs at the same time."""

from __future__ import annotations

import sys
import threading
import time
from _thread import _count as running
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from tests.spelled import spelled
from vlang import Graph, Program, compile, load, stdlib
from vlang.runtime.graph import kernels as kernel_files
from vlang.syntax.lark_tree import raw_tree


def together(count: int, work: Callable[[int], Any]) -> list[Any]:
    """Start `count` calls of `work` at the same moment, and return their results. Call k gets the argument k."""
    barrier = threading.Barrier(count)

    def one(number: int) -> Any:
        barrier.wait()
        return work(number)

    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(one, range(count)))


def test_a_kernel_file_is_read_by_one_thread_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    inside = threading.Lock()
    exports = kernel_files._exports

    def read(text: str) -> dict[str, str]:
        assert inside.acquire(blocking=False), "two threads read kernel files at once"
        time.sleep(0.02)
        inside.release()
        return exports(text)

    kernel_files._loaded.cache_clear()
    monkeypatch.setattr(kernel_files, "_exports", read)
    together(8, lambda number: kernel_files.kernels(("sort", "take")[number % 2]))


def random_graph(seed: int, n: int = 3000, m: int = 20_000) -> Graph:
    rng = np.random.default_rng(seed)
    return Graph.from_edges(rng.integers(0, n, m), rng.integers(0, n, m), n=n, weight=rng.integers(1, 9, m))


def test_one_program_from_many_threads() -> None:
    """Threads share a Program and a graph that is not built yet. The result of each run, with its own arguments, is
    right.
    """
    program, graph = load("sssp"), random_graph(1)
    modes = ("auto", "pull", "notify-pull")
    options: list[dict[str, Any]] = [{"threads": 1 + k % 3, "mode": modes[k % 3], "schedule": "rounds"}
                                     for k in range(8)]
    results = together(8, lambda k: program(graph, source=100 * k, **spelled(**options[k])))
    for k, result in enumerate(results):
        alone = load("sssp")(random_graph(1), source=100 * k, threads=1, research={"schedule": "rounds"})
        assert np.array_equal(result.dist, alone.dist)
        assert result.rounds == alone.rounds


def test_programs_compiled_at_once() -> None:
    texts = [f"program p{k % 3}\nvertex x: int = {k % 3}\nrepeat 2 times:\n"
             f"    gather s = sum(u.x + {k % 3} for u -> self)\n    apply x = s % 1000\n"
             for k in range(6)]  # fmt: skip
    graph = random_graph(2)
    results = together(6, lambda k: compile(texts[k])(graph))
    for k in range(3):
        assert np.array_equal(results[k].x, results[k + 3].x)


def test_texts_parsed_at_once() -> None:
    """Several threads can parse at the same time, since the parser has no shared state."""
    texts = [stdlib.path(name).read_text(encoding="utf-8") for name in stdlib.names()]
    want = [raw_tree(text) for text in texts]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        found = together(8, lambda k: [raw_tree(texts[(5 * k + i) % len(texts)]) for i in range(10)])
    finally:
        sys.setswitchinterval(interval)
    for k, trees in enumerate(found):
        assert trees == [want[(5 * k + i) % len(texts)] for i in range(10)]


def test_precisions_at_once() -> None:
    program, graph = load("pagerank"), random_graph(3)
    results = together(4, lambda k: program(graph, precision=(32, 64)[k % 2], max_rounds=5))
    assert [r.rank.dtype.itemsize for r in results] == [4, 8, 4, 8]
    assert np.array_equal(results[0].rank, results[2].rank)
    assert np.array_equal(results[1].rank, results[3].rank)


def test_a_run_inside_a_thread_and_its_callback() -> None:
    seen: list[int] = []

    def progress(row: Any) -> None:
        seen.append(threading.get_ident())

    def work(number: int) -> int:
        load("bfs")(random_graph(4), source=0, progress=progress)
        return threading.get_ident()

    idents = together(1, work)
    assert seen
    assert set(seen) == set(idents)


def long_running() -> Program:
    return compile("program long\nvertex x: int = 0\nrepeat 100000 times:\n    gather s = sum(u.x + 1 for u -> self)\n"
                   "    apply x = (s + iteration) % 1000\n")


def test_an_exception_in_the_callback_ends_the_run_and_no_more() -> None:
    program, graph = long_running(), random_graph(5)

    def progress(row: Any) -> None:
        if row.round == 3:
            raise KeyError("from the callback")

    program(graph, max_rounds=3, threads=2)  # the worker threads of this run may stay
    before = running()
    with pytest.raises(KeyError, match="from the callback"):
        program(graph, progress=progress, threads=2)
    end = time.monotonic() + 5
    while running() > before and time.monotonic() < end:
        time.sleep(0.001)
    assert running() <= before
    assert program(graph, max_rounds=3).rounds == 3


def test_a_run_from_within_the_callback() -> None:
    graph, inner = random_graph(6), load("bfs")
    found: list[int] = []
    outer = load("pagerank")(graph, progress=lambda row: found.append(inner(graph, source=0).rounds), max_rounds=3)
    assert outer.rounds == 3
    assert found == [inner(graph, source=0).rounds] * 3


def test_a_thousand_threads() -> None:
    graph = random_graph(7, n=200_000, m=500_000)
    many, one = (load("components")(graph, threads=k) for k in (1000, 1))
    name = next(iter(one.fields))
    assert np.array_equal(many[name], one[name])
    assert running() < 100
