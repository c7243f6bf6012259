"""Kinds of loops, default activation and phases, and rule N, which is granted and refused on small programs."""

from __future__ import annotations

import pytest

from tests.ir.helpers import loop_of

LOOP = """program p(tol = 0.5)
vertex x: int = 1
vertex y: int = 1
{head}:
    gather a = max(u.x for u -> self)
    apply  x = {apply}
{more}
"""
LET = "    let z = max(v.x for v in vertices)\n"


def loop(head: str = "repeat", apply: str = "max(x, a)", more: str = "") -> str:
    return LOOP.format(head=head, apply=apply, more=more and f"    {more}")


# ---------------------------------------------------------------- kind, activation


@pytest.mark.parametrize(("text", "kind", "default"), [
    (loop(), "fixpoint", True),
    (loop(more="activate when changed(x)"), "fixpoint", True),
    (loop(more="activate when x != old(x)"), "fixpoint", True),
    (loop(more="activate when x > old(x)"), "fixpoint", True),
    (loop(more="activate when old(x) < x"), "fixpoint", True),
    (loop(more="activate when x > old(x) or changed(y)"), "fixpoint", True),
    (loop(more="activate when changed(y)"), "tolerance", False),
    (loop(more="activate when x < old(x)"), "tolerance", False),
    (loop(apply="a", more="activate when x > old(x)"), "tolerance", False),
    (loop(more="activate when x > old(x) + 1"), "tolerance", False),
    (loop(more="activate when x > old(x) and x > 3"), "tolerance", False),
    (loop(more="activate when abs(change(x)) > 2"), "tolerance", False),
    (loop("repeat 3 times"), "counted", True),
    (loop("repeat at most 3 times"), "counted", True),
    (loop("repeat until all(v.x > 3 for v in vertices)"), "tolerance", True),
    (loop("repeat at most 3 times until all(v.x > 3 for v in vertices)"), "tolerance", True),
])
def test_kind_and_activation(text: str, kind: str, default: bool) -> None:
    facts = loop_of(text)
    assert (facts.kind, facts.default_activation) == (kind, default), facts.default_reason


@pytest.mark.parametrize(("apply", "default"), [
    ("y = max(y, x)", False),  # only x is read outside of a normal form
    ("y = max(y, 3)", True),
])
def test_own_reads_must_be_covered(apply: str, default: bool) -> None:
    text = f"""vertex x, y, z: int = 1
repeat:
    gather a = max(u.z for u -> self)
    apply  z = max(z, a)
    apply  x = max(x, a)
    apply  {apply}
    activate when changed(z)
"""
    assert loop_of(text).default_activation == default


def test_the_companion_of_a_minimum_need_not_be_covered() -> None:
    text = """vertex d: int = 1
vertex p: vertex = none
repeat:
    gather best = min((u.d + 1, u) for u -> self)
    apply  (d, p) = min((d, p), best)
    activate when {}
"""
    assert loop_of(text.format("d < old(d)")).default_activation
    assert not loop_of(text.format("p < old(p)")).default_activation  # it may increase when d decreases


# ----------------------------------------------------------------------- phases


def test_phases_are_cut_where_neighbours_would_see_this_superstep() -> None:
    text = """vertex x, y, z: int = 1
repeat 3 times:
    gather a = max(u.x for u -> self)
    gather b = max(u.y for self -> u)
    apply  x = max(x, a)
    gather c = max(u.z for u -> self)
    apply  y = b + c
    where y > 3:
        gather e = max(u.x for u -- self)
        apply  z = e
    apply  x = x + 1
"""
    first, second = loop_of(text).phases
    assert (first.domains, first.neighbour, first.writes) == (("in", "out"), {"x", "y", "z"}, {"x", "y"})
    assert (second.domains, second.neighbour, second.writes) == (("both",), {"x"}, {"x", "z"})
    assert (first.gathered, first.used, second.gathered) == ({"a", "b", "c"}, {"a", "b", "c"}, {"e"})
    assert [len(phase.statements) for phase in (first, second)] == [5, 2]


def test_a_where_that_gathers_its_own_writes_is_more_than_one_pass() -> None:
    text = """vertex x, y: int = 1
repeat 3 times:
    where x > 3:
        apply  y = x
        gather a = max(u.y for u -> self)
        apply  x = a
"""
    facts = loop_of(text)
    assert [phase.late is not None for phase in facts.phases] == [True]
    assert (facts.notify_pull.letter, facts.fuses[0].granted) == ("p", False)


def test_reads_iteration() -> None:
    assert loop_of(loop("repeat 3 times", "max(x, iteration)")).reads_iteration
    assert loop_of(loop("repeat until iteration > 3")).reads_iteration
    assert not loop_of(loop("repeat 3 times")).reads_iteration


# ----------------------------------------------------------------------- rule N


@pytest.mark.parametrize(("text", "marks", "own"), [
    (loop(), (), set()),
    (loop("repeat 3 times", "a"), (), set()),
    (loop("repeat 3 times", "a + x"), ("+self",), {"x"}),
    (loop("repeat 3 times", "max(x, a + x)"), ("+self",), {"x"}),
    (loop("repeat 3 times", "max(x, a + y)"), (), set()),
    (loop("repeat 3 times", "a if changed(x) else 3"), ("+self",), {"x"}),
    (loop(more="activate when x > old(x) + 1"), ("tol",), set()),
    (loop("repeat 3 times", "a + x", "activate when x > old(x) + 1"), ("+self",), {"x"}),
    (loop(more="activate when x - old(x) > 2 or x > 7 and changed(x)"), ("tol",), set()),
    (loop(more="activate when x >= old(x) and old(x) != x"), ("tol",), set()),
    (loop("repeat until all(v.x > 3 for v in vertices)", "a"), (), set()),
    (loop("repeat 3 times").replace("max(u.x for", "max(u.x + x for"), ("+self",), {"x"}),
    (loop("repeat 3 times").replace("-> self)", "-> self, default = x)"), ("+self",), {"x"}),
])
def test_skip_granted(text: str, marks: tuple[str, ...], own: set[str]) -> None:
    facts = loop_of(text)
    assert facts.skip, facts.skip_reason
    assert (facts.notify_pull.marks, facts.own_notify, facts.notifying) == (marks, own, {"x"})


@pytest.mark.parametrize(("text", "letter"), [
    (loop("repeat 3 times", "max(x, iteration)"), "v"),
    (loop("repeat 3 times", "max(x, z)").replace("    gather", f"{LET}    gather"), "v"),
    (loop("repeat 3 times").replace("u.x for", "old(u.x) for"), "v"),
    (loop("repeat 3 times").replace("u.x for", "change(u.x) for"), "v"),
    (loop("repeat 3 times", "max(x, p.x)").replace("vertex y: int = 1", "vertex p: vertex = self"), "f"),
    (loop(more="activate when x > a"), "p"),
    (loop(more="activate when changed(x) or iteration < 3"), "v"),
    (loop(more="activate when old(x) == x"), "v"),
    (loop(more="activate when not changed(x)"), "v"),
    (loop(more="activate when x >= old(x)"), "v"),
    (loop(more="activate when x > old(x) - 1"), "v"),
    (loop(more="activate when x > 3 or x <= old(x)"), "v"),
    ("vertex x, y: int = 1\nrepeat 3 times:\n    gather a = max(u.x for u -> self)\n    apply x = a\n"
     "    gather b = max(u.x for u -> self)\n    apply y = a + b\n", "p"),
    ("vertex x: int = 1\nrepeat 3 times:\n    vertex t: int = 0\n    gather a = max(u.t for u -> self)\n"
     "    apply t = a\n    apply x = t\n", "l"),
])
def test_skip_refused(text: str, letter: str) -> None:
    verdict = loop_of(text).notify_pull
    assert (verdict.granted, verdict.letter) == (False, letter), verdict.reason


def test_a_let_that_no_vertex_reads_does_not_matter() -> None:
    lets = "    let top = max(v.x for v in vertices)\n    let half = top // 2\n"
    text = loop("repeat 3 times").replace("    gather", f"{lets}    gather")
    assert loop_of(text).skip


def test_each_phase_has_its_own_receivers() -> None:
    text = """vertex x, y: int = 1
repeat 3 times:
    gather a = max(u.x for u -> self)
    apply  y = a + x
    gather b = max(u.y for self -> u)
    apply  x = b
"""
    first, second = loop_of(text).skips
    assert (first.notifying, first.own, first.along) == ({"x"}, {"x"}, ("out",))
    assert (second.notifying, second.own, second.along) == ({"y"}, set(), ("in",))


def test_a_join_is_covered_only_if_nothing_else_moves_its_field() -> None:
    """If a later phase may undo a joined write of phase 1, changes of the field require that phase 1 runs again."""
    text = """vertex x, y: int = 1
repeat 3 times:
    gather a = max(u.x for u -> self)
    apply  y = max(y, a)
    gather b = max(u.y for self -> u)
    apply  y = {}
"""
    assert loop_of(text.format("b")).own_notify == {"y"}
    assert loop_of(text.format("min(y, b)")).own_notify == {"y"}
    assert loop_of(text.format("max(y, b)")).own_notify == set()
