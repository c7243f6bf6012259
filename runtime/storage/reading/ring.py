"""A ring of aligned buffers, into which reading threads prefetch pages from disk for the passes of a run.

A pass requests groups of pages, in any order, and all pages of a group are delivered together. Some of the requested
pages are in memory already: in the cache, which keeps pages until the end of the run, or in buffers that still hold
pages of the previous pass. Therefore pages that fit into the budget are read once, and if half of a graph fits, a pass
reads only the other half.

A pass begins with the pages that the previous pass left in the ring, because their buffers are needed for new reads.
The pages in the cache are delivered when no page has arrived from the disk, so that a pass seldom waits for the disk.

A caller can work ahead: it works on a batch while the ring prepares the next one. With few processors this matters,
because the other threads of the caller then never wait for this code, which runs between two batches.

Requests, pages and checked pages are passed through three `SimpleQueue`s. Each operation of a `SimpleQueue` is one
built-in call, so an interrupt, which Python raises in the main thread, leaves no lock held. A request holds a reference
to its buffer, which therefore stays alive during the read.
"""

from __future__ import annotations

import time
import weakref
from collections import deque
from collections.abc import Generator, Iterable, Sequence
from contextlib import suppress
from functools import partial
from queue import Empty, SimpleQueue

from vlang.errors import InternalError, OutOfMemory
from vlang.records import dataclass
from vlang.runtime.storage.memory import PAGE, page_aligned
from vlang.runtime.storage.reading.page_reader import (
    Arrival,
    Buffer,
    Key,
    PageReader,
    PageViews,
    Read,
    Request,
    check,
    check_all,
    end_threads,
    serve,
    serve_one,
)
from vlang.runtime.threads.tasks import Task

__all__ = ["LEAST_BUFFERS", "Reading", "Ring"]

LEAST_BUFFERS = 2
_BUFFERS = 8  # buffers of a ring, if the budget allows; a pass finds the pages that the last one left in them
_READERS = 2
_TOGETHER = 64  # maximum number of pages in a batch of pages in memory, unless a single group has more


@dataclass
class Reading:
    """Counters of a ring.

    Attributes:
        pages: the pages read from disk.
        nbytes: the bytes read from disk.
        hits: the pages delivered that were in memory already.
        seconds: the time for which passes waited for pages.
    """

    pages: int = 0
    nbytes: int = 0
    hits: int = 0
    seconds: float = 0.0


class Ring:
    """A ring of page buffers, and a cache of pages, in memory of a fixed size.

    Args:
        reader: reads pages.
        largest: the size of the largest page in bytes.
        budget: bytes for buffers and cache, at least LEAST_BUFFERS times `largest`.
        readers: the number of reading threads, and of checking threads.
        buffers: the maximum number of buffers in the ring; None for as many as are useful. The rest of the budget is
            the cache, which keeps pages until the end of the run.
        own: whether a run that works ahead checks its pages itself.

    Attributes:
        reading: counters of the pages read so far.
        cached: the bytes of the pages in the cache.

    Raises OutOfMemory if the budget is too small.
    """

    def __init__(self, reader: PageReader, largest: int, budget: int, readers: int = _READERS,
                 buffers: int | None = None, own: bool = True) -> None:
        if budget < LEAST_BUFFERS * largest:
            raise OutOfMemory(f"{budget:,} bytes are too few to stream pages of up to {largest:,} bytes: "
                              f"{LEAST_BUFFERS * largest:,} are needed")
        self.reading = Reading()
        self._reader, self._largest, self._readers, self._own = reader, largest, readers, own
        self._budget = budget // PAGE * PAGE
        self._arena: Buffer | None = None  # buffers of the ring from its beginning, the cache from its end
        self._left = self._budget  # bytes that neither the ring nor the cache has taken yet
        self._most = max(LEAST_BUFFERS, min(buffers or _BUFFERS, budget // max(1, largest)))
        self._reserved = self._most * largest  # bytes of `_left` that are reserved for buffers of the ring
        self._slots: list[Buffer] = []
        self._inside: list[Key | None] = []  # by slot, the page in it
        self._free: deque[int] = deque()
        self._held: dict[Key, tuple[int, PageViews]] = {}  # by page, its slot and its arrays
        self._cache: dict[Key, PageViews] = {}
        self.cached = 0
        self._flying = 0
        self._broken = False
        self._todo: SimpleQueue[Request | None] = SimpleQueue()
        self._read: SimpleQueue[Read | None] = SimpleQueue()
        self._done: SimpleQueue[Arrival | Read | None] = SimpleQueue()  # None says that a page waits in `_read`
        self._threads: list[Task[None]] = []
        self._checkers: list[Task[None]] = []
        self._ended = weakref.finalize(self, end_threads, self._todo, self._threads)

    def stream(
        self, kind: str, groups: Sequence[Sequence[int]], ahead: bool = False
    ) -> Generator[list[tuple[int, PageViews]]]:
        """Deliver pages in batches. The pages of a batch are valid until the next batch is requested.

        Args:
            kind: the adjacency direction.
            groups: lists of page numbers. All pages of a group are delivered in the same batch; a page is in one group.
            ahead: whether a batch stays valid until the next but one is requested, so that the caller works on a batch
                while it requests the next one. Before a wait the ring delivers an empty batch, and the caller must
                finish its work before it goes on.

        Raises the DiskError or GraphError of the first page that cannot be read, and OutOfMemory if a group is larger
        than the budget.
        """
        if self._broken:
            raise InternalError("pages are asked for after a failed pass")
        self._room_for(max(map(len, groups), default=0))
        try:
            yield from self._stream(kind, groups, ahead)
        except GeneratorExit:
            self._broken = True
            raise
        except BaseException:
            self._broken = True  # after an interrupt `_flying` may be wrong, and a buffer may be missing in `_free`
            raise
        finally:
            self._drain()

    def memory(self) -> Buffer:
        """The memory that pages are read into, uint8[budget]; allocated on first use. Raises MemoryError."""
        if self._arena is None:
            self._arena = page_aligned(self._budget)
        return self._arena

    def missing(self, kind: str, pages: Iterable[int]) -> int:
        """The total size in bytes of those `pages` that are not in memory."""
        return sum(self._reader.nbytes(kind, page) for page in pages
                   if (kind, page) not in self._cache and (kind, page) not in self._held)

    def close(self) -> None:
        """End the threads, and wait for the reads in progress."""
        self._ended()
        for thread in (*self._threads, *self._checkers):
            thread.wait()

    # ------------------------------------------------------------------------------------------------ one pass
    def _stream(
        self, kind: str, groups: Sequence[Sequence[int]], ahead: bool
    ) -> Generator[list[tuple[int, PageViews]]]:
        held: list[Sequence[int]] = []  # groups with pages in buffers of the ring, and groups in the cache
        kept: list[Sequence[int]] = []
        rest: list[Sequence[int]] = []
        for group in groups:
            known = all((kind, page) in self._cache or (kind, page) in self._held for page in group)
            cached = known and all((kind, page) in self._cache for page in group)
            (kept if cached else held if known else rest).append(group)
        self._keep({(kind, page) for group in held for page in group})
        here, flight = deque((*held, *kept)), _Flight(rest)
        most, used = max(1, self._most // (3 if ahead else 2)), list[int]()  # `used`: the batch that is still in use
        own = ahead and self._own
        while here or flight.missing:
            self._ask(kind, flight, own)
            self._take(flight, not here and not used, 1 if own and not used else most)
            if not here and not flight.complete:
                yield []
                self._release(kind, used)
                used = []
                continue
            if flight.complete:
                batch = flight.batch(most)
            else:
                batch = _together(here, max(1, self._flying) if flight.missing else _TOGETHER)
                self.reading.hits += len(batch)
            yield self._views(kind, batch)
            self._release(kind, used if ahead else batch)
            used = batch if ahead else []

    def _take(self, flight: _Flight, wait: bool, most: int) -> None:
        """Take pages that have arrived, until `most` groups are complete; if `wait`, wait until a group is complete."""
        begin = time.perf_counter()
        while wait and not flight.complete:
            self._flying -= 1
            flight.arrived(self._entered(self._arrival()))
        self.reading.seconds += time.perf_counter() - begin
        while self._flying and len(flight.complete) < most and not self._done.empty():
            if (arrival := self._done.get()) is not None:
                self._flying -= 1
                flight.arrived(self._entered(check(arrival) if isinstance(arrival, Read) else arrival))

    def _keep(self, wanted: set[Key]) -> None:
        """Begin a pass: the slots of the pages in `wanted` stay occupied, and all other slots become free."""
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
        """Free the slots of pages that the pass has processed; a page stays usable until its slot is filled again."""
        self._free.extend(self._held[kind, page][0] for page in pages if (kind, page) not in self._cache)

    def _ask(self, kind: str, flight: _Flight, own: bool) -> None:
        """Request the next groups, as long as there are free buffers for a whole group."""
        while (group := flight.next()) is not None:
            missing = [page for page in group if (kind, page) not in self._cache]
            if self._flying and self._flying + len(missing) > self._most:
                return
            if not self._fits(kind, missing):
                return
            flight.ask([(kind, page) for page in missing])
            for page in missing:
                self._request((kind, page), own)

    def _fits(self, kind: str, missing: Sequence[int]) -> bool:
        """Return whether there are free buffers, or space in the cache, for all of the pages `missing`."""
        free, spare = len(self._free) + self._most - len(self._slots), self._left - self._reserved
        for page in missing:
            need = self._reader.nbytes(kind, page)
            if need <= spare:
                spare -= need
            else:
                free -= 1
        return free >= 0

    def _request(self, key: Key, own: bool) -> None:
        """Request a page: into the cache if it has space, otherwise into a free buffer of the ring."""
        need, arena = self._reader.nbytes(*key), self.memory()
        if need <= self._left - self._reserved:
            self._left -= need
            end = len(self._slots) * self._largest + self._left
            request = Request(key, arena[end : end + need], -1, own)
        else:
            slot = self._slot()
            before = self._inside[slot]
            if before is not None and self._held.get(before, (-1,))[0] == slot:
                del self._held[before]
            self._inside[slot] = key
            request = Request(key, self._slots[slot][:need], slot, own)
        if not self._threads:
            self._begin()
        self._todo.put(request)
        self._flying += 1  # last, so that after an interrupt the ring waits for no read without a thread

    def _slot(self) -> int:
        """Take a free slot of the ring, or add a slot; returns the number of the slot."""
        if self._free:
            return self._free.popleft()
        begin = len(self._slots) * self._largest
        self._slots.append(self.memory()[begin : begin + self._largest])
        self._inside.append(None)
        self._left -= self._largest
        self._reserved -= self._largest
        return len(self._slots) - 1

    def _arrival(self) -> Arrival:
        """Wait until a page has been read and checked. The caller checks a page itself if one is waiting."""
        if not any(thread.begun for thread in self._threads):  # the system could not start a thread
            request = self._todo.get()
            assert request is not None
            serve_one(request, self._read, self._done, self._reader)
        while True:
            if self._done.empty():
                with suppress(Empty):
                    page = self._read.get_nowait()
                    if page is not None:
                        return check(page)
            arrival = self._done.get()
            if arrival is not None:
                return check(arrival) if isinstance(arrival, Read) else arrival

    def _entered(self, arrival: Arrival) -> Key:
        """Enter a page into the table of its buffer, and return its key. Raises the error of the read."""
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
        """Wait for the reads in progress after a pass was abandoned."""
        while self._flying and any(thread.begun for thread in self._threads):
            self._flying -= 1
            self._arrival()

    # ------------------------------------------------------------------------------------------------ buffers
    def _room_for(self, pages: int) -> None:
        """Make the ring large enough for a group of `pages` pages, and empty the cache if necessary."""
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
        reads = partial(serve, self._todo, self._read, self._done, self._reader)
        checks = partial(check_all, self._read, self._done)
        for _ in range(self._readers):
            thread = Task(reads)
            self._threads.append(thread)
            if not thread.begin():
                break
            self._checkers.append(Task(checks))
            self._checkers[-1].begin()


class _Flight:
    """The groups of a pass that must be read: groups not yet requested, in progress, and complete."""

    def __init__(self, groups: Sequence[Sequence[int]]) -> None:
        self._groups = groups
        self._asked = 0
        self._owner: dict[Key, int] = {}
        self._pending: dict[int, int] = {}  # by group, the number of its requested pages that have not arrived
        self.complete: deque[int] = deque()
        self.missing = len(groups)

    def next(self) -> Sequence[int] | None:
        """The next group to request; None after the last group."""
        return self._groups[self._asked] if self._asked < len(self._groups) else None

    def ask(self, keys: Sequence[Key]) -> None:
        """Record that the pages `keys` of the next group are requested; the other pages of the group are in memory."""
        self._owner.update(dict.fromkeys(keys, self._asked))
        self._pending[self._asked] = len(keys)
        if not keys:
            self.complete.append(self._asked)
        self._asked += 1

    def arrived(self, key: Key) -> None:
        """Record that a page has been read."""
        at = self._owner.pop(key)
        self._pending[at] -= 1
        if not self._pending[at]:
            self.complete.append(at)

    def batch(self, most: int) -> list[int]:
        """Take complete groups, with at most `most` pages unless the first group has more; returns their pages."""
        pages: list[int] = []
        while self.complete and (not pages or len(pages) + len(self._groups[self.complete[0]]) <= most):
            at = self.complete.popleft()
            del self._pending[at]
            pages += self._groups[at]
            self.missing -= 1
        return pages


def _together(groups: deque[Sequence[int]], most: int) -> list[int]:
    """Take groups from the left, with at most `most` pages unless the first group has more; returns their pages."""
    pages = [*groups.popleft()]
    while groups and len(pages) + len(groups[0]) <= most:
        pages += groups.popleft()
    return pages
