"""How much memory a process may still take: what the machine has free, and the limit of its control group."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

__all__ = ["default_memory", "free_memory"]

_SHARE = 0.8  # of what is free, where no limit is asked for
_ROOT = Path("/sys/fs/cgroup")
_UNKNOWN = 4 << 30  # bytes, on a system that does not say what it has free


def default_memory() -> int:
    """Bytes that a run may take where nothing is asked for: 80 % of what is free."""
    return int(_SHARE * free_memory())


def free_memory() -> int:
    """Bytes that this process can take: free in the machine, and left in its control group."""
    return min([size for size in (_machine(), _group()) if size is not None], default=_UNKNOWN)


def _machine() -> int | None:
    with suppress(OSError, ValueError, IndexError):
        for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) << 10
    return None


def _group() -> int | None:
    """What the control group (version 2) of this process leaves; None without a limit."""
    with suppress(OSError, ValueError, IndexError):
        name = Path("/proc/self/cgroup").read_text(encoding="utf-8").splitlines()[-1].rpartition(":")[2]
        for folder in (_ROOT / name.lstrip("/"), _ROOT):
            with suppress(OSError, ValueError):
                most = int((folder / "memory.max").read_text(encoding="ascii"))
                return max(0, most - int((folder / "memory.current").read_text(encoding="ascii")))
    return None
