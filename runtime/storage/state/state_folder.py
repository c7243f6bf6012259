"""A folder with the last two generations of a state file. Only one process at a time may use the folder.

A new generation is written under a temporary name, flushed, and renamed over the older of the two files. Therefore the
newer file stays complete if the process is killed at any moment. The process holds a lock on a separate file in the
folder, which excludes other runs. The system releases the lock when the process ends.
"""

from __future__ import annotations

import errno
import fcntl
import os
import re
import stat
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from vlang.errors import CheckpointError, DiskError
from vlang.records import dataclass
from vlang.runtime.storage.state.remote import Remote
from vlang.runtime.storage.state.state_file import Damaged, FileImage, Foreign, Image, StateFile, StateSource
from vlang.runtime.storage.state.windows import Windows

__all__ = ["RANK_FOLDER", "Generation", "StateFolder", "check_folder", "reason"]

_NAMES = ("state.0", "state.1")
_NEXT = "state.next"
_LOCK = "lock"

RANK_FOLDER = r"rank-\d{5,}"
"""The names of the folders in which the ranks of a cluster keep their parts of a checkpoint."""


@dataclass(frozen=True)
class Generation:
    """One of the state files of a folder.

    Attributes:
        name: the name of the file.
        number: the number of the generation; 2^62 if the file is damaged.
        file: the open state file, or the files of all ranks; None if the file is damaged.
        problem: the reason why the file counts as damaged; "" if it is not damaged.
    """

    name: str
    number: int
    file: StateSource | None
    problem: str = ""


class StateFolder:
    """A folder that contains nothing but the state of one run.

    The constructor creates the folder, if necessary, and locks it.

    Only the user who owns the process may access the folder.

    Attributes:
        path: the resolved path of the folder.
        shown: the path as the caller wrote it, for messages.
        number: the number of the newest generation; 0 if there is none.

    Raises CheckpointError if the folder is in use, belongs to another user or contains other files, and DiskError if
    it cannot be created or locked.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(os.path.realpath(path))
        self.shown = os.fspath(path)
        self.number = 0
        try:
            self._lock = self._opened()
        except OSError as error:  # ENOENT in places such as /proc: elsewhere, missing folders are created
            why = "no folder can be created there" if error.errno == errno.ENOENT else reason(error)
            raise DiskError(f"cannot keep checkpoints in {self.shown}: {why}") from error

    def _opened(self) -> int:
        """Create the folder and lock it; returns the descriptor that holds the lock."""
        self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
        facts = self.path.stat()
        if not stat.S_ISDIR(facts.st_mode):
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))
        if facts.st_uid != os.geteuid():
            raise CheckpointError(f"{self.shown} belongs to another user; give a folder of your own for checkpoints")
        others = sorted({entry.name for entry in os.scandir(self.path)} - {*_NAMES, _NEXT, _LOCK})
        if others and re.fullmatch(RANK_FOLDER, others[0]):
            raise CheckpointError(f"{self.shown} has the checkpoint of a run on several ranks; run it on ranks again, "
                                  "or give another folder")
        if others:
            raise CheckpointError(f"{self.shown} holds other files ({others[0]}); give checkpoints a folder of their "
                                  "own")
        os.chmod(self.path, 0o700)
        lock = os.open(self.path / _LOCK, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(lock)
            raise CheckpointError(f"another run keeps its checkpoints in {self.shown}; wait for it, or give another "
                                  "folder") from None
        return lock

    def close(self) -> None:
        """Release the lock."""
        lock, self._lock = self._lock, -1
        if lock >= 0:
            os.close(lock)

    def generations(self) -> Sequence[Generation]:
        """The state files, newest first. Damaged files, whose number is unknown, come before all others.

        Raises CheckpointError if a file is not a state file, and DiskError if it cannot be read.
        """
        found = []
        for name in _NAMES:
            try:
                file = StateFile(self.path / name)
                number = file.about.get("generation")
                if type(number) is not int or number < 1:
                    raise Foreign("its description is none of a checkpoint")
                found.append(Generation(name, number, file))
            except FileNotFoundError:
                continue
            except Damaged as error:
                found.append(Generation(name, 1 << 62, None, str(error)))
            except Foreign as error:
                raise self.refused(name, str(error)) from None
            except OSError as error:
                if error.errno == errno.ELOOP:
                    raise self.refused(name, "it is a link") from None
                raise DiskError(f"cannot read {self.shown}/{name}: {reason(error)}") from error
        self.number = max((one.number for one in found if one.file is not None), default=0)
        return sorted(found, key=lambda one: -one.number)

    def refused(self, name: str, reason: str) -> CheckpointError:
        """The error for a file from which a run cannot be resumed."""
        return CheckpointError(f"cannot go on from {self.shown}/{name}: {reason}; remove it, or give another folder")

    @property
    def coming(self) -> int:
        """The number of the next generation."""
        return self.number + 1

    def image(
        self, about: Mapping[str, Any], arrays: Mapping[str, NDArray[Any] | Remote], windows: Windows
    ) -> FileImage:
        """Copy the arrays into the file of the next generation, which `write` completes. Raises OSError."""
        return FileImage(about, arrays, self.path / _NEXT, windows)

    def write(self, image: Image | FileImage, stop: Callable[[], bool] = lambda: False) -> bool:
        """Write the next generation in place of the older generation; returns False if `stop` ended the write.

        Raises OSError.
        """
        fresh = self.path / _NEXT
        try:
            whole = image.write(fresh, stop)
        except OSError:
            with suppress(OSError):  # the incomplete file only takes space
                os.unlink(fresh)
            raise
        if whole:
            os.replace(fresh, self.path / _NAMES[self.coming % 2])
            self._flush()
            self.number += 1
        return whole

    def drop_older(self) -> None:
        """Remove the older of the two generations, if there are two. Raises OSError."""
        with suppress(FileNotFoundError):
            os.unlink(self.path / _NAMES[self.coming % 2])
        self._flush()

    def _flush(self) -> None:
        """Flush the folder itself, that is the names of its files, to the disk."""
        folder = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            with suppress(OSError):  # some file systems cannot flush a folder; the rename has taken effect
                os.fsync(folder)
        finally:
            os.close(folder)


def check_folder(path: str | os.PathLike[str]) -> None:
    """Raise a CheckpointError or DiskError if the folder cannot be used for checkpoints.

    If the folder does not exist, it is created for the check and removed again.
    """
    whole = Path(os.path.realpath(path))
    missing = [folder for folder in (whole, *whole.parents) if not folder.exists()]
    folder = StateFolder(path)
    try:
        folder.generations()
    finally:
        folder.close()
        if missing:
            with suppress(OSError):
                os.unlink(whole / _LOCK)
                for made in missing:
                    os.rmdir(made)


def reason(error: OSError) -> str:
    """The reason of an OSError as a clause for messages."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return "the disk is full"
    if error.errno in (errno.ENOTDIR, errno.EEXIST):
        return "it is no folder"
    return (error.strerror or str(error)).lower()
