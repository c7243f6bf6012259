"""The checker: finds names, types and levels, and checks what each statement may read and write."""

from __future__ import annotations

from vlang.check.declarations import Declarations
from vlang.check.expressions import Expressions
from vlang.check.infinite import judge_sums
from vlang.check.loops import judge_gathers, judge_loops
from vlang.check.statements import Around, Statements
from vlang.check.tables.checked import Checked, Laws, Symbol
from vlang.check.tables.checking import Run
from vlang.syntax import tree as t
from vlang.syntax.problems import Problem, failure, in_order
from vlang.syntax.recovery import read

__all__ = ["Checked", "Laws", "Problem", "Run", "Symbol", "check", "examine", "parse", "problems_of"]


def parse(text: str, filename: str) -> t.File:
    """The tree of a program text.

    Raises ProgramError if there are syntax errors (V001). The error lists them, and the problems that the checker finds
    in the lines that could be parsed.
    """
    text = text.removeprefix("\ufeff")
    reading = read(text, filename)
    if reading.file is not None and not reading.problems:
        return reading.file
    problems = reading.problems
    if reading.file is not None:
        problems += problems_of(reading.file, broken=reading.broken)[1]
    raise failure(problems, text, filename)


def check(file: t.File, precision: int = 32) -> Checked:
    """Check a program; `precision` (32 or 64) is the number of bits of `int` and `float`.

    Raises ProgramError with all problems of the text, in order. It is a ProgramTypeError if all problems are wrong
    types (V106).
    """
    checked, problems = problems_of(file, precision)
    if checked is None:
        raise failure(problems, file.text, file.filename)
    return checked


def problems_of(file: t.File, precision: int = 32,
                broken: frozenset[str] = frozenset()) -> tuple[Checked | None, tuple[Problem, ...]]:
    """The tables of a program (None if a problem is an error), and all of its problems.

    broken: the names on lines that did not parse; they are not reported as unknown.
    """
    run, laws = examine(file, precision, broken)
    problems = in_order(run.problems)
    if any(p.severity == "error" for p in problems):
        return None, problems
    warnings = tuple(p for p in problems if p.severity == "warning")
    return Checked(file, run.types, run.symbols, run.targets, run.declared, precision, warnings, laws), problems


def examine(file: t.File, precision: int = 32,
            broken: frozenset[str] = frozenset()) -> tuple[Run, dict[t.Reduction, Laws]]:
    """The tables of a program with its problems, and the laws of its declared reductions.

    The tables leave out wrong parts of the program. broken: the names on lines that did not parse; they are not
    reported as unknown.
    """
    run = Run(file, precision, broken)
    x = Expressions(run)
    declarations = Declarations(x)
    x.find_declared = declarations.call_of
    declarations.parameters(file.params, run.root)
    named = [i for i in file.items if isinstance(i, (t.Function, t.Reduction))]
    for item in named:
        declarations.announce(item, run.root)
    Statements(x, declarations).items(file.items, Around(run.root))
    for item in named:
        declarations.function(item.name)
    if not run.problems:
        declarations.sizes.program()
    laws = {} if run.problems else _laws(run)
    if not run.problems and not broken:  # a loop can only be judged if all of its lines are known
        judge_loops(run)
        judge_gathers(run)
        judge_sums(run)
    return run, laws


def _laws(run: Run) -> dict[t.Reduction, Laws]:
    """The laws of each declared reduction. A reduction whose laws are refuted is reported (V301) and left out."""
    nodes = [item for item in run.file.items if isinstance(item, t.Reduction) and item.value in run.types]
    if not nodes:
        return {}
    from vlang.check.laws.judge import judge_reduction  # start-up: loads NumPy, which few programs need here

    judged = {node: judge_reduction(run, node, run.declared[node][0]) for node in nodes}
    return {node: laws for node, laws in judged.items() if laws is not None}
