"""The memory that this process may still allocate, limited by the machine and by its control groups (cgroups)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

__all__ = ["available_bytes", "default_budget", "in_bytes", "memory_option", "most_bytes", "size_option"]

SHARE = 0.8
"""The fraction of the available memory that a run may take if the user sets no budget."""

_UNITS = ((1 << 30, "GB"), (1 << 20, "MB"), (1 << 10, "kB"))


def in_bytes(count: int) -> str:
    """Format a number of bytes as text, for example `3.2 GB` (powers of 1024)."""
    for size, name in _UNITS:
        if count >= size:
            return f"{count / size:.1f} {name}"
    return f"{count} bytes"


def size_option(count: int) -> str:
    """Format a number of bytes as the value of an option, rounded up to full megabytes, for example `300M`."""
    return f"{-(-count // (1 << 20))}M"


def memory_option(count: int) -> str:
    """Format a budget of at least `count` bytes for messages: the argument in Python, then the option of the
    command.
    """
    return f'memory="{size_option(count)}" (--memory {size_option(count)})'


def default_budget(root: Path = Path("/")) -> int | None:
    """Bytes that a run without a budget should not exceed; None if the system does not report free memory."""
    free = available_bytes(root)
    return None if free is None else int(SHARE * free)


def most_bytes(root: Path = Path("/")) -> int | None:
    """Bytes that this process may take if it also uses all swap space; None if unknown."""
    free = available_bytes(root)
    swap = [int(line.split()[1]) << 10 for line in _lines(f"{root}/proc/meminfo") if line.startswith("SwapFree:")]
    return None if free is None else free + sum(swap)


def available_bytes(root: Path = Path("/")) -> int | None:
    """Bytes that this process may take: the minimum over the machine and its control groups; None if unknown.

    Memory of the page cache that the system can drop counts as free. `root` is the folder in which /proc and /sys are
    mounted.
    """
    found = [*_machine(root), *_groups(root)]
    return max(0, min(found)) if found else None


def _machine(root: Path) -> Iterator[int]:
    for line in _lines(f"{root}/proc/meminfo"):
        if line.startswith("MemAvailable:"):
            yield int(line.split()[1]) << 10


def _groups(root: Path) -> Iterator[int]:
    """The free bytes of each control group that contains this process, for cgroup versions 1 and 2."""
    for line in _lines(f"{root}/proc/self/cgroup"):
        _, kinds, path = line.split(":", 2)
        if kinds == "":
            base, most, now = root / "sys/fs/cgroup", "memory.max", "memory.current"
        elif "memory" in kinds.split(","):
            base, most, now = root / "sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes"
        else:
            continue
        folder = base / path.lstrip("/")
        for group in (folder, *folder.parents):
            limit = _number(f"{group}/{most}")
            used = None if limit is None else _number(f"{group}/{now}")
            if limit is not None and used is not None:
                yield limit - used + _cache(group)
            if group == base:
                break


def _cache(group: Path) -> int:
    """Bytes of file pages that a control group can drop."""
    names = ("inactive_file ", "total_inactive_file ")
    return max((int(line.split()[1]) for line in _lines(f"{group}/memory.stat") if line.startswith(names)), default=0)


def _number(path: str) -> int | None:
    text = "".join(_lines(path))
    return int(text) if text.isdigit() else None


def _lines(path: str) -> list[str]:
    try:
        with open(path, encoding="ascii", errors="replace") as file:
            return file.read().splitlines()
    except OSError:
        return []
