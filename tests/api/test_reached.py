"""The summary of a loop with a tolerance shows the value that `until` compared. The summary value implies a bound on
the error of the result.
"""

from __future__ import annotations

import re

import numpy as np

import vlang


def test_the_value_printed_bounds_the_error_of_pagerank() -> None:
    """The summary prints the sum of all changes in the last superstep.

    The sum of the errors of all ranks is at most the printed sum times damping / (1 - damping).
    """
    graph, program = vlang.Graph.read("rmat:10"), vlang.load("pagerank", precision=64)
    exact = program(graph, tol=1e-14)["rank"]
    errors = []
    for tol in (1e-2, 1e-3, 1e-5):
        result = program(graph, tol=tol)
        found = re.fullmatch(r"`until` holds: (\S+), tolerance (\S+)", result.reason)
        assert found is not None, result.reason
        assert result.reason in result.summary()
        before = program(graph, tol=tol, max_rounds=result.rounds - 1)["rank"]
        change = float(np.abs(result["rank"] - before).sum())
        assert np.isclose(float(found[1]), change, rtol=6e-3)  # three digits are printed
        assert change < tol == float(found[2])
        errors.append(float(np.abs(result["rank"] - exact).sum()))
        assert errors[-1] <= change * 0.85 / 0.15
    assert errors == sorted(errors, reverse=True)
