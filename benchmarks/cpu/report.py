"""The table and the record of a run on the CPU.

`python benchmarks/cpu/report.py results/cpu-....json` prints a record as a table in Markdown.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.cpu.measure import Figure
from benchmarks.cpu.peers import PeerFigure
from benchmarks.cpu.works import GAIN

__all__ = ["HEADER", "line", "markdown", "row", "save", "table"]

HEADER = ("work", "graph", "ours", "other", "against", "ratio", "sweeps", "target", "met", "2/1", "peak", "others")
_WIDTHS = (31, 16, 11, 8, 22, 6, 6, 10, 3, 5, 13, 6)
_LEFT = (0, 1, 4)


def row(figure: Figure) -> list[str]:
    """Return the cells of a figure's line in the table."""
    target = "" if figure.target is None else f"<= {figure.target:g}"
    if figure.sweep_target is not None:
        target = f"<= {figure.sweep_target:g} sw"
    peak = "" if figure.peak is None or figure.arrays is None else f"{figure.peak:.0f}/{figure.arrays:.0f}"
    return [
        figure.name, figure.graph, f"{figure.ours:.4g} {figure.unit}", f"{figure.other:.4g}", figure.against,
        f"{figure.ratio:.2f}", _short(figure.sweeps), target, {None: "", True: "yes", False: "NO"}[figure.met],
        _short(figure.gain), peak, "" if figure.others is None else f"{figure.others:.1f}",
    ]  # fmt: skip


def _short(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"


def line(cells: Sequence[str], widths: Sequence[int] = _WIDTHS, left: Sequence[int] = _LEFT) -> str:
    """Pad the cells to the columns of the printed table."""
    placed = [c.ljust(w) if i in left else c.rjust(w) for i, (c, w) in enumerate(zip(cells, widths))]
    return "  ".join(placed).rstrip()


def save(folder: Path, record: Mapping[str, Any], figures: Sequence[Figure], peers: Sequence[PeerFigure]) -> Path:
    """Write a run to `folder`, in a file named after its date.

    Args:
        folder: the folder for the record.
        record: machine, versions and limits.
        figures: the rows of the table.
        peers: the rows of the other systems.
    """
    folder.mkdir(exist_ok=True)
    path = folder / f"cpu-{record['date'][:19].replace(':', '')}.json"
    whole = {**record, "load after": os.getloadavg()[0], "figures": [{**asdict(f), "met": f.met} for f in figures],
             "peers": [asdict(peer) for peer in peers]}  # fmt: skip
    path.write_text(json.dumps(whole, indent=1) + "\n", encoding="utf-8")
    return path


def markdown(record: Mapping[str, Any], name: str) -> str:
    """Return the record of a run as a table for documents.

    Args:
        name: the file name of the record.
    """
    figures = [Figure(**{key: value for key, value in f.items() if key != "met"}) for f in record["figures"]]
    versions = record["versions"]
    shown = ", ".join(f"{key} {versions[key]}" for key in versions if key != "vlang" and versions[key] != "none")
    text = [
        f"{record['processor']}, {record['threads']} threads, {record['memory']}, {record['system']}, "
        f"CPython {record['python']}, {shown}, g++ {record['g++'].partition(' ')[0]}; {record['date'][:10]}, commit "
        f"{record['commit']}. Limits in the same run: {record.get('limits', 'not measured')}. "
        f"Record: `benchmarks/results/{name}`.",
        "",
        table(HEADER, [row(figure) for figure in figures], _LEFT),
        "",
        "`sweeps`: the time in sweeps of the C++ PageRank on the same graph in the same rounds, as in targets that end "
        f"in sw. `2/1`: the time of one thread by that of two, at least {GAIN} wanted. `peak`: MiB of a process with "
        "the graph, by the MiB of the arrays that must be there. `others`: processors that other processes had then.",
    ]
    if record["peers"]:
        peers = [PeerFigure(**peer) for peer in record["peers"]]
        text += ["", table(PeerFigure.HEADER, [peer.cells() for peer in peers], (0, 1, 2, 6))]
    return "\n".join(text) + "\n"


def table(header: Sequence[str], rows: Sequence[Sequence[str]], left: Sequence[int]) -> str:
    """Return a table in Markdown."""
    rule = ["---" if i in left else "---:" for i in range(len(header))]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (header, rule, *rows))


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    given = Path(sys.argv[1])
    print(markdown(json.loads(given.read_text(encoding="utf-8")), given.name), end="")
