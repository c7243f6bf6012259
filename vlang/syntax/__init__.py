"""The text of a program, and the tree that it stands for."""

from __future__ import annotations

from vlang.syntax import tree

__all__ = ["parse", "tree"]


def parse(text: str, filename: str) -> tree.File:
    """The tree of a program text.

    Raises ProgramError with all problems if there are syntax errors (V001): those, and what the checker finds in
    the lines that could be read.
    """
    from vlang.check import problems_of
    from vlang.syntax.problems import failure
    from vlang.syntax.recovery import read

    text = text.removeprefix("\ufeff")
    reading = read(text, filename)
    if reading.file is not None and not reading.problems:
        return reading.file
    problems = reading.problems
    if reading.file is not None:
        problems += problems_of(reading.file, broken=reading.broken)[1]
    raise failure(problems, text, filename)
