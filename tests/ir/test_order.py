"""Rules A, A', O, P and S are granted and refused on small programs."""

from __future__ import annotations

import pytest

from tests.ir.helpers import loop_of

SSSP = """edge w: float = 1
vertex d: float = inf
{require}
repeat:
    gather near = min(u.d + w for u -> self)
    apply  d    = min(d, near)
"""


TWO = "vertex x: int = 1\nvertex p: int = 1"
THREE = f"{TWO}\nvertex q: int = 1"
PAIR = "vertex x: int = 1\nvertex p: vertex = none"


def fixpoint(gather: str, apply: str, fields: str = "vertex x: int = 1", where: str = "") -> str:
    """Return a fixpoint loop of one gather and one apply."""
    indent = "    " if where else ""
    head = f"    where {where}:\n" if where else ""
    return f"{fields}\nrepeat:\n{head}{indent}    gather a = {gather}\n{indent}    apply {apply}\n"


# ------------------------------------------------------------------------- rule A


@pytest.mark.parametrize("text", [
    SSSP.format(require=""),
    fixpoint("max(u.x for u -> self)", "x = max(a, x)"),
    fixpoint("any(u.x for u -> self)", "x = a or x", "vertex x: bool = true"),
    fixpoint("all(u.x for u -> self)", "x = x and a", "vertex x: bool = true"),
    fixpoint("bitor(u.x for u -> self)", "x |= a"),
    fixpoint("bitand(u.x for u -> self)", "x &= a"),
    fixpoint("count(u.x for u -> self)", "x = x and a >= 3", "vertex x: bool = true"),
    fixpoint("hindex(u.x for u -> self)", "x = min(x, a)"),
    fixpoint("max(u.x for u -> self)", "x = max(x, a, 7)"),
    fixpoint("max(u.x for u -> self)", "x = max(x, a + 2)"),
    fixpoint("min(u.x * u.k for u -> self)", "x = min(x, a)", "vertex k: u8 = 1\nvertex x: u8 = 1"),
    fixpoint("max(sqrt(u.x) for u -> self)", "x = max(x, a)", "vertex x: float = 1"),
    fixpoint("sum(u.x for u -> self)", "x = max(x, a)", "vertex x: u32 = 1"),
    fixpoint("sum(u.x - 1 for u -> self)", "x = max(x, a)", "vertex x: u32 = 1"),
    fixpoint("sum(u.x for u -> self)", "x = max(x, a)"),
    fixpoint("sum(u.x for u -> self if u.x > 3)", "x = max(x, a)", "vertex x: u32 = 1"),
    fixpoint("max(u.x for u -> self)", "x = max(x, a)", "vertex k: int = 1\nvertex x: int = 1", "k > 0"),
    fixpoint("min((u.x + 1, u) for u -> self)", "(x, p) = min((x, p), a)", PAIR),
    fixpoint("min((u.x + 1, u.p) for u -> self)", "(x, p) = min((x, p), a)", TWO),
    fixpoint("min((3 + u.x, u.p * 2 - 9) for u -> self)", "(x, p) = min((x, p), a)", TWO),
    fixpoint("min((u.x, u.p, u.q + 1) for u -> self)", "(x, p, q) = min((x, p, q), a)", THREE),
    fixpoint("max((u.x - outdegree, u.p) for u -> self)", "(x, p) = max((x, p), a)", TWO),
    fixpoint("max((u.x + -1, u.p) for u -> self)", "(x, p) = max((x, p), a)", TWO),
    fixpoint("min((u.x + u.k, u.x + u.p) for u -> self)", "(x, p) = min((x, p), a)", f"vertex k: u8 = 1\n{TWO}"),
])
def test_any_order_granted(text: str) -> None:
    assert loop_of(text).order.granted, loop_of(text).order.reason


@pytest.mark.parametrize(("text", "letter"), [
    (fixpoint("max(u.x for u -> self)", "x = a"), "r"),
    (fixpoint("max(u.x for u -> self)", "x = max(x + 1, a)"), "r"),
    (fixpoint("min(u.x for u -> self)", "x = max(x, 0 - a)"), "m"),
    (fixpoint("max(0 - u.x for u -> self)", "x = max(x, a)"), "m"),
    (fixpoint("max(u.x * k for u -> self)", "x = max(x, a)", "edge k: int = 1\nvertex x: int = 1"), "m"),
    (fixpoint("max(u.x for u -> self, default = 3)", "x = max(x, a)"), "m"),
    (fixpoint("max(u.x for u -> self if u.x < 9)", "x = max(x, a)"), "m"),
    (fixpoint("max(u.x for u -> self)", "x = max(x, a)", where="x < 9"), "m"),
    (fixpoint("max(u.x for u -> self)", "x = max(x, a - iteration)"), "v"),
    (fixpoint("max(old(u.x) for u -> self)", "x = max(x, a)"), "v"),
    (fixpoint("max(u.x for u -> self)", "x = max(x, a, p.x)", "vertex p: vertex = self\nvertex x: int = 1"), "f"),
    (fixpoint("sum(u.x for u -> self if u.x > 3)", "x = max(x, a)"), "m"),
    (fixpoint("sum(wrap(u.x - 1) for u -> self)", "x = max(x, a)", "vertex x: u32 = 1"), "m"),
    (fixpoint("min(wrap(u.x + 1) for u -> self)", "x = min(x, a)"), "m"),
    (fixpoint("max(u.x for u -> self)", "x = max(x, a)") + "    apply x = min(x, 9)\n", "w"),
    (fixpoint("max(u.x for u -> self)", "x = max(x, a)") + "    apply x = x // 2\n", "w"),
    (fixpoint("min((u.x + u.k, u.p) for u -> self)", "(x, p) = min((x, p), a)", f"vertex k: int = 1\n{TWO}"), "m"),
    (fixpoint("min((u.x - 1, u.p) for u -> self)", "(x, p) = min((x, p), a)", TWO), "m"),
    (fixpoint("max((u.x + 1, u.p) for u -> self)", "(x, p) = max((x, p), a)", TWO), "m"),
    (fixpoint("max((u.x - 1, u.p) for u -> self)", "(x, p) = max((x, p), a)", TWO.replace("int", "u32")), "m"),
    (fixpoint("min((wrap(u.x + 1), u.p) for u -> self)", "(x, p) = min((x, p), a)", TWO), "m"),
    (fixpoint("min((min(u.x, 5), u.p) for u -> self)", "(x, p) = min((x, p), a)", TWO), "m"),
    (fixpoint("min((u.x * 2, u.p) for u -> self)", "(x, p) = min((x, p), a)", TWO), "m"),
    (fixpoint("min((u.x + 1, 0 - u.p) for u -> self)", "(x, p) = min((x, p), a)", TWO), "m"),
    (fixpoint("min((u.x + 1, u.p) for u -> self if u.p < 9)", "(x, p) = min((x, p), a)", TWO), "m"),
    (fixpoint("min((u.x + 1, p) for u -> self)", "(x, p) = min((x, p), a)", TWO), "m"),
    (fixpoint("min((u.x + 1, u.p) for u -> self)", "(x, p) = min((x, p), a)", TWO.replace("int", "float")), "m"),
    (fixpoint("min((u.x + 1, u, u.q) for u -> self)", "(x, p, q) = min((x, p, q), a)",
              f"{PAIR}\nvertex q: int = 1"), "m"),
    (fixpoint("min((u.x + 1, u.p + 1, u.q) for u -> self)", "(x, p, q) = min((x, p, q), a)", THREE), "m"),
    (fixpoint("min((u.x + 1, u) for u -> self)", "(x, p) = min((x, p), a)", PAIR)
     + "    apply x = min(x, 5)\n", "w"),
    (fixpoint("min((u.x + 1, u) for u -> self)", "(x, p) = min(a, (x, p))", PAIR),
     "r"),
    ("vertex x: int = 1\nrepeat 9 times:\n    gather a = max(u.x for u -> self)\n    apply x = max(x, a)\n", "c"),
    ("vertex x: int = 1\nrepeat until all(v.x > 3 for v in vertices):\n    gather a = max(u.x for u -> self)\n"
     "    apply x = max(x, a)\n", "t"),
    (fixpoint("max(u.x for u -> self)", "x = max(x, a)") + "    activate when x > old(x) + 1\n", "t"),
])
def test_any_order_refused(text: str, letter: str) -> None:
    order = loop_of(text).order
    assert (order.granted, order.letter) == (False, letter), order.reason


def test_a_minimum_under_max_moves_up_with_its_source() -> None:
    """A `min` gather changes in the same direction as the gathered field: the result increases if the field only
    increases.
    """
    assert loop_of(fixpoint("min(u.x for u -> self)", "x = max(x, a)")).any_order


def test_contracts_decide_products() -> None:
    text = "edge k: float = 1\n{}\nvertex x: float = 1\nrepeat:\n    gather a = max(u.x * k for u -> self)\n" \
           "    apply x = max(x, a)\n"
    assert not loop_of(text.format("")).any_order
    assert loop_of(text.format("require k >= 0")).any_order
    assert loop_of(text.format("require 0 < k and k < 9")).any_order
    assert not loop_of(text.format("require k >= -1")).any_order
    assert not loop_of(text.format("require k <= 0")).any_order


def test_a_user_reduction_is_idempotent_only_where_proved() -> None:
    text = "reduction f(a, b): float = {}, identity {}\nvertex x: float = 1\nrepeat:\n" \
           "    gather a2 = f({} for u -> self)\n    apply x = f(x, a2)\n"
    assert loop_of(text.format("max(a, b)", "-inf", "u.x")).any_order
    assert loop_of(text.format("max(b, a)", "-inf", "u.x")).push.granted
    assert loop_of(text.format("max(a, b)", "-inf", "u.x / 2")).order.letter == "m"


def test_inner_loops_are_left_alone() -> None:
    text = "vertex x: int = 1\nrepeat 3 times:\n" + "".join(
        f"    {line}\n" for line in fixpoint("max(u.x for u -> self)", "x = max(x, a)", "").splitlines() if line)
    outer, inner = (loop_of(text, number) for number in (0, 1))
    assert {v.letter for v in (outer.order, outer.push, outer.notify_pull)} == {"i"}
    assert inner.any_order


# --------------------------------------------------------------------- priority


@pytest.mark.parametrize(("require", "final"), [("require w >= 0", True), ("require w > 1", True), ("", False)])
def test_priority_pays_where_weights_are_not_negative(require: str, final: bool) -> None:
    priority = loop_of(SSSP.format(require=require)).priority
    assert (priority.granted, "final" in priority.marks) == (True, final)


def test_priority_of_widest_and_most_probable_paths() -> None:
    widest = "edge w: float = 1\n" + fixpoint("max(min(u.x, w) for u -> self)", "x = max(x, a)", "vertex x: float = 1")
    assert loop_of(widest).priority.marks == ("final",)
    likely = "edge w: float = 1\nrequire 0 <= w and w <= {}\n" + fixpoint(
        "max(u.x * w for u -> self)", "x = max(x, a)", "vertex x: float = 1")
    assert loop_of(likely.format(1)).priority.marks == ("final",)
    assert loop_of(likely.format(2)).priority.marks == ()


def test_priority_needs_any_order() -> None:
    assert not loop_of(fixpoint("max(u.x for u -> self)", "x = a")).priority.granted


# ------------------------------------------------------------------------- push


@pytest.mark.parametrize(("text", "letter"), [
    (fixpoint("max(u.x for u -> self)", "x = max(x, a)"), ""),
    (fixpoint("max(0 - u.x for u -> self)", "x = max(x, a)"), ""),  # the contribution need not be monotone
    (fixpoint("max(u.x for u -> self if u.x > 3)", "x = max(x, a)"), ""),
    (fixpoint("max(u.x for u -> self)", "x = max(x, a)") + "    activate when x > old(x)\n", ""),
    (fixpoint("max(u.x for u -> self)", "x = max(x, a)") + "    activate when x > old(x) or x < old(x)\n", "t"),
    (fixpoint("max(u.x for u -> self)", "x = max(x, a + 1)"), "g"),
    (fixpoint("min(u.x for u -> self)", "x = max(x, a)"), "g"),
    (fixpoint("max(u.x for u -> self, default = 3)", "x = max(x, a)"), "g"),
    (fixpoint("max(u.x - x for u -> self)", "x = max(x, a)"), "o"),
    (fixpoint("max(u.x for u -> self if x > 3)", "x = max(x, a)"), "o"),
    (fixpoint("max(u.x for u -> self)", "x = max(x, a)", where="x > 3"), "o"),
    (fixpoint("max(u.x - iteration for u -> self)", "x = max(x, a)"), "v"),
    (fixpoint("max(u.x for u -> self)", "x = max(x, a)") + "    apply x = x // 2\n", "w"),
    (fixpoint("sum(u.x for u -> self)", "x = x + a", "vertex x: int = 1") .replace("repeat:", "repeat 3 times:"), "s"),
    (fixpoint("max(u.x for u -> self)", "x = max(x, a)").replace("repeat:", "repeat 3 times:"), "c"),
    (fixpoint("max(u.x for u -> self)", "x = max(x, a)")
     .replace("repeat:", "repeat until any(v.x > 5 for v in vertices):"), "t"),
])
def test_push(text: str, letter: str) -> None:
    push = loop_of(text).push
    assert (push.granted, push.letter) == (not letter, letter), push.reason


# ------------------------------------------------------------------ delta loops

DELTA = """program p(d = 0.5, tol = 1e-6)
edge w: float = 1
vertex k: float = 1
vertex x: float = 1
repeat:
    gather a = sum({body} for u -> self{cond})
    apply  x += {rest}
    activate when abs(change(x)) > tol
"""


@pytest.mark.parametrize(("body", "rest", "cond"), [
    ("change(u.x)", "a", ""), ("change(u.x) / u.outdegree", "d * a", ""),
    ("w * change(u.x) * u.k", "a / 2", " if k > 1"),
    ("0.5 * (change(u.x) + w * change(u.x))", "d * (a - 3 * a)", ""),
])
def test_delta_form(body: str, rest: str, cond: str) -> None:
    loop = loop_of(DELTA.format(body=body, rest=rest, cond=cond))
    assert (loop.kind, loop.any_order, loop.push.granted, loop.skip) == ("delta", True, True, True)
    assert loop.incremental.marks == ("insert", "delete")
    assert all(write.delta for write in loop.writes)


@pytest.mark.parametrize(("body", "rest", "cond"), [
    ("change(u.x) + 1", "a", ""), ("abs(change(u.x))", "a", ""), ("change(u.x)", "a + 1", ""),
    ("change(u.x)", "a * a", ""), ("change(u.x) * x", "a", ""), ("change(u.x)", "a * x", ""),
    ("change(u.x)", "a", " if x > 0"), ("change(u.x) * u.x", "a", ""), ("change(u.x)", "a * iteration", ""),
])
def test_not_the_delta_form(body: str, rest: str, cond: str) -> None:
    loop = loop_of(DELTA.format(body=body, rest=rest, cond=cond))
    assert loop.kind != "delta"
    assert not loop.any_order
    assert not loop.push.granted


# --------------------------------------------------------------- single assignment

COLORING = """vertex p: float = random(1, self)
vertex c: int = -1
repeat:
    gather ready = all({body} for u -- self if {order})
    where {test} and ready:
        gather free = {value}
        apply c = free
"""
GOOD = {"body": "u.c >= 0", "order": "(u.p, u) < (p, self)", "test": "c < 0", "value": "mex(u.c for u -- self)"}


@pytest.mark.parametrize(("change", "granted"), [
    ({}, True), ({"order": "(u.p, u) > (p, self)"}, True), ({"order": "u < self"}, True),
    ({"order": "(p, self) > (u.p, u)"}, True),
    ({"body": "u.c != -1", "test": "c == -1"}, True),
    ({"order": "u.p < p"}, False),  # equal priorities: neither precedes the other
    ({"order": "(u.p, u) <= (p, self)"}, False), ({"order": "(u.c, u) < (c, self)"}, False),
    ({"body": "u.c > 0"}, False), ({"test": "c == 0"}, False), ({"value": "sum(u.c for u -- self)"}, False),
    ({"value": "mex(u.c + 1 for u -- self)"}, False), ({"test": "c < 9", "body": "u.c >= 9"}, False),
])
def test_single_assignment(change: dict[str, str], granted: bool) -> None:
    loop = loop_of(COLORING.format(**(GOOD | change)))
    assert loop.single_assignment.granted == granted
    assert not loop.any_order
