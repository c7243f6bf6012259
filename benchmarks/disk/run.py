"""Measure runs and conversions of graphs on disk.

Usage: `python benchmarks/disk/run.py [--scale 22] [--gridgraph DIR]`.

Builds an R-MAT graph of 2^scale vertices (16 edges each), converts it, and runs programs on the page file with budgets
smaller than the file. Every job runs in its own process. The read rate of the disk is measured before and after each
job, because it changes from second to second. Prints the table, and writes the table with machine and versions to
benchmarks/results.

Budgets are given for 2^22 vertices and shrink in proportion for smaller graphs. The option --gridgraph names a checkout
of GridGraph that has been built. With --gridgraph, only the workloads in `GridGraph.WORKS` are measured, alternately by
vlang and by GridGraph. The option --cgroup names a control group in which the jobs run; the user of this script must
have the right to change the tasks of the group.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # import vlang from the checkout of this script

from benchmarks.cpu.conditions import conditions
from benchmarks.cpu.report import line, table
from benchmarks.cpu.text import write_text
from benchmarks.disk.gridgraph import GridGraph
from vlang import Graph

ROOT = Path(__file__).resolve().parents[2]
MIB = 1 << 20
HEADER = ("work", "figure", "limit", "must", "met", "detail")
WIDTHS = (34, 18, 18, 10, 3, 60)
LEFT = (0, 3, 4, 5)
_TURNS = 3  # measurements of each workload by vlang and by GridGraph
_INTERVAL = 30.0  # seconds between two checkpoints, by default
_IN_GROUP = 'echo 0 > "$0" && exec "$@"'  # runs its arguments as a command in the control group $0


class Row(NamedTuple):
    """A line of the table.

    Attributes:
        met: whether the target is met; None if there is no target.
    """

    work: str
    figure: str
    limit: str = ""
    must: str = ""
    met: bool | None = None
    detail: str = ""

    def cells(self) -> tuple[str, ...]:
        """Return the cells of the row as text."""
        met = "" if self.met is None else "yes" if self.met else "NO"
        return self.work, self.figure, self.limit, self.must, met, self.detail


class Session:
    """One run of this script."""

    def __init__(self, options: argparse.Namespace, folder: Path) -> None:
        self.scale, self.threads, self.folder = options.scale, options.threads, folder
        self.part = 2.0 ** (options.scale - 22)
        group = [] if options.cgroup is None else ["sh", "-c", _IN_GROUP, str(Path(options.cgroup) / "cgroup.procs")]
        self.prefix = [*([] if not options.nice else ["nice", "-n", str(options.nice)]), *group]
        self.gridgraph = None if options.gridgraph is None else GridGraph(
            Path(options.gridgraph).resolve(), folder, self.prefix)
        self.source, self.pages = folder / "graph.npz", folder / "graph.vg"
        self.found: dict[str, Any] = {}
        self.hub = 0

    def job(self, name: str, **arguments: Any) -> dict[str, Any]:
        """Run a job in a separate process and return its figures."""
        command = [*self.prefix, sys.executable, str(Path(__file__).with_name("works.py")), name, json.dumps(arguments)]
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, cwd=ROOT)
        found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
        known = {key: value for key, value in {**arguments, **found}.items()
                 if key == "program" or not isinstance(value, str)}  # without paths, which differ from run to run
        self.found.setdefault(name, []).append(known)
        return found

    def memory(self, mib: float, least: float = 0) -> int:
        """Return a budget in bytes: `mib` MiB for 2^22 vertices, of which `least` MiB do not shrink with the graph."""
        return int((least + (mib - least) * self.part) * MIB)

    def rows(self) -> Iterator[Row]:
        """Yield the rows of all measurements in order."""
        self.job("archive", spec=f"rmat:{self.scale}", path=str(self.source))
        if self.gridgraph is not None:
            yield from self.beside(self.gridgraph)
            return
        yield from self.conversions()
        yield from self.sweeps()
        yield from self.searches()
        yield from self.saving()

    def conversions(self) -> Iterator[Row]:
        """Measure conversions from an .npz of edges, and from text."""
        warm = self.folder / "warm.npz"
        self.job("archive", spec="rmat:8", path=str(warm))
        found = self.job("conversion", source=str(self.source), target=str(self.pages), memory=256 * MIB,
                         threads=self.threads, warm=str(warm))
        rate = found["m"] / found["seconds"] / 1e6
        yield Row("conversion of pairs, 256 MiB", f"{rate:.1f} M edges/s", "", ">= 20", rate >= 20,
                  f"{found['m'] / found['busy'] / 1e6:.1f} M edges a second of processor time, peak "
                  f"{found['peak'] / MIB:.0f} MiB, {found['nbytes'] / found['m']:.2f} B an edge")
        text, small = self.folder / "graph.txt", self.folder / "small.txt"
        write_text(f"rmat:{self.scale - 2}", text)
        write_text("rmat:8", small)
        ours = self.job("conversion", source=str(text), target=str(self.folder / "text.vg"), memory=256 * MIB,
                        threads=self.threads, warm=str(small))
        other = self.job("reading", source=str(text), threads=self.threads)
        part = other["seconds"] / ours["seconds"]
        yield Row("conversion of text", f"{part:.2f} of reading", "", ">= 0.6", part >= 0.6,
                  f"{ours['m'] / ours['seconds'] / 1e6:.1f} M edges/s, reading "
                  f"{other['m'] / other['seconds'] / 1e6:.1f}; by processor time {other['busy'] / ours['busy']:.2f}")

    def sweeps(self) -> Iterator[Row]:
        """Measure PageRank with a small part of the pages in memory, and with half of the pages."""
        path, threads = str(self.pages), self.threads
        inside = self.job("in_memory", path=path, program="pagerank", threads=threads, max_rounds=6)
        found = self.job("streamed", path=path, program="pagerank", memory=self.memory(160, 48), threads=threads,
                         max_rounds=6)
        rate = (found["before"] + found["after"]) / 2
        disk = found["later"] / rate
        slower = max(disk, min(inside["sweep"], inside["blocks"]))
        part = slower / found["sweep"]
        yield Row("PageRank sweep, 160 MiB", f"{found['sweep'] * 1e3:.0f} ms",
                  f"{slower * 1e3:.0f} ms", ">= 0.85", part >= 0.85,
                  f"{part:.2f} of the limit: disk {disk * 1e3:.0f} ms ({found['before'] / 1e9:.2f} and "
                  f"{found['after'] / 1e9:.2f} GB/s), in memory {inside['sweep'] * 1e3:.0f} ms by rows and "
                  f"{inside['blocks'] * 1e3:.0f} by cache blocks; reads "
                  f"{found['later'] / found['one']:.2f} of one direction, peak {found['peak'] / MIB:.0f} MiB")
        yield Row("overlap loss of that sweep", f"{1 - part:.2f}", "", "<= 0.10", part >= 0.9)
        state = 32 * found["n"]  # bytes of the arrays of a run, with the copy by which repeating loops are found
        half = self.memory(state / self.part / MIB, 0) + int(0.5 * found["one"]) + 12 * MIB
        found = self.job("streamed", path=path, program="pagerank", memory=half, threads=threads, max_rounds=6)
        share = found["later"] / found["one"]
        yield Row("half in budget, later sweeps", f"{share:.2f} of it", "", "<= 0.55", share <= 0.55,
                  found.get("placement", ""))

    def searches(self) -> Iterator[Row]:
        """Measure BFS from the hub, and connected components."""
        hub = int(Graph.open(self.pages).out_degree.argmax())
        for name, options, must, least in (("bfs", {"source": hub}, 1.3, 48), ("components", {}, 1.02, 96)):
            found = self.job("streamed", path=str(self.pages), program=name, memory=self.memory(160, least),
                             threads=self.threads, **options)
            share = found["read"] / found["one"]
            yield Row(f"{name}, 160 MiB", f"reads {share:.2f}", "", f"<= {must}", share <= must,
                      f"of one direction; {found['seconds']:.2f} s at {found['before'] / 1e9:.2f} GB/s, peak "
                      f"{found['peak'] / MIB:.0f} MiB")

    def saving(self) -> Iterator[Row]:
        """Measure a run that has a state of 72 bytes per vertex, and writes checkpoints more often than by default."""
        folder = self.folder / "saved"
        found = self.job("checkpoints", path=str(self.pages), folder=str(folder), memory=6 << 30,
                         threads=self.threads, every=2.0, rounds=min(400, int(50 / self.part)))
        size, stall = f"checkpoint of {found['nbytes'] / 1e6:.0f} MB", found["stall"]
        yield Row(f"{size}, stall", f"{stall * 1e3:.0f} ms", "", "<= 100 ms", stall <= 0.1 and found["written"] > 0,
                  f"mean of {found['written']} checkpoints, one each 2 s")
        share = max(found["each"], stall) / _INTERVAL
        yield Row(f"{size}, each 30 s", f"{share:.1%} of the run", "", "<= 5 %", share <= 0.05,
                  f"{found['plain']:.2f} s without and {found['saved']:.2f} s with checkpoints each 2 s: "
                  f"{found['each'] * 1e3:.0f} ms each")

    def beside(self, other: GridGraph) -> Iterator[Row]:
        """Measure the same workloads alternately by vlang and by GridGraph."""
        warm = self.folder / "warm.npz"
        self.job("archive", spec="rmat:8", path=str(warm))
        other.prepare(self.source)
        for work in other.WORKS:
            pairs = np.empty((_TURNS, 2))
            for turn in range(_TURNS):
                for which in (0, 1) if turn % 2 else (1, 0):
                    pairs[turn, which] = other.seconds(work) if which else self.ours(work, warm)
            ours, theirs = np.median(pairs, axis=0).tolist()
            low, ratio, high = np.sort(pairs[:, 1] / pairs[:, 0])[[0, _TURNS // 2, -1]].tolist()
            self.found.setdefault("gridgraph", {})[work] = pairs.tolist()
            yield Row(f"{work}, against GridGraph", f"{ratio:.1f} x", "", ">= 2", ratio >= 2,
                      f"medians of {_TURNS}: GridGraph {theirs:.3f} s, vlang {ours:.3f} s; "
                      f"{low:.1f} to {high:.1f} x")
        m, nbytes = (self.found["conversion"][0][name] for name in ("m", "nbytes"))
        yield Row("bytes an edge on disk", f"{nbytes / m:.2f}", "", "<= 9", nbytes / m <= 9,
                  f"GridGraph {other.nbytes / m:.1f}")

    def ours(self, work: str, warm: Path) -> float:
        """Return the seconds that vlang takes for a workload of GridGraph. For PageRank, this is the time of one sweep
        after the first sweep; for other workloads, it is the time of the whole run.
        """
        if work == "convert":
            seconds: float = self.job("conversion", source=str(self.source), target=str(self.pages), memory=256 * MIB,
                                      threads=self.threads, warm=str(warm))["seconds"]
            return seconds
        if not self.hub:
            self.hub = int(Graph.open(self.pages).out_degree.argmax())
        options = {"pagerank": {"max_rounds": 6}, "bfs": {"source": self.hub}}.get(work, {})
        found = self.job("streamed", path=str(self.pages), program=work, threads=self.threads,
                         memory=self.memory(160, 96 if work == "components" else 48), **options)
        return float(found["sweep" if work == "pagerank" else "whole"])


def markdown(record: Mapping[str, Any], name: str) -> str:
    """Return the record of a run as a table for documents.

    Args:
        name: the file name of the record.
    """
    rows = [Row(*row).cells() for row in record["rows"]]
    return (f"{record['processor']}, {record['threads']} threads, {record['memory']}, {record['system']}; R-MAT of "
            f"2^{record['scale']} vertices; {record['date'][:10]}, load {record['load']:.1f} before and "
            f"{record['load after']:.1f} after. Record: `benchmarks/results/{name}`.\n\n"
            f"{table(HEADER, rows, LEFT)}\n")


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scale", type=int, default=22, help="logarithm of the vertices; default: 22")
    parser.add_argument("--threads", type=int, default=2, help="default: 2")
    parser.add_argument("--folder", help="for the graphs, on the disk to measure; default: a temporary one")
    parser.add_argument("--gridgraph", metavar="DIR", help="a built checkout of GridGraph")
    parser.add_argument("--cgroup", metavar="DIR", help="the folder of a control group for the jobs")
    parser.add_argument("--nice", type=int, default=0, help="of all jobs")
    parser.add_argument("--quick", action="store_true", help="2^16 vertices, and no record: to see that all works")
    options = parser.parse_args()
    options.scale = 16 if options.quick else options.scale
    record: dict[str, Any] = {**conditions(options.threads), "scale": options.scale, "rows": []}
    print(line(HEADER, WIDTHS, LEFT))
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        session = Session(options, Path(folder))
        for row in session.rows():
            record["rows"].append(row)
            print(line(row.cells(), WIDTHS, LEFT), flush=True)
        record |= {"jobs": session.found, "load after": os.getloadavg()[0]}
    if not options.quick:
        path = ROOT / "benchmarks" / "results" / f"disk-{record['date'][:19].replace(':', '')}.json"
        path.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
        print(f"# written to {os.path.relpath(path)}\n\n{markdown(record, path.name)}")


if __name__ == "__main__":
    main()
