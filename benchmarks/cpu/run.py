"""Measure vlang on the CPU: python benchmarks/cpu/run.py [--quick] [sweeps] [read] [start] [memory]

Prints one table, and writes it with machine, versions and every sample to benchmarks/results (not with --quick, which
runs on small graphs in half a minute to see that everything works, and holds nothing against its targets). The last
column says how many processors other processes had meanwhile: figures with more than 0.1 there are noise.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))  # the checkout that this script lies in is what it measures

from benchmarks.cpu import report  # noqa: E402
from benchmarks.cpu.measure import Figure  # noqa: E402
from benchmarks.cpu.memory import measure_memory  # noqa: E402
from benchmarks.cpu.reading import measure_reading  # noqa: E402
from benchmarks.cpu.start import measure_start  # noqa: E402
from benchmarks.cpu.sweeps import measure_sweeps  # noqa: E402
from benchmarks.cpu.text import Text, write_text  # noqa: E402

PARTS = ("sweeps", "read", "start", "memory")
THREADS = 2


def measure(parts: list[str], quick: bool, folder: Path) -> Iterator[Figure]:
    """The figures of the parts, as they are measured."""

    @cache
    def text() -> Text:
        return write_text("kron:14" if quick else "kron:20", folder / "edges.txt")

    if "sweeps" in parts:
        yield from measure_sweeps(folder, quick, THREADS)
    if "read" in parts:
        yield from measure_reading(text(), quick, THREADS)
    if "start" in parts:
        yield from measure_start(quick)
    if "memory" in parts:
        yield from measure_memory(text(), THREADS)


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], help="what to measure; default: everything")
    parser.add_argument("--quick", action="store_true", help="small graphs and few repetitions; nothing is written")
    options = parser.parse_args()
    before = report.conditions(THREADS)
    if before["load"] > 0.5:
        print(f"note: the machine is busy (load {before['load']:.1f}): expect noise", file=sys.stderr)
    figures = []
    print(report.line(report.HEADER))
    with tempfile.TemporaryDirectory() as folder:
        parts = options.parts or list(PARTS)
        for figure in measure(parts, options.quick, Path(folder)):
            shown = replace(figure, target=None) if options.quick else figure
            print(report.row(shown), flush=True)
            figures.append(shown)
    if not options.quick:
        path = report.save(ROOT / "benchmarks" / "results", before, figures)
        print(f"written to {os.path.relpath(path)}", file=sys.stderr)


if __name__ == "__main__":
    main()
