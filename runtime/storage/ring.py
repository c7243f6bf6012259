"""A ring of aligned buffers: threads read pages from disk into them ahead of a run, which waits without spinning.

A pass asks for groups of pages, in any order; a group is delivered at once. Pages that are in memory already come
first: those of the cache, which holds whole pages until the end of the run, and those that the last pass left in the
ring. So what fits into the budget is read once, and half of a graph in memory is half of the bytes read.

Threads hand pages over through two queues of the C library of Python, whose operations are one built-in call each: an
interrupt, raised in the main thread, leaves no lock held. A buffer is an array that the reading call keeps alive.
"""

from __future__ import annotations

import time
import weakref
from collections import deque
from collections.abc import Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from queue import SimpleQueue

from vlang.errors import InternalError, OutOfMemory
from vlang.runtime.storage.memory import PAGE, page_aligned
from vlang.runtime.storage.page_reader import (
    Arrival,
    Buffer,
    Key,
    PageReader,
    PageViews,
    Request,
    end_threads,
    serve,
    serve_one,
)
from vlang.runtime.threads.tasks import Task

__all__ = ["LEAST_BUFFERS", "Reading", "Ring"]

LEAST_BUFFERS = 2
_BUFFERS = 8  # of a ring, where the budget allows
_FEW = 3  # of which it has more only if that is at most half of the budget
_READERS = 2
_TOGETHER = 64  # pages that are delivered at once, at most, unless they are one group


@dataclass
class Reading:
    """What a ring has read.

    Attributes:
        pages: read from disk.
        nbytes: of those.
        hits: pages that were in memory already.
        seconds: for which the run waited for pages.
    """

    pages: int = 0
    nbytes: int = 0
    hits: int = 0
    seconds: float = 0.0


class Ring:
    """Delivers pages within a budget.

    Args:
        reader: reads pages.
        largest: bytes of the largest page.
        budget: bytes for buffers, at least LEAST_BUFFERS times `largest`.
        readers: reading threads.
        buffers: buffers in the ring, at most; None for as many as are useful. The rest of the budget holds pages
            until the end of the run.

    Attributes:
        reading: what has been read so far.
        cached: bytes of the pages that stay in memory.

    Raises OutOfMemory if the budget is too small.
    """

    def __init__(self, reader: PageReader, largest: int, budget: int, readers: int = _READERS,
                 buffers: int | None = None) -> None:
        if budget < LEAST_BUFFERS * largest:
            raise OutOfMemory(f"{budget:,} bytes are too few to stream pages of up to {largest:,} bytes: "
                              f"{LEAST_BUFFERS * largest:,} are needed")
        self.reading = Reading()
        self._reader, self._largest, self._readers = reader, largest, readers
        self._budget = budget // PAGE * PAGE
        self._arena: Buffer | None = None  # slots from its beginning on, pages that stay from its end
        self._left = self._budget  # bytes that no buffer has taken yet
        fitting = budget // max(1, largest)
        useful = min(_BUFFERS, max(min(fitting, _FEW), fitting // 2))
        self._most = max(LEAST_BUFFERS, min(buffers or useful, fitting))
        self._reserved = self._most * largest  # of what is left, for buffers of the ring
        self._slots: list[Buffer] = []
        self._inside: list[Key | None] = []  # by slot, the page in it
        self._free: deque[int] = deque()
        self._held: dict[Key, tuple[int, PageViews]] = {}  # pages in slots
        self._cache: dict[Key, PageViews] = {}
        self.cached = 0
        self._flying = 0
        self._broken = False
        self._todo: SimpleQueue[Request | None] = SimpleQueue()
        self._done: SimpleQueue[Arrival] = SimpleQueue()
        self._threads: list[Task[None]] = []
        self._ended = weakref.finalize(self, end_threads, self._todo, self._threads)

    def stream(self, kind: str, groups: Sequence[Sequence[int]]) -> Generator[list[tuple[int, PageViews]]]:
        """Deliver pages in batches; those of a batch are valid until the next one is asked for, or the end.

        Args:
            kind: the adjacency direction.
            groups: the pages of each group are delivered in one batch; each page is in one group.

        Raises DiskError or GraphError of the first page that cannot be read, OutOfMemory if a group is too large.
        """
        if self._broken:
            raise InternalError("pages are asked for after a failed pass")
        self._room_for(max(map(len, groups), default=0))
        try:
            yield from self._stream(kind, groups)
        except GeneratorExit:
            self._broken = True
            raise
        except BaseException:
            self._broken = True  # counts may be one short after an interrupt, and buffers are not given away again
            raise
        finally:
            self._drain()

    def memory(self) -> Buffer:
        """All bytes that pages are read into; allocated on first use. Raises MemoryError."""
        if self._arena is None:
            self._arena = page_aligned(self._budget)
        return self._arena

    def missing(self, kind: str, pages: Iterable[int]) -> int:
        """Bytes of the pages that are not in memory."""
        return sum(self._reader.nbytes(kind, page) for page in pages
                   if (kind, page) not in self._cache and (kind, page) not in self._held)

    def close(self) -> None:
        """End the threads, and wait for the reads under way."""
        self._ended()
        for thread in self._threads:
            thread.wait()

    # ------------------------------------------------------------------------------------------------ one pass
    def _stream(self, kind: str, groups: Sequence[Sequence[int]]) -> Generator[list[tuple[int, PageViews]]]:
        here: list[Sequence[int]] = []
        rest: list[Sequence[int]] = []
        for group in groups:
            known = all((kind, page) in self._cache or (kind, page) in self._held for page in group)
            (here if known else rest).append(group)
        self._keep({(kind, page) for group in here for page in group})
        flight = _Flight(rest)
        self._ask(kind, flight)
        for part in _parts(here):
            self.reading.hits += len(part)
            yield self._views(kind, part)
            self._release(kind, part)
            self._ask(kind, flight)
        while flight.missing:
            begin = time.perf_counter()
            while not flight.complete:
                flight.arrived(self._next())
            while self._flying and not self._done.empty():
                flight.arrived(self._next())
            self.reading.seconds += time.perf_counter() - begin
            batch = flight.batch(max(1, self._most // 2))
            yield self._views(kind, batch)
            self._release(kind, batch)
            self._ask(kind, flight)

    def _keep(self, wanted: set[Key]) -> None:
        """Forget the pages in slots that the coming pass does not begin with; the slots of the others are not free."""
        self._held = {key: held for key, held in self._held.items() if key in wanted}
        kept = {slot for slot, _ in self._held.values()}
        self._free = deque(slot for slot in range(len(self._slots)) if slot not in kept)

    def _views(self, kind: str, pages: Sequence[int]) -> list[tuple[int, PageViews]]:
        found = []
        for page in pages:
            cached = self._cache.get((kind, page))
            found.append((page, self._held[kind, page][1] if cached is None else cached))
        return found

    def _release(self, kind: str, pages: Sequence[int]) -> None:
        """The pass needs pages no more: their buffers may be filled again, until then they stay for the next pass."""
        self._free.extend(self._held[kind, page][0] for page in pages if (kind, page) not in self._cache)

    def _ask(self, kind: str, flight: _Flight) -> None:
        """Have the next groups read, as far as there are buffers."""
        while (group := flight.next()) is not None:
            missing = [page for page in group if (kind, page) not in self._cache]
            if self._flying and self._flying + len(missing) > self._most:
                return
            if not self._fits(kind, missing):
                return
            flight.ask([(kind, page) for page in missing])
            for page in missing:
                self._request((kind, page))

    def _fits(self, kind: str, missing: Sequence[int]) -> bool:
        """Whether there are buffers for pages."""
        free, spare = len(self._free) + self._most - len(self._slots), self._left - self._reserved
        for page in missing:
            need = self._reader.nbytes(kind, page)
            if need <= spare:
                spare -= need
            else:
                free -= 1
        return free >= 0

    def _request(self, key: Key) -> None:
        """Have a page read: into a buffer that stays if the budget allows, else into a free buffer of the ring."""
        need, arena = self._reader.nbytes(*key), self.memory()
        if need <= self._left - self._reserved:
            self._left -= need
            end = len(self._slots) * self._largest + self._left
            request = Request(key, arena[end : end + need], -1)
        else:
            slot = self._slot()
            before = self._inside[slot]
            if before is not None and self._held.get(before, (-1,))[0] == slot:
                del self._held[before]
            self._inside[slot] = key
            request = Request(key, self._slots[slot][:need], slot)
        if not self._threads:
            self._begin()
        self._todo.put(request)
        self._flying += 1  # behind: after an interrupt in between, the ring must not wait for a read without a thread

    def _slot(self) -> int:
        """A free buffer of the ring; allocated if there is none."""
        if self._free:
            return self._free.popleft()
        begin = len(self._slots) * self._largest
        self._slots.append(self.memory()[begin : begin + self._largest])
        self._inside.append(None)
        self._left -= self._largest
        self._reserved -= self._largest
        return len(self._slots) - 1

    def _next(self) -> Key:
        """Wait for the next page to arrive. Raises its error."""
        if not any(thread.begun for thread in self._threads):  # the system grants no thread
            serve_one(self._todo.get(), self._done, self._reader)
        self._flying -= 1
        arrival = self._done.get()
        if arrival.views is None:
            assert arrival.error is not None
            raise arrival.error
        request = arrival.request
        self.reading.pages += 1
        self.reading.nbytes += arrival.nbytes
        if request.slot < 0:
            self._cache[request.key] = arrival.views
            self.cached += len(request.buffer)
        else:
            self._held[request.key] = request.slot, arrival.views
        return request.key

    def _drain(self) -> None:
        """Wait for the pages of an abandoned pass."""
        while self._flying and any(thread.begun for thread in self._threads):
            self._flying -= 1
            self._done.get()

    # ------------------------------------------------------------------------------------------------ buffers
    def _room_for(self, pages: int) -> None:
        """Make the ring large enough for a group of pages; pages of the cache give way."""
        more = (pages - self._most) * self._largest
        if more <= 0:
            return
        if self._left - self._reserved < more:
            self._left += self.cached
            self.cached = 0
            self._cache.clear()
        if self._left - self._reserved < more:
            need = pages * self._largest
            have = self._left + len(self._slots) * self._largest
            raise OutOfMemory(
                f"one row needs {pages} pages of up to {self._largest:,} bytes at once, and {have:,} bytes are left "
                f"for pages: give {need - have:,} bytes more memory, or write larger pages")
        self._most, self._reserved = pages, self._reserved + more

    def _begin(self) -> None:
        reads = partial(serve, self._todo, self._done, self._reader)
        for _ in range(self._readers):
            thread = Task(reads)
            self._threads.append(thread)
            if not thread.begin():
                break


class _Flight:
    """The groups of a pass that are read: those still to be asked for, under way, and complete."""

    def __init__(self, groups: Sequence[Sequence[int]]) -> None:
        self._groups = groups
        self._asked = 0
        self._owner: dict[Key, int] = {}
        self._pending: dict[int, int] = {}  # by group, its pages that have not arrived
        self.complete: deque[int] = deque()
        self.missing = len(groups)

    def next(self) -> Sequence[int] | None:
        """The next group to ask for."""
        return self._groups[self._asked] if self._asked < len(self._groups) else None

    def ask(self, keys: Sequence[Key]) -> None:
        """These pages of the next group are asked for; the others are there."""
        self._owner.update(dict.fromkeys(keys, self._asked))
        self._pending[self._asked] = len(keys)
        if not keys:
            self.complete.append(self._asked)
        self._asked += 1

    def arrived(self, key: Key) -> None:
        """A page has arrived."""
        at = self._owner.pop(key)
        self._pending[at] -= 1
        if not self._pending[at]:
            self.complete.append(at)

    def batch(self, most: int) -> list[int]:
        """The pages of complete groups, `most` of them unless the first group has more."""
        pages: list[int] = []
        while self.complete and (not pages or len(pages) + len(self._groups[self.complete[0]]) <= most):
            at = self.complete.popleft()
            del self._pending[at]
            pages += self._groups[at]
            self.missing -= 1
        return pages


def _parts(groups: Sequence[Sequence[int]]) -> Iterator[list[int]]:
    """Groups as batches of up to _TOGETHER pages."""
    part: list[int] = []
    for group in groups:
        if part and len(part) + len(group) > _TOGETHER:
            yield part
            part = []
        part += group
    if part:
        yield part
