"""Runs whose ranks are started from a script. The tests are skipped if mpi4py or an MPI library is not installed."""

from __future__ import annotations

import os
import signal
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from tests.cluster.test_mpi import ended, pytestmark, ranks_of
from tests.cluster.test_ranks import assert_same, program
from vlang import BindError, Error, Graph
from vlang.errors import ClusterError

__all__ = ["pytestmark"]


def named_graph() -> Graph:
    """Return a graph in memory whose ids are texts, with weights."""
    rng = np.random.default_rng(4)
    ends = rng.integers(0, 90, (2, 700))
    return Graph.from_edges(*np.char.add("v", ends.astype(str)), weight=rng.integers(1, 9, 700))


def test_a_script(tmp_path: Path) -> None:
    """The result has the same bits, ids, rounds and history as in one process, also for a page file in degree order."""
    graph = named_graph()
    want = program("sssp")(graph, source="v7", threads=1)
    found = program("sssp")(graph, source="v7", cluster=2)
    assert_same(want, found)
    assert found.ids.tolist() == want.ids.tolist()
    assert (found.device_reason, found.row("v7")) == ("rank 0 of 2", want.row("v7"))
    graph.save(tmp_path / "g.vg", layout="degree")
    for other in (Graph.open(tmp_path / "g.vg"), Graph.read(tmp_path / "g.vg")):
        assert_same(program("pagerank")(other, threads=1), program("pagerank")(other, cluster=2))


def test_errors_of_a_rank() -> None:
    """A run on ranks raises the same error as a run in one process. Arguments that cannot be sent to ranks are refused
    before the start.
    """
    graph, pagerank = named_graph(), program("pagerank")
    with pytest.raises(Error) as want:
        pagerank(graph, damping=2)
    with pytest.raises(type(want.value)) as found:
        pagerank(graph, damping=2, cluster=2)
    assert str(found.value) == str(want.value)
    for name, value in (("progress", print), ("notices", print)):
        with pytest.raises(BindError, match=f"{name} is a function, which ranks that vlang starts cannot call: give"):
            pagerank(graph, cluster=2, **{name: value})
    with pytest.raises(BindError, match="restarts goes on from the last checkpoint"):
        pagerank(graph, cluster=2, restarts=1)
    with pytest.raises(BindError, match="resume runs in one process"):
        program("sssp").resume(program("sssp")(graph, source="v7"), cluster=2,
                               added={"src": ["v1"], "dst": ["v2"], "weight": [1]})


def test_a_killed_rank(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If a rank is killed, the script gets an error, and no process of a rank is left."""
    monkeypatch.setenv("VLANG_TEST_MARK", str(tmp_path))
    errors: list[BaseException] = []

    def work() -> None:
        try:
            program("pagerank")(named_graph(), tol=0, max_rounds=1 << 30, research={"mode": "pull"}, cluster=2)
        except Error as error:
            errors.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    end = time.monotonic() + 60
    while len(pids := ranks_of(str(tmp_path))) < 2 and time.monotonic() < end:
        time.sleep(0.02)
    os.kill(pids[1], signal.SIGKILL)
    thread.join(30)
    (error,) = errors
    assert isinstance(error, ClusterError)
    assert str(error).startswith("a rank was killed, and the job ended with status ")
    assert ended(str(tmp_path))


def test_no_mpi(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vlang.runtime.cluster.job.start.find_spec", lambda name: None)
    with pytest.raises(ClusterError, match=r"several ranks need mpi4py, .*: pip install 'vlang\[cluster\]'"):
        program("pagerank")(named_graph(), cluster=2)
