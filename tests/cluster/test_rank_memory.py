"""The memory that ranks under mpiexec take is compared with the estimate that is made before the run."""

from __future__ import annotations

import gc
import json
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np

from tests.cluster.test_mpi import ENVIRON, MPIEXEC, pytestmark
from vlang import Graph, load
from vlang.runtime.cluster.rank_memory import rank_memory
from vlang.runtime.cluster.transports.mpi import mpi_ranks
from vlang.runtime.cluster.transports.transport import gathered
from vlang.runtime.storage.memory import memory

__all__ = ["pytestmark"]

SPARE = 8 << 20  # the heap of the interpreter


def test_memory_of_ranks(tmp_path: Path) -> None:
    """The peak of a rank is at least half of the memory that was estimated before the run, and at most 1.1 times this
    memory.
    """
    Graph.read("kron:16", weights="1..255").save(tmp_path / "g.vg", layout="degree")
    assert MPIEXEC is not None
    job = subprocess.run([MPIEXEC, "-n", "2", sys.executable, "-m", __name__, str(tmp_path / "g.vg")], env=ENVIRON,
                         stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300, check=False)
    assert job.returncode == 0, job.stdout + job.stderr
    for name, (taken, said) in json.loads(job.stdout).items():
        assert said / 2 < taken + SPARE, (name, taken, said)
        assert taken < 1.1 * said + SPARE, (name, taken, said)


def anonymous() -> int:
    """Return the bytes of anonymous memory of this process."""
    lines = Path("/proc/self/smaps_rollup").read_text().splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith("Anonymous:"))


def peak(path: str, name: str) -> int:
    """Run a program on a page file, and return the largest memory during the run minus the memory before it."""
    gc.collect()
    memory.trim()
    before, ended = anonymous(), threading.Event()
    seen = [0]

    def watch() -> None:
        while not ended.is_set():
            seen.append(anonymous())
            time.sleep(0.001)

    watcher = threading.Thread(target=watch)
    watcher.start()
    keywords = {"source": 0} if name in ("bfs", "sssp") else {}
    result = load(name)(Graph.open(path), threads=1, cluster="mpi", **keywords)
    ended.set()
    watcher.join()
    return max(*seen, anonymous() if result else 0) - before


def main(path: str) -> None:
    """The work of one process of the job: each program runs twice, since kernels are compiled in the first run."""
    rank, found = mpi_ranks("mpi"), {}
    for name in ("pagerank", "bfs", "sssp"):
        peak(path, name)
        taken = gathered(rank, np.array([peak(path, name)]), "memory")
        graph = Graph.open(path)
        plan = load(name).plan(frozenset(graph.columns), renumbered=True)
        found[name] = max(int(one[0]) for one in taken), rank_memory(plan, graph, rank.size).most
    if rank.rank == 0:
        print(json.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1])
