"""Compiled loops over edges. The other files here and in `texts/` are kernel text; library code never imports them.

Each file lists its exported functions and their signatures in `EXPORTS`; `kernels("sort")` returns the functions of
`sort.py` as callables. A file without `EXPORTS` is an include file: its text replaces every import from it, so that one
text holds everything on which the object code depends. `key` in a signature is a type that the caller chooses. Kernels
index pointers with signed 64-bit integers, allocate no memory and raise no exceptions.
"""

from __future__ import annotations

import ast
import re
import threading
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path

__all__ = ["kernels", "kernel_files"]

_HERE = Path(__file__).parent
_PART = re.compile(r"^from vlang\.runtime\.graph\.kernels\.(?:\w+\.)?(\w+) import (?:\([^)]*\)|.*)\n", re.MULTILINE)
_FUTURE = "from __future__ import annotations\n"  # permitted only at the top of the combined text


_lock = threading.Lock()


def kernels(name: str, key: str = "i64") -> Mapping[str, Callable[..., int]]:
    """The functions of the kernel file `name`, compiled on their first use on this machine.

    The argument `key` is the type that replaces the word `key` in the signatures.
    """
    with _lock:  # several threads may call; in CPython 3.11, `ast.parse` fails if two threads run it at once
        return _loaded(name, key)


def kernel_files() -> tuple[str, ...]:
    """The names that `kernels` accepts."""
    return tuple(sorted(path.stem for path in _HERE.rglob("*.py") if _exports(path.read_text(encoding="utf-8"))))


@cache
def _loaded(name: str, key: str) -> Mapping[str, Callable[..., int]]:
    from vlang.runtime.compile.objects import load_kernels  # start-up

    text = _whole(_text(name))
    return load_kernels(text, {export: signature.replace("key", key) for export, signature in _exports(text).items()})


def _text(name: str) -> str:
    """The text of the kernel file `name`, in whichever folder it is."""
    return next(_HERE.rglob(f"{name}.py")).read_text(encoding="utf-8")


def _whole(text: str) -> str:
    """The text of a kernel file, in which each include file is inserted once."""
    done: set[str] = set()

    def part(found: re.Match[str]) -> str:
        if found[1] in done:
            return ""
        done.add(found[1])
        return _text(found[1]).replace(_FUTURE, "", 1)

    return _PART.sub(part, text)


def _exports(text: str) -> dict[str, str]:
    """The exported names and their signatures; empty for an include file."""
    for node in ast.parse(text).body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and node.targets[0].id == "EXPORTS":
            exports: dict[str, str] = ast.literal_eval(node.value)
            return exports
    return {}
