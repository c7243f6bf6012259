"""Runs that keep vertex arrays in a file, except the arrays that are read at random."""

from __future__ import annotations

import errno
import gc
import os
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.checkpoints.test_points import Stopped, stopped_after, written_at_once
from tests.cpu.compare import same_bits
from tests.sample import sampled
from vlang import Graph, Program, Result, load
from vlang.errors import OutOfMemory
from vlang.options import parse_size
from vlang.runtime.engine import cycle
from vlang.runtime.engine.state import in_order
from vlang.runtime.graph.paged.in_memory import save
from vlang.runtime.storage.ledger import budget, ledger

MB = 1 << 20
PAGERANK = load("pagerank")


@pytest.fixture(scope="module")
def graph() -> Graph:
    return Graph.read("rmat:18")


@pytest.fixture(scope="module")
def path(graph: Graph, tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("pages") / "r.vg"
    save(graph, made, page_bytes=1 << 16)
    return made


@pytest.fixture(scope="module")
def weighted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a page file whose weights have another type than the kernels use."""
    made = tmp_path_factory.mktemp("weights") / "w.vg"
    save(Graph.read("rmat:18", weights="1..200"), made, page_bytes=1 << 16)
    return made


def within(program: Program, path: Path, memory: str, **options: Any) -> tuple[Result, int]:
    """Run a program on a page file within a budget; return the result and the peak of the ledger in bytes."""
    gc.collect()
    with budget(parse_size(memory)):
        before = ledger.used
        result = program(Graph.open(path), memory=memory, **options)
        result.top(3)
        assert "rank" in result.summary()
        return result, ledger.peak - before


def test_pagerank_needs_four_bytes_a_vertex(path: Path) -> None:
    """With 4 bytes per vertex, two buffers and parts of arrays, PageRank has the same bits as with more memory."""
    want = PAGERANK(Graph.open(path))
    found, counted = within(PAGERANK, path, "3M")
    assert "edges streamed" in found.placement
    assert "MB for vertices are in a file in" in found.placement
    assert same_bits(np.asarray(found["rank"]), np.asarray(want["rank"]))
    assert counted < 3 * MB
    with pytest.raises(OutOfMemory, match=r"give memory=.3M. "):
        within(PAGERANK, path, "2M")
    more, _ = within(PAGERANK, path, "10M")
    assert "in a file" not in more.placement


def test_other_ways_are_refused_with_the_need(path: Path) -> None:
    for name, options in (("bfs", {"source": 0}), ("components", {}), ("betweenness", {"sources": [0]})):
        with pytest.raises(OutOfMemory, match=r"needs .* give memory=.\d+M"):
            load(name)(Graph.open(path), memory="2M", **options)


def test_checkpoints_of_a_state_in_a_file(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A checkpoint needs no memory for a copy of the state. A run that continues from a checkpoint needs no memory for
    a copy either.

    The parts of the run have their state in a file, in memory, and in a file again. The search for cycles, which begins
    at superstep 4 in this test, copies the state. The last part continues from a checkpoint with this copy.
    """
    written_at_once(monkeypatch)
    monkeypatch.setattr(cycle, "WATCHED_FROM", 4)
    options: dict[str, Any] = {"damping": 0.999, "tol": 1e-9, "max_rounds": 9}
    want, said = PAGERANK(Graph.open(path), **options), list[str]()
    saved: dict[str, Any] = {**options, "checkpoint": tmp_path / "saved", "every": 0, "notices": said.append}
    for memory, rounds in (("3M", 2), ("16M", 2), ("3M", 3)):
        gc.collect()
        with budget(parse_size(memory)):
            before = ledger.used
            with pytest.raises(Stopped):
                PAGERANK(Graph.open(path), memory=memory, progress=stopped_after(rounds), **saved)
            assert ledger.peak - before < parse_size(memory)
    found, counted = within(PAGERANK, path, "3M", **saved)
    assert [text.partition(",")[0] for text in said] == [
        f"goes on before superstep {at} of the loop in line 15" for at in (2, 3, 5)]
    assert "in a file" in found.placement
    assert counted < 3 * MB
    assert found.rounds == want.rounds == 9
    assert same_bits(np.asarray(found["rank"]), np.asarray(want["rank"]))
    assert len(list((tmp_path / "saved").iterdir())) == 2, "the lock, and one finished generation"


def test_a_full_disk_at_a_checkpoint_of_a_state_in_a_file(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If the disk is full when a copy or its description is written, the run continues and reports this once."""
    def full(*_given: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    options: dict[str, Any] = {"max_rounds": 4, "tol": 0.0}
    want, saved = PAGERANK(Graph.open(path), **options), tmp_path / "saved"
    written_at_once(monkeypatch)
    for function in ("pwrite", "fsync"):
        said: list[str] = []
        with monkeypatch.context() as patch:
            patch.setattr(os, function, full)
            found, _ = within(PAGERANK, path, "3M", checkpoint=saved, every=0, notices=said.append, **options)
        assert said[:1] == [f"no checkpoint could be written to {saved}: the disk is full; the run goes on"]
        assert same_bits(np.asarray(found["rank"]), np.asarray(want["rank"]))
        assert not (saved / "state.next").exists()


def test_a_folder_that_cannot_be_written(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.access
    monkeypatch.setattr(os, "access", lambda *given: not given[1] & os.W_OK and real(*given))
    with pytest.raises(OutOfMemory, match=r"to stream them .* give memory=.\d+M"):
        within(PAGERANK, path, "3M")


def test_which_arrays_move() -> None:
    """Arrays that a gather reads at neighbours stay in memory, with both buffers of a field. All other vertex arrays
    move to the file.
    """
    pagerank, cdlp = PAGERANK.plan(frozenset()), load("cdlp").plan(frozenset())
    assert pagerank.scattered == {"work:message.s1.0"}
    assert in_order(pagerank) == {"field:rank", "next:rank", "degree:out", "later:message.s1.0"}
    assert in_order(cdlp) == {"work:notify.s1"}


@pytest.mark.parametrize("name", sampled(["pagerank", "sssp", "cdlp"], ["pagerank", "cdlp"]))
def test_the_need_of_a_stream_is_what_the_ledger_counts(name: str, path: Path, weighted: Path) -> None:
    """A run with the smallest budget that the error message names succeeds, and uses nearly all of this budget apart
    from pages.
    """
    program, options = load(name), {"source": 1} if name == "sssp" else {}
    file = weighted if name == "sssp" else path
    want, disk, least = program(Graph.read(file), **options), Graph.open(file), 2200 << 10
    for _ in range(5):  # a program that merges both directions first reports the need of the merge
        gc.collect()
        try:
            with budget(least):
                before = ledger.used
                found = program(disk, memory=least, **options)
                counted = ledger.peak - before
            break
        except OutOfMemory as refused:
            said = re.search(r"--memory (\d+)M", str(refused))  # absent in a rare order of merges by threads
            least = int(said[1]) * MB if said else least + MB
    assert found.read_bytes > 0
    for field in want.fields:
        assert same_bits(np.asarray(found[field]), np.asarray(want[field])), field
    print(name, least / MB, counted / MB)
    assert 0.9 * least - MB <= counted <= least
