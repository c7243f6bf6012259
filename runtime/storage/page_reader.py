"""Threads that read pages into aligned buffers, as a ring orders them."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from vlang.runtime.threads.tasks import Task

__all__ = [
    "Arrival", "Buffer", "Key", "PageReader", "PageViews", "Request", "end_threads", "serve", "serve_one",
]

Key = tuple[str, int]
Buffer = NDArray[np.uint8]


class PageViews(Protocol):
    """A page in a buffer: uint32 page-relative offsets, uint32 targets, and the columns as stored."""

    @property
    def offsets(self) -> NDArray[np.uint32]: ...
    @property
    def targets(self) -> NDArray[np.uint32]: ...
    @property
    def columns(self) -> Any: ...


class PageReader(Protocol):
    """Reads pages of one graph; several threads call it at the same time."""

    def nbytes(self, kind: str, page: int) -> int:
        """Bytes of a page, a multiple of PAGE."""

    def read(self, kind: str, page: int, buffer: Buffer) -> tuple[PageViews, int]:
        """Fill an aligned buffer of `nbytes` bytes with a page, and check it.

        Returns views into the buffer, and how many bytes were read from disk. Raises DiskError, GraphError.
        """


@dataclass(frozen=True)
class Request:
    """A page to read into the beginning of `buffer`; `slot` is the number of that buffer, -1 for one of the cache."""

    key: Key
    buffer: Buffer
    slot: int


@dataclass(frozen=True)
class Arrival:
    """A page that was read, or the error.

    Attributes:
        request: what was asked for.
        views: the arrays of the page; None after an error.
        nbytes: read from disk.
        error: why it could not be read, or None.
    """

    request: Request
    views: PageViews | None
    nbytes: int
    error: BaseException | None


def serve(todo: SimpleQueue[Request | None], done: SimpleQueue[Arrival], reader: PageReader) -> None:
    """Read pages until None is asked for. It refers to no ring, so that a ring without other references is freed."""
    while serve_one(todo.get(), done, reader):
        pass


def serve_one(request: Request | None, done: SimpleQueue[Arrival], reader: PageReader) -> bool:
    """Read one page, or deliver the error; False if None is asked for."""
    if request is None:
        return False
    try:
        done.put(Arrival(request, *reader.read(*request.key, request.buffer), None))
    except BaseException as error:
        done.put(Arrival(request, None, 0, error))
    return True


def end_threads(todo: SimpleQueue[Request | None], threads: list[Task[None]]) -> None:
    """Have the threads end after the reads under way; reads that no thread has begun are left out."""
    with suppress(Empty):
        while True:
            todo.get_nowait()
    for _ in threads:
        todo.put(None)
