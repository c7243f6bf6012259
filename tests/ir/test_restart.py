"""The loops that can be run once more from a result, and a check that one more superstep changes nothing."""

from __future__ import annotations

import numpy as np
import pytest

from tests.cpu.compare import engine_run
from tests.fuzz.cases import drawn, variants
from tests.reference.cases import Case
from vlang import Program, Result, compile
from vlang.api.partial_run import one_more_superstep
from vlang.ir.restart import restarts
from vlang.options import Options

SEED = 31
LOOP = """program p
vertex x: int = degree
vertex y: int = 0
{before}
repeat{head}:
    {first}
    gather least = min(u.x for u -> self)
    apply x = min(x, least)
{after}
"""


def found(before: str = "", head: str = "", first: str = "let one = 1", after: str = "") -> list[bool]:
    """Return, for each loop that can be run once more, whether the loop ends when nothing changes."""
    text = LOOP.format(before=before, head=head, first=first, after=after)
    return [loop.still for loop in restarts(compile(text).stages().facts)]


@pytest.mark.parametrize(("parts", "want"), [
    ({}, [True]),
    ({"head": " until sum(v.x for v in vertices) < 9"}, [False]),
    ({"head": " 5 times"}, []),
    ({"head": " at most 5 times"}, []),
    ({"first": "apply y = iteration"}, []),
    ({"first": "gather received = sum(change(u.x) for u -> self)"}, []),
    ({"first": "let top = max(v.y for v in vertices)"}, [True]),
    ({"before": "let top = max(v.x for v in vertices)"}, []),
    ({"before": "apply x = x + 1"}, []),
    ({"before": "apply y = y + 1"}, [True]),
    ({"after": "apply x = x + 1"}, []),
    ({"after": "apply y = x + 1"}, [True]),
])
def test_conditions(parts: dict[str, str], want: list[bool]) -> None:
    assert found(**parts) == want


def test_what_the_program_wants_of_its_input_need_not_hold_of_its_result() -> None:
    text = "program p\nvertex x: int\nrequire x >= 0\nrepeat:\n    gather least = min(u.x - 1 for u -> self)\n" \
           "    apply x = min(x, max(least, 0 - 9))\n"
    assert restarts(compile(text).stages().facts) == ()
    (loop,) = restarts(compile(text.replace("require x >= 0\n", "")).stages().facts)
    assert loop.fields == ("x",)


def test_a_loop_in_a_block_is_none() -> None:
    text = "program p\nvertex x: int = degree\nfor k from 1 to 2:\n    repeat:\n" \
           "        gather least = min(u.x for u -> self)\n        apply x = min(x, least)\n"
    assert restarts(compile(text).stages().facts) == ()


def changed(program: Program, result: Result) -> list[str]:
    """Run one more superstep of each loop that ends when nothing changes; return the changed fields and the number of
    loops that ran.
    """
    wrong = []
    for loop in restarts(program.stages().facts):
        if loop.still and set(loop.fields) <= set(result.fields):
            after = one_more_superstep(program, result, loop.number, loop.fields, Options(threads=1))
            for name in loop.fields:
                before = result.stored(name)
                same = np.array_equal(before, after.values.fields[name], equal_nan=before.dtype.kind == "f")
                wrong += [] if same else [name]
    return wrong


def test_random_programs_stay_where_they_end() -> None:
    looked = 0
    for made in drawn(SEED, 8):
        program = compile(made.text)
        if not any(loop.still for loop in restarts(program.stages().facts)):
            continue
        for case in variants(made, 2):
            result = engine_run(program, Case(case.graph, case.params, case.fields), max_rounds=200)
            if result.converged and len(result):
                assert changed(program, result) == [], (SEED, made.text)
                looked += 1
    assert looked, f"seed {SEED} draws no loop that ends when nothing changes"
