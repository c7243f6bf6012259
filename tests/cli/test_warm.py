"""After `vlang warm`, a second call and a run compile nothing."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

import vlang as library
from tests.cli.conftest import Call
from vlang.api import precompile as warm
from vlang.runtime.compile import kept
from vlang.runtime.cpu import cpu_machine
from vlang.runtime.graph.kernels import kernel_files
from vlang.runtime.plan.plan import Plan


@pytest.fixture
def graph() -> library.Graph:
    """Return a graph with all its structures built. The kernels of the graph are loaded from the ordinary cache."""
    graph = library.Graph.read("karate")
    assert len(graph.in_degree) == graph.n
    return graph


@pytest.fixture
def place(graph: library.Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return an empty cache directory.

    `warm` leaves out the kernels of graphs, since these kernels are the same for every program.
    """
    folder = tmp_path / "cache"
    folder.mkdir()
    monkeypatch.setattr(kept, "cache_dir", lambda: folder)
    monkeypatch.setattr(warm, "find_cache", lambda: (folder, ""))
    monkeypatch.setattr(warm, "warm_graphs", warm.Warmed)
    return folder


def text() -> str:
    """Return a program that no process has compiled before."""
    return f"program p\n\nvertex x: float = {random.SystemRandom().random()} + indegree\n"


def test_what_is_warm_is_not_compiled_again(
    vlang: Call, graph: library.Graph, place: Path, tmp_path: Path
) -> None:
    path = tmp_path / "p.vp"
    path.write_text(text())
    done = vlang("warm", path)
    assert (done.status, done.err) == (0, "")
    lines = done.out.splitlines()
    assert lines[0] == "graphs: nothing to compile"
    assert lines[1].startswith(f"1/1 {path}: 1 compiled, ")
    assert lines[2].startswith("in all: 1 compiled, ")
    assert lines[2].endswith(f" KiB, in {place}")
    entries = sorted(place.glob("*.kernels"))
    assert len(entries) == 1
    library.load(path)(graph)
    assert sorted(place.glob("*.kernels")) == entries
    assert "in all: nothing to compile" in vlang("warm", path).out


def test_what_others_compile_meanwhile_is_not_counted(
    vlang: Call, place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "p.vp"
    path.write_text(text())
    prepare = cpu_machine.prepare_all

    def beside_another_process(plan: Plan) -> None:
        prepare(plan)
        (place / "another.kernels").write_bytes(b"code")

    monkeypatch.setattr(cpu_machine, "prepare_all", beside_another_process)
    assert "in all: 1 compiled, " in vlang("warm", path).out
    (place / "another.kernels").unlink()
    assert "in all: nothing to compile" in vlang("warm", path).out


def test_a_wrong_program_does_not_keep_others_from_being_compiled(vlang: Call, place: Path, tmp_path: Path) -> None:
    bad, good = tmp_path / "bad.vp", tmp_path / "good.vp"
    bad.write_text("program p\nvertex x: int = y\n")
    good.write_text(text())
    done = vlang("warm", bad, "nothing.vp", good)
    assert done.status == 1
    assert done.err.count("error[V101]") == 1
    assert "error: there is no program file 'nothing.vp'" in done.err
    assert f"3/3 {good}: 1 compiled, " in done.out


def test_without_a_cache_directory_nothing_can_be_kept(vlang: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(warm, "find_cache", lambda: (None, "/x belongs to another user (uid 7)"))
    done = vlang("warm", "bfs")
    assert (done.status, done.out) == (1, "")
    assert done.err == ("error: compiled programs cannot be kept: /x belongs to another user (uid 7); "
                        "VLANG_CACHE names another folder\n")  # fmt: skip


def test_programs_are_compiled_for_graphs_with_and_without_columns() -> None:
    assert list(warm._columns(library.load("sssp"))) == [frozenset({"weight"}), frozenset()]
    assert list(warm._columns(library.load("bfs"))) == [frozenset()]
    needs = library.compile("program p\nedge w: float\nvertex x: float = sum(w for u -> self)\n")
    assert list(warm._columns(needs)) == [frozenset({"w"})]


def test_kernel_files_are_those_with_exports() -> None:
    assert {"integers", "tokenize", "number", "sort", "draw"} <= set(kernel_files())
    assert not {"__init__", "digits", "decimals"} & set(kernel_files())
