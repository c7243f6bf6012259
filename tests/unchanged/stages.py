"""The output of each stage of the compiler for a program, as text."""

from __future__ import annotations

import dataclasses
import hashlib
import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any

import numpy as np

from vlang import Program
from vlang.errors import BindError, ProgramError
from vlang.ir.derived import derived
from vlang.ir.float_bounds import may_overflow
from vlang.ir.forms import forms as f
from vlang.ir.forms.ranges import SIZES, Ranges
from vlang.ir.forms.visible import expressions, statements
from vlang.ir.going import ChangeKind, Going, going_on
from vlang.ir.integer_watch import leaving, noting_integers
from vlang.ir.overflow_watch import noting, watch_of
from vlang.ir.print import facts_text, program_text
from vlang.ir.restart import restarts
from vlang.ir.switches import OPTIMISATIONS
from vlang.ir.traps.trap_mode import Trapping, trapping
from vlang.runtime.plan.plan import Plan
from vlang.syntax.problems import Problem, report

__all__ = ["digest", "stages"]


def stages(text: str, variant: int) -> Iterator[tuple[str, str]]:
    """Yield the name and text of each stage. The only stage of a wrong program is "messages".

    Args:
        text: The program.
        variant: The precision, the fields that the user passes, the edge columns, the class of graph sizes, and the
            optimisations to leave out.
    """
    try:
        program = Program(text, "demo.vp", precision=64 if variant % 4 == 3 else 32)
        own = program.stages()
    except (ProgramError, BindError) as error:
        yield "messages", str(error)
        return
    problems = [one for one in own.checked.warnings if isinstance(one, Problem)]
    yield "messages", report(problems, text, "demo.vp") if problems else ""
    given = frozenset(decl.name for decl in own.program.fields if decl.required or (variant % 3 == 2 and decl.output))
    sizes = SIZES[variant % len(SIZES)]
    ranges = Ranges(own.program, given, sizes)
    yield "ir", program_text(own.program)
    yield "facts", facts_text(own.facts) + canonical(restarts(own.facts)) + canonical(watch_of(own.program))
    yield "ranges", "\n".join(_ranges(own.program, Ranges(own.program, given, each)) for each in SIZES)
    yield "watch", "\n".join([canonical(leaving(own.program, own.facts, ranges)), *(
        program_text(made) + canonical(places) for made, places in
        (noting_integers(own.program, given, ranges),
         noting(own.program, given, watch_of(own.program), may_overflow)))])
    yield "traps", _or_refusal(lambda: _traps(trapping(own.program, given)))
    delta, fields, refused = derived(own.program, own.facts)
    yield "delta", program_text(delta) + canonical(fields) + canonical(refused)
    columns = frozenset(decl.name for decl in own.program.edges) if variant % 5 else frozenset()
    without = frozenset({sorted(OPTIMISATIONS)[variant % len(OPTIMISATIONS)]}) if variant % 4 == 1 else frozenset()
    kinds = [ChangeKind(*map(bool, (one & 1, one & 2, one & 4))) for one in range(1, 8)]
    yield "resume", "\n".join(_resumed(going_on(own.program, own.facts, kind)) for kind in kinds)
    for target in ("numba", "cuda"):
        yield target, _or_refusal(lambda target=target: _code(target, program.plan(  # type: ignore[misc]
            columns, given, target=target, without=without, renumbered=variant % 6 == 5, sizes=sizes)))


def _resumed(judged: tuple[tuple[Going, ...], tuple[str, ...]]) -> str:
    """Return the loops that may continue from an old result, and the reasons why other loops may not."""
    found, refused = judged
    parts = [{name: part for name, part in vars(one).items() if name != "facts"} for one in found]
    return canonical(parts) + canonical(refused)


def _code(target: str, plan: Plan) -> str:
    """Return the text of a plan with the functions of its kernels, without functions that all programs share."""
    own = [part for part in _functions(plan.text) if part not in _shared(target)]
    return canonical(dataclasses.replace(plan, text="")) + "\n".join(own)


@cache
def _shared(target: str) -> frozenset[str]:
    """Return the functions of kernels that two programs without a common expression share."""
    texts = ("program p\nvertex x: int = 1\n", "program q\nvertex y: bool = true\n")
    first, second = (_functions(Program(text, "demo.vp").plan(frozenset(), target=target).text) for text in texts)
    return frozenset(first) & frozenset(second)


def _functions(text: str) -> list[str]:
    """Return the parts of a text that begin with a line without indentation."""
    return re.split(r"\n(?=\S)", text)


def _ranges(program: f.Program, ranges: Ranges) -> str:
    """Return the range of every expression. Inside of reductions, also return the range under the condition of the
    reduction.
    """
    values = [value for one in statements(program.body) for value in expressions(one)]
    found = [ranges.of(value) for value in values]
    for reduce in (one for value in values for one in f.walk(value) if isinstance(one, f.Reduce)):
        inside = ranges.within(reduce.cond)
        found += [ranges.term(reduce), *(inside.of(one) for one in f.walk(reduce.body))]
    return " ".join(str(one and (one.low, one.high)) for one in found)


def _traps(made: Trapping) -> str:
    return program_text(made.program) + canonical(made.sites)


def _or_refusal(made: Callable[[], str]) -> str:
    """Return a text, or the message of the error that refuses the program."""
    try:
        return made()
    except (ProgramError, BindError) as error:
        return str(error)


def canonical(value: Any) -> str:
    """Return a value as text. Sets and mappings are sorted, and attributes with their default value are left out.

    A new attribute with a default value therefore changes only the texts of values that set this attribute.
    """
    if dataclasses.is_dataclass(value):
        both = ((one, getattr(value, one.name)) for one in dataclasses.fields(value))
        parts = ((one.name, part) for one, part in both if not _default(one, part))
        return f"{type(value).__name__}({', '.join(f'{name}={canonical(part)}' for name, part in parts)})"
    if isinstance(value, Mapping):
        return "{" + ", ".join(sorted(f"{canonical(key)}: {canonical(part)}" for key, part in value.items())) + "}"
    if isinstance(value, (set, frozenset)):
        return "{" + ", ".join(sorted(map(canonical, value))) + "}"
    if isinstance(value, (tuple, list)):
        return "(" + ", ".join(map(canonical, value)) + ")"
    if isinstance(value, np.ndarray):
        return canonical(value.tolist())
    return value if isinstance(value, str) else repr(value)


def _default(attribute: dataclasses.Field[Any], value: object) -> bool:
    made = attribute.default_factory() if attribute.default_factory is not dataclasses.MISSING else attribute.default
    return type(made) is type(value) and not isinstance(value, np.ndarray) and made == value


def digest(text: str) -> str:
    """Return a short digest of a text."""
    return hashlib.sha256(text.encode()).hexdigest()[:8]
