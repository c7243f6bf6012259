"""Files that are written atomically, and columns of values as text."""

from __future__ import annotations

import errno
import io
import json
import math
import os
import re
import stat
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from vlang.errors import DiskError

if TYPE_CHECKING:
    from zipfile import ZipFile

__all__ = [
    "BLOCK", "PendingFile", "check_writable", "csv_texts", "fixed_width", "json_texts", "json_value", "whole_file",
    "write_arrays", "write_text", "writing",
]

# Rows that are formatted at a time: enough to amortise NumPy's calls, and small compared with the arrays.
BLOCK = 1 << 16

_REFUSED = (errno.EINVAL, errno.EOPNOTSUPP)  # errors of direct writes if the file system has none

_QUOTED = {mark: re.compile(f'["{mark}\r\n]') for mark in ",\t"}


@contextmanager
def whole_file(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """Open a binary file that appears under its name only when the `with` block ends without an error.

    The bytes go to a temporary file in the same folder (`leftovers`), which is then flushed to the disk and renamed. An
    existing path that is not a regular file (a pipe, a terminal) is written directly. Raises DiskError for every error
    of the file system.
    """
    target = Path(os.path.realpath(path))
    with writing(path, target):
        special = target.exists() and not target.is_file()
        if special and not target.is_dir():
            with open(target, "wb") as file:
                yield file
            return
        if special:
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        pending = PendingFile(target.parent, target.name)
        try:
            yield pending.file
            pending.commit(target)
        finally:
            pending.discard()


@contextmanager
def writing(path: str | os.PathLike[str], target: Path, temporary: bool = False) -> Iterator[None]:
    """Turn every OSError in the `with` block, except a broken pipe, into a DiskError: `path` cannot be written.

    `target` is the resolved path of the same file. `temporary` says that the file does not replace another one.
    """
    try:
        yield
    except DiskError:
        raise
    except OSError as error:
        if isinstance(error, BrokenPipeError):
            raise
        raise DiskError(f"cannot write {os.fspath(path)}: {_reason(error, target, temporary)}") from error


class PendingFile:
    """A binary file with a temporary name (`leftovers`), which `commit` renames and `discard` removes.

    Attributes:
        file: the file, open for writing.
    """

    def __init__(self, folder: Path, name: str) -> None:
        """Create the file, with the permissions of the file `name` in the folder if that file exists.

        Raises OSError, even if only the existing file is read-only or is not a regular file, because a rename would
        replace this file.
        """
        from vlang.runtime.storage.leftovers import new_temporary  # start-up

        there = folder / name
        if there.exists() and not there.is_file():
            raise OSError(errno.EINVAL, "it is not a regular file")
        if there.exists() and not os.access(there, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        handle, self._temporary = new_temporary(folder, name)
        try:
            self.file: IO[bytes] = os.fdopen(handle, "wb")
            self._direct: int | None = None
            self._there = True
            with suppress(FileNotFoundError):  # a new file keeps the permissions that it was created with
                os.fchmod(handle, stat.S_IMODE((folder / name).stat().st_mode))
        except BaseException:  # such as an interrupt: the caller has no object to discard
            with suppress(OSError):
                os.unlink(self._temporary)
            raise

    def put_first(self, data: bytes) -> None:
        """Overwrite the first bytes of the file with `data`. Raises OSError."""
        self.file.seek(0)
        self.file.write(data)

    def put_pages(self, data: NDArray[np.uint8], offset: int) -> None:
        """Write whole pages, by direct writes (O_DIRECT) if the file system supports them. Raises OSError.

        The position of `file` does not change.

        Args:
            data: uint8; its address and its length are multiples of 4096.
            offset: the first byte in the file, a multiple of 4096.
        """
        if self._direct is None:
            self._direct = self._opened_direct()
        while len(data):
            try:
                count = os.pwrite(self._direct, data.data, offset)
            except OSError as error:
                if error.errno not in _REFUSED or self._direct == self.file.fileno():
                    raise
                os.close(self._direct)  # some systems refuse only the write, and not the open
                self._direct = self.file.fileno()
            else:
                data, offset = data[count:], offset + count

    def _opened_direct(self) -> int:
        """Open the file once more for direct writes; returns the descriptor of `file` if direct writes are not
        supported.
        """
        try:
            return os.open(self._temporary, os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC | getattr(os, "O_DIRECT", 0))
        except OSError as error:
            if error.errno not in _REFUSED:
                raise
            return self.file.fileno()

    def _close(self) -> None:
        """Close the file. Raises OSError."""
        if self._direct is not None and self._direct != self.file.fileno():
            os.close(self._direct)
        self._direct = None
        self.file.close()

    def commit(self, target: Path) -> None:
        """Flush the file to the disk and rename it to `target`, a path in the same folder. Raises OSError."""
        self.file.flush()
        os.fsync(self.file.fileno())
        os.replace(self._temporary, target)  # before the file is closed, because closing releases its lock
        self._there = False
        self._close()
        with suppress(OSError):  # some file systems cannot sync a folder; the rename has taken effect
            folder = os.open(target.parent, os.O_RDONLY)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)

    def discard(self) -> None:
        """Close the file, and remove it unless it was committed."""
        if self._there:
            with suppress(OSError):
                os.unlink(self._temporary)
            self._there = False
        if not self.file.closed:
            with suppress(OSError):  # the disk may be full
                self._close()


def check_writable(path: str | os.PathLike[str]) -> None:
    """Raise a DiskError if `path` cannot be written, so that the error comes before a long run and not after it.

    A file without a name is created in the folder of `path` and removed: file systems such as /proc refuse new files
    although the permissions of the folder allow new files.
    """
    import tempfile  # start-up

    target = Path(os.path.realpath(path))
    with writing(path, target):
        if target.is_dir():
            number = errno.EISDIR
        elif not target.parent.exists():
            number = errno.ENOENT
        elif not target.parent.is_dir():
            number = errno.ENOTDIR
        elif target.exists() and not os.access(target, os.W_OK):
            number = errno.EACCES
        elif target.exists() and not target.is_file():
            return
        else:
            with tempfile.TemporaryFile(dir=target.parent):
                return
        raise OSError(number, os.strerror(number))


def _reason(error: OSError, target: Path, temporary: bool = False) -> str:
    if error.errno == errno.ENOENT and not target.parent.exists():
        return f"there is no folder {target.parent}"
    if error.errno == errno.ENOENT:  # such as /proc
        return f"no file can be created in {target.parent}"
    if error.errno == errno.ENOTDIR:
        return f"{target.parent} is not a folder"
    if error.errno == errno.EISDIR:
        return "it is a folder"
    if error.errno == errno.EEXIST:
        return "it is a file, not a folder"
    if error.errno == errno.ENAMETOOLONG:
        return "its name is too long"
    if error.errno in (errno.EACCES, errno.EPERM) and target.is_file() and not os.access(target, os.W_OK):
        return "the file is read-only"
    if error.errno in (errno.EACCES, errno.EPERM) and not target.exists():
        return f"permission to create files in {target.parent} is denied"
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return "the disk is full" if temporary else "the disk is full; the file was left as it was"
    return (error.strerror or str(error)).lower()


# ------------------------------------------------------------------ values as text
_FLOATS = 512  # floats that are formatted at a time, as NumPy takes 128 bytes for each of them


def _texts(values: NDArray[Any]) -> list[str]:
    if values.dtype == np.bool_:
        return cast("list[str]", np.array(["false", "true"], dtype=object)[values.astype(np.int8)].tolist())
    if values.dtype.kind == "f":  # the shortest text that reads back as this value, in an array of 32 characters each
        parts = (values[at : at + _FLOATS] for at in range(0, len(values), _FLOATS))
        return [text for part in parts for text in part.astype("U").tolist()]
    if values.dtype.kind == "M":
        return cast("list[str]", np.datetime_as_string(values).tolist())
    return list(map(str, values.tolist()))


def csv_texts(values: NDArray[Any], missing: NDArray[np.bool_] | None, mark: str = ",") -> Sequence[str]:
    """Format each value as a field of a CSV row.

    Args:
        values: array[rows].
        missing: bool[rows]; a missing value becomes an empty field. `missing` is None if no value is missing.
        mark: the separator of the fields, a comma or a tab. A string that contains the separator is quoted.
    """
    texts, quoted = _texts(values), _QUOTED[mark]
    if values.dtype == object and quoted.search("".join(texts)):
        texts = ['"' + s.replace('"', '""') + '"' if quoted.search(s) else s for s in texts]
    return _replaced(texts, missing, "")


def json_texts(values: NDArray[Any], missing: NDArray[np.bool_] | None) -> Sequence[str]:
    """Format each value as JSON. Missing values, infinities and NaN become null."""
    if values.dtype == object:
        return [json.dumps(v, ensure_ascii=False) for v in values.tolist()]
    if values.dtype.kind == "M":
        return _replaced([f'"{text}"' for text in _texts(values)], missing, "null")
    if values.dtype.kind == "f":
        bad = ~np.isfinite(values)
        missing = bad if missing is None else bad | missing
    return _replaced(_texts(values), missing, "null")


def _replaced(texts: list[str], missing: NDArray[np.bool_] | None, by: str) -> list[str]:
    if missing is None or not missing.any():
        return texts
    array = np.array(texts, dtype=object)
    array[missing] = by
    return cast("list[str]", array.tolist())


def json_value(value: Any, type_: str) -> Any:
    """The value of a global of type `type_` for JSON; None if it is infinite or NaN."""
    if isinstance(value, np.datetime64):
        return None if np.isnat(value) else str(value)
    plain = value.item() if isinstance(value, np.generic) else value
    if isinstance(plain, float):
        return plain if math.isfinite(plain) else None
    if isinstance(plain, int) and not isinstance(plain, bool) and type_ in ("int", "i8", "i16", "i32", "i64"):
        bits = value.dtype.itemsize * 8 if isinstance(value, np.generic) else int(type_[1:]) if type_ != "int" else 32
        return None if plain in ((1 << (bits - 1)) - 1, -(1 << (bits - 1))) else plain
    return plain


def fixed_width(values: Any) -> NDArray[Any] | range:
    """An array or a number in a form that needs no pickling: strings have a fixed width, and None becomes "".

    A range stays a range.
    """
    if isinstance(values, range):
        return values
    array: NDArray[Any] = np.asarray(values)
    if array.dtype != object:
        return array
    return np.array(["" if v is None else str(v) for v in array.reshape(-1).tolist()]).reshape(array.shape)


def write_arrays(
    file: IO[bytes] | str | os.PathLike[str], arrays: Mapping[str, NDArray[Any] | range], sealed: str = ""
) -> None:
    """Write a NumPy archive (.npz) of plain arrays. Any name is allowed, while `np.savez` reserves the name `file`.

    A range is written as an array of int64. An output that is a path is written atomically. Raises DiskError if the
    file cannot be written.

    Args:
        sealed: the name of one more array at the end, u32[len(arrays)], with the checksum (CRC-32) of each member of
            the zip archive; "" for no such array. The checksums let a reader detect that an array was replaced.
    """
    if isinstance(file, (str, os.PathLike)):
        with whole_file(file) as out:
            write_arrays(out, arrays, sealed)
        return
    import zipfile  # start-up: loaded only when an archive is written

    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED, allowZip64=True) as archive:
        for name, array in arrays.items():
            _write_member(archive, name, array)
        if sealed:
            _write_member(archive, sealed, np.array([info.CRC for info in archive.infolist()], dtype=np.uint32))


def _write_member(archive: ZipFile, name: str, array: NDArray[Any] | range) -> None:
    with archive.open(f"{name}.npy", "w", force_zip64=True) as out:
        if isinstance(array, range):  # block by block, as the array may not fit into memory
            np.lib.format.write_array_header_1_0(
                out, {"descr": "<i8", "fortran_order": False, "shape": (len(array),)})
            for at in range(0, len(array), BLOCK):
                part = array[at : at + BLOCK]
                out.write(np.arange(part.start, part.stop, dtype=np.int64).tobytes())
            return
        np.lib.format.write_array(out, array, allow_pickle=False)


def write_text(file: str | os.PathLike[str] | IO[Any], blocks: Iterator[str]) -> None:
    """Write text to a path (atomically) or to an open file of text or bytes, as UTF-8."""
    if isinstance(file, (str, os.PathLike)):
        with whole_file(file) as out:
            for block in blocks:
                out.write(block.encode("utf-8"))
        return
    if not hasattr(file, "write"):
        raise DiskError(f"cannot write to {file!r}: it is neither a path nor an open file")
    text = isinstance(file, io.TextIOBase) or hasattr(file, "encoding")
    for block in blocks:
        file.write(block if text else block.encode("utf-8"))
