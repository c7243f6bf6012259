"""Worker threads that read pages into aligned buffers, in the order of the requests of a ring."""

from __future__ import annotations

from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from vlang.records import dataclass
from vlang.runtime.threads.activity import timed
from vlang.runtime.threads.tasks import Task

__all__ = [
    "Arrival", "Buffer", "Key", "PageReader", "PageViews", "Request", "end_threads", "serve", "serve_one",
]

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

    def read(self, kind: str, page: int, buffer: Buffer) -> tuple[PageViews, int]:
        """Read a page into an aligned buffer of `nbytes` bytes, and check it.

        Returns views of the buffer, and the number of bytes read from disk. Raises DiskError and GraphError.
        """


@dataclass(frozen=True)
class Request:
    """A request to read a page into `buffer`; `slot` is the number of the buffer in the ring, or -1 for the cache."""

    key: Key
    buffer: Buffer
    slot: int


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


def serve(todo: SimpleQueue[Request | None], done: SimpleQueue[Arrival], reader: PageReader) -> None:
    """The loop of a reading thread: serve the requests in `todo` until a request is None.

    The loop holds no reference to the ring, so that a ring without other references is freed.
    """
    while serve_one(todo.get(), done, reader):
        pass


def serve_one(request: Request | None, done: SimpleQueue[Arrival], reader: PageReader) -> bool:
    """Serve one request, and put the page or the error into `done`; returns False if the request is None."""
    if request is None:
        return False
    try:
        kind, page = request.key
        with timed("read", f"page {page}", adjacency=kind) as about:
            views, nbytes = reader.read(kind, page, request.buffer)
            about["bytes"] = nbytes
        done.put(Arrival(request, views, nbytes, None))
    except BaseException as error:
        done.put(Arrival(request, None, 0, error))
    return True


def end_threads(todo: SimpleQueue[Request | None], threads: list[Task[None]]) -> None:
    """Let the threads end after the reads in progress; requests that no thread has begun are dropped."""
    with suppress(Empty):
        while True:
            todo.get_nowait()
    for _ in threads:
        todo.put(None)
