"""Checkpoints of runs that stream edges from a page file. A run may be resumed with edges in memory, and a run with
edges in memory may be resumed from disk.
"""

from __future__ import annotations

import errno
import os
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.checkpoints.cases import CASES, assert_same, file_of, graph_of, program_of, streamed_options
from tests.checkpoints.test_files import flipped, newest
from tests.checkpoints.test_interrupts import after
from tests.checkpoints.test_points import Stopped, stopped_after, written_at_once
from tests.paged.stores import streaming
from vlang import CheckpointError, DiskError, Graph, Result, load
from vlang.cli import main
from vlang.runtime.graph.paged.in_memory import save
from vlang.runtime.graph.topology.stored import StoredAdjacencies
from vlang.runtime.storage.page_file import PageFile
from vlang.runtime.storage.state import windows


def streamed(case: str, buffers: int = 2, kept: float = 0.0, **options: Any) -> Result:
    """Run a case on its page file, streamed through a small ring of buffers."""
    with streaming(buffers, kept):
        result = program_of(case)(Graph.open(file_of(case)), **{**CASES[case].given, **options})
    assert result.read_bytes > 0
    return result


@pytest.mark.parametrize("case", CASES)
def test_a_streamed_run_stopped_again_and_again(case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A streamed run in several parts has the right result. The parts differ in ring buffers, threads, execution ways,
    and in whether edges and vertex arrays are in memory.
    """
    written_at_once(monkeypatch)
    monkeypatch.setattr(windows, "WINDOW", 64)
    program, file = program_of(case), file_of(case)
    given = {name: value for name, value in CASES[case].given.items() if name != "research"}
    want = program(graph_of(case), **CASES[case].given)
    step, part, others = max(2, len(want.history) // 4), 0, streamed_options(case)
    while True:
        research = {**CASES[case].given.get("research", {}), **others[part % len(others)]}
        more = {**given, "research": research, "threads": 1 + part % 3, "checkpoint": tmp_path / "state", "every": 0,
                "progress": stopped_after(step) if part < 12 else None}
        try:
            if part % 4 == 2:
                result = program(Graph.read(file) if part % 8 == 2 else Graph.open(file), **more)
            else:
                with streaming(2 + part % 2, (0.0, 0.4, 2.0)[part % 3], tmp_path if part % 2 else None):
                    result = program(Graph.open(file), **more)
        except Stopped:
            part += 1
            continue
        break
    assert_same(case, result, want)
    assert result.resumed or part == 0
    again = program(Graph.open(file), checkpoint=tmp_path / "state", **CASES[case].given)
    assert again.resumed == ""  # that run had finished


def test_a_search_goes_on_by_pages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A checkpoint contains the frontier, so that the resumed search reads no more pages than an undisturbed search."""
    written_at_once(monkeypatch)
    want = streamed("reach")
    with pytest.raises(Stopped):
        streamed("reach", checkpoint=tmp_path, every=0, progress=stopped_after(9))
    found = streamed("reach", checkpoint=tmp_path)
    assert_same("reach", found, want)
    assert {row.mode for row in found.history} == {row.mode for row in want.history}
    assert "pull" not in {row.mode for row in found.history}
    assert found.read_bytes <= want.read_bytes


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("case", ["pull", "reach", "push", "nested"])
def test_interrupts(case: str, number: int, tmp_path: Path) -> None:
    """An interrupted run is saved at the end of its superstep, and the next run resumes from this checkpoint."""
    said: list[str] = []
    want, before = program_of(case)(graph_of(case), **CASES[case].given), signal.getsignal(number)
    signal.signal(number, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            streamed(case, checkpoint=tmp_path, every=0, progress=after(max(1, len(want.history) // 2), number),
                     notices=said.append)
    finally:
        signal.signal(number, before)
    assert said[0].startswith("saved before ")
    result = streamed(case, buffers=3, kept=0.5, checkpoint=tmp_path, threads=2)
    assert result.resumed
    assert_same(case, result, want)


def test_the_values_so_far() -> None:
    found = streamed("pull", on_interrupt="write", progress=after(3, signal.SIGINT))
    assert (found.interrupted, found.rounds, found.converged) == (True, 3, False)
    assert np.array_equal(found["rank"], streamed("pull", max_rounds=3)["rank"])


def test_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If the disk is full, the run continues and reports this once."""
    said: list[str] = []

    def full(file: int, data: bytes, at: int) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    written_at_once(monkeypatch)
    monkeypatch.setattr(os, "pwrite", full)
    found = streamed("pull", checkpoint=tmp_path, every=0, notices=said.append)
    assert said == [f"no checkpoint could be written to {tmp_path}: the disk is full; the run goes on"]
    assert_same("pull", found, program_of("pull")(graph_of("pull"), **CASES["pull"].given))


def test_a_damaged_generation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If the newer checkpoint is damaged, the older checkpoint is used, and a message reports the damage."""
    written_at_once(monkeypatch)
    with pytest.raises(Stopped):
        streamed("push", checkpoint=tmp_path, every=0, progress=stopped_after(5))
    flipped(newest(tmp_path), newest(tmp_path).stat().st_size - 4096)
    said: list[str] = []
    found = streamed("push", checkpoint=tmp_path, notices=said.append)
    assert "is damaged: the checksum of `" in said[0]
    assert said[1].startswith("goes on before superstep ")
    assert_same("push", found, program_of("push")(graph_of("push"), **CASES["push"].given))


def test_no_page_is_read_to_compare_graphs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A checkpoint has the checksum of its page file, so that other weights and edges are detected without a read of
    pages.
    """
    written_at_once(monkeypatch)
    program, state = load("sssp"), tmp_path / "state"
    for name, weights in (("a", "1..9"), ("b", "2..9")):
        save(Graph.read("grid:24x16", weights=weights), tmp_path / f"{name}.vg", page_bytes=4096)
    with streaming(2), pytest.raises(Stopped):
        program(Graph.open(tmp_path / "a.vg"), source=0, checkpoint=state, every=0, progress=stopped_after(4))
    with streaming(2), monkeypatch.context() as patch:
        patch.setattr(PageFile, "view", None)  # the function that reads and checks pages
        with pytest.raises(CheckpointError, match="its graph is that of another page file"):
            program(Graph.open(tmp_path / "b.vg"), source=0, checkpoint=state)
    with pytest.raises(CheckpointError, match="was read from a page file, and this one was not: run it on the same"):
        program(Graph.read("grid:24x16", weights="1..9"), source=0, checkpoint=state)
    changed = Graph.read(tmp_path / "a.vg").changed(removed=[(0, 1)])
    with pytest.raises(CheckpointError, match="its graph has 1456 edges, and this one 1454"):
        program(changed, source=0, checkpoint=state)
    with pytest.raises(CheckpointError, match="was read from a page file, and this one was not"):
        program(Graph.read(tmp_path / "a.vg").with_rule_weights(1, 9), source=0, checkpoint=state)
    assert program(Graph.read(tmp_path / "a.vg"), source=0, checkpoint=state).resumed


def test_the_budget_has_room_for_the_copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The smallest accepted budget suffices for checkpoints: no checkpoint is skipped, and no page is read more often.
    """
    written_at_once(monkeypatch)
    graph = Graph.read("uniform:14")
    save(graph, tmp_path / "u.vg", page_bytes=1 << 14)
    program = load("pagerank")
    said: list[str] = []
    plain = program(Graph.open(tmp_path / "u.vg"), memory="900K")
    assert plain.read_bytes > 0
    found = program(Graph.open(tmp_path / "u.vg"), memory="900K", checkpoint=tmp_path / "state", every=0,
                    notices=said.append)
    assert not said
    assert found.read_bytes > 0
    assert np.array_equal(found["rank"], plain["rank"])


def test_a_folder_that_cannot_be_used_is_refused_before_the_graph_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """An unusable folder is refused early: by the command before the graph file is opened, and by a call before pages
    are read.
    """
    (tmp_path / "file").write_text("")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "notes.txt").write_text("")
    for name, message in (("file", "it is no folder"), ("full", "holds other files (notes.txt)"),
                          ("file/below", "it is no folder")):
        assert main(["run", "pagerank", str(tmp_path / "missing.vg"), "--checkpoint", str(tmp_path / name)]) == 1
        assert message in capsys.readouterr().err
    assert main(["run", "pagerank", str(tmp_path / "missing.vg"), "--checkpoint", str(tmp_path / "new" / "one")]) == 1
    assert "missing.vg" in capsys.readouterr().err
    assert not (tmp_path / "new").exists()
    monkeypatch.setattr(StoredAdjacencies, "degree", None)
    for name in ("file", "full"):
        with pytest.raises((CheckpointError, DiskError)), streaming(2):
            program_of("pull")(Graph.open(file_of("pull")), checkpoint=tmp_path / name)
