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
        words: the number of its arguments, which are 64-bit words.
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
        order: str = "ascending", seed: int = 0, garbage: int = 0xAB,
    ) -> None:
        """Run a kernel to its end.

        Args:
            name: the kernel.
            blocks: number of blocks.
            threads: threads per block.
            args: addresses and integers.
            shared: bytes of shared memory per block.
            cooperative: whether all blocks run at the same time; otherwise a few blocks run at a time, in random order.
            order: one of ORDERS.
            seed: the seed of the random order.
            garbage: the byte that fills shared memory.

        Raises:
            DeviceError: lanes are deadlocked (the message shows the place), or an address is not mapped.
        """
        program = self.programs[name]
        if len(args) != program.words:
            raise TypeError(f"{name} takes {program.words} arguments, not {len(args)}")
        words = (ctypes.c_uint64 * max(1, len(args)))(*(int(a) & _WORD for a in args))
        about = (blocks, threads, shared, int(cooperative), ORDERS.index(order), seed & _WORD, garbage)
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


def _build(sources: Mapping[str, str], arguments: Sequence[str], suffix: str) -> Path:
    """Return the file that g++ builds from sources (name -> text) and arguments. The file is cached by sources and
    arguments.
    """
    key = hashlib.sha256(repr((sorted(sources.items()), list(arguments), suffix)).encode()).hexdigest()[:32]
    result = place_of_cache() / f"{key}{suffix}"
    if result.exists():
        return result
    folder = Path(tempfile.mkdtemp(dir=place_of_cache()))
    for name, text in sources.items():
        (folder / name).write_text(text)
    done = subprocess.run(["g++", *arguments, "-o", f"made{suffix}"], cwd=folder, capture_output=True, text=True)
    if done.returncode:
        raise InternalError(f"g++ rejects the text of {folder}:\n{done.stderr[:6000]}")
    (folder / f"made{suffix}").rename(result)
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


def _sources(text: str, entries: Mapping[str, str]) -> dict[str, str]:
    """Return the source files of a library. The line numbers of these files are the same as in the text."""
    assert all(re.fullmatch(r"\w+", name) for name in entries)
    tail = "".join(f"EMULATED_ENTRY({name})\n" for name in entries)
    body = "\n".join((f'#include "emulation.h"\n#line 1 "kernels.cu"\n{text}', *entries.values(), tail))
    return {"emulation.h": (_HERE / "emulation.h").read_text(), "kernels.cpp": body}


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
    arguments = (*_FLAGS, *_ODD, "-shared", "kernels.cpp", str(runtime_library()), *flags)
    return Library(_build(_sources(text, entries), arguments, ".so"), list(entries))
