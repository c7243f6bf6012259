"""Memory of runs: freed blocks are kept for reuse, and an array owns its block as long as the array is referenced."""

from __future__ import annotations

import gc
import os
import pickle
import threading

import numpy as np
import pytest

from vlang import Graph, load
from vlang.runtime.storage import memory as memories
from vlang.runtime.storage.memory import Memory

_LARGE = 3 << 20


def address(array: np.ndarray) -> int:
    return int(array.ctypes.data)


def test_a_block_is_used_again_when_the_last_view_is_gone() -> None:
    memory = Memory()
    array = memory.empty(_LARGE, np.uint8)
    where, view = address(array), array[100:200].view(np.uint32)
    del array
    assert memory.idle == 0
    assert address(memory.empty(_LARGE, np.uint8)) != where
    del view
    again = memory.zeros(_LARGE, np.uint8)
    assert memory.made == 2
    assert not again.any()
    del again
    assert (memory.used, memory.idle > 0) == (0, True)
    memory.trim()
    assert memory.idle == 0


def test_zeros_are_zeros() -> None:
    memory = Memory()
    for dtype in (np.uint8, np.int64, np.float32):
        for _ in range(3):
            array = memory.zeros(_LARGE // 8, dtype)
            assert not array.any()
            array.fill(7)
            del array
    assert memory.made == 3  # one block of each size


def test_what_is_idle_is_bounded() -> None:
    memory = Memory(most=4 * _LARGE, blocks=3)
    arrays = [memory.empty(_LARGE, np.uint8) for _ in range(8)]
    del arrays
    assert memory.idle <= 4 * _LARGE
    assert memory.used == 0
    arrays = [memory.empty(9 * _LARGE, np.uint8)]
    del arrays
    assert memory.idle <= 4 * _LARGE
    small = memory.empty(100, np.uint8)
    assert memory.used == 0
    assert len(small) == 100


def test_huge_pages_begin_with_the_block() -> None:
    assert address(Memory().empty(5 << 20, np.uint8)) % (2 << 20) == 0


def test_too_much() -> None:
    memory = Memory()
    memory.empty(_LARGE, np.uint8)
    with pytest.raises(MemoryError):
        memory.empty(1 << 60, np.uint8)
    assert (memory.used, memory.idle) == (0, 0)


def test_garbage_collected_in_the_middle() -> None:
    """The pool stays consistent if arrays are collected during its own bookkeeping, since the collector may run at any
    point.
    """
    memory = Memory(most=16 * _LARGE)

    class Ring:
        def __init__(self) -> None:
            self.me, self.array = self, memory.empty(_LARGE, np.uint8)

    threshold = gc.get_threshold()
    gc.set_threshold(1)
    try:
        for _ in range(200):
            Ring()
            memory.empty(2 * _LARGE, np.uint8)
    finally:
        gc.set_threshold(*threshold)
    gc.collect()
    memory.empty(1 << 19, np.uint8)
    assert memory.used == 0


def test_threads_never_share_a_block() -> None:
    memory, wrong = Memory(), []

    def work(number: int) -> None:
        for turn in range(100):
            array = memory.empty(1 << 18, np.uint8)
            array.fill(number)
            other = memory.zeros(1 << 18, np.uint8)
            if (array != number).any() or other.any():
                wrong.append((number, turn))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    memory.trim()
    assert (memory.used, memory.idle) == (0, 0)


def test_a_full_pool_keeps_the_sizes_in_use() -> None:
    """A full pool keeps blocks of sizes that are still requested, and frees blocks of other sizes."""
    memory = Memory(most=12 << 20, blocks=8)
    kept = [memory.empty(1 << 20, np.uint8), memory.empty(2 << 20, np.uint8)]
    del kept
    stale = [memory.empty((3 << 20) + k * (1 << 18), np.uint8) for k in range(4)]
    del stale
    for _ in range(2):
        kept = [memory.empty(1 << 20, np.uint8), memory.empty(2 << 20, np.uint8)]
        del kept
    made = memory.made
    for _ in range(5):
        kept = [memory.empty(1 << 20, np.uint8), memory.empty(2 << 20, np.uint8)]
        del kept
    assert memory.made == made


@pytest.fixture(scope="module")
def graph() -> Graph:
    return Graph.read("uniform:17", weights="1..9")


@pytest.mark.parametrize("name", ["bfs", "sssp", "components", "pagerank"])
def test_calls_take_nothing_new_and_results_own_what_they_have(graph: Graph, name: str) -> None:
    program, memory = load(name), memories.memory
    given = {"source": 3} if program.params and program.params[0].name == "source" else {}
    field = next(iter(f.name for f in program.fields))
    first = program(graph, **given)
    kept, copy = first[field], np.array(first[field])
    seconds = [program(graph, **given) for _ in range(4)]
    made = memory.made
    for _ in range(4):
        del seconds
        seconds = [program(graph, **given) for _ in range(2)]
        assert all(np.array_equal(copy, second[field]) for second in seconds)
    assert memory.made == made
    assert np.array_equal(kept, copy)
    assert np.array_equal(pickle.loads(pickle.dumps(first))[field], copy)
    del first, seconds
    program(graph, **given)
    assert np.array_equal(kept, copy)


def test_results_of_threads_own_what_they_have(graph: Graph) -> None:
    program, results = load("bfs"), {}

    def work(source: int) -> None:
        for turn in range(5):
            results[source, turn] = program(graph, source=source)

    threads = [threading.Thread(target=work, args=(source,)) for source in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    places = {address(result.depth) for result in results.values()}
    assert len(places) == len(results)
    for (source, _), result in results.items():
        assert np.array_equal(result.depth, program(graph, source=source).depth)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_child_writes_to_memory_of_its_own(graph: Graph) -> None:
    program = load("bfs")
    result = program(graph, source=1)
    copy = np.array(result.depth)
    del_me = program(graph, source=2)
    del del_me
    child = os.fork()
    if child == 0:
        for source in range(5):
            program(graph, source=source, threads=2)
        result.depth.fill(0)
        os._exit(0 if np.array_equal(program(graph, source=1).depth, copy) else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert np.array_equal(result.depth, copy)
