"""Functions that return the IR and the facts of a program text."""

from __future__ import annotations

from vlang.check import check, parse
from vlang.ir.facts import Facts, LoopFacts, analyse
from vlang.ir.forms import forms as f
from vlang.ir.forms.text import statement_lines
from vlang.ir.forms.visible import statements
from vlang.ir.lower import lower

__all__ = ["applies", "facts_of", "gathers", "ir", "lines", "loop_of", "only"]


def ir(text: str, precision: int = 32) -> f.Program:
    """Return the IR of a text. A text without a header gets the header `program p`."""
    if "program " not in text:
        text = "program p\n" + text
    return lower(check(parse(text, "test.vp"), precision))


def facts_of(text: str) -> Facts:
    return analyse(ir(text))


def loop_of(text: str, number: int = 0) -> LoopFacts:
    """Return the facts of one loop."""
    return list(facts_of(text).loops.values())[number]


def lines(program: f.Program) -> list[str]:
    """Return the statements of a program as text."""
    return [line for statement in program.body for line in statement_lines(statement)]


def gathers(program: f.Program) -> list[f.Gather]:
    return [s for s in statements(program.body) if isinstance(s, f.Gather)]


def applies(program: f.Program) -> list[f.Apply]:
    return [s for s in statements(program.body) if isinstance(s, f.Apply)]


def only(text: str, name: str, precision: int = 32) -> f.Expr:
    """Return the initial value of the field `name`."""
    return next(s.value for s in ir(text, precision).body if isinstance(s, f.InitField) and s.name == name)
