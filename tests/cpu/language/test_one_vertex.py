"""Both targets are compared with the interpreter for values of one vertex, `q.f`, and for tuples of graph-level values.
"""

from __future__ import annotations

import pytest

from tests.cpu.both import assert_both
from tests.reference.cases import Case
from tests.reference.graphs import family, to_graph
from tests.sample import sampled
from vlang import TrapError, compile
from vlang.syntax.layout.format import format_text

DOUBLE_SWEEP = """program double_sweep(s: vertex, target: vertex = none)
vertex depth: int = 0 if self == s else inf
vertex x: float = degree + 0.5
let begin = s.x
repeat until target.depth < inf:
    gather near = min(u.depth + 1 for u -- self)
    apply  depth = min(depth, near)
let (far, last) = max((v.depth, v) for v in vertices if v.depth < inf)
let pair = max((v.x, v) for v in vertices)
vertex back: int = 0 if self == last else inf
repeat:
    gather near = min(u.back + 1 for u -- self)
    apply  back = min(back, near)
    activate when back < old(back)
vertex above: int = count(u.x > s.x for u -- self)
global d: int = last.back
global e = far
global l: vertex = last
global p: float = pair[0]
global c = count(v.depth < last.depth for v in vertices) + begin
"""

MOVING = """program moving(s: vertex, other: vertex = none)
vertex x: float = degree + 0.5
vertex low: int = self == s and 1 or 2
vertex pair: float[2] = [degree, 1.0]
vertex y: float = 0
repeat 3 times:
    gather more = sum(u.x + other.x for u -> self if u.degree < other.degree + s.outdegree)
    let (a, b) = (s.x, other)
    apply x = (min(more, 50) + a + b.x) / (1 + x)
    gather again = max(u.x - s.x for u -> self, default = -s.x)
    apply y = again + other.pair[0]
    where x > other.x:
        apply x = other.x
repeat until max(v.x - other.x for v in vertices) < 2 + other.x:
    apply x = x / 2
    activate when x > 1
for k from 1 to s.degree until other.y < -1e6:
    apply y += s.x
global top: float = s.y
""".replace("self == s and 1 or 2", "1 if self == s else 2")


@pytest.mark.parametrize("target", [None, 5])
@pytest.mark.parametrize("shape", sampled(["messy", "path"], ["messy"]))
def test_a_search_there_and_back(shape: str, target: int | None) -> None:
    given = {} if target is None else {"target": target}
    assert_both(DOUBLE_SWEEP, Case(family(shape), {"s": 2, **given}), ways=1)


@pytest.mark.parametrize("other", [None, 4])
def test_values_that_the_loop_changes(other: int | None) -> None:
    """Each read of a field gives the value that the field had before the statement began. A read at `none` gives 0."""
    given = {} if other is None else {"other": other}
    assert_both(MOVING, Case(family("messy"), {"s": 2, **given}), inexact=frozenset({"x", "y", "top"}), ways=1)


def test_reasons() -> None:
    facts = compile(MOVING).explain("facts")
    assert "reads `other.x`" in facts  # a `let` of the loop, by its name in the text
    text = format_text(DOUBLE_SWEEP)
    assert "let (far, last) = max((v.depth, v) for v in vertices if v.depth < inf)" in text
    assert format_text(text) == text


STEADY = """program steady(s: vertex, other: vertex = none)
vertex x: int = degree
vertex d: int = 0 if self == s else inf
repeat:
    gather near = min(u.d + 1 + other.x for u -> self if u.d < s.x * 3)
    apply  d = min(d, near)
for v in vertices:
    where self == v:
        apply x = v.x + other.x
    vertex e: int = 0 if self == v else inf
    repeat 2 times:
        gather near = min(u.e + v.x + other.d for u -> self)
        apply  e = min(e, near)
    apply x += e % 3
"""


def test_values_that_the_loop_does_not_change() -> None:
    """Values that the loop does not change are read before the loop, even before an outer loop. The rules for the loop
    therefore remain granted.
    """
    assert_both(STEADY, Case(family("path"), {"s": 2, "other": 4}), ways=1)
    loop, _ = compile(STEADY).lower(None).facts.loops.values()
    assert loop.order.granted
    assert loop.push.granted
    assert loop.notify_pull.granted
    text = compile(STEADY).explain("facts")
    assert "`other.x` is read once, before the loop" in text
    changed = compile(STEADY.replace("    apply  d = min", "    apply  x = x\n    apply  d = min"))
    facts = next(iter(changed.lower(None).facts.loops.values()))
    assert not facts.push.granted
    assert "`other.x` is read anew in every superstep" in changed.explain("facts")


def test_trap_mode_reports_the_value_of_none() -> None:
    program = compile("program p(q: vertex = none)\nvertex x: int = 1\nlet a = q.x\nvertex y: int = a\n")
    assert program(to_graph(family("path")), q=3, trap=True).y[0] == 1
    with pytest.raises(TrapError, match="none"):
        program(to_graph(family("path")), trap=True)
