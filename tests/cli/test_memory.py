"""Messages of the command if memory does not suffice: the bytes needed and available, and what to try."""

from __future__ import annotations

import resource
from pathlib import Path

import numpy as np
import pytest

from tests.cli.conftest import Call
from vlang.cli import _too_little
from vlang.errors import OutOfMemory
from vlang.runtime.compile.llvm import target_machine
from vlang.runtime.graph.graph import Graph
from vlang.runtime.storage import room


def unlimited(kind: int) -> tuple[int, int]:
    return resource.RLIM_INFINITY, resource.RLIM_INFINITY


def fails(*_: object, **__: object) -> None:
    np.empty(2**60, np.uint32)


def test_an_array_that_does_not_fit(vlang: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "available_bytes", lambda: 5 << 30)
    monkeypatch.setattr(resource, "getrlimit", unlimited)
    monkeypatch.setattr("vlang.runtime.graph.reading.read", fails)
    done = vlang("info", "karate")
    assert done.status == 1
    assert done.err.startswith("error: out of memory: reading karate needs 4294967296.0 GB more for one array, and "
                               "5.0 GB are available: end other programs")
    with pytest.raises(OutOfMemory, match="reading karate needs"):
        Graph.read("karate")


@pytest.mark.parametrize("error", [MemoryError(), MemoryError("8 bytes do not fit into memory")])
def test_other_errors_of_memory(error: MemoryError, vlang: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    def short(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr("vlang.cli.commands.info.describe", short)
    done = vlang("info", "karate")
    assert done.status == 1
    assert "error: out of memory: this command needs more memory" in done.err
    assert " are available" in done.err


@pytest.mark.parametrize("error", [
    ImportError("libx.so: failed to map segment from shared object"), RuntimeError("can't start new thread"),
    OSError("Could not find/load shared object file 'libllvmlite.so'"),
    SystemError("error return without exception set"),
])  # fmt: skip
def test_too_little_address_space(error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda kind: (300 << 20, 300 << 20))
    assert "The address space is limited to 300 MB" in _too_little(error)
    assert "raise the limit (ulimit -v)" in _too_little(error)
    assert _too_little(RuntimeError("a bug")) == ""
    monkeypatch.setattr(resource, "getrlimit", unlimited)
    assert _too_little(OSError("another")) == ""
    assert _too_little(SystemError("error return without exception set")) == ""


def test_a_limit_on_address_space(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda kind: (1, 1))
    with pytest.raises(OutOfMemory, match="x needs 2 bytes, and 0 bytes are available under the limit"):
        room.require_room(2, "x")
    with pytest.raises(OutOfMemory, match=r"machine code needs 64\.0 MB, and 0 bytes are available under the limit"):
        target_machine()
    monkeypatch.setattr(resource, "getrlimit", unlimited)
    monkeypatch.setattr(room, "available_bytes", lambda: 0)
    target_machine()


def test_a_budget_too_small_to_open_a_page_file(vlang: Call, tmp_path: Path) -> None:
    """The message names the memory that suffices for the run, and not only for the next array."""
    path = tmp_path / "g.vg"
    assert vlang("convert", "rmat:14", path).status == 0
    done = vlang("run", "bfs", path, "source=0", "--memory", "1K")
    assert done.status == 1
    assert done.err.count("\n") == 1
    least = done.err.split("(--memory ")[1].split(")")[0]
    assert vlang("run", "bfs", path, "source=0", "--memory", least).status == 0


def test_a_conversion_says_its_need_first(vlang: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a budget, a conversion says how much memory it needs before it reads its input. A conversion that cannot fit
    is refused before it reads anything.
    """
    (tmp_path / "x.txt").write_text("1 2\n2 3\n3 1\n" * 1000, encoding="ascii")
    done = vlang("convert", tmp_path / "x.txt", tmp_path / "x.vg", "--memory", "16M")
    assert done.status == 0
    first = " ".join(done.err.split("temporary files")[0].split())
    assert first == (f"converting {tmp_path}/x.txt, about 187 vertices and 3,000 edges, needs about 8.0 MB of memory, "
                     "of 16.0 MB;"), done.err
    assert "vertices and" not in vlang("convert", tmp_path / "x.txt", tmp_path / "x.vg").err.splitlines()[0]
    monkeypatch.setattr("vlang.runtime.convert.convert.open_source", fails)
    done = vlang("convert", "rmat:22", tmp_path / "y.vg", "--memory", "16M")
    assert done.status == 1
    assert done.err.startswith("error: converting rmat:22, 4,194,304 vertices and 67,108,864 edges, needs 68.0 MB")
    assert done.err.endswith("give --memory 68M\n")
