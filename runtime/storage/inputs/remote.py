"""Copies files of other machines, such as `s3://bucket/edges.csv`, by fsspec, which the extra `io` installs.

Only the protocols of a table are used, and only for URLs in a call or a command. URLs in the text of a file and chained
URLs (`zip::https://...`) are never opened, because they could refer to files that the user did not name.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Any, Protocol

from vlang.errors import DiskError
from vlang.runtime.storage.inputs.copied import Copied, copied_folder, new_copy, readable
from vlang.runtime.threads.activity import reach, step

__all__ = ["fetched", "is_remote", "local"]

_URL = re.compile(r"([a-z][a-z0-9+.:-]+)://", re.IGNORECASE)
_LEAST = (2026, 6, 0)  # earlier versions run code from reference files
_NEEDS = MappingProxyType({"s3": "s3fs", "gs": "gcsfs", "az": "adlfs", "https": "aiohttp", "file": "", "memory": ""})
"""The package that fsspec needs for each protocol; "" if it needs none."""

_REFUSED = re.compile(r"\b(40[13]|access ?denied|permission|not permitted|forbidden|unauthori[sz]ed|(no|un)credential|"
                      r"credentials?(error)?)\b", re.IGNORECASE)


class _Files(Protocol):
    """The methods of a file system of fsspec that this module calls."""

    def glob(self, path: str) -> list[str]: ...
    def info(self, path: str) -> object: ...
    def isdir(self, path: str) -> bool: ...
    def ls(self, path: str) -> object: ...
    def find(self, path: str) -> list[str]: ...
    def get_file(self, rpath: str, lpath: str, callback: Any) -> None: ...


def is_remote(path: str | os.PathLike[str]) -> bool:
    """Return whether a path is a URL, such as `s3://bucket/edges.csv`."""
    return isinstance(path, str) and _URL.match(path) is not None


def local(source: str) -> str | Path:
    """The path of a local copy if the source is a URL; any other source is returned unchanged. Raises DiskError."""
    return fetched(source) if is_remote(source) else source


def fetched(url: str) -> Copied:
    """Copy a remote file, or the files of a remote folder or glob, to `TMPDIR`; the copy lives as long as its path.

    A URL of `https` is always a single file. Names that begin with a dot or an underscore are left out of folders.

    Raises DiskError if the protocol is not in the table, a package is missing or too old, or the file cannot be read.
    """
    protocol = _protocol(url)
    files = _opened(url, protocol)
    with _failures(url):
        names = [] if protocol == "https" else _names(files, url)
        if not names:
            if protocol != "https":
                files.info(url)  # the error of a missing file: some libraries replace it if they cannot remove the copy
            path, file = new_copy(url)
            _copy(files, url, url, path.opened)
            file.flush()
            return path
        folder = copied_folder(url, [f"{protocol}://{name.lstrip('/')}" for name in names])
        for name, part in zip(names, folder.parts_of_copy, strict=True):
            _copy(files, name, str(part), os.fspath(part))
        return folder


def _protocol(url: str) -> str:
    """The protocol of a URL. Raises DiskError for a protocol that is not in the table."""
    found = _URL.match(url)
    protocol = found[1].lower() if found else ""
    if "::" in url:
        raise DiskError(f"{url}: chained URLs (`::`) are not read; name the file itself")
    if protocol == "http":
        raise DiskError(f"{url}: http is not encrypted; write https://{url[7:]}")
    if protocol not in _NEEDS:
        known = ", ".join(f"{one}://" for one in _NEEDS)
        raise DiskError(f"{url}: graphs are read from {known} only; copy the file here")
    return protocol


def _opened(url: str, protocol: str) -> _Files:
    """The file system of a protocol. Raises DiskError if a package is missing or too old."""
    try:
        import fsspec  # optional
    except ImportError:
        raise DiskError(f"{url}: remote files need fsspec: pip install 'vlang[io]'") from None
    version = tuple(int(part) for part in re.findall(r"\d+", fsspec.__version__)[:3])
    if version < _LEAST:
        raise DiskError(f"{url}: remote files need fsspec {'.'.join(map(str, _LEAST))} or newer, since older ones run "
                        f"code that a file contains; {fsspec.__version__} is installed: pip install -U 'vlang[io]'")
    try:
        files: _Files = fsspec.filesystem(protocol)
    except ImportError:
        raise DiskError(f"{url}: {protocol}:// needs {_NEEDS[protocol]}: pip install {_NEEDS[protocol]}") from None
    return files


def _names(files: _Files, url: str) -> list[str]:
    """The files of a folder or a glob by name; empty for a URL of one file. Raises DiskError if there are none."""
    if any(mark in url for mark in "*?["):
        found = [name for name in files.glob(url) if not files.isdir(name)]
        if not found:  # `glob` hides that a folder is not there or is refused
            files.ls(re.split(r"[^/]*[*?\[]", url, maxsplit=1)[0])
    elif files.isdir(url):
        found = files.find(url)
    else:
        return []
    kept = sorted(name for name in found if os.path.basename(name)[:1] not in ("", ".", "_"))
    if not kept:
        raise DiskError(f"{url}: there are no files here")
    return kept


def _copy(files: _Files, name: str, shown: str, target: str) -> None:
    from fsspec.callbacks import Callback  # optional

    def progress(size: int | None, value: int, **_: object) -> None:
        if size:
            reach(min(1.0, value / size))

    with step("copying", shown):
        files.get_file(name, target, callback=Callback(hooks={"progress": progress}))


@contextmanager
def _failures(url: str) -> Iterator[None]:
    """A context that turns every exception of a file system into DiskError, because each library raises exceptions of
    its own.
    """
    try:
        with readable(url):
            yield
    except FileNotFoundError:
        raise DiskError(f"{url}: there is no such file or folder") from None
    except (DiskError, MemoryError) as error:
        if _REFUSED.search(str(error)):
            raise DiskError(f"{error}; {_access(url)}") from None
        raise
    except Exception as error:
        text = str(error).partition(chr(10))[0] or type(error).__name__
        access = f"; {_access(url)}" if _REFUSED.search(f"{type(error).__name__} {error}") else ""
        raise DiskError(f"{url}: cannot be read: {text}{access}") from None


def _access(url: str) -> str:
    """Explain a refusal: a server that refuses access often does not say whether the file exists."""
    package = _NEEDS[_protocol(url)]
    return "either there is no such file, or access needs credentials" + (f", which {package} reads" if package else "")
