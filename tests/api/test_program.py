"""Programs and graphs, used from Python."""

from __future__ import annotations

import inspect
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

import vlang
from tests.spelled import spelled


@pytest.fixture(scope="module")
def karate() -> vlang.Graph:
    return vlang.Graph.read("karate")


@pytest.fixture(scope="module")
def pagerank() -> vlang.Program:
    return vlang.load("pagerank")


def test_what_a_program_tells(pagerank: vlang.Program) -> None:
    assert pagerank.name == "pagerank"
    assert pagerank.doc.startswith("PageRank: ")
    assert [(p.name, p.default, p.required) for p in pagerank.params] == [
        ("damping", 0.85, False), ("tol", 1.5e-7, False),
    ]  # fmt: skip
    assert [f.name for f in pagerank.fields] == ["rank"]
    assert pagerank.edges == ()
    assert pagerank.globals == ()
    assert pagerank.warnings == ()
    assert "PageRank" in str(pagerank.__doc__)
    signature = inspect.signature(pagerank)
    assert signature.parameters["damping"].default == 0.85
    assert inspect.signature(vlang.load("sssp")).parameters["source"].default is inspect.Parameter.empty


def test_a_file_and_its_text_are_the_same_program(tmp_path: Path, karate: vlang.Graph) -> None:
    text = "program deg\nvertex d: int = outdegree\n"
    path = tmp_path / "deg.vp"
    path.write_text("\N{BYTE ORDER MARK}" + text.replace("\n", "\r\n"))
    a, b = vlang.load(path)(karate), vlang.compile(text)(karate)
    assert np.array_equal(a["d"], b["d"])
    assert vlang.load(str(path)).filename == str(path)


def test_errors_of_a_text() -> None:
    with pytest.raises(SyntaxError, match=r"error\[V101\]") as caught:
        vlang.compile("program p\nvertex x: int = y\n", filename="p.vp")
    assert isinstance(caught.value, vlang.ProgramError)
    assert len(caught.value.problems) == 1
    assert "--> p.vp:2:17" in str(caught.value)
    with pytest.raises(TypeError, match="V106"):
        vlang.compile("program p\nvertex x: bool = 1 + 2\n")


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"damp": 1}, vlang.BindError, "did you mean `damping`"),
        ({"damping": "high"}, TypeError, "`damping` is a number"),
        ({"mode": "pusch"}, vlang.BindError, "mode is one of .*; did you mean 'push'"),
        ({"threads": 0}, vlang.BindError, "threads is a whole number from 1 on"),
        ({"precision": 16}, vlang.BindError, "precision is 32 or 64"),
        ({"rank": [1.0, 2.0]}, vlang.BindError, "`rank` is an array of 34 values"),
        ({"progress": 3}, vlang.BindError, "progress is True, False or a function"),
        ({"damping": 1.5}, vlang.Error, "damping"),
    ],
)
def test_errors_of_a_call(
    pagerank: vlang.Program, karate: vlang.Graph, arguments: dict[str, object], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message) as caught:
        pagerank(karate, **spelled(**arguments))
    assert isinstance(caught.value, vlang.Error)


def test_a_run_prints_nothing_and_leaves_signals_alone() -> None:
    code = (
        "import signal, vlang\n"
        "before = [signal.getsignal(s) for s in signal.valid_signals()]\n"
        "vlang.load('bfs')(vlang.Graph.read('karate'), source=1)\n"
        "assert before == [signal.getsignal(s) for s in signal.valid_signals()]\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_progress_is_called_with_every_round(pagerank: vlang.Program, karate: vlang.Graph) -> None:
    seen: list[vlang.Round] = []
    result = pagerank(karate, progress=seen.append)
    assert tuple(seen) == result.history
    assert [r.round for r in seen] == list(range(1, result.rounds + 1))
    assert result.edges == sum(r.edges for r in seen)


def test_max_rounds(pagerank: vlang.Program, karate: vlang.Graph) -> None:
    result = pagerank(karate, max_rounds=3)
    assert (result.rounds, result.converged) == (3, False)
    assert "3" in result.reason


def test_a_warm_start_goes_on(pagerank: vlang.Program, karate: vlang.Graph) -> None:
    whole = pagerank(karate)
    part = pagerank(karate, max_rounds=10)
    rest = pagerank(karate, rank=part["rank"])
    assert np.array_equal(rest["rank"], whole["rank"])
    assert rest.rounds == whole.rounds - 10


def test_a_warm_start_with_a_field_of_vertices() -> None:
    """The user gives `vertex` fields in the same form in which results have them: user ids, and `none`."""
    graph = vlang.Graph.from_edges([10, 20, 40], [20, 30, 40])
    tree = vlang.load("bfs_tree")
    first = tree(graph, source=10)
    assert first["parent"].tolist() == [10, 10, 20, -1]
    again = tree(graph, source=10, depth=first["depth"], parent=first["parent"])
    assert again["parent"].tolist() == [10, 10, 20, -1]
    assert again.rounds == 1


def test_precision(pagerank: vlang.Program, karate: vlang.Graph) -> None:
    assert pagerank(karate)["rank"].dtype == np.float32
    assert pagerank(karate, precision=64)["rank"].dtype == np.float64
    assert vlang.load("pagerank", precision=64)(karate)["rank"].dtype == np.float64


def test_string_ids_and_none() -> None:
    graph = vlang.Graph.from_edges(["b", "b", "d"], ["a", "c", "d"])
    result = vlang.load("bfs_tree")(graph, source="b")
    assert result.ids.tolist() == ["a", "b", "c", "d"]
    assert result["parent"].tolist() == ["b", "b", "b", None]
    assert result.top(1) == [{"vertex": "b", "depth": 0, "parent": "b"}]


def test_distances_come_smallest_first_though_all_are_reached(karate: vlang.Graph) -> None:
    """A field that only decreases is treated as a distance, so that the nearest vertices are listed first."""
    assert vlang.load("bfs")(karate, source=5).top(1)[0]["vertex"] == 5
    assert vlang.load("pagerank")(karate).top(1)[0]["vertex"] == 34
    assert vlang.load("sswp")(karate, source=5).top(1)[0]["vertex"] == 5


def test_threads_may_share_a_program_and_a_graph(pagerank: vlang.Program) -> None:
    graph = vlang.Graph.read("kron:10")
    expected = pagerank(graph)["rank"].tobytes()
    found: list[bytes] = []
    workers = [threading.Thread(target=lambda: found.append(pagerank(graph)["rank"].tobytes())) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert found == [expected] * 4


def test_time_is_that_of_the_supersteps(karate: vlang.Graph) -> None:
    """`seconds` is the time of the supersteps, without reading, compiling and building, so that edges per second are
    meaningful.
    """
    text = "program once\nvertex x: float = 0.5\nrepeat 3 times:\n    gather s = sum(u.x for u -> self)\n"
    program = vlang.compile(text + f"    apply x = s / {time.time_ns()}\n")  # a text that no cache contains
    result = program(karate)
    assert result.seconds <= sum(r.seconds for r in result.history) + 0.5
    assert result.edges_per_second == pytest.approx(result.edges / result.seconds)


def test_without_a_cache() -> None:
    """If no cache folder is writable, programs compile in memory, and one warning says so."""
    code = "import vlang; print(vlang.load('bfs')(vlang.Graph.read('karate'), source=1)['depth'].max())"
    env = {"VLANG_CACHE": "/proc/nowhere", "HOME": "/proc", "PATH": "/usr/bin:/bin"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=env,
                          cwd=Path(__file__).parents[2])  # fmt: skip
    assert (done.returncode, done.stdout) == (0, "3\n")
    assert done.stderr.count("compiled programs are not kept: /proc/nowhere cannot be used") == 1
