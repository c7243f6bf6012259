"""Run mutants of library programs: `python -m tests.fuzz.mutants --count 4000 --seed 1`.

A mutant is a program of the standard library in which tokens, expressions, types or lines are replaced. Each mutant
runs on a random graph in the engine and in the interpreter. `tests/check/test_mutants.py` checks mutants and writes
their code, but does not run them.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from dataclasses import replace

import click

from tests.check.test_mutants import mutant
from tests.check.test_robust import answer
from tests.cpu.compare import assert_as_interpreted, engine_run, interpreted
from tests.fuzz.cases import CUTS
from tests.reference.cases import Case, case
from tests.reference.graphs import random_graph
from vlang import Program, compile, stdlib
from vlang.errors import ProgramError, RangeError, TrapError, VlangError

__all__ = ["judged", "mutated"]

_ROUNDS = 400  # supersteps after which a mutant counts as endless
# Parts of messages about inputs that the engine refuses and the interpreter rounds.
_STRICTER = ("takes integers only", "takes 0 and 1 only", "an array of whole numbers")
_ENDLESS = "ran out of rounds"
_EXPRESSION = re.compile(r"(?<== ).*$", re.MULTILINE)
_TYPE = re.compile(r": *(?:i64|float|int|f64|bool|vertex|u64)(?= *=)")
_TYPES = ("int", "float", "bool", "vertex", *(f"{letter}{bits}" for letter in "iu" for bits in (8, 16, 32, 64)),
          "f16", "f32", "f64")  # fmt: skip


def mutated(seed: int) -> tuple[str, str]:
    """Draw a program of the library and a mutant of its text; return the name of the program and the mutant."""
    rng = random.Random(seed)
    text = mutant(seed)
    for _ in range(rng.choice([0, 1, 1, 2])):
        types, values = list(_TYPE.finditer(text)), list(_EXPRESSION.finditer(text))
        if types and rng.random() < 0.5:
            place, new = rng.choice(types), rng.choice(["", f": {rng.choice(_TYPES)}"])
        elif values:
            place, new = rng.choice(values), rng.choice(values).group()
        else:
            continue
        text = text[: place.start()] + new + text[place.end() :]
    found = re.match(r"program (\w+)", text)
    return (found[1] if found else ""), text


def _case(name: str, text: str, seed: int) -> Case | None:
    """Return the inputs of the original program whose names also occur in the mutant."""
    made = case(name, random_graph(seed), seed % 3)
    return made and replace(made, params={key: value for key, value in made.params.items()
                                          if re.search(rf"\b{key}\b", text)})


def _of_nan(program: Program, given: Case) -> bool:
    """Return whether the run computes or compares a NaN. The language does not define `min` and `max` of a NaN."""
    try:
        engine_run(program, given, trap=True)
    except TrapError as error:
        return error.kind.startswith("nan") or "division" in error.kind
    except VlangError:
        return True
    return False


def judged(seed: int) -> str:
    """Return the outcome of a mutant as a short text. Raises AssertionError if engine and interpreter differ."""
    name, text = mutated(seed)
    given = None if name not in stdlib.names() or answer(text) else _case(name, text, seed)
    if given is None:
        return "refused by the checker"
    try:
        program = compile(text, precision=64 if seed % 5 == 0 else 32)
    except ProgramError:
        return "refused by the checker"  # with a precision of 64 bits, a `float` does not fit into f32
    try:
        want = interpreted(program, given, precision=program.precision, max_rounds=_ROUNDS)
    except (VlangError, OverflowError, FloatingPointError):
        want = None
    if want is not None and any(loop.rounds >= _ROUNDS for loop in want.loops):
        return _ENDLESS
    try:
        found = engine_run(program, given, **CUTS[seed % (len(CUTS) - 1)])
    except VlangError as error:
        if want is None or isinstance(error, RangeError) or any(why in str(error) for why in _STRICTER):
            return "refused by the run"
        raise
    assert want is not None, f"seed {seed}: the interpreter refuses this, and the engine does not:\n{text}"
    try:
        assert_as_interpreted(program, given, found, want, None, same_rounds=False)
    except AssertionError:
        if _of_nan(program, given):
            return "computes with NaN"
        raise
    return "same"


@click.command(help=__doc__)
@click.option("--count", default=4000, show_default=True)
@click.option("--seed", default=1, show_default=True)
def main(count: int, seed: int) -> None:
    ends: Counter[str] = Counter()
    for number in range(count):
        own = 1_000_000 * seed + number
        try:
            ends[judged(own)] += 1
        except Exception as error:
            ends["FAILED"] += 1
            click.echo(f"seed {own}: {type(error).__name__}: {str(error)[:2000]}")
    click.echo(", ".join(f"{number} {end}" for end, number in ends.most_common()))
    raise SystemExit(ends["FAILED"] > 0)


if __name__ == "__main__":
    main()
