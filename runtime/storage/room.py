"""Checks that memory is available before a large allocation, and out-of-memory errors that name the cause."""

from __future__ import annotations

import resource
from pathlib import Path

import numpy as np

from vlang.errors import OutOfMemory
from vlang.runtime.storage.available import available_bytes, in_bytes
from vlang.runtime.storage.ledger import ledger

__all__ = ["hold", "memory_named", "named", "out_of_memory", "require_address_space", "require_room"]

_ADVICE = ("end other programs, read fewer edge columns, or use a machine with more memory; reading a graph that "
           "`vlang convert` saved takes less")  # fmt: skip


def require_room(need: int, what: str) -> None:
    """Raise OutOfMemory if this process may not take `need` more bytes.

    `what` names the operation that needs these bytes, as the subject of a sentence.
    """
    have, limited = _available()
    if have is not None and need > have:
        raise out_of_memory(f"{what} needs {in_bytes(need)}", have, limited)


def hold(size: int, what: str) -> object:
    """Reserve `size` bytes of the budget for memory that a library allocates, as long as the returned object lives.

    The object is an array of `size` bytes that is never written. Without a budget, the memory of the machine is checked
    instead. `what` names the operation, as the subject of a sentence. Raises OutOfMemory.
    """
    if ledger.limit is None:
        require_room(size, what)
        return None
    try:
        return np.empty(size, np.uint8)
    except MemoryError:
        error = ledger.refusal()
        raise type(error)(f"{what} takes {size >> 20:,} MiB: {error}") from None


def require_address_space(need: int, what: str) -> None:
    """Raise OutOfMemory if a limit on address space leaves fewer than `need` bytes.

    The check is for libraries that abort the process if address space is short. `what` names the operation that needs
    the bytes, as the subject of a sentence.
    """
    if resource.getrlimit(resource.RLIMIT_AS)[0] != resource.RLIM_INFINITY:
        require_room(need, what)


def out_of_memory(need: str, have: int | None = None, limited: bool = False) -> OutOfMemory:
    """An error that says what is needed and what is available, and gives advice.

    Args:
        need: a clause that says what is needed.
        have: the number of bytes that are available; None to ask the system.
        limited: whether `have` is due to a limit on address space (ulimit -v).
    """
    if have is None:
        have, limited = _available()
    there = "the system does not say what is available" if have is None else f"{in_bytes(have)} are available"
    if limited:
        return OutOfMemory(f"out of memory: {need}, and {there} under the limit on address space: raise it (ulimit -v)")
    return OutOfMemory(f"out of memory: {need}, and {there}: {_ADVICE}")


def memory_named(what: str) -> _MemoryNamed:
    """A context that turns a MemoryError into an OutOfMemory that names `what` and the bytes needed."""
    return _MemoryNamed(what)


class _MemoryNamed:
    """The context of `memory_named`.

    The context is a class because every call of a program enters the context twice, and a generator takes three times
    as long.
    """

    __slots__ = ("_what",)

    def __init__(self, what: str) -> None:
        self._what = what

    def __enter__(self) -> None:
        """Do nothing."""

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        """Raise OutOfMemory in place of a MemoryError."""
        if isinstance(error, MemoryError):
            raise named(error, self._what) from None


def named(error: MemoryError, what: str) -> OutOfMemory:
    """Turn a MemoryError into an OutOfMemory that names `what` and the bytes needed.

    An OutOfMemory is returned unchanged. Under a budget the result is the error of the ledger.
    """
    if ledger.limit is not None and not isinstance(error, OutOfMemory):
        return ledger.refusal()
    return error if isinstance(error, OutOfMemory) else out_of_memory(f"{what} needs {_need(error)}")


def _need(error: MemoryError) -> str:
    """The bytes that the failed allocation needed, as text, if the error has the shape and dtype of an array."""
    shape, dtype = getattr(error, "shape", None), getattr(error, "dtype", None)
    if shape is None or dtype is None:
        return "more memory" + (f" ({error})" if str(error) else "")
    count = dtype.itemsize
    for size in shape:
        count *= size
    return f"{in_bytes(count)} more for one array"


def _available() -> tuple[int | None, bool]:
    """The bytes that this process may still take, or None, and whether a limit on address space determines them."""
    free = available_bytes()
    most = resource.getrlimit(resource.RLIMIT_AS)[0]
    if most == resource.RLIM_INFINITY:
        return free, False
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    except OSError:
        return free, False
    left = max(0, most - pages * resource.getpagesize())
    return (left, True) if free is None or left < free else (free, False)
