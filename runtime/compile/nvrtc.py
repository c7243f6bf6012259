"""Compilation of CUDA C to machine code by NVRTC, and the cache of the machine code.

The cache key is a digest of all inputs of the compiler. The compiler is a parameter, so that the cache can be tested
without a GPU.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

from vlang import __version__
from vlang.errors import DeviceError, InternalError
from vlang.runtime.compile.cachedir import cache_dir
from vlang.runtime.compile.kept import key_of, read_entry, write_entry
from vlang.runtime.threads.activity import step

__all__ = ["Compiler", "CupyCompiler", "Rejected", "compile_cubin", "options_for", "whole_source"]

_MAGIC = b"vlang cubin 1\n"
_LIBRARY = b"vlang nvrtc 1\n"
_PLACES = ("CUDA_PATH", "CUDA_HOME", "CONDA_PREFIX", "LD_LIBRARY_PATH")  # variables by which the library is found
_LINES = 12  # number of lines of the compiler's log in a message


class Rejected(Exception):
    """The error for a source that the compiler rejects. The argument of the exception is the compiler's log."""


class Compiler(Protocol):
    """The interface of NVRTC, which tests can replace."""

    @property
    def version(self) -> str:
        """The version of the compiler, such as "13.0". The version is a part of the cache key."""

    def supports(self, architecture: str) -> bool:
        """Return whether the compiler can generate machine code for an architecture such as "sm_90"."""

    def compile(self, source: str, options: tuple[str, ...]) -> bytes:
        """Compile a source to machine code (a cubin). Raises Rejected."""


def options_for(architecture: str) -> tuple[str, ...]:
    """The options of NVRTC. Fused multiply-add is disabled, so that results are rounded as on the CPU."""
    return ("--std=c++17", "-fmad=false", f"-arch={architecture}")


def whole_source(text: str, entries: Mapping[str, str]) -> str:
    """Join a text and its `__global__` functions, in the order of their names, to one source."""
    return "\n".join([text.rstrip("\n"), *(entries[name] for name in sorted(entries))]) + "\n"


def compile_cubin(text: str, entries: Mapping[str, str], architecture: str, compiler: Compiler) -> bytes:
    """Return the machine code (a cubin) of a text and its entries: from the cache, or compiled now and then cached.

    Args:
        text: CUDA C source.
        entries: the texts of the `__global__` functions, by name.
        architecture: the architecture of the GPU, such as "sm_90".
        compiler: NVRTC, or a substitute in tests.

    Raises:
        DeviceError: the compiler does not support the architecture.
        InternalError: the compiler rejects the source. A rejection is a bug of vlang, because vlang generates the
            source. The message names a file with the source.
    """
    options = options_for(architecture)
    key = key_of(text, json.dumps(dict(entries), sort_keys=True), *options, compiler.version, __version__)
    cubin = read_entry(key, "cubin", _MAGIC)
    if cubin is None:
        if not compiler.supports(architecture):
            raise DeviceError(f"NVRTC {compiler.version} does not know the GPU's architecture, {architecture}; a newer "
                              "one does: pip install --upgrade 'vlang[gpu]'")
        source = whole_source(text, entries)
        try:
            with step("compiling", f"{len(entries)} kernels for {architecture}"):
                cubin = compiler.compile(source, options)
        except Rejected as error:
            raise InternalError(_message(str(error), _kept(source, key), options)) from None
        write_entry(key, "cubin", _MAGIC, cubin)
    return cubin


def _message(log: str, place: Path, options: tuple[str, ...]) -> str:
    lines = [line for line in log.splitlines() if line.strip()]
    more = [f"... {len(lines) - _LINES} more lines"] if len(lines) > _LINES else []
    head = ("NVRTC rejected the code that vlang wrote; this is a bug in vlang, please report it with the program and "
            f"the source kept in {place} ({' '.join(options)}).")
    return "\n".join([head, *lines[:_LINES], *more])


def _kept(source: str, key: str) -> Path:
    """Save a rejected source in the cache directory or, without one, in a temporary directory; returns the path."""
    path = (cache_dir() or Path(tempfile.mkdtemp(prefix="vlang-"))) / f"rejected-{key[:12]}.cu"
    path.write_text(source, encoding="utf-8")
    return path


class CupyCompiler:
    """NVRTC, called through CuPy, which locates the library.

    The library is loaded only if something must be compiled, because loading takes a tenth of a second. A run without
    compilation needs only the version of the library, which the cache directory keeps.
    """

    def __init__(self) -> None:
        self._loaded: Any = None

    @cached_property
    def version(self) -> str:
        """The version of the library, such as "13.0". Raises DeviceError if the library cannot be loaded."""
        kept = read_entry(_library_key(), "nvrtc", _LIBRARY)
        if kept is not None:
            version, *file = json.loads(kept)
            if file == _identity(file[0]):
                return str(version)
        version = ".".join(map(str, self._nvrtc.getVersion()))
        path = _library_path()
        if path:
            write_entry(_library_key(), "nvrtc", _LIBRARY, json.dumps([version, *_identity(path)]).encode())
        return version

    @property
    def _nvrtc(self) -> Any:
        """CuPy's module for NVRTC, with the library loaded. Raises DeviceError."""
        if self._loaded is None:
            try:
                from cupy_backends.cuda.libs import nvrtc  # optional

                nvrtc.getVersion()  # loads the library
            except (RuntimeError, OSError, ImportError) as error:
                lines = str(error).strip().splitlines()
                raise DeviceError(f"NVRTC, the compiler of the GPU's code, cannot be loaded: pip install 'vlang[gpu]' "
                                  f"({lines[0] if lines else type(error).__name__})") from None
            self._loaded = nvrtc
        return self._loaded

    def supports(self, architecture: str) -> bool:
        """Return whether NVRTC can generate machine code for an architecture such as "sm_90"."""
        return int(architecture.removeprefix("sm_")) in self._nvrtc.getSupportedArchs()

    def compile(self, source: str, options: tuple[str, ...]) -> bytes:
        """Compile a source to machine code (a cubin). Raises Rejected."""
        nvrtc = self._nvrtc
        program = nvrtc.createProgram(source, "vlang.cu", (), ())
        try:
            nvrtc.compileProgram(program, options)
            return bytes(nvrtc.getCUBIN(program))
        except nvrtc.NVRTCError as error:
            raise Rejected(nvrtc.getProgramLog(program) or str(error)) from None
        finally:
            nvrtc.destroyProgram(program)


def _library_key() -> str:
    """The cache key of the version: a digest of everything that determines which library CuPy finds."""
    return key_of("nvrtc", sys.prefix, *(os.environ.get(name, "") for name in _PLACES))


def _identity(path: str) -> list[Any]:
    """The path, size and modification time of a file; only the path if the file does not exist."""
    try:
        status = os.stat(path)
    except OSError:
        return [path]
    return [path, status.st_size, status.st_mtime_ns]


def _library_path() -> str:
    """The path of the NVRTC library that this process has loaded; "" if the path cannot be determined."""
    try:
        lines = Path("/proc/self/maps").read_text(encoding="utf-8").splitlines()
    except OSError:
        return ""
    paths = [line.split(maxsplit=5)[-1] for line in lines if "/libnvrtc.so" in line]
    return paths[0] if paths else ""
