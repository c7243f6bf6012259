"""The default number of threads of a run: `VLANG_THREADS`, or the number of processors that this process may use."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from vlang.errors import BindError

__all__ = ["available_threads", "cpu_quota", "threads_reason"]

VARIABLE = "VLANG_THREADS"


def available_threads() -> int:
    """The number of threads of a run for which the caller gives no number.

    The number is `VLANG_THREADS` if this variable is set. Otherwise it is the number of processors in the affinity mask
    of the process, limited by the quota of its cgroup. Raises BindError if the variable is not a whole number from 1 to
    65535.
    """
    chosen = os.environ.get(VARIABLE, "").strip()
    if chosen:
        if not (chosen.isascii() and chosen.isdigit() and 0 < int(chosen) < 1 << 16):
            raise BindError(f"{VARIABLE} is the number of threads, 1 to 65535, not {chosen!r}")
        return int(chosen)
    return max(1, math.ceil(min(_processors(), _quota())))


def threads_reason() -> str:
    """The reason why `available_threads` differs from the number of processors; "" if it does not."""
    if os.environ.get(VARIABLE, "").strip():
        return f"{VARIABLE} says so; {_processors()} processors"
    if _quota() < _processors():
        return f"the cgroup's quota is {_quota():g} of {_processors()} processors"
    return ""


def _processors() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@cache
def _quota() -> float:
    return cpu_quota(Path("/"))


def cpu_quota(root: Path) -> float:
    """The number of processors, possibly fractional, that the cgroup quota of this process allows; inf if there is no
    quota.

    The result is the minimum over the process's cgroup and all its parents, of both versions of cgroups. `root` is the
    folder that contains `proc` and `sys`.
    """
    try:
        mounts = (root / "proc/self/mountinfo").read_text().splitlines()
        groups = (root / "proc/self/cgroup").read_text().splitlines()
        return min((quota for line in mounts for folder in _folders(root, line, groups)
                    for quota in (_of_version_2(folder), _of_version_1(folder))), default=math.inf)
    except (OSError, ValueError, IndexError):  # not Linux, or a file with an unknown format
        return math.inf


def _folders(root: Path, mount: str, groups: list[str]) -> Iterator[Path]:
    """The folders of the process's cgroup and of its parents, if `mount` is a mount point of the cpu controller."""
    before, _, after = mount.partition(" - ")
    fields, kind, options = before.split(" "), after.split(" ")[0], after.split(" ")[-1].split(",")
    if kind == "cgroup2":
        wanted = ""
    elif kind == "cgroup" and "cpu" in options:
        wanted = "cpu"
    else:
        return
    base, point = fields[3], root / fields[4].lstrip("/")
    for group in groups:
        _, controllers, path = group.split(":", 2)
        if wanted in controllers.split(","):
            # In a container the mount point may be a subtree, while the path of the group begins at the root.
            above = base.rstrip("/")
            folder = point / (path[len(above) :].strip("/") if path.startswith(above) else "")
            yield folder
            yield from (parent for parent in folder.parents if parent == point or point in parent.parents)


def _of_version_2(folder: Path) -> float:
    words = _words(folder / "cpu.max")  # quota and period in microseconds, or for example "max 100000"
    return int(words[0]) / int(words[1]) if len(words) == 2 and words[0].isdigit() and int(words[1]) else math.inf


def _of_version_1(folder: Path) -> float:
    quota, period = _words(folder / "cpu.cfs_quota_us"), _words(folder / "cpu.cfs_period_us")
    limited = quota and period and quota[0].isdigit() and period[0].isdigit() and int(period[0])  # -1: no quota
    return int(quota[0]) / int(period[0]) if limited else math.inf


def _words(path: Path) -> list[str]:
    try:
        return path.read_text().split()
    except OSError:
        return []
