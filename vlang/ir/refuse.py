"""The error for correct programs that this version cannot run."""

from __future__ import annotations

from typing import NoReturn

from vlang.ir.forms import forms as f
from vlang.syntax.codes import Code
from vlang.syntax.problems import Problem, failure
from vlang.syntax.tree import Span

__all__ = ["refuse"]


def refuse(program: f.Program, span: Span, what: str) -> NoReturn:
    """Raise ProgramError with the source line: `what` is correct, but this version cannot run it."""
    problem = Problem(
        Code.NOT_YET_RUN, f"{what} cannot be run yet", span, "correct, but not yet run",
        help=("this version checks and explains it; `vlang list` shows programs that run",),
    )
    raise failure((problem,), program.source, program.filename)
