"""The interpreter follows the rules of language.md sections 4 and 5: one tiny case per rule, with results worked out by
hand.
"""

from __future__ import annotations

import pytest

from tests.reference.by_hand.small import PATH, column, go
from tests.reference.graph import ref_graph
from vlang.errors import BindError

# ------------------------------------------------------------------ section 5: inputs and contracts


def test_inputs() -> None:
    text = """
        program test(k: int, t = 0.5)
        edge w: float = k
        vertex a: int
        global base = 1
        vertex x: float = a + t + base
    """
    outcome = go(text, fields={"a": [1, 2, 3]}, k=4)
    assert column(outcome) == [2.5, 3.5, 4.5]
    assert column(go(text, fields={"a": [1, 2, 3], "x": [0, 0, 9]}, k=4)) == [0, 0, 9]
    for wrong in ({"fields": {"a": [1, 2, 3]}}, {"k": 1}):
        with pytest.raises(BindError):
            go(text, **wrong)
    with pytest.raises(BindError):
        go("edge missing: float\nvertex x: float = sum(missing for u -> self)")


def test_require() -> None:
    go("edge w: float\nrequire w >= 0 and w < 6")
    with pytest.raises(BindError, match="w < 5"):
        go("edge w: float\nrequire w < 5")
    with pytest.raises(BindError):
        go("vertex a: float\nrequire a > 0", fields={"a": [1, 2, 0]})


# ------------------------------------------------------------------ section 4: execution


def test_statements_read_before_they_write() -> None:
    outcome = go("""
        vertex a: int = 1
        vertex b: int = 2
        vertex p: vertex = self
        repeat 1 times:
            gather up = sum(u.a for u -> self)
            apply (a, b) = (b, a)
            apply a += up
            gather again = sum(u.a for u -> self)
            apply b = again
            gather low = min(u.p for u -- self)
            apply p = min(p, low)
            apply p = p.p
    """)
    assert column(outcome, "a") == [2, 3, 3]
    assert column(outcome, "b") == [0, 2, 3]
    assert column(outcome, "p") == [0, 0, 0]


def test_updates() -> None:
    outcome = go("""
        vertex a: int = 12
        vertex b: u8 = 12
        repeat 1 times:
            apply a -= 2
            apply a *= 3
            apply b |= 3
            apply b &= 6
            apply b ^= 255
    """)
    assert (outcome.fields["a"][0], outcome.fields["b"][0]) == (30, 249)


def test_where_is_decided_on_entry_and_nests() -> None:
    outcome = go("""
        program test(s: vertex)
        vertex a: int = 0
        vertex g: int = 0
        where self != s:
            apply a = 5
            where indegree > 0:
                gather near = sum(u.a for u -> self)
                apply g = near
                apply a = a + 1
            apply a += 10
    """, s=1)
    assert column(outcome, "a") == [15, 0, 16]
    assert column(outcome, "g") == [0, 0, 0]


def test_fixpoint_rounds_and_activity() -> None:
    outcome = go("""
        program test(source: vertex)
        vertex d: int = 0 if self == source else inf
        repeat:
            gather near = min(u.d + 1 for u -> self)
            apply d = min(d, near)
    """, source=0)
    assert column(outcome, "d") == [0, 1, 2]
    assert outcome.rounds == [3]
    assert outcome.loops[0].active == [3, 1, 1]
    assert (outcome.converged, outcome.reason) == (True, "inactive")


def test_counted_and_limited_loops() -> None:
    body = "\n    gather s = sum(u.a for u -> self)\n    apply a = a + s"
    for head, rounds, reason in (("repeat 4 times", 4, "count"), ("repeat 0 times", 0, "count"),
                                 ("repeat at most 2 times", 2, "limit"),
                                 ("repeat at most 9 times until sum(v.a for v in vertices) > 9", 3, "until"),
                                 ("repeat at most 2 times until sum(v.a for v in vertices) > 9", 2, "limit"),
                                 ("repeat until iteration == 3", 3, "until")):
        outcome = go(f"vertex a: int = 1\n{head}:{body}", PATH)
        assert (outcome.rounds, outcome.reason) == ([rounds], reason), head
    assert not go(f"vertex a: int = 1\nrepeat until false:{body}", max_rounds=7).converged


def test_a_loop_that_never_meets_until_stalls() -> None:
    outcome = go("vertex a: int = 1\nrepeat until false:\n    apply a = min(a, 1)")
    assert (outcome.rounds, outcome.reason, outcome.converged) == ([1], "stalled", False)
    counting = go("vertex a: int = 1\nrepeat until iteration >= 5:\n    apply a = min(a, 1)")
    assert (counting.rounds, counting.reason) == ([5], "until")


def test_old_changed_change_and_iteration() -> None:
    outcome = go("""
        vertex a: int = 1
        vertex was: int = 0
        vertex turns: int = 0
        repeat until max(change(v.a) for v in vertices) >= 4:
            apply a = a * 2
            apply was = old(a)
            where changed(a):
                apply turns = iteration
    """)
    assert (outcome.fields["a"][0], outcome.fields["was"][0], outcome.fields["turns"][0]) == (8, 4, 3)


def test_unsent_changes_add_up() -> None:
    """With a restrictive `activate when`, small changes accumulate until they are sent. Each change is sent exactly
    once.
    """
    forced = go("""
        vertex x: float = 1
        vertex got: float = 0
        repeat 6 times:
            gather news = sum(change(u.x) for u -> self)
            apply got += news
            apply x += 1
            activate when abs(change(x)) > 2.5
    """)
    # superstep 1 sends 1 (sent = 1, x = 2); at the end of 3 the change is 4 - 1 = 3; superstep 4 sends 3 (sent = 4)
    # and ends with x = 5; at the end of 6 it is 7 - 4 = 3
    assert column(forced, "x") == [7, 7, 7]
    assert column(forced, "got") == [0, 4, 4]
    assert forced.loops[0].active == [3, 0, 0, 3, 0, 0]


def test_change_is_sent_afresh_in_every_loop() -> None:
    outcome = go("""
        vertex x: float = 1
        vertex got: float = 0
        repeat 2 times:
            gather news = sum(change(u.x) for u -> self)
            apply got += news
        repeat 2 times:
            gather news = sum(change(u.x) for u -> self)
            apply got += news
    """)
    assert column(outcome, "got") == [0, 2, 2]


def test_nan_counts_as_unchanged() -> None:
    outcome = go("vertex a: float = 0.0 / 0.0\nrepeat:\n    apply a = a + 1")
    assert outcome.rounds == [1]


def test_nested_loops_and_local_fields() -> None:
    outcome = go("""
        vertex total: int = 0
        vertex outer: int = 0
        repeat 3 times:
            vertex near: int = 0 if indegree == 0 else inf
            repeat:
                gather best = min(u.near + 1 for u -> self)
                apply near = min(near, best)
            apply total += near
            apply outer = iteration
    """)
    assert column(outcome, "total") == [0, 3, 6]
    assert column(outcome, "outer") == [3, 3, 3]
    assert sorted(outcome.fields) == ["outer", "total"]
    assert outcome.rounds == [3]
    assert [loop.rounds for loop in outcome.loops] == [3, 3, 3, 3]


def test_for_and_sweep() -> None:
    outcome = go("""
        program test(s: vertices)
        vertex level: int = 2 - indegree if self != none else 0
        vertex seen: int = 0
        vertex order: int = 0
        for v0 in s:
            where self == v0:
                apply seen += 1
        for k from 1 to 9 until k == 4:
            apply seen += k
        sweep level up:
            gather before = max(u.order for u -- self)
            apply order = before + 1
    """, s=[1, 1, 2])
    assert column(outcome, "seen") == [10, 12, 11]
    # level: 2, 1, 1; the sweep visits vertices 1 and 2 first, then 0
    assert column(outcome, "order") == [2, 1, 1]


def test_let_and_activate_read_the_new_values() -> None:
    outcome = go("""
        vertex a: float = 4
        repeat:
            let most = max(v.a for v in vertices)
            apply a = most / 2
            let after = max(v.a for v in vertices)
            apply a = after
            activate when a > 1
    """)
    assert column(outcome, "a") == [1, 1, 1]
    assert outcome.rounds == [2]


def test_empty_graph() -> None:
    outcome = go("""
        vertex a: int = 0
        vertex p: (vertex) = self
        repeat until max(change(v.a) for v in vertices) < 1:
            gather s = sum(u.a for u -> self)
            apply a = s
    """.replace("(vertex)", "vertex"), ref_graph(0, []))
    assert outcome.fields["a"].shape == (0,)
    assert outcome.reason == "until"
