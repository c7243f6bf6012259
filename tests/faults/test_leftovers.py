"""The next run that writes in a folder removes the temporary files of killed runs, and no other files."""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from vlang.errors import DiskError
from vlang.runtime.storage import leftovers
from vlang.runtime.storage.output import PendingFile, whole_file

ROOT = Path(__file__).resolve().parents[2]
WRITES = """
import sys
from vlang.runtime.storage.output import whole_file
with whole_file(sys.argv[1]) as file:
    file.write(b"half")
    file.flush()
    print("writing", flush=True)
    sys.stdin.read()
"""
ENDING = ".vlang-0123456789abcdef"


@pytest.fixture(autouse=True)
def _anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leftovers, "_cleaned", set())


def write(path: Path, text: str = "whole") -> None:
    with whole_file(path) as file:
        file.write(text.encode())


def writer(path: Path) -> subprocess.Popen[str]:
    """Start a process that begins to write `path`, and then waits until its standard input is closed."""
    process = subprocess.Popen([sys.executable, "-c", WRITES, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               text=True, env={**os.environ, "PYTHONPATH": str(ROOT)})  # fmt: skip
    assert process.stdout is not None
    assert process.stdout.readline() == "writing\n"
    return process


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_the_next_run_removes_what_a_killed_one_left(tmp_path: Path) -> None:
    killed, alive = writer(tmp_path / "a.csv"), writer(tmp_path / "b.csv")
    assert len(names(tmp_path)) == 2
    killed.send_signal(signal.SIGKILL)
    killed.communicate()
    write(tmp_path / "c.csv")
    left = names(tmp_path)
    assert len(left) == 2
    assert {name.partition(".vlang-")[0] for name in left} == {".b.csv", "c.csv"}, "that of a living process stays"
    alive.communicate("")
    assert alive.returncode == 0
    assert names(tmp_path) == {"b.csv", "c.csv"}
    assert (tmp_path / "b.csv").read_text() == "half"


def test_only_our_own_files_are_removed(tmp_path: Path) -> None:
    """Only temporary files of vlang are removed. Temporary files of vlang are recognised by name, kind, owner and lock.
    """
    (tmp_path / f".gone{ENDING}").write_text("left by a killed run")
    (tmp_path / f"visible{ENDING}").write_text("another name")
    (tmp_path / f".other{ENDING}0").write_text("another name")
    (tmp_path / ".vlang-0123456789abcdef").write_text("a user's file")
    (tmp_path / f".folder{ENDING}").mkdir()
    (tmp_path / "target").write_text("precious")
    (tmp_path / f".link{ENDING}").symlink_to(tmp_path / "target")
    os.mkfifo(tmp_path / f".pipe{ENDING}")
    stays = names(tmp_path) - {f".gone{ENDING}"}
    if os.getuid() == 0:  # only root may give files away
        (tmp_path / f".foreign{ENDING}").write_text("of another user")
        os.chown(tmp_path / f".foreign{ENDING}", 12345, 12345)
        stays |= {f".foreign{ENDING}"}
    with open(tmp_path / f".locked{ENDING}", "wb") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        write(tmp_path / "out.csv")
    assert names(tmp_path) == stays | {f".locked{ENDING}", "out.csv"}


def test_a_failed_write_leaves_nothing(tmp_path: Path) -> None:
    write(tmp_path / "out", "before")

    def fail() -> None:
        with whole_file(tmp_path / "out") as file:
            file.write(b"half")
            raise OSError(28, "No space left on device")

    with pytest.raises(DiskError, match="the disk is full"):
        fail()
    assert names(tmp_path) == {"out"}
    assert (tmp_path / "out").read_text() == "before"


def test_long_names_can_be_written(tmp_path: Path) -> None:
    """A file name of 255 bytes can be written. The temporary name is cut to fit, even inside of a character."""
    name = "é" * 127
    write(tmp_path / name)
    assert names(tmp_path) == {name}


@pytest.mark.parametrize("step", ["open", "fstat", "fdopen", "fchmod"])
def test_an_interrupt_while_the_file_is_created_leaves_nothing(
    step: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An interrupt directly after any system call leaves no file."""
    (tmp_path / "graph.npz").write_bytes(b"old")
    whole = getattr(os, step)

    def interrupted(*args: Any, **named: Any) -> Any:
        whole(*args, **named)
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(os, step, interrupted)
        with pytest.raises(KeyboardInterrupt):
            PendingFile(tmp_path, "graph.npz")
    assert [path.name for path in tmp_path.iterdir()] == ["graph.npz"]
