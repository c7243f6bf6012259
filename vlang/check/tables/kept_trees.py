"""Syntax trees in the cache directory, so that a command neither parses a known text again nor loads the parser.

To parse a program of the standard library, with the import of Lark and its tables, takes a tenth of a command. Only
texts without syntax errors are kept, and only texts of files, not those that Python code passes.
"""

from __future__ import annotations

import pickle
from dataclasses import replace
from functools import cache
from pathlib import Path

from vlang.runtime.compile.kept import key_of, read_entry, write_entry
from vlang.syntax import tree as t

__all__ = ["keep_tree", "kept_tree"]

_SUFFIX, _MAGIC = "tree", b"vlang tree 1\n"


def kept_tree(text: str, filename: str) -> t.File | None:
    """The tree of a text, for a file of this name; None if it is not in the cache."""
    data = read_entry(_key(text), _SUFFIX, _MAGIC) if _is_file(filename) else None
    if data is None:
        return None
    file = pickle.loads(data)  # the entry has a checksum, and only this user can write it
    return replace(file, filename=filename) if isinstance(file, t.File) and file.text == text else None


def keep_tree(file: t.File) -> None:
    """Write a tree to the cache."""
    if _is_file(file.filename):
        write_entry(_key(file.text), _SUFFIX, _MAGIC, pickle.dumps(replace(file, filename=""), 5))


def _is_file(filename: str) -> bool:
    return filename.endswith(".vp")


def _key(text: str) -> str:
    return key_of("tree", _sources(), text)


@cache
def _sources() -> str:
    """A digest of the modules of `vlang.syntax` and the grammar, because trees depend on them."""
    folder = Path(t.__file__).parent
    return key_of(*(path.read_text(encoding="utf-8") for path in sorted(folder.rglob("*.*"))
                    if path.suffix in (".py", ".lark")))
