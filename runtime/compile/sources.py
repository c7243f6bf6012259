"""Finds the modules that the object code of a kernel depends on: all modules that its text or the compiler imports."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path

__all__ = ["imported", "modules_of", "sources_digest"]

_COMPILER = "vlang.runtime.compile.compile_numba"
_IMPORT = re.compile(r"^(?:from|import) (vlang[\w.]*)", re.MULTILINE)
_ROOT = Path(__file__).parents[3]


def sources_digest(text: str) -> str:
    """A digest of all modules that the object code of a kernel text depends on."""
    return _digest(frozenset(_IMPORT.findall(text)))


def modules_of(text: str) -> dict[str, str]:
    """The source texts, by module name, of the modules that the object code of a kernel text depends on."""
    return imported({_COMPILER, *_IMPORT.findall(text)})


def imported(modules: Iterable[str]) -> dict[str, str]:
    """The source texts, by module name, of `modules` and of all modules of the project that they import transitively.
    """
    found: dict[str, str] = {}
    waiting = sorted(modules)
    while waiting:
        module = waiting.pop()
        if module not in found:
            found[module] = _text(module)
            waiting += _IMPORT.findall(found[module])
    return found


@cache
def _digest(direct: frozenset[str]) -> str:
    whole = hashlib.sha256()
    for module, text in sorted(imported({_COMPILER, *direct}).items()):
        whole.update(f"{module}\0{text}\0".encode())
    return whole.hexdigest()


def _text(module: str) -> str:
    path = _ROOT.joinpath(*module.split("."))
    file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    return file.read_text(encoding="utf-8")
