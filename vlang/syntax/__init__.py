"""The text of a program, and the tree that it stands for."""

from __future__ import annotations

from vlang.syntax import tree

__all__ = ["tree"]
