"""Memory that is asked for before it is taken, and errors that name it."""

from __future__ import annotations

import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from vlang.errors import OutOfMemory
from vlang.runtime.storage.available import available_bytes, in_bytes
from vlang.runtime.storage.ledger import ledger

__all__ = ["memory_named", "named", "out_of_memory", "require_address_space", "require_room"]

_ADVICE = ("end other programs, read fewer edge columns, or use a machine with more memory; reading a graph that "
           "`vlang convert` saved takes less")  # fmt: skip


def require_room(need: int, what: str) -> None:
    """Raise OutOfMemory if `need` bytes are more than what this process may still take.

    what: that needs them, as the beginning of a sentence.
    """
    have, limited = _available()
    if have is not None and need > have:
        raise out_of_memory(f"{what} needs {in_bytes(need)}", have, limited)


def require_address_space(need: int, what: str) -> None:
    """Raise OutOfMemory if a limit on address space leaves fewer than `need` bytes; for libraries that abort then.

    what: that needs them, as the beginning of a sentence.
    """
    if resource.getrlimit(resource.RLIMIT_AS)[0] != resource.RLIM_INFINITY:
        require_room(need, what)


def out_of_memory(need: str, have: int | None = None, limited: bool = False) -> OutOfMemory:
    """The error that names the need, what is there, and what to try.

    Args:
        need: a clause.
        have: bytes that are available; None asks the system.
        limited: whether that is a limit on address space.
    """
    if have is None:
        have, limited = _available()
    there = "the system does not say what is available" if have is None else f"{in_bytes(have)} are available"
    if limited:
        return OutOfMemory(f"out of memory: {need}, and {there} under the limit on address space: raise it (ulimit -v)")
    return OutOfMemory(f"out of memory: {need}, and {there}: {_ADVICE}")


@contextmanager
def memory_named(what: str) -> Iterator[None]:
    """A MemoryError of NumPy, Python or the system inside becomes an OutOfMemory that names `what` and the need."""
    try:
        yield
    except MemoryError as error:
        raise named(error, what) from None


def named(error: MemoryError, what: str) -> OutOfMemory:
    """Turn a MemoryError into an OutOfMemory that names `what` and the need; an OutOfMemory is returned unchanged."""
    if ledger.limit is not None and not isinstance(error, OutOfMemory):
        return ledger.refusal()
    return error if isinstance(error, OutOfMemory) else out_of_memory(f"{what} needs {_need(error)}")


def _need(error: MemoryError) -> str:
    """The bytes that an error is about, as far as it says."""
    shape, dtype = getattr(error, "shape", None), getattr(error, "dtype", None)
    if shape is None or dtype is None:
        return "more memory" + (f" ({error})" if str(error) else "")
    count = dtype.itemsize
    for size in shape:
        count *= size
    return f"{in_bytes(count)} more for one array"


def _available() -> tuple[int | None, bool]:
    """(bytes that this process may still take, whether a limit on address space says so)."""
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
