"""Measure vlang on the CPU.

Usage: `python benchmarks/cpu/run.py [--quick] [--only bfs,sssp,read] [--graphs road] [--peers]`.

Builds graphs and C++ loops, runs all sides in alternating rounds in one process, and compares their results. Prints one
table, and writes it with machine, versions, limits and every sample to benchmarks/results. With --quick the graphs are
small, to test the scripts: there are no targets, and nothing is written. The last column is the number of processors
that other processes used during the measurement. A figure with more than 0.1 in this column is unreliable.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from itertools import groupby
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # import vlang from the checkout of this script

from benchmarks.cpu import peers, report
from benchmarks.cpu.conditions import conditions
from benchmarks.cpu.contests import Contest, contest, sweep_ms
from benchmarks.cpu.inputs import INPUTS, Input, build
from benchmarks.cpu.limits import measure_limits
from benchmarks.cpu.measure import Figure, alternate, paired
from benchmarks.cpu.memory import measure_memory, with_memory
from benchmarks.cpu.reading import measure_reading
from benchmarks.cpu.references import References
from benchmarks.cpu.start import measure_start
from benchmarks.cpu.text import Text, write_text
from benchmarks.cpu.works import PARTS, WORKS, Work, chosen

ROOT = Path(__file__).resolve().parents[2]


class Session:
    """One run of this script."""

    def __init__(self, options: argparse.Namespace, folder: Path) -> None:
        self.quick: bool = options.quick
        self.threads: int = options.threads
        self.rounds: int = options.rounds or (2 if options.quick else 9)
        self.memory: bool = not options.no_peaks
        self.peers: bool = options.peers
        self.peer_figures: list[peers.PeerFigure] = []
        self.references = References(folder)
        self.folder = folder

    def figures(self, works: list[Work], parts: list[str]) -> Iterator[Figure]:
        """Yield the figures of every workload, graph by graph; then the figures of reading, start and memory."""
        for name, group in groupby(sorted(works, key=lambda work: INPUTS.index(work.graph)), lambda work: work.graph):
            given = build(name, self.quick, self.threads)
            if given is None:
                print(f"# {name}: not measured, it is missing")
                continue
            print(f"# {given.graph!r}: built in {given.seconds:.1f} s")
            contests = {work: contest(work, given, self.references, self.threads) for work in group}
            for work, sides in contests.items():
                yield self.figure(work, given, sides)
            if self.peers:
                for found in peers.measure_peers(contests, given, self.threads, 1 if self.quick else 3):
                    print(f"#   {report.line(found.cells(), peers.WIDTHS, (0, 1, 2, 6))}", flush=True)
                    self.peer_figures.append(found)
        yield from self.parts(parts)

    def figure(self, work: Work, given: Input, sides: Contest) -> Figure:
        """Measure one workload.

        The results are compared first. Then four contestants run alternately: vlang, the program that vlang is compared
        with, the C++ PageRank, and vlang on one thread.
        """
        try:
            sides.same(sides.ours(self.threads)[1], sides.other()[1])
        except AssertionError as error:
            raise SystemExit(f"{work.name} on {work.graph}: the results differ: {error}") from None
        sides.ours(1)
        found = alternate(
            [
                lambda: sides.ours(self.threads)[0],
                lambda: sides.other()[0],
                lambda: sweep_ms(given, self.references, self.threads),
                lambda: sides.ours(1)[0] if self.threads > 1 else 1.0,
            ],
            self.rounds,
        )
        figure = paired(work.name, "ms", sides.against, work.ratio, found, work.graph)
        gain = found.ratio(3, 0) if self.threads > 1 else None
        figure = replace(figure, sweeps=found.ratio(0, 2), sweep_target=work.sweeps, gain=gain)
        return with_memory(figure, work, self.quick, self.threads) if self.memory else figure

    def parts(self, parts: list[str]) -> Iterator[Figure]:
        """Measure reading, start and memory."""

        @cache
        def text() -> Text:
            return write_text("kron:14" if self.quick else "kron:20", self.folder / "edges.txt")

        if "read" in parts:
            yield from measure_reading(text(), min(self.rounds, 5), self.threads)
        if "start" in parts:
            yield from measure_start(self.quick)
        if "memory" in parts:
            yield from measure_memory(text(), self.threads)


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    kinds = [*dict.fromkeys(work.kind for work in WORKS), *PARTS]
    parser.add_argument("--only", default="", help=f"what to measure, by comma: {', '.join(kinds)}")
    parser.add_argument("--graphs", default="", help=f"on which graphs, by comma: {', '.join(INPUTS)}")
    parser.add_argument("--threads", type=int, default=2, help="of every side; default: 2")
    parser.add_argument("--rounds", type=int, help="of each work; default: 9")
    parser.add_argument("--peers", action="store_true", help=f"also {', '.join(peers.PACKAGES)} where installed")
    parser.add_argument("--no-peaks", action="store_true", help="do not watch memory, which takes a process a work")
    parser.add_argument("--quick", action="store_true", help="small graphs, few rounds, no targets, nothing is written")
    options = parser.parse_args()
    only, graphs = (list(filter(None, text.split(","))) for text in (options.only, options.graphs))
    for asked, known in ((only, kinds), (graphs, list(INPUTS))):
        if unknown := sorted(set(asked) - set(known)):
            parser.error(f"{', '.join(unknown)}: known are {', '.join(known)}")
    works = [] if only and not set(only) - set(PARTS) else chosen([kind for kind in only if kind not in PARTS], graphs)
    parts = [part for part in PARTS if part in only or not (only or graphs)]
    record = conditions(options.threads, peers.PACKAGES if options.peers else ())
    if record["load"] > 0.5:
        print(f"note: the machine is busy (load {record['load']:.1f}): expect noise", file=sys.stderr)
    measure(options, record, works, parts)


def measure(options: argparse.Namespace, record: dict[str, object], works: list[Work], parts: list[str]) -> None:
    """Measure workloads and parts, print each figure once it is measured, and write the record.

    Args:
        options: the options of the command line.
        record: the conditions of the run.
        works: the workloads to measure.
        parts: the parts to measure: reading, start, memory.
    """
    figures: list[Figure] = []
    with tempfile.TemporaryDirectory() as folder:
        session = Session(options, Path(folder))
        if works:
            record["limits"] = str(measure_limits(session.references, options.threads, options.quick))
            print(f"# {record['processor']}, {options.threads} threads; {record['limits']}")
        print(report.line(report.HEADER))
        for figure in session.figures(works, parts):
            shown = replace(figure, target=None, sweep_target=None) if options.quick else figure
            print(report.line(report.row(shown)), flush=True)
            figures.append(shown)
    if not options.quick:
        path = report.save(ROOT / "benchmarks" / "results", record, figures, session.peer_figures)
        print(f"# written to {os.path.relpath(path)}")


if __name__ == "__main__":
    main()
