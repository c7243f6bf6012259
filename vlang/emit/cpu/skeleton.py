"""Skeletons: code of kernels in Python files, with holes to be filled from the program (skeletons/holes.pyi).

A file is parsed with `ast`. The docstring, the imports and the types in a file do not become part of the kernel text. A
skeleton that calls a hole belongs to a pass; other skeletons are shared by all passes. Each pass has its own copies of
some functions. The name of the pass is appended to the names of these functions, in definitions and in calls. The
result is stored in the cache directory, keyed by the texts of the files, so that later starts parse no skeletons.
"""

from __future__ import annotations

import ast
import json
import threading
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from functools import cache
from pathlib import Path

from vlang.records import dataclass
from vlang.runtime.compile.kept import key_of, read_entry, write_entry

__all__ = ["Skeleton", "Skeletons", "skeletons", "take_apart"]

_FOLDER = Path(__file__).resolve().parent / "skeletons"
_HERE = "vlang.emit.cpu.skeletons."
_HOLES, _FUSED = f"{_HERE}holes", f"{_HERE}fused_blocks"
_CONSTANTS = "vlang.runtime.plan."
_MAGIC = b"vlang skeletons 1\n"

_HEAD = """\
import numpy as np
from numba import boolean
from numba import float32 as f32
from numba import float64 as f64
from numba import int8 as i8
from numba import int16 as i16
from numba import int32 as i32
from numba import int64 as i64
from numba import uint8 as u8
from numba import uint16 as u16
from numba import uint32 as u32
from numba import uint64 as u64
from vlang.runtime.compile.intrinsics import *
"""
"""The imports of every module. The imports of constants that skeletons use are added to them."""


@dataclass(frozen=True)
class Skeleton:
    """The code of one skeleton file.

    Attributes:
        pieces: its text, cut after each name to which the name of the pass is appended.
        alone: the text without the calls for fused work; empty if the text has no such calls.
    """

    pieces: tuple[str, ...]
    alone: tuple[str, ...] = ()

    def text(self, suffix: str = "", fuses: bool = True) -> str:
        """The code for one pass.

        Args:
            suffix: the name of the pass.
            fuses: whether work is fused into the pass.
        """
        pieces = self.alone if self.alone and not fuses else self.pieces
        return (f"_{suffix}" if suffix else "").join(pieces)


@dataclass(frozen=True)
class Skeletons:
    """All skeletons.

    Attributes:
        files: skeletons by name.
        heads: the parameter list of each hole.
        head: a module's imports.
    """

    files: Mapping[str, Skeleton]
    heads: Mapping[str, str]
    head: str


_lock = threading.Lock()  # `ast.parse` of CPython 3.11 fails when two threads run it at the same time


def skeletons() -> Skeletons:
    """Return all skeletons, which are read from the cache or parsed once per process."""
    with _lock:
        return _loaded()


@cache
def _loaded() -> Skeletons:
    texts = {path.stem: path.read_text(encoding="utf-8") for path in sorted(_FOLDER.glob("*.py*"))}
    key = key_of(Path(__file__).read_text(encoding="utf-8"), *texts, *texts.values())
    data = read_entry(key, "skeletons", _MAGIC)
    if data is not None:
        kept = json.loads(data)
        files = {name: Skeleton(tuple(one["pieces"]), tuple(one["alone"])) for name, one in kept["files"].items()}
        return Skeletons(files, kept["heads"], kept["head"])
    found = take_apart(texts)
    write_entry(key, "skeletons", _MAGIC, json.dumps(asdict(found)).encode())
    return found


def take_apart(texts: Mapping[str, str]) -> Skeletons:
    """Parse skeletons.

    Args:
        texts: the text of each file, by name, including `holes`.
    """
    trees = {name: ast.parse(text) for name, text in texts.items()}
    heads = {node.name: ast.unparse(_bare(node.args)) for node in trees.pop("holes").body
             if isinstance(node, ast.FunctionDef) and _marked(node, "hole")}
    files = {name: _File(name, texts[name], tree, heads) for name, tree in trees.items()}
    constants = sorted({module for file in files.values() for module in file.imported.values()
                        if module.startswith(_CONSTANTS)})
    head = _HEAD + "".join(f"from {module} import *\n" for module in constants)
    return Skeletons({name: file.skeleton(files) for name, file in files.items()}, heads, head)


def _marked(node: ast.FunctionDef, name: str) -> bool:
    return any(isinstance(one, ast.Name) and one.id == name for one in node.decorator_list)


def _bare(arguments: ast.arguments) -> ast.arguments:
    """A parameter list without types."""
    for argument in arguments.args:
        argument.annotation = None
    return arguments


class _File:
    """A skeleton file during parsing.

    Attributes:
        imported: local name -> module.
        own: whether the skeleton belongs to a pass.
    """

    def __init__(self, name: str, text: str, tree: ast.Module, heads: Mapping[str, str]) -> None:
        imports = [node for node in tree.body if isinstance(node, ast.ImportFrom)]
        self.imported = {alias.asname or alias.name: node.module or "" for node in imports for alias in node.names}
        self._holes = {alias.asname or alias.name for node in imports for alias in node.names
                       if node.module == _HOLES and alias.name in heads}
        self.own = bool(self._holes)
        self._name, self._tree, self._text = name, tree, text.encode()
        self._lines = [0]  # the byte offset of each line, since `ast` counts bytes
        for line in self._text.splitlines(keepends=True):
            self._lines.append(self._lines[-1] + len(line))

    def skeleton(self, files: Mapping[str, _File]) -> Skeleton:
        """The parsed skeleton."""
        first = next((node for node in self._tree.body[1:] if not isinstance(node, (ast.Import, ast.ImportFrom))), None)
        if ast.get_docstring(self._tree) is None or first is None:
            raise ValueError(f"skeleton {self._name}: a docstring, imports and functions are needed")
        marks = [mark.lineno for mark in first.decorator_list] if isinstance(first, ast.FunctionDef) else []
        begin = self._lines[min([first.lineno, *marks]) - 1]
        ends = list(self._named(files)) if self.own else []
        types, calls = list(self._types()), list(self._for_fused())
        return Skeleton(self._pieces(begin, ends, types), self._pieces(begin, ends, types + calls) if calls else ())

    def _begin(self, node: ast.expr | ast.arg | ast.stmt) -> int:
        return self._lines[node.lineno - 1] + node.col_offset

    def _end(self, node: ast.expr) -> int:
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        return self._lines[node.end_lineno - 1] + node.end_col_offset

    def _named(self, files: Mapping[str, _File]) -> Iterator[int]:
        """Return the ends of the names to which the name of the pass is appended: definitions and calls of functions of
        the pass.
        """
        own = {node.name for node in self._tree.body if isinstance(node, ast.FunctionDef)} | self._holes
        own |= {name for name, module in self.imported.items()
                if module.startswith(_HERE) and module != _HOLES and files[module.removeprefix(_HERE)].own}
        for node in ast.walk(self._tree):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in own:
                yield self._end(node.func)
            elif isinstance(node, ast.FunctionDef) and node.name in own:
                yield self._begin(node) + len("def ") + len(node.name)

    def _types(self) -> Iterator[tuple[int, int]]:
        """The places of the types of parameters and results, which only mypy reads."""
        for node in self._tree.body:
            if isinstance(node, ast.FunctionDef):
                for one in node.args.args:
                    if one.annotation is not None:
                        yield self._begin(one) + len(one.arg), self._end(one.annotation)
                if node.returns is not None:
                    yield self._text.rindex(b")", 0, self._begin(node.returns)) + 1, self._end(node.returns)

    def _for_fused(self) -> Iterator[tuple[int, int]]:
        """The places of the lines with calls for work fused into the pass."""
        if _FUSED not in self.imported.values():
            return
        for node in ast.walk(self._tree):
            if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) and \
                    isinstance(node.value.func, ast.Name) and self.imported.get(node.value.func.id) == _FUSED:
                yield self._lines[node.lineno - 1], self._lines[node.end_lineno or node.lineno]

    def _pieces(self, begin: int, ends: list[int], dropped: list[tuple[int, int]]) -> tuple[str, ...]:
        """Return the text that begins at offset `begin`, without the ranges in `dropped`, cut at the offsets in `ends`.
        """
        pieces, piece = [], b""
        stops = [(end, end) for end in ends if not any(low <= end < high for low, high in dropped)]
        for low, high in sorted([*stops, *dropped]):
            piece += self._text[begin:low]
            begin = high
            if low == high:
                pieces.append(piece.decode())
                piece = b""
        return (*pieces, (piece + self._text[begin:]).decode())
