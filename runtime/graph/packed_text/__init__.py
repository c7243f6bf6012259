"""Decompresses texts piece by piece: gzip, bzip2, xz and zstd, which the first bytes of a file identify."""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import zlib
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from io import FileIO
from typing import IO, Any, Protocol, cast

from vlang.records import dataclass
from vlang.runtime.graph.arrow.library import pyarrow

__all__ = ["PACKED", "Damaged", "Packing", "TextBytes", "packed_output", "packing_of"]

_PIECE = 1 << 18
_XZ_MEMORY = 1 << 28
"""The most bytes that the decompressor of xz may take; `xz -9` needs 65 MiB."""


class Damaged(Exception):
    """Raised if the rest of the compressed data cannot be read."""


class TextBytes(Protocol):
    """A reader of the bytes of a text, in order."""

    def readinto(self, target: memoryview, /) -> int | None:
        """Fill the beginning of `target`. Returns the number of bytes, 0 at the end of the text. Raises Damaged."""


@dataclass(frozen=True)
class Packing:
    """A kind of compression.

    Attributes:
        name: its name, for notes and messages.
        magic: the first bytes of such a file.
        ratio: the approximate number of bytes of text per compressed byte.
        opened: creates the decompressed text of an open file.
    """

    name: str
    magic: bytes
    ratio: int
    opened: Callable[[FileIO], TextBytes]


def packing_of(begin: bytes) -> Packing | None:
    """The compression of a file that begins with these bytes (at least six bytes, unless the file is shorter); None for
    plain text.
    """
    return next((one for one in _PACKINGS if begin.startswith(one.magic)), None)


class _Gzip:
    """Decompresses a gzip file (RFC 1952) of one or several members. The library zlib checks lengths and checksums."""

    magic = b"\x1f\x8b"

    def __init__(self, file: FileIO) -> None:
        self._file = file
        self._inflate = zlib.decompressobj(wbits=31)
        self._input = b""

    def readinto(self, target: memoryview) -> int:
        while True:
            if self._inflate.eof and not self._next_member():
                return 0
            if not self._input and not self._refill():
                raise Damaged("the gzip data end too early: the file is truncated")
            try:
                text = self._inflate.decompress(self._input, min(len(target), _PIECE))
            except zlib.error as error:
                raise Damaged(f"the gzip data are damaged ({str(error).rpartition(': ')[2]})") from None
            self._input = self._inflate.unused_data if self._inflate.eof else self._inflate.unconsumed_tail
            if text:
                target[: len(text)] = text
                return len(text)

    def _refill(self) -> bool:
        self._input += self._file.read(_PIECE) or b""
        return bool(self._input)

    def _next_member(self) -> bool:
        """Skip padding of zeros, and return whether another member follows."""
        self._input = self._input.lstrip(b"\0")
        while len(self._input) < len(self.magic) and (more := self._file.read(_PIECE)):
            self._input = (self._input + more).lstrip(b"\0")
        if self._input and not self._input.startswith(self.magic):
            raise Damaged("other bytes follow the gzip data")
        self._inflate = zlib.decompressobj(wbits=31) if self._input else self._inflate
        return bool(self._input)


class _Streams:
    """Decompresses a file of one or several streams by a decompressor of Python's library.

    Args:
        file: the file, at its beginning.
        name: the name of the compression, for messages.
        make: makes a decompressor for a stream.
    """

    def __init__(self, file: FileIO, name: str, make: Callable[[], Any]) -> None:
        self._file, self._name, self._make = file, name, make
        self._stream = make()
        self._input = b""

    def readinto(self, target: memoryview) -> int:
        while True:
            if self._stream.eof and not self._next_stream():
                return 0
            if self._stream.needs_input and not self._input:
                self._input = self._file.read(_PIECE) or b""
                if not self._input:
                    raise Damaged(f"the {self._name} data end too early: the file is truncated")
            given, self._input = self._input, b""
            try:
                text = self._stream.decompress(given, min(len(target), _PIECE))
            except (OSError, EOFError, lzma.LZMAError) as error:
                raise Damaged(f"the {self._name} data are damaged ({str(error).lower()})") from None
            if text:
                target[: len(text)] = text
                return len(text)

    def _next_stream(self) -> bool:
        """Skip padding of zeros, and return whether another stream follows."""
        left = (self._stream.unused_data + self._input).lstrip(b"\0")
        while not left and (more := self._file.read(_PIECE)):
            left = more.lstrip(b"\0")
        self._input = left
        self._stream = self._make() if left else self._stream
        return bool(left)


class _Zstd:
    """Decompresses a zstd file by pyarrow."""

    def __init__(self, file: FileIO) -> None:
        pa = pyarrow(f"{os.fspath(file.name) if isinstance(file.name, str) else 'a file'}, a text packed by zstd,")
        self._stream = pa.CompressedInputStream(pa.PythonFile(file, mode="r"), "zstd")

    def readinto(self, target: memoryview) -> int:
        try:
            text = self._stream.read(min(len(target), _PIECE))
        except OSError as error:
            early = "truncated" in str(error).lower()
            raise Damaged("the zstd data end too early: the file is truncated" if early else
                          "the zstd data are damaged") from None  # fmt: skip
        target[: len(text)] = text
        return len(text)


_PACKINGS = (
    Packing("gzip", _Gzip.magic, 4, _Gzip),
    Packing("bzip2", b"BZh", 5, lambda file: _Streams(file, "bzip2", bz2.BZ2Decompressor)),
    Packing("xz", b"\xfd7zXZ\x00", 6,
            lambda file: _Streams(file, "xz", lambda: lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=_XZ_MEMORY))),
    Packing("zstd", b"\x28\xb5\x2f\xfd", 5, _Zstd),
)

PACKED = (".gz", ".bz2", ".xz", ".zst")
"""The suffixes under which a text is compressed."""


class _Open:
    """Wraps a file so that pyarrow's stream does not close it."""

    closed = False

    def __init__(self, file: IO[bytes]) -> None:
        self.write, self.flush = file.write, file.flush

    def close(self) -> None:
        """Do nothing: the owner closes the file."""


def packed_output(file: IO[bytes], suffix: str) -> AbstractContextManager[IO[bytes]]:
    """A context manager that yields an output whose bytes are compressed and written to `file`.

    suffix: the suffix of the compression, such as ".gz"; "" for no compression.
    """
    if suffix == ".gz":
        return cast("IO[bytes]", gzip.GzipFile("", "wb", fileobj=file, mtime=0))
    if suffix == ".bz2":
        return cast("IO[bytes]", bz2.BZ2File(file, "wb"))
    if suffix == ".xz":
        return cast("IO[bytes]", lzma.LZMAFile(file, "wb"))
    if suffix == ".zst":
        pa = pyarrow("a .zst file")
        opened: IO[bytes] = pa.CompressedOutputStream(pa.PythonFile(_Open(file), "w"), "zstd")
        return opened
    return nullcontext(file)
