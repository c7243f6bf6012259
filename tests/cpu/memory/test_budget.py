"""Memory budgets: the ledger counts every large array, the memory need is known before a run, and a run keeps its
budget.
"""

from __future__ import annotations

import gc
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import vlang
from tests.sample import sampled
from vlang.api.running.memory import chosen_budget, need_on
from vlang.options import Options
from vlang.runtime.cpu.passes.edge_costs import MEASURED_FROM, costs_of
from vlang.runtime.graph.estimate import estimate
from vlang.runtime.storage.available import available_bytes, in_bytes
from vlang.runtime.storage.ledger import budget, ledger
from vlang.runtime.storage.memory import empty, zeros
from vlang.runtime.storage.passing import passing
from vlang.runtime.threads.workers import on_threads

MB = 1 << 20


@pytest.fixture(autouse=True)
def _collected() -> None:
    gc.collect()  # arrays of other tests that are still counted


# ---------------------------------------------------------------------------------------------------------- the ledger


def test_every_large_array_is_counted_and_returned() -> None:
    with budget(64 * MB):
        before = ledger.used
        held = [np.empty(MB, np.float64), empty(MB, np.float64), zeros(MB, np.float64), passing(MB, np.float64),
                np.arange(MB) * 2]
        assert 40 * MB <= ledger.used - before < 41 * MB
        held[0].resize(2 * MB, refcheck=False)
        assert 48 * MB <= ledger.used - before < 49 * MB
        held.append(np.sort(held[1])[:1].copy())
        assert ledger.used - before < 49 * MB
        assert ledger.peak - before >= 56 * MB, "temporary arrays are counted"
    del held
    assert ledger.used == before, "arrays that outlive a budget are counted until they are freed"
    assert ledger.limit is None


def test_what_does_not_fit_is_refused_before_it_is_touched() -> None:
    said = r"16\.0 MB more are needed, and .* of the budget of 8\.0 MB are left"
    with pytest.raises(vlang.OutOfMemory, match=said), budget(8 * MB):
        np.zeros(16 * MB, np.uint8)
    with budget(8 * MB):
        array = np.zeros(4 * MB, np.uint8)
        with pytest.raises(MemoryError):
            array.resize(32 * MB, refcheck=False)
        array[:] = 1
        with budget(64 * MB), pytest.raises(vlang.OutOfMemory), budget(6 * MB):
            np.zeros(3 * MB, np.uint8)
    np.zeros(16 * MB, np.uint8)


def test_threads_count_towards_the_budget_of_their_caller() -> None:
    with budget(256 * MB):
        before = ledger.used
        arrays = on_threads(4, lambda size: np.ones(size * MB, np.uint8), [1, 2, 3, 4])
        assert ledger.used - before >= 10 * MB
        with pytest.raises(MemoryError):
            on_threads(2, lambda size: np.ones(size * MB, np.uint8), [200, 200])
    assert [int(array.sum()) for array in arrays] == [MB, 2 * MB, 3 * MB, 4 * MB]


def test_arrays_from_before_are_beside_a_budget() -> None:
    """Arrays of earlier runs, such as results, do not count in a budget. The graph always counts, even if it was read
    earlier.
    """
    with budget(64 * MB):
        mine = np.ones(24 * MB, np.uint8)
    with budget(8 * MB, 2 * MB) as now:
        assert (now.left, now.limit) == (6 * MB, 8 * MB)
        with budget(16 * MB, 4 * MB):
            assert now.left == 4 * MB
        assert now.left == 6 * MB
        with pytest.raises(MemoryError):
            np.ones(7 * MB, np.uint8)
    with budget(64 * MB, 30 * MB) as now:
        assert now.left == 34 * MB
    assert mine.nbytes <= ledger.used < mine.nbytes + MB
    with budget(4 * MB) as now, budget(32 * MB):
        assert now.left == 4 * MB
    del mine
    assert ledger.used < MB


def test_results_of_earlier_runs_are_beside_the_budget_of_a_run() -> None:
    graph, program = vlang.Graph.read("rmat:16"), vlang.load("pagerank")
    program(graph)
    plan = program.plan(frozenset())
    need = need_on(plan, graph.shape(), Options(), graph).peak + MB
    kept = [program(graph, memory=need) for _ in range(24)]
    assert ledger.used >= sum(one["rank"].nbytes for one in kept) > 5 * MB
    assert all(np.array_equal(one["rank"], kept[0]["rank"]) for one in kept)


# ------------------------------------------------------------------------------------------------ what a run will need

CASES = {"pagerank": {}, "bfs": {"source": 1}, "sssp": {"source": 1}, "components": {}, "hits": {}, "cdlp": {},
         "mis": {}}


@pytest.mark.parametrize("spec", ["rmat:18", "grid:700x700"])
def test_the_need_is_what_the_ledger_counts(spec: str) -> None:
    costs_of(MEASURED_FROM)  # the measurement, done once on a machine, needs memory of its own
    for name in sampled(CASES, ["pagerank", "sssp", "components", "cdlp"]):
        program, arguments = vlang.load(name), CASES[name]
        program(vlang.Graph.read("grid:9x9", weights="1..64"), **arguments)  # compile the kernels
        gc.collect()
        with budget(2 << 30):
            before = ledger.used
            graph = vlang.Graph.read(spec, weights="1..64")
            need = need_on(program.plan(frozenset(graph.columns)), graph.shape(), Options(threads=2), graph)
            program(graph, threads=2, **arguments)
            counted = ledger.peak - before
        assert 0.9 * counted <= need.peak + need.optional, (name, in_bytes(counted), str(need))
        assert need.peak <= 1.1 * counted + MB, (name, in_bytes(counted), str(need))
        del graph


def test_the_need_is_known_before_a_graph_is_read(tmp_path: Path) -> None:
    graph = vlang.Graph.read("rmat:15", weights="1..64")
    edges = graph.edges()
    ends = np.stack([edges.src, edges.dst], 1)
    np.savetxt(tmp_path / "plain.txt", ends, fmt="%d")
    np.savetxt(tmp_path / "weights.csv", np.column_stack([ends, edges.src % 64]), fmt="%d", delimiter=",",
               header="source,target,weight", comments="")
    np.savetxt(tmp_path / "texts.txt", ends, fmt="user%d")
    graph.save(tmp_path / "saved.npz")
    graph.save(tmp_path / "saved.vg")
    graph.save(tmp_path / "degree.vg", layout="degree")
    plan = vlang.load("pagerank").plan(frozenset())
    for name in ("plain.txt", "weights.csv", "texts.txt", "saved.npz", "saved.vg", "degree.vg", "rmat:15",
                 "rmat:15,weights=1..64", "grid:300x500"):
        spec = name if ":" in name else str(tmp_path / name)
        shape = estimate(spec, threads=2)
        assert shape is not None
        del graph
        gc.collect()
        with budget(1 << 30):
            before = ledger.used
            graph = vlang.Graph.read(spec, threads=2)
            counted, read = ledger.peak - before, graph.shape()
        reading = need_on(plan, shape, Options(threads=2)).reading
        assert 0.9 <= reading / counted <= 1.15, (name, reading, counted)
        assert 0.95 <= shape.m / read.m <= 1.05
        assert (shape.directed, len(shape.columns)) == (read.directed, len(read.columns))
        assert not shape.exact or (shape.n, shape.m, shape.listed) == (read.n, read.m, read.listed)


# ------------------------------------------------------------------------------------------------------- the promise


def _watched(*words: str) -> tuple[int, str, int]:
    """Run `vlang run`; return its exit code, its messages, and its peak of anonymous and shared memory in bytes."""
    process = subprocess.Popen([sys.executable, "-m", "vlang", "run", *words], stdout=subprocess.DEVNULL,
                               stderr=subprocess.PIPE, text=True)
    most = 0
    while process.poll() is None:
        try:
            status = Path(f"/proc/{process.pid}/status").read_text()
        except OSError:
            break
        held = [int(line.split()[1]) << 10 for line in status.splitlines() if line.startswith(("RssAnon", "RssShmem"))]
        most = max(most, sum(held))
        time.sleep(0.002)
    said = process.communicate()[1]
    return process.returncode, said, most


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="memory is sampled through /proc")
def test_a_budget_is_kept() -> None:
    for words, limit in ((("pagerank", "rmat:17"), 36), (("bfs", "rmat:17", "source=1"), 36)):
        status, said, most = _watched(*words, "--memory", f"{limit}M", "--threads", "2")
        assert status == 0, said
        assert "needs" in said.splitlines()[0]
        assert most <= (limit + 64) * MB, in_bytes(most)


def test_a_need_beyond_the_budget_is_refused_with_the_least_that_does(tmp_path: Path) -> None:
    status, said, most = _watched("pagerank", "rmat:20", "--memory", "100M")
    assert status == 1
    assert said.startswith("error: pagerank on rmat:20 needs ")
    assert "give memory=" in said
    assert "vlang convert rmat:20" in said
    assert most < 100 * MB, "nothing large was allocated"
    least = said.partition("(--memory ")[2].partition(")")[0]
    graph = vlang.Graph.read("rmat:12")
    with pytest.raises(vlang.OutOfMemory, match=r"give memory=.2M"):
        vlang.load("pagerank")(graph, memory="100K")
    assert least.endswith("M")
    graph.save(tmp_path / "pages.vg")
    with pytest.raises(vlang.OutOfMemory, match=r'streamed: vlang.Graph.open\(".*pages.vg"\)'):
        vlang.load("pagerank")(vlang.Graph.read(tmp_path / "pages.vg"), memory="100K")


def test_the_environment_sets_a_budget_and_options_override_it(monkeypatch: pytest.MonkeyPatch) -> None:
    assert chosen_budget(Options(), {"VLANG_MEMORY": "2G"}) == 2 << 30
    assert chosen_budget(Options(memory=5), {"VLANG_MEMORY": "2G"}) == 5
    assert chosen_budget(Options(), {}) is None
    graph = vlang.Graph.read("rmat:12")
    monkeypatch.setenv("VLANG_MEMORY", "much")
    with pytest.raises(vlang.Error, match="VLANG_MEMORY: `much` is not a size"):
        vlang.load("pagerank")(graph)
    monkeypatch.setenv("VLANG_MEMORY", "200K")
    with pytest.raises(vlang.OutOfMemory):
        vlang.load("pagerank")(graph)


def test_without_a_budget_a_need_beyond_what_is_free_is_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vlang.api.running.memory.default_budget", lambda: 10 * MB)
    result = vlang.load("pagerank")(vlang.Graph.read("rmat:16"))
    (warning,) = result.warnings
    assert "10.0 MB should not be exceeded here: that is 80 % of what is free" in warning


def test_calls_in_quick_succession_ask_for_free_memory_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Calls in quick succession request the amount of free memory from the system only once.

    A request for the free memory takes as long as a search of a small graph. A call with other arguments repeats the
    request.
    """
    asked: list[int] = []

    def free() -> int:
        asked.append(1)
        return 1 << 40

    monkeypatch.setattr("vlang.api.running.memory.default_budget", free)
    monkeypatch.setattr("vlang.api.running.memory._MOMENT", 3600.0)
    graph, bfs = vlang.Graph.read("rmat:16"), vlang.load("bfs")
    for source in (0, 1, 2):
        assert not bfs(graph, source=source).warnings
    assert len(asked) == 1
    bfs(graph, source=0, threads=1)
    bfs(vlang.Graph.read("rmat:16"), source=0)
    assert len(asked) == 3
    monkeypatch.setattr("vlang.api.running.memory._MOMENT", 0.0)
    bfs(graph, source=0)
    assert len(asked) == 4
    monkeypatch.setattr("vlang.api.running.memory.default_budget", lambda: 1 * MB)
    assert len(bfs(graph, source=0).warnings) == 1, "a warning is not remembered"
    assert len(bfs(graph, source=0).warnings) == 1


def test_a_short_file_with_many_vertices_allocates_nothing_that_does_not_fit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file of 73 bytes that declares 2^25 vertices is read, but a run that does not fit into memory is refused
    immediately.
    """
    path = tmp_path / "rows.mtx"
    path.write_text("%%MatrixMarket matrix coordinate pattern general\n33554432 33554432 1\n1 2\n")
    with budget(100 * MB):
        before = ledger.peak
        graph = vlang.Graph.read(path)
        assert ledger.peak - before < 16 * MB, "two windows of text"
    assert (graph.n, graph.m) == (1 << 25, 1)
    with pytest.raises(vlang.OutOfMemory, match=r"bfs on rows.mtx needs 1.\d GB .* the budget is 300.0 MB"):
        vlang.load("bfs")(graph, source=1, memory="300M")
    monkeypatch.setattr("vlang.api.running.memory.most_bytes", lambda: 1 << 30)
    with pytest.raises(vlang.OutOfMemory, match=r"needs 1.\d GB .* and there are 1.0 GB, swap space included"):
        vlang.load("bfs")(graph, source=1)


def test_free_memory_is_that_of_machine_and_control_groups(tmp_path: Path) -> None:
    for name, text in {
        "proc/meminfo": "MemTotal: 9000 kB\nMemAvailable: 8000 kB\n",
        "proc/self/cgroup": "0::/user/run\n",
        "sys/fs/cgroup/user/memory.max": f"{5000 << 10}\n",
        "sys/fs/cgroup/user/memory.current": f"{4000 << 10}\n",
        "sys/fs/cgroup/user/memory.stat": f"anon 1\ninactive_file {1000 << 10}\n",
        "sys/fs/cgroup/user/run/memory.max": "max\n",
        "sys/fs/cgroup/user/run/memory.current": "1\n",
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    assert available_bytes(tmp_path) == 2000 << 10
    (tmp_path / "proc/self/cgroup").write_text("4:memory:/old\n1:cpu:/old\n")
    old = tmp_path / "sys/fs/cgroup/memory/old"
    old.mkdir(parents=True)
    (old / "memory.limit_in_bytes").write_text(f"{700 << 10}\n")
    (old / "memory.usage_in_bytes").write_text(f"{100 << 10}\n")
    assert available_bytes(tmp_path) == 600 << 10
    assert available_bytes(tmp_path / "nowhere") is None


@pytest.mark.parametrize("layout", ["degree", "ids"])
def test_what_makes_a_run_faster_leaves_room_for_its_end(layout: str, tmp_path: Path) -> None:
    """Cache blocks, lists of vertices and second buffers of messages use only what the run does not need later."""
    n = 1 << 17
    ends = np.random.default_rng(11).integers(0, n, (2, n))
    vlang.Graph.from_edges(*ends, n=n).save(tmp_path / "g.vg", layout=layout)
    program = vlang.load("pagerank", precision=64)
    refused = []
    for quarters in range(24, 44, 2):
        try:
            program(vlang.Graph.open(tmp_path / "g.vg"), tol=0, max_rounds=20, memory=quarters << 18, threads=2)
        except vlang.OutOfMemory as error:
            refused.append(str(error))
    assert all("pagerank on g.vg needs" in text for text in refused), "before the run"
    assert len(refused) < 8
