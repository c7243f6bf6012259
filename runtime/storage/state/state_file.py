"""State files (checkpoints): a description and arrays in a file. Checksums cover every byte.

A file begins with 64 bytes: magic (8 bytes), version of the layout (u64), length of the description (u64), BLAKE2b-256
of the description, and zeros. The description follows as JSON. Then the arrays follow, and each array begins at a
multiple of 4096 bytes. The description has two items: "about" belongs to the caller, and "arrays" is a list of [name,
dtype, entries, first byte, BLAKE2b-128]. No part of a state file is unpickled, and every number in a file is compared
with the file's size before use.

There are two kinds of images of a state. An `Image` is a copy in memory, which another thread writes to a file. A
`FileImage` is a copy in the file itself, for states whose arrays are in files (`windows`) because memory is short.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
import stat
import struct
import weakref
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from vlang.records import dataclass
from vlang.runtime.storage.memory import PAGE, empty, page_aligned
from vlang.runtime.storage.state.remote import Remote, in_memory
from vlang.runtime.storage.state.windows import Windows, in_parts
from vlang.runtime.threads.workers import on_threads

__all__ = ["Damaged", "FileImage", "Foreign", "Image", "StateFile", "StateSource", "digest", "write_image"]

_MAGIC = b"vlangST\n"
_VERSION = 1
_HEAD = struct.Struct("<8sQQ32s8x")  # 64 bytes
_MOST = 64 << 20  # bytes: the maximum length of a description
_CHUNK = 4 << 20  # bytes of one write, and of one task of a copy
_READ = 1 << 18  # bytes that are read at a time to compute the checksums of a file
_DTYPES = frozenset({"i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8"})
_ENTRY = (str, str, int, int, str)


class Damaged(Exception):
    """A state file whose bytes differ from the bytes that were written. The message says how the damage was
    detected.
    """


class Foreign(Exception):
    """A file that is not a state file, or has another version of the layout. The message gives the reason."""


def digest(array: NDArray[Any]) -> str:
    """The BLAKE2b-128 of the bytes of an array, in hexadecimal."""
    return hashlib.blake2b(np.ascontiguousarray(array).view(np.uint8).reshape(-1).data, digest_size=16).hexdigest()


def _up(size: int) -> int:
    return -(-size // PAGE) * PAGE


class _Layout:
    """The description of a state file: the caller's part, and the position and the checksum of every array.

    The checksums are zeros until the caller stores them as item 4 of each entry.
    """

    def __init__(self, about: Mapping[str, Any], arrays: Mapping[str, NDArray[Any] | Remote]) -> None:
        self._about = about
        self.entries: list[list[Any]] = [
            [name, f"{array.dtype.kind}{array.dtype.itemsize}", len(array), 1 << 62, "0" * 32]
            for name, array in arrays.items()]  # 1 << 62: as many digits as an offset has
        self.begin = at = _up(_HEAD.size + len(self._text()))
        for entry, array in zip(self.entries, arrays.values()):
            entry[3] = at
            at = _up(at + array.nbytes)
        self.size = at

    def head(self) -> bytes:
        """The bytes of the file before the first array: `begin` bytes."""
        text = self._text()
        head = _HEAD.pack(_MAGIC, _VERSION, len(text), hashlib.blake2b(text, digest_size=32).digest()) + text
        return head.ljust(self.begin, b"\0")

    def _text(self) -> bytes:
        return json.dumps({"about": self._about, "arrays": self.entries}).encode("ascii")


class Image:
    """The bytes of a state file in memory. The constructor copies the arrays, and `sealed` computes the checksums.

    Args:
        about: the caller's part of the description, of types that JSON supports.
        arrays: one-dimensional arrays by name. Remote arrays are copied straight into the image.
        buffer: uint8, the buffer of an earlier image, which is reused if it is large enough; or None.
        threads: the number of threads that copy the arrays.

    Attributes:
        size: the size of the file in bytes.
        buffer: uint8, at least `size` entries, at an address that is a multiple of PAGE.
    """

    def __init__(
        self, about: Mapping[str, Any], arrays: Mapping[str, NDArray[Any] | Remote],
        buffer: NDArray[np.uint8] | None = None, threads: int = 1,
    ) -> None:
        self._layout = _Layout(about, arrays)
        self.size = at = self._layout.size
        self.buffer = page_aligned(at + at // 16) if buffer is None or len(buffer) < at else buffer  # spare space
        self.buffer[: _HEAD.size] = 0
        self._copy(list(arrays.values()), threads)

    def _copy(self, arrays: Sequence[NDArray[Any] | Remote], threads: int) -> None:
        parts: list[tuple[NDArray[np.uint8], NDArray[np.uint8]]] = []
        for entry, array in zip(self._layout.entries, arrays):
            first, last = int(entry[3]), int(entry[3]) + array.nbytes
            self.buffer[last : _up(last)] = 0
            if isinstance(array, Remote):
                array.fetch(self.buffer[first:last].view(array.dtype))
                continue
            source = np.ascontiguousarray(array).view(np.uint8)
            for low in range(0, len(source), _CHUNK):
                high = min(len(source), low + _CHUNK)
                parts.append((self.buffer[first + low : first + high], source[low:high]))
        if len(parts) > 1:
            on_threads(threads, lambda part: np.copyto(*part), parts)
        else:
            for part in parts:
                np.copyto(*part)

    def sealed(self) -> NDArray[np.uint8]:
        """Compute the checksums, and return the bytes of the file, uint8[size]."""
        for entry in self._layout.entries:
            _, dtype, count, first, _ = entry
            entry[4] = digest(self.buffer[first : first + count * np.dtype(dtype).itemsize])
        self.buffer[: self._layout.begin] = np.frombuffer(self._layout.head(), np.uint8)
        return self.buffer[: self.size]

    def write(self, path: Path, stop: Callable[[], bool] = lambda: False) -> bool:
        """Write the file; arguments and result as for `write_image`. Raises OSError."""
        return write_image(path, self.sealed(), stop)


class FileImage:
    """A copy of a state in the state file itself. The constructor copies the arrays, and `write` completes the file.

    The constructor reserves the disk space first. The constructor takes no memory for the arrays, and releases each
    window of an array that it has copied. An error of the constructor removes the file.

    Args:
        about: the caller's part of the description, of types that JSON supports.
        arrays: one-dimensional arrays by name.
        path: the file to create or overwrite.
        windows: holds the arrays over vertices.

    Raises OSError.
    """

    def __init__(
        self, about: Mapping[str, Any], arrays: Mapping[str, NDArray[Any] | Remote], path: Path, windows: Windows,
    ) -> None:
        self._layout = _Layout(about, arrays)
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        self._close = weakref.finalize(self, os.close, self._file)
        try:
            os.posix_fallocate(self._file, 0, self._layout.size)
            for entry, array in zip(self._layout.entries, arrays.values()):
                at = int(entry[3])
                for part in in_parts(windows, in_memory(array)):
                    _write(self._file, np.ascontiguousarray(part).view(np.uint8), at)
                    at += part.nbytes
        except BaseException:  # also for an interrupt
            self._close()
            os.unlink(path)
            raise

    def write(self, path: Path, stop: Callable[[], bool] = lambda: False) -> bool:
        """Compute the checksums from the file, write the description, and flush the file to the disk.

        Args:
            path: the file, as given to the constructor.
            stop: called before each read; if it returns True, the file stays incomplete.

        Returns whether the file is complete. Raises OSError.
        """
        try:
            for entry in self._layout.entries:
                found = self._digest(int(entry[3]), entry[2] * np.dtype(entry[1]).itemsize, stop)
                if found is None:
                    return False
                entry[4] = found
            _write(self._file, np.frombuffer(self._layout.head(), np.uint8), 0)
            os.fsync(self._file)
            return True
        finally:
            self._close()

    def _digest(self, first: int, nbytes: int, stop: Callable[[], bool]) -> str | None:
        """The BLAKE2b-128 of a part of the file, in hexadecimal; None if `stop` returned True."""
        seal, room, at = hashlib.blake2b(digest_size=16), memoryview(bytearray(_READ)), first
        while at < first + nbytes:
            if stop():
                return None
            got = os.preadv(self._file, [room[: first + nbytes - at]], at)
            if got == 0:
                raise OSError(errno.EIO, os.strerror(errno.EIO))
            seal.update(room[:got])
            at += got
        return seal.hexdigest()


def write_image(path: Path, data: NDArray[np.uint8], stop: Callable[[], bool] = lambda: False) -> bool:
    """Create or overwrite a file and flush it to the disk, by direct writes if the file system supports them.

    `stop` is called before each write; if it returns True, the rest is not written. Returns whether the whole file was
    written. Raises OSError.
    """
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
    for direct in (getattr(os, "O_DIRECT", 0), 0):
        try:
            file = os.open(path, flags | direct, 0o600)
            try:
                if not _write(file, data, 0, stop):
                    return False
                os.fsync(file)
            finally:
                os.close(file)
            return True
        except OSError as error:
            if not direct or error.errno not in (22, 95):  # EINVAL, EOPNOTSUPP: the file system has no direct writes
                raise
    return False


def _write(file: int, data: NDArray[np.uint8], first: int, stop: Callable[[], bool] = lambda: False) -> bool:
    """Write bytes to a file from byte `first`; returns False if `stop`, called before each write, returned True."""
    at = 0
    while at < len(data):
        if stop():
            return False
        at += os.pwrite(file, data[at : at + _CHUNK].data, first + at)
    return True


class StateSource(Protocol):
    """The description and the arrays of a checkpoint, in one state file or in several.

    Attributes:
        about: the caller's part of the description.
        entries: the dtype and the number of entries of each array, by name.
    """

    @property
    def about(self) -> Mapping[str, Any]: ...

    @property
    def entries(self) -> Mapping[str, tuple[np.dtype[Any], int]]: ...

    def arrays(self, windows: Windows | None = None) -> dict[str, NDArray[Any]]:
        """Read all arrays and verify their checksums; see `StateFile.arrays`."""


@dataclass(frozen=True)
class _Entry:
    """An array in a file: its dtype, number of entries, first byte and checksum."""

    dtype: np.dtype[Any]
    count: int
    first: int
    sum: str


class StateFile:
    """A state file of this user. The constructor checks the description, and `arrays` checks the arrays.

    Attributes:
        path: the path of the file.
        about: the caller's part of the description.
        entries: the dtype and the number of entries of each array, by name.

    Raises Foreign for a file that is not a state file, Damaged for a damaged file, and OSError if the file cannot be
    read.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            facts = os.fstat(file)
            if not stat.S_ISREG(facts.st_mode):
                raise Foreign("it is no regular file")
            if facts.st_uid != os.geteuid():
                raise Foreign("it belongs to another user")
            self._size = facts.st_size
            self.about, self._entries = self._described(file)
        finally:
            os.close(file)

    @property
    def entries(self) -> Mapping[str, tuple[np.dtype[Any], int]]:
        """The dtype and the number of entries of each array, by name."""
        return {name: (entry.dtype, entry.count) for name, entry in self._entries.items()}

    def arrays(self, windows: Windows | None = None) -> dict[str, NDArray[Any]]:
        """Read all arrays and verify their checksums; returns them by name.

        With `windows`, the arrays over vertices are in files. Raises Damaged, OSError, MemoryError and DiskError.
        """
        with open(self.path, "rb", opener=lambda path, flags: os.open(path, flags | os.O_NOFOLLOW)) as file:
            return {name: self._read(file.fileno(), name, entry, windows) for name, entry in self._entries.items()}

    def _read(self, file: int, name: str, entry: _Entry, windows: Windows | None) -> NDArray[Any]:
        moves = windows is not None and windows.n > 0 and entry.count % windows.n == 0
        found = windows.zeros(entry.count, entry.dtype) if windows is not None and moves else \
            empty(entry.count, entry.dtype)
        seal, first = hashlib.blake2b(digest_size=16), entry.first
        for part in in_parts(windows, found):
            view, at = part.view(np.uint8).data, 0
            while at < len(view):
                got = os.preadv(file, [view[at : at + _CHUNK]], first + at)
                if got == 0:
                    raise Damaged("it ends early")
                seal.update(view[at : at + got])
                at += got
            first += at
        if seal.hexdigest() != entry.sum:
            raise Damaged(f"the checksum of `{name}` is wrong")
        return found

    def _described(self, file: int) -> tuple[Mapping[str, Any], dict[str, _Entry]]:
        head = os.pread(file, _HEAD.size, 0)
        if len(head) < _HEAD.size:
            raise Damaged("it is empty" if not head else "it ends early")
        magic, version, length, seal = _HEAD.unpack(head)
        if magic != _MAGIC:
            raise Foreign("it is no checkpoint of vlang")
        if version != _VERSION:
            raise Foreign(f"it has layout {version}, and this vlang reads layout {_VERSION}")
        if length > min(_MOST, self._size - _HEAD.size):
            raise Damaged("its description is longer than the file")
        text = os.pread(file, length, _HEAD.size)
        if len(text) < length or hashlib.blake2b(text, digest_size=32).digest() != seal:
            raise Damaged("the checksum of its description is wrong")
        try:
            whole = json.loads(text)
            about, listed = whole["about"], whole["arrays"]
        except (ValueError, TypeError, KeyError, RecursionError):
            raise Foreign("its description is none of a checkpoint") from None
        if not isinstance(about, dict) or not isinstance(listed, list):
            raise Foreign("its description is none of a checkpoint")
        return about, self._listed(listed, _up(_HEAD.size + length))

    def _listed(self, listed: Sequence[Any], at: int) -> dict[str, _Entry]:
        """Check the list of arrays of a description: they begin at byte `at` or later, and do not overlap."""
        found: dict[str, _Entry] = {}
        for entry in listed:
            sound = isinstance(entry, list) and len(entry) == len(_ENTRY) and \
                all(type(value) is kind for value, kind in zip(entry, _ENTRY))
            if not sound:
                raise Foreign("its description is none of a checkpoint")
            name, dtype, count, first, check = entry
            if dtype not in _DTYPES or not re.fullmatch("[0-9a-f]{32}", check) or name in found:
                raise Foreign("its description is none of a checkpoint")
            nbytes = count * np.dtype(dtype).itemsize
            if count < 0 or first < at or first % PAGE or first + nbytes > self._size:
                raise Damaged(f"`{name}` does not lie inside the file")
            found[name] = _Entry(np.dtype(dtype), count, first, check)
            at = _up(first + nbytes)
        if at != self._size:
            raise Damaged(f"it has {self._size:,} bytes, and not {at:,}")
        return found
