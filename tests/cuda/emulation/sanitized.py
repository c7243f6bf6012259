"""Run emulated kernels under the sanitizers of g++.

Usage: `python -m tests.cuda.emulation.sanitized address|thread kernels|programs NAME...`.

The sanitizer's library is loaded before Python starts (see `sanitized`). A report of the sanitizer ends the process.
"""

from __future__ import annotations

import ctypes
import functools
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tests.cuda.emulation.emulated import EmulatedDevice, EmulatedKernel
from tests.cuda.emulation.gxx import runtime_library
from tests.cuda.emulation.planted import ARGUMENTS, TYPES, entries
from tests.cuda.runs import run

__all__ = ["FLAGS", "missing", "sanitized"]

FLAGS = {
    "address": ("-O1", "-g1", "-fsanitize=address", "-fsanitize=undefined", "-fno-sanitize-recover=undefined"),
    "thread": ("-O1", "-g1", "-fsanitize=thread", "--param", "tsan-distinguish-volatile=1"),
}
_LIBRARIES = {"address": "libasan.so", "thread": "libtsan.so"}
_OPTIONS = {
    "ASAN_OPTIONS": "detect_leaks=0:halt_on_error=1", "UBSAN_OPTIONS": "print_stacktrace=1",
    "TSAN_OPTIONS": f"halt_on_error=1:exitcode=66:suppressions={Path(__file__).with_name('races.txt')}",
}
_ROOT = Path(__file__).parents[3]


@functools.cache
def _library(sanitizer: str) -> Path:
    asked = ["g++", f"-print-file-name={_LIBRARIES[sanitizer]}"]
    return Path(subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip())


def missing(sanitizer: str) -> str:
    """Return the reason why a sanitizer cannot be used here; "" if it can be used."""
    if shutil.which("g++") is None:
        return "g++ is not installed"
    if not _library(sanitizer).is_file():
        return f"{_LIBRARIES[sanitizer]} is not installed"
    done = _python(sanitizer, ["-c", "print('works')"])
    return "" if done.stdout == "works\n" else f"{_LIBRARIES[sanitizer]} does not run: {done.stderr[:200]}"


def sanitized(sanitizer: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run this module in a separate process under a sanitizer."""
    return _python(sanitizer, ["-m", "tests.cuda.emulation.sanitized", sanitizer, *arguments])


def _python(sanitizer: str, arguments: Sequence[str]) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, **_OPTIONS, "LD_PRELOAD": str(_library(sanitizer)), "OPENBLAS_NUM_THREADS": "1"}
    return subprocess.run([sys.executable, *arguments], cwd=_ROOT, env=environment, capture_output=True, text=True)


def _run_kernel(name: str, flags: Sequence[str]) -> None:
    """Run a kernel of `planted` with four concurrent blocks of 64 threads."""
    device = EmulatedDevice(seed=1, order="random", flags=flags)
    kernel = device.load(TYPES, entries())[name]
    count, out = device.allocate(4, "a count"), device.allocate(2048, "what a kernel writes")
    device.fill(count.pointer, 4, 0)
    device.fill(out.pointer, 2048, 0)
    shared, rest = ARGUMENTS.get(name, (256, ()))
    assert isinstance(kernel, EmulatedKernel)
    words = kernel.library.programs[name].words
    arguments = [count.pointer, out.pointer][-(words - len(rest)):]
    device.launch(kernel, 4, 64, (*arguments, *rest), shared, None, True)
    device.download(np.zeros(512, np.uint32), out.pointer)
    device.close()


def _run_program(request: str, flags: Sequence[str]) -> None:
    """Run the program that `name:graph:option=value,...` describes. The limit of supersteps prevents updates in place.
    """
    name, graph, settings = request.split(":")
    options = dict(setting.split("=") for setting in settings.split(",") if setting)
    values = {key: int(value) if value.isdigit() else value for key, value in options.items()}
    arguments: dict[str, Any] = {"max_rounds": 5, **values}
    run(name, graph, 3, tuple(flags), ahead=False, lanes=256, **arguments)


def main(sanitizer: str, what: str, names: Sequence[str]) -> None:
    """Run kernels or programs, and print a line after each kernel or program.

    Under the thread sanitizer everything runs twice, and only the second run is watched. The first run loads all
    libraries, because reports do not name functions of libraries that are loaded after the first report.
    """
    runtime = ctypes.CDLL(str(runtime_library()))
    one = _run_kernel if what == "kernels" else _run_program
    if sanitizer == "thread":
        runtime.emulated_watch(0)
        for name in names:
            one(name, FLAGS[sanitizer])
    runtime.emulated_watch(1)
    for name in names:
        one(name, FLAGS[sanitizer])
        print("done", name, flush=True)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3:])
