"""Programs of the library under mpiexec: one job of seven processes. The runs use 1, 2, 3, 4 and 7 of these processes
as ranks, one after the other.

The results have the same bits as on one rank. With VLANG_EXHAUSTIVE, the test runs all programs that ranks admit;
otherwise, it runs three of these programs. Two programs with reductions over pointing vertices run as well. Unlike
threads, processes differ in the order of their sets of texts.
"""

from __future__ import annotations

import subprocess
import sys
import time
import traceback

from tests.cluster.test_mpi import ENVIRON, MPIEXEC, pytestmark
from tests.cluster.test_ranks import ALLOWED, GRAPHS, SIZES, assert_same, program
from tests.cpu.compare import engine_run
from tests.cpu.reductions.test_pointing import EVERY_WAY, IN_BLOCKS
from tests.reference.cases import case
from tests.reference.graphs import family, to_graph
from tests.sample import sampled
from vlang.runtime.cluster.transports.mpi import Mpi
from vlang.runtime.cluster.transports.transport import Solo, joined

__all__ = ["pytestmark"]

SOME = ("betweenness", "bfs", "components")
POINTING = {one.name: one for one in (EVERY_WAY, IN_BLOCKS)}
MODES = ("auto", "notify-pull", "pull")


def test_same_bits_under_mpiexec() -> None:
    assert MPIEXEC is not None
    names = [*sampled(ALLOWED, SOME), *POINTING]
    job = subprocess.run([MPIEXEC, "-n", str(max(SIZES)), sys.executable, "-m", __name__, *names], env=ENVIRON,
                         capture_output=True, text=True, timeout=3000, check=False)
    assert job.returncode == 0, job.stdout + job.stderr
    assert job.stdout.split() == [f"{size}:{name}" for size in SIZES for name in names]


def pointed(transport: Mpi, name: str) -> None:
    """Run a program with reductions over pointing vertices, and compare the result with the result of one rank."""
    graph = to_graph(family("messy") if transport.size % 2 else family("rmat", False))
    with joined(Solo()):
        want = POINTING[name](graph, threads=1)
    with joined(transport):
        assert_same(want, POINTING[name](graph, threads=1))


def as_ranks(transport: Mpi, name: str) -> None:
    """Run a program on its graphs, and compare each result with the result of one rank."""
    if name in POINTING:
        pointed(transport, name)
        return
    for number, some in enumerate(found for graph in GRAPHS if (found := case(name, graph)) is not None):
        graph, mode = to_graph(some.graph), MODES[(number + transport.size) % len(MODES)]
        with joined(Solo()):
            want = engine_run(program(name), some, graph, threads=1)
        with joined(transport):
            assert_same(want, engine_run(program(name), some, graph, threads=1, mode=mode))


def _compile(names: list[str]) -> None:
    """Run each program once in each mode, so that its kernels are in the cache."""
    for name in names:
        if name in POINTING:
            POINTING[name](to_graph(family("messy")), threads=1)
            continue
        some = next(found for graph in GRAPHS[::-1] if (found := case(name, graph)) is not None)
        for mode in MODES:
            engine_run(program(name), some, threads=1, mode=mode)


def main(names: list[str]) -> None:
    """The work of one process of the job. Each number of ranks has its own communicator.

    Rank 0 compiles first, because otherwise each of the processes would compile the same kernels at the same time.
    """
    from mpi4py import MPI  # optional

    world = MPI.COMM_WORLD
    groups = [world.Split(0 if world.rank < size else MPI.UNDEFINED, world.rank) for size in SIZES]
    if world.rank == 0:
        with joined(Solo()):
            _compile(names)
    begin = world.Ibarrier()
    while not begin.Test():
        time.sleep(0.01)
    for size, group in zip(SIZES, groups, strict=True):
        try:
            for name in names if world.rank < size else ():
                as_ranks(Mpi(group), name)
                if world.rank == 0:
                    print(f"{size}:{name}", flush=True)
        except BaseException:
            print(f"{name} on {size} ranks", traceback.format_exc(), file=sys.stderr, flush=True)
            world.Abort(1)
        end = world.Ibarrier()
        while not end.Test():  # a blocking barrier would occupy a processor
            time.sleep(0.01)


if __name__ == "__main__":
    main(sys.argv[1:])
