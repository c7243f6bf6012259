"""The text of a program, and the tree that it stands for."""

from __future__ import annotations

from vlang.syntax import tree

__all__ = ["decode", "parse", "tree"]


def parse(text: str, filename: str) -> tree.File:
    """The tree of a program text.

    Raises ProgramError with all problems if there are syntax errors (V001): those, and what the checker finds in
    the lines that could be read.
    """
    from vlang.check import problems_of
    from vlang.check.problems import failure
    from vlang.syntax.recovery import read

    text = text.removeprefix("\ufeff")
    reading = read(text, filename)
    if reading.file is not None and not reading.problems:
        return reading.file
    problems = reading.problems
    if reading.file is not None:
        problems += problems_of(reading.file, broken=reading.broken)[1]
    raise failure(problems, text, filename)


def decode(data: bytes, filename: str) -> str:
    """The text of a program file. Raises ProgramError if it is not UTF-8."""
    from vlang.check.problems import Problem, failure

    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = data[: error.start].decode("utf-8", "replace").removeprefix("\ufeff")
        line = before.count("\n") + 1
        column = len(before) - before.rfind("\n")
        span = tree.Span(len(before), len(before) + 1, line, column)
        problem = Problem("V001", "error", f"this is not UTF-8 text: byte 0x{data[error.start]:02x}", span)
        raise failure((problem,), data.decode("utf-8", "replace").removeprefix("\ufeff"), filename) from None
