"""The C++ loops. The compiler g++ builds each file when it is first used, and ctypes calls the functions."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["FLAGS", "References", "pointer"]

FLAGS = ("-O3", "-march=native", "-fopenmp", "-shared", "-fPIC")

_LOOPS = Path(__file__).parent / "loops"
_SCALARS = {int: ctypes.c_int64, float: ctypes.c_float}


class References:
    """The functions of the C++ files in loops/. folder: where the built libraries are written.

    Raises SystemExit with the package to install if there is no g++.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._libraries: dict[str, ctypes.CDLL] = {}

    def call(self, file: str, function: str, *arguments: Any) -> int:
        """Call `function` of `file`.cpp. If the C++ function returns an int64, return its result.

        Arrays are passed as pointers, an int as int64, a float as a C float. Values of ctypes are passed unchanged.
        """
        found = getattr(self._library(file), function)
        found.restype = ctypes.c_int64
        return int(found(*(_passed(a) for a in arguments)))

    def _library(self, file: str) -> ctypes.CDLL:
        if file not in self._libraries:
            compiler = shutil.which("g++")
            if compiler is None:
                raise SystemExit("no g++: it builds the C++ loops to compare with (Debian: apt install g++); the other "
                                 "measures run without it: run.py --only read,start,memory")  # fmt: skip
            target = self._folder / f"{file}.so"
            subprocess.run([compiler, *FLAGS, str(_LOOPS / f"{file}.cpp"), "-o", str(target)], check=True)
            self._libraries[file] = ctypes.CDLL(str(target))
        return self._libraries[file]


def _passed(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return pointer(value)
    return _SCALARS[type(value)](value) if type(value) in _SCALARS else value


def pointer(array: NDArray[Any]) -> ctypes.c_void_p:
    """Return the address of a contiguous array."""
    assert array.flags.c_contiguous
    return array.ctypes.data_as(ctypes.c_void_p)
