"""Run one job of the disk measurements in a separate process. The job prints its figures as JSON.

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
from vlang import compile as compile_program
from vlang.runtime.convert.convert import convert
from vlang.runtime.engine.keeper import Keeper
from vlang.runtime.graph.kernels import kernel_files, kernels
from vlang.runtime.storage.memory import PAGE, page_aligned
from vlang.runtime.storage.page_file import PageFile
from vlang.runtime.storage.reading.direct import DirectFiles
from vlang.runtime.threads.workers import on_threads

MIB = 1 << 20
_ALTERNATIONS = 2  # of runs with and without checkpoints
_SECONDS = 0.7  # for which the rate of a disk is measured
_READERS, _BUFFERS, _PIECE = 2, 8, 4 * MIB  # as in a ring


class Peak:
    """The peak of anonymous and shared memory inside `watched`, minus the memory that the process used before
    `watched`.
    """

    def __init__(self) -> None:
        self.nbytes = 0
        self._before = _held()
        self._ended = False

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Return a context manager in which a thread samples the memory of this process."""
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
    """Write a generated graph to an .npz file as pairs of integers."""
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
    """Return the rate at which two threads read from the disk, in bytes per second.

    The size of the pieces and the number of buffers are the same as in a ring of buffers. The threads read for
    `_SECONDS`, because the disks of many virtual machines are faster at first.
    """
    files, size = DirectFiles([Path(path)]), Path(path).stat().st_size
    piece = min(_PIECE, size // _READERS // PAGE * PAGE)
    room = page_aligned(_BUFFERS * piece)
    end, done = time.perf_counter() + _SECONDS, [0] * _READERS

    def read(number: int) -> None:
        while time.perf_counter() < end:
            at, slot = number + _READERS * done[number], (number + _READERS * done[number]) % _BUFFERS
            files.read(0, at % (size // piece) * piece, room[slot * piece : (slot + 1) * piece])
            done[number] += 1

    begin = time.perf_counter()
    on_threads(_READERS, read, range(_READERS))
    return {"rate": sum(done) * piece / (time.perf_counter() - begin)}


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
    """Run a program on a page file with a memory budget. PageRank runs twice, to count the bytes of one later sweep."""
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
    """Run a program on the same file with all edges in memory: once by rows, like a streamed run, and once by cache
    blocks.
    """
    graph = Graph.read(path)
    load(program)(graph, threads=threads, **options)
    found = _timed(lambda: load(program)(graph, threads=threads, research={"blocking": "never"}, **options))
    load(program)(graph, threads=threads, research={"blocking": "always"}, **options)
    blocks = _timed(lambda: load(program)(graph, threads=threads, research={"blocking": "always"}, **options))
    return found | {"blocks": blocks["sweep"]}


_WIDE = """
program wide(rounds = 10)

vertex x: float[8] = 0.5
vertex r: float = 1 / N

repeat rounds times:
    gather s = sum(u.r / u.outdegree for u -> self)
    apply  r = 0.15 / N + 0.85 * s
    apply  x = 0.5 * x + s
"""


def checkpoints(path: str, folder: str, memory: int, threads: int, every: float, **options: Any) -> dict[str, float]:
    """Run a program that has a state of 72 bytes per vertex, alternately with and without checkpoints.

    The figures include the seconds for which a run waits at a checkpoint, and the seconds that a checkpoint costs in
    all.
    """
    run, disk, keepers = compile_program(_WIDE), Graph.open(path), list[Keeper]()
    init = Keeper.__post_init__

    def noted(self: Keeper) -> None:
        init(self)
        keepers.append(self)

    Keeper.__post_init__ = noted  # type: ignore[method-assign]  # runs make their Keeper inside, and have no hook for it
    fixed: dict[str, Any] = {"memory": memory, "threads": threads, "precision": 64, **options}
    run(disk, **fixed)
    plain, saved = list[dict[str, float]](), list[dict[str, float]]()
    for _ in range(_ALTERNATIONS):
        plain.append(_timed(lambda: run(disk, **fixed)))
        saved.append(_timed(lambda: run(disk, checkpoint=folder, every=every, **fixed)))
    written = sum(keeper.written for keeper in keepers)
    lost = sum(one["seconds"] for one in saved) - sum(one["seconds"] for one in plain)
    return {"plain": median(one["seconds"] for one in plain), "saved": median(one["seconds"] for one in saved),
            "stall": sum(keeper.stall for keeper in keepers) / max(1, written), "written": written,
            "each": lost / max(1, written), "nbytes": 72 * disk.n}


def generated(spec: str, target: str, memory: int) -> dict[str, float]:
    """Convert a generated graph, with all processors."""
    begin = time.perf_counter()
    convert(spec, Path(target), memory=memory)
    seconds, file = time.perf_counter() - begin, PageFile.open(target)
    return {"seconds": seconds, "n": file.n, "m": file.m, "nbytes": file.nbytes}


def hub(path: str) -> dict[str, int]:
    """Return the vertex with the most out-edges."""
    return {"hub": int(Graph.open(path).out_degree.argmax())}


def bounded(path: str, program: str, **options: Any) -> dict[str, Any]:
    """Run a program on a page file within the budgets in `options`; returns the seconds and bytes of all supersteps."""
    before = limit(path)["rate"]
    result = load(program)(Graph.open(path), **options)
    steps = [{"seconds": row.seconds, "bytes": row.bytes_from_disk, "active": row.active, "mode": row.mode}
             for row in result.history]
    return _file(path) | {"seconds": result.seconds, "steps": steps, "notes": [result.placement, *result.notes],
                          "before": before, "after": limit(path)["rate"]}


JOBS: dict[str, Callable[..., dict[str, Any]]] = {
    "archive": archive, "conversion": conversion, "reading": reading, "limit": limit, "streamed": streamed,
    "in_memory": in_memory, "checkpoints": checkpoints, "generated": generated, "hub": hub, "bounded": bounded,
}


if __name__ == "__main__":
    print(json.dumps(JOBS[sys.argv[1]](**json.loads(sys.argv[2]))))
