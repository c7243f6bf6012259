"""Machine and versions, for the records of all measurements."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import vlang
from benchmarks.cpu.references import FLAGS

__all__ = ["conditions", "package_version"]


def conditions(threads: int, packages: Sequence[str] = ()) -> dict[str, Any]:
    """Return the machine, its load, and the versions of Python and of libraries, including `packages`."""
    known = ("numpy", "numba", "llvmlite", "scipy", *packages)
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
        "versions": {"vlang": vlang.__version__, **{name: package_version(name) for name in known}},
        "commit": _output_of("git", "rev-parse", "--short", "HEAD"),
        "g++": f"{_output_of('g++', '-dumpfullversion')} {' '.join(FLAGS)}",
    }


def package_version(name: str) -> str:
    """Return the installed version of a package, or "none"."""
    try:
        return version(name)
    except PackageNotFoundError:
        return "none"


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


def _output_of(*command: str) -> str:
    """Return the output of a command; "" if the command is not installed."""
    if shutil.which(command[0]) is None:
        return ""
    here = Path(__file__).parent
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=here).stdout.strip()
