"""Each rank owns an emulated GPU and exchanges values through the host. Every allowed program gives the interpreter's
result.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from tests.cluster.test_ranks import REFUSED
from tests.cpu.compare import engine_run
from tests.cuda.emulation.emulated import needs_compiler
from tests.cuda.programs.test_several import assert_same
from tests.cuda.runs import APPROXIMATE, assert_right, emulated, given, program, run
from tests.reference.cases import STDLIB
from tests.sample import sampled
from vlang import BindError, Graph, Result, load
from vlang.runtime.cluster.transports.thread_ranks import run_ranks

pytestmark = needs_compiler

GRAPHS = ("skewed", "messy", "components", "empty")
DEVICES = "emulated:0,1,2"


def on_ranks(name: str, graph: str, size: int, **options: Any) -> list[Result]:
    """Return the results of all ranks; each rank has a GPU of its own."""
    some = given(name, graph)
    assert some is not None
    with emulated(name, several=True):
        return run_ranks(size, lambda _: engine_run(program(name), some, device=DEVICES, **options), patience=120)


ALLOWED = sampled([name for name in STDLIB if name not in REFUSED], ["sssp"])


@pytest.mark.parametrize("name", ALLOWED)
def test_program(name: str) -> None:
    start = STDLIB.index(name)
    graph = next(one for one in (*GRAPHS[start % 4 :], "skewed") if given(name, one) is not None)
    limit = {"max_rounds": 7} if name in APPROXIMATE else {}
    for found in on_ranks(name, graph, 2 + start % 2, **limit):
        assert_right(name, graph, found)
        assert found.device.startswith("emulated:")


def test_the_same_bits_as_on_one_gpu() -> None:
    """The bits are the same as on one GPU, although ranges end inside of blocks of a reduction. Each rank uses a GPU of
    its own machine.
    """
    asked: dict[str, Any] = {"deterministic": True, "max_rounds": 3, "mode": "pull"}
    first = run("pagerank", "wide", **asked)
    found = on_ranks("pagerank", "wide", 3, **asked)
    assert [one.device for one in found] == ["emulated:0", "emulated:1", "emulated:2"]
    for one in found:
        assert_same(first, one)
        assert one.moved.bytes_between > 0
        assert "by its host" in one.notes[-1]


def test_refused() -> None:
    """Options that ranks with GPUs do not support are refused with the reason."""
    graph = Graph.read("karate")
    calls: list[tuple[dict[str, Any], str]] = [
        ({"device": "auto"}, "machines may differ"), ({"device": "gpu", "memory": "1G"}, "memory"),
        ({"device": "gpu", "research": {"mode": "notify-pull"}}, "several GPUs run full passes")]
    for options, text in calls:
        with pytest.raises(BindError, match=text):
            run_ranks(2, partial(_ran, graph, options))


def _ran(graph: Graph, options: dict[str, Any], _transport: object) -> Result:
    return load("pagerank")(graph, **options)
