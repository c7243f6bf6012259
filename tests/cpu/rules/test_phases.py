"""In loops of several passes, rule N is decided for each phase, and results do not change."""

from __future__ import annotations

import pytest

from tests.cpu.compare import assert_as_interpreted, assert_cut_free, interpreted
from tests.reference.cases import Case
from tests.reference.graphs import all_families
from tests.sample import sampled
from vlang import compile

TWO_PHASES = """program two
vertex a: int = degree
vertex b: int = 0
repeat{limit}:
    gather x = max(u.a for u -> self)
    apply  b = max(b, x)
    gather y = max(u.b for self -> u)
    apply  a = max(a, y)
"""

# The lexicographically first maximal independent set, by degree: `free` and `beaten` read what the other phase writes.
INDEPENDENT = """program independent
vertex strength: int = degree
vertex chosen:   bool = false
vertex excluded: bool = false
repeat:
    gather free     = all(u.excluded for u -- self if (u.strength, u) < (strength, self))
    apply  chosen   = chosen or free
    gather beaten   = any(u.chosen for u -- self if (u.strength, u) < (strength, self))
    apply  excluded = excluded or beaten
"""

# The second pass reads an accumulator of the first one, under a mask that depends on the accumulator.
MASKED = """program masked
vertex color: int = -1
vertex seen:  int = 0
repeat at most 20 times:
    gather ready = all(u.color >= 0 for u -- self if u < self)
    where color < 0 and ready:
        gather top   = max(u.color for u -- self, default = -1)
        apply  color = top + 1
    apply  seen = color
    activate when changed(color) or changed(seen)
"""

# One field, written by two passes of a superstep.
TWICE = """program twice
vertex a: i64 = outdegree
repeat 4 times:
    gather x = sum(u.a for u -> self)
    apply  a = x % 7
    gather y = max(u.a for self -> u, default = 0)
    apply  a = a + y
"""

PROGRAMS = {
    "fixpoint": TWO_PHASES.format(limit=""), "counted": TWO_PHASES.format(limit=" 3 times"),
    "independent": INDEPENDENT, "masked": MASKED, "twice": TWICE,
}  # fmt: skip


@pytest.mark.parametrize("name", sampled(PROGRAMS, ["fixpoint", "independent", "masked"]))
def test_phases(name: str) -> None:
    program = compile(PROGRAMS[name])
    for _, graph in all_families():
        case = Case(graph)
        result = assert_cut_free(program, case)
        assert_as_interpreted(program, case, result, interpreted(program, case))


def test_every_pass_skips() -> None:
    program = compile(PROGRAMS["fixpoint"])
    from vlang import Graph

    result = program(Graph.read("grid:30x30"), research={"mode": "notify-pull"})
    modes = [row.mode for row in result.history]
    assert modes[0] == "pull"
    assert set(modes[1:]) == {"notify-pull"}
