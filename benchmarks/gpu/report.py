"""Print the results of a GPU benchmark as a table, save them as JSON, and write the saved results in Markdown."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.cpu.conditions import conditions as conditions_of_host
from benchmarks.cpu.report import table
from vlang.runtime.threads.processors import available_threads

__all__ = ["HEADER", "Row", "conditions", "markdown", "save", "table_line"]

RESULTS = Path(__file__).resolve().parents[1] / "results"
_WIDTHS = (19, 8, 9, 8, 8, 16, 8, 4, 6, 8, 9, 9, 8)
HEADER = ("work", "graph", "ms", "must", "aim", "best peer", "limit", "met", "rounds", "M edges", "steps", "call",
          "us/step")


@dataclass(frozen=True)
class Row:
    """One measured workload; all times are in milliseconds.

    Attributes:
        work, graph: names.
        ms: the median time; None if the workload failed.
        must, aim: the target, and a more ambitious target.
        peer: the name and the time of the best published system.
        limit: the time that the measured limits allow.
        rounds: supersteps.
        edges: edges traversed.
        steps: time of the supersteps alone.
        call: time of the whole call.
        samples: every measured time.
        problem: the reason why there is no time, or a fault of the measurement.
    """

    work: str
    graph: str
    ms: float | None = None
    must: float | None = None
    aim: float | None = None
    peer: tuple[str, float] | None = None
    limit: float | None = None
    rounds: float = 0
    edges: float = 0
    steps: float = 0
    call: float = 0
    samples: list[float] = field(default_factory=list)
    problem: str = ""

    @property
    def met(self) -> str:
        """"aim" if the ambitious target is met, "yes" if only the target is met, "NO" if the target is missed, or "" if
        there is no target.
        """
        if self.ms is None or self.must is None:
            return ""
        return "aim" if self.aim is not None and self.ms <= self.aim else "yes" if self.ms <= self.must else "NO"

    def cells(self) -> tuple[str, ...]:
        """Return the cells of the row in the table."""
        peer = "" if self.peer is None else f"{self.peer[1]:g} {self.peer[0]}"
        return (self.work, self.graph, _short(self.ms), _short(self.must), _short(self.aim), peer, _short(self.limit),
                self.met, f"{self.rounds:g}", f"{self.edges / 1e6:.1f}", _short(self.steps), _short(self.call),
                _short(self.steps * 1e3 / self.rounds if self.rounds else None))

    def __str__(self) -> str:
        return table_line(self.cells()) + (f"  {self.problem}" if self.problem else "")


def table_line(cells: Sequence[str], widths: Sequence[int] = _WIDTHS) -> str:
    """Return a line of the table. The first two cells are aligned to the left, and the other cells are aligned to the
    right.
    """
    return "  ".join(c.ljust(w) if i < 2 else c.rjust(w) for i, (c, w) in enumerate(zip(cells, widths))).rstrip()


def _short(value: float | None) -> str:
    return "" if value is None else f"{value:.3g}" if value < 100 else f"{value:.0f}"


def conditions(device: str) -> dict[str, Any]:
    """Return the machine and versions, and the GPU unless the device is the CPU."""
    found = conditions_of_host(available_threads())
    if device == "cpu":
        return found
    import cupy

    properties = cupy.cuda.runtime.getDeviceProperties(cupy.cuda.Device().id)
    found["gpu"] = properties["name"].decode()
    found["gpu memory"] = f"{properties['totalGlobalMem'] / 2**30:.1f} GiB"
    found["versions"]["cupy"] = cupy.__version__
    found["versions"]["cuda driver"] = cupy.cuda.runtime.driverGetVersion()
    found["versions"]["cuda runtime"] = cupy.cuda.runtime.runtimeGetVersion()
    return found


def save(before: dict[str, Any], what: str, record: dict[str, Any], rows: Sequence[Any]) -> Path:
    """Write a run to benchmarks/results, in a file named after the measurement and its date.

    Args:
        before: the conditions.
        what: the name of the measurement.
        record: further entries of the file.
        rows: the rows of the table.
    """
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{what}-{before['date'][:19].replace(':', '')}.json"
    text = json.dumps({**before, **record, "rows": [asdict(row) for row in rows]}, indent=1, default=str)
    path.write_text(text + "\n", encoding="utf-8")
    return path


def markdown(record: Mapping[str, Any], name: str) -> str:
    """Return the record of a run as a table for documents.

    Args:
        name: the file name of the record.
    """
    versions, limits = record["versions"], record["limits"]
    gathers = [f"{rate / 1e9:.0f} G/s from {int(size) >> 20} MB" for size, rate in limits["gathers"].items()]
    link = [f"{rate / 1e9:.1f} GB/s of {int(size) >> 20} MB" for size, rate in limits["link"].items()]
    rows = [Row(**row) for row in record["rows"]]
    text = [
        f"{record['gpu']}, {record['gpu memory']}, CUDA {versions['cuda driver'] // 1000}."
        f"{versions['cuda driver'] % 1000 // 10}, CuPy {versions['cupy']}, on {record['processors']} processors "
        f"({record['processor']}); {record['date'][:10]}, commit {record['commit']}. Limits in the same run: copy "
        f"{limits['copy'] / 1e12:.2f} TB/s, random 4-byte gathers {' and '.join(gathers)}, page-locked copies "
        f"{' and '.join(link)}, launch and wait {limits['launch'] * 1e6:.1f} us, "
        f"grid barrier {limits['barrier'] * 1e6:.2f} us. Record: `benchmarks/results/{name}`.",
        "",
        table(HEADER, [row.cells() for row in rows], (0, 1, 5)),
    ]
    text += ["", *(f"{row.work}, {row.graph}: {row.problem}" for row in rows if row.problem)]
    return "\n".join(text).rstrip("\n") + "\n"
