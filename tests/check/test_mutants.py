"""For token-level mutants of programs, the compiler reports diagnostics or writes code, and raises no Python error.

The originals are the programs of the standard library and of the design.

VLANG_MUTANTS=N tries N mutants instead of 2,000.
"""

from __future__ import annotations

import os
import random
import traceback
from contextlib import suppress
from pathlib import Path

import pytest

from tests.check.test_robust import EXTRA, TOKEN, answer
from vlang import Program
from vlang.errors import ProgramError

ROOT = Path(__file__).parents[2]
PROGRAMS = sorted((*(ROOT / "stdlib").glob("*.vp"), *(ROOT / "tests/reference/design").glob("*.vp")))
COUNT = int(os.environ.get("VLANG_MUTANTS", "1000"))
SHARES = 10
EMITTED = 150  # correct mutants for which code is written, for both targets
ALIKE = tuple(tuple(kind.split()) for kind in (
    "min max sum prod mean", "any all", "self u", "+ - * /", "== !=", "< <= > >=", "int float i64 u8 f64", "-> --",
    "0 1 2 0.5 inf", "and or", "bitor bitand bitxor", "mode median mex hindex", "up down", "exp sqrt abs"))  # fmt: skip


def mutant(seed: int) -> str:
    """Return a program in which one to three tokens are left out, doubled or replaced.

    In every second program a replacement has the kind of the original token, so that the program may be correct.
    """
    rng = random.Random(seed)
    text = rng.choice(PROGRAMS).read_text(encoding="utf-8")
    text = text[text.index("program ") :]  # without the comments above it
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        tokens = list(TOKEN.finditer(text))
        kinds = [(token, kind) for token in tokens for kind in ALIKE if token.group() in kind]
        if seed % 2 and kinds:
            place, kind = rng.choice(kinds)
            new = rng.choice(kind)
        else:
            place, other = rng.choice(tokens), rng.choice(tokens).group()
            new = rng.choice(["", other, f"{place.group()} {other}", rng.choice(EXTRA)])
        text = text[: place.start()] + new + text[place.end() :]
    return text


def emitted(text: str) -> None:
    """Derive the facts of a correct program, and write its code for both targets. A target may refuse the program with
    a diagnostic.
    """
    program = Program(text, "demo.vp")
    assert program.explain("facts")
    for target in ("numba", "cuda"):
        with suppress(ProgramError):
            program.plan(frozenset(), target=target)


@pytest.mark.parametrize("share", range(SHARES))
def test_mutants(share: int) -> None:
    accepted = 0
    for seed in range(share, COUNT, SHARES):
        text = mutant(seed)
        try:
            right = not answer(text)
            accepted += right
            if right and accepted <= EMITTED // SHARES:
                emitted(text)
        except Exception:
            pytest.fail(f"mutant {seed}:\n{text}\n{traceback.format_exc()}", pytrace=False)
    assert accepted > 0
