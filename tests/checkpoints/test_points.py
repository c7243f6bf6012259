"""A run can be resumed from every point at which it can be saved, with the result of a run that was never stopped."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.checkpoints.cases import CASES, assert_same, graph_of, program_of
from vlang import CheckpointError, Graph, compile, load
from vlang.runtime.engine import state
from vlang.runtime.engine.trace import Round
from vlang.runtime.storage.state.state_file import StateFile
from vlang.runtime.threads.tasks import Task


class Stopped(Exception):
    """Raised by a progress function to stop a run."""


def written_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Write every checkpoint before the run continues, so that a test knows which checkpoints exist."""
    monkeypatch.setattr(Task, "begin", lambda self: False)


def stopped_after(rounds: int) -> Any:
    """Return a progress function that stops a run at call number `rounds`."""
    left = [rounds]

    def progress(_row: Round) -> None:
        left[0] -= 1
        if left[0] == 0:
            raise Stopped

    return progress


@pytest.mark.parametrize("case", CASES)
def test_a_run_stopped_again_and_again(case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run in several parts of a few rounds has the right result. The parts differ in threads, pages, execution ways
    and budgets.
    """
    written_at_once(monkeypatch)
    program, graph, given = program_of(case), graph_of(case), CASES[case].given
    want = program(graph, **given)
    step, part, resumed = max(2, len(want.history) // 4), 0, 0
    while True:
        research = {**CASES[case].others[part % len(CASES[case].others)], "page_size": (4096, 65536)[part % 2]}
        more = {**given, "research": research, "threads": 1 + part % 3, "memory": (None, "1G")[part % 2]}
        try:
            result = program(graph, checkpoint=tmp_path, every=0,
                             progress=stopped_after(step) if part < 12 else None, **more)
        except Stopped:
            part += 1
            continue
        break
    resumed = bool(result.resumed)
    assert_same(case, result, want)
    assert resumed or part == 0
    assert program(graph, checkpoint=tmp_path, **given).resumed == ""  # the run before it had finished


def test_a_checkpoint_before_the_first_pass(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a checkpoint before the first pass, the fields that this pass will initialise contain zeros, not old data."""
    def dirty(count: int, dtype: Any) -> Any:
        array = np.empty(count, dtype)
        array.view(np.uint8)[:] = 0xEE
        return array

    written_at_once(monkeypatch)
    monkeypatch.setattr(state, "empty", dirty)
    with pytest.raises(Stopped):
        program_of("components")(graph_of("components"), checkpoint=tmp_path, every=0, progress=stopped_after(1),
                                 **CASES["components"].given)
    first, second = sorted(tmp_path.glob("state.*"), key=lambda path: int(StateFile(path).about["generation"]))
    assert not StateFile(first).arrays()["field:label"].any()
    second.unlink()
    result = program_of("components")(graph_of("components"), checkpoint=tmp_path, **CASES["components"].given)
    assert result.resumed
    assert_same("components", result, program_of("components")(graph_of("components"), **CASES["components"].given))


def test_a_run_to_a_target(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A resumed run with a target has the same final vertices, with the same values, as an undisturbed run."""
    written_at_once(monkeypatch)
    program, graph = program_of("priority"), graph_of("priority")
    want = program(graph, source=3, target=200)
    with pytest.raises(Stopped):
        program(graph, source=3, target=200, checkpoint=tmp_path, every=0, progress=stopped_after(4))
    result = program(graph, source=3, target=200, checkpoint=tmp_path)
    assert result.resumed
    assert result.final is not None
    assert want.final is not None
    assert np.array_equal(result.final, want.final)
    assert np.array_equal(result["dist"][result.final], want["dist"][want.final])
    assert (result.row(200), result.reason) == (want.row(200), want.reason)


def test_what_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written_at_once(monkeypatch)
    said: list[str] = []
    program, graph = program_of("nested"), graph_of("nested")
    with pytest.raises(Stopped):
        program(graph, checkpoint=tmp_path, every=0, progress=stopped_after(7), notices=said.append)
    assert said == []
    result = program(graph, checkpoint=tmp_path, notices=said.append)
    assert said == [result.resumed]
    assert said[0].startswith("goes on before superstep ")
    assert " of the loop in line 31, in superstep 1 of the loop in line 16, as of 20" in said[0]
    assert program(graph, checkpoint=tmp_path, notices=said.append).resumed == ""
    assert said[1] == f"the run that kept its checkpoints in {tmp_path} has finished: this one begins anew"
    assert load("bfs")(graph, source=1, checkpoint=tmp_path).resumed == ""  # a finished run has nothing to resume


OTHERS: dict[str, tuple[dict[str, Any], str]] = {
    "parameter": ({"tol": 1e-6}, "its run had tol = 1e-09, and this one has 1e-06"),
    "one that was not given": ({"damping": 0.5}, "its run had damping = its default, and this one has 0.5"),
    "rounds": ({"max_rounds": 7}, "its run had max_rounds = none, and this one has 7"),
    "precision": ({"precision": 32}, "its run had precision = 64, and this one has 32"),
    "optimisation": ({"research": {"without": "factor"}}, "its run had without = none, and this one has factor"),
}


@pytest.mark.parametrize("what", [*OTHERS, "graph", "edges", "column", "ids", "program", "field"])
def test_another_run_is_refused(what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A checkpoint of another run is refused and kept, and the message names the difference between the runs."""
    written_at_once(monkeypatch)
    graph, given = Graph.read("uniform:7,weights=1..9"), dict(CASES["pull"].given)
    program = program_of("pull")
    if what == "column":
        program, given = program_of("priority"), {"source": 3, "research": {"schedule": "rounds"}}
    elif what == "field":
        program, given = load("heat"), {"q": np.arange(graph.n, dtype=np.float32)}
    with pytest.raises(Stopped):
        program(graph, checkpoint=tmp_path, every=0, progress=stopped_after(3), **given)
    before = sorted((path.name, path.read_bytes()) for path in tmp_path.iterdir())
    other, message = graph, ""
    if what in OTHERS:
        more, message = OTHERS[what]
        given |= more
    elif what == "graph":
        other, message = Graph.read("uniform:6"), "its graph has 128 vertices, and this one 64"
    elif what == "edges":
        ends = graph.adjacency("out")
        other = Graph.from_edges(*_rewired(graph), directed=False)
        assert (other.n, other.m, len(ends)) == (graph.n, graph.m, graph.m)
        message = "its graph has other edges"
    elif what == "column":
        other, message = Graph.read("uniform:7,weights=2..9"), "its graph has other values (column weight)"
    elif what == "ids":
        src, dst = _edges(graph)
        other, message = Graph.from_edges(src + 5, dst + 5, directed=False), "its graph has other vertex ids"
    elif what == "field":
        given, message = {"q": given["q"] + 1}, "its run was given other values of `q`"
    else:
        program, message = compile(program.source + "\n# more\n"), "its program has another text"
    with pytest.raises(CheckpointError, match="cannot go on from the checkpoint in") as caught:
        program(other, checkpoint=tmp_path, **given)
    assert message in str(caught.value)
    assert before == sorted((path.name, path.read_bytes()) for path in tmp_path.iterdir())


def _edges(graph: Graph) -> Any:
    """Return every edge of an undirected graph once."""
    rows = graph.adjacency("out")
    src = np.repeat(np.arange(graph.n), graph.out_degree)
    once = src <= rows.targets
    return src[once], rows.targets[once].astype(np.int64)


def _rewired(graph: Graph) -> Any:
    """Return the edges of an undirected graph with the first edge moved, so that n and m stay the same."""
    src, dst = _edges(graph)
    at = int((src != dst).argmax())
    dst[at] = (dst[at] + 1) % graph.n if (dst[at] + 1) % graph.n != src[at] else (dst[at] + 2) % graph.n
    return src, dst
