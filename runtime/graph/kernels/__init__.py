"""Compiled loops over edges: the files beside this one are kernel text, never imported by library code.

Each file names its exported functions and their signatures in `EXPORTS`; `kernels("sort")` gives them as callables.
Inside, a pointer is indexed with a signed 64-bit integer, and nothing allocates or raises.
"""

from __future__ import annotations

import ast
import threading
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path

__all__ = ["kernels"]


_lock = threading.Lock()


def kernels(name: str) -> Mapping[str, Callable[..., int]]:
    """The compiled functions of the kernel file `name`; compiled on the first use on this machine."""
    with _lock:  # workers may ask at once, and `ast.parse` of CPython 3.11 fails when two threads are in it
        return _loaded(name)


@cache
def _loaded(name: str) -> Mapping[str, Callable[..., int]]:
    from vlang.runtime.devices.objects import load_kernels

    text = Path(__file__).with_name(f"{name}.py").read_text(encoding="utf-8")
    return load_kernels(text, _exports(text))


def _exports(text: str) -> dict[str, str]:
    for node in ast.parse(text).body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and node.targets[0].id == "EXPORTS":
            exports: dict[str, str] = ast.literal_eval(node.value)
            return exports
    raise LookupError("a kernel file has no EXPORTS")
