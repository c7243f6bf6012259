"""The text of a program, and the tree that it stands for."""

from __future__ import annotations

from vlang.syntax import tree

__all__ = ["parse", "tree"]


def parse(text: str, filename: str) -> tree.File:
    """The tree of a program text.

    Raises ProgramError with all syntax errors (V001) of the text.
    """
    from vlang.syntax.parser import parse_tree

    return parse_tree(text, filename)
