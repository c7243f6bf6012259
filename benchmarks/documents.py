"""Write the measured tables of README.md and docs/benchmarks.md, from records in benchmarks/results.

`python benchmarks/documents.py` updates the tables from the records that the documents name.
`python benchmarks/documents.py RECORD...` updates the tables from the given records of a CPU, a GPU or a disk.

A table is between the lines `<!-- measured: NAME -->` and `<!-- end of measured -->`. NAME is `cpu`, `gpu` or `disk`
for a whole record, `speed` for some rows of the CPU record and the GPU record, or `claim` for one sentence.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import benchmarks.cpu.report as cpu_report
import benchmarks.disk.run as disk_run
import benchmarks.gpu.report as gpu_report

__all__ = ["DOCUMENTS", "filled", "recorded", "tables"]

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "benchmarks" / "results"
DOCUMENTS = (ROOT / "README.md", ROOT / "docs" / "benchmarks.md")
_BLOCK = re.compile(r"(<!-- measured: (\w+) -->\n).*?(<!-- end of measured -->\n)", re.DOTALL)
_NAMED = re.compile(r"Record: `benchmarks/results/((?:cpu|gpu|disk)-[^`]*\.json)`")

# The rows of `speed`: device, work and graph as named in the records, and the names shown in the table.
SPEED = (
    ("cpu", "pagerank", "kron:20", "PageRank, a sweep", "Kronecker, 33.6 M edges"),
    ("cpu", "bfs", "kron:20", "breadth-first search", "Kronecker, 33.6 M edges"),
    ("cpu", "sssp", "kron:20", "shortest paths", "Kronecker, 33.6 M edges"),
    ("cpu", "sssp", "road", "shortest paths", "grid, 9.0 M edges"),
    ("gpu", "pagerank", "rmat22", "PageRank, a sweep", "R-MAT, 67 M edges"),
    ("gpu", "bfs", "rmat24", "breadth-first search", "R-MAT, 268 M edges"),
    ("gpu", "sssp", "rmat24", "shortest paths", "R-MAT, 268 M edges"),
    ("gpu", "streamed-bfs", "rmat24", "the search, edges in host memory", "R-MAT, 268 M edges"),
)


class Pair(NamedTuple):
    """Milliseconds of vlang and of another system for the same workload."""

    ours: float
    other: float
    name: str


def tables(cpu: Path, gpu: Path, disk: Path) -> dict[str, str]:
    """Return the text of every block, by the name of the block. Raises SystemExit if a record lacks a row that a block
    needs.
    """
    paths = {"cpu": cpu, "gpu": gpu, "disk": disk}
    records = {name: json.loads(path.read_text(encoding="utf-8")) for name, path in paths.items()}
    return {
        "disk": disk_run.markdown(records["disk"], disk.name),
        "cpu": cpu_report.markdown(records["cpu"], cpu.name),
        "gpu": gpu_report.markdown(records["gpu"], gpu.name),
        "speed": _speed(records),
        "claim": _claim(records["cpu"]),
    }


def filled(text: str, found: Mapping[str, str]) -> str:
    """Return a document with its blocks updated. Raises SystemExit for a block with an unknown name."""
    missing = {match[2] for match in _BLOCK.finditer(text)} - set(found)
    if missing:
        raise SystemExit(f"nothing is called {', '.join(sorted(missing))}; known are {', '.join(found)}")
    return _BLOCK.sub(lambda match: match[1] + found[match[2]] + match[3], text)


def recorded(text: str) -> tuple[Path, Path, Path]:
    """Return the records of a CPU, a GPU and a disk that a document names.

    Raises SystemExit unless the document names one record of each kind.
    """
    named = {name.partition("-")[0]: RESULTS / name for name in _NAMED.findall(text)}
    if set(named) != {"cpu", "gpu", "disk"} or len(named) != len(set(_NAMED.findall(text))):
        raise SystemExit("a document names one record of a CPU, one of a GPU and one of a disk, and not "
                         f"{', '.join(sorted(set(_NAMED.findall(text)))) or 'none'}")
    return named["cpu"], named["gpu"], named["disk"]


def _speed(records: Mapping[str, Mapping[str, Any]]) -> str:
    rows = []
    for device, work, graph, title, edges in SPEED:
        best = _best(records[device], work, graph)
        where = f"{records['cpu']['threads']} CPU threads" if device == "cpu" else "GPU"
        rows.append((f"{title}, {where}", edges, f"{best.ours:.3g} ms", f"{best.other:.3g} ms ({best.name})"))
    return cpu_report.table(("work", "graph", "vlang", "fastest other"), rows, (0, 1, 3)) + "\n"


def _claim(record: Mapping[str, Any]) -> str:
    (row,) = (f for f in record["figures"] if (f["name"], f["graph"]) == ("pagerank", "kron:20"))
    return (
        f"- **Fast.** A sweep of PageRank over 33.6 M edges takes {row['ours']:.3g} ms on {record['threads']} CPU "
        f"threads, {row['ratio']:.2f} of\n  the time of a hand-written C++ loop. "
        "[All figures](docs/benchmarks.md), losses included.\n"
    )


def _best(record: Mapping[str, Any], work: str, graph: str) -> Pair:
    """Return two times from the same rounds: of vlang, and of the fastest other system."""
    if "rows" in record:
        rows = (row for row in record["rows"] if (row["work"], row["graph"]) == (work, graph) and row["peer"])
        pairs = [Pair(row["ms"], row["peer"][1], row["peer"][0]) for row in rows]
    else:
        figures = (f for f in record["figures"] if (f["name"], f["graph"]) == (work, graph))
        peers = (p for p in record["peers"] if (p["work"], p["graph"]) == (work, graph) and p["agrees"])
        pairs = [Pair(f["ours"], f["other"], f["against"]) for f in figures]
        pairs += [Pair(p["ours"], p["other"], p["peer"]) for p in peers]
    if not pairs:
        raise SystemExit(f"the record has no {work} on {graph} beside another system")
    return max(pairs, key=lambda pair: pair.ours / pair.other)


def main(arguments: Sequence[str]) -> None:
    """Update the documents."""
    named = recorded((ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8"))
    given = {path.name.partition("-")[0]: path for path in map(Path, arguments)}
    if set(given) - {"cpu", "gpu", "disk"}:
        raise SystemExit(__doc__)
    found = tables(*(given.get(name, path) for name, path in zip(("cpu", "gpu", "disk"), named)))
    for path in DOCUMENTS:
        path.write_text(filled(path.read_text(encoding="utf-8"), found), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
