"""Compare ranks with one process: python benchmarks/cluster/run.py [--scale 20] [--ranks 2] [--rounds 3]

Runs PageRank, search, shortest paths and components on a Kronecker graph. Three sides are compared: one process with as
many threads as there are ranks, ranks with one thread each under mpiexec, and a C++ program for MPI. The C++ program
has PageRank and search only, and is left out if its compiler mpicxx is missing. The sides run alternately, and every
run starts new processes. A process runs every program five times and does not count the first run. Prints medians of
`Result.seconds`, ratios to one process, and the bytes that all ranks send to each other. The bytes sent do not include
the values of the result, which every rank receives at the end. Two more lines show exchanges alone. The first line is
the time of an empty exchange. The second line is the time that ranks take to pack, exchange and unpack the values of
all mirrors once, as in a superstep of PageRank. All ranks begin these exchanges at the same moment.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
SUPERSTEPS = 20
RUNS = 5
WORKS: dict[str, dict[str, Any]] = {
    "pagerank": {"tol": 0, "max_rounds": SUPERSTEPS}, "bfs": {"source": 0}, "sssp": {"source": 0}, "components": {}}
MUST = {"pagerank": 1.15, "bfs": 1.5, "sssp": 2.0, "components": 2.0}


def job(path: str, threads: int, cluster: str | None, works: list[str]) -> None:
    """Run the programs in this process, and print a JSON object: for each program the seconds of each run, the modes,
    and the bytes sent.
    """
    from vlang import Graph, load
    from vlang.runtime.cluster.transports.transport import summed

    graph, found, rank = Graph.open(path), {}, None
    if cluster is not None:
        from vlang.runtime.cluster.transports.mpi import mpi_ranks

        rank = mpi_ranks(cluster)
    else:
        graph = graph.loaded()
    for name in works:
        program, seconds, sent = load(name), [], 0
        for _ in range(RUNS):
            before = 0 if rank is None else rank.sent
            result = program(graph, threads=threads, cluster=cluster, **WORKS[name])
            seconds.append(result.seconds)
            if rank is not None:
                sent = summed(rank, [rank.sent - before], "bytes")[0]
                sent -= (rank.size - 1) * sum(result._raw[field].nbytes for field in result.fields)
        modes = sorted({row.mode for row in result.history})
        found[name] = {"seconds": seconds[1:], "modes": modes, "sent": sent}
    if rank is not None:
        found["exchanges"] = {"empty": empty_exchange(rank), "all": exchange_of_all(graph, rank)}
    if rank is None or rank.rank == 0:
        print(json.dumps(found))


def slowest(rank: Any, seconds: list[float]) -> float:
    """Return the largest median of any rank."""
    from vlang.runtime.cluster.transports.transport import gathered

    return max(float(one[0]) for one in gathered(rank, np.array([statistics.median(seconds)]), "seconds"))


def empty_exchange(rank: Any) -> float:
    """Return the seconds of an exchange without data."""
    seconds = []
    for _ in range(1000):
        begin = time.perf_counter()
        rank.exchange([np.zeros(0, np.uint8)] * rank.size, "empty")
        seconds.append(time.perf_counter() - begin)
    return slowest(rank, seconds)


def exchange_of_all(graph: Any, rank: Any) -> float:
    """Return the seconds that ranks take to pack, exchange and unpack a changed value of four bytes for every mirror.
    """
    from vlang import load
    from vlang.runtime.cluster.local_graph import local_graph
    from vlang.runtime.cluster.messages import Reader, Sent, joined_parts, value_part

    plan = load("pagerank").plan(frozenset(graph.columns), renumbered=True)
    numbers = local_graph(plan, graph, rank).numbers
    values, seconds = np.zeros(numbers.n, np.uint32), []
    sent = [Sent.of(len(wanted), 4) for wanted in numbers.wanted]
    for _ in range(SUPERSTEPS):
        values += np.uint32(1)
        rank.exchange([np.zeros(0, np.uint8)] * rank.size, "before")
        begin = time.perf_counter()
        buffers = [joined_parts(value_part(values, wanted, 4, last, True)) if peer != rank.rank else
                   np.zeros(0, np.uint8) for peer, (wanted, last) in enumerate(zip(numbers.wanted, sent))]
        for peer, message in enumerate(rank.exchange(buffers, "all values")):
            if peer != rank.rank:
                low, high = numbers.mirrors_of(peer)
                Reader(message).values([values[low:high]], 4)
        seconds.append(time.perf_counter() - begin)
    return slowest(rank, seconds)


def launched(command: list[str]) -> str:
    """Return the output of a command. The error messages of the command go to the terminal."""
    environ = {**os.environ, "PYTHONPATH": str(ROOT), "OMPI_ALLOW_RUN_AS_ROOT": "1",
               "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    return subprocess.run(command, check=True, capture_output=False, stdout=subprocess.PIPE, text=True,
                          env=environ).stdout


def tool(name: str) -> str | None:
    """Return the path of a program of the MPI installation. The program is searched next to this Python and in PATH.
    Return None if the program is missing.
    """
    beside = Path(sys.executable).parent / name
    return str(beside) if beside.exists() else shutil.which(name)


def inputs(folder: Path, scale: int) -> tuple[Path, Path]:
    """Write the input graph once as a page file, sorted by degree, and once as rows for the C++ program; return both
    paths.
    """
    from vlang import Graph

    pages, rows = folder / f"kron{scale}.vg", folder / f"kron{scale}.rows"
    if not pages.exists():
        Graph.read(f"kron:{scale}", weights="1..255").save(pages, layout="degree")
    if not rows.exists():
        graph = Graph.open(pages).loaded()
        adjacency = graph.adjacency("in")
        with open(rows, "wb") as file:
            np.array([graph.n, len(adjacency.targets)], np.uint64).tofile(file)
            adjacency.offsets.tofile(file)
            adjacency.targets.tofile(file)
    return pages, rows


def built(folder: Path) -> Path | None:
    """Build the C++ program and return its path; None if mpicxx is missing."""
    mpicxx = tool("mpicxx")
    if mpicxx is None:
        print("no mpicxx: the C++ program is left out")
        return None
    program = folder / "loops"
    subprocess.run([mpicxx, "-O3", "-march=native", "-o", str(program), str(Path(__file__).parent / "loops.cpp")],
                   check=True)
    return program


def loops(program: Path, mpiexec: str, ranks: int, rows: Path, source: int) -> dict[str, list[float]]:
    """Return the seconds of each run of the C++ program for each of its workloads."""
    text = launched([mpiexec, "-n", str(ranks), str(program), str(rows), str(source), str(SUPERSTEPS), str(RUNS)])
    lines = [line.split() for line in text.splitlines()][1:]
    return {"pagerank": [float(line[0]) for line in lines], "bfs": [float(line[2]) for line in lines]}


def main() -> None:
    """Parse the command line, measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scale", type=int, default=20)
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", default=",".join(WORKS), help="programs, separated by commas")
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()) / "vlang-cluster-benchmark")
    parser.add_argument("--prepare", action="store_true", help="only build the inputs, and run every side once")
    parser.add_argument("--job", nargs=3, metavar=("GRAPH", "THREADS", "CLUSTER"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    works = given.only.split(",")
    if given.job:
        job(given.job[0], int(given.job[1]), given.job[2] or None, works)
        return
    given.folder.mkdir(exist_ok=True)
    pages, rows = inputs(given.folder, given.scale)
    program, mpiexec = built(given.folder), tool("mpiexec")
    if mpiexec is None:
        parser.exit(1, "no mpiexec: pip install 'vlang[cluster]'\n")
    from vlang import Graph

    order = Graph.open(pages).order
    source = 0 if order is None else int(order.internal[0])
    me = [sys.executable, __file__, "--only", given.only, "--job", str(pages)]
    one: dict[str, list[float]] = {name: [] for name in works}
    several: dict[str, list[float]] = {name: [] for name in works}
    theirs: dict[str, list[float]] = {"pagerank": [], "bfs": []}
    notes: dict[str, Any] = {}
    exchanges: dict[str, list[float]] = {"empty": [], "all": []}
    threads = min(given.ranks, os.cpu_count() or 1)
    for _ in range(1 if given.prepare else given.rounds):
        for name, found in json.loads(launched([*me, str(threads), ""])).items():
            one[name] += found["seconds"]
        notes = json.loads(launched([mpiexec, "-n", str(given.ranks), *me, "1", "mpi"]))
        for name, found in notes.pop("exchanges").items():
            exchanges[name].append(found)
        for name, found in notes.items():
            several[name] += found["seconds"]
        if program is not None:
            for name, seconds in loops(program, mpiexec, given.ranks, rows, source).items():
                theirs[name] += seconds
    print(f"kron:{given.scale}, {given.ranks} ranks with a thread each against one process with {threads} threads")
    for name in works:
        mine, ours = statistics.median(one[name]), statistics.median(several[name])
        line = (f"{name:12} one {1e3 * mine:8.2f} ms   ranks {1e3 * ours:8.2f} ms   ratio {ours / mine:5.2f} (must "
                f"{MUST[name]})   sent {notes[name]['sent'] / 1e6:.2f} MB   {' '.join(notes[name]['modes'])}")
        if theirs.get(name):
            line += f"   C++ MPI {1e3 * statistics.median(theirs[name]):8.2f} ms"
        print(line)
    empty, every = (1e3 * statistics.median(exchanges[name]) for name in ("empty", "all"))
    print(f"an empty exchange {empty:.3f} ms (must 0.2 with 4 ranks)")
    superstep = 1e3 * statistics.median(several.get("pagerank") or [float("nan")]) / SUPERSTEPS
    print(f"to pack, exchange and unpack all mirrors {every:.2f} ms, {100 * every / superstep:.1f} % of a superstep of "
          "PageRank (must 5 %)")


if __name__ == "__main__":
    main()
