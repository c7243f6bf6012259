"""Compile kernel texts by g++ and run them on the CPU, with emulation.h and the scheduler of emulation.cpp."""

from __future__ import annotations

import ctypes
import hashlib
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from vlang.emit.cuda.cuda_target import GENERATED
from vlang.errors import DeviceError, InternalError

__all__ = ["ORDERS", "Library", "Program", "compile_text", "needs_compiler", "place_of_cache", "runtime_library"]

ORDERS = ("ascending", "descending", "random")
"""The orders in which ready lanes run."""

_HERE = Path(__file__).parent
_FLAGS = ("-O1", "-std=c++17", "-Wall", "-Werror", "-Wno-unknown-pragmas", "-ffp-contract=off",
          "-fstack-clash-protection", "-fPIC")
_ODD = ("-Wno-tautological-compare", "-Wno-bool-compare", "-Wno-int-in-bool-context")  # which programs may cause
_MESSAGE = 4096  # bytes
_WORD = 0xFFFFFFFFFFFFFFFF

needs_compiler = pytest.mark.skipif(shutil.which("g++") is None, reason="g++ is not installed")
"""Kernels run on the CPU only if g++ is installed."""


@dataclass(frozen=True)
class Program:
    """A kernel in a library.

    Attributes:
        words: the number of arguments of the kernel, which are 64-bit words.
    """

    name: str
    words: int


class Library:
    """Compiled kernels. Only one launch runs at a time, because the scheduler has one state."""

    def __init__(self, path: Path, names: Sequence[str]) -> None:
        self.path = path
        self._code = ctypes.CDLL(str(path))
        self.programs = {name: Program(name, getattr(self._code, f"words_{name}")()) for name in names}

    def run(
        self, name: str, blocks: int, threads: int, args: Sequence[int], shared: int = 0, cooperative: bool = False,
        order: str = "ascending", seed: int = 0, garbage: int = 0xAB, devices: int = 1,
    ) -> None:
        """Run a kernel to its end.

        Args:
            name: the kernel.
            blocks: number of blocks.
            threads: threads per block.
            args: addresses and integers; of each device after the other.
            shared: bytes of shared memory per block.
            cooperative: whether all blocks run at the same time; otherwise a few blocks run at a time, in random order.
            order: one of ORDERS.
            seed: the seed of the random order.
            garbage: the byte that fills shared memory.
            devices: the number of devices on which the kernel runs at the same time, each with `blocks` blocks.

        Raises:
            DeviceError: lanes are deadlocked (the message shows the place), or an address is not mapped.
        """
        program = self.programs[name]
        if len(args) != program.words * devices:
            raise TypeError(f"{name} takes {program.words} arguments on each of {devices} devices, not {len(args)}")
        words = (ctypes.c_uint64 * max(1, len(args)))(*(int(a) & _WORD for a in args))
        about = (blocks, threads, shared, int(cooperative), ORDERS.index(order), seed & _WORD, garbage, devices,
                 program.words)
        launch = (ctypes.c_uint64 * len(about))(*about)
        message = ctypes.create_string_buffer(_MESSAGE)
        if getattr(self._code, f"run_{name}")(launch, words, message, ctypes.c_uint64(_MESSAGE)):
            raise DeviceError(message.value.decode())


@cache
def place_of_cache() -> Path:
    """Return the folder of compiled libraries, which is kept between test runs."""
    place = Path(tempfile.gettempdir()) / f"vlang-emulation-{os.getuid()}"
    place.mkdir(mode=0o700, exist_ok=True)
    return place


def _key(sources: Mapping[str, str], arguments: Sequence[str], suffix: str) -> str:
    return hashlib.sha256(repr((sorted(sources.items()), list(arguments), suffix)).encode()).hexdigest()[:32]


def _call(folder: Path, sources: Mapping[str, str], arguments: Sequence[str]) -> None:
    """Write sources (name -> text) into a folder and call g++ there. Raises InternalError if g++ reports something."""
    for name, text in sources.items():
        (folder / name).write_text(text)
    done = subprocess.run(["g++", *arguments], cwd=folder, capture_output=True, text=True)
    if done.returncode:
        raise InternalError(f"g++ rejects the text of {folder}:\n{done.stderr[:6000]}")


def _build(sources: Mapping[str, str], arguments: Sequence[str], suffix: str) -> Path:
    """Return the file that g++ makes of sources (name -> text) and arguments. The file is cached by sources and
    arguments.
    """
    result = place_of_cache() / f"{_key(sources, arguments, suffix)}{suffix}"
    if result.exists():
        return result
    folder = Path(tempfile.mkdtemp(dir=place_of_cache()))
    _call(folder, sources, [*arguments, "-o", f"made{suffix}"])
    (folder / f"made{suffix}").rename(result)
    shutil.rmtree(folder)
    return result


@cache
def _header(text: str, flags: tuple[str, ...]) -> Path:
    """Return the folder of skeletons.h, a header with the given text that g++ has compiled for the given flags.

    The skeletons are nine tenths of a kernel text and the same for every program. So g++ reads them once for each set
    of flags, and a kernel library takes half the time.
    """
    sources = {"emulation.h": (_HERE / "emulation.h").read_text(), "skeletons.h": text}
    result = place_of_cache() / f"{_key(sources, flags, '.gch')}.headers"
    if not result.exists():
        folder = Path(tempfile.mkdtemp(dir=place_of_cache()))
        _call(folder, sources, [*flags, "-x", "c++-header", "skeletons.h", "-o", "skeletons.h.gch"])
        try:
            folder.rename(result)
        except OSError:  # another process was faster
            shutil.rmtree(folder)
    return result


@cache
def runtime_library() -> Path:
    """Return the library of the scheduler, compiled once. The library works with every sanitizer, and all kernel
    libraries of a process share it.
    """
    sources = {name: (_HERE / name).read_text() for name in ("emulation.cpp", "meetings.h", "lanes.h", "fibers.h")}
    flags = ("-O2", "-std=c++17", "-Wall", "-Wextra", "-Werror", "-fPIC", "-shared")
    return _build(sources, (*flags, "emulation.cpp"), ".so")


def _entry_points(entries: Mapping[str, str]) -> str:
    assert all(re.fullmatch(r"\w+", name) for name in entries)
    return "\n".join([*entries.values(), "".join(f"EMULATED_ENTRY({name})\n" for name in entries)])


def compile_text(text: str, entries: Mapping[str, str], flags: Sequence[str] = ()) -> Library:
    """Return the kernels of a CUDA C text.

    Args:
        text: CUDA C.
        entries: name -> the text of the `extern "C" __global__` function of that name.
        flags: further options of g++, such as "-fsanitize=thread".

    Raises:
        InternalError: g++ reports a warning or an error. The error has the messages of g++ and the folder of the
            sources.
    """
    options = (*_FLAGS, *_ODD, *flags)
    emulation = '#include "emulation.h"\n#line 1 "kernels.cu"\n'
    skeletons, found, generated = text.rpartition(GENERATED)
    if found:
        options = (*options, f"-I{_header(emulation + skeletons, options)}")
        line = skeletons.count("\n") + 1
        text = f'#include "skeletons.h"\n#line {line} "kernels.cu"\n{found}{generated}'
    else:
        text = emulation + text
    sources = {"emulation.h": (_HERE / "emulation.h").read_text(), "kernels.cpp": f"{text}\n{_entry_points(entries)}"}
    arguments = (*options, "-shared", "kernels.cpp", str(runtime_library()))
    return Library(_build(sources, arguments, ".so"), list(entries))
