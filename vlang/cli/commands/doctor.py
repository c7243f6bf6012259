"""`vlang doctor`."""

from __future__ import annotations

import os
import platform
import re
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import click

from vlang import __version__
from vlang.errors import DeviceError
from vlang.runtime.compile.cachedir import find_cache
from vlang.runtime.cpu.passes.edge_costs import kept_costs
from vlang.runtime.gpu.device.gpus import count_gpus, cuda, cuda_version, gpus
from vlang.runtime.gpu.passes.rates import kept_rates
from vlang.runtime.threads.processors import available_threads, threads_reason

__all__ = ["command"]


@click.command()
def command() -> None:
    """Show the environment of vlang: versions, processor, cache directory, devices."""
    rows = [("vlang", __version__), ("python", f"{platform.python_version()} on {platform.system()} "
                                               f"{platform.machine()}")]  # fmt: skip
    rows += [(name, _version(name)) for name in ("numpy", "numba", "llvmlite", "lark", "click", "rich")]
    rows += [("processor", _processor()), ("threads", _threads()), ("memory", _memory()),
             ("cache", _cache()), *_costs(), *_gpu()]  # fmt: skip
    for name, value in rows:
        click.echo(f"{name:<11}{value}")


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return f"missing: pip install {package}"


def _processor() -> str:
    from vlang.runtime.compile.llvm import cpu  # start-up

    name, features = cpu()
    wide = [f for f in ("avx512f", "avx2", "neon", "sve") if f"+{f}" in features.split(",")]
    return f"{name} ({', '.join(wide)})" if wide else name


def _threads() -> str:
    reason = threads_reason()
    return f"{available_threads()}{f' ({reason})' if reason else ''}"


def _costs() -> list[tuple[str, str]]:
    """Return a row with the measured cost of edges on this processor, or no row if the cost has not been measured."""
    known = kept_costs()
    return [("measured", str(known))] if known else []


def _memory() -> str:
    return f"{os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / 2**30:.1f} GiB"


def _cache() -> str:
    folder, why_not = find_cache()
    if folder is None:
        return f"none, so that programs compile anew in every process: {why_not}; VLANG_CACHE names another folder"
    files = [f for f in folder.iterdir() if f.is_file()]
    return f"{folder}: {len(files)} files, {sum(f.stat().st_size for f in files) / 2**20:.1f} MiB"


def _gpu() -> list[tuple[str, str]]:
    """Return rows about the driver, the libraries and each GPU. If no GPU can be used, a row gives the reason and
    advice.
    """
    found = _cupy()
    rows = [("cupy", found)] if found else []
    try:
        runtime, _ = cuda()
        count_gpus(runtime)
        rows.append(("driver", f"CUDA {cuda_version(runtime.driverGetVersion())}{_driver()}"))
        rows.append(("runtime", f"CUDA {cuda_version(runtime.runtimeGetVersion())}"))
        rows.append(("nvrtc", _nvrtc()))
        for gpu in gpus():
            rows.append((f"gpu:{gpu.index}", f"{gpu.name}, {gpu.architecture}, {gpu.free / 2**30:.1f} GiB free of "
                                             f"{gpu.total / 2**30:.1f} GiB"))
            measured = kept_rates(gpu.name, gpu.architecture)
            rows += [("measured", str(measured))] if measured else []
        return rows
    except DeviceError as error:
        return [*rows, ("gpu", f"none: {error}{_listed()}")]


def _cupy() -> str | None:
    for name in ("cupy-cuda13x", "cupy-cuda12x", "cupy"):
        with suppress(PackageNotFoundError):
            return f"{version(name)} ({name})"
    return None


def _nvrtc() -> str:
    from vlang.runtime.compile.nvrtc import CupyCompiler  # start-up

    try:
        return CupyCompiler().version
    except DeviceError as error:
        return f"missing: {error}"


def _driver() -> str:
    """The version of the driver, from its kernel module."""
    try:
        found = re.search(r"\b(\d+\.\d+(?:\.\d+)?)\b", Path("/proc/driver/nvidia/version").read_text())
    except OSError:
        return ""
    return f", driver {found[1]}" if found else ""


def _listed() -> str:
    """Return a text with the NVIDIA devices (usable or not) that the kernel of the system lists; "" if there are none.
    """
    names = []
    for file in sorted(Path("/proc/driver/nvidia/gpus").glob("*/information")):
        for line in file.read_text(errors="replace").splitlines():
            if line.startswith("Model:"):
                names.append(line.partition(":")[2].strip())
    return f" (the system has {', '.join(names)})" if names else ""
