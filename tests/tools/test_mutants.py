"""On damaged programs, the formatter and editor functions give a result or diagnostics, never a Python exception."""

from __future__ import annotations

import random
from contextlib import suppress

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.check.test_robust import EXTRA, PROGRAMS, TOKEN
from vlang.editor.service import completions, fix, hover, problems_in
from vlang.errors import ProgramError
from vlang.syntax.layout.format import format_text


def mutant(chance: random.Random) -> str:
    """Return a program with one to three tokens left out, added or replaced."""
    text = chance.choice(PROGRAMS).read_bytes().decode("utf-8")
    for _ in range(chance.randint(1, 3)):
        tokens = list(TOKEN.finditer(text))
        if tokens:
            place = chance.choice(tokens)
            other = chance.choice([*EXTRA, chance.choice(tokens).group(), " # c\n", "\\\n"])
            new = chance.choice(["", other, f"{place.group()} {other}"])
            text = text[: place.start()] + new + text[place.end() :]
    return text


@settings(max_examples=150, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_mutants(seed: int) -> None:
    print(f"seed {seed}")
    chance = random.Random(seed)
    text = mutant(chance)
    with suppress(ProgramError):
        once = format_text(text)
        assert format_text(once) == once
    offset = chance.randint(0, len(text))
    hover(text, offset)
    completions(text, offset)
    for problem in problems_in(text):
        fix(text, problem)


def test_a_line_of_a_lone_backslash_stays() -> None:
    text = ("program p\n\nvertex x: int = 0\n \\\nrepeat:\n    gather g = min(u.x for u -> self)\n"
            "    apply x = min(x, g)\n")  # fmt: skip
    assert format_text(text) == text
