"""Each rank owns an emulated GPU and exchanges values through the host, or by an emulated NCCL. Every allowed program
gives the interpreter's result.
"""

from __future__ import annotations

import ctypes
import random
import subprocess
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.checkpoints.test_points import Stopped, stopped_after, written_at_once
from tests.cluster.test_ranks import REFUSED
from tests.cpu.compare import engine_run
from tests.cuda.emulation.emulated import needs_compiler
from tests.cuda.programs.test_several import assert_same
from tests.cuda.runs import APPROXIMATE, assert_right, emulated, given, program, run
from tests.reference.cases import STDLIB
from tests.sample import sampled
from vlang import BindError, DeviceError, Graph, Result, load
from vlang.runtime.cluster.gpu import nccl
from vlang.runtime.cluster.transports.thread_ranks import run_ranks

pytestmark = needs_compiler

GRAPHS = ("skewed", "messy", "components", "empty")
DEVICES = "emulated:0,1,2"


def on_ranks(name: str, graph: str, size: int, **options: Any) -> list[Result]:
    """Return the results of all ranks; each rank has its own GPU."""
    some = given(name, graph)
    assert some is not None
    with emulated(name, several=True):
        return run_ranks(size, lambda _: engine_run(program(name), some, device=DEVICES, **options), patience=120)


ALLOWED = sampled([name for name in STDLIB if name not in REFUSED], ["sssp"])


@pytest.mark.parametrize("name", ALLOWED)
def test_program(name: str) -> None:
    start = STDLIB.index(name)
    graph = next(one for one in (*GRAPHS[start % 4 :], "skewed") if given(name, one) is not None)
    limit = {"max_rounds": 7} if name in APPROXIMATE else {}
    for found in on_ranks(name, graph, 2 + start % 2, **limit):
        assert_right(name, graph, found)
        assert found.device.startswith("emulated:")


def test_the_same_bits_as_on_one_gpu() -> None:
    """The bits are the same as on one GPU, although ranges end inside of blocks of a reduction. Each rank uses a GPU of
    its own machine.
    """
    asked: dict[str, Any] = {"deterministic": True, "max_rounds": 3, "mode": "pull"}
    first = run("pagerank", "wide", **asked)
    found = on_ranks("pagerank", "wide", 3, cluster="mpi", **asked)
    assert [one.device for one in found] == ["emulated:0", "emulated:1", "emulated:2"]
    for one in found:
        assert_same(first, one)
        assert one.moved.bytes_between > 0
        assert "by its host" in one.notes[-1]


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    """Emulate NCCL's functions for threads of this process."""
    target = tmp_path_factory.mktemp("nccl") / "libnccl.so.2"
    source = Path(__file__).parents[1] / "emulation" / "nccl.cpp"
    subprocess.run(["g++", "-shared", "-fPIC", "-std=c++17", "-pthread", "-o", str(target), str(source)], check=True)
    found = ctypes.CDLL(str(target))
    found.ncclGetErrorString.restype = ctypes.c_char_p
    return found


@pytest.mark.parametrize(("name", "graph"), [("pagerank", "wide"), ("hits", "skewed"), ("bfs", "messy")])
def test_from_gpu_to_gpu(name: str, graph: str, library: ctypes.CDLL, monkeypatch: pytest.MonkeyPatch) -> None:
    """With NCCL, values are sent without the hosts, and the result has the same bits."""
    limit = {"max_rounds": 3} if name in APPROXIMATE else {}
    want = on_ranks(name, graph, 3, deterministic=True, **limit)
    monkeypatch.setattr(nccl, "nccl", lambda: library)
    found = on_ranks(name, graph, 3, deterministic=True, **limit)
    for one, other in zip(found, want):
        assert_same(one, other)
        assert "NCCL is not installed" in other.notes[-1]
        assert "exchange nccl: " in one.notes[-1]
        assert one.moved.bytes_between > 0


def test_without_nccl(library: ctypes.CDLL, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ranks exchange values through the hosts if they share a GPU, or if they are replaced one by one. An error of NCCL
    ends the run.
    """
    monkeypatch.setattr(nccl, "nccl", lambda: library)
    with monkeypatch.context() as patch:
        patch.setattr("tests.cuda.emulation.emulated.id", lambda _: 0, raising=False)
        assert "by its host (some ranks share a GPU)" in on_ranks("pagerank", "skewed", 2, max_rounds=2)[0].notes[-1]
    with monkeypatch.context() as patch:
        patch.setattr("vlang.runtime.cluster.transports.thread_ranks.ThreadRank.together", False)
        assert "NCCL cannot replace a rank" in on_ranks("pagerank", "skewed", 2, max_rounds=2)[0].notes[-1]
    with monkeypatch.context() as patch:
        patch.setattr(nccl, "_BYTE", 7)
        with pytest.raises(DeviceError, match=r"NCCL failed in nccl(Send|Recv): invalid argument"):
            on_ranks("pagerank", "skewed", 2, max_rounds=2)


def test_checkpoints(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ranks that are stopped at random supersteps continue, on other numbers of ranks, with the same bits."""
    seed = random.randrange(1 << 30)
    print(f"seed {seed}")
    draw = random.Random(seed)
    written_at_once(monkeypatch)
    for name, graph in (("pagerank", "wide"), ("bfs", "grid")):
        asked: dict[str, Any] = {"deterministic": True, **({"max_rounds": 9} if name in APPROXIMATE else {})}
        want, folder, stops = on_ranks(name, graph, 1, **asked)[0], tmp_path / name, 0
        for size in (3, 2, 1, 2):
            stop = stopped_after(draw.randint(1, 3)) if size != 2 or stops < 2 else None
            try:
                found = on_ranks(name, graph, size, checkpoint=folder, every=0, progress=stop, **asked)
            except Stopped:
                stops += 1
                continue
            break
        assert stops
        for one in found:
            assert_same(want, one)
            assert one.resumed


def test_refused() -> None:
    """Options that ranks with GPUs do not support are refused with the reason."""
    graph = Graph.read("karate")
    calls: list[tuple[dict[str, Any], str]] = [
        ({"device": "auto"}, "machines may differ"), ({"device": "gpu", "memory": "1G"}, "memory"),
        ({"device": "gpu", "research": {"mode": "notify-pull"}}, "several GPUs run full passes")]
    for options, text in calls:
        with pytest.raises(BindError, match=text):
            run_ranks(2, partial(_ran, graph, options))


def _ran(graph: Graph, options: dict[str, Any], _transport: object) -> Result:
    return load("pagerank")(graph, **options)
