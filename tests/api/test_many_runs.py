"""Lists of vertices that a text describes, and `Program.map`."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import vlang
from vlang import BindError, Graph
from vlang.api.arguments.vertex_lists import described_list

KARATE = Graph.read("karate")
LISTED = vlang.compile("program p(S: vertices)\nvertex at: int = position(self, S)\nglobal k: int = len(S)\n")


def test_all_and_random_lists() -> None:
    assert LISTED(KARATE, S="all").at.tolist() == list(range(34))
    drawn = described_list("S", KARATE, "random:8")
    assert drawn.tolist() == sorted(set(drawn.tolist()))
    assert drawn.tolist() == np.flatnonzero(LISTED(KARATE, S="random:8").at >= 0).tolist()
    assert drawn.tolist() == described_list("S", KARATE, "random:8,seed=1").tolist()
    assert drawn.tolist() != described_list("S", KARATE, "random:8,seed=2").tolist()
    assert len(described_list("S", KARATE, "random:34")) == 34
    often = np.bincount(np.concatenate([described_list("S", KARATE, f"random:17,seed={s}") for s in range(400)]))
    assert often.min() > 150  # of 400; the expected number is 200, with a standard deviation of 10
    assert often.max() < 250


@pytest.mark.parametrize(("text", "message"), [
    ("random:35", "`S`: random:35 is more than the 34 vertices of the graph; write S=all"),
    ("random:0", "`S` is a list of vertices, not 'random:0'"), ("every", "`S` is a list of vertices, not 'every'"),
])
def test_texts_that_are_no_lists(text: str, message: str) -> None:
    with pytest.raises(BindError, match=re.escape(message)):
        LISTED(KARATE, S=text)


def test_map_equals_calls() -> None:
    rwr, sources = vlang.load("rwr"), np.array([1, 34, 5])
    found = list(rwr.map(KARATE, source=sources, restart=[0.2, 0.3, 0.4], threads=1))
    for source, restart, result in zip(sources, [0.2, 0.3, 0.4], found, strict=True):
        assert result.p.tobytes() == rwr(KARATE, source=source, restart=restart).p.tobytes()
    lists = LISTED.map(KARATE, S=[[1, 2], "all", [34]])
    assert [result.globals["k"] for result in lists] == [2, 34, 1]


@pytest.mark.parametrize(("given", "message"), [
    ({"source": 1}, "no parameter is given as a list of values; the parameters are: `source`, `restart`, `tol`"),
    ({"source": [1, 2], "tol": [0.1]}, "need the same length: `source` has 2, `tol` has 1"),
])
def test_map_refuses(given: dict[str, Any], message: str) -> None:
    with pytest.raises(BindError, match=re.escape(message)):
        vlang.load("rwr").map(KARATE, **given)
