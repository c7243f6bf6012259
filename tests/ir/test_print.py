"""The printed form of IR and facts is as expected."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.ir.helpers import ir, only
from vlang.ir.facts import analyse
from vlang.ir.forms.text import expression
from vlang.ir.print import WIDTH, facts_text, program_text

SSSP = """program sssp(source: vertex)

edge   weight: float = 1
vertex dist:   float = 0 if self == source else inf

require weight >= 0

repeat:
    gather   near = min(u.dist + weight for u -> self)
    apply    dist = min(dist, near)
    activate when dist < old(dist)
"""


def test_program_text() -> None:
    assert program_text(ir(SSSP)) == """program sssp(source: vertex)

edge weight: f32 = 1
vertex dist: f32    # output
require weight >= 0

start dist = 0 if self == source else inf

repeat:
    gather near: f32 = min(u.dist + weight for u -> self)
    apply dist = min(dist, near)
    activate when dist < old(dist)
"""


def test_facts_text() -> None:
    assert facts_text(analyse(ir(SSSP))) == """\
sssp: what may be done with each loop, and why

Loop 1, line 8: repeat
  kind             fixpoint: ends when a superstep changes nothing
  activation       default: `activate when` is equivalent to the default

  Phase 1 of 1: over in-edges; reads u.dist; writes dist
      gather near: f32 = min(u.dist + weight for u -> self)
      apply dist = min(dist, near)
      activate when dist < old(dist)

  The four functions
    gather near      u.dist + weight, from in-edges
    sum near         min
    apply dist       min(dist, near)
    activate         dist < old(dist)

  How fields are written
    dist             normal form min(x, e) with e = near; only moves down; joined gather `near`: contributions
                     may be joined one by one

  What may be done
    A any order      yes: A: `dist` only moves down, and joined values move the same way or not at all: every
                     order ends in the same least fixpoint, bit for bit
    P push           yes: the contribution of an inactive neighbour has been joined before, and joining it
                     again changes nothing
    N skip           yes: a vertex may be left out where `dist` of no neighbour changed
    X early exit     no: no absorbing value; not the shape of a breadth-first search: the gather is not
                     `min(u.dist + c)` with a literal c >= 0 and no `if`
    I incremental    yes (insert): I1: with more edges every joined value moves the way of its field, so the
                     old fixpoint lies on the way to the new one; start with the ends of the new edges active
    O priority       yes (final): contributions never beat the value that they come from, so values before the
                     current bucket are final: delta-stepping pays, and a single target may stop early
    D derive delta   no: a fixpoint loop: the derived form stops on a tolerance
    S assign once    no: no `where x == E and ready` with one strict order of the neighbours
    K copied values  no: a contribution is not `u.dist` as it is
    F fuse           phase 1: yes: rule A holds: a neighbour's value may be old or new
    B one buffer     dist: yes: rule A: a neighbour's value may be old or new

  Gathers
    near, over in-edges
      R replicate      yes: `min` gives the same bits in any order
      Z skip identity  yes: a neighbour where `dist` is inf contributes nothing
      message          none: neighbours' fields are read as they are
"""


def test_facts_fit_the_width_and_explain_their_letters() -> None:
    text = facts_text(analyse(ir(SSSP.replace("repeat:", "repeat 3 times:"))))
    assert max(map(len, text.splitlines())) <= WIDTH
    assert "Letters          c: counted" in text


def test_the_four_functions_with_conditions_defaults_and_default_activation() -> None:
    text = facts_text(analyse(ir("vertex x: float = 1\nvertex y: float = 2\nrepeat 3 times:\n"
                                 "    gather a = mean(u.x for u -- self if u.y > y, default = x)\n"
                                 "    where x > 0:\n        apply (x, y) = (a, x)\n")))  # fmt: skip
    assert """
  The four functions
    gather a         f64(u.x), from edges both ways, if u.y > y
    sum a            mean; x where there are none
    apply x, y       (a, x)
    activate         one of x and y differs from its value at the start of the superstep
""" in text


def test_a_program_without_loops() -> None:
    program = ir("vertex x: float = 1\nvertex y: float = sum(u.x for u -> self)\n")
    assert facts_text(analyse(program)) == """\
p: what may be done with each loop, and why

There is no loop: each statement runs once.

Before and between the loops
    y, over in-edges
      R replicate      yes (rounding): `sum` of floats: any order gives the same value up to rounding; a fixed
                       order where the schedule is deterministic
      Z skip identity  yes: a neighbour where `x` is 0 contributes nothing
      message          none: neighbours' fields are read as they are
"""


@pytest.mark.parametrize("text", [
    "a - (b - a)", "a - b - a", "-(a + b) * a", "(a + b) * (a - b)", "a ** b ** a", "(a ** b) ** a", "-a ** b",
    "(-a) ** b", "a if b > 0 else b if a > 0 else -1", "(a if b > 0 else b) + 1", "a / (b / a)", "a / b * a",
    "min(a, b) - max(a, 2)", "a * -1.5", "1e-07 + a",
])
def test_expressions_keep_their_parentheses(text: str) -> None:
    assert expression(only(f"vertex a, b: float = 1\nvertex x: float = {text}\n", "x")) == text


@pytest.mark.parametrize("text", [
    "not (a and b)", "not a and b", "(a or b) and a", "a or b and a", "not a == b", "(not a) == b",
])
def test_conditions_keep_their_parentheses(text: str) -> None:
    assert expression(only(f"vertex a, b: bool = true\nvertex x: bool = {text}\n", "x")) == text


def test_analysis_loads_neither_numpy_nor_numba() -> None:
    code = "import sys, vlang.ir.print, vlang.ir.lower\nprint({'numpy', 'numba', 'llvmlite'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


def test_reductions_over_common_neighbours() -> None:
    text = ("program p\nvertex x: int = 1\ngather a = sum(sum(x for w in common(self, u) if w.x > 0) for u -> self)\n"
            "apply x = a\n")
    assert "= sum(sum(x for w in common(self, u) if w.x > 0) for u -> self)\n" in program_text(ir(text))
