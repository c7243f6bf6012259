"""A result warns of outputs that are not a number."""

from __future__ import annotations

import numpy as np
import pytest

import vlang

GRAPH = vlang.Graph.from_edges([1, 2, 7], [2, 3, 9])
HINT = "; --trap, or trap=True, shows where the first NaN comes from"


@pytest.mark.parametrize(("declared", "warned"), [
    ("vertex a: float = sum(float(u.degree) for u -> self) / indegree", "at 2 of 5 vertices, the first is 1"),
    ("vertex a: f16 = 0.0 / degree * (degree - 1) / indegree", "at 2 of 5 vertices, the first is 1"),
    ("vertex a: float[2] = sqrt(0.5 - indegree)", "at 3 of 5 vertices, the first is 2"),
    ("vertex b: float = log(1.0 - degree)\nglobal a = sum(v.b for v in vertices)", ""),
])
def test_nan_is_said_with_its_place(declared: str, warned: str) -> None:
    result = vlang.compile(f"program p\n{declared}\n")(GRAPH)
    assert np.isnan(np.asarray(result["a"])).any()
    said = [warning for warning in result.warnings if warning.startswith("`a` is NaN")]
    assert said == ["`a` is NaN (not a number)" + (f" {warned}" if warned else "") + HINT]


def test_numbers_and_infinities_are_not_nan() -> None:
    fields = "vertex a: float = 1 / indegree - 1\nvertex b: float = inf"
    assert vlang.compile(f"program p\n{fields}\nglobal c = max(v.b for v in vertices)\n")(GRAPH).warnings == ()
