"""Worker threads that read pages into aligned buffers, in the order of the requests of a ring, and check these pages.

Reading threads only read, so that the disk always has the next request. Checks take processor time, and the processors
also run the kernels of a pass. Therefore the checking threads have a lower priority: they use the time that kernels
leave. A run that waits for a page checks pages itself, so that its progress does not depend on these threads.

A run of few threads that works ahead (`Ring.stream`) checks all of its pages itself, while other threads run its
kernels. A thread of low priority that holds the lock of the interpreter stops the reading threads and the run, when
kernels use all processors. With more threads, kernels wait for the disk, and several threads check
pages faster than one."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from contextlib import suppress
from queue import Empty, SimpleQueue
from threading import get_native_id
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from vlang.records import dataclass
from vlang.runtime.threads.activity import timed
from vlang.runtime.threads.tasks import Task

__all__ = [
    "Arrival", "Buffer", "Check", "Key", "PageReader", "PageViews", "Read", "Request", "check", "check_all",
    "end_threads", "serve", "serve_one",
]

_NICER = 10  # by which the nice value of a checking thread exceeds that of the run

Key = tuple[str, int]
Buffer = NDArray[np.uint8]


class PageViews(Protocol):
    """The arrays of a page as views of a buffer: page-relative offsets, targets, and the stored edge columns."""

    @property
    def offsets(self) -> NDArray[np.uint32]: ...
    @property
    def targets(self) -> NDArray[np.uint32]: ...
    @property
    def columns(self) -> Any: ...


class PageReader(Protocol):
    """A reader of the pages of one graph, which several threads call at the same time."""

    def nbytes(self, kind: str, page: int) -> int:
        """The size of a page in bytes, a multiple of PAGE."""

    def read(self, kind: str, page: int, buffer: Buffer) -> tuple[Check, int]:
        """Read a page into an aligned buffer of `nbytes` bytes.

        Returns the function that checks the page, and the number of bytes read from disk. Raises DiskError and
        GraphError.
        """


Check = Callable[[], PageViews]
"""A function that checks every byte of a page in a buffer, and returns views of the buffer. Raises GraphError."""


@dataclass(frozen=True)
class Request:
    """A request to read a page into `buffer`.

    Attributes:
        slot: the number of the buffer in the ring, or -1 for the cache.
        own: whether the run checks the page itself.
    """

    key: Key
    buffer: Buffer
    slot: int
    own: bool


@dataclass(frozen=True)
class Arrival:
    """The result of a request: a page that was read, or an error.

    Attributes:
        request: the request.
        views: the arrays of the page; None after an error.
        nbytes: the number of bytes read from disk.
        error: the error of the read, or None.
    """

    request: Request
    views: PageViews | None
    nbytes: int
    error: BaseException | None


@dataclass(frozen=True)
class Read:
    """A page that was read and is not checked yet: its request, its check, and the number of bytes read from disk."""

    request: Request
    check: Check
    nbytes: int


def serve(
    todo: SimpleQueue[Request | None], read: SimpleQueue[Read | None], done: SimpleQueue[Arrival | Read | None],
    reader: PageReader,
) -> None:  # fmt: skip
    """The loop of a reading thread: serve the requests in `todo` until a request is None.

    The loop holds no reference to the ring, so that a ring without other references is freed. When the loop ends, it
    ends a checking thread.

    Args:
        todo: the requests.
        read, done: as for `serve_one`.
        reader: reads the pages.
    """
    while (request := todo.get()) is not None:
        serve_one(request, read, done, reader)
    read.put(None)


def serve_one(
    request: Request, read: SimpleQueue[Read | None], done: SimpleQueue[Arrival | Read | None], reader: PageReader
) -> None:
    """Read the page of one request.

    Args:
        request: the request.
        read: output, the page; nothing after an error, or if the run checks the page itself.
        done: output, the page if the run checks it itself; otherwise None, which wakes a run that waits; or the error.
        reader: reads the page.
    """
    try:
        kind, number = request.key
        with timed("read", f"page {number}", adjacency=kind) as about:
            found, nbytes = reader.read(kind, number, request.buffer)
            about["bytes"] = nbytes
        page = Read(request, found, nbytes)
        if not request.own:
            read.put(page)
        done.put(page if request.own else None)
    except BaseException as error:
        done.put(Arrival(request, None, 0, error))


def check_all(read: SimpleQueue[Read | None], done: SimpleQueue[Arrival | Read | None]) -> None:
    """The loop of a checking thread: check the pages in `read` until a page is None."""
    if sys.platform == "linux":  # elsewhere a thread has no priority of its own
        with suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, get_native_id(), os.getpriority(os.PRIO_PROCESS, 0) + _NICER)
    while (page := read.get()) is not None:
        done.put(check(page))


def check(page: Read) -> Arrival:
    """Check a page that was read."""
    kind, number = page.request.key
    try:
        with timed("check", f"page {number}", adjacency=kind):
            return Arrival(page.request, page.check(), page.nbytes, None)
    except BaseException as error:
        return Arrival(page.request, None, 0, error)


def end_threads(todo: SimpleQueue[Request | None], threads: list[Task[None]]) -> None:
    """Let the reading threads `threads` end after the reads in progress, and then the checking threads.

    Requests that no thread has begun are dropped.
    """
    with suppress(Empty):
        while True:
            todo.get_nowait()
    for _ in threads:
        todo.put(None)
