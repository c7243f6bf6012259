"""Compare runs in memory with runs in memory of another checkout.

Usage: `python benchmarks/disk/against.py DIR [--alternations 20]`.

DIR is a checkout of the other commit. This checkout and DIR run the programs of DIR alternately. Each checkout has one
process, which loads the programs and plans them by a first call before calls are timed. Prints the median of the ratio
of wall times, this checkout divided by DIR, and its 95 % interval from resampled pairs. Prints the median and the
interval of the ratio of processor times, too, since other processes disturb processor time less.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

ROOT = Path(__file__).resolve().parents[2]
MUST = 1.02
WORKS = (("pagerank", "kron:16", 4), ("pagerank", "kron:17", 2), ("pagerank", "kron:18", 1), ("bfs", "kron:16", 8),
         ("bfs", "kron:17", 4), ("bfs", "kron:18", 2), ("sssp", "kron:18,weights=1..255", 1),
         ("components", "kron:18", 2), ("pagerank", "rmat:8", 50), ("bfs", "rmat:8", 50),
         ("sssp", "kron:16,weights=1..255", 2), ("components", "kron:16", 8), ("triangles", "kron:16", 1),
         ("pagerank", "grid:500x500", 4), ("bfs", "grid:500x500", 4), ("components", "grid:500x500", 4),
         ("sssp", "grid:500x500,weights=1..255", 1))  # fmt: skip
_SIDE = """
import json, sys, time
sys.path.insert(0, sys.argv[1])
import vlang
graphs, programs = {}, {}
for line in sys.stdin:
    name, spec, count, threads = json.loads(line)
    if spec not in graphs:
        graphs[spec] = vlang.Graph.read(spec)
    if name not in programs:
        programs[name] = vlang.load(sys.argv[2] + name + ".vp")
    program, options = programs[name], {"source": 1} if name in ("bfs", "sssp") else {}
    begin, busy = time.perf_counter(), time.process_time()
    for _ in range(count):
        program(graphs[spec], threads=threads, **options)
    print(json.dumps([time.perf_counter() - begin, time.process_time() - busy]), flush=True)
"""


class Side:
    """A process with the package of one checkout."""

    def __init__(self, folder: Path, programs: Path) -> None:
        command = [sys.executable, "-c", _SIDE, str(folder), f"{programs}/"]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE,
                                         stdout=subprocess.PIPE, text=True)

    def run(self, *job: str | int) -> tuple[float, float]:
        """Run a job; return its wall seconds and its processor seconds."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(job) + "\n")
        self._process.stdin.flush()
        wall, busy = json.loads(self._process.stdout.readline())
        return wall, busy

    def end(self) -> None:
        """End the process."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()


def interval(ratios: NDArray[np.float64]) -> tuple[float, float, float]:
    """Return the median of ratios and the two ends of its 95 % interval."""
    drawn = np.random.default_rng(1).choice(ratios, (2000, len(ratios)))
    low, high = np.percentile(np.median(drawn, axis=1), (2.5, 97.5))
    return float(np.median(ratios)), float(low), float(high)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("other", metavar="DIR", type=Path, help="a checkout")
    parser.add_argument("--alternations", type=int, default=20)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--only", default="", help="graphs, programs, or works such as 'bfs kron:16', by comma")
    options = parser.parse_args()
    other = options.other.resolve()
    sides = [Side(folder, other / "stdlib") for folder in (ROOT, other)]
    wanted = set(options.only.split(",")) - {""}
    print(f"{'work':<18} {'ms':>8}  {'wall':<22} {'processor':<22} <= {MUST}")
    for name, spec, count in WORKS:
        graph = spec.partition(",")[0]
        if wanted and wanted.isdisjoint((name, graph, f"{name} {graph}")):
            continue
        for side in sides:
            side.run(name, spec, 1, options.threads)
        pairs = np.empty((options.alternations, 2, 2))
        for number in range(options.alternations):
            for which in (0, 1) if number % 2 else (1, 0):
                pairs[number, which] = sides[which].run(name, spec, count, options.threads)
        wall, busy = (interval(pairs[:, 0, kind] / pairs[:, 1, kind]) for kind in (0, 1))
        shown = (f"{middle:.3f} ({low:.3f} to {high:.3f})" for middle, low, high in (wall, busy))
        print(f"{name + ' ' + spec:<18} {1e3 * float(np.median(pairs[:, 0, 0])) / count:>8.2f}  {'  '.join(shown)}  "
              f"{'yes' if wall[1] < MUST else 'NO'}", flush=True)
    for side in sides:
        side.end()


if __name__ == "__main__":
    main()
