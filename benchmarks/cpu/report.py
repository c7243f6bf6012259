"""The table, and the record of a run: figures with machine, versions and date."""

from __future__ import annotations

import json
import os
import platform
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import vlang
from benchmarks.cpu.loop import FLAGS
from benchmarks.cpu.measure import Figure

__all__ = ["HEADER", "conditions", "row", "save"]

_WIDTHS = (41, 12, 7, 22, 5, 7, 4, 6)
HEADER = ("measure", "ours", "other", "against", "ratio", "target", "met", "others")


def row(figure: Figure) -> str:
    """A figure as a line of the table."""
    target = "" if figure.target is None else f"<= {figure.target:g}"
    met = {None: "", True: "yes", False: "NO"}[figure.met]
    others = "" if figure.others is None else f"{figure.others:.1f}"
    ours = f"{figure.ours:.4g} {figure.unit}"
    return line((figure.name, ours, f"{figure.other:.4g}", figure.against, f"{figure.ratio:.2f}", target, met, others))


def line(cells: Sequence[str]) -> str:
    """Cells in the columns of the table: the first and the fourth to the left, the others to the right."""
    placed = [c.ljust(w) if i in (0, 3) else c.rjust(w) for i, (c, w) in enumerate(zip(cells, _WIDTHS))]
    return "  ".join(placed).rstrip()


def conditions(threads: int) -> dict[str, Any]:
    """Machine and versions, and how busy the machine is."""
    packages = ("numpy", "numba", "llvmlite", "scipy")
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "processor": _processor(),
        "processors": len(os.sched_getaffinity(0)),
        "threads": threads,
        "memory": f"{os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / 2**30:.1f} GiB",
        "system": f"{platform.system()} {platform.release().partition('-')[0]}",
        "huge pages": _text("/sys/kernel/mm/transparent_hugepage/enabled"),
        "load": os.getloadavg()[0],
        "python": platform.python_version(),
        "versions": {"vlang": vlang.__version__, **{name: _version(name) for name in packages}},
        "commit": _said("git", "rev-parse", "--short", "HEAD"),
        "g++": f"{_said('g++', '-dumpfullversion')} {' '.join(FLAGS)}",
    }


def save(folder: Path, before: dict[str, Any], figures: Sequence[Figure]) -> Path:
    """Write a run to `folder`; the file is named after its date."""
    folder.mkdir(exist_ok=True)
    path = folder / f"cpu-{before['date'][:19].replace(':', '')}.json"
    rows = [{**asdict(f), "met": f.met} for f in figures]
    record = {**before, "load after": os.getloadavg()[0], "figures": rows}
    path.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    return path


def _processor() -> str:
    for text in _text("/proc/cpuinfo").splitlines():
        if text.startswith("model name"):
            return text.partition(":")[2].strip()
    return platform.processor()


def _text(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8").strip()
    except OSError:
        return ""


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "none"


def _said(*command: str) -> str:
    """What a command prints; nothing if it is not there."""
    if shutil.which(command[0]) is None:
        return ""
    here = Path(__file__).parent
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=here).stdout.strip()
