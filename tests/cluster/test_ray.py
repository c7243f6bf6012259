"""Runs on actors of Ray, which is started once on this machine. The tests are skipped if Ray is not installed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from tests.cluster.test_ranks import assert_same
from tests.cpu.compare import engine_run
from tests.reference.cases import case
from tests.reference.graphs import family, to_graph
from vlang import BindError, ClusterError, Error, Graph, Program, compile, load
from vlang.api.arguments.bind_options import check_options
from vlang.runtime.cluster.by_ray import connect, ray_job
from vlang.runtime.cluster.job.shared_file import stamp_of

SPEC = find_spec("ray")
WITH_RAY = pytest.mark.skipif(SPEC is None or SPEC.origin is None,
                              reason="Ray is not installed: pip install 'vlang[ray]'")
CORE = ("pagerank", "bfs", "sssp", "components", "hits", "cdlp")


@cache
def program(name: str) -> Program:
    return load(name)


@pytest.fixture(scope="module", autouse=True)
def ended() -> Iterator[None]:
    """Stop Ray after the tests of this file."""
    yield
    if "ray" in sys.modules and hasattr(sys.modules["ray"], "shutdown"):
        connect.end_actors()
        sys.modules["ray"].shutdown()


def pid_of(rank: int) -> int:
    """Return the process id of a rank of the last call."""
    (actors,) = connect._KEPT
    found: int = json.loads(actors.ray.get(actors.handles[rank].about.remote()))["pid"]
    return found


@WITH_RAY
@pytest.mark.parametrize("ranks", [2, 3])
def test_core_programs(ranks: int) -> None:
    """Core programs give the same bits as in one process. Later calls use the same actors."""
    pids = set[int]()
    for name in CORE:
        some = case(name, family("messy", True, "float"))
        assert some is not None
        graph = to_graph(some.graph)
        assert_same(engine_run(program(name), some, graph),
                    engine_run(program(name), some, graph, cluster=f"ray:{ranks}"))
        pids.add(pid_of(0))
    assert len(pids) == 1


SLOW = """program slow(rounds: int)
vertex x: float = 1
repeat rounds times:
    gather s = sum(u.x for u -> self)
    apply x = x + s / (s + x)
"""


@WITH_RAY
def test_a_lost_rank(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A rank that is killed is started again, and the run has the same bits as in one process. The machine of the rank
    has no access to the page file of the graph, so the rank gets a copy.
    """
    monkeypatch.setattr(ray_job, "stamp_of", lambda path: [0, *(stamp_of(path) or ())])
    slow, graph, notices = compile(SLOW), Graph.read("kron:6"), list[str]()
    want = slow(graph, rounds=400)
    others = list[int]()

    def kill() -> None:
        end = time.monotonic() + 300
        while len(list((tmp_path / "state").glob("rank-*/state.[01]"))) < 4 and time.monotonic() < end:
            time.sleep(0.01)  # both ranks have two generations, so at least one of them is common
        others.append(pid_of(0))
        os.kill(pid_of(1), signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    found = slow(graph, rounds=400, cluster="ray:2", checkpoint=tmp_path / "state", every=0, restarts=1,
                 notices=notices.append)
    killer.join()
    assert_same(want, found)
    assert "rank 1 was lost: restart 1 of 1, from the last checkpoint of all ranks" in notices
    assert found.resumed in notices
    assert sum("which does not see it" in notice for notice in notices) == 1  # rank 0 still has the copy
    assert others == [pid_of(0)]
    timer = threading.Timer(0.5, lambda: os.kill(pid_of(1), signal.SIGKILL))
    timer.start()
    with pytest.raises(ClusterError, match=r"rank 1 was lost: its process or its machine has ended$"):
        slow(graph, rounds=1 << 30, cluster="ray:2")


@WITH_RAY
def test_errors_and_the_command(tmp_path: Path) -> None:
    """A run on ranks raises the same error as a run in one process. The command joins the running Ray, and writes one
    part per rank.
    """
    graph, pagerank = Graph.from_edges([0, 1], [1, 2], columns={"weight": [1.0, -2.0]}), program("sssp")
    with pytest.raises(Error) as want:
        pagerank(graph, source=0)
    with pytest.raises(type(want.value)) as found:
        pagerank(graph, source=0, cluster="ray:2")
    assert str(found.value) == str(want.value)
    address: Any = sys.modules["ray"].get_runtime_context()
    environ = {**os.environ, "RAY_ADDRESS": address.gcs_address}
    words = [sys.executable, "-m", "vlang", "run", "bfs", "kron:6", "source=0", "--cluster", "ray:2", "-o"]
    done = subprocess.run([*words, f"{tmp_path}/parts/"], capture_output=True, text=True, timeout=120, check=False,
                          env=environ)
    assert done.returncode == 0, done.stderr
    for text in ("2 ranks of Ray; ", "a rank needs at most", "round 1: ", "64 rows, in a file of each rank"):
        assert done.stderr.count(text) == 1, done.stderr
    assert len(list((tmp_path / "parts").iterdir())) == 2


def test_options(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wrong addresses are refused before Ray is loaded. If Ray is not installed, the message names the extra to
    install.
    """
    for value in ("ray", "ray:0", "ray:x", "ray://host", "ray://host:1/0", "ray://host:1/x"):
        with pytest.raises(BindError, match="write ray:N for N ranks, ray://HOST:PORT for one rank on each machine"):
            check_options({"cluster": value})
    assert check_options({"cluster": "ray://host:10001/3"}).cluster == "ray://host:10001/3"
    monkeypatch.setattr(connect, "find_spec", lambda name: None)
    connect.end_actors()
    with pytest.raises(ClusterError, match=r"needs Ray, which is not installed: pip install 'vlang\[ray\]'"):
        program("bfs")(Graph.read("karate"), source=1, cluster="ray:2")
    with pytest.raises(BindError, match=r"lcc, line 16: .* cannot run on a cluster"):
        load("lcc")(Graph.read("karate"), cluster="ray:2")
