"""`vlang doctor`."""

from __future__ import annotations

import os
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import click

from vlang import __version__
from vlang.cachedir import cache_dir

__all__ = ["command"]


@click.command()
def command() -> None:
    """Show what vlang runs on: versions, processor, cache directory, devices."""
    rows = [("vlang", __version__), ("python", f"{platform.python_version()} on {platform.system()} "
                                               f"{platform.machine()}")]  # fmt: skip
    rows += [(name, _version(name)) for name in ("numpy", "numba", "llvmlite", "lark", "click", "rich")]
    rows += [("processor", _processor()), ("threads", str(len(os.sched_getaffinity(0)))), ("memory", _memory()),
             ("cache", _cache()), ("gpu", _gpu())]  # fmt: skip
    for name, value in rows:
        click.echo(f"{name:<11}{value}")


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return f"missing: pip install {package}"


def _processor() -> str:
    from vlang.runtime.devices.objects import cpu

    name, features = cpu()
    wide = [f for f in ("avx512f", "avx2", "neon", "sve") if f"+{f}" in features.split(",")]
    return f"{name} ({', '.join(wide)})" if wide else name


def _memory() -> str:
    return f"{os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / 2**30:.1f} GiB"


def _cache() -> str:
    folder = cache_dir()
    if folder is None:
        return "none: no folder can be written (VLANG_CACHE names one); programs compile anew in every process"
    files = [f for f in folder.iterdir() if f.is_file()]
    return f"{folder}: {len(files)} files, {sum(f.stat().st_size for f in files) / 2**20:.1f} MiB"


def _gpu() -> str:
    """The NVIDIA devices that the driver lists; this version computes on the CPU."""
    names = []
    for file in sorted(Path("/proc/driver/nvidia/gpus").glob("*/information")):
        for line in file.read_text(errors="replace").splitlines():
            if line.startswith("Model:"):
                names.append(line.partition(":")[2].strip())
    return f"{', '.join(names)}: not used by this version" if names else "none found; vlang runs on the CPU"
