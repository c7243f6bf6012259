"""The ring delivers every page once per pass, in any order of arrival and within its budget, and raises one error if a
read fails.
"""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable
from contextlib import closing

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.paged.stores import MemoryStore, Views
from vlang import Graph
from vlang.errors import DiskError, InternalError, OutOfMemory
from vlang.runtime.storage.memory import PAGE, page_aligned
from vlang.runtime.storage.reading.page_reader import PageViews
from vlang.runtime.storage.reading.ring import Ring
from vlang.runtime.threads.tasks import Task


def store(late: float = 0.0, broken: tuple[str, int] | None = None) -> MemoryStore:
    """Return a store of 40 pages with 64 edges each."""
    rng = np.random.default_rng(3)
    src, dst = rng.integers(0, 160, (2, 2560))
    made = MemoryStore(Graph.from_edges(src, dst, n=160), 256, late, broken)
    assert made.cuts("in").count >= 30
    return made


def sizes(made: MemoryStore) -> list[int]:
    return [made.nbytes("in", page) for page in range(made.cuts("in").count)]


def singles(made: MemoryStore) -> list[tuple[int]]:
    return [(page,) for page in range(made.cuts("in").count)]


def sweep(ring: Ring, made: MemoryStore, groups: list[tuple[int]] | None = None) -> list[int]:
    """Run a pass over all pages and compare their contents; return the pages in the order of arrival."""
    seen = []
    cuts = made.cuts("in")
    targets = made._graph.adjacency("in").targets
    with closing(ring.stream("in", singles(made) if groups is None else groups)) as batches:
        for batch in batches:
            for page, views in batch:
                assert np.array_equal(views.targets, targets[cuts.starts[page] : cuts.starts[page + 1]])
                seen.append(page)
    return seen


def ahead(ring: Ring, made: MemoryStore) -> list[int]:
    """Like `sweep`, but compare the pages of a batch when the next batch is there, as a pass does that works ahead."""
    cuts, targets = made.cuts("in"), made._graph.adjacency("in").targets
    before, seen = list[tuple[int, PageViews]](), list[int]()
    with closing(ring.stream("in", singles(made), ahead=True)) as batches:
        for batch in batches:
            assert batch or before, "only a caller that still works on a batch must finish it before a wait"
            for page, views in before:
                assert np.array_equal(views.targets, targets[cuts.starts[page] : cuts.starts[page + 1]])
                seen.append(page)
            before = batch
    return [*seen, *(page for page, _ in before)]


@pytest.mark.parametrize(("run", "own"), [(sweep, True), (ahead, True), (ahead, False)])
@pytest.mark.parametrize("late", [0.0, 0.001])
@pytest.mark.parametrize("buffers", [2, 3, 7])
def test_every_page_once(
    buffers: int, late: float, run: Callable[[Ring, MemoryStore], list[int]], own: bool
) -> None:
    made = store(late)
    largest = max(sizes(made))
    with closing(Ring(made, largest, buffers * largest, readers=3, buffers=buffers, own=own)) as ring:
        for _ in range(3):
            assert sorted(run(ring, made)) == list(range(made.cuts("in").count))
        assert ring.reading.pages == len(made.reads)
        assert ring.reading.nbytes == sum(made.nbytes(*read) for read in made.reads)
        assert len({id(slot) for slot in ring._slots}) <= buffers


def test_a_run_that_works_ahead_checks_its_pages_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    """No other thread then holds the lock of the interpreter while the processors run kernels."""
    made, checked = store(0.001), set[int]()
    read = made.read

    def noted(kind: str, page: int, buffer: NDArray[np.uint8]) -> tuple[Callable[[], Views], int]:
        check, nbytes = read(kind, page, buffer)

        def by_thread() -> Views:
            checked.add(threading.get_ident())
            return check()

        return by_thread, nbytes

    monkeypatch.setattr(made, "read", noted)
    with closing(Ring(made, max(sizes(made)), 7 * max(sizes(made)))) as ring:
        ahead(ring, made)
    assert checked == {threading.get_ident()}


def test_what_fits_is_read_once_and_half_of_it_halves_the_reads() -> None:
    made = store()
    largest, every = max(sizes(made)), sum(sizes(made))
    with closing(Ring(made, largest, every + 2 * largest, buffers=2)) as ring:
        for _ in range(3):
            sweep(ring, made)
        assert ring.reading.nbytes == every
    with closing(Ring(made, largest, every // 2)) as ring:
        sweep(ring, made)
        first = ring.reading.nbytes
        for _ in range(4):
            sweep(ring, made)
        assert first == every
        assert (ring.reading.nbytes - first) / 4 <= 0.55 * every
        assert ring.cached > 0


def test_reads_begin_at_once_and_cached_pages_fill_the_waits() -> None:
    """A pass first uses the pages that occupy buffers. While the pass uses cached pages, the disk is not idle."""
    made = store(0.02)
    largest = max(sizes(made))
    with closing(Ring(made, largest, 12 * largest, buffers=3)) as ring:
        sweep(ring, made)
        left, kept = {page for _, page in ring._held}, {page for _, page in ring._cache}
        assert len(left) == 3
        assert len(kept) >= 8
        before, seen = len(made.reads), list[int]()
        with closing(ring.stream("in", singles(made))) as batches:
            for batch in batches:
                pages = [page for page, _ in batch]
                if not seen:
                    assert set(pages) < left, "one buffer is enough to begin the next read"
                elif kept - set(seen):
                    assert ring._flying or not ring._done.empty()
                    assert set(pages) <= left | kept, "no page was awaited while others were in memory"
                seen += pages
        assert sorted(seen) == list(range(made.cuts("in").count))
        assert len(made.reads) - before == len(seen) - len(left) - len(kept)


def test_groups_arrive_together() -> None:
    made = store(0.0005)
    largest, count = max(sizes(made)), made.cuts("in").count
    groups = [tuple(range(low, min(low + 5, count))) for low in range(0, count, 5)]
    with closing(Ring(made, largest, 6 * largest, buffers=2)) as ring:
        for _ in range(2):
            seen = []
            for batch in ring.stream("in", groups):
                pages = sorted(page for page, _ in batch)
                assert all(set(group) <= set(pages) or not set(group) & set(pages) for group in groups)
                seen += pages
            assert sorted(seen) == list(range(count))
    with closing(Ring(made, largest, 4 * largest, buffers=2)) as ring, \
            pytest.raises(OutOfMemory, match="one row needs 5 pages"):
        list(ring.stream("in", groups))


def test_a_page_that_cannot_be_read_is_one_error() -> None:
    made = store(0.001, ("in", 17))
    largest = max(sizes(made))
    with closing(Ring(made, largest, 4 * largest, readers=3)) as ring:
        with pytest.raises(DiskError, match="page 17 cannot be read"):
            sweep(ring, made)
        with pytest.raises(InternalError):
            sweep(ring, made)


def test_an_abandoned_pass_waits_for_its_reads() -> None:
    """After an interrupt of the consumer, no read into a buffer is in progress."""
    made = store(0.005)
    largest = max(sizes(made))

    def begun(ring: Ring) -> None:
        with closing(ring.stream("in", singles(made))) as batches:
            next(batches)
            raise KeyboardInterrupt

    with closing(Ring(made, largest, 4 * largest)) as ring:
        with pytest.raises(KeyboardInterrupt):
            begun(ring)
        assert ring._flying == 0


def test_threads_end_with_the_ring() -> None:
    made = store()
    largest, before = max(sizes(made)), threading.active_count()
    ring = Ring(made, largest, 4 * largest)
    sweep(ring, made)
    threads, checkers = ring._threads, ring._checkers
    assert len(threads) == len(checkers) == 2
    del ring
    gc.collect()
    for thread in (*threads, *checkers):
        thread.wait()
    assert threading.active_count() == before


def test_without_threads_the_run_reads_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    made = store()
    largest = max(sizes(made))
    monkeypatch.setattr(Task, "begin", lambda task: setattr(task, "begun", False))
    with closing(Ring(made, largest, 3 * largest)) as ring:
        assert sorted(sweep(ring, made)) == list(range(made.cuts("in").count))


def test_a_budget_below_two_pages_is_refused() -> None:
    made = store()
    largest = max(sizes(made))
    with pytest.raises(OutOfMemory, match="too few to stream"):
        Ring(made, largest, 2 * largest - 1)


@pytest.mark.parametrize("nbytes", [PAGE, 3 * PAGE, 1 << 20])
def test_buffers_are_aligned(nbytes: int) -> None:
    assert page_aligned(nbytes).ctypes.data % PAGE == 0
    assert len(page_aligned(nbytes)) == nbytes
