"""Rules X, Z, I, D, R, F and B, and hoisted messages, are granted and refused on small programs."""

from __future__ import annotations

import pytest

from tests.ir.helpers import facts_of, gathers, ir, loop_of
from vlang.ir.facts import analyse
from vlang.ir.forms.text import expression

BFS = """program p(source: vertex)
{before}
vertex x: int = {start}
{middle}
repeat{head}:
    gather a = {gather}
    apply  x = {apply}
"""
GOOD = {"before": "", "start": "0 if self == source else inf", "middle": "", "head": "",
        "gather": "min(u.x + 1 for u -> self)", "apply": "min(x, a)"}


@pytest.mark.parametrize(("change", "granted"), [
    ({}, True), ({"gather": "min(2 + u.x for u -- self)"}, True), ({"gather": "min(u.x for u -> self)"}, True),
    ({"start": "7"}, True), ({"start": "-inf if self == source else inf"}, True),
    ({"gather": "max(u.x - 1 for u -> self)", "apply": "max(x, a)", "start": "9 if self == source else -inf"}, True),
    ({"gather": "max(u.x - 1 for u -> self)", "apply": "max(x, a)"}, False),  # finite values come later
    ({"gather": "min(u.x - 1 for u -> self)"}, False), ({"gather": "min(u.x + 1 for u -> self if u.x > 3)"}, False),
    ({"gather": "min(u.x + w for u -> self)", "before": "edge w: int = 1"}, False),
    ({"start": "0 if self == source else 1 if degree > 3 else inf"}, False), ({"start": "outdegree"}, False),
    ({"head": " 3 times"}, False), ({"head": " until all(v.x < 9 for v in vertices)"}, False),
    ({"middle": "where self == source:\n    apply x = x - 3\n"}, False),
])
def test_uniform_frontier(change: dict[str, str], granted: bool) -> None:
    verdict = loop_of(BFS.format(**(GOOD | change))).early_exit.frontier
    assert verdict.granted == granted, verdict.reason


def test_uniform_frontier_needs_a_fresh_start_at_every_entry() -> None:
    text = """program p(sources: vertices)
{outside}
for s in sources:
    {inside}
    repeat:
        gather a = min(u.x + 1 for u -> self)
        apply  x = min(x, a)
"""
    field = "vertex x: int = 0 if {} else inf"
    assert loop_of(text.format(outside="", inside=field.format("self == s"))).early_exit.frontier.granted
    stale = text.format(outside=field.format("degree == 3"), inside="apply y = 0").replace(
        "for s in", "vertex y: int = 0\nfor s in")
    assert not loop_of(stale).early_exit.frontier.granted


def test_absorbing_values() -> None:
    text = """vertex x, y: bool = false
repeat:
    gather a = {gather}
    apply  x = {apply}
    apply  y = y or {more}
"""
    plain = loop_of(text.format(gather="any(u.x for u -> self)", apply="x or a", more="false")).early_exit
    assert (plain.gathers, dict(plain.done)) == (("a",), {"x": True})
    shared = loop_of(text.format(gather="count(u.x for u -> self)", apply="x or a > 3", more="a > 5")).early_exit
    assert (shared.gathers, dict(shared.done)) == ((), {})
    reset = loop_of(text.format(gather="any(u.x for u -> self)", apply="x != a", more="false")).early_exit
    assert dict(reset.done) == {}


# ------------------------------------------------------------------------ rule Z


@pytest.mark.parametrize(("gather", "strict"), [
    ("min(u.i + 1 for u -> self)", True), ("min(u.f + w for u -> self)", True), ("min(u.f - w for u -> self)", False),
    ("min(u.f + e for u -> self)", False), ("min(u.i + c for u -> self)", True), ("max(u.f - w for u -> self)", True),
    ("min(min(c, u.i) for u -> self)", False), ("min(min(u.i, c) for u -> self)", False),
    ("min(min(u.i + 1, u.i) for u -> self)", True),
    ("max(min(u.f, w) for u -> self)", True), ("max(max(u.f, w) for u -> self)", False),
    ("min((u.f + w, u) for u -> self)", True), ("min(u.n for u -> self)", False),
    ("any(u.b and u.f > 3 for u -> self)", True), ("any(u.b or u.f > 3 for u -> self)", False),
    ("all(u.b or w > 3 for u -> self)", True), ("all(u.b for u -> self)", True), ("count(u.b for u -> self)", True),
    ("sum(u.f for u -> self if u.b)", True), ("sum(u.f / u.outdegree for u -> self)", True),
    ("sum(u.f / u.outdegree for self -> u)", False), ("sum(u.f * w for u -> self)", False),
    ("sum(u.f + 1 for u -> self)", False), ("max(u.f for u -> self, default = 0)", False),
])
def test_strict(gather: str, strict: bool) -> None:
    text = f"""edge w: float = 1
edge e: float = 1
edge c: int = 1
require w >= 0
vertex i: int = 1
vertex n: u32 = 1
vertex f: float = 1
vertex b: bool = true
repeat 2 times:
    gather a = {gather}
"""
    (found,) = loop_of(text).gathers
    assert found.strict.granted == strict, found.strict.reason


# ------------------------------------------------------------------------ rule I

FIXPOINT = """vertex k: int = {k}
vertex x: {type} = {start}
repeat:
    gather a = {gather}
    apply  x = {apply}
"""


@pytest.mark.parametrize(("gather", "apply", "start", "type_", "k", "marks"), [
    ("max(u.x for u -> self)", "max(x, a)", "1", "int", "1", ("insert",)),
    ("max(u.x + u.k for u -> self)", "max(x, a)", "1", "int", "1", ("insert",)),
    ("max(u.x + u.k for u -> self)", "max(x, a)", "1", "int", "degree", ()),
    ("max(u.x + outdegree for u -> self)", "max(x, a)", "1", "int", "1", ("insert",)),
    ("max(u.x - outdegree for u -> self)", "max(x, a)", "1", "int", "1", ()),
    ("max(u.x for u -> self)", "max(x, a)", "degree", "int", "1", ()),
    ("hindex(u.x for u -- self)", "min(x, a)", "degree", "int", "1", ("delete",)),
    ("hindex(u.x for u -> self)", "min(x, a)", "degree", "int", "1", ()),
    ("hindex(u.x for u -- self)", "min(x, a)", "9", "int", "1", ("delete",)),
    ("count(u.x for u -> self)", "x and a >= 3", "true", "bool", "1", ("delete",)),
    ("count(not u.x for u -> self)", "x and a <= 3", "true", "bool", "1", ("insert",)),
    ("all(u.x for u -> self)", "x and a", "true", "bool", "1", ("insert",)),
    ("min(u.x for u -> self)", "max(x, a)", "1", "int", "1", ("delete",)),
    ("max(u.x for u -> self)", "a", "1", "int", "1", ()),
])
def test_incremental(gather: str, apply: str, start: str, type_: str, k: str, marks: tuple[str, ...]) -> None:
    found = loop_of(FIXPOINT.format(gather=gather, apply=apply, start=start, type=type_, k=k)).incremental
    assert (found.granted, found.marks) == (bool(marks), marks), found.reason


# ------------------------------------------------------------------------ rule D

KATZ = """program p(alpha = 0.05)
edge w: float = 1
vertex b: float = 1
vertex x: float = 0
repeat until max(abs(change(v.x)) for v in vertices) < 1e-6:
    gather a = {gather}
    apply  x = {apply}
"""


@pytest.mark.parametrize(("gather", "apply", "granted"), [
    ("sum(u.x for u -> self)", "alpha * a + b", True), ("sum(w * u.x / u.b for u -> self if w > 0)", "b - a / 2", True),
    ("sum(u.x for u -> self)", "alpha * a + x", False), ("sum(u.x + 1 for u -> self)", "a", False),
    ("sum(u.x * u.x for u -> self)", "a", False), ("sum(u.x for u -> self)", "a * a", False),
    ("max(u.x for u -> self)", "a", False), ("sum(u.x * x for u -> self)", "a", False),
    ("sum(u.x for u -> self)", "a * iteration", False), ("sum(u.x for u -> self if u.x > 0)", "a", False),
])
def test_derived_delta_form(gather: str, apply: str, granted: bool) -> None:
    found = loop_of(KATZ.format(gather=gather, apply=apply)).derive
    assert found.granted == granted, found.reason


# ------------------------------------------------------------------ rules R, F and B


@pytest.mark.parametrize(("gather", "granted", "marks"), [
    ("sum(u.x for u -> self)", True, ("rounding",)), ("sum(u.k for u -> self)", True, ()),
    ("mean(u.x for u -> self, default = 0)", True, ("rounding",)), ("min(u.x for u -> self)", True, ()),
    ("mode(u.k for u -> self, default = 0)", False, ()), ("hindex(u.k for u -> self)", False, ()),
    ("both(u.x for u -> self)", True, ()),
])
def test_replicate(gather: str, granted: bool, marks: tuple[str, ...]) -> None:
    text = "reduction both(a, b): float = a + b, identity 0\nvertex x: float = 1\nvertex k: int = 1\n" \
           f"repeat 2 times:\n    gather g = {gather}\n    apply x = x + 1\n"
    (found,) = loop_of(text).gathers
    assert (found.replicate.granted, found.replicate.marks) == (granted, marks)


def test_one_buffer_and_fusion() -> None:
    text = "vertex x, y: int = 1\nrepeat{}:\n    gather a = max(u.x for u -> self)\n    apply x = {}\n    apply y = a\n"
    free = loop_of(text.format("", "max(x, a)").replace("    apply y = a\n", ""))
    assert (free.buffers["x"].granted, free.fuses[0].granted, free.fuses[0].marks) == (True, True, ())
    bound = loop_of(text.format(" 3 times", "a"))
    assert (bound.buffers["x"].granted, bound.buffers["y"].granted) == (False, True)
    assert (bound.fuses[0].granted, bound.fuses[0].marks) == (True, ("x",))


def test_a_field_of_any_vertex_needs_two_buffers() -> None:
    text = "vertex p: vertex = self\nrepeat 3 times:\n    apply p = p.p\n"
    loop = loop_of(text)
    assert (loop.buffers["p"].granted, loop.fuses[0].marks) == (False, ("p",))


# --------------------------------------------------------------------- messages


@pytest.mark.parametrize(("gather", "messages"), [
    ("sum(u.x / u.outdegree for u -> self)", ["u.x / f32(u.outdegree)"]),
    ("sum(w * (u.x + u.y) for u -> self)", ["u.x + u.y"]),
    ("sum(w * exp(u.x) + x * (u.y / 3) for u -> self)", ["exp(u.x)", "u.y / 3"]),
    ("sum(k * u.x / u.y for u -> self)", ["k * u.x / u.y"]),
    ("sum(u.x * w / u.y for u -> self)", []),
    ("sum(u.x for u -> self if u.x > u.y and u.x > x)", ["u.x > u.y"]),
    ("min((u.x * u.y, u) for u -> self)", ["u.x * u.y"]),
    ("sum(u.x + 1 for u -> self)", []), ("sum(w for u -> self)", []), ("sum(exp(x) * k for u -> self)", []),
    ("min(u.x + w for u -> self)", []),
    ("sum(change(u.x) / u.outdegree for u -> self)", ["change(u.x) / f32(u.outdegree)"]),
    ("sum(w * random(1, u) for u -> self)", ["random(1, u)"]),
])
def test_messages(gather: str, messages: list[str]) -> None:
    text = "program p(k = 0.5)\nedge w: float = 1\nvertex x, y: float = 1\n" \
           f"repeat 2 times:\n    gather a = {gather}\n    apply x = 3\n"
    program = ir(text)
    facts = analyse(program)
    (found,) = gathers(program)
    assert [expression(e) for e in facts.messages(found)] == messages
    (loop,) = facts.loops.values()
    assert [expression(e) for e in loop.gathers[0].messages] == messages


def test_initializers_have_facts_of_their_own() -> None:
    facts = facts_of("vertex x: float = 1\nvertex y: float = sum(u.x / u.outdegree for u -> self)\n")
    assert [(g.name, len(g.messages), g.replicate.marks) for g in facts.initial] == [("y", 1, ("rounding",))]
    assert facts.loops == {}
