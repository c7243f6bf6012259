"""If the supersteps of a loop repeat, the loop would never end. The engine stops the loop with a message."""

from __future__ import annotations

import numpy as np

from vlang import Graph, compile

FLIP = """program flip(tol = 1e-9)
vertex x: float = 0.25
repeat until max(abs(change(v.x)) for v in vertices) < tol:
    gather s = sum(u.x for u -> self)
    apply  x = 1 - s
"""

COUNTED = FLIP.replace("repeat until max(abs(change(v.x)) for v in vertices) < tol:", "repeat 201 times:")


def ring() -> Graph:
    """Return a directed cycle of five vertices."""
    return Graph.from_edges([0, 1, 2, 3, 4], [1, 2, 3, 4, 0])


def test_a_repeating_loop_is_stopped() -> None:
    result = compile(FLIP)(ring())
    assert not result.converged
    assert "the last 2 supersteps would repeat for ever" in result.reason
    assert result.rounds < 200


def test_a_counted_loop_runs_its_count() -> None:
    result = compile(COUNTED)(ring())
    assert result.rounds == 201
    assert np.array_equal(result["x"], np.full(5, 0.75, np.float32))


def test_a_slow_loop_goes_on() -> None:
    text = FLIP.replace("1 - s", "0.99 * s + 0.01")
    result = compile(text)(ring(), precision=64, tol=1e-10)
    assert result.converged
    assert result.rounds > 1000


UNSENT = """program unsent
vertex a: int = 0
repeat until sum(abs(change(v.a)) for v in vertices) == 0:
    gather s = sum(u.a for u -> self)
    apply  a = 1
    activate when s > 0
"""


def test_until_waits_for_changes_that_are_not_sent() -> None:
    """The second superstep changes no value, but sends the change of the first superstep. `until` therefore holds only
    after the third superstep.
    """
    for mode in ("pull", "notify-pull"):
        result = compile(UNSENT)(ring(), research={"mode": mode})
        assert (result.rounds, result.converged, result.reason) == (3, True, "`until` holds")
