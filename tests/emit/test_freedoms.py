"""Push, early exit and priority are granted exactly if the facts permit them. A way that the facts do not permit is
refused with a reason.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from vlang import compile
from vlang.runtime.plan.gpu_stage import GpuStage

PROGRAMS = Path(__file__).resolve().parent.parent / "reference" / "design"


def of_loops(text: str, given: frozenset[str] = frozenset()) -> list[GpuStage]:
    """Return the passes over edges of a program's loops."""
    program = compile(text)
    plan = program.plan(frozenset(e.name for e in program.edges), given, target="cuda")
    return [s.gpu for s in plan.stages if s.gpu and s.domain and s.gpu.push_reason[:9] != "runs once"]


@pytest.mark.parametrize(("name", "expected"), [
    ("bfs", [("direct", "frontier", "ascending")]),
    ("bfs_tree", [("cells", "", "ascending")]),
    ("bipartite", [("direct", "", ""), ("direct", "frontier", "ascending")]),
    ("components", [("direct", "", "")]),
    ("kcore_members", [("", "absorbing", "")]),
    ("pagerank", [("", "", "")]),
    ("sssp", [("direct", "", "ascending")]),
    ("sssp_tree", [("cells", "", "ascending")]),
    ("sswp", [("direct", "", "descending")]),
    ("viterbi", [("direct", "", "descending")]),
])
def test_programs(name: str, expected: list[tuple[str, str, str]]) -> None:
    text = (PROGRAMS / f"{name}.vp").read_text(encoding="utf-8")
    assert [(s.push, s.early, s.priority) for s in of_loops(text)] == expected


BFS = """program p(source: vertex)
vertex depth: int = 0 if self == source else inf
repeat:
    gather near = min(u.depth + 1 for u -> self)
    apply depth = min(depth, near)
"""


def test_no_frontier_where_the_caller_gives_the_start() -> None:
    assert of_loops(BFS)[0].early == "frontier"
    assert of_loops(BFS, frozenset({"depth"}))[0].early == ""


@pytest.mark.parametrize(("type_", "push"), [
    ("int", "direct"), ("i64", "direct"), ("u32", "direct"), ("float", "direct"), ("f64", "direct"),
    ("vertex", "direct"), ("i8", "cells"), ("u16", "cells"),
])
def test_fields_without_an_atomic_operation_take_cells(type_: str, push: str) -> None:
    text = f"program p\nvertex x: {type_}\nrepeat:\n    gather a = min(u.x for u -> self)\n    apply x = min(x, a)\n"
    (stage,) = of_loops(text)
    assert stage.push == push, stage.push_reason


def test_largest_vertex_takes_cells_since_none_is_stored_as_the_largest() -> None:
    (stage,) = of_loops("program p\nvertex x: vertex = self\nrepeat:\n    gather a = max(u.x for u -> self)\n"
                        "    apply x = max(x, a)\n")
    assert stage.push == "cells"
    assert "`none`" in stage.push_reason


def test_a_pair_of_64_bits_is_not_pushed() -> None:
    (stage,) = of_loops("program p\nvertex d: f64 = 0\nvertex p: vertex = none\nrepeat:\n"
                        "    gather b = min((u.d + 1, u) for u -> self)\n    apply (d, p) = min((d, p), b)\n")
    assert (stage.push, stage.cell) == ("", 0)
    assert "more than 8 bytes" in stage.push_reason


def test_a_guarded_write_takes_cells() -> None:
    (stage,) = of_loops("program p\nvertex x: int\nvertex on: bool\nrepeat:\n    where on:\n"
                        "        gather a = min(u.x for u -> self)\n        apply x = min(x, a)\n")
    assert stage.push == "cells"
    assert "`where`" in stage.push_reason


def test_several_fields_take_a_cell_each() -> None:
    (stage,) = of_loops("program p\nvertex x: int\nvertex y: bool\nrepeat:\n    gather a = min(u.x for u -> self)\n"
                        "    gather b = any(u.y for u -> self)\n    apply x = min(x, a)\n    apply y = y or b\n")
    assert stage.push == "cells"
    assert stage.cell == 5
    assert "several fields" in stage.push_reason


def test_a_gather_ends_at_the_absorbing_element() -> None:
    text = ("program p\nvertex x: bool\nvertex y: u8\nrepeat:\n    gather a = any(u.x for u -> self)\n"
            "    gather b = bitor(u.y for u -> self)\n    apply x = x or a\n    apply y = y | b\n")
    (stage,) = of_loops(text)
    assert (stage.push, stage.early) == ("cells", "absorbing")
    plan = compile(text).plan(frozenset(), target="cuda")
    assert "return (acc.a0) && (acc.a1 == u8(255));" in plan.text
    assert "is_final(const Env& env, u32 v) {\n    return false;" in plan.text  # y may still move when x is true
