"""A new execution way on a GPU needs one file for its text and one file for its runs; then it can be selected and
explained.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import pytest

import vlang
from vlang.api.arguments.bind_options import check_options
from vlang.emit.cuda.ways.gpu_way_text import GpuWayText
from vlang.emit.cuda.ways.gpu_way_texts import GPU_WAY_TEXTS
from vlang.emit.shared.values.dialect import Function
from vlang.errors import BindError
from vlang.options import Options
from vlang.runtime.gpu.ways import ways
from vlang.runtime.gpu.ways.gpu_superstep import FullWay
from vlang.runtime.graph.graph import Graph
from vlang.runtime.plan.plan import LoopSpec


class PlodText(GpuWayText):
    """The part of the way that writes kernels."""

    name = "plod"

    def switches(self) -> Mapping[str, int]:
        """Return constants for the skeleton."""
        return {"PLODS": 7}

    def members(self) -> Sequence[Function]:
        """Return the functions that the skeleton calls."""
        return [Function("plod", (), "u32(7)", "u32 plod(const Env& env)")]


class PlodWay(FullWay):
    """The part of the way that runs loops."""

    name = "plod"
    modes: tuple[str, ...] = ("plod",)

    def refused(self, loop: LoopSpec, graph: Graph | None, options: Options) -> str:
        """Return the reason why a loop cannot use this way; "" if it can."""
        return "" if options.mode == "plod" else "another mode was requested"


@pytest.fixture
def plod(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Put the way first in the list of ways that run and last in the list of text writers."""
    monkeypatch.setattr(ways, "WAYS", (PlodWay(), *ways.WAYS))
    GPU_WAY_TEXTS.append(PlodText)
    yield
    GPU_WAY_TEXTS.remove(PlodText)


def program() -> vlang.Program:
    return vlang.compile("program p\nvertex x: int = 1\nrepeat:\n    gather y = min(u.x for u -> self)\n"
                         "    apply x = min(x, y)\n")  # fmt: skip


@pytest.mark.usefixtures("plod")
def test_a_way_in_one_file() -> None:
    text = program().explain("cuda")
    assert "static constexpr int PLODS = 7;" in text
    assert "u32 plod(const Env& env) {\n    return u32(7);" in text
    assert "plod: no (another mode was requested)" in program().explain("plan")
    check_options({"device": "gpu", "mode": "plod"})
    with pytest.raises(BindError, match=r"no way of the CPU has mode='plod'; choose one of auto, pull"):
        check_options({"mode": "plod"})


def test_modes_are_those_of_the_list() -> None:
    assert ways.modes() == ("auto", "pull", "notify-pull", "dual", "push")
    with pytest.raises(BindError, match="plod"):
        check_options({"device": "gpu", "mode": "plod"})
