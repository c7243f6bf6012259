"""The checker: finds names, types and levels, and checks what each statement may read and write."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from vlang.check.declarations import Declarations
from vlang.check.expressions import Expressions
from vlang.check.statements import Around, Statements
from vlang.check.tables.checked import Checked, Laws, Symbol
from vlang.check.tables.checking import Run
from vlang.check.warnings.equations import judge_equations
from vlang.check.warnings.infinite import judge_sums
from vlang.check.warnings.loops import judge_gathers, judge_loops
from vlang.check.warnings.neighbours import judge_neighbours
from vlang.syntax import tree as t
from vlang.syntax.constants import UNSET, constants_of, with_values
from vlang.syntax.mistakes.recovery import read
from vlang.syntax.problems import Problem, failure, in_order

__all__ = ["Checked", "Laws", "Problem", "Run", "Symbol", "check", "examine", "parse", "problems_of"]


def parse(text: str, filename: str) -> t.File:
    """The tree of a program text.

    Raises ProgramError if there are syntax errors (V001). The error contains the syntax errors, and the problems that
    the checker finds in lines without syntax errors.
    """
    text = text.removeprefix("\ufeff")
    reading = read(text, filename)
    if reading.file is not None and not reading.problems:
        return reading.file
    problems = reading.problems
    if reading.file is not None:
        problems += problems_of(reading.file, broken=reading.broken)[1]
    raise failure(problems, text, filename)


def check(file: t.File, precision: int = 32, values: Mapping[str, int] | None = None) -> Checked:
    """Check a program.

    Args:
        file: the tree.
        precision: the number of bits of `int` and `float`, 32 or 64.
        values: the values of constants that do not have their defaults.

    Raises ProgramError with all problems of the text, in order. The error is a ProgramTypeError if all problems are
    wrong types (V106).
    """
    checked, problems = problems_of(file, precision, values=values)
    if checked is None:
        raise failure(problems, file.text, file.filename)
    return checked


def problems_of(file: t.File, precision: int = 32, broken: frozenset[str] = frozenset(),
                values: Mapping[str, int] | None = None) -> tuple[Checked | None, tuple[Problem, ...]]:
    """Return the tables of a program (None if it has errors), and all problems of the program.

    A program with constants is checked twice: first for unknown values of the constants, then for one value of each
    constant. The returned tables are those of the second check, in which literals replace the constants in the tree.

    Args:
        file: the tree.
        precision: the number of bits of `int` and `float`, 32 or 64.
        broken: the names on lines that did not parse; they are not reported as unknown.
        values: the values of constants that do not have their defaults. A constant without a value has the value UNSET.
    """
    chosen = {name: default or UNSET for name, default in constants_of(file).items()} | dict(values or {})
    if chosen:
        problems = in_order(examine(file, precision, broken)[0].problems)
        if any(p.severity == "error" for p in problems):
            return None, problems
        checked, problems = problems_of(with_values(file, chosen), precision, broken)
        named = ", ".join(f"{name} = {value}" for name, value in chosen.items())
        if checked is not None:
            checked = replace(checked, values=chosen, written=file)
        return checked, tuple(replace(p, title=f"{p.title} (with {named})") if p.severity == "error" else p
                              for p in problems)
    run, laws = examine(file, precision, broken)
    problems = in_order(run.problems)
    if any(p.severity == "error" for p in problems):
        return None, problems
    warnings = tuple(p for p in problems if p.severity == "warning")
    return Checked(file, run.types, run.symbols, run.targets, run.declared, precision, warnings, laws), problems


def examine(file: t.File, precision: int = 32,
            broken: frozenset[str] = frozenset()) -> tuple[Run, dict[t.Reduction, Laws]]:
    """Return the tables of a program, including its problems and the laws of its declared reductions.

    The tables leave out wrong parts of the program.

    Args:
        broken: the names on lines that did not parse; they are not reported as unknown.
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
    whole = not run.problems and not run.constants  # constants are judged with their values in the tree
    laws = _laws(run) if whole else {}
    if whole and not broken:  # a loop can only be judged if all of its lines are known
        judge_loops(run)
        judge_gathers(run)
        judge_sums(run)
        judge_equations(run)
        judge_neighbours(run)
    return run, laws


def _laws(run: Run) -> dict[t.Reduction, Laws]:
    """The laws of each declared reduction. A reduction with a refuted law is reported (V301) and left out."""
    nodes = [item for item in run.file.items if isinstance(item, t.Reduction) and item.value in run.types]
    if not nodes:
        return {}
    from vlang.check.laws.judge import judge_reduction  # start-up: loads NumPy, which few programs need here

    judged = {node: judge_reduction(run, node, run.declared[node][0]) for node in nodes}
    return {node: laws for node, laws in judged.items() if laws is not None}
