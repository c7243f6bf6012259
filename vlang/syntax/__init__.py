"""The text of a program and its syntax tree."""

from __future__ import annotations

from vlang.syntax import tree

__all__ = ["tree"]
