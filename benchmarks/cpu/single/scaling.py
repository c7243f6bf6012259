"""Measure five programs on few and on many threads, and C++ loops on the same numbers of threads.

Usage: `python benchmarks/cpu/single/scaling.py [--threads 1,2,4,8,16] [--graphs kron:20,uniform:20] [--rounds 5]`.

Both sides run alternately in one process, on the same arrays. Their results are compared before the runs are timed. For
each number of threads the script prints the medians in milliseconds and their ratio. For the last number of threads,
the script also prints the speed-up of each side relative to the first number. The target at 16 threads is a ratio of at
most 0.8, and a speed-up of at least the speed-up of the C++ loops.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from benchmarks.cpu.contests import Timed, contest
from benchmarks.cpu.inputs import Input, build
from benchmarks.cpu.measure import alternate
from benchmarks.cpu.references import References
from benchmarks.cpu.works import WORKS, Work

KINDS = ("pagerank", "bfs", "sssp", "components", "betweenness")
RATIO = 0.8


def measure(work: Work, given: Input, references: References, numbers: list[int], rounds: int) -> list[str]:
    """Return the lines of one program on one graph.

    Args:
        work: the program.
        given: the graph.
        references: the C++ loops.
        numbers: the numbers of threads.
        rounds: the number of rounds for each number of threads.
    """
    lines: list[str] = []
    first = (0.0, 0.0)
    for threads in numbers:
        sides = contest(work, given, references, threads)
        sides.same(sides.ours(threads)[1], sides.other()[1])

        def ours(run: Callable[[int], Timed] = sides.ours, threads: int = threads) -> float:
            return float(run(threads)[0])

        def other(run: Callable[[], Timed] = sides.other) -> float:
            return float(run()[0])

        times = alternate([ours, other], rounds)
        mine, theirs = times.median(0), times.median(1)
        first = first if lines else (mine, theirs)
        shown = f"{work.kind:<12}{given.name:<11}{threads:4d}  {mine:9.2f}  {theirs:9.2f}  {times.ratio(0, 1):5.2f}"
        lines.append(f"{shown}  {first[0] / mine:6.1f} x  {first[1] / theirs:6.1f} x  {times.others:.1f}")
    return lines


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", default="1,2,4,8,16", help="the numbers of threads, by comma")
    parser.add_argument("--graphs", default="kron:20,uniform:20", help="by comma")
    parser.add_argument("--rounds", type=int, default=5, help="default: 5")
    parser.add_argument("--quick", action="store_true", help="tiny graphs and one round, to test the script")
    options = parser.parse_args()
    numbers = [int(text) for text in options.threads.split(",")]
    print("program     graph      threads  ours ms     C++ ms  ratio  speed-up  of the C++  others")
    with tempfile.TemporaryDirectory() as built:
        references = References(Path(built))
        for name in options.graphs.split(","):
            given = build(name, options.quick, numbers[-1])
            if given is None:
                parser.error(f"there is no graph {name}")
            for work in WORKS:
                if work.graph == name and work.kind in KINDS:
                    rounds = 1 if options.quick else options.rounds
                    print("\n".join(measure(work, given, references, numbers, rounds)), flush=True)


if __name__ == "__main__":
    main()
