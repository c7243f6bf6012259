"""Reads the arrays of an .npz file; checks the dtype and shape of each array before it allocates memory for it."""

from __future__ import annotations

import os
import struct
import tokenize
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from math import prod
from pathlib import Path
from types import TracebackType
from typing import IO, Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from vlang.errors import DiskError, GraphError
from vlang.records import dataclass
from vlang.runtime.storage.room import require_room
from vlang.runtime.threads.processors import available_threads
from vlang.runtime.threads.workers import on_threads

__all__ = ["Archive", "Checked", "fits"]

_PIECE = 1 << 20
_LARGE = 1 << 22  # bytes from which several threads read an array
_BLOCK = 1 << 20  # bytes that a thread reads at a time
_LOCAL = 30  # bytes of the header of a member, whose last four are the lengths of the name and of other fields
_POLYNOMIAL = 0xEDB88320
_HEADER = 1 << 16  # bytes of the description of an array
_WORDS = 1 << 24  # maximum bytes of an array without vertices or edges, such as a name or the notes
_KINDS = {"b": "truth values", "i": "integers", "u": "unsigned integers", "f": "floats", "c": "complex numbers",
          "U": "text", "S": "bytes", "m": "times", "M": "dates", "V": "records"}

_DAMAGE = (zipfile.BadZipFile, zlib.error, EOFError, ValueError, TypeError, SyntaxError, IndexError, KeyError,
           OverflowError, AttributeError, RecursionError, tokenize.TokenError)  # of zipfile and of NumPy's format

Array = NDArray[Any]


@dataclass(frozen=True)
class Checked:
    """The checksum of a part of an array.

    Attributes:
        sum: CRC-32 of the bytes of the part; the first part includes the header of the array.
        length: the number of these bytes.
        whole: CRC-32 of the whole array, from the list of the archive.
    """

    sum: int
    length: int
    whole: int


def fits(parts: Sequence[Checked]) -> bool:
    """Return whether consecutive parts, which are all parts of an array, have the checksum of the whole array."""
    total = 0
    for part in parts:
        total = _joined(total, part.sum, part.length)
    return all(part.whole == total for part in parts)


class Archive:
    """The arrays of an .npz file, by name.

    Raises GraphError if the file is not a zip archive, and DiskError if a read fails.
    """

    def __init__(self, path: Path, empty: Callable[[int, DTypeLike], Array] | None = None) -> None:
        """Open `path`. `empty(count, dtype)` allocates arrays of vertices and edges; None allocates them in memory."""
        self.path = path
        self._elsewhere = empty
        with self._reading("the list of its arrays"):
            self._zip = zipfile.ZipFile(path)
        self._members = {info.filename.removesuffix(".npy"): info for info in self._zip.infolist()}

    def __enter__(self) -> Archive:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._zip.close()

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all arrays."""
        return tuple(self._members)

    def __contains__(self, name: str) -> bool:
        return name in self._members

    def empty(self, count: int, dtype: DTypeLike) -> Array:
        """Allocate an uninitialised array for `count` vertices or edges."""
        return np.empty(count, dtype) if self._elsewhere is None else self._elsewhere(count, dtype)

    def number(self, name: str) -> int:
        """Read an integer, stored as an array of shape ()."""
        return int(self.array(name, "iu", ())[()])

    def flag(self, name: str) -> bool:
        """Read a bool, stored as an array of shape ()."""
        return bool(self.array(name, "b", ())[()])

    def text(self, name: str) -> str:
        """Read a text, stored as an array of shape ()."""
        value = self.array(name, "US", ())[()]
        return value.decode("ascii", "replace") if isinstance(value, bytes) else str(value)

    def rows(self, name: str, kinds: str, n: int) -> Array:
        """An array of shape [n] or [n, ...]. See `array` for `kinds` and the errors raised."""
        with self._member(name) as file:
            dimensions = len(_header(file)[0])
        return self.array(name, kinds, (n, *[None] * max(0, dimensions - 1)))

    def sealed(self, name: str) -> bool:
        """Return whether the array `name` lists the checksums of all other members, in their order.

        If so, the members are the arrays that `vlang.runtime.storage.output.write_arrays` wrote. Reading an array
        compares its bytes with its checksum.
        """
        if name not in self:
            return False
        kept = self.array(name, "u", (None,), words=True).tolist()
        return bool(kept == [info.CRC for info in self._zip.infolist() if info.filename != f"{name}.npy"])

    def length(self, name: str) -> int:
        """The length of the first dimension of an array, from its header; 1 for a single value. Raises GraphError."""
        with self._member(name) as file:
            return next(iter(_header(file)[0]), 1)

    def array(self, name: str, kinds: str, shape: tuple[int | None, ...], *, words: bool = False) -> Array:
        """Read an array, converted to the byte order of this machine.

        Args:
            name: name of the array.
            kinds: the permitted values of `dtype.kind`, one letter each.
            shape: the required shape; None in place of a length permits any length.
            words: whether the array is small in every graph, so that more than 16 MiB are an error.

        Raises:
            GraphError: the array is missing or damaged, or has another dtype or shape.
            OutOfMemory: the array does not fit into memory.
        """
        with self._member(name) as file:
            info = self._members[name]
            found, order, dtype = _header(file)
            self._check(name, found, dtype, kinds, shape)
            need = prod(found) * dtype.itemsize
            if file.tell() + need != info.file_size:
                raise self._wrong(f"damaged: the array `{name}` declares {need:,} bytes and has "
                                  f"{info.file_size - file.tell():,}")
            if need > _WORDS and (words or not shape):
                raise self._wrong(f"the array `{name}` has {need:,} bytes, and at most {_WORDS:,} make sense there")
            if words or not shape or self._elsewhere is None:
                require_room(need, f"{self.path}: the array `{name}`")
                flat = np.empty(prod(found), dtype)
            else:
                flat = self._elsewhere(prod(found), dtype)
            if info.compress_type == zipfile.ZIP_STORED and not info.flag_bits & 1 and need >= _LARGE:
                self._fill_stored(info, file.tell(), flat)
            else:
                _fill(file, flat)
        array = flat.reshape(found[::-1]).T if order else flat.reshape(found)
        return array.astype(dtype.newbyteorder("="), copy=False)

    def stored(self, name: str) -> bool:
        """Return whether the bytes of an array are the same in the file and in memory, so that `part` can read some of
        these bytes.
        """
        if name not in self:
            return False
        info = self._members[name]
        return info.compress_type == zipfile.ZIP_STORED and not info.flag_bits & 1

    def part(self, name: str, kinds: str, place: int, parts: int) -> tuple[Array, Checked]:
        """Some of the values of a `stored` array of one dimension, and the checksum of their bytes.

        `fits` computes the checksum of the whole array from the checksums of all parts, and compares it.

        Args:
            name: the array.
            kinds: the permitted values of `dtype.kind`, one letter each.
            place, parts: which part to read: number `place`, from 0, of `parts` equal parts.

        Raises the errors of `array`.
        """
        with self._member(name) as file:
            info = self._members[name]
            found, _, dtype = _header(file)
            self._check(name, found, dtype, kinds, (None,))
            begin = file.tell()
            if begin + found[0] * dtype.itemsize != info.file_size:
                raise self._wrong(f"damaged: the array `{name}` has another length than it declares")
            first, last = (found[0] * i // parts for i in (place, place + 1))
            require_room((last - first) * dtype.itemsize, f"{self.path}: a part of the array `{name}`")
            array = np.empty(last - first, dtype)
            start = self._start(info)
            sum_ = self._filled(array, start + begin + first * dtype.itemsize)
            if place == 0:
                head = os.pread(self._descriptor, begin, start)
                sum_ = _joined(zlib.crc32(head), sum_, array.nbytes)
        length = array.nbytes + (begin if place == 0 else 0)
        return array.astype(dtype.newbyteorder("="), copy=False), Checked(sum_, length, info.CRC)

    @property
    def _descriptor(self) -> int:
        assert self._zip.fp is not None
        number: int = self._zip.fp.fileno()
        return number

    def _start(self, info: zipfile.ZipInfo) -> int:
        """The place in the file where the bytes of a member begin. Raises EOFError."""
        local = os.pread(self._descriptor, _LOCAL, info.header_offset)
        if len(local) < _LOCAL:
            raise EOFError("its header is cut off")
        name, other = struct.unpack("<HH", local[-4:])
        return info.header_offset + _LOCAL + int(name) + int(other)

    def _fill_stored(self, info: zipfile.ZipInfo, begin: int, array: Array) -> None:
        """Fill `array` with the bytes of an uncompressed zip member from byte `begin` on, and check the checksum.

        Raises EOFError and BadZipFile, as zipfile does.
        """
        start = self._start(info)
        head = zlib.crc32(os.pread(self._descriptor, begin, start))
        if _joined(head, self._filled(array, start + begin), array.nbytes) != info.CRC:
            raise zipfile.BadZipFile(f"Bad CRC-32 for file {info.filename!r}")

    def _filled(self, array: Array, start: int) -> int:
        """Fill `array` with the bytes of the file from byte `start` on; returns their checksum. Raises EOFError.

        Several threads read the file. The file is not mapped into memory, because a process dies if another program
        shortens a file that is mapped.
        """
        file, target = self._descriptor, array.view(np.uint8).data

        def read(at: int) -> int:
            part = target[at : at + _BLOCK]
            have = 0
            while have < len(part):
                got = os.preadv(file, [part[have:]], start + at + have)
                if not got:
                    raise EOFError(f"{len(target) - at - have:,} bytes are missing")
                have += got
            return zlib.crc32(part)

        places = range(0, len(target), _BLOCK)
        total = 0
        for at, sum_ in zip(places, on_threads(available_threads(), read, places)):
            total = _joined(total, sum_, min(_BLOCK, len(target) - at))
        return total

    @contextmanager
    def _member(self, name: str) -> Iterator[IO[bytes]]:
        """Open the bytes of an array for reading."""
        if name not in self._members:
            raise self._wrong(f"damaged or cut off: the array `{name}` is not there")
        with self._reading(f"the array `{name}`"), self._zip.open(self._members[name]) as file:
            yield file

    def _check(
        self, name: str, found: tuple[int, ...], dtype: np.dtype[Any], kinds: str, shape: tuple[int | None, ...]
    ) -> None:
        if dtype.hasobject or dtype.kind not in kinds:
            what = "Python objects" if dtype.hasobject else _KINDS.get(dtype.kind, str(dtype))
            wanted = " or ".join(dict.fromkeys(_KINDS[kind] for kind in kinds))
            raise self._wrong(f"the array `{name}` holds {what}, not {wanted}")
        fits = len(found) == len(shape) and all(w is None or w == have for have, w in zip(found, shape))
        if not fits:
            raise self._wrong(f"the array `{name}` is {_spoken(found)}, not {_spoken(shape)}")

    def _wrong(self, what: str) -> GraphError:
        return GraphError(f"{self.path}: {what}")

    @contextmanager
    def _reading(self, what: str) -> Iterator[None]:
        """Convert errors of zipfile, zlib and NumPy's format to a GraphError or DiskError that names `what`."""
        try:
            yield
        except (GraphError, MemoryError):
            raise
        except OSError as error:
            raise DiskError(f"{self.path}: cannot be read: {error.strerror or error}") from error
        except RuntimeError as error:  # a password, or a compression that zipfile does not know
            raise self._wrong(f"{what} cannot be unpacked: {error}; save the graph again") from error
        except _DAMAGE as error:
            raise self._wrong(f"damaged or cut off: {what}: {error}") from error


def _times(a: int, b: int) -> int:
    """The product of two polynomials over GF(2) modulo the CRC-32 polynomial; the highest bit is the coefficient of 1.
    """
    product = 0
    while a:
        if a & 1 << 31:
            product ^= b
        a = a << 1 & 0xFFFFFFFF
        b = b >> 1 ^ _POLYNOMIAL if b & 1 else b >> 1
    return product


def _joined(before: int, sum_: int, length: int) -> int:
    """The checksum of two byte strings one after the other, from their checksums and the length of the second.

    If `b` has n bits, the checksum of `a + b` is x^n times the checksum of `a`, plus the checksum of `b`.
    """
    return _times(_power(8 * length), before) ^ sum_


@cache
def _power(n: int) -> int:
    """x^n modulo the CRC-32 polynomial."""
    result, square = 1 << 31, 1 << 30
    while n:
        if n & 1:
            result = _times(square, result)
        square = _times(square, square)
        n >>= 1
    return result


def _spoken(shape: tuple[int | None, ...]) -> str:
    """A shape as words for a message."""
    if not shape:
        return "a single value"
    if len(shape) > 1:
        return " x ".join("any" if size is None else f"{size:,}" for size in shape)
    return "a list" if shape[0] is None else f"a list of {shape[0]:,}"


def _header(file: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Read the header of an array: its shape, whether its order is Fortran's, and its dtype. Raises ValueError."""
    version = np.lib.format.read_magic(file)
    if version not in ((1, 0), (2, 0)):
        raise ValueError(f"version {version[0]}.{version[1]} of NumPy's format, and 1.0 and 2.0 are known")
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    try:
        shape, order, dtype = read(_Header(file))
    except _DAMAGE:  # its messages quote the header, or objects of Python's parser
        raise ValueError("its header is no description of an array") from None
    if any(size < 0 for size in shape):
        raise ValueError("a negative length")
    return shape, order, dtype


class _Header:
    """A file from which NumPy reads a header. The file refuses long reads, which damaged headers cause."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file

    def read(self, size: int = -1, /) -> bytes:
        """Read the next `size` bytes. Raises ValueError if `size` exceeds the limit for headers."""
        if not 0 <= size <= _HEADER:
            raise ValueError(f"a header of {size:,} bytes")
        return self._file.read(size)


def _fill(file: IO[bytes], array: Array) -> None:
    """Fill `array` with bytes from the file. Raises EOFError if the file ends before the array is full."""
    if not array.nbytes:
        file.read(1)  # zipfile compares the checksum when it reaches the end of the data
        return
    target = array.view(np.uint8).data
    have = 0
    while have < len(target):
        piece = file.read(min(_PIECE, len(target) - have))
        if not piece:
            raise EOFError(f"{len(target) - have:,} bytes are missing")
        target[have : have + len(piece)] = piece
        have += len(piece)
    file.read(1)
