"""Edge contracts that follow from the range of a column are not checked edge by edge. Violations are still found."""

from __future__ import annotations

import numpy as np
import pytest

from vlang import Graph, GraphError, compile
from vlang.runtime.engine.contracts import open_checks

TEXT = """program p()
edge weight: float
vertex x: float = 0
require {}
gather all = sum(weight for u -> self)
apply x = all
"""


def graph(*weights: float) -> Graph:
    ends = np.arange(len(weights))
    return Graph.from_edges(ends, ends + 1, n=len(weights) + 1, weight=np.array(weights, np.float64))


def left(condition: str, given: Graph) -> int:
    """Return the number of steps that check the contract."""
    return len(open_checks(compile(TEXT.format(condition)).plan(frozenset({"weight"})).steps[:2], given))


@pytest.mark.parametrize(("condition", "weights", "steps"), [
    ("weight >= 0", (0.0, 2.5), 0),
    ("0 < weight", (0.5, 2.5), 0),
    ("weight < 2.5", (0.5, 2.4), 0),
    ("2.5 >= weight", (0.5, 2.5), 0),
    ("weight > 0", (0.0, 2.5), 2),
    ("weight > 0", (1e-60, 2.5), 2),  # 0 in the type of the program
    ("weight <= 2", (0.5, 2.5), 2),
    ("weight >= 0", (np.nan, 2.5), 2),
    ("weight * 1 >= 0", (0.5, 2.5), 2),
    ("weight >= 0 and weight < 3", (0.5, 2.5), 2),
])  # fmt: skip
def test_what_a_range_shows(condition: str, weights: tuple[float, ...], steps: int) -> None:
    assert left(condition, graph(*weights)) == steps


def test_what_fails_names_an_edge() -> None:
    program = compile(TEXT.format("weight > 0"))
    assert program(graph(1.0, 2.0)).x.tolist() == [0, 1, 2]
    with pytest.raises(GraphError, match="`require weight > 0` does not hold on the edge 1 -> 2"):
        program(graph(1.0, 0.0))
    with pytest.raises(GraphError, match="does not hold on the edge 0 -> 1"):
        program(graph(1e-60, 1.0))
