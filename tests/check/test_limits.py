"""If a program exceeds a limit of the compiler, a diagnostic at the line says so after a bounded amount of work."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType

import pytest

from vlang.check import check, parse
from vlang.check.sizes import MOST_COMPONENTS, MOST_OPERATIONS
from vlang.errors import ProgramError
from vlang.syntax.codes import Code
from vlang.syntax.problems import Problem
from vlang.syntax.program_file import MOST_CHARACTERS, MOST_GATHERS, MOST_LEVELS, MOST_LOOPS, MOST_STATEMENTS

PAGE = Path(__file__).parents[2] / "docs" / "diagnostics" / "V402.md"


def functions(body: str, count: int, upwards: bool = True) -> str:
    """Return a program of `count` functions. Each function calls the previous function at `{}` in `body`, and a field
    calls the last function.
    """
    lines = ["fn g0(x: float): float = x + 1\n",
             *(f"fn g{k}(x: float): float = {body.replace('{}', f'g{k - 1}')}\n" for k in range(1, count))]
    return "program p\n" + "".join(lines if upwards else reversed(lines)) + f"vertex y: float = g{count - 1}(degree)\n"


def problems(text: str) -> tuple[Problem, ...]:
    """Return the errors of a text."""
    try:
        check(parse(text, "p.vp"))
    except ProgramError as error:
        return tuple(p for p in error.problems if isinstance(p, Problem))
    return ()


def calls(do: Callable[[], object]) -> int:
    """Return how many functions of vlang are called while `do` runs."""
    count = 0

    def count_calls(frame: FrameType, event: str, arg: object) -> None:
        nonlocal count
        count += event == "call" and "vlang" in frame.f_code.co_filename

    sys.setprofile(count_calls)
    try:
        do()
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.parametrize(("text", "says"), [
    (functions("{}(x) + 1", 150), "100 levels"),
    (functions("{}(x) + 1", 150, upwards=False), "100 levels"),
    (functions("{}({}(x))", 10), "100 levels"),
    (functions("{}(x) * {}(x)", 20), "20,000 operations"),
    (functions("{}(x) * {}(x)", 45), "20,000 operations"),
    ("program p\nvertex x: float[2147483648]\n", "1,024 components"),
    ("program p\nvertex x: float[1025]\n", "1,024 components"),
    ("program p\nvertex x: float[2] = [" + ", ".join("1" * 1025) + "]\n", "1,024 components"),
    ("program p\n" + "".join(f"let a{k} = 1\n" for k in range(1001)), "1,000 statements"),
    ("program p\nrepeat 2 times:\n" + "    let a = 1\n" * 1000, "1,000 statements"),
    ("program p\n" + "repeat 1 times:\n    let a = 1\n" * 101, "100 loops"),
    ("program p\nvertex x: int = 1\nrepeat 2 times:\n" +
     "".join(f"    gather g{k} = max(u.x for u -> self)\n" for k in range(101)) + "    apply x = g0\n", "100 gathers"),
    ("program p\nlet = 1\n" + "let a = 1\n" * 1001, "1,000 statements"),
    ("program p\n" + "let a = 1\n" * 99_000, "200,000 characters"),
    ("program p\nlet a = " + "(" * 200_000 + "1" + ")" * 200_000 + "\n", "200,000 characters"),
    ("program p\nlet a = " + "[" * 20_000 + "1" + "]" * 20_000 + "\n", "100 levels"),
], ids=lambda value: value if len(value) < 40 else "text")
def test_a_limit_has_a_message_with_a_line(text: str, says: str) -> None:
    found: list[Problem] = []
    work = calls(lambda: found.extend(problems(text)))
    (large,) = (p for p in found if p.code is Code.TOO_LARGE)
    assert says in large.title
    assert 1 <= large.span.line <= text.count("\n")
    assert work < 100_000 + 30 * min(len(text), MOST_CHARACTERS), work


WITHIN = {
    "chain": functions("{}(x) + 1", 45), "backwards": functions("{}(x) + 1", 45, upwards=False),
    "of itself": functions("{}({}(x))", 6), "doubled": functions("{}(x) * {}(x)", 12),
    "vector": f"program p\nvertex x: float[{MOST_COMPONENTS}]\n",
    "statements": "program p\n" + "".join(f"let a{k} = 1\n" for k in range(MOST_STATEMENTS)),
}


@pytest.mark.parametrize("name", WITHIN)
def test_what_is_within_the_limits_is_accepted(name: str) -> None:
    assert problems(WITHIN[name]) == ()


def test_sizes_are_those_of_the_text_that_is_written_out() -> None:
    """The size of a text is its size after inlining: a sum of n names counts as 2 n - 1 operations, in one line or in
    nested functions.
    """
    plain = "program p\nvertex x: float = 1\nvertex y: float = 0\n" + "apply y = " + "x + " * 90 + "x\n"
    many = MOST_OPERATIONS // 181
    assert problems(plain + f"apply y = {'x + ' * 90}x\n" * (many - 1)) == ()
    (large,) = problems(plain + f"apply y = {'x + ' * 90}x\n" * many)
    assert large.code is Code.TOO_LARGE


def test_an_argument_counts_once_for_each_of_its_uses() -> None:
    text = "program p\nfn f(x: float): float = {}\nvertex x: float = 1\nvertex y: float = 0\n"
    line = f"apply y = f({'x + ' * 90}x)\n"
    many = MOST_OPERATIONS // 181
    for body, uses in (("x * x", 2), ("x * x - x", 3), ("f0(x) + f0(x)", 4)):
        whole = text.format(body).replace("fn f(", "fn f0(x: float): float = x * x\nfn f(")
        assert problems(whole + line * int(0.9 * many / uses)) == ()
        assert [p.code for p in problems(whole + line * int(1.1 * many / uses))] == [Code.TOO_LARGE]


def test_a_function_that_ignores_its_argument_does_not_count_it() -> None:
    text = "program p\nfn one(x: float): float = 1\n" + functions("{}(x) * {}(x)", 12).split("\n", 1)[1]
    assert problems(text.replace("g11(degree)", "one(g11(degree))")) == ()


def test_the_checker_does_not_recurse_too_deep() -> None:
    """The checker's recursion into later functions and their expressions has a limited depth."""
    body = "-" * 90 + "{}(x)"
    assert any(p.code is Code.TOO_LARGE for p in problems(functions(body, 90, upwards=False)))


def test_twenty_mistakes_are_shown_and_the_others_are_counted() -> None:
    with pytest.raises(ProgramError) as caught:
        check(parse("program p\n" + "".join(f"let a{k} = y\n" for k in range(25)), "p.vp"))
    assert len(caught.value.problems) == 25
    assert str(caught.value).count("error[V101]") == 20
    assert str(caught.value).endswith("\n\nand 5 more")


def test_the_page_names_the_limits() -> None:
    text = PAGE.read_text(encoding="utf-8")
    for limit in (MOST_CHARACTERS, MOST_STATEMENTS, MOST_LEVELS, MOST_OPERATIONS, MOST_COMPONENTS):
        assert f"| {limit:,} |" in text
    assert f"| loops of a program | {MOST_LOOPS} |" in text
    assert f"| gathers of a program | {MOST_GATHERS} |" in text
