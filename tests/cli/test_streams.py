"""Standard input and named pipes may be graphs, programs and vertex lists. Directories and devices are refused
immediately.
"""

from __future__ import annotations

import gzip
import io
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import vlang as package
from tests.cli.conftest import Call
from vlang.runtime.graph.graph import Graph

EDGES = b"source,target,weight\n1,2,5\n2,3,7\n3,x,8\n"
PROGRAM = b"program degrees\nvertex d: int = self.outdegree\n"


class _Input(io.TextIOWrapper):
    """A stand-in for standard input with given bytes."""

    def __init__(self, data: bytes) -> None:
        super().__init__(io.BytesIO(data))


@pytest.fixture
def stdin(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", _Input(EDGES))


@contextmanager
def pipe(path: Path, data: bytes) -> Iterator[str]:
    """Create a named pipe, into which `data` is written once."""
    os.mkfifo(path)
    writer = threading.Thread(target=path.write_bytes, args=(data,))
    writer.start()
    yield str(path)
    writer.join(10)
    assert not writer.is_alive()


@pytest.mark.parametrize("packed", [False, True])
def test_a_graph_from_a_pipe(packed: bool, vlang: Call, tmp_path: Path) -> None:
    """A graph from a pipe is read correctly, even if it must be scanned twice because only the ids of the last line
    show that ids are texts.
    """
    edges = EDGES + b"1,2,5\n" * 20_000
    with pipe(tmp_path / "p", gzip.compress(edges) if packed else edges) as path:
        done = vlang("run", "sssp", path, "source=1", "-q")
    assert done.status == 0, done.err
    assert done.out.split() == ["vertex", "dist", "1", "0", "2", "5", "3", "12", "x", "20"]


def test_a_saved_graph_from_a_pipe(tmp_path: Path) -> None:
    Graph.read("karate").save(tmp_path / "g.npz")
    with pipe(tmp_path / "p", (tmp_path / "g.npz").read_bytes()) as path:
        assert Graph.read(path).m == 156


def test_a_graph_from_standard_input(stdin: None, vlang: Call) -> None:
    done = vlang("run", "sssp", "-", "source=1")
    assert (done.status, done.out.split()[-1]) == (0, "20")
    assert done.err.startswith("standard input: Text edge list with a header")
    assert vlang("info", "-").err.startswith("error: standard input: the file is empty")


def test_an_error_names_the_stream(vlang: Call, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(sys, "stdin", _Input(b"1 2\n3\n"))
    assert vlang("info", "-").err.startswith("error: standard input, line 2: a column is missing")
    with pipe(tmp_path / "p", b"PK\x03\x04 no archive") as path:
        assert vlang("info", path).err.startswith(f"error: {path}: damaged or cut off")


def test_programs_from_streams(vlang: Call, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(sys, "stdin", _Input(PROGRAM))
    done = vlang("run", "-", "path:3", "-q")
    assert done.out.split() == ["vertex", "d", "0", "1", "1", "1", "2", "0"]
    with pipe(tmp_path / "p", PROGRAM) as path:
        assert vlang("check", path).out == f"{path}: ok\n"
    monkeypatch.setattr(sys, "stdin", _Input(b"program p\nvertex x: int = y\n"))
    assert "standard input:2:" in vlang("check", "-").err


def test_vertices_from_a_pipe(stdin: None, vlang: Call, tmp_path: Path) -> None:
    with pipe(tmp_path / "p", b"1\n2\n3\n4\nx\n") as path:
        done = vlang("run", "bfs", "-", "source=1", "-q", "--vertices", path)
    assert (done.status, len(done.out.splitlines())) == (0, 6)


def test_standard_input_is_read_once(stdin: None, vlang: Call) -> None:
    for words in (("run", "-", "-"), ("run", "bfs", "-", "--vertices", "-"), ("explain", "-", "-")):
        done = vlang(*words)
        assert (done.status, "standard input (-) can be read once" in done.err) == (2, True)


def test_a_terminal_is_not_waited_for(vlang: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = _Input(b"")
    monkeypatch.setattr(terminal, "isatty", lambda: True)
    for stream in (terminal, None):
        monkeypatch.setattr(sys, "stdin", stream)
        for words in (("info", "-"), ("check", "-"), ("fmt", "-")):
            done = vlang(*words)
            assert (done.status, "standard input: there is nothing to read" in done.err) == (1, True)


@pytest.mark.parametrize(("path", "kind"), [("folder", "a directory"), ("/dev/zero", "a device")])
def test_directories_and_devices(path: str, kind: str, vlang: Call, tmp_path: Path,
                                 monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("folder").mkdir()
    Path("folder.npy").mkdir()
    for words in (("info", path), ("run", path, "karate"), ("fmt", path), ("check", path),
                  ("info", "edges", "--vertices", path)):
        Path("edges").write_text("1 2\n")
        done = vlang(*words)
        assert done.status == 1
        assert f"{path}: this is {kind}; " in done.err
    os.symlink(path if path[0] == "/" else "folder", "x.npy")
    done = vlang("run", "spmv", "karate", "--field", "x=x.npy", "-q")
    assert (done.status, f"x.npy: this is {kind}; a .npy or .npz file is needed" in done.err) == (1, True)


def test_a_pipe_is_no_field(vlang: Call, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "x.npy")
    done = vlang("run", "spmv", "karate", "--field", f"x={tmp_path / 'x.npy'}", "-q")
    assert (done.status, "this is a pipe; a .npy or .npz file is needed" in done.err) == (1, True)


def test_a_full_disk_for_a_stream(stdin: None, vlang: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.copyfileobj", lambda *_: os.write(os.open("/dev/full", os.O_WRONLY), b"x"))
    done = vlang("info", "-")
    assert done.status == 1
    assert "it does not fit into" in done.err
    assert "TMPDIR names another directory" in done.err


def test_in_python(stdin: None) -> None:
    assert Graph.read("-", columns=["weight"]).m == 3
    with pytest.raises(package.Error, match="this is a device"):
        package.load("/dev/zero")
