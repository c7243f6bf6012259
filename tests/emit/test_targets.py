"""Every program is written for both targets, for the same run."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings

from tests.reference.generators.nested import nested_programs
from tests.reference.generators.programs import Generated, programs
from tests.sample import EXHAUSTIVE
from vlang import Graph, Program, compile, stdlib
from vlang.emit.cuda.cuda_dialect import CudaDialect
from vlang.emit.cuda.cuda_target import GENERATED, SKELETONS
from vlang.runtime.plan.plan import Plan
from vlang.types import BOOL

ROOT = Path(__file__).resolve().parent.parent.parent
DESIGN = sorted((ROOT / "tests" / "reference" / "design").glob("*.vp"))


def plans(program: Program, precision: int = 32) -> tuple[Plan, Plan]:
    """Return the plans for numba and CUDA."""
    edges = frozenset(e.name for e in program.edges)
    numba, cuda = (program.plan(edges, precision=precision, target=target) for target in ("numba", "cuda"))
    return numba, cuda


def assert_alike(program: Program, precision: int = 32) -> None:
    """Assert that two plans describe the same run."""
    numba, cuda = plans(program, precision)
    assert numba.fields == cuda.fields
    assert numba.scalars == cuda.scalars
    assert [s.name for s in numba.stages] == [s.name for s in cuda.stages]
    extra = {slot for slot in cuda.slots if slot not in numba.slots}
    whole = tuple(f"part:{s.name}." for s in cuda.stages if s.structures)  # a CPU does not cut their long rows
    sweeps = [s for s in numba.stages if s.senders is not None]  # a CPU uses messages here, instead of two buffers
    levels = tuple(f"next:{name}" for s in sweeps for name in s.written)
    assert all(slot.startswith(("work:push.", *whole, *levels)) for slot in extra), extra
    for stage in cuda.stages:
        assert stage.gpu is not None
        assert stage.gpu.struct == stage.name
        assert f"struct {stage.name} {{" in cuda.text
        assert stage.domain is None or stage.gpu.push or stage.gpu.push_reason
        assert stage.domain is None or stage.gpu.cell or stage.gpu.cell_reason
    again = compile(program.source, program.filename, program.precision)
    assert plans(again, precision)[1] == cuda


@pytest.mark.parametrize("precision", [32, 64])
@pytest.mark.parametrize("name", stdlib.names())
def test_standard_library(name: str, precision: int) -> None:
    assert_alike(compile(stdlib.path(name).read_text(encoding="utf-8"), f"{name}.vp"), precision)


@pytest.mark.parametrize("path", DESIGN, ids=lambda path: path.stem)
def test_programs_of_the_specification(path: Path) -> None:
    assert_alike(compile(path.read_text(encoding="utf-8"), path.name))


@settings(max_examples=60 if EXHAUSTIVE else 20, deadline=None)
@given(programs() | nested_programs())
def test_random_programs(drawn: Generated) -> None:
    assert_alike(compile(drawn.text))


def test_skeletons_stand_before_what_is_generated() -> None:
    plan = compile("program p\nvertex x: int = 1").plan(frozenset(), target="cuda")
    skeletons, mark, generated = plan.text.partition(GENERATED)
    assert mark
    assert "struct s0 {" in generated
    assert skeletons.index("typedef float f32") < skeletons.index("SEGMENT = 16384") < skeletons.index("pull_thread")
    assert "#include" not in plan.text
    assert len(set(SKELETONS)) == len(SKELETONS)


def test_many_lets_are_few_functions() -> None:
    """Many `let`s become few functions. The compiler numba takes 15 ms per function, and time quadratic in the branches
    of one function.
    """
    lets = [f"let y{i} = y{i - 1} + {'max(v.indegree for v in vertices)' if i == 30 else i}" for i in range(1, 60)]
    program = compile("\n".join(["program lets", "vertex x: int = 0", "let y0 = 1", *lets, "apply x = y59"]))
    text = program.plan(frozenset(), frozenset()).text
    assert text.count("def scalars_") == 3
    assert text.count("def scalar_v") == 1, "that of the fold"
    graph = Graph.from_edges([0, 1, 2], [2, 2, 2])
    assert program(graph)["x"].tolist() == [1 + sum(i for i in range(60) if i != 30) + 3] * 3


def test_bools_are_joined_without_arithmetic() -> None:
    d = CudaDialect()
    assert [d.arithmetic(sign, BOOL, "a", "b") for sign in "|&^"] == ["a || b", "a && b", "a != b"]
