"""Measure the time of the command `vlang run bfs` on a tiny graph and on a file, on the GPU and on the CPU.

Usage: `python benchmarks/gpu/command.py [--file GRAPH.npz] [--against DIR] [--repeats 5]`.

The commands run in turn, each in a process of its own, after one run that fills the caches. With `--against`, the
commands of this checkout alternate with the commands of another checkout. The script prints the median, the smallest
and the largest wall time of each command in seconds. Without `--file`, rmat22 with weights is written to a temporary
folder.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # import vlang from the checkout of this script

from benchmarks.gpu import inputs, report

ROOT = Path(__file__).resolve().parents[2]
HEADER = ("checkout", "graph", "device", "median", "least", "most")
_WIDTHS = (12, 14, 7, 8, 8, 8)


def seconds(checkout: Path, graph: str, device: str) -> float:
    """Return the seconds of one command. Raises subprocess.CalledProcessError if it fails."""
    command = [sys.executable, "-m", "vlang", "run", "bfs", graph, "source=1", "--device", device, "-q"]
    begin = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env={**os.environ, "PYTHONPATH": str(checkout)
                   + os.pathsep + os.environ.get("PYTHONPATH", "")}, cwd=checkout)  # fmt: skip
    return time.perf_counter() - begin


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--file", default="", help="a graph with a vertex 1")
    parser.add_argument("--against", default="", metavar="DIR", help="another checkout")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--devices", default="gpu,cpu", help="devices, by comma")
    options = parser.parse_args()
    checkouts = [ROOT, *([Path(options.against).resolve()] if options.against else [])]
    with tempfile.TemporaryDirectory() as folder:
        file = options.file
        if not file:
            file = str(Path(folder) / "rmat22.npz")
            inputs.build("rmat22").graph.save(file)
        rows = [(checkout, graph, device) for graph in ("karate", file) for device in options.devices.split(",")
                for checkout in checkouts]
        samples: dict[tuple[Path, str, str], list[float]] = {row: [] for row in rows}
        for row in rows:
            seconds(*row)
        for turn in range(options.repeats):
            for row in rows if turn % 2 == 0 else rows[::-1]:
                samples[row].append(seconds(*row))
    print(report.table_line(HEADER, _WIDTHS))
    for (checkout, graph, device), found in samples.items():
        name = "this" if checkout == ROOT else "the other"
        print(report.table_line((name, Path(graph).name, device, *(f"{at:.2f}" for at in (median(found), min(found),
                                 max(found)))), _WIDTHS))  # fmt: skip


if __name__ == "__main__":
    main()
