"""Any text gives diagnostics of the language, and never an error of Python or of the parser."""

from __future__ import annotations

import random
import re
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from vlang.check import check, parse
from vlang.errors import ProgramError

ROOT = Path(__file__).parents[2]
PROGRAMS = sorted((*(ROOT / "tests/reference/design").glob("*.vp"), *(ROOT / "tests/mistakes").glob("*/*.vp"),
                   *(ROOT / "tests/drafts").glob("*/*.vp"), *(ROOT / "tests/newcomers").glob("*/*.vp")))
TOKEN = re.compile(r"[A-Za-z_]\w*|\d+\.?\d*|->|--|==|\+=|<=|>=|\*\*|\n *|[^\w\s]")
EXTRA = ["(", ")", "[", "]", ":", "self", "u", "for", "\n", "\n    ", "\n\t", "gather", "=", "é", "\\", "\0", "!",
         "1e999", "0x", ".5", "true", "none", "inf", "old", "change", "change(u.x)", "repeat:", "vertices", "N",
         "#", '"', "\r", "\x0c"]


def answer(text: str) -> str:
    """Return the messages of the compiler; the result is empty for a correct program."""
    try:
        check(parse(text, "demo.vp"))
    except ProgramError as error:
        report = str(error)
        assert re.match(r"(error|warning)\[V\d+\]: ", report)
        assert "Token(" not in report
        assert "Traceback" not in report
        return report
    return ""


@settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.integers(0, 2**32 - 1))
def test_mutants(seed: int) -> None:
    rng = random.Random(seed)
    text = rng.choice(PROGRAMS).read_bytes().decode("utf-8")
    tokens = list(TOKEN.finditer(text))
    pool = [m.group() for m in tokens] + EXTRA
    for _ in range(rng.randint(1, 3)):
        tokens = list(TOKEN.finditer(text)) or list(re.finditer("", "x"))
        place = rng.choice(tokens)
        new = rng.choice(["", rng.choice(pool), place.group() + " " + rng.choice(pool)])
        text = text[: place.start()] + new + text[place.end() :]
    print(f"seed {seed}")
    answer(text)


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=60))
def test_any_text(text: str) -> None:
    assert "V001" in answer(text) or text.lstrip().startswith(("program", "#"))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("program p\nlet x = " + "(" * 500 + "1" + ")" * 500 + "\n", ""),
        ("program p\nlet x = " + "+".join("1" * 500) + "\n", "nested more than 100 levels"),
        ("program p\nreduction f(a, b): float = a if b > y else b, identity 0\ngather y = f(1.0 for u\n", "closed"),
        ("program p\nlet x = " + "<".join("1" * 500) + "\n", "nested more than 100 levels"),
        ("program p\nlet x = " + "not " * 5000 + "true\n", "nested more than 100 levels"),
        ("program p\n" + "".join(f"{' ' * k}repeat:\n" for k in range(300)) + " " * 300 + "let x = 1\n", "nested more"),
        ("program p\n" + "let x = 1\n" * 200_000, "longer than 200,000 characters"),
        ("program p\nlet x = " + "9" * 10_000 + "\n", "does not fit in 64 bits"),
        ("program p\nlet x = 1e999\n", "too large for a float"),
        ("program p\nlet x = 1\0\n", "NUL"),
        ("program p\nlet x = \udcff\n", "not UTF-8"),
        ("program p\nlet x = (\n" * 50, "never closed"),
        ("program p\nlet x = )\n", "closes nothing"),
        ("\ufeffprogram p\r\nlet x = 1\r\n", ""),
        ("program p", ""),
        ("program p # the end", ""),
        ("program p\nlet x = 1 + \\\n    2\n", ""),
    ],
)
def test_extremes(text: str, says: str) -> None:
    report = answer(text)
    assert says in report
    assert bool(report) == bool(says)


def test_the_number_of_syntax_errors_is_bounded() -> None:
    report = answer("program p\n" + "let = 3\n" * 1000)
    assert 10 <= report.count("error[V001]") <= 25


def test_a_word_of_warning_needs_no_numpy() -> None:
    code = ("import sys; from vlang.check import check, parse, parse; "
            "check(parse('program p\\nvertex x: int = 0\\n', 'p')); "
            "print([m for m in ('numpy', 'numba', 'rich', 'cupy') if m in sys.modules])")
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
