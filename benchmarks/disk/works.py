"""One job of the disk measurements, run in a separate process. The job prints its figures as JSON.

Usage: `python benchmarks/disk/works.py JOB '{"argument": value}'`.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # import vlang from the checkout of this script

from vlang import Graph, Result, load
from vlang.runtime.convert.convert import convert
from vlang.runtime.graph.kernels import kernel_files, kernels
from vlang.runtime.storage.direct import DirectFiles
from vlang.runtime.storage.page_file import PageFile

MIB = 1 << 20
_LIMIT = 32 * MIB  # bytes of the buffers that measure the rate of a disk


class Peak:
    """The peak of anonymous and shared memory inside `watched`, minus the memory that the process used before."""

    def __init__(self) -> None:
        self.nbytes = 0
        self._before = _held()
        self._ended = False

    @contextmanager
    def watched(self) -> Iterator[None]:
        """A context in which a thread samples the memory."""
        thread = threading.Thread(target=self._sample)
        thread.start()
        try:
            yield
        finally:
            self._ended = True
            thread.join()

    def _sample(self) -> None:
        while not self._ended:
            self.nbytes = max(self.nbytes, _held() - self._before)
            time.sleep(0.005)


def _held() -> int:
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return sum(int(line.split()[1]) << 10 for line in lines if line.startswith(("RssAnon", "RssShmem")))


def archive(spec: str, path: str) -> dict[str, float]:
    """Write a generated graph as pairs of integers in an .npz."""
    graph = Graph.read(spec)
    graph.save(path)
    return {"n": graph.n, "m": graph.m}


def conversion(source: str, target: str, memory: int, threads: int, warm: str) -> dict[str, float]:
    """Convert a file. To warm up, a small file of the same format is converted first."""
    for name in kernel_files():
        list(kernels(name).values())
    convert(warm, Path(target), threads=threads)
    peak = Peak()
    with peak.watched():
        begin, busy = time.perf_counter(), time.process_time()
        convert(source, Path(target), memory=memory, threads=threads)
        seconds, busy = time.perf_counter() - begin, time.process_time() - busy
    file = PageFile.open(target)
    return {"seconds": seconds, "busy": busy, "m": file.m, "peak": peak.nbytes, "nbytes": file.nbytes}


def reading(source: str, threads: int) -> dict[str, float]:
    """Read a text and build both adjacencies."""
    begin, busy = time.perf_counter(), time.process_time()
    graph = Graph.read(source, threads=threads)
    graph.adjacency("in")
    graph.adjacency("out")
    return {"seconds": time.perf_counter() - begin, "busy": time.process_time() - busy, "m": graph.m}


def limit(path: str) -> dict[str, float]:
    """Bytes a second of large sequential reads from the disk."""
    return {"rate": DirectFiles([Path(path)]).rate(_LIMIT)}


def _file(path: str) -> dict[str, float]:
    file = PageFile.open(path)
    one = sum(file.extent("in", page).nbytes for page in range(file.directory("in").count))
    return {"one": one, "file": file.nbytes, "m": file.m, "n": file.n}


def _timed(run: Callable[[], Result]) -> dict[str, float]:
    peak = Peak()
    with peak.watched():
        begin, busy = time.perf_counter(), time.process_time()
        result = run()
        whole, busy = time.perf_counter() - begin, time.process_time() - busy
    later = [one.seconds for one in result.history[1:]] or [result.seconds]
    return {"seconds": result.seconds, "whole": whole, "busy": busy, "peak": peak.nbytes, "read": result.read_bytes,
            "rounds": result.rounds, "sweep": median(later), "worst": max(later)}


def streamed(path: str, program: str, memory: int, threads: int, **options: Any) -> dict[str, Any]:
    """Run a program on a page file in a budget. PageRank runs twice, to count the bytes of one later sweep."""
    run, warm = load(program), Path(path).with_suffix(".warm.vg")
    Graph.read("rmat:8").save(warm)
    run(Graph.open(warm), memory="1500K", **({"source": 0} if "source" in options else {}))
    before = limit(path)["rate"]
    disk = Graph.open(path)
    found: dict[str, Any] = _timed(lambda: run(disk, memory=memory, threads=threads, **options))
    if "max_rounds" in options:
        more = run(disk, memory=memory, threads=threads, **{**options, "max_rounds": options["max_rounds"] + 2})
        found["later"] = (more.read_bytes - found["read"]) / 2
        found["placement"] = more.placement
    return found | _file(path) | {"before": before, "after": limit(path)["rate"]}


def in_memory(path: str, program: str, threads: int, **options: Any) -> dict[str, float]:
    """Run a program on the same file with all edges in memory, without cache blocks, as a run from disk does."""
    graph = Graph.read(path)
    load(program)(graph, threads=threads, **options)
    return _timed(lambda: load(program)(graph, threads=threads, research={"blocking": "never"}, **options))


def checkpoints(path: str, folder: str, memory: int, threads: int, every: float, **options: Any) -> dict[str, float]:
    """PageRank with and without checkpoints: the seconds of all supersteps, and of the slowest one."""
    run, disk = load("pagerank"), Graph.open(path)
    plain = _timed(lambda: run(disk, memory=memory, threads=threads, **options))
    saved = _timed(lambda: run(disk, memory=memory, threads=threads, checkpoint=folder, every=every, **options))
    return {"plain": plain["seconds"], "saved": saved["seconds"], "sweep": plain["sweep"], "worst": saved["worst"],
            "plain worst": plain["worst"]}


JOBS: dict[str, Callable[..., dict[str, Any]]] = {
    "archive": archive, "conversion": conversion, "reading": reading, "limit": limit, "streamed": streamed,
    "in_memory": in_memory, "checkpoints": checkpoints,
}


if __name__ == "__main__":
    print(json.dumps(JOBS[sys.argv[1]](**json.loads(sys.argv[2]))))
